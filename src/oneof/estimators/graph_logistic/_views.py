"""Views of the rows: groups of columns, such as those of one sensor, which some rows may lack.

`parse_views` reads the parameter `views`, `ViewFeatures` maps rows to the features of one view, and `ViewModel` is the
linear model of all views.
"""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.kernels import Kernel
from oneof.solvers.graph_logistic.solve import normalize_view_weights
from oneof.typing import FeatureMatrix, Floats, Ints, Labels, Mask

_VARIANCE_RTOL = 1e-12
"""Fraction of a feature's mean square below which its variance counts as 0."""
_MAX_EXPONENT = 256
"""Largest exponent of the features for which neither their squares nor sums of squares overflow or underflow."""


# -- groups of columns ----------------------------------------------------------------------------------------------


def parse_views(views: Any, n_features: int, names: Labels | None = None) -> list[Ints]:
    """Return the column indices of each view.

    Parameters
    ----------
    views : sequence of column groups
        Each a slice, a sequence of column indices (negative ones count from the end), a boolean mask of all columns, or
        a sequence of column names. Views may share columns, and columns may be in no view.
    n_features : int
        Number of columns of X.
    names : ndarray of shape (n_features,), optional
        The column names, if X is a table.

    Returns
    -------
    list of ndarray

    Raises
    ------
    InputError
        If there is no view, or a view is empty, repeats a column, or names a column that X does not have.

    Examples
    --------
    >>> parse_views([slice(0, 2), [3, -2]], 4)
    [array([0, 1]), array([3, 2])]
    """
    if isinstance(views, str | slice) or not _is_iterable(views):
        raise InputError(f"`views` must be a list of groups of columns, one for each view; got {views!r}.")
    groups = list(views)
    if not groups:
        raise InputError(
            "`views` must have at least one group of columns; got an empty list. Pass None for all columns as one view."
        )
    return [_column_indices(group, view, n_features, names) for view, group in enumerate(groups)]


def _column_indices(group: Any, view: int, n_features: int, names: Labels | None) -> Ints:
    place = f"`views[{view}]`"
    if isinstance(group, str | numbers.Integral):
        raise InputError(f"{place} must be a list; got {group!r}. Pass [{group!r}] for one column.")
    if not (isinstance(group, slice) or _is_iterable(group)):
        raise InputError(f"{place} must be indices, names, a slice or a mask; got {group!r}.")
    members = group if isinstance(group, slice) else _listed_columns(group, place, n_features, names)
    try:
        columns = np.arange(n_features)[members]
    except TypeError:
        raise InputError(f"{place} must be a slice of column indices; got {group!r}.") from None
    if columns.size == 0:
        raise InputError(f"{place} must have at least one column; got {group!r}.")
    distinct, counts = np.unique(columns, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"{place} must have distinct columns; column {distinct[counts > 1][0]} is repeated.")
    return columns.astype(np.int64, copy=False)


def _listed_columns(group: Any, place: str, n_features: int, names: Labels | None) -> Any:
    """Return a mask of all columns, or column indices, which may be negative."""
    listed = group if isinstance(group, np.ndarray) else list(group)
    members = np.asarray(listed)
    kind = members.dtype.kind
    if members.ndim != 1 or members.size == 0:
        raise InputError(f"{place} must be a nonempty 1-D list of indices or names, a slice or a mask; got {group!r}.")
    if kind == "f" or (kind in "iu" and any(isinstance(member, bool) for member in listed)):
        raise InputError(f"{place} must be integers, or a boolean mask of all columns; got {group!r}.")
    if kind == "b":
        if len(members) != n_features:
            raise InputError(f"{place} must be a mask of {n_features} columns; got {len(members)} entries.")
        return members
    if kind in "iu":
        outside = (members.astype(np.int64) < -n_features) | (members >= n_features)
        if outside.any():
            raise InputError(f"{place} has the column {members[outside][0]}, but X has {n_features} columns.")
        return members
    if names is None:
        raise InputError(f"{place} has column names, but X is not a table with column names. Pass column indices.")
    indices = {name: index for index, name in enumerate(names.tolist())}
    for name in members.tolist():
        if name not in indices:
            raise InputError(f"{place} has the column {name!r}, which X does not have.")
    return [indices[name] for name in members.tolist()]


def _is_iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") and not (isinstance(value, np.ndarray) and value.ndim == 0)


