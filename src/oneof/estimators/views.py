"""Views: groups of columns that tell of a row by themselves, such as those of one sensor; a row may lack some."""

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Ints, Labels, Mask


def read_views(views: Any, n_features: int, names: Labels | None = None) -> list[Ints]:
    """Return the column numbers of each view.

    Parameters
    ----------
    views : sequence of column groups
        Each a slice, a sequence of column numbers (negative ones count from the end), a boolean mask of all columns, or
        a sequence of column names. Views may share columns, and columns may be in none.
    n_features : int
    names : ndarray of shape (n_features,), optional
        The column names, where X is a table.

    Returns
    -------
    list of ndarray

    Raises
    ------
    InputError
        If there is no view, or one is empty, names a column twice, or names one that there is not.

    Examples
    --------
    >>> read_views([slice(0, 2), [3, -2]], 4)
    [array([0, 1]), array([3, 2])]
    """
    if isinstance(views, str | slice) or not _is_listed(views):
        raise InputError(f"`views` must be a list of groups of columns, one for each view; got {views!r}.")
    groups = list(views)
    if not groups:
        raise InputError("views is empty: give at least one group of columns, or None for all columns as one view.")
    return [_columns(group, place, n_features, names) for place, group in enumerate(groups)]


def _columns(group: Any, place: int, n_features: int, names: Labels | None) -> Ints:
    if isinstance(group, slice):
        try:
            found = np.arange(n_features)[group]
        except TypeError:
            raise InputError(f"`views[{place}]` must be a slice of column numbers; got {group!r}.") from None
    else:
        if isinstance(group, str | numbers.Integral):
            raise InputError(f"`views[{place}]` must be a list, also of one column: [{group!r}]; got {group!r}.")
        if not _is_listed(group):
            raise InputError(f"`views[{place}]` must be numbers, names, a slice or a mask; got {group!r}.")
        listed = group if isinstance(group, np.ndarray) else list(group)
        members = np.asarray(listed)
        mixed = members.dtype.kind in "iu" and any(isinstance(each, bool) for each in listed)
        if mixed or (members.size and members.dtype.kind == "f"):
            raise InputError(f"`views[{place}]` must be whole numbers, or a mask of all columns; got {group!r}.")
        if members.ndim != 1 or members.size == 0:
            raise InputError(f"views[{place}] is empty or no list of columns: give numbers, names, a slice or a mask.")
        if members.dtype.kind == "b":
            found = _masked(members, place, n_features)
        elif members.dtype.kind in "iu":
            found = _numbered(members.astype(np.int64), place, n_features)
        else:
            found = _named(members, place, names)
    if found.size == 0:
        raise InputError(f"views[{place}] holds no column: give at least one.")
    distinct, counts = np.unique(found, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"views[{place}] names column {distinct[counts > 1][0]} twice: give each column once a view.")
    return found.astype(np.int64, copy=False)


def _is_listed(value: Any) -> bool:
    return hasattr(value, "__iter__") and not (isinstance(value, np.ndarray) and value.ndim == 0)


def _masked(members: Mask, place: int, n_features: int) -> Ints:
    if len(members) != n_features:
        raise InputError(f"views[{place}] is a mask of {len(members)} columns, but X has {n_features}.")
    return np.flatnonzero(members)


def _numbered(members: Ints, place: int, n_features: int) -> Ints:
    beyond = (members < -n_features) | (members >= n_features)
    if beyond.any():
        raise InputError(f"views[{place}] names column {members[beyond][0]}, but X has {n_features} columns.")
    return np.where(members < 0, members + n_features, members)


def _named(members: Labels, place: int, names: Labels | None) -> Ints:
    if names is None:
        raise InputError(f"views[{place}] names columns, but X is no table with column names: give their numbers.")
    places = {name: number for number, name in enumerate(names.tolist())}
    for name in members.tolist():
        if name not in places:
            raise InputError(f"views[{place}] names column {name!r}, which X does not have.")
    return np.array([places[name] for name in members.tolist()], dtype=np.int64)


def rows_with(rows: FeatureMatrix, columns: Ints, names: Labels | None = None) -> Mask:
    """Return which rows have a view: those whose columns are not all NaN.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
    columns : ndarray of column numbers
    names : ndarray of shape (d,), optional

    Returns
    -------
    ndarray of shape (n,), bool

    Raises
    ------
    InputError
        If a row has NaN in some columns of the view and numbers in others, or a number that is infinite.

    Examples
    --------
    >>> rows_with(np.array([[1.0, 2.0], [np.nan, np.nan]]), np.array([0, 1]))
    array([ True, False])
    """
    part = rows[:, columns]
    if sp.issparse(part):  # what is not stored is 0, a number
        row_of_entry = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        counts = np.bincount(row_of_entry[np.isnan(part.data)], minlength=part.shape[0])
    else:
        counts = np.isnan(part).sum(axis=1)
    broken = np.flatnonzero((counts > 0) & (counts < len(columns)))
    if len(broken):
        row = int(broken[0])
        column = int(columns[np.flatnonzero(np.isnan(_dense(part[[row]]).ravel()))[0]])
        called = f"{column}" if names is None else f"{names[column]!r}"
        raise InputError(
            f"row {row}, column {called}: NaN in a view whose other columns hold numbers; a row lacks a view where all "
            "its columns are NaN, so impute the value, or blank the whole view."
        )
    return counts == 0


def _dense(rows: FeatureMatrix) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows
