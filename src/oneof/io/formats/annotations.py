"""Exports of annotation tools: Label Studio (JSON and JSON-MIN) and doccano (JSON lines, one file per annotator)."""

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from oneof.archives import check_members
from oneof.errors import DataError
from oneof.io.formats.json_lines import JsonLinesReader, parse_json, read_json, read_object
from oneof.io.formats.records import RecordOffset

_DOCCANO_LABELS = ("label", "labels", "cats")
"""Keys of the labels of a document: of today's exports, of older ones, and of projects with intents."""
_DOCCANO_SUFFIXES = (".jsonl", ".json")
_COLLABORATIVE = "all"
_SHORT_FORM_FIELDS = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"}
"""Fields that the short form adds to those of the data and of the tags."""
_HOW = "`choice` in Python, --answer on the command line"
_BLOCK_ROWS = 10_000


class Annotation(NamedTuple):
    """The answer of one annotator to one item.

    Attributes
    ----------
    item : str or int
        Name of the item in the file.
    annotator : str
    labels : tuple of str
        Empty if the annotator has submitted no label.
    location : str
        Task or line of the file, for error messages.
    """

    item: str | int
    annotator: str
    labels: tuple[str, ...]
    location: str


class UnnamedItemError(DataError):
    """Item of a file without the field that identifies it."""


