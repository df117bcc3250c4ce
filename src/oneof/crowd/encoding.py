"""Names of rows and annotators: their codes, and their positions among other names."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from oneof.candidates.labels import MISSING, is_missing, label_vector
from oneof.errors import InputError, LabelError
from oneof.typing import Ints, Labels


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


def positions_in(names: Labels, requested: Iterable[Any], what: str) -> Ints:
    """Return the position of each requested name among different names, -1 if it is none of them."""
    position: dict[Any, int] = {}
    for i, name in enumerate(names.tolist()):
        if position.setdefault(name, i) < i:
            raise InputError(f"`{what}` must contain different rows; {name!r} is repeated. Remove or rename one.")
    return np.array([position.get(name, MISSING) for name in requested], dtype=np.int64)


def index_of(table: Any) -> Any:
    """Return the index of a DataFrame or a Series of pandas, which names its rows; None if there is none."""
    index = getattr(table, "index", None)
    return None if callable(index) else index


def is_in_order(names: Sequence[Any], index: Sequence[Any], *, index_is_unnamed: bool) -> bool:
    """Return whether two sequences of names are of the same rows in the same order; otherwise names are matched.

    The numbers 0, 1, ... are no names, unless both have the same numbers in another order: then the order counts. So it
    does if the rows of the index have no names.
    """
    if names == index or len(names) != len(index):
        return names == index
    return (index_is_unnamed or names == list(range(len(names)))) and set(names) != set(index)


def list_labels(labels: Iterable[Sequence[Any]]) -> list[Any]:
    """Return sets of labels as answers: a label for a set of one."""
    return [list(one) if len(one) > 1 else one[0] for one in labels]
