"""Files of answers of annotators: one reader for tables, exports of annotation tools and archives.

Every file is a sequence of objects: the rows of a table, lines of JSON, or the tasks of an export. `EXPORTS` lists the
forms of the tools, which are recognized by the keys of the objects. Each is a function that yields the annotator and
the labels of each answer in one object; any other file is a table. The answers of all forms then go one way:
`parse_answers` reads their cells as those of a label column.
"""

import contextlib
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from oneof.archives import check_members
from oneof.candidates.cells import DEFAULT_SEPARATOR
from oneof.candidates.columns import LabelColumns, read_label_columns
from oneof.candidates.encoding import MISSING
from oneof.errors import DataError, InputError, LabelError
from oneof.io.batches import read_table
from oneof.io.columns import find_column, select_column
from oneof.io.findings import UnreadableCells, describe
from oneof.io.formats.binary import read_answers_npz
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.json_lines import objects_to_frame, parse_json, read_lines
from oneof.io.labels.class_findings import NO_WEIGHTS_OF_ANSWERS, label_findings
from oneof.io.labels.label_columns import find_separator, label_format, name_remedy
from oneof.io.table import Table
from oneof.messages import MAX_NAMED, enumerate_items
from oneof.typing import Ints, Labels, Mask

if TYPE_CHECKING:
    import polars as pl

ROW, ITEM, OWN_ID = "row", "item", "id"
"""Default columns of the names of rows, and the field of an export that may be a number of the tool."""
ANNOTATOR, ANSWER = ("annotator", "worker"), ("answer", "label")
"""Default columns of a file of answers: those of exports of the labeling page are the last ones."""