def is_export(path: Path) -> bool:
    """Return whether the answers in a file are read by `read_export`, and not as a table.

    Exports are .json and .zip files, folders, and JSON lines that have a key "annotations" or "username".
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if path.is_dir() or suffixes[-1:] in ([".json"], [".zip"]):
        return True
    if ".jsonl" not in suffixes[-2:] or not path.is_file():
        return False
    first = next(_lines(path, n_rows=1), None)
    return first is not None and not first[0].keys().isdisjoint(("annotations", "username"))


def read_export(path: Path, *, item: str, choice: str | None = None, own_id: bool = True) -> list[Annotation]:
    """Read an export of Label Studio from a .json file, and one of doccano from any other file.

    Without `own_id`, the number of a task or a document in its tool is not its "id"; that of its data still is.

    Raises
    ------
    DataError
        As for `read_label_studio` and `read_doccano`; also if `choice` is given for doccano.
    """
    if path.suffix.lower() == ".json" and not path.is_dir():
        return read_label_studio(path, item=item, choice=choice, own_id=own_id)
    if choice is not None:
        raise DataError(f"{path} is read as an export of doccano, whose labels have no tag; got the tag {choice!r}.")
    return read_doccano(path, item=item, own_id=own_id)


def read_label_studio(path: Path, *, item: str, choice: str | None = None, own_id: bool = True) -> list[Annotation]:
    """Read a JSON export of Label Studio, in its full form or the short one ("JSON-MIN").

    Parameters
    ----------
    path : Path
        A list of tasks. In the full form each has `data` and `annotations`, whose results of type "choices" are read;
        the labels of several choices of an annotation are a set. In the short form there is an object for each
        annotation, with the choices as a field named after their tag. Canceled annotations, drafts and predictions
        are ignored. An annotator is named by `completed_by` or `annotator`: a number, an e-mail address or an object.
    item : str
        The field of the data that identifies the tasks; "id" is the number of the task if the data have no such field.
    choice : str, optional
        The name of the tag whose choices are read; by default the only one. The short form has one choice as plain
        text and several as an object, so `choice` is needed if no task has several.

    Returns
    -------
    list of Annotation

    Raises
    ------
    DataError
        If the file is not such an export, a task has no such field, there are several tags, or an annotator has two
        different annotations of a task.
    """
    tasks = read_json(path)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path} is not an export of Label Studio: expected a list of tasks.")
    short_tags = _short_tags(tasks) if choice is None else {choice: None}
    tags: dict[str, None] = {}
    annotations = []
    for number, task in enumerate(tasks):
        location = f"{path}, task {number}"
        if not isinstance(task.get("data", task), dict):
            raise DataError(f"{location}: the data must be an object.")
        outer = task if "data" not in task or item == "id" else {}
        name = _name_item((task.get("data"), {} if item == "id" and not own_id else outer), item, location)
        for annotator, choices in _studio_choices(task, choice, short_tags):
            tags |= dict.fromkeys(choices)
            labels = [label for values in choices.values() for label in values]
            annotations.append(Annotation(name, annotator, _distinct(labels), location))
    if choice is None and len(tags) > 1:
        raise DataError(
            f"{path} has choices of the tags {', '.join(tags)}. Name the tag whose choices are the answers ({_HOW})."
        )
    if annotations and not any(annotation.labels for annotation in annotations):
        fields = _text_fields(tasks)
        hint = f" Name the tag of the choices ({_HOW}); the fields with text are {', '.join(fields)}." if fields else ""
        raise DataError(f"{path} has no choices{'' if choice is None else f' of the tag {choice!r}'}.{hint}")
    _check_single(annotations)
    return annotations


def read_doccano(path: Path | Iterable[Path], *, item: str = "id", own_id: bool = True) -> list[Annotation]:
    """Read an export of doccano: documents with their labels, in one file for each annotator.

    Parameters
    ----------
    path : Path or iterable of Path
        The .zip file that doccano writes for a project in which annotators do not share their labels; its unpacked
        folder; or .jsonl or .json files. An annotator is named by the file, such as admin.jsonl, or by the key
        "username" of the documents; in exports before doccano 1.1, each element of the key "annotations" has its user.
    item : str, default="id"
        The key that identifies the documents: of a document, or of its "meta" if the document has no such key.
    own_id : bool, default=True
        Whether "id" is the number of the document in doccano; otherwise it is a key of "meta".

    Returns
    -------
    list of Annotation

    Raises
    ------
    DataError
        If a file is not such an export, has the labels of all annotators together, or has labels of spans.
    """
    paths = [path] if isinstance(path, Path) else list(path)
    annotations = []
    for annotator, document, location in (entry for one in paths for entry in _documents(one)):
        name = _name_item(({} if item == "id" and not own_id else document, document.get("meta")), item, location)
        for user, labels in _doccano_labels(document, annotator, location):
            annotations.append(Annotation(name, user.strip(), _distinct(labels), location))
    return annotations


def drop_empty(annotations: list[Annotation]) -> tuple[list[Annotation], list[str]]:
    """Return the annotations with labels, and the names of the annotators without any."""
    given = [annotation for annotation in annotations if annotation.labels]
    active = {annotation.annotator for annotation in given}
    omitted = dict.fromkeys(one.annotator for one in annotations if one.annotator not in active)
    return given, list(omitted)


def describe_omitted(annotators: list[str]) -> str:
    """Return a warning about annotators without answers."""
    names = ", ".join(map(repr, annotators[:5])) + (", ..." if len(annotators) > 5 else "")
    return f"annotators without answers are omitted: {names}."


def describe_uninformative(annotator: str, n_answers: int) -> str:
    """Return a sentence on an annotator whose answers name all classes."""
    s, verb_s = ("", "s") if n_answers == 1 else ("s", "")
    return (
        f"{n_answers:,} answer{s} of {annotator!r} name{verb_s} all classes, and say{verb_s} nothing about the label."
    )


# -- Label Studio -----------------------------------------------------------------------------------------------------


def _check_single(annotations: list[Annotation]) -> None:
    """Raise if an annotator has different annotations of an item."""
    first: dict[tuple[str | int, str], Annotation] = {}
    for one in annotations:
        other = first.setdefault((one.item, one.annotator), one) if one.labels else one
        if set(other.labels) != set(one.labels):
            texts = [" or ".join(labels) for labels in (other.labels, one.labels)]
            raise DataError(
                f"{one.location}: annotator {one.annotator!r} answered the item {one.item!r} twice, with {texts[0]!r} "
                f"and {texts[1]!r}. Delete one of the annotations in Label Studio and export again, or give records of "
                "the answers."
            )


def _short_tags(tasks: list[dict[str, Any]]) -> dict[str, None]:
    """Return the fields of the short form that have an object of choices in any task, in their order."""
    return dict.fromkeys(
        name
        for task in tasks
        if "data" not in task
        for name, value in task.items()
        if any(isinstance(one, dict) and _choices(one) for one in _as_list(value))
    )


def _text_fields(tasks: list[dict[str, Any]]) -> list[str]:
    """Return the fields of the short form with text in any task, which may have the choices."""
    short = [task for task in tasks if "data" not in task]
    fields = dict.fromkeys(name for task in short for name, value in task.items() if isinstance(value, str))
    return [name for name in fields if name not in _SHORT_FORM_FIELDS]


def _studio_choices(
    task: dict[str, Any], choice: str | None, short_tags: Iterable[str]
) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield the annotator, and the labels by tag, of each annotation of a task."""
    if "data" not in task:
        values = {name: _short_choices(task.get(name)) for name in short_tags}
        yield _name_annotator(task.get("annotator")), {name: labels for name, labels in values.items() if labels}
        return
    annotations = task.get("annotations")
    for annotation in annotations if isinstance(annotations, list) else ():
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        choices: dict[str, list[str]] = {}
        results = annotation.get("result")
        for result in results if isinstance(results, list) else ():
            if not isinstance(result, dict) or result.get("type") != "choices":
                continue
            tag = str(result.get("from_name"))
            if choice in (None, tag):
                choices.setdefault(tag, []).extend(_choices(result.get("value")))
        yield _name_annotator(annotation.get("completed_by")), choices


