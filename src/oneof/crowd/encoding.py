"""Tables, records and exports of answers as codes of rows, annotators and distinct answers."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from oneof.candidates.labels import (
    MISSING,
    check_no_mapping,
    encode_labels,
    is_hashable,
    is_minus_one,
    is_missing,
    label_vector,
)
from oneof.candidates.readers.annotations import encode_cells
from oneof.candidates.readers.collections import is_collection
from oneof.errors import DataError, InputError, InputTypeError, LabelError
from oneof.io.formats.annotations import Annotation, describe_omitted, drop_empty
from oneof.messages import enumerate_items, warn
from oneof.typing import Ints, Labels, Mask

T = TypeVar("T")
RECORD_COLUMNS = ("row", "annotator", "answer")
_ANNOTATOR, _ANSWER = {"annotator", "worker"}, {"answer", "label"}
"""Names of the columns of records in files of answers."""
MAX_LISTED = 9
"""Number of further rows with several answers of one annotator that an error lists."""
MIN_NAMES = 20
"""Number of answers, all of them different, from which they are taken for names of rows."""
_RECORDS = (
    "If each line is an answer, with its row and annotator, pass the three columns to Answers.from_records(rows, "
    "annotators, answers)."
)


def find_repeated(names: Labels) -> Any:
    """Return the most frequent one of the names."""
    [(repeated, _)] = Counter(names.tolist()).most_common(1)
    return repeated


def rows_in(names: Labels, row: Ints, source: Ints, own: tuple[Labels, Labels]) -> Ints:
    """Return the position in the names of the row of each answer.

    Parameters
    ----------
    names : ndarray
        The names of all rows of a data set.
    row, source : ndarray of shape (n_answers,)
        The codes of rows and annotators.
    own : tuple of ndarray
        The names of the coded rows and annotators.

    Raises
    ------
    InputError
        If a name is repeated, or the row of an answer has no position.
    """
    position = {name: i for i, name in enumerate(names.tolist())}
    if len(position) < len(names):
        raise InputError(f"`index` must contain different names of rows; {find_repeated(names)!r} is repeated.")
    rows, annotators = (coded.tolist() for coded in own)
    new = np.array([position.get(name, MISSING) for name in rows], dtype=np.int64)[row]
    unknown = np.flatnonzero(new == MISSING)
    if len(unknown):
        first = unknown[row[unknown].argmin()]
        raise InputError(
            f"an answer of annotator {annotators[source[first]]!r} is about the row {rows[row[first]]!r}, which the "
            "table does not have. Correct the name, or remove the answer."
        )
    return new


def has_record_columns(answers: Any) -> bool:
    """Return whether answers are a DataFrame of records; raise if it is one with other names of the columns."""
    if not hasattr(answers, "columns"):
        return False
    names = list(answers.columns)
    missing = [name for name in RECORD_COLUMNS if name not in names]
    if len(missing) > 1 and _ANNOTATOR & set(names) and _ANSWER & set(names):
        raise InputError(
            f"the DataFrame of answers has the columns {', '.join(map(repr, names[:6]))}, as with one answer in each "
            "line. Rename those of the row, the annotator and the answer to 'row', 'annotator' and 'answer'."
        )
    if len(missing) == 1:
        raise InputError(
            f"the DataFrame of answers has no column {missing[0]!r}, but the other columns of records. Rename a column "
            f"to {missing[0]!r}; or rename the others, if they are annotators."
        )
    return not missing


def list_labels(labels: Iterable[Sequence[Any]]) -> list[Any]:
    """Return sets of labels as answers: a label for a set of one."""
    return [list(one) if len(one) > 1 else one[0] for one in labels]


def flatten_table(table: Any) -> tuple[Any, tuple[int, int], Labels, Labels | None]:
    """Return the cells by rows, the shape, the names of the columns, and those of the rows if there are any."""
    row_names = None
    check_no_mapping(table)
    if hasattr(table, "columns"):
        names = label_vector(list(table.columns))
        columns = [label_vector(table[name]).tolist() for name in table.columns]
        shape = (len(table), len(columns))
        if hasattr(table, "index") and not callable(table.index):
            row_names = label_vector(table.index)
        return label_vector([cell for cells in zip(*columns) for cell in cells]), shape, names, row_names
    if isinstance(table, memoryview):
        table = np.asarray(table)
    if not isinstance(table, np.ndarray):
        try:
            rows = list(table)
            listed = [] if any(isinstance(row, str | bytes | set | Mapping) for row in rows) else list(map(list, rows))
        except (TypeError, NotImplementedError):  # the latter from some sparse formats
            rows, listed = [None], []
        if len(listed) < len(rows):
            raise InputError("`answers` must be a table with a row for each row of X and a column for each annotator.")
        width = len(listed[0]) if listed else 0
        for i, row in enumerate(listed):
            if len(row) != width:
                raise InputError(f"got {len(row)} answers; other rows have {width}. Use None for no answer.", row=i)
        return label_vector([cell for row in listed for cell in row]), (len(listed), width), np.arange(width), None
    if table.ndim != 2:
        raise InputError(f"`answers` must have shape (n_rows, n_annotators); got {table.shape}.")
    return label_vector(table.ravel()), table.shape, np.arange(table.shape[1]), None


def encode(flat: Any, classes: Any, n_columns: int) -> tuple[Ints, Mask, Labels]:
    """Return the code of each answer, -1 for no answer, the distinct answers as sets, (D, K), and the classes."""
    listed = flat.tolist() if flat.dtype.kind == "O" else None
    if classes is None and all(is_missing(value) or is_minus_one(value) for value in flat.tolist()):
        raise InputError("`answers` must contain at least one answer.")
    try:
        if listed is None or not any(is_collection(value) for value in listed):
            code, known = encode_labels(flat, classes)
            return code, np.eye(len(known), dtype=bool), known
        return encode_cells(listed, classes)
    except LabelError as error:
        if error.cause == "types" and n_columns >= len(RECORD_COLUMNS):
            raise error.because(f"{error.reason} {_RECORDS}") from None
        if error.row is None or n_columns == 1:
            raise
        row, column = divmod(error.row, n_columns)
        raise LabelError(error.reason, label=error.label, cause=error.cause, row=row, column=column) from None


def warn_of_joined_labels(classes: Labels) -> None:
    """Warn if a class consists of other classes separated by "|", as a set in a text file."""
    known = set(classes.tolist())
    for label in classes.tolist():
        if isinstance(label, str) and "|" in label and known.issuperset(members := label.split("|")):
            warn(
                f"{label!r} is read as one class. If it is a set, split the text: the answer is then {members}.",
            )
            return


def check_no_names(source: Ints, code: Ints, names: Labels) -> None:
    """Raise if the answers in one of several columns are all different, and occur in no other column.

    Parameters
    ----------
    source, code : ndarray of shape (n_answers,)
        Columns and codes of the answers.
    names : ndarray of shape (n_columns,)
    """
    n_columns, is_unique = len(names), np.bincount(code)[code] == 1
    n_answers = np.bincount(source, minlength=n_columns)
    n_unique = np.bincount(source, weights=is_unique, minlength=n_columns)
    [suspects] = np.nonzero((n_unique == n_answers) & (n_answers >= MIN_NAMES))
    if n_columns > 1 and len(suspects):
        name = names.tolist()[suspects[0]]
        raise InputError(
            f"the {n_answers[suspects[0]]} answers in column {name!r} are all different, and occur in no other column. "
            f"If they name the rows, make them the index: table.set_index({name!r}). Otherwise pass `classes`.",
            column=int(suspects[0]),
        )


def encode_records(
    rows: Any, annotators: Any, answers: Any, classes: Any
) -> tuple[tuple[Ints, Ints, Ints], Mask, tuple[Labels, Labels, Labels]]:
    """Return the codes of rows, annotators and distinct answers, the answers as sets, (D, K), and the three names.

    Repeated records count once. An annotator without an answer, or with different answers to a row, is an error.
    """
    flat = label_vector(answers)
    row_values, source_values = name_vector(rows, "rows"), annotator_vector(annotators)
    if not len(row_values) == len(source_values) == len(flat):
        raise InputError(
            f"`rows`, `annotators` and `answers` must have the same length; got {len(row_values)}, "
            f"{len(source_values)} and {len(flat)}."
        )
    row_names, row = factorize(row_values, "row")
    source_names, source = factorize(source_values, "annotator")
    try:
        code, sets, known = encode(flat, classes, 1)
    except LabelError as error:
        if error.row is None:
            raise
        place = f"(annotator {source_values.tolist()[error.row]!r}, row {row_values.tolist()[error.row]!r})"
        raise error.because(f"{error.reason.removesuffix('.')} {place}.") from None
    answered = np.flatnonzero(code != MISSING)
    empty = np.flatnonzero(np.bincount(source[answered], minlength=len(source_names)) == 0)
    if len(empty):
        raise InputError(
            f"annotator {source_names.tolist()[empty[0]]!r} has no answer. Remove the records of this annotator."
        )
    kept = _drop_repeated(row, source, code, answered)
    codes, names = (row[kept], source[kept], code[kept]), (row_names, source_names, known)
    _check_single(codes, sets, names, kept)
    return codes, sets, names


def _drop_repeated(row: Ints, source: Ints, code: Ints, answered: Ints) -> Ints:
    """Return the records with an answer, in order, without those that repeat an earlier record."""
    order = np.lexsort((code[answered], source[answered], row[answered]))  # stable: the first of equal records stays
    values = np.stack([row, source, code])[:, answered[order]]
    return np.delete(answered, order[1:][(np.diff(values) == 0).all(axis=0)])


def _check_single(
    codes: tuple[Ints, Ints, Ints], sets: Mask, names: tuple[Labels, Labels, Labels], record: Ints
) -> None:
    """Raise if an annotator gave several answers to a row; `record` has the record of each answer."""
    row, source, code = codes
    order = np.lexsort((source, row))
    repeated = np.flatnonzero((np.diff(row[order]) == 0) & (np.diff(source[order]) == 0))
    if not len(repeated):
        return
    at = repeated[np.argmin(order[repeated + 1])]
    first, second = order[at], order[at + 1]
    row_names, source_names, classes = names
    one, other = (" or ".join(map(str, classes[sets[code[i]]].tolist())) for i in (first, second))
    annotator, name = source_names.tolist()[source[first]], row_names.tolist()[row[first]]
    pairs = dict.fromkeys(zip(row[order[repeated]].tolist(), source[order[repeated]].tolist(), strict=True))
    del pairs[int(row[first]), int(source[first])]
    some = list(pairs)[:MAX_LISTED]
    rows, sources = (names[[pair[k] for pair in some]].tolist() for k, names in enumerate((row_names, source_names)))
    listed = [f"{i!r} by {j!r}" for i, j in zip(rows, sources, strict=True)]
    others = enumerate_items(listed, n_others=len(pairs) - len(some))
    more = f" So did others: {others}." if listed else ""
    raise InputError(
        f"annotator {annotator!r} answered the row {name!r} twice, with {one!r} and {other!r}. Keep one answer, or "
        f"give their set.{more}",
        row=int(record[second]),
    )


def check_field(row: Any) -> None:
    """Raise unless the name of a field of an export is text."""
    if not isinstance(row, str):
        raise InputTypeError(f"`row` must be the name of a field; got {row!r}.")


def name_vector(values: Any, name: str) -> Any:
    """Return names of rows or annotators as a 1-D array."""
    try:
        names = label_vector(values)
    except LabelError:
        raise InputError(f"`{name}` must be a 1-D array of names; got {values!r}.") from None
    for value in names.tolist():
        if not is_hashable(value):
            raise InputError(f"`{name}` must be strings or numbers; got {value!r}.")
    return names


def annotator_vector(values: Any) -> Any:
    """Return names of annotators as a 1-D array, in which text has no surrounding spaces, as in files of answers.

    An empty name is an error.
    """
    names = name_vector(values, "annotators")
    if names.dtype.kind not in "OU":
        return names
    stripped = [name.strip() if isinstance(name, str) else name for name in names.tolist()]
    if "" in stripped:
        position = stripped.index("")
        raise InputError(
            f"the name of annotator {position} is empty ({names.tolist()[position]!r}). Name the annotator, or remove "
            "the answers."
        )
    return label_vector(stripped)


def column_annotators(columns: Labels, annotators: Any = None) -> Any:
    """Return the annotators of columns, by default their names; columns of one annotator are an error."""
    if annotators is not None:
        names = annotator_vector(annotators)
        if len(names) != len(columns) or len(set(names.tolist())) < len(columns):
            raise InputError(f"`annotators` must be {len(columns)} different names, one for each column.")
        return names
    names = annotator_vector(columns)
    repeated = find_repeated(names) if len(names) else None
    alike = [column for column, name in zip(columns.tolist(), names.tolist(), strict=True) if name == repeated]
    if len(alike) > 1:
        raise InputError(
            f"the columns {enumerate_items(list(map(repr, alike)))} of answers are of one annotator, {repeated!r}. "
            "Rename or remove one."
        )
    return names


def factorize(values: Any, kind: str) -> tuple[Labels, Ints]:
    """Return the distinct names, sorted if they can be, and the index of each value."""
    if values.dtype.kind in "iub":
        names, codes = np.unique(values, return_inverse=True)
        return names, codes.ravel()
    listed = values.tolist()
    try:
        distinct = list(dict.fromkeys(listed))
    except TypeError:
        raise InputError(f"the names of the {kind}s must be strings or numbers.") from None
    if any(is_missing(name) for name in distinct):
        missing = next(i for i, name in enumerate(listed) if is_missing(name))
        raise InputError(f"the name of the {kind} is missing. Name it, or remove the record.", row=missing)
    with suppress(TypeError):  # names of several types
        distinct.sort()
    position = {name: i for i, name in enumerate(distinct)}
    codes = np.fromiter(map(position.__getitem__, listed), dtype=np.int64, count=len(listed))
    return label_vector(distinct), codes


class Export:
    """The annotations of an export of Label Studio or doccano that have labels.

    Annotators without labels are omitted, with a UserWarning.

    Parameters
    ----------
    annotations : list of Annotation
    path : path-like or list of path-like

    Raises
    ------
    DataError
        If no annotation has a label.
    """

    def __init__(self, annotations: list[Annotation], path: Any) -> None:
        self.source = ", ".join(map(str, path)) if isinstance(path, list | tuple) else str(path)
        self.annotations, omitted = drop_empty(annotations)
        if not self.annotations:
            raise DataError("the export has no answers.", source=self.source)
        if omitted:
            warn(describe_omitted(omitted))

    def read(self, from_records: Callable[..., T], **named: Any) -> T:
        """Return the answers; errors name the file, and the place of the answer in it."""
        rows, annotators, labels, _ = zip(*self.annotations, strict=True)
        try:
            return from_records(rows, annotators, list_labels(labels), **named)
        except LabelError as error:
            if error.row is None:
                raise error.at(self.source) from None
            place = self.annotations[error.row].location
            raise LabelError(error.reason, label=error.label, source=place) from None
        except InputError as error:
            raise error.at(self.source) from None


def selected_rows(rows: Any, n: int) -> Ints:
    """Return the numbers of different rows of n, selected by a slice, a mask or an array."""
    try:
        selected = np.atleast_1d(np.arange(n)[rows])
    except (IndexError, TypeError, ValueError) as error:
        raise InputError(f"answers to {n} rows cannot be indexed by {rows!r}: {error}.") from None
    if selected.ndim > 1:
        raise InputTypeError("answers are indexed by rows only: a slice, a mask or an array of rows.")
    if len(np.unique(selected)) < len(selected):
        repeated = find_repeated(selected)
        raise InputError(f"the selected rows must be different; row {repeated} is repeated. Select it once.")
    return selected
