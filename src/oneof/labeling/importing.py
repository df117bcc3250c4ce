"""Import of annotations: a long table of item, worker and label, or a JSON export of Label Studio."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from oneof.candidates import CandidateSets
from oneof.errors import DataError, InputError, LabelError
from oneof.io import find_column, read_table
from oneof.labeling.answer_log import Entry
from oneof.labeling.validation import check_text
from oneof.typing import Labels


class Annotation(NamedTuple):
    """One worker's answer for one item: a set of labels.

    Attributes
    ----------
    item : str
        Name of the item in the file.
    worker : str
    labels : tuple of str
    location : str
        Line or task of the file, for error messages.
    """

    item: str
    worker: str
    labels: tuple[str, ...]
    location: str


def read_annotations(path: Path, match: str | None, **columns: str | None) -> list[Annotation]:
    """Read a file of answers by its extension: `read_label_studio` for .json, otherwise `read_long`.

    Raises
    ------
    InputError
        If `match` is missing for a file of Label Studio, or the reader has no such option.
    DataError
        If the file cannot be read.
    """
    studio = path.suffix.lower() == ".json"
    options = {"choice"} if studio else {"item", "worker", "label", "separator"}
    named_columns = {name: value for name, value in columns.items() if value is not None}
    if set(named_columns) - options:
        raise InputError(
            f"options for {path} must be among {', '.join(sorted(options))}; got {min(set(named_columns) - options)!r}."
        )
    for name, value in (named_columns if match is None else named_columns | {"match": match}).items():
        check_text(name, value)
    if not studio:
        return read_long(path, **named_columns)
    if match is None:
        raise InputError(
            f"{path}: `match` must name the column and field that identify the tasks of Label Studio; got None."
        )
    return read_label_studio(path, item=match, **named_columns)


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
    table = read_table(path, as_text=(item, worker), verbatim=(label,))
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


def read_label_studio(path: Path, *, item: str, choice: str | None = None) -> list[Annotation]:
    """Read a JSON export of Label Studio, in its full form or the short one ("JSON-MIN").

    Parameters
    ----------
    path : Path
        A list of tasks. In the full form each has `data` and `annotations`, whose results of type "choices" are read;
        in the short form the choices are fields of the data, named after their tag. Cancelled annotations are ignored.
        A worker is named by `completed_by` or `annotator`: a number, an e-mail address or an object.
    item : str
        The field of the data that identifies the tasks.
    choice : str, optional
        The name of the tag whose choices are read, by default all tags. The short form needs it if a task has one
        choice, which is then plain text.

    Raises
    ------
    DataError
        If the file is not such an export, or a task has no such field.
    """
    try:
        tasks = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"the file {path} does not exist. Check its name and folder.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path} is not JSON in UTF-8. Export it again from Label Studio.") from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path} is not an export of Label Studio: expected a list of tasks.")
    answers = []
    for number, task in enumerate(tasks):
        data = task.get("data", task)
        if not isinstance(data, dict) or data.get(item) is None:
            raise DataError(f"{path}, task {number}: the field {item!r}, which identifies the item, is missing.")
        for worker, labels in _answers(task, choice):
            answers.append(Annotation(str(data[item]), worker, tuple(labels), f"{path}, task {number}"))
    return _merge_labels(answers)


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
    for item, worker, labels, location in annotations:
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
        pair = annotation.item, annotation.worker
        first = sets.get(pair, annotation)
        sets[pair] = first._replace(labels=tuple(dict.fromkeys([*first.labels, *annotation.labels])))
    return [annotation for annotation in sets.values() if annotation.labels]


def _row(item: str, rows: Mapping[str, int] | int) -> int | None:
    if not isinstance(rows, int):
        return rows.get(item)
    return int(item) if item.isdecimal() and int(item) < rows else None


def _answers(task: dict[str, Any], choice: str | None) -> list[tuple[str, list[str]]]:
    """Return worker and labels of each annotation of a task."""
    if "data" not in task:
        named = [task.get(choice)] if choice is not None else list(task.values())
        labels = [label for value in named for label in _choices(value, plain=choice is not None)]
        return [(_name(task.get("annotator")), labels)]
    answers = []
    for annotation in task.get("annotations") or ():
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        results = [result for result in annotation.get("result") or () if isinstance(result, dict)]
        labels = [
            label
            for result in results
            if result.get("type") == "choices" and choice in (None, result.get("from_name"))
            for label in _choices(result.get("value"), plain=False)
        ]
        answers.append((_name(annotation.get("completed_by")), labels))
    return answers


def _choices(value: Any, *, plain: bool) -> list[str]:
    """Return the choices in a value of Label Studio."""
    if isinstance(value, dict) and isinstance(value.get("choices"), list):
        return [str(choice) for choice in value["choices"]]
    return [value] if plain and isinstance(value, str) else []


def _name(worker: Any) -> str:
    if isinstance(worker, dict):
        worker = worker.get("email") or worker.get("username") or worker.get("id")
    return "unknown" if worker is None else str(worker)
