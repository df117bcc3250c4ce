"""Views of the rows: groups of columns, such as those of one sensor, which some rows may lack.

`parse_views` reads the parameter `views`, `ViewFeatures` maps rows to the features of one view, `ViewModel` is the
linear model of all views, and `ViewEncoder` makes the problem of the solver: features, graphs and terms of the prior.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.estimators.base import TrainingRows
from oneof.estimators.deduplicate import merge_rows
from oneof.graphs import NeighborGraph, check_affinity
from oneof.kernels.svc import Kernel
from oneof.solvers.graph_logistic import PriorTerm
from oneof.solvers.graph_logistic.prior import densify_if_full, disagreement_matrix, smoothness_matrix
from oneof.solvers.graph_logistic.solve import LabeledInstances
from oneof.typing import FeatureMatrix, Floats, Ints, Labels, Mask
from oneof.validation import is_integer

_VARIANCE_RTOL = 1e-12
"""Fraction of a feature's mean square below which its variance counts as 0."""
_MAX_EXPONENT = 256
"""Largest exponent of the features for which neither their squares nor sums of squares overflow or underflow."""
_REFERENCE_N_FEATURES = 100
"""Number of features above which the unit of a precision grows in proportion to it.

The prior variance of the scores, p / lambda, is then bounded.
"""


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
        If there is no view, or a view is empty, repeats a column, or has a column that X does not have.

    Examples
    --------
    >>> parse_views([slice(0, 2), [3, -2]], 4)
    [array([0, 1]), array([3, 2])]
    """
    if isinstance(views, str | slice) or not np.iterable(views) or not len(groups := list(views)):
        raise InputError(f"`views` must be a nonempty list of groups of columns, one for each view; got {views!r}.")
    return [_column_indices(group, view, n_features, names) for view, group in enumerate(groups)]


def _column_indices(group: Any, view: int, n_features: int, names: Labels | None) -> Ints:
    error = (
        f"`views[{view}]` must be a nonempty list of distinct columns: indices, names, a slice or a mask; got {group!r}"
    )
    members: Any = group
    try:
        if not isinstance(group, slice):
            members = np.asarray(group if hasattr(group, "dtype") or isinstance(group, str) else list(group))
            if members.dtype.kind in "OUT":
                positions = {} if names is None else {name: index for index, name in enumerate(names.tolist())}
                members = np.vectorize(positions.__getitem__, otypes=[np.int64])(members.astype(object))
        columns = np.arange(n_features)[members]
    except (TypeError, ValueError, IndexError) as cause:
        raise InputError(f"{error}: {cause}.") from None
    except KeyError as name:
        raise InputError(f"{error}, but X does not have the column {name}.") from None
    if columns.ndim != 1 or not 0 < columns.size == len(np.unique(columns)):
        raise InputError(f"{error}.")
    return columns


def rows_with_view(rows: FeatureMatrix, columns: Ints | None, names: Labels | None = None) -> Mask:
    """Return a mask of the rows that have a view: those with a number in some of its columns.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
    columns : ndarray of column indices or None
        None for all columns, none of which is NaN.
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
    if columns is None:
        return np.ones(rows.shape[0], dtype=bool)
    view = rows[:, columns]
    if sp.issparse(view):  # entries that are not stored are 0, a number
        view.data = np.isnan(view.data).astype(np.float64)
        missing = view
    else:
        missing = np.isnan(view)
    counts = np.asarray(missing.sum(axis=1)).ravel()
    broken = np.flatnonzero((counts > 0) & (counts < len(columns)))
    if len(broken):
        row = int(broken[0])
        column = int(columns[missing[[row]].argmax()])
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
        raw = raw * 2.0**-exponent
        fraction = weight / weight.sum()
        mean = np.asarray(raw.T @ fraction)
        square = np.asarray((raw.multiply(raw) if sp.issparse(raw) else raw**2).T @ fraction)
        offset, variance = None, np.maximum(square - mean**2, 0.0)
        if not sp.issparse(raw):
            variance = fraction @ (raw - mean) ** 2
            if has_constant:  # a constant feature becomes exactly 0, from which its mean may differ by rounding
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
        view = rows if self.columns is None else rows[:, self.columns]
        with np.errstate(over="ignore"):  # rows may exceed those of fit
            values = _raw_features(view, self.kernel, self.basis) * 2.0**-self.exponent
        if self.offset is not None:  # the rows of fit were dense and centered
            values = (values.toarray() if sp.issparse(values) else values) - self.offset
        values = values / self.scale
        if not self.has_constant:
            return values
        constant = np.ones((values.shape[0], 1))
        return sp.csr_array(sp.hstack([values, constant])) if sp.issparse(values) else np.hstack([values, constant])

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
            weights = scaled * 2.0**-self.exponent
        if not np.isfinite(weights).all():
            raise InputError("The weights overflow float64. Scale the features, for example with StandardScaler.")
        return weights, intercept