_DOCCANO_LABELS = ("label", "labels", "cats")
"""Keys of the labels of a document; the last one is that of projects with intents."""
_OLD = "the export is that of {} before version {}. Update it, and export the answers again."
_WHICH = "Name the tag whose choices are the answers (`choice` in Python, --answer on the command line)."
_MAX_SAMPLED = 1_000
"""Number of objects that show whether a file has responses of Argilla."""
_JSON = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class AnswerOptions:
    """The file of the answers, and the names of its columns.

    Attributes
    ----------
    path : Path
        A table with a record for each answer or a column for each annotator, an export of an annotation tool, or a
        NumPy archive.
    row : str or None
        The column of the names of the rows, in this file and in the table; in an export, the field of the data. By
        default "row"; if the table has no such column, its rows are numbered from 0. A file without the column may name
        its rows in a column "item", as exports of the labeling page do, or "row".
    annotator, answer : str or None
        Columns of this file, by default "annotator" or "worker", and "answer" or "label"; without any of them, all
        columns but that of the rows are annotators. An export has no column of annotators, and its `answer` is the
        question, such as the tag of the choices of Label Studio, by default the only one.
    excluded : tuple of str
        Annotators whose answers are not used.
    answers_row : str or None
        The column or the field of this file, if it has another name than in the table.
    rules : {"auto", "yes", "no"}
        Whether the sources are rules; see `select_rows`.
    negation : str or None
        Text before an answer that the row does not have: with "not ", the answer "not finch" is all other classes.
    weight : str or None
        Column of confidences in a file with one line for each candidate of a row, which has no annotators.
    other_uses : frozenset of str
        Columns with another use, such as that of true labels, which are not annotators.
    """

    path: Path
    row: str | None = None
    annotator: str | None = None
    answer: str | None = None
    excluded: tuple[str, ...] = ()
    answers_row: str | None = None
    rules: Literal["auto", "yes", "no"] = "auto"
    negation: str | None = None
    weight: str | None = None
    other_uses: frozenset[str] = frozenset()

    @property
    def select_rows(self) -> Literal["auto"] | bool:
        """The argument of `oneof.crowd.Answers`."""
        return "auto" if self.rules == "auto" else self.rules == "yes"

    @property
    def candidate_columns(self) -> tuple[str, str] | None:
        """The names of the candidates and of their confidences, as columns of the table; None for annotators."""
        if self.weight is None:
            return None
        return f"{self.answer or ANSWER[-1]} of {self.path.name}", f"{self.weight} of {self.path.name}"

    @property
    def has_own_id(self) -> bool:
        """Whether the field "id" beside the data of an export is a number of the tool, and not the name of a row."""
        return self.row == OWN_ID and self.answers_row is None

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The names of the column of the rows in this file, the first one that exists is read."""
        return (self.answers_row,) if self.answers_row is not None else (self.row or ROW, ITEM, ROW)

    def describe_rows(self) -> str:
        """Return sentences on the options that name the rows."""
        return (
            f"--row COLUMN names the column of the rows in the table and in {self.path}, and --answers-row COLUMN that "
            f"of {self.path} if it has another name. By default, the column {ROW!r} has the numbers of the rows from 0."
        )


class Item(NamedTuple):
    """The row of a table or an object of a file of JSON, the file or the member of an archive, and the place in it."""

    content: dict[str, Any]
    file: str
    place: str


class Answer(NamedTuple):
    """The answer of one annotator to one row, as it is in the file."""

    row: str | int
    annotator: str
    cell: str | list[str] | None
    """None or an empty list without an answer."""
    item: Item
    """The object with the answer."""
    column: str | None = None
    """The column of the annotator, in a table with a column for each."""
    question: str | None = None
    """The question of the answer, if the objects may have several."""
    is_negated: bool = False
    """Whether the row has none of the labels."""
    degree: Any = None
    """The cell of the degree of certainty, in the column "degree" of exports of the labeling page."""
    weight: Any = None
    """The cell of the confidence in a candidate."""

    @property
    def place(self) -> str:
        """The location for messages."""
        return self.item.place if self.column is None else f"{self.item.place}, column {self.column!r}"


@dataclass(frozen=True)
class AnswerFile:
    """The answers in a file, before their cells are parsed; and the classes, if the file names all."""

    path: str
    answers: list[Answer]
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] | None = None
    is_export: bool = False
    is_wide: bool = False
    """Whether the file is a table with a column for each annotator."""


@dataclass(frozen=True)
class Objects:
    """The rows of a table, or the objects of a file of JSON, as mappings from keys to values."""

    path: str
    items: list[Item]

    @cached_property
    def keys(self) -> list[str]:
        """The keys of all objects, which are the columns of a table."""
        return list({key: None for item in self.items for key in item.content})

    def has(self, *keys: str) -> bool:
        """Return whether an object has one of the keys."""
        return not set(keys).isdisjoint(self.keys)

    @cached_property
    def is_short(self) -> bool:
        """Whether the file is a short form of Label Studio (JSON-MIN and CSV), whose lines have a field for each tag.

        A single choice is text, as other fields are, and several choices are an object, in CSV as JSON.
        """
        return self.has("annotation_id") or (self.has("annotator") and bool(self.choices))

    @cached_property
    def choices(self) -> list[str]:
        """The keys under which an object has several choices of Label Studio."""
        return [key for key in self.keys if any(_has_choices(_unquote(one.content.get(key))) for one in self.items)]


Given: TypeAlias = tuple[Any, Any, str | None, bool]
"""The annotator of an answer in an export, its labels, its question, and whether the row has none of the labels."""


class Form(NamedTuple):
    """A form of exports."""

    recognizes: Callable[[Objects], bool]
    read: Callable[[Item], Iterator[Given]]
    has_own_id: bool = False
    """Whether the field "id" beside the data is a number of the tool."""


def read_answer_file(options: AnswerOptions, *, paths: Sequence[Path] = (), form: Form | None = None) -> AnswerFile:
    """Read the answers in a file of any form.

    Parameters
    ----------
    options : AnswerOptions
    paths : sequence of Path, optional
        The files of an export that has several.
    form : Form, optional
        The form of the file; by default the one that recognizes it. Any other file is a table.

    Raises
    ------
    DataError
        If the file cannot be read, an object has no name of a row, or there are several questions.
    InputError
        If an option has no use with the form.
    """
    if options.path.suffix.lower() == ".npz":
        return _read_archive(options)
    objects = read_objects(paths or [options.path])
    form = form or next((one for one in EXPORTS if one.recognizes(objects)), None)
    file = _read_table(objects, options) if form is None else _read_export(form, objects, options)
    if options.negation is None:
        return file
    return replace(file, answers=[_without_negation(answer, options.negation) for answer in file.answers])


def _read_archive(options: AnswerOptions) -> AnswerFile:
    """Read the answers of a NumPy archive; row i has the answers about row i of the table."""
    path = options.path
    if options.answers_row is not None:
        raise InputError(
            f"--answers-row has no use with the archive {path}, whose rows are those of the table in their order. "
            "Remove it."
        )
    codes, classes, annotators = read_answers_npz(path)
    names = tuple(map(str, classes))
    answers = [
        Answer(str(i), annotators[j], [names[codes[i, j]]], Item({}, str(path), f"{path}, row {i}"))
        for i, j in np.argwhere(codes >= 0).tolist()
    ]
    return AnswerFile(str(path), answers, classes=names)


def _without_negation(answer: Answer, negation: str) -> Answer:
    """Return an answer, negated if its text, or each of its texts, begins with `negation`.

    Several labels of one text may each have the negation: "not finch|not wren".
    """
    texts = [answer.cell] if isinstance(answer.cell, str) else answer.cell or []
    if not texts or not all(text.strip().startswith(negation) for text in texts):
        return answer
    plain = [re.sub(rf"(?<!\w){re.escape(negation)}", "", text.strip()) for text in texts]
    return answer._replace(cell=plain[0] if isinstance(answer.cell, str) else plain, is_negated=True)


def name_rows(frame: "pl.DataFrame", column: str | None, source: str) -> list[str]:
    """Return the names of the rows of a table, by default their numbers; raise if one is missing or repeated."""
    if column is None:
        return [str(row) for row in range(frame.height)]
    names: dict[str, None] = {}
    for row, cell in enumerate(frame[find_column(column, frame.columns, Path(source))].to_list()):
        if cell is None or not str(cell).strip():
            raise DataError(f"column {column!r} is empty. Name the row.", source=source, row=row)
        if str(cell) in names:
            reason = f"column {column!r} contains {str(cell)!r} twice. Name each row of the table differently."
            raise DataError(reason, source=source, row=row)
        names[str(cell)] = None
    return list(names)


# -- objects of files --------------------------------------------------------------------------------------------------


def read_objects(paths: Sequence[Path]) -> Objects:
    """Read the rows of a table, or the objects of files of JSON, of an archive or a folder of these."""
    items: list[Item] = []
    for path in paths:
        if not path.exists():
            raise DataError(f"the file {path} does not exist. Check its name and folder.")
        try:
            items += _read_items(path)
        except DataError as error:
            raise error if str(path) in str(error) else error.at(path) from None
        except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(f"{path} cannot be read ({reason}). Export it again.") from None
    if not items:
        raise DataError(f"{path} has no objects in .jsonl or .json files. Export it again.")
    return Objects(", ".join(map(str, paths)), items)


def _is_json(path: PurePath | str) -> bool:
    return PurePath(path).suffix.lower() in _JSON


def _is_group(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() == ".zip"


def _read_items(path: Path) -> Iterator[Item]:
    """Yield the objects of a file, or of all files of a folder or an archive."""
    if path.is_dir():
        for file in sorted(filter(_is_json, path.iterdir())):
            yield from _read_items(file)
    elif _is_group(path):
        with zipfile.ZipFile(path) as archive:
            check_members(archive, path.stat().st_size)
            for name in filter(_is_json, archive.namelist()):
                yield from _parse(archive.read(name), f"{path}, {PurePosixPath(name).name}")
    elif _is_json(path):
        yield from _parse(path.read_bytes(), str(path))
    else:
        rows = read_table(path, as_text=("*",)).frame.iter_rows(named=True)
        yield from (Item(row, str(path), f"{path}, row {i}") for i, row in enumerate(rows))


def _parse(content: bytes, file: str) -> Iterator[Item]:
    """Yield the objects of a list in a file .json, or of the lines of another file."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{file} is not text in UTF-8. Export it again.") from None
    if file.lower().endswith(".json"):
        value = parse_json(text, file)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise DataError(f"{file} must be a list of objects, such as the tasks of an export of Label Studio.")
    else:
        value = read_lines(text, file)
    yield from (Item(one, file, f"{file}, object {i}") for i, one in enumerate(value))