def _short_choices(value: Any) -> list[str]:
    """Return the choices in a field of the short form: text, an object, or a list of these for regions."""
    return [label for one in _as_list(value) for label in ([one] if isinstance(one, str) else _choices(one))]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _choices(value: Any) -> list[str]:
    choices = value.get("choices") if isinstance(value, dict) else None
    return [str(label) for label in choices] if isinstance(choices, list) else []


def _name_annotator(annotator: Any) -> str:
    if isinstance(annotator, dict):
        annotator = annotator.get("email") or annotator.get("username") or annotator.get("id")
    return "unknown" if annotator is None else str(annotator).strip()


# -- doccano ----------------------------------------------------------------------------------------------------------


def _documents(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the name of the file without its extension, the document, and its location."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in _DOCCANO_SUFFIXES)
        if not files:
            raise DataError(f"the folder {path} has no file of doccano: expected .jsonl or .json files.")
        for file in files:
            yield from _documents(file)
    elif path.suffix.lower() == ".zip":
        yield from _zipped_documents(path)
    elif path.suffix.lower() == ".json":
        for number, document in enumerate(_as_documents(read_json(path), path)):
            yield path.stem, document, f"{path}, document {number}"
    else:
        for document, location in _lines(path):
            yield PurePosixPath(path.name.removesuffix(".gz")).stem, document, location


def _zipped_documents(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    contents = []
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            check_members(archive, path.stat().st_size)
            for member in archive.infolist():
                name = PurePosixPath(member.filename)
                if name.suffix.lower() in _DOCCANO_SUFFIXES:
                    contents.append((name, archive.read(member)))
    except FileNotFoundError:
        raise DataError(f"the file {path} does not exist. Check its name and folder.") from None
    except DataError as error:
        raise error.at(path) from None
    except (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} is not a readable zip file ({reason}). Export it again from doccano.") from None
    if not contents:
        raise DataError(f"{path} has no .jsonl or .json file. Export it again from doccano.")
    for name, content in contents:
        location = f"{path}, {name.name}"
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise DataError(f"{location} is not text in UTF-8. Export it again from doccano.") from None
        if name.suffix.lower() == ".json":
            for number, document in enumerate(_as_documents(parse_json(text, location), location)):
                yield name.stem, document, f"{location}, document {number}"
            continue
        for number, line in enumerate(io.StringIO(text, newline=None), 1):
            if line.strip():
                yield name.stem, read_object(line, f"{location}, line {number}"), f"{location}, line {number}"


def _as_documents(documents: Any, source: Any) -> list[dict[str, Any]]:
    if not isinstance(documents, list) or not all(isinstance(document, dict) for document in documents):
        raise DataError(f"{source} is not an export of doccano: expected a list of documents.")
    return documents


def _doccano_labels(document: dict[str, Any], annotator: str, location: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each annotator of a document with the labels."""
    annotations = document.get("annotations")
    if isinstance(annotations, list):
        users: dict[str, list[str]] = {}
        for annotation in annotations:
            if not isinstance(annotation, dict) or annotation.get("user") is None or "start_offset" in annotation:
                raise DataError(f"{location}: each annotation must have a user and a label of the document.")
            users.setdefault(str(annotation["user"]), []).extend(_as_labels([annotation.get("label")], location))
        yield from users.items()
        return
    key = next((name for name in _DOCCANO_LABELS if name in document), None)
    if key is None:
        raise DataError(f"{location}: the key 'label' is missing. Export a classification project of doccano.")
    labels = document[key]
    user = document.get("username")
    if user is None and annotator == _COLLABORATIVE:
        raise DataError(
            f"{location}: the file has the labels of all annotators together. Export a project in which annotators do "
            "not share their labels."
        )
    yield (
        str(annotator if user is None else user),
        _as_labels(labels if isinstance(labels, list) else [labels], location),
    )


def _as_labels(labels: list[Any], location: str) -> list[str]:
    for label in labels:
        if label is not None and not isinstance(label, str | int):
            raise DataError(f"{location}: {label!r} is not a label of the document. Export a classification project.")
    return [str(label) for label in labels if label is not None]


# -- both -------------------------------------------------------------------------------------------------------------


def _name_item(objects: Iterable[Any], item: str, location: str) -> str | int:
    """Return the name of an item: the field of the first object in which it is neither absent nor null.

    Tools write integers as floats if some are missing.
    """
    values = (one.get(item) for one in objects if isinstance(one, dict))
    value = next((value for value in values if value is not None), None)
    if value is None:
        raise UnnamedItemError(f"{location}: the field {item!r}, which identifies the item, is missing.")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DataError(f"{location}: the field {item!r}, which identifies the item, must be text or a whole number.")
    return value


def _distinct(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))


def _lines(path: Path, n_rows: int = _BLOCK_ROWS) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects of a file of JSON lines, and their locations."""
    number = 0
    for rows, _ in JsonLinesReader(path).blocks(n_rows, RecordOffset()):
        for row in rows:
            yield row, f"{path}, object {number}"
            number += 1
