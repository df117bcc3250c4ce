"""Names of rows, annotators and columns: their codes, and the rows of one table in another."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from oneof.candidates.labels import MISSING, is_missing, label_vector
from oneof.errors import InputError, LabelError
from oneof.messages import enumerate_items, warn
from oneof.typing import Ints, Labels

RECORD_COLUMNS = ("row", "annotator", "answer")
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
    names = set(answers.columns) if hasattr(answers, "columns") else set()
    if names.issuperset(RECORD_COLUMNS):
        return True
    if names & {"annotator", "worker"} and names & {"answer", "label"}:
        raise InputError(
            f"the DataFrame of answers has the columns {enumerate_items(list(map(repr, answers.columns)), 6)}, as with "
            "one answer in each line. Rename those of the row, the annotator and the answer to 'row', 'annotator' and "
            "'answer'."
        )
    return False


def list_labels(labels: Iterable[Sequence[Any]]) -> list[Any]:
    """Return sets of labels as answers: a label for a set of one."""
    return [list(one) if len(one) > 1 else one[0] for one in labels]


def warn_of_joined_labels(classes: Labels) -> None:
    """Warn if a class consists of other classes separated by "|", as a set in a text file."""
    names = set(classes.tolist())
    for label in classes.tolist():
        if isinstance(label, str) and "|" in label and names.issuperset(members := label.split("|")):
            warn(f"{label!r} is read as one class. If it is a set, split the text: the answer is then {members}.")
            return


def check_no_names(source: Ints, code: Ints, names: Labels) -> None:
    """Raise if the answers in one of several columns are all different, and occur in no other column, as names do."""
    is_shared = np.bincount(code)[code] > 1
    n_answers, n_shared = (np.bincount(one, minlength=len(names)) for one in (source, source[is_shared]))
    suspects = np.flatnonzero((n_answers >= MIN_NAMES) & (n_shared == 0))
    if len(names) > 1 and len(suspects):
        name, n = names.tolist()[suspects[0]], n_answers[suspects[0]]
        raise InputError(
            f"the {n} answers in column {name!r} are all different, and occur in no other column. If they name the "
            f"rows, make them the index: table.set_index({name!r}). Otherwise pass `classes`.",
            column=int(suspects[0]),
        )
