"""Annotations that were made elsewhere: a long table of item, worker and label, and exports of Label Studio."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from oneof.candidates import CandidateSets
from oneof.errors import DataError, InputError, LabelError
from oneof.io import find_column, read_table
from oneof.labeling.given import check_text
from oneof.labeling.log import Entry
from oneof.typing import Labels


class Annotation(NamedTuple):
    """That a worker says an item's label to be among some.

    Attributes
    ----------
    item : str
        As the file names it.
    worker : str
    labels : tuple of str
    where : str
        For messages: the line or task of the file.
    """

    item: str
    worker: str
    labels: tuple[str, ...]
    where: str


def read_annotations(path: Path, match: str | None, **columns: str | None) -> list[Annotation]:
    """Read a file of answers, whose ending says which kind it is: `read_label_studio` for .json, else `read_long`.

    Raises
    ------
    InputError
        If nothing says what the tasks of Label Studio are told by, or the reader has no such option.
    DataError
        If the file cannot be read.
    """
    studio = path.suffix.lower() == ".json"
    known = {"choice"} if studio else {"item", "worker", "label", "separator"}
    given = {name: value for name, value in columns.items() if value is not None}
    if set(given) - known:
        raise InputError(f"{min(set(given) - known)!r} says nothing of {path}: there are {', '.join(sorted(known))}.")
    for name, value in (given if match is None else given | {"match": match}).items():
        check_text(name, value)
    if not studio:
        return read_long(path, **given)
    if match is None:
        raise InputError(f"{path}: name the column, and field, that tells the tasks of Label Studio apart (match).")
    return read_label_studio(path, item=match, **given)


def read_long(
    path: Path, *, item: str = "item", worker: str = "worker", label: str = "label", separator: str = "|"
) -> list[Annotation]:
    """Read a table with a line for each answer.

    Parameters
    ----------
    path : Path
        Of any format that `oneof.io.read_table` reads.
    item, worker, label : str
        The columns. Several lines of one item and worker are one set; so is text such as "a|b". A line without a
        label is passed over.
    separator : str, default="|"

    Raises
    ------
    DataError
        If a column is absent, or a line names no item or no worker.
    """
    table = read_table(path, as_text=(item, worker), verbatim=(label,))
    columns = [find_column(name, table.frame.columns, path) for name in (item, worker, label)]
    lines = []
    for row, (about, who, said) in enumerate(table.frame.select(columns).iter_rows()):
        if about is None or who is None:
            missing = item if about is None else worker
            raise DataError(f"{path}, row {row}: column {missing!r} is empty: name item and worker of each label.")
        if said is None or not str(said).strip():
            continue
        [labels] = CandidateSets.from_strings([str(said)], separator=separator).to_sets()
        lines.append(Annotation(str(about), str(who), tuple(sorted(labels)), f"{path}, row {row}"))
    return _joined(lines)


def read_label_studio(path: Path, *, item: str, choice: str | None = None) -> list[Annotation]:
    """Read a JSON export of Label Studio, in its full form or the short one ("JSON-MIN").

    Parameters
    ----------
    path : Path
        A list of tasks. In the full form each has `data` and `annotations`, whose results of type "choices" are read;
        in the short form the choices stand beside the data, by the name of their tag. Annotations that were cancelled
        are passed over. A worker is named by `completed_by` or `annotator`: a number, an e-mail address or an object.
    item : str
        The field of the data that tells the tasks apart.
    choice : str, optional
        The name of the tag whose choices are read. By default those of all tags; the short form needs it where a task
        has one choice, which stands there as plain text.

    Raises
    ------
    DataError
        If the file is no such export, or a task lacks the field.
    """
    try:
        tasks = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"there is no file {path}.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path} is no JSON in UTF-8.") from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path} is no export of Label Studio: expected a list of tasks.")
    answers = []
    for number, task in enumerate(tasks):
        data = task.get("data", task)
        if not isinstance(data, dict) or data.get(item) is None:
            raise DataError(f"{path}, task {number}: there is no field {item!r} to tell the item by.")
        for who, labels in _answers(task, choice):
            answers.append(Annotation(str(data[item]), who, tuple(labels), f"{path}, task {number}"))
    return _joined(answers)


def as_entries(annotations: Iterable[Annotation], rows: Mapping[str, int] | int, classes: Labels) -> list[Entry]:
    """Return annotations as entries of a log.

    Parameters
    ----------
    annotations : iterable of Annotation
    rows : dict of str to int, or int
        The row of each item; a number says that items are rows, 0 to it.
    classes : ndarray of shape (n_classes,)

    Raises
    ------
    DataError
        If an item is not in the table.
    LabelError
        If a label is not among the classes.
    """
    codes = {str(name): k for k, name in enumerate(classes.tolist())}
    entries = []
    for item, worker, labels, where in annotations:
        unknown = [label for label in labels if label not in codes]
        if unknown:
            listed = ", ".join(list(codes)[:8])
            raise LabelError(f"{where}: label {unknown[0]!r} is not one of the classes {listed}.")
        row = _row(item, rows)
        if row is None:
            raise DataError(f"{where}: there is no item {item!r} in the table.")
        said = tuple(sorted(codes[label] for label in labels))
        # The same answer gets the same key in every file, so that a file that is imported twice changes nothing.
        digest = hashlib.sha256(json.dumps([row, worker, said]).encode()).hexdigest()
        entries.append(Entry(f"import:{digest}", worker, row, "one of", said, purpose="import"))
    return entries


def _joined(annotations: Iterable[Annotation]) -> list[Annotation]:
    """Join what a worker says of one item in several places, of which messages name the first."""
    sets: dict[tuple[str, str], Annotation] = {}
    for found in annotations:
        place = found.item, found.worker
        known = sets.get(place, found)
        sets[place] = known._replace(labels=tuple(dict.fromkeys([*known.labels, *found.labels])))
    return [known for known in sets.values() if known.labels]


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
    found = []
    for made in task.get("annotations") or ():
        if not isinstance(made, dict) or made.get("was_cancelled"):
            continue
        results = [result for result in made.get("result") or () if isinstance(result, dict)]
        labels = [
            label
            for result in results
            if result.get("type") == "choices" and choice in (None, result.get("from_name"))
            for label in _choices(result.get("value"), plain=False)
        ]
        found.append((_name(made.get("completed_by")), labels))
    return found


def _choices(value: Any, *, plain: bool) -> list[str]:
    """Return the choices that a value of Label Studio holds."""
    if isinstance(value, dict) and isinstance(value.get("choices"), list):
        return [str(choice) for choice in value["choices"]]
    return [value] if plain and isinstance(value, str) else []


def _name(worker: Any) -> str:
    if isinstance(worker, dict):
        worker = worker.get("email") or worker.get("username") or worker.get("id")
    return "unknown" if worker is None else str(worker)
