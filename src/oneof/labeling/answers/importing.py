"""Import of annotations from files of any form of `oneof.io.answers`.

The answers of a session are exported as a long table, too.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.crowd import Answers
from oneof.errors import DataError, InputError, LabelError
from oneof.files import atomic_write
from oneof.io.answers import AnswerOptions, parse_answers, read_answer_file, read_objects
from oneof.io.formats.cells import CellFormat
from oneof.labeling.answers.log import DEGREES, Entry
from oneof.labeling.answers.state import allowed_classes
from oneof.labeling.validation import check_text
from oneof.typing import Labels

LONG_EXPORTS = (".csv", ".jsonl", ".parquet")


class StatedAnnotation(NamedTuple):
    """The labels of an annotator for an item, with the degree of certainty, or None, and the place in the file."""

    item: Any
    annotator: str
    labels: tuple[str, ...]
    location: str
    degree: str | None = None


def read_annotations(
    path: Path,
    match: str | None,
    classes: Labels,
    *,
    item: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    choice: str | None = None,
    degree: str = "degree",
    separator: str = "|",
) -> list[StatedAnnotation]:
    """Read a file of answers of any form of `oneof.io.answers`.

    Parameters
    ----------
    path : Path
    match : str or None
        The column of the items in the table that is labeled, and in the file, or the field of an export. A table may
        have the items in a column "item" or "row" instead.
    classes : ndarray of shape (n_classes,)
    item : str, optional
        The column or the field of the items, if it has another name in the file.
    worker, label : str, optional
        The columns of the annotators and of the labels; see `oneof.io.answers.AnswerOptions`.
    choice : str, optional
        The question of an export, such as the tag of the choices of Label Studio.
    degree : str, default="degree"
        The column of the degrees of certainty: sure, probably, guess, or empty.
    separator : str, default="|"
        The text between two labels of a cell. Several lines of one item and worker are one set, too.

    Raises
    ------
    InputError
        If an option has no use with the form of the file.
    DataError
        If the file cannot be read, a column is missing, or the degree of certainty of a line is unknown or not that of
        the other lines of its set.
    """
    texts = {"match": match, "item": item, "worker": worker, "label": label, "choice": choice}
    for name, value in texts.items():
        if value is not None:
            check_text(name, value)
    options = AnswerOptions(path, match, worker, label or choice, answers_row=item, degree=degree)
    file = read_answer_file(options, read_objects([path]))
    parsed = parse_answers(file, CellFormat(), separator=separator, classes=[*map(str, classes.tolist())])
    stated = []
    for answer, given in zip(parsed.records, parsed.labels, strict=True):
        location, labels = file.locate(answer), given if isinstance(given, list) else [given]
        certainty = read_degree(answer.degree, location)
        stated.append(StatedAnnotation(answer.row, answer.annotator, tuple(map(str, labels)), location, certainty))
    return _merge_labels(stated, joins_lines=not file.is_export)


def write_long(
    path: Path,
    answered: Mapping[int, Mapping[str, Entry]],
    items: Sequence[Any],
    classes: Labels,
    separator: str,
) -> Path:
    """Write answers atomically, one per line, in the form that `read_annotations` reads.

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

    suffix = path.suffix.lower()
    if suffix not in LONG_EXPORTS:
        raise InputError(f"cannot write {path}: the file name must end in {', '.join(LONG_EXPORTS)}.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.parent} does not exist.")
    given = [
        (items[row], name, entry) for row, said in sorted(answered.items()) for name, entry in sorted(said.items())
    ]
    mask = np.ones((len(given), len(classes)), dtype=bool)
    for line, (_, _, entry) in zip(mask, given, strict=True):
        allowed = allowed_classes(entry, len(classes))
        if allowed:
            line[:] = np.isin(np.arange(len(classes)), allowed)
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
    memory = io.BytesIO()  # a full disk is then an OSError; polars raises an error of its own
    if suffix == ".csv":
        frame.write_csv(memory)
    elif suffix == ".jsonl":
        frame.write_ndjson(memory)
    else:
        frame.write_parquet(memory)
    with atomic_write(path) as temporary:
        temporary.write_bytes(memory.getbuffer())
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
    names = [str(name) for name in answers.annotators.tolist()]
    sets = [tuple(map(str, encoded.classes[members].tolist())) for members in encoded.sets]
    given = zip(encoded.row.tolist(), encoded.annotator.tolist(), encoded.answer.tolist(), strict=True)
    stated = [
        StatedAnnotation(row, names[k], sets[code], f"{source}, row {row}", degrees.get((row, names[k])))
        for row, k, code in given
    ]
    return to_entries(stated, n_rows, classes)


