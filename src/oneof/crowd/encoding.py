"""Names of rows and annotators, and cells of answers, as codes."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from oneof.candidates.labels import (
    MISSING,
    check_no_mapping,
    encode_labels,
    is_minus_one,
    is_missing,
    label_vector,
)
from oneof.candidates.readers.annotations import encode_cells
from oneof.candidates.readers.collections import is_collection
from oneof.errors import InputError, LabelError
from oneof.messages import enumerate_items, warn
from oneof.typing import Ints, Labels, Mask

RECORD_COLUMNS = ("row", "annotator", "answer")
_ANNOTATOR, _ANSWER = {"annotator", "worker"}, {"answer", "label"}
"""Names of the columns of records in files of answers."""
MIN_NAMES = 20
"""Number of answers, all different and in no other column, from which they are taken for names of rows.

Two annotators who are right in half of their answers agree in a row with a probability of at least 1/4, and in none of
20 rows with at most (3/4)^20 = 0.3 %.
"""


def name_vector(values: Any, name: str) -> Any:
    """Return names of rows or annotators as a 1-D array."""
    try:
        names = label_vector(values)
        set(names.tolist())
    except (LabelError, TypeError):
        raise InputError(f"`{name}` must be a 1-D array of names, strings or numbers; got {values!r}.") from None
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
        raise InputError(f"the name of annotator {stripped.index('')} is empty. Name it, or remove its answers.")
    return label_vector(stripped)


def column_annotators(columns: Labels, annotators: Any = None) -> Any:
    """Return the annotators of columns, by default their names; columns of one annotator are an error."""
    names = annotator_vector(columns if annotators is None else annotators)
    if not len(set(names.tolist())) == len(names) == len(columns):
        listed = enumerate_items(list(map(repr, names.tolist())), 9)
        raise InputError(
            f"`annotators` must be {len(columns)} different names, one for each column, by default those of the "
            f"columns; got {listed}. Rename or remove a column, or pass `annotators`."
        )
    return names


def factorize(values: Any, kind: str) -> tuple[Labels, Ints]:
    """Return the distinct names, sorted if they can be, and the index of each value."""
    listed = values.tolist()
    distinct = list(dict.fromkeys(listed))
    if any(map(is_missing, distinct)):
        missing = next(i for i, name in enumerate(listed) if is_missing(name))
        raise InputError(f"the name of the {kind} is missing. Name it, or remove the record.", row=missing)
    with suppress(TypeError):  # names of several types
        distinct.sort()
    names = label_vector(distinct)
    return names, positions_in(names, listed, kind)


def positions_in(names: Labels, wanted: Iterable[Any], what: str) -> Ints:
    """Return the position of each wanted name among different names, -1 if it is none of them."""
    position: dict[Any, int] = {}
    for i, name in enumerate(names.tolist()):
        if position.setdefault(name, i) < i:
            raise InputError(f"`{what}` must contain different rows; {name!r} is repeated. Remove or rename one.")
    return np.array([position.get(name, MISSING) for name in wanted], dtype=np.int64)


def is_in_order(names: Sequence[Any], index: Sequence[Any], *, index_is_unnamed: bool) -> bool:
    """Return whether two sequences of names are of the same rows in the same order; otherwise names are matched.

    The numbers 0, 1, ... are no names, unless both have the same numbers in another order: then the order counts. So it
    does if the rows of the index have no names.
    """
    if names == index or len(names) != len(index):
        return names == index
    return (index_is_unnamed or names == list(range(len(names)))) and set(names) != set(index)


def has_record_columns(answers: Any) -> bool:
    """Return whether answers are a DataFrame of records; raise if it is one with other names of the columns."""
    if not hasattr(answers, "columns"):
        return False
    names = set(answers.columns)
    n_missing = len(set(RECORD_COLUMNS) - names)
    if n_missing == 1 or (n_missing and names & _ANNOTATOR and names & _ANSWER):
        raise InputError(
            f"the DataFrame of answers has the columns {enumerate_items(list(map(repr, answers.columns)), 6)}, as with "
            "one answer in each line. Rename those of the row, the annotator and the answer to 'row', 'annotator' and "
            "'answer'; or, if the columns are annotators, rename these."
        )
    return not n_missing


def list_labels(labels: Iterable[Sequence[Any]]) -> list[Any]:
    """Return sets of labels as answers: a label for a set of one."""
    return [list(one) if len(one) > 1 else one[0] for one in labels]


def read_table(table: Any) -> tuple[Any, Labels, Labels]:
    """Return the cells of a table by rows, and the names of the rows and of the columns; by default their numbers."""
    check_no_mapping(table)
    if hasattr(table, "columns"):
        columns = [label_vector(table[name]).tolist() for name in table.columns]
        has_index = hasattr(table, "index") and not callable(table.index)
        rows = label_vector(table.index) if has_index else np.arange(len(table))
        return (
            label_vector([cell for cells in zip(*columns) for cell in cells]),
            rows,
            label_vector(list(table.columns)),
        )
    if isinstance(table, np.ndarray | memoryview):
        table = np.asanyarray(table)
        cells, shape = table.ravel(), table.shape
    else:
        cells, shape = _read_rows(table)
    if len(shape) != 2:
        raise InputError(
            "`answers` must be a table of shape (n_rows, n_annotators), with a row for each row of X and a column for "
            f"each annotator; got {table!r}."
        )
    return label_vector(cells), np.arange(shape[0]), np.arange(shape[1])


def _read_rows(table: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Return the cells and the shape of a sequence of rows; the shape is empty if these are not sequences."""
    try:
        rows = list(table)
        if any(isinstance(row, str | bytes | set | Mapping) for row in rows):
            return [], ()
        listed = list(map(list, rows))
    except (TypeError, NotImplementedError):  # the latter from some sparse formats
        return [], ()
    width = len(listed[0]) if listed else 0
    for i, row in enumerate(listed):
        if len(row) != width:
            raise InputError(f"got {len(row)} answers; other rows have {width}. Use None for no answer.", row=i)
    return [cell for row in listed for cell in row], (len(listed), width)