# -- exports -----------------------------------------------------------------------------------------------------------


def _read_export(form: Form, file: Objects, options: AnswerOptions) -> AnswerFile:
    """Return the answers in an export to one question."""
    if options.annotator is not None:
        raise InputError(f"--annotator has no use with the export {file.path}, which names its annotators. Remove it.")
    answers: list[Answer] = []
    for item in file.items:
        try:
            given = list(form.read(item))
            row = _name_row(item.content, options, form)
        except DataError as error:
            raise error.at(item.place) from None
        answers += [
            Answer(row, _name_annotator(annotator), _as_labels(labels), item, None, question, is_negated)
            for annotator, labels, question, is_negated in given
        ]
    return AnswerFile(file.path, _of_question(answers, options, file.path), is_export=True)


def _of_question(answers: list[Answer], options: AnswerOptions, path: str) -> list[Answer]:
    """Return the answers to one question; those to others are empty, since their annotators are known."""
    questions = list(dict.fromkeys(one.question for one in answers if one.question and one.cell))
    tags = f"{path} has choices of the tags {', '.join(questions) or '(none)'}"
    if options.answer is None and len(questions) > 1:
        raise DataError(f"{tags}. {_WHICH}")
    if options.answer is not None and options.answer not in questions:
        raise DataError(f"{tags}, and no choices of the tag {options.answer!r}.")
    return [one if one.question == (options.answer or one.question) else one._replace(cell=None) for one in answers]


