"""Import of annotations: a long table of item, worker and label, or an export of Label Studio or doccano.

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
from oneof.candidates.cells import LabelFormat, raise_together, read_cells
from oneof.crowd import Answers
from oneof.errors import DataError, InputError, LabelError
from oneof.files import atomic_write
from oneof.io import find_column, read_table, select_column
from oneof.io.formats.annotations import is_export, read_export
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


def read_annotations(path: Path, match: str | None, **columns: str | None) -> list[StatedAnnotation]:
    """Read a file of answers: an export of a tool by `read_export`, other files by `read_long`.

    Raises
    ------
    InputError
        If `match` is missing for an export, or the reader has no such option.
    DataError
        If the file cannot be read.
    """
    is_from_tool = is_export(path)
    options = {"choice"} if is_from_tool else {"item", "worker", "label", "degree", "separator"}
    named_columns = {name: value for name, value in columns.items() if value is not None}
    if set(named_columns) - options:
        raise InputError(
            f"options for {path} must be among {', '.join(sorted(options))}; got {min(set(named_columns) - options)!r}."
        )
    for name, value in (named_columns if match is None else named_columns | {"match": match}).items():
        check_text(name, value)
    if not is_from_tool:
        return read_long(path, match=match, **named_columns)
    if match is None:
        raise InputError(
            f"{path}: `match` must name the column of the table and the field of the export that identify the items; "
            "got None."
        )
    choice = named_columns.get("choice")
    return _merge_labels(StatedAnnotation(*annotation) for annotation in read_export(path, item=match, choice=choice))


def read_long(
    path: Path,
    *,
    item: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    degree: str | None = None,
    separator: str = "|",
    match: str | None = None,
) -> list[StatedAnnotation]:
    """Read a table with one line per answer.

    Parameters
    ----------
    path : Path
        A file in any format of `oneof.io.read_table`.
    item, worker, label : str, optional
        Column names. By default the items are in the column `match`, "item" or "row", the workers in "worker" or
        "annotator", and the labels in "label" or "answer". Several lines of one item and worker are one set, and so is
        text such as "a|b". Lines without a label are ignored.
    degree : str, optional
        Column of the degrees of certainty: sure, probably, guess, or empty. By default "degree", if there is one.
    separator : str, default="|"
    match : str, optional
        The column of the items in the table that is labeled.

    Raises
    ------
    DataError
        If a column is missing, a line has no item or no worker, or the degree is unknown or not that of the other lines
        of its set.
    """
    table = read_table(path, as_text=("*",), drop_units=False)
    defaults = ([*([] if match is None else [match]), "item", "row"], ["worker", "annotator"], ["label", "answer"])
    columns = [
        select_column(name, names, table.frame.columns, path)
        for name, names in zip((item, worker, label), defaults, strict=True)
    ]
    item, worker, _ = columns
    if degree is None and "degree" in table.frame.columns:
        degree = "degree"
    degrees: list[Any] = [None] * table.frame.height
    if degree is not None:
        degrees = table.frame[find_column(degree, table.frame.columns, path)].to_list()
    cells = read_cells(table.frame[columns[2]].to_list(), LabelFormat(separator, reads_lists=True))
    try:
        raise_together(cells.errors_of_rows())
    except LabelError as error:
        raise error.at(path) from None
    lines = []
    for row, (item_cell, worker_cell) in enumerate(table.frame.select(columns[:2]).iter_rows()):
        annotator = str(worker_cell or "").strip()
        if item_cell is None or not annotator:
            missing = item if item_cell is None else worker
            raise DataError(f"{path}, row {row}: column {missing!r} is empty; every label needs an item and a worker.")
        labels = {str(label) for label, _ in cells.pairs[cells.code[row]] or ()}
        if not labels:
            continue
        location = f"{path}, row {row}"
        stated = read_degree(degrees[row], location)
        lines.append(StatedAnnotation(str(item_cell), annotator, tuple(sorted(labels)), location, stated))
    return _merge_labels(lines)


def write_long(
    path: Path,
    answered: Mapping[int, Mapping[str, Entry]],
    items: Sequence[Any],
    classes: Labels,
    separator: str,
) -> Path:
    """Write answers atomically, one per line, in the form that `read_long` reads.

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


def _merge_labels(annotations: Iterable[StatedAnnotation]) -> list[StatedAnnotation]:
    """Merge the labels of a worker for one item; errors name the first line or task."""
    sets: dict[tuple[str, str], StatedAnnotation] = {}
    for annotation in annotations:
        pair = str(annotation.item), annotation.annotator
        first = sets.get(pair, annotation)
        if annotation.degree != first.degree:
            raise DataError(
                f"{annotation.location}: the degree must be that of the other lines of the item and worker."
            )
        sets[pair] = first._replace(labels=tuple(dict.fromkeys([*first.labels, *annotation.labels])))
    return [annotation for annotation in sets.values() if annotation.labels]


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