def to_entries(annotations: Iterable[StatedAnnotation], rows: Mapping[str, int] | int, classes: Labels) -> list[Entry]:
    """Convert annotations to entries of a log.

    Parameters
    ----------
    annotations : iterable of Annotation
    rows : dict of str to int, or int
        The row of each item; an int is the number of rows, and items are then row indices.
    classes : ndarray of shape (n_classes,)

    Raises
    ------
    DataError
        If an item is not in the table.
    LabelError
        If a label is not a class.
    """
    codes = {str(name): k for k, name in enumerate(classes.tolist())}
    entries = []
    for name, worker, labels, location, degree in annotations:
        item = str(name)
        unknown = [label for label in labels if label not in codes]
        if unknown:
            listed = ", ".join(list(codes)[:8])
            raise LabelError(f"{location}: label {unknown[0]!r} is not one of the classes {listed}.")
        row = _row(item, rows)
        if row is None:
            raise DataError(
                f"{location}: item {item!r} is not in the table. Import rows of this table, or name the column of "
                "the rows by --row."
            )
        label_codes = tuple(sorted(codes[label] for label in labels))
        # The same answer has the same key in every file, so importing a file twice changes nothing.
        content = [row, worker, label_codes] if degree is None else [row, worker, label_codes, degree]
        key = f"import:{hashlib.sha256(json.dumps(content).encode()).hexdigest()}"
        entries.append(Entry(key, worker, row, "one of", label_codes, purpose="import", degree=degree))
    return entries


def differs(entry: Entry, current: Entry | None, n_classes: int) -> bool:
    """Return whether an annotator has a current answer of other labels, or of another degree, than an entry."""
    if current is None:
        return False
    return (allowed_classes(current, n_classes), current.degree) != (allowed_classes(entry, n_classes), entry.degree)


def _merge_labels(annotations: Iterable[StatedAnnotation], *, joins_lines: bool) -> list[StatedAnnotation]:
    """Merge the lines of a worker for one item; different annotations of an export are an error."""
    sets: dict[tuple[str, str], StatedAnnotation] = {}
    for annotation in annotations:
        pair = str(annotation.item), annotation.annotator
        first = sets.get(pair, annotation)
        if annotation.degree != first.degree:
            raise DataError(
                f"{annotation.location}: the degree must be that of the other lines of the item and worker."
            )
        if not joins_lines and annotation.labels != first.labels:
            raise DataError(
                f"{annotation.location}: annotator {pair[1]!r} answered the item {pair[0]!r} twice. Delete one of the "
                "answers, and export again."
            )
        sets[pair] = first._replace(labels=tuple(dict.fromkeys([*first.labels, *annotation.labels])))
    return list(sets.values())


def read_degree(cell: Any, location: str) -> str | None:
    """Return the degree of certainty of a line, None if the cell is empty."""
    if cell is None or not str(cell).strip():
        return None
    if cell not in DEGREES:
        raise DataError(f"{location}: the degree must be {', '.join(DEGREES)} or empty; got {cell!r}.")
    return str(cell)


def _row(item: str, rows: Mapping[str, int] | int) -> int | None:
    if not isinstance(rows, int):
        return rows.get(item)
    return int(item) if item.isdecimal() and int(item) < rows else None