def _name_row(item: dict[str, Any], options: AnswerOptions, form: Form) -> str | int:
    """Return the name of the row of an object: the first value of its field in the data, the object or its metadata."""
    field, is_own = options.row_columns[0], form.has_own_id and options.has_own_id
    holders = (item.get("data"), {} if is_own else item, *map(item.get, ("meta", "metadata", "fields")))
    values = (holder.get(field) for holder in holders if isinstance(holder, dict))
    value = next((value for value in values if value is not None), None)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        defect = "is missing" if value is None else "must be text or a whole number"
        remedy = options.describe_rows() if not options.has_own_id else (
            f"The field {OWN_ID!r} beside the data is a number of the tool. If the table has these numbers, add "
            f"--answers-row {OWN_ID}; otherwise name the field of the data with the names of the rows by --answers-row."
        )  # fmt: skip
        raise DataError(f"the field {field!r}, which identifies the item, {defect}. {remedy}")
    return value


def _name_annotator(annotator: Any) -> str:
    if isinstance(annotator, dict):
        annotator = annotator.get("email") or annotator.get("username") or annotator.get("id")
    return "unknown" if annotator is None else str(annotator).strip()


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _as_labels(value: Any) -> list[str]:
    """Return the labels in a value of JSON: a text, an object with choices, or a list of these."""
    parts = (one.get("choices") if isinstance(one, dict) else one for one in _as_list(value))
    labels = (label for part in parts for label in _as_list(part) if label is not None)
    return list(dict.fromkeys(label if isinstance(label, str) else json.dumps(label) for label in labels))


def _has_choices(value: Any) -> bool:
    return any(isinstance(one, dict) and isinstance(one.get("choices"), list) for one in _as_list(value))


def _unquote(value: Any) -> Any:
    """Return the object in a cell of the CSV form of Label Studio, in which several choices are JSON."""
    if isinstance(value, str) and value.startswith('{"choices":'):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    return value