def _raw_features(view: FeatureMatrix, kernel: Kernel | None, basis: FeatureMatrix | None) -> FeatureMatrix:
    values = view if kernel is None or basis is None else kernel.gram(view, basis)
    return values.astype(np.float64, copy=False)


def _common_exponent(values: FeatureMatrix) -> int:
    """Return the exponent of the largest feature, or 0 if it is moderate."""
    exponent = int(np.frexp(np.abs(values.data if sp.issparse(values) else values).max(initial=0.0))[1])
    return max(exponent, 2 - np.finfo(float).maxexp) if abs(exponent) > _MAX_EXPONENT else 0


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

    def view_scores(self, rows: FeatureMatrix, view: int) -> tuple[Floats, Mask]:
        """Return (n, K) log-odds of a view against the last class, 0 for rows without it, and the mask of its rows."""
        features, weights = self.features[view], self.weights[view]
        present = rows_with_view(rows, features.columns, self.names)
        out = np.zeros((rows.shape[0], len(weights) + 1))
        if present.any():
            out[present, :-1] = features.instances(rows if present.all() else rows[present]) @ weights.T
        return out, present

    def scores(self, rows: FeatureMatrix) -> Floats:
        """Return (n, K) log-odds against the last class: the weighted mean over the views of a row, 0 without a view.

        If all views of a row have the weight 0, the mean is unweighted.
        """
        views = [self.view_scores(rows, view) for view in range(len(self.features))]
        available = np.column_stack([present for _, present in views])
        weights = available * self.view_weights
        weights = np.where(weights.any(axis=1, keepdims=True), weights, available)
        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return np.sum([weights[:, [view]] * scores for view, (scores, _) in enumerate(views)], axis=0)

    def instances(self, rows: FeatureMatrix, view: int) -> tuple[Ints, FeatureMatrix]:
        """Return the rows that have a view, and their features in the columns of all views, (t, D)."""
        present = np.flatnonzero(rows_with_view(rows, self.features[view].columns, self.names))
        sizes = [weights.shape[1] for weights in self.weights]
        return present, place_columns(self.features[view].instances(rows[present]), view, sizes)

    def check_view(self, view: Any) -> int:
        """Return the index of a view, and raise InputError if it is not valid."""
        if not is_integer(view) or not 0 <= view < len(self.features):
            raise InputError(
                f"`view` must be an integer from 0 to {len(self.features) - 1}, or None for all views; got {view!r}."
            )
        return int(view)


def place_columns(instances: FeatureMatrix, view: int, sizes: list[int]) -> FeatureMatrix:
    """Return the instances of a view in the columns of all views, with 0 in those of other views."""
    if sp.issparse(instances):
        blocks = [sp.csr_array((instances.shape[0], size)) for size in sizes]
        blocks[view] = instances
        return sp.csr_array(sp.hstack(blocks))
    return np.pad(instances, ((0, 0), (sum(sizes[:view]), sum(sizes[view + 1 :]))))


# -- encoding of the rows of fit ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ViewEncoder:
    """Rows of `fit`, and the settings by which their views are encoded.

    Attributes
    ----------
    training : TrainingRows
        A row of weight w is equivalent to w equal rows.
    names : ndarray of shape (d,) or None
        The column names, for errors.
    builder : NeighborGraph
        Parameters of the graph to build.
    make_kernel : callable or None
        Function from rows to the kernel fitted to them, for kernel features.
    has_constant : bool
        Whether a constant feature 1 is appended.
    """

    training: TrainingRows
    names: Labels | None
    builder: NeighborGraph
    make_kernel: Callable[[FeatureMatrix], Kernel] | None
    has_constant: bool

    def encode(self, index: int, columns: Ints | None) -> "EncodedView":
        """Build the graph of the rows that have a view, and compute its features and its smoothness matrix.

        Raises
        ------
        InputError
            If no row has the view, or no labeled row has it and the features are kernels.
        """
        rows, weight = self.training.X, self.training.weight
        present = rows_with_view(rows, columns, self.names)
        used = present & (weight > 0)
        if not used.any():
            raise InputError(
                f"`views[{index}]`: no row has this view, since all its columns are NaN. Remove it from `views`."
            )
        view = rows if columns is None else rows[:, columns]
        distinct, total = merge_rows(view, weight * present)
        vertices, kernel, basis = view[distinct], None, None
        if self.make_kernel is not None:
            selected, _ = merge_rows(view, weight * (present & ~self.training.candidates.is_unlabeled))
            if not len(selected):
                raise InputError(
                    f"`views[{index}]`: no labeled row has this view, so that it has no kernel features. "
                    'Pass features="raw", or label a row that has the view.'
                )
            basis = view[selected]
            kernel = self.make_kernel(basis)
        features = ViewFeatures.from_rows(
            vertices, total, columns=columns, kernel=kernel, basis=basis, has_constant=self.has_constant
        )
        given = self.builder.affinity
        if isinstance(given, str) or callable(given):
            affinity = self.builder.graph(vertices).affinity
        else:  # a matrix over all rows, including equal ones; a view has the edges between its rows
            affinity = check_affinity(given, rows.shape[0])[used][:, used]
            distinct, total = np.flatnonzero(used), weight[used]
        return EncodedView(features, present, smoothness_matrix(features.instances(rows[distinct]), affinity, total))


