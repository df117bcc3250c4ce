"""Import of annotations from files of any form of `oneof.io.answers`.

The answers of a session are exported as a long table, too.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.crowd import Answers
from oneof.crowd.answers import answers_of_file
from oneof.errors import DataError, InputError, LabelError
from oneof.io.answers import Answer, AnswerOptions, name_rows, parse_answers, read_answer_file
from oneof.labeling.answers.log import DEGREES, Entry
from oneof.labeling.answers.state import allowed_classes
from oneof.labeling.content.table import check_export, write_frame
from oneof.labeling.validation import check_text
from oneof.typing import Labels

if TYPE_CHECKING:
    import polars as pl

LONG_EXPORTS = (".csv", ".jsonl", ".parquet")


def read_file(
    path: Path,
    frame: "pl.DataFrame",
    classes: Labels,
    *,
    match: str | None = None,
    item: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    separator: str = "|",
) -> tuple[Answers, dict[tuple[int, str], str]]:
    """Read a file of answers of any form of `oneof.io.answers`, with its degrees of certainty.

    Parameters
    ----------
    path : Path
    frame : polars.DataFrame
        The table that is labeled.
    classes : ndarray of shape (n_classes,)
    match : str or None
        The column of the items in the table that is labeled, and in the file, or the field of an export. A table may
        have the items in a column "item" or "row" instead.
    item : str, optional
        The column or the field of the items, if it has another name in the file.
    worker, label : str, optional
        The columns of the annotators and of the labels, or the question of an export; see
        `oneof.io.answers.AnswerOptions`.
    separator : str, default="|"
        The text between two labels of a cell.

    Raises
    ------
    InputError
        If an option has no use with the form of the file, an item is not in the table, or a worker gave different
        answers to an item.
    DataError
        If the file cannot be read, a column is missing, or a degree of certainty is not valid.
    """
    for name, value in {"match": match, "item": item, "worker": worker, "label": label}.items():
        if value is not None:
            check_text(name, value)
    file = read_answer_file(AnswerOptions(path, match, worker, label, answers_row=item))
    given = parse_answers(file, separator=separator, classes=[*map(str, classes.tolist())])
    names = name_rows(frame, match, "the table")
    degrees = read_degrees(file.answers, names)
    return answers_of_file(given, index=names), degrees


def read_degrees(answers: Iterable[Answer], row_names: Sequence[str]) -> dict[tuple[int, str], str]:
    """Return the degrees of certainty of answers by row, among these names, and annotator."""
    position = {name: i for i, name in enumerate(row_names)}
    degrees: dict[tuple[int, str], str] = {}
    for one in (one for one in answers if str(one.row) in position):
        degree, pair = str(one.degree or "").strip(), (position[str(one.row)], one.annotator)
        if degree not in ("", *DEGREES):
            raise DataError(f"{one.place}: the degree must be {', '.join(DEGREES)} or empty; got {one.degree!r}.")
        if degrees.setdefault(pair, degree) != degree:
            raise DataError(f"{one.place}: the degree must be that of the other lines of the row and annotator.")
    return {pair: degree for pair, degree in degrees.items() if degree}


def write_long(
    path: Path,
    answered: Mapping[int, Mapping[str, Entry]],
    items: Sequence[Any],
    classes: Labels,
    separator: str,
) -> Path:
    """Write answers atomically, one per line, in the form that `read_file` reads.

    Parameters
    ----------
    path : Path
        .csv, .jsonl or .parquet.
    answered : dict of row to dict of annotator to Entry
    items : sequence
        The name of each row.
    classes : ndarray of shape (n_classes,)
    separator : str

    Raises
    ------
    InputError
        If the path has another extension or no folder.
    """
    import polars as pl

    check_export(path, LONG_EXPORTS)
    given = [
        (items[row], name, entry) for row, said in sorted(answered.items()) for name, entry in sorted(said.items())
    ]
    mask = np.zeros((len(given), len(classes)), dtype=bool)
    for line, (_, _, entry) in zip(mask, given, strict=True):
        line[list(allowed_classes(entry, len(classes))) or slice(None)] = True
    labels = CandidateSets(mask, classes).to_strings(separator=separator) if given else []
    frame = pl.DataFrame(
        {
            "item": [item for item, *_ in given],
            "worker": [name for _, name, _ in given],
            "label": [text or None for text in labels],
            "degree": [entry.degree for *_, entry in given],
        },
        schema_overrides={"worker": pl.String, "label": pl.String, "degree": pl.String},
    )
    write_frame(frame, path)
    return path


def read_crowd(
    answers: Answers, degrees: Mapping[tuple[int, str], str], n_rows: int, classes: Labels, source: str
) -> list[Entry]:
    """Convert answers about `n_rows` rows, with degrees of certainty by row and annotator, to entries of a log.

    Raises
    ------
    InputError
        If the answers are about another number of rows.
    LabelError
        If a label is not a class.
    """
    if len(answers) != n_rows:
        raise InputError(f"`answers` must be about the {n_rows} rows of the session; got {len(answers)} rows.")
    encoded = answers.to_codes()
    names, known = answers.annotators.tolist(), encoded.classes.tolist()
    codes = {str(name): k for k, name in enumerate(classes.tolist())}
    if unknown := [name for name in known if str(name) not in codes]:
        listed = ", ".join(list(codes)[:8])
        raise LabelError(f"{source}: label {str(unknown[0])!r} is not one of the classes {listed}.")
    sets = [tuple(sorted(codes[str(known[k])] for k in np.flatnonzero(members))) for members in encoded.sets]
    entries = []
    for row, j, answer in zip(encoded.row.tolist(), encoded.annotator.tolist(), encoded.answer.tolist(), strict=True):
        worker, labels = str(names[j]), sets[answer]
        degree = degrees.get((row, worker))
        # The same answer has the same key in every file, so importing a file twice changes nothing.
        content = [row, worker, labels] if degree is None else [row, worker, labels, degree]
        key = f"import:{hashlib.sha256(json.dumps(content).encode()).hexdigest()}"
        entries.append(Entry(key, worker, row, "one of", labels, purpose="import", degree=degree))
    return entries
