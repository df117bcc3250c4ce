"""Joins the rows of answers and the rows of a data set, by name or by order."""

from typing import Any

import numpy as np

from oneof.crowd.answers import Answers
from oneof.crowd.encoding import name_vector
from oneof.errors import InputError


def join_rows(answers: Answers, rows: Any, table: bool) -> Answers:
    """Return the answers over the rows of X, by the names of the rows or by their order; see `CrowdClassifier.fit`."""
    if len(rows.shape) == 0:
        raise InputError("`X` must be of shape (n_samples, n_features); got a scalar.")
    n = rows.shape[0]
    has_index = hasattr(rows, "index") and not callable(rows.index)
    index = name_vector(rows.index if has_index else np.arange(n), "index")
    names, known = answers.rows.tolist(), set(index.tolist())
    if table:
        if _is_named_alike(names, index.tolist(), has_index=has_index):
            return answers.align(index)._in_row_order()
        if len(answers) != n:
            raise InputError(
                f"`answers` are about {len(answers)} rows, but `X` has {n}. Give one row of answers for each."
            )
        return answers
    is_in_order = len(names) == n and (
        names == list(range(n)) or (answers._in_order and not has_index and known != set(names))
    )
    if is_in_order:
        return answers
    if names and known.isdisjoint(names):
        remedy = (
            "Name the rows of X by its index, such as X.set_index(names)" if has_index
            else "Pass index= to Answers, with the names of all rows in the order of X"
        )  # fmt: skip
        raise InputError(f"`answers` name rows such as {names[0]!r}, and `X` has no row of these names. {remedy}.")
    return answers.align(index)


def _is_named_alike(names: list[Any], index: list[Any], *, has_index: bool) -> bool:
    """Return whether the rows of a table of answers are found by the index of X; False if both have the same order.

    Raises
    ------
    InputError
        If the names differ in such a way that the order of the rows would be a guess.
    """
    is_numbered = names == list(range(len(names)))
    if names == index or not names:
        return False
    if not is_numbered:
        _check_names(names, index, has_index=has_index)
        return True
    if set(index) == set(names):
        raise InputError(
            "the index of `X` has the numbers of the rows of `answers` in another order. Give the table of answers the "
            "index of its rows, or reset that of X: X.reset_index(drop=True)."
        )
    return False


def _check_names(names: list[Any], index: list[Any], *, has_index: bool) -> None:
    """Raise unless X has all rows that a table of answers names: the order of the rows would be a guess."""
    known = set(index)
    if not has_index:
        problem, remedy = "`X` has no names of rows", "name the rows of X, such as pandas.DataFrame(X, index=names)"
    elif known.issuperset(names):
        return
    elif known.isdisjoint(names) and index == list(range(len(index))):
        problem, remedy = "`X` has no row of these names", "name the rows of X by its index, such as X.set_index(names)"
    else:
        strange = next(name for name in names if name not in known)
        raise InputError(
            f"`answers` have the row {strange!r}, which the index of `X` does not have. Give both the same names, or "
            "pass answers.to_numpy() if its rows are in the order of X."
        )
    raise InputError(
        f"`answers` name rows such as {names[0]!r}, and {problem}. Pass answers.to_numpy() if its rows are in the "
        f"order of X; otherwise {remedy}."
    )
