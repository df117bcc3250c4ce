"""Logistic regression with a prior from graphs of the rows, for one view of them or several (co-training).

A view is a group of columns, such as those of one sensor, which some rows may lack. Reading order:
`GraphLogisticRegression` at the end, then `parse_views` (the parameter `views`), `ViewFeatures` (a map from rows to the
features of one view), `ViewModel` (the linear model of all views), `EncodedView` and `prior_terms` (the problem of the
solver), and `oneof.solvers.graph_logistic` in the order of its docstring.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.errors import InputError
from oneof.estimators.base import DecisionFunctionMixin, SampleWeightMixin, TrainingRows
from oneof.estimators.deduplicate import merge_rows
from oneof.estimators.parameters import KW_ONLY, Count, NonNegative, Positive, estimator
from oneof.graphs import NeighborGraph, check_affinity
from oneof.kernels.svc import KERNELS, Kernel
from oneof.likelihoods import softmax
from oneof.messages import warn
from oneof.solvers.graph_logistic import LogisticPosterior, PriorTerm
from oneof.solvers.graph_logistic.prior import densify_if_full, disagreement_matrix, smoothness_matrix
from oneof.solvers.graph_logistic.solve import FittedViews, LabeledInstances, fit_views
from oneof.typing import FeatureMatrix, Floats, Ints, Labels, Mask
from oneof.validation import check_choice, is_integer

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
    missing = view != view  # noqa: PLR0124 - NaN, in dense and in sparse rows
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
    values = values.astype(np.float64, copy=False)
    return sp.csr_array(values) if sp.issparse(values) else values  # `*` of a csr_matrix is a matrix product


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


def place_columns(instances: FeatureMatrix, view: int, sizes: list[int]) -> FeatureMatrix:
    """Return the instances of a view in the columns of all views, with 0 in those of other views."""
    if sp.issparse(instances):
        blocks = [sp.csr_array((instances.shape[0], size)) for size in sizes]
        blocks[view] = instances
        return sp.csr_array(sp.hstack(blocks))
    return np.pad(instances, ((0, 0), (sum(sizes[:view]), sum(sizes[view + 1 :]))))


# -- encoding of the rows of fit ------------------------------------------------------------------------------------


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
                divisor = np.ldexp(view.features.scale, view.features.exponent)
                terms.append(ScaledTerm(term, float(scale * divisor**2)))
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


@estimator
class GraphLogisticRegression(DecisionFunctionMixin, SampleWeightMixin):
    """Logistic regression with scores that vary little along the edges of a graph of all rows.

    The graph connects all rows, labeled or not, with their nearest neighbors; L is its Laplacian and A = X^T L X. The
    objective is the log likelihood of the candidate sets, sum_i v_i log sum_{k in S_i} p(k | x_i), minus
    1/2 sum_c w_c^T (lambda_0 A + Lambda) w_c. If the candidates of row i have weights e_ik, its term is v_i log sum_k
    e_ik p(k | x_i). The objective is maximized over the weights w_c of all classes but the last, which has weights of
    0. Unlabeled rows thus push the decision boundaries into regions of low density. New rows are
    classified by the weights alone. The precisions of the terms of the prior are estimated from the data.

    Parameters
    ----------
    prior : {"graph", "graph+ridge", "graph+ard"}, default="graph+ridge"
        Lambda: 0, a precision times I, or a precision for each weight (ARD).
    precision : {"evidence", "em"}, default="evidence"
        Estimation of the precisions: by the Laplace evidence, or by the paper's EM algorithm, with the precisions as
        missing data. EM converges to weights of 0 if there are few labels; see Notes.
    solver : {"newton", "block", "sequential"}, default="newton"
        Estimation of the weights given the precisions: by Newton's method, or by the paper's steps with Böhning's
        bound, of all weights together or one at a time. On exact labels all reach the same weights, "newton" many times
        faster. With candidate sets the likelihood may have several maxima, and each solver reaches one of them. With
        "newton", classes that occur in the same sets keep equal weights, except the last, which has weights of 0.
    features : {"raw", "kernel"}, default="raw"
        "kernel": the kernels of each row with the distinct labeled rows, k(x, x_1), k(x, x_2), ...
    views : list of column groups, optional
        Co-training. Each group, by indices, names, a slice or a boolean mask, is a view, such as one of several
        sensors. Each view has its own graph, weights and precisions; a further prior term couples the views on
        unlabeled rows. A row lacks a view if all columns of the view are NaN; NaN in some of them is an error.
    coregularization : {"auto", True, False}, default="auto"
        Whether the views are coupled on unlabeled rows. "auto": unless this lowers the likelihood of left-out labels.
    fit_intercept : bool, default=True
        Whether scores have an intercept. It is not penalized: the Laplacian annihilates constants, and no other term of
        the prior includes it.
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
        Kernel of the kernel features, as for scikit-learn's SVC; "poly" is of degree 3 with coef0 = 0.
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the kernels "rbf" and "poly".
    affinity : {"gaussian", "cosine", "binary"}, callable, array or sparse matrix, default="gaussian"
        Edge weights, or the affinity of the rows of fit; see `oneof.graphs.NeighborGraph`, also for the next two
        parameters. A callable is called with the distinct rows of a view; it may return
        ``NeighborGraph(...).graph(rows).affinity`` with other parameters. A matrix is the affinity of all rows, and
        each view has the edges between the rows that have it.
    n_neighbors : int, default=5
        Number of neighbors of each row; all other rows if there are fewer.
    symmetrize : {"union", "mutual", "sum"}, default="union"
        Symmetrization of the neighbor graph.
    alpha, beta : float or "auto", default="auto"
        Parameters of the Gamma hyper-prior of every precision, at least 0; both 0 is the scale-free limit. "auto": 1
        and 10 with "evidence", .01 and .1 with ARD, which has to switch weights off, and 0 with "em". The unit is the
        precision that corresponds to C = 1 in scikit-learn's `LogisticRegression`, on features of mean variance 1,
        times p / 100 if the number of features p is above 100; see Notes.
    class_weight : dict or "balanced", default=None
        Weights of the classes by label, which multiply those of the rows as in `GaussianEM`.
    max_iter : int, default=200
        Maximum number of iterations, each of one M-step and one update of the precisions.
    tol : float, default=1e-6
        Above 0: relative change of precisions and weights at which the iterations stop.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes - 1, n_features), or a list of them
        The weights; the last class has 0. With views, one array for each, in the order of its columns; with kernel
        features, the weights of those.
    intercept_ : ndarray of shape (n_classes - 1,), or a list of them
        The intercepts; with views, one array for each.
    precisions_ : dict of str to ndarray
        Precisions of "graph", "ridge" and "ard", with views of "graph 0", "graph 1", ... and "coregularization" (0 if
        the views are not coupled), for the original features; with ARD one for each weight.
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views in predictions, which sum to 1. A weight is proportional to the mean log likelihood of
        left-out labels under the view, minus that under the class frequencies. All are equal if none is positive.
    objective_ : float
        Final value of the Laplace log evidence, or with "em" of the objective with the precisions integrated out.
    objective_path_ : ndarray of shape (n_values,)
        The objective after each iteration, without rejected steps.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the rows of fit: the most probable member of each row's set.
    posterior_ : LogisticPosterior
        Laplace posterior of the weights, for active learning; computed on first access, and not part of a model that
        was saved, pickled or copied.
    n_iter_ : int
        Number of iterations.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached before convergence, or EM ended at weights of 0.

    Notes
    -----
    As published, w_c = 0 is a maximum of the EM objective, and with few labels the only one: a larger precision gives
    smaller weights, and these give a larger precision. The evidence counts the number of weights that the labels
    determine, instead of all weights. With about 20 labels of several classes it has no maximum either, in the
    scale-free limit, and the weights converge to 0 or diverge. The hyper-prior prevents that, and has hardly any
    effect with many labels. Its mean is .1 in the unit of each term of the prior: the features have mean variance 1,
    and A is scaled to a mean diagonal of 1. Above 100 features the unit grows with their number, so that the prior
    variance of the scores does not grow further. The precisions of single weights and of the coregularization always
    have the unit 1.

    A graph with several components lowers the rank of A. Differences of level between the components are then not
    penalized, like the intercept, if the features can separate the components. Weights that neither the prior nor the
    labels determine, such as those of constant features, are 0. As the last class has weights of 0, three classes or
    more are not treated symmetrically: another order of the classes gives another prior, which matters
    if few rows have labels.

    Equal rows are one vertex with the sum of their weights, so that a row of weight 2 equals two rows in the graph too.
    With views, rows are predicted by the mean of the log-odds of their views, weighted by `view_weights_`. A row
    without any view has uniform probabilities.

    References
    ----------
    Krishnapuram, Williams, Xue, Hartemink, Carin & Figueiredo (2004), On semi-supervised classification, NIPS 17.
    MacKay (1992), The evidence framework applied to classification networks, Neural Computation.

    Examples
    --------
    >>> from oneof import GraphLogisticRegression
    >>> X = [[0.0, 0.3], [1.0, 0.1], [2.1, 0.2], [5.0, 0.0], [6.1, 0.3], [7.0, 0.2]]
    >>> model = GraphLogisticRegression(n_neighbors=2).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[0.4, 0.2], [6.6, 0.2]]).tolist()
    ['a', 'b']

    Two views of two columns each; the last row lacks the first view.

    >>> rows = [[*row, *row] for row in X]
    >>> rows[-1][:2] = [float("nan"), float("nan")]
    >>> model = GraphLogisticRegression(views=[[0, 1], [2, 3]], n_neighbors=2).fit(rows, list("aaabbb"))
    >>> model.predict_proba(rows, view=0)[-1].tolist()
    [0.5, 0.5]
    >>> model.predict(rows)[-1]
    np.str_('b')
    """

    _not_saved = ("_fitted_on", "_fitted_views")

    prior: Literal["graph", "graph+ridge", "graph+ard"] = "graph+ridge"
    precision: Literal["evidence", "em"] = "evidence"
    solver: Literal["newton", "block", "sequential"] = "newton"
    features: Literal["raw", "kernel"] = "raw"
    views: Any = None
    _: KW_ONLY
    coregularization: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    kernel: str | Callable[[Any, Any], Any] = "rbf"
    gamma: Positive | Literal["scale", "auto"] = "scale"
    affinity: Any = "gaussian"
    n_neighbors: int = 5
    symmetrize: Literal["union", "mutual", "sum"] = "union"
    alpha: NonNegative | Literal["auto"] = "auto"
    beta: NonNegative | Literal["auto"] = "auto"
    class_weight: Any = None
    max_iter: Count = 200
    tol: Positive = 1e-6

    def _fit(self, training: TrainingRows) -> None:
        # The units of the terms are such that one hyper-prior fits all of them; decision 0017 explains "auto".
        strength = 0.0 if self.precision == "em" else 0.01 if self.prior == "graph+ard" else 1.0
        groups = [None] if self.views is None else parse_views(self.views, training.X.shape[1], self._names())
        views = [self._encode_view(training, index, columns) for index, columns in enumerate(groups)]
        terms = prior_terms(training, views, self.prior, numbered=self.views is not None)
        fitted = fit_views(
            labeled_instances(training, views),
            tuple(scaled.term for scaled in terms),
            len(views),
            coregularization="auto" if isinstance(self.coregularization, str) else bool(self.coregularization),
            precision=self.precision,
            solver=self.solver,
            alpha=strength if self.alpha == "auto" else float(self.alpha),
            beta=10.0 * strength if self.beta == "auto" else float(self.beta),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        self._set_fitted_attributes(views, terms, fitted)
        self.transduction_ = training.most_probable(self._candidate_proba(training.X, training.candidates))

    def predict_proba(self, X: Any, view: int | None = None) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            With views, a row lacks a view if all columns of the view are NaN.
        view : int, optional
            Index of the view to predict with. By default, the log-odds of all views of a row are averaged with
            their weights.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; uniform for a row that lacks the view, or all views.

        Raises
        ------
        InputError
            If X is not valid, or `view` is not the index of a view.
        """
        rows = self._validate_rows(X)
        if view is None:
            return softmax(self._finite_scores(rows))
        last = len(self._view_model.features) - 1
        if not is_integer(view) or not 0 <= view <= last:
            raise InputError(f"`view` must be an integer from 0 to {last}, or None for all views; got {view!r}.")
        return softmax(self._view_model.view_scores(rows, view)[0])

    def posterior_features(self, X: Any) -> list[tuple[Ints, FeatureMatrix]]:
        """Return, for each view, the rows that have it, and their instances in the features of `posterior_`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        list of (ndarray of row indices, ndarray or CSR array of shape (t, D))
            One for each view; D is the number of features of all views, including their constants.
        """
        rows = self._validate_rows(X)
        return [self._view_model.instances(rows, view) for view in range(len(self._view_model.features))]

    @property
    def posterior_(self) -> LogisticPosterior:
        """The Laplace posterior of the weights; computed on first access."""
        check_is_fitted(self)
        if getattr(self, "_fitted_views", None) is None:
            raise InputError("A model that was saved, pickled or copied has no `posterior_`. Fit it again.")
        return self._fitted_views.posterior

    # -- private ----------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._neighbor_graph()
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, tuple(KERNELS), " for kernel features, or a function of rows")
        if not isinstance(self.coregularization, bool | np.bool_):
            check_choice("coregularization", self.coregularization, ("auto",), ", True or False")

    def _neighbor_graph(self) -> NeighborGraph:
        return NeighborGraph(self.affinity, self.n_neighbors, symmetrize=self.symmetrize)

    def _names(self) -> Labels | None:
        return getattr(self, "feature_names_in_", None)

    def _encode_view(self, training: TrainingRows, index: int, columns: Ints | None) -> EncodedView:
        """Build the graph of the rows that have a view, and compute its features and its smoothness matrix.

        Raises
        ------
        InputError
            If no row has the view, or no labeled row has it and the features are kernels.
        """
        rows, weight, builder = training.X, training.weight, self._neighbor_graph()
        present = rows_with_view(rows, columns, self._names())
        used = present & (weight > 0)
        if not used.any():
            raise InputError(
                f"`views[{index}]`: no row has this view, since all its columns are NaN. Remove it from `views`."
            )
        view = rows if columns is None else rows[:, columns]
        distinct, total = merge_rows(view, weight * present)
        vertices, kernel, basis = view[distinct], None, None
        if self.features == "kernel":
            selected, _ = merge_rows(view, weight * (present & ~training.candidates.is_unlabeled))
            if not len(selected):
                raise InputError(
                    f"`views[{index}]`: no labeled row has this view, so that it has no kernel features. "
                    'Pass features="raw", or label a row that has the view.'
                )
            basis = view[selected]
            kernel = Kernel.from_rows(self.kernel, basis, gamma=self.gamma, degree=3, coef0=0.0)
        features = ViewFeatures.from_rows(
            vertices, total, columns=columns, kernel=kernel, basis=basis, has_constant=bool(self.fit_intercept)
        )
        if isinstance(builder.affinity, str) or callable(builder.affinity):
            affinity = builder.graph(vertices).affinity
        else:  # a matrix over all rows, including equal ones; a view has the edges between its rows
            affinity = check_affinity(builder.affinity, rows.shape[0])[used][:, used]
            distinct, total = np.flatnonzero(used), weight[used]
        return EncodedView(features, present, smoothness_matrix(features.instances(rows[distinct]), affinity, total))

    def _set_fitted_attributes(self, views: list[EncodedView], terms: list[ScaledTerm], fitted: FittedViews) -> None:
        solution, starts = fitted.solution, np.cumsum([view.size for view in views])[:-1]
        features, weights = tuple(view.features for view in views), tuple(np.split(solution.weights, starts, axis=1))
        unscaled = [own.unscale(weight) for own, weight in zip(features, weights, strict=True)]
        self.coef_: Any
        self.intercept_: Any
        self.coef_, self.intercept_ = unscaled[0] if self.views is None else map(list, zip(*unscaled, strict=True))
        self.precisions_ = {
            scaled.term.name: scaled.unscale(solution.precisions.get(scaled.term.name, np.zeros(())))
            for scaled in terms
        }
        self._set_path(solution.objective_path, solution.n_iter, solution.converged or solution.degenerate, "")
        self._fitted_views = fitted
        self.view_weights_ = fitted.view_weights
        self._view_model = ViewModel(features, weights, self.view_weights_, self._names())
        if solution.degenerate:
            warn(
                f'precision="em" ended at weights of 0: {len(fitted.labeled.evidence)} labeled rows are too few for '
                f"{solution.weights.size} weights, since a larger precision gives smaller weights, and these give a "
                'larger precision. Pass precision="evidence", which counts only weights that the labels determine.',
                ConvergenceWarning,
            )

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return self._view_model.scores(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.views is not None
        return tags