def rows_with_view(rows: FeatureMatrix, columns: Ints, names: Labels | None = None) -> Mask:
    """Return a mask of the rows that have a view: those with a number in some of its columns.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
    columns : ndarray of column indices
    names : ndarray of shape (d,), optional
        The column names, for errors.

    Returns
    -------
    ndarray of shape (n,), bool

    Raises
    ------
    InputError
        If a row has NaN in some but not all columns of the view.

    Examples
    --------
    >>> rows_with_view(np.array([[1.0, 2.0], [np.nan, np.nan]]), np.array([0, 1]))
    array([ True, False])
    """
    view = rows[:, columns]
    if sp.issparse(view):  # entries that are not stored are 0, a number
        row_of_entry = np.repeat(np.arange(view.shape[0]), np.diff(view.indptr))
        counts = np.bincount(row_of_entry[np.isnan(view.data)], minlength=view.shape[0])
    else:
        counts = np.isnan(view).sum(axis=1)
    broken = np.flatnonzero((counts > 0) & (counts < len(columns)))
    if len(broken):
        row = int(broken[0])
        values = view[[row]].toarray() if sp.issparse(view) else view[[row]]
        column = int(columns[np.flatnonzero(np.isnan(values.ravel()))[0]])
        name = f"{column}" if names is None else f"{names[column]!r}"
        raise InputError(
            f"row {row}, column {name}: NaN in a view that has numbers in other columns. A row lacks a view if all "
            "columns of the view are NaN. Impute the value, or set all columns of the view to NaN."
        )
    return counts == 0


# -- features of a view ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ViewFeatures:
    """Map from rows to the features of one view: its columns, centered and scaled, or kernels with basis rows.

    With an intercept, the model does not depend on the origin of the features. It does not depend on their common unit
    either, since the precisions absorb it. Rounding errors depend on both. Dense features are therefore centered, and
    all features together are scaled to a mean variance of 1. Ratios between the units of features do not change.

    Attributes
    ----------
    columns : ndarray of column indices or None
        Columns of the view; None for all.
    kernel, basis
        The kernel and the rows x_j of kernel features k(x, x_j); None for raw features.
    exponent : int
        Features are first divided by 2^exponent, which is 0 except for extremely large or small features.
    offset : ndarray of shape (p,) or None
        Vector that is then subtracted.
    scale : float
        Divisor of the centered features.
    has_constant : bool
        Whether a constant feature 1 is appended.
    """

    columns: Ints | None
    kernel: Kernel | None
    basis: FeatureMatrix | None
    exponent: int
    offset: Floats | None
    scale: float
    has_constant: bool

    @classmethod
    def from_rows(
        cls,
        rows: FeatureMatrix,
        weight: Floats,
        *,
        columns: Ints | None = None,
        kernel: Kernel | None = None,
        basis: FeatureMatrix | None = None,
        has_constant: bool = True,
    ) -> "ViewFeatures":
        """Compute origin and scale from distinct rows of the view, (m, p), and their weights."""
        raw = _raw_features(rows, kernel, basis)
        exponent = _common_exponent(raw)
        raw = _divide_by_power(raw, exponent)
        mean, square, variance = _moments(raw, weight)
        if sp.issparse(raw) or not has_constant:
            offset = None
        else:  # a constant feature becomes exactly 0, from which its mean may differ by rounding
            offset = np.where((raw == raw[0]).all(axis=0), raw[0], mean)
        variable = variance > _VARIANCE_RTOL * square  # constant features do not affect the scale
        scale = float(np.sqrt(variance[variable].mean())) if variable.any() else 1.0
        return cls(columns, kernel, basis, exponent, offset, scale, has_constant)

    @property
    def total_scale(self) -> float:
        """Total divisor of the features, scale * 2^exponent."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(self.scale, self.exponent))

    def instances(self, rows: FeatureMatrix) -> FeatureMatrix:
        """Return the features of rows that have the view, (t, p) or, with a constant, (t, p + 1), in float64."""
        return self.transform(rows if self.columns is None else rows[:, self.columns])

    def transform(self, view: FeatureMatrix) -> FeatureMatrix:
        """Return the features of rows that have only the columns of the view."""
        values = _divide_by_power(_raw_features(view, self.kernel, self.basis), self.exponent)
        if sp.issparse(values) and self.offset is not None:  # the rows of fit were dense and centered
            values = values.toarray()
        if sp.issparse(values):
            values = values / self.scale
            if self.has_constant:
                values = sp.hstack([values, np.ones((values.shape[0], 1))])
            return sp.csr_array(values)
        values = (values if self.offset is None else values - self.offset) / self.scale
        return np.column_stack([values, np.ones(len(values))]) if self.has_constant else values

    def unscale(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return weights, (K - 1, p), and intercepts for features that are neither centered nor scaled.

        Raises
        ------
        InputError
            If the features are so small that the weights overflow float64.
        """
        scaled = (weights[:, :-1] if self.has_constant else weights) / self.scale
        intercept = weights[:, -1].copy() if self.has_constant else np.zeros(len(weights))
        if self.offset is not None:
            intercept -= scaled @ self.offset
        with np.errstate(over="ignore", under="ignore"):
            weights = np.ldexp(scaled, -self.exponent)
        if not np.isfinite(weights).all():
            raise InputError("The weights overflow float64. Scale the features, for example with StandardScaler.")
        return weights, intercept