def _read_task(task: Item) -> Iterator[Given]:
    """Read a task of Label Studio: its `annotations` with results of type "choices".

    The choices of an annotation are a set. Canceled annotations, drafts and predictions are ignored.
    """
    data, annotations = task.content.get("data"), task.content.get("annotations")
    if not isinstance(data, dict):
        raise DataError("the data must be an object.")
    if "completions" in task.content:
        raise DataError(_OLD.format("Label Studio", "1.0"))
    for annotation in _as_list(annotations):
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        choices: dict[str | None, list[str]] = {}
        for result in _as_list(annotation.get("result")):
            if isinstance(result, dict) and result.get("type") == "choices":
                choices.setdefault(str(result.get("from_name")), []).extend(_as_labels(result.get("value")))
        for tag, labels in (choices or {None: []}).items():
            yield annotation.get("completed_by"), labels, tag, False


def _read_document(item: Item) -> Iterator[Given]:
    """Read a document of doccano.

    The annotator is named by the file, such as Ann.jsonl, or by the key "username".
    """
    document, source = item.content, PurePath(item.file.rpartition(", ")[2]).stem
    if "annotations" in document:
        raise DataError(_OLD.format("doccano", "1.1"))
    key = next((name for name in _DOCCANO_LABELS if name in document), None)
    if key is None:
        raise DataError("the key 'label' is missing. Export a classification project of doccano.")
    user, labels = document.get("username"), _as_list(document[key])
    if user is None and source == "all":
        raise DataError(
            "the file has the labels of all annotators together. Export a project in which annotators do not share "
            "their labels."
        )
    if not all(label is None or type(label) in (str, int) for label in labels):
        raise DataError(f"{labels!r} is not a list of labels. Export a classification project.")
    yield str(source if user is None else user), labels, None, False


def _read_responses(record: Item) -> Iterator[Given]:
    """Read a record of Argilla: the submitted responses to each question, which may be under a key "responses"."""
    nested = record.content.get("responses")
    for question, given in (record.content | (nested if isinstance(nested, dict) else {})).items():
        for one in given if isinstance(given, list) else ():
            if isinstance(one, dict) and {"user_id", "value"} <= {*one}:
                labels = one["value"] if one.get("status") in (None, "submitted") else None
                yield one["user_id"], labels, question.removesuffix(".responses"), False


def _read_decision(item: Item) -> Iterator[Given]:
    """Read a line of Prodigy: a label is accepted or rejected, or options are chosen; an ignored line has no answer."""
    line = item.content
    if "label" not in line and not isinstance(line.get("accept"), list):
        raise DataError("the key 'label' or 'accept' is missing. Export a classification task.")
    is_rejected = line.get("answer") == "reject"
    has_answer = line.get("answer") == "accept" or (is_rejected and "accept" not in line)
    annotator = line.get("_annotator_id") or line.get("_session_id")
    yield annotator, line.get("accept", line.get("label")) if has_answer else None, None, is_rejected


STUDIO = Form(lambda file: file.has("data") and file.has("annotations", "completions"), _read_task, True)
DOCCANO = Form(
    lambda file: (
        _is_group(Path(file.path))
        or (_is_json(file.items[0].file) and file.has("annotations", "username", "Comments") and not file.is_short)
    ),
    _read_document,
    True,
)
ARGILLA = Form(lambda file: any(any(_read_responses(one)) for one in file.items[:_MAX_SAMPLED]), _read_responses)
PRODIGY = Form(
    lambda file: file.has("answer") and file.has("_input_hash", "_annotator_id", "_session_id"), _read_decision
)
EXPORTS = (STUDIO, DOCCANO, ARGILLA, PRODIGY)
"""The forms of exports, in the order in which they are tried."""


# -- tables ------------------------------------------------------------------------------------------------------------