def encode(cells: Any, classes: Any) -> tuple[Ints, Mask, Labels]:
    """Return the code of each cell, -1 for no answer, the distinct answers as sets, (D, K), and the classes."""
    listed = cells.tolist()
    if classes is None and all(is_missing(value) or is_minus_one(value) for value in listed):
        raise InputError("`answers` must contain at least one answer.")
    if cells.dtype.kind == "O" and any(map(is_collection, listed)):
        code, sets, known = encode_cells(listed, classes)
    else:
        code, known = encode_labels(cells, classes)
        sets = np.eye(len(known), dtype=bool)
    names = set(known.tolist())
    for label in known.tolist() if classes is None else ():
        if isinstance(label, str) and "|" in label and names.issuperset(members := label.split("|")):
            warn(f"{label!r} is read as one class. If it is a set, split the text: the answer is then {members}.")
            break
    return code, sets, known


def check_no_names(source: Ints, code: Ints, names: Labels) -> None:
    """Raise if the answers in one of several columns are all different, and occur in no other column, as names do."""
    n_answers = np.bincount(source, minlength=len(names))
    n_unique = np.bincount(source, weights=np.bincount(code)[code] == 1, minlength=len(names))
    [suspects] = np.nonzero((n_unique == n_answers) & (n_answers >= MIN_NAMES))
    if len(names) > 1 and len(suspects):
        name = names.tolist()[suspects[0]]
        raise InputError(
            f"the {n_answers[suspects[0]]} answers in column {name!r} are all different, and occur in no other column. "
            f"If they name the rows, make them the index: table.set_index({name!r}). Otherwise pass `classes`.",
            column=int(suspects[0]),
        )
