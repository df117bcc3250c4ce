"""Import of annotations: a long table of item, worker and label, or an export of Label Studio or doccano."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from oneof.candidates import CandidateSets
from oneof.errors import DataError, InputError, LabelError
from oneof.io import find_column, read_table
from oneof.io.formats.annotations import Annotation, is_export, read_export
from oneof.labeling.answer_log import Entry
from oneof.labeling.validation import check_text
from oneof.typing import Labels


def read_annotations(path: Path, match: str | None, **columns: str | None) -> list[Annotation]:
    """Read a file of answers: an export of a tool by `read_export`, other files by `read_long`.

    Raises
    ------
    InputError
        If `match` is missing for an export, or the reader has no such option.
    DataError
        If the file cannot be read.
    """
    is_from_tool = is_export(path)
    options = {"choice"} if is_from_tool else {"item", "worker", "label", "separator"}
    named_columns = {name: value for name, value in columns.items() if value is not None}
    if set(named_columns) - options:
        raise InputError(
            f"options for {path} must be among {', '.join(sorted(options))}; got {min(set(named_columns) - options)!r}."
        )
    for name, value in (named_columns if match is None else named_columns | {"match": match}).items():
        check_text(name, value)
    if not is_from_tool:
        return read_long(path, **named_columns)
    if match is None:
        raise InputError(
            f"{path}: `match` must name the column of the table and the field of the export that identify the items; "
            "got None."
        )
    return _merge_labels(read_export(path, item=match, **named_columns))


def read_long(
    path: Path, *, item: str = "item", worker: str = "worker", label: str = "label", separator: str = "|"
) -> list[Annotation]:
    """Read a table with one line per answer.

    Parameters
    ----------
    path : Path
        A file in any format of `oneof.io.read_table`.
    item, worker, label : str
        Column names. Several lines of one item and worker are one set, and so is text such as "a|b". Lines without
        a label are ignored.
    separator : str, default="|"

    Raises
    ------
    DataError
        If a column is missing, or a line has no item or no worker.
    """
    table = read_table(path, as_text=(item, worker), labels=(label,))
    columns = [find_column(name, table.frame.columns, path) for name in (item, worker, label)]
    lines = []
    for row, (item_cell, worker_cell, label_cell) in enumerate(table.frame.select(columns).iter_rows()):
        if item_cell is None or worker_cell is None:
            missing = item if item_cell is None else worker
            raise DataError(f"{path}, row {row}: column {missing!r} is empty; every label needs an item and a worker.")
        if label_cell is None or not str(label_cell).strip():
            continue
        [labels] = CandidateSets.from_strings([str(label_cell)], separator=separator).to_sets()
        lines.append(Annotation(str(item_cell), str(worker_cell), tuple(sorted(labels)), f"{path}, row {row}"))
    return _merge_labels(lines)


def to_entries(annotations: Iterable[Annotation], rows: Mapping[str, int] | int, classes: Labels) -> list[Entry]:
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
    for name, worker, labels, location in annotations:
        item = str(name)
        unknown = [label for label in labels if label not in codes]
        if unknown:
            listed = ", ".join(list(codes)[:8])
            raise LabelError(f"{location}: label {unknown[0]!r} is not one of the classes {listed}.")
        row = _row(item, rows)
        if row is None:
            raise DataError(
                f"{location}: item {item!r} is not in the table. Import rows of this table, or name the column of "
                "the items by --match."
            )
        label_codes = tuple(sorted(codes[label] for label in labels))
        # The same answer has the same key in every file, so importing a file twice changes nothing.
        digest = hashlib.sha256(json.dumps([row, worker, label_codes]).encode()).hexdigest()
        entries.append(Entry(f"import:{digest}", worker, row, "one of", label_codes, purpose="import"))
    return entries


def _merge_labels(annotations: Iterable[Annotation]) -> list[Annotation]:
    """Merge the labels of a worker for one item; errors name the first line or task."""
    sets: dict[tuple[str, str], Annotation] = {}
    for annotation in annotations:
        pair = str(annotation.item), annotation.annotator
        first = sets.get(pair, annotation)
        sets[pair] = first._replace(labels=tuple(dict.fromkeys([*first.labels, *annotation.labels])))
    return [annotation for annotation in sets.values() if annotation.labels]


def _row(item: str, rows: Mapping[str, int] | int) -> int | None:
    if not isinstance(rows, int):
        return rows.get(item)
    return int(item) if item.isdecimal() and int(item) < rows else None