def _read_table(file: Objects, options: AnswerOptions) -> AnswerFile:
    """Return the answers in a table with a line for each, or a column for each annotator."""
    row = find_row_column(options.row_columns, file.keys, options)
    if file.has(*ANNOTATOR, *ANSWER) or file.is_short or any((options.annotator, options.answer, options.weight)):
        notes = [
            f"the column {OWN_ID!r} of {file.path} has the numbers of the tasks in Label Studio. If the table has "
            "other numbers in its column, name a field of the data by --answers-row."
        ] * (file.is_short and options.has_own_id)
        return AnswerFile(file.path, list(_read_lines(file, row, options)), tuple(notes), is_export=file.is_short)
    names = [name for name in file.keys if name != row and name not in options.other_uses]
    answers = [
        Answer(_name_cell(item, row, "row"), by.strip(), _as_cell(item.content.get(by)), item, by)
        for item in file.items
        for by in names
    ]
    return AnswerFile(file.path, answers, is_wide=True)


def _read_lines(file: Objects, row: str, options: AnswerOptions) -> Iterator[Answer]:
    """Read a line for each answer, or for each candidate of a row with its confidence, which has no annotator."""
    path, known = Path(file.path), file.choices or ANSWER
    if len(file.choices) > 1 and options.answer is None:
        raise DataError(f"{path} has choices of the tags {', '.join(file.choices)}. {_WHICH}")
    answer = select_column(options.answer, known, file.keys, path, "--answer COLUMN names the column of the answers.")
    weight = options.weight and find_column(options.weight, file.keys, path)
    annotator = next((name for name in (options.annotator, *ANNOTATOR) if name in file.keys), None)
    if weight is not None and annotator is not None:
        raise InputError(
            f"--weights {weight} has no use with {path}, whose column {annotator!r} names annotators: answers have no "
            "weights. Remove --weights, or the column."
        )
    is_named = weight is None and not file.is_short
    if is_named and annotator is None and options.annotator is None:
        raise DataError(
            f"the column {answer!r} has answers, and no column 'annotator' or 'worker' names the annotators. Name "
            "theirs by --annotator. If one person gave all answers, join them to the table, and name them by --labels. "
            "If each line is a candidate with a confidence, name the column of the confidences by --weights.",
            source=file.path,
        )
    by = select_column(options.annotator, ANNOTATOR, file.keys, path) if is_named else annotator or ""
    for item in file.items:
        cells = item.content
        if file.is_short:
            user, cell = _name_annotator(cells.get(by)), _unquote(cells.get(answer))
        else:
            user, cell = str(_name_cell(item, by, "annotator")).strip() if is_named else "", cells.get(answer)
        name, confidence = _name_cell(item, row, "row"), cells.get(weight or "")
        yield Answer(name, user, _as_cell(cell), item, degree=cells.get("degree"), weight=confidence)


def find_row_column(names: Sequence[str], columns: list[str], options: AnswerOptions, path: Path | None = None) -> str:
    """Return the first of these columns of the names of the rows that exists; the error has the options."""
    return select_column(None, names, columns, path or options.path, options.describe_rows())


def _name_cell(item: Item, column: str, kind: str) -> str | int:
    """Return a cell with the name of a row or an annotator: a whole number of JSON, or text."""
    name = item.content.get(column)
    if name is None or not str(name).strip():
        raise DataError(f"column {column!r} is empty. Name the {kind}.", source=item.place)
    return int(name) if isinstance(name, float) and name.is_integer() else name if type(name) is int else str(name)


