"""Online classifiers for candidate sets: Perceptron and Pegasos, on the average or the max prediction hinge.

Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithms 1 to 4.
The compiled loop is in `oneof.solvers.online_loop`.

The weights are W = scale * V. The shrink and the projection of Pegasos change the scale only. A step changes only the
rows of V whose classes are in the loss, and ||V||^2 is updated from the scores. So no row costs K x D in addition to
its scores, except for renormalizations and recounts, which are rare unless lam is so small that every step is
projected.

For the mean of all W_t, a matrix U with  sum_t W_t = total_scale * V - U  is stored as well. Each step delta to V is
added to U, multiplied by the sum of the scales before it, which again changes the same rows only. If a projection
would leave the scale far below its mean, digits would cancel in that difference. In that case the full sum is first
moved into U.

A row with weights is one step t, along the sum of the subgradients of its level sets (`oneof.candidates.LevelSets`) at
the same W, each times its mass. All coefficients of the row are summed before its features are added. In Pegasos the
shrink is summed in the same way: W <- (1 - m/t) W, where m is the mass of the level sets with a hinge > 0, and 1 with
`shrink_always`.

Over several blocks of rows the solver is iterative parameter mixing (McDonald, Hall & Mann 2010, Distributed training
strategies for the structured perceptron, NAACL, figure 3): one epoch in each block from the averaged weights gives W_b.
The next weights are the mean sum_b (n_b / n) W_b, with n_b the labeled rows of the block. For the Perceptron their
theorem 3 extends the bound on mistakes to such means, whose coefficients sum to 1. The step of Pegasos is proportional
to 1/t; here t counts the rows that the block itself has processed, over all iterations.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.online_loop import Arrays, Rule, run_epoch
from oneof.solvers.row_accessors import (
    SparseRows,
    as_row_view,
    memory_order,
    read_only,
    total_square,
)
from oneof.solvers.small_weights import without_small_weights
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints
from oneof.validation import check_finite

MAX_CHECKED_ROWS = 1000
"""Maximum number of rows whose predictions are checked after a fit."""
Prediction = Literal["average", "max"]
"""The candidate score in the hinge: the mean over the set, or the maximum."""


@dataclass(frozen=True)
class OnlineState:
    """State of an online classifier after some rows; given as `initial`, it continues the same run bit by bit."""

    V: Floats
    """(K, D): weights without their scale; D = d, or d + 1 with an intercept in the last column."""
    scale: float
    square: float
    """||V||_F^2."""
    U: Floats
    """(K, D), float64: correction for the mean of the weights; (0, 0) if the mean is not stored."""
    total_scale: float
    n_summed: int
    """Number of rows whose scale is in `total_scale`."""
    n_rows: int
    """Number of rows processed, t; those of weight 0 are not counted."""
    n_mistakes: float
    """Number of rows whose prediction before the update was outside the set: the sum of L_A. A weighted row adds 1 less
    the weight of its prediction."""
    n_updates: int
    """Number of rows with a positive loss."""

    @classmethod
    def zeros(cls, n_classes: int, n_columns: int, *, dtype: Any, average: bool, order: Any = "C") -> "OnlineState":
        """Return the initial state W = 0."""
        V = np.zeros((n_classes, n_columns), dtype=dtype, order=order)
        U = np.zeros_like(V if average else V[:0, :0], dtype=np.float64)
        return cls(V, 1.0, 0.0, U, 0.0, 0, 0, 0, 0)

    @property
    def has_mean(self) -> bool:
        """Whether the mean of the weights is stored."""
        return self.U.shape == self.V.shape

    @property
    def weights(self) -> Floats:
        """(K, D): W after the last row."""
        return np.ascontiguousarray(self.weights_at(slice(None), mean=False))

    @property
    def mean_weights(self) -> Floats:
        """(K, D): the mean of W over all rows processed, each W taken after its row."""
        return np.ascontiguousarray(self.weights_at(slice(None), mean=True))

    def weights_at(self, columns: Ints | slice, *, mean: bool) -> Floats:
        """Return the weights of some columns, (K, len(columns)), or their mean over all rows processed."""
        V = self.V[:, columns]
        if not mean:
            return np.asarray(V * V.dtype.type(self.scale))
        with np.errstate(over="ignore", invalid="ignore"):  # the caller raises for weights that are not finite
            total = self.total_scale * V.astype(np.float64) - self.U[:, columns]
        return np.asarray((total / max(self.n_rows, 1)).astype(V.dtype))


def perceptron(
    X: FeatureMatrix | SparseRows, evidence: Evidence, *, prediction: Prediction, eta0: float = 1.0, **options: Any
) -> OnlineState:
    """Run one epoch of Algorithm 1 or 2 of the paper: if the hinge is > 0, step by eta0 along the negative subgradient.

    Parameters
    ----------
    X, evidence, **options
        As in `run_online`.
    prediction : {"average", "max"}
        Algorithm 1 or 2.
    eta0 : float
        Step size, > 0.
    """
    return run_online(X, evidence, Rule(False, prediction == "average", float(eta0), 0.0, False), **options)


def pegasos(
    X: FeatureMatrix | SparseRows,
    evidence: Evidence,
    *,
    prediction: Prediction,
    lam: float = 1e-4,
    shrink_always: bool = False,
    **options: Any,
) -> OnlineState:
    """Run one epoch of Pegasos: W <- (1 - 1/t) W, a step of 1/(lam t), projection on ||W|| <= 1/sqrt(lam).

    With `shrink_always` every row shrinks the weights, the variant of the regret bound. Otherwise only rows with a
    hinge > 0 do, as printed in Algorithms 3 and 4. The other parameters are those of `perceptron`.
    """
    rule = Rule(True, prediction == "average", 0.0, float(lam), bool(shrink_always))
    return run_online(X, evidence, rule, **options)


def run_online(
    X: FeatureMatrix | SparseRows,
    evidence: Evidence,
    rule: Rule,
    *,
    initial: OnlineState,
    order: Ints | None = None,
    sample_weight: Floats | None = None,
    predicted: Ints | None = None,
    in_place: bool = False,
) -> OnlineState:
    """Run one epoch. X need not be finite: NaN or infinity is found in the scores of its row, which saves a pass.

    Parameters
    ----------
    X : ndarray, CSR matrix or SparseRows of shape (n, d)
    evidence : ndarray of shape (n, K), bool or float64
    rule : Rule
    initial : OnlineState
        The state to continue from; it is not changed.
    order : ndarray of shape (n,), int64, optional
        The order of the rows.
    sample_weight : ndarray of shape (n,), optional
        Multiplies the step of a row. A row of weight 0 is only predicted, and must be finite.
    predicted : ndarray of shape (n,), int64, optional
        Filled with the class predicted for each row before its update; rows that are not in `order` keep their entry.
    in_place : bool
        Change the arrays of `initial`, which must not be used again. For one row per call, a copy of the weights would
        dominate the cost. If that row overflows, the arrays are left unchanged.

    Returns
    -------
    OnlineState

    Raises
    ------
    InputError
        If a row contains NaN or infinity, or its scores overflow.
    """
    n, d = X.shape
    evidence = without_small_weights(evidence)  # they would break ties between classes that no row has changed yet
    order = np.arange(n) if order is None else np.asarray(order, dtype=np.int64)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # An empty array means that no predictions are stored.
    predicted = np.empty(0, dtype=np.int64) if predicted is None else predicted
    _check_arrays(initial, evidence, weight, (n, d), order, predicted)
    rows = as_row_view(X)
    layout: Any = memory_order(X)
    V = np.array(initial.V, dtype=X.dtype, order=layout, copy=None if in_place else True)
    has_mean = initial.has_mean
    # Without the mean, a small unused array has the type of U, so that numba does not compile again.
    U = initial.U if has_mean else np.zeros((2, 2))
    U = np.array(U, dtype=np.float64, order=layout, copy=None if in_place else True)
    numbers = (
        (initial.scale, initial.square, initial.total_scale, float(initial.n_mistakes)),
        (initial.n_summed, initial.n_rows, initial.n_updates),
    )
    arrays = Arrays(V, U, V.ravel(order="K"), U.ravel(order="K"))
    rule = rule._replace(has_constant=V.shape[1] > d, has_mean=has_mean)
    *numbers, overflowed = run_epoch(rows, read_only(evidence), order, weight, arrays, numbers, rule, predicted)
    if overflowed >= 0:
        check_finite(X)
        raise InputError(f"row {overflowed}: the scores overflow. Scale the features, for example with StandardScaler.")
    (scale, square, total_scale, n_mistakes), counts = numbers
    n_mistakes = int(n_mistakes) if n_mistakes.is_integer() else n_mistakes
    U = U if has_mean else initial.U
    return OnlineState(V, scale, square, U, total_scale, counts[0], counts[1], n_mistakes, counts[2])


def describe_one_class(X: FeatureMatrix, evidence: Evidence, state: OnlineState) -> str:
    """Return a sentence if one class is predicted for all rows, and is not the best of most; else an empty text.

    Step t of Pegasos has the length sqrt(2) ||x|| / (lam t) or less, and the projection keeps the weights in a ball of
    radius 1 / sqrt(lam). Until the steps are much shorter than this radius, each replaces what the rows before it have
    added. If the rows have a large common offset, all of them have almost the same scores.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Rows that are not unlabeled, at least one.
    evidence : ndarray of shape (n, K)
    state : OnlineState
        The state after the rows; its mean weights predict if they are stored.
    """
    d = X.shape[1]
    weights = state.weights_at(slice(None), mean=state.has_mean)
    scores = np.asarray(X @ weights[:, :d].T) + (weights[:, d] if weights.shape[1] > d else 0.0)
    predicted = scores.argmax(axis=1)
    is_best = evidence[:, predicted[0]] == evidence.max(axis=1)
    if not np.ptp(scores, axis=0).any():  # equal rows, for which no scaling helps
        return ""
    if (predicted != predicted[0]).any() or 2 * np.count_nonzero(is_best) >= len(evidence):
        return ""
    scaler = "Normalizer" if sp.issparse(X) else "StandardScaler"
    return (
        "one class is predicted for all rows, although most of them have other labels. Possible causes are long rows, "
        f"a large common offset, and rows sorted by class. Scale the features with {scaler}, and shuffle sorted rows."
    )


def _check_arrays(
    state: OnlineState, evidence: Evidence, weight: Floats, shape: tuple[int, int], order: Ints, predicted: Ints
) -> None:
    """Raise unless all shapes agree and the order is in range: compiled loops do not check bounds."""
    n, d = shape
    agree = (
        state.V.shape in ((evidence.shape[1], d), (evidence.shape[1], d + 1))
        and state.U.shape in (state.V.shape, (0, 0))
        and len(evidence) == n
        and weight.shape == (n,)
        and (len(order) == 0 or 0 <= order.min() <= order.max() < n)
        and predicted.shape in ((n,), (0,))
        and predicted.dtype == np.int64
    )
    if not agree:
        raise InputError(
            f"`initial` must be a state for these rows; got rows of shape {shape}, evidence of shape {evidence.shape}, "
            f"weights of shape {weight.shape}, an order of {len(order)} rows, predictions of shape {predicted.shape} "
            f"and type {predicted.dtype}, and a state of shape {state.V.shape}."
        )


@dataclass(frozen=True)
class MixUpdate:
    """Contribution of one epoch in a block of rows, or in several, to the averaged weights."""

    weights: Floats
    """(K, D), float64: sum of n_b W_b."""
    total: Floats
    """(K, D), float64: sum of the weights after each row; (0, 0) if the mean over rows is not stored."""
    n_labeled: int
    n_rows: int
    n_mistakes: float
    n_updates: int

    def __add__(self, other: "MixUpdate") -> "MixUpdate":
        """Return the contribution of both sets of blocks."""
        return MixUpdate(**{name: value + getattr(other, name) for name, value in vars(self).items()})


def local_state(mix: OnlineState, n_processed: int) -> OnlineState:
    """Return the initial state of an epoch in a block that has processed some rows itself; sums start at 0."""
    V = np.array(mix.weights)
    return OnlineState(V, 1.0, total_square(V.ravel()), np.zeros_like(mix.U), 0.0, 0, n_processed, 0, 0)


def weighted_update(end: OnlineState, n_labeled: int, n_rows: int) -> MixUpdate:
    """Return the contribution of a block of `n_rows` rows, including `n_labeled` rows that are not unlabeled."""
    total = end.total_scale * end.V.astype(np.float64) - end.U if end.has_mean else np.zeros((0, 0))
    return MixUpdate(
        n_labeled * end.weights.astype(np.float64), total, n_labeled, n_rows, end.n_mistakes, end.n_updates
    )


def average_updates(before: OnlineState, update: MixUpdate) -> OnlineState:
    """Return the next averaged state, from which the sequential classifier can also continue."""
    V = (update.weights / update.n_labeled).astype(before.V.dtype)
    # With a sum of scales of 0, the sum of the weights so far is -U.
    U = before.U - update.total if before.has_mean else before.U
    names = ("n_rows", "n_mistakes", "n_updates")
    counts = [getattr(before, name) + getattr(update, name) for name in names]
    return OnlineState(V, 1.0, total_square(V.ravel()), U, 0.0, 0, *counts)