def _raw_features(view: FeatureMatrix, kernel: Kernel | None, basis: FeatureMatrix | None) -> FeatureMatrix:
    values = view if kernel is None or basis is None else kernel.gram(view, basis)
    return values.astype(np.float64, copy=False)


def _common_exponent(values: FeatureMatrix) -> int:
    stored = values.data if sp.issparse(values) else values
    largest = float(max(stored.max(initial=0.0), -stored.min(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    return exponent if abs(exponent) > _MAX_EXPONENT else 0


def _divide_by_power(values: FeatureMatrix, exponent: int) -> FeatureMatrix:
    """Return values / 2^exponent."""
    if exponent == 0:
        return values
    with np.errstate(over="ignore", under="ignore"):
        if sp.issparse(values):
            out = values.copy()
            out.data = np.ldexp(out.data, -exponent)
            return out
        return np.ldexp(values, -exponent)


def _moments(values: FeatureMatrix, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the weighted means of the features and of their squares, and their variances."""
    fraction = weight / weight.sum()
    mean = np.asarray(values.T @ fraction).ravel()
    square = np.asarray((values.multiply(values) if sp.issparse(values) else values**2).T @ fraction).ravel()
    if sp.issparse(values):
        return mean, square, np.maximum(square - mean**2, 0.0)
    return mean, square, np.asarray(fraction @ (values - mean) ** 2)


# -- the model of all views -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ViewModel:
    """Linear model of all views: their features, and the weights of all classes but the last, which has 0.

    Attributes
    ----------
    features : tuple of ViewFeatures
    weights : tuple of ndarray of shape (K - 1, p)
        For the scaled features; the weight of the constant is the last.
    view_weights : ndarray of shape (V,)
        Weights of the views in the mean of the log-odds.
    names : ndarray of shape (d,) or None
        The column names, for errors.
    """

    features: tuple[ViewFeatures, ...]
    weights: tuple[Floats, ...]
    view_weights: Floats
    names: Labels | None

    def available(self, rows: FeatureMatrix, view: int) -> Mask:
        """Return a mask of the rows that have a view."""
        columns = self.features[view].columns
        return np.ones(rows.shape[0], dtype=bool) if columns is None else rows_with_view(rows, columns, self.names)

    def view_scores(self, rows: FeatureMatrix, view: int) -> tuple[Floats, Mask]:
        """Return (n, K) log-odds of a view against the last class, 0 for rows without it, and the mask of its rows."""
        weights, present = self.weights[view], self.available(rows, view)
        out = np.zeros((rows.shape[0], len(weights) + 1))
        if present.any():
            out[present, :-1] = self.features[view].instances(rows if present.all() else rows[present]) @ weights.T
        return out, present

    def scores(self, rows: FeatureMatrix) -> Floats:
        """Return (n, K) log-odds against the last class: the weighted mean over the views of a row, 0 without a view.

        If all views of a row have the weight 0, the mean is unweighted.
        """
        views = [self.view_scores(rows, view) for view in range(len(self.features))]
        weights = normalize_view_weights(np.column_stack([present for _, present in views]), self.view_weights)
        return np.sum([weights[:, [view]] * scores for view, (scores, _) in enumerate(views)], axis=0)

    def instances(self, rows: FeatureMatrix, view: int) -> tuple[Ints, FeatureMatrix]:
        """Return the rows that have a view, and their features in the columns of all views, (t, D)."""
        present = np.flatnonzero(self.available(rows, view))
        sizes = [weights.shape[1] for weights in self.weights]
        return present, stack_views([self.features[view].instances(rows[present])], [view], sizes)

    def check_view(self, view: Any) -> int:
        """Return the index of a view, and raise InputError if it is not valid."""
        if isinstance(view, bool) or not isinstance(view, int | np.integer) or not 0 <= view < len(self.features):
            raise InputError(
                f"`view` must be an integer from 0 to {len(self.features) - 1}, or None for all views; got {view!r}."
            )
        return int(view)


def stack_views(instances: list[FeatureMatrix], views: list[int], sizes: list[int]) -> FeatureMatrix:
    """Return instances in the columns of all views: `instances[i]` in the block `views[i]`, and 0 elsewhere."""
    if len(sizes) == 1:
        return instances[0]
    if any(sp.issparse(block) for block in instances):
        empty = [[sp.csr_array((block.shape[0], size)) for size in sizes] for block in instances]
        for blocks, block, view in zip(empty, instances, views, strict=True):
            blocks[view] = sp.csr_array(block)
        return sp.csr_array(sp.vstack([sp.hstack(blocks) for blocks in empty]))
    before = np.cumsum([0, *sizes])
    return np.vstack(
        [
            np.pad(block, ((0, 0), (before[view], before[-1] - before[view + 1])))
            for block, view in zip(instances, views, strict=True)
        ]
    )