def _as_cell(value: Any) -> str | list[str] | None:
    """Return a value of a table or of JSON as the text of a cell, or as a list of labels."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) or _has_choices(value):
        return _as_labels(value)
    if isinstance(value, bool | dict):
        return json.dumps(value, default=str)
    return None if value != value else str(value)  # noqa: PLR0124 - NaN


# -- cells -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParsedAnswers:
    """Answers with their labels.

    Attributes
    ----------
    file : AnswerFile
    code : ndarray of shape (n_answers,)
        The set of each answer; -1 without an answer, and for one that names all classes.
    sets : ndarray of shape (n_sets, n_classes), bool
    classes : ndarray of shape (n_classes,)
    separator : str
        The text between two labels of a cell.
    notes : list of str
    are_named : bool
        Whether the classes were given.
    """

    file: AnswerFile
    code: Ints
    sets: Mask
    classes: Labels
    separator: str
    notes: list[str]
    are_named: bool


def parse_answers(
    file: AnswerFile,
    cell_format: CellFormat | None = None,
    *,
    separator: str | None = None,
    classes: Sequence[str] | None = None,
    unreadable: UnreadableCells | None = None,
) -> ParsedAnswers:
    """Return the answers about the rows of a table, whose `cell_format` has the tokens of missing labels.

    `unreadable` counts the answers that cannot be read; see `read_labels`.

    Raises
    ------
    DataError
        If an export has no answers.
    LabelError
        If a cell cannot be read; see `read_labels`.
    """
    cell_format = cell_format or CellFormat()
    classes = classes if file.classes is None else file.classes
    if file.is_export and not any(one.cell for one in file.answers):
        raise DataError("the export has no answers.", source=file.path)
    frame = objects_to_frame([{"answer": one.cell or None} for one in file.answers], ["answer"])
    table = Table(frame, Path(file.path), cell_format=cell_format)
    if separator is None:
        separator = DEFAULT_SEPARATOR if file.is_export else find_separator(table, ["answer"], classes=classes)
    errors: dict[int, LabelError] = {}
    form = label_format(table, separator, classes=classes)
    try:
        sets = read_label_columns(frame, LabelColumns(["answer"], form), errors.update)
    except LabelError as error:
        raise _locate(errors, file, folds_case=form.folds_case) if errors else error.at(file.path) from None
    if errors and cell_format.label_errors != "unlabeled":
        raise _locate(errors, file, folds_case=form.folds_case)
    if unreadable is not None and errors:
        unreadable.add_labels("answer", errors)
    mask, is_given = _negate(file.answers, sets.mask, ~sets.is_unlabeled)
    distinct, code = np.unique(mask, axis=0, return_inverse=True)
    notes = [*file.notes, *describe(label_findings(sets, separator, unit="answer", source=file.path))]
    if file.is_wide:
        names = list(dict.fromkeys(one.annotator for one in file.answers))
        listed = enumerate_items(names, MAX_NAMED, conjunction=False)
        notes.append(f"{file.path} is read as a table with a column for each of {len(names)} annotators: {listed}.")
    code = np.where(is_given, code.ravel(), MISSING)
    return ParsedAnswers(file, code, distinct, sets.classes, separator, notes, classes is not None)


def _locate(errors: dict[int, LabelError], file: AnswerFile, *, folds_case: bool) -> LabelError:
    """Return the error of the first of some answers, with its place and the number of the others."""
    first = min(errors)
    error = name_remedy(errors[first], folds_case=folds_case).at(file.answers[first].place)
    if error.cause == "weights":
        error = error.because(f"the labels have weights, such as {error.label}. {NO_WEIGHTS_OF_ANSWERS}.")
    error.row, error.rows = None, tuple(errors)
    return error.because(f"{error.reason}{f' In all, {len(errors):,} answers cannot be read.' * (len(errors) > 1)}")


def _negate(records: Sequence[Answer], mask: Mask, is_given: Mask) -> tuple[Mask, Mask]:
    """Return the sets of answers, of which negated ones are the other classes, and the mask of the given ones.

    Further answers of the annotator to the row are joined with a negated one, and are no longer given.
    """
    pairs = {(one.row, one.annotator) for one in records if one.is_negated}
    mask = mask ^ (np.array([one.is_negated for one in records]) & is_given)[:, None]
    is_given = is_given.copy()
    first: dict[tuple[str | int, str], int] = {}
    for i in np.flatnonzero(is_given).tolist() if pairs else ():
        if (pair := records[i][:2]) in pairs:
            j = first.setdefault(pair, i)
            mask[j] &= mask[i]
            is_given[i] = i == j
            if not mask[j].any():
                raise LabelError(
                    f"the answers of annotator {pair[1]!r} to the row {pair[0]!r} exclude all classes. Correct one of "
                    "them, or name all classes (--classes).",
                    label=records[i].cell,
                    source=records[i].place,
                )
    return mask, is_given