@dataclass(frozen=True)
class EncodedView:
    """One view of the rows of `fit`.

    Attributes
    ----------
    features : ViewFeatures
    present : ndarray of shape (n,), bool
        Mask of the rows that have the view.
    smoothness : ndarray or csr_array of shape (p, p)
        A = X^T L X of the graph of the view.
    """

    features: ViewFeatures
    present: Mask
    smoothness: Any

    @property
    def size(self) -> int:
        """Number of features, including the constant."""
        return int(self.smoothness.shape[0])


def labeled_instances(training: TrainingRows, views: list[EncodedView]) -> LabeledInstances:
    """Return the instances in the likelihood: those of labeled rows with a positive weight.

    Their `span` are the instances of all rows with a positive weight; None if they are as many as the weights, or
    kernels.
    """
    used, sizes = training.weight > 0, [view.size for view in views]

    def stack(mask: Mask) -> tuple[FeatureMatrix, list[Ints]]:
        members = [np.flatnonzero(view.present & mask) for view in views]
        blocks = [
            place_columns(view.features.instances(training.X[own]), index, sizes)
            for index, (view, own) in enumerate(zip(views, members, strict=True))
        ]
        return sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.vstack(blocks), members

    instances, members = stack(used & ~training.candidates.is_unlabeled)
    row = np.concatenate(members)
    view_of_instance = np.repeat(np.arange(len(views)), [len(own) for own in members])
    is_narrow = all(view.features.kernel or (view.present & used).sum() >= view.size for view in views)
    span = None if is_narrow else stack(used)[0]
    return LabeledInstances(instances, training.evidence[row], training.weight[row], view_of_instance, span)


# -- the terms of the prior -----------------------------------------------------------------------------------------


class ScaledTerm(NamedTuple):
    """Term of the prior in its own unit, so that one hyper-prior fits all terms.

    Attributes
    ----------
    term : PriorTerm
    scale : float
        Precision for the original features that corresponds to 1 in this unit.
    """

    term: PriorTerm
    scale: float

    def unscale(self, precision: Floats) -> Floats:
        """Return the precisions for the original features; those of ARD for the features of the view only."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            value = np.asarray(precision * np.float64(self.scale))
        value = np.where(np.isnan(value), precision, value)  # 0 stays 0 in any unit
        return value[self.term.penalized] if self.term.per_weight else value


def prior_terms(training: TrainingRows, views: list[EncodedView], prior: str, *, numbered: bool) -> list[ScaledTerm]:
    """Return the terms of the prior: graph and ridge or ARD of each view, and the coregularization of the views."""
    sizes, unlabeled = [view.size for view in views], training.candidates.is_unlabeled & (training.weight > 0)
    terms = []
    for index, view in enumerate(views):
        suffix = f" {index}" if numbered else ""
        n_features = view.size - view.features.has_constant
        diagonal = view.smoothness.diagonal()
        mean = float(diagonal[diagonal > 0].mean()) if (diagonal > 0).any() else 1.0
        size_factor = max(n_features, _REFERENCE_N_FEATURES) / _REFERENCE_N_FEATURES
        scaled = view.smoothness * (size_factor / mean)
        if len(views) > 1:
            blocks = [sp.csr_array((size, size)) for size in sizes]
            blocks[index] = scaled
            scaled = densify_if_full(sp.csr_array(sp.block_diag(blocks)))
        terms.append(ScaledTerm(PriorTerm(f"graph{suffix}", scaled), size_factor / mean))
        if prior != "graph":
            kind = prior.removeprefix("graph+")
            scale = 1.0 if kind == "ard" else size_factor
            entries = np.zeros(sum(sizes))
            start = sum(sizes[:index])
            entries[start : start + n_features] = scale
            term = PriorTerm(f"{kind}{suffix}", sp.diags_array(entries, format="csr"), per_weight=kind == "ard")
            with np.errstate(over="ignore", under="ignore"):
                terms.append(ScaledTerm(term, float(scale * np.float64(view.features.total_scale) ** 2)))
    matrices, pairs = [], 0.0
    for a, b in combinations(range(len(views)), 2):
        both = np.flatnonzero(views[a].present & views[b].present & unlabeled)
        if not len(both):
            continue
        left, right = (place_columns(views[v].features.instances(training.X[both]), v, sizes) for v in (a, b))
        matrices.append(disagreement_matrix(left, right, training.weight[both]))
        pairs += float(training.weight[both].sum())
    if matrices:
        # Features have mean variance 1, and so does the diagonal if they are centered; sparse features are not.
        mean = 2.0 * pairs / len(views)
        coregularization = PriorTerm("coregularization", sum(matrices) / mean, couples_views=True)
        terms.append(ScaledTerm(coregularization, 1.0 / mean))
    return terms
