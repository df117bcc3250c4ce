"""Online learners for candidate sets: Perceptron and Pegasos, on the average or the max prediction hinge.

Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithms 1 to 4.

The weights are W = scale * V. The shrink and the projection of Pegasos touch the scale alone, the steps touch the rows
of V whose classes the loss names, and ||V||^2 is kept from the scores that are known anyway: no row costs K x D beyond
its scores, but for renormalizations and recounts, which are rare unless lam is so small that every step is projected.

For the mean of all W_t, U is kept beside V such that  sum_t W_t = total_scale * V - U  (each step delta to V is added
to U times the sum of the scales before it), which again touches the same rows only. Where a projection would leave the
scale far below its mean, digits would cancel in that difference: then U takes in the whole sum first.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from oneof.errors import InputError
from oneof.solvers.online_loop import pass_over
from oneof.solvers.row_accessors import SparseRows, read_only, view_rows, weights_order
from oneof.typing import FeatureMatrix, Floats, Ints, Mask
from oneof.validation import check_finite

Prediction = Literal["average", "max"]
"""Which candidate score the hinge looks at: the mean over the set, or its largest."""


@dataclass(frozen=True)
class OnlineState:
    """Where an online learner stands after some rows; passing it on as `initial` continues the same run bit by bit."""

    V: Floats
    """(K, D) weights without their scale; D = d, or d + 1 with an intercept in the last column."""
    scale: float
    square: float
    """||V||_F^2."""
    U: Floats
    """(K, D) float64: correction for the mean of the weights; (0, 0) where the mean is not kept."""
    total_scale: float
    n_summed: int
    """Rows whose scale is in `total_scale`."""
    n_rows: int
    """Rows seen, t; those of weight 0 are not counted."""
    n_mistakes: int
    """Rows whose prediction, made before the update, lay outside the set: the sum of L_A."""
    n_updates: int

    @classmethod
    def start(cls, n_classes: int, n_columns: int, *, dtype: Any, average: bool, order: Any = "C") -> "OnlineState":
        """Return the start W = 0."""
        V = np.zeros((n_classes, n_columns), dtype=dtype, order=order)
        U = np.zeros_like(V if average else V[:0, :0], dtype=np.float64)
        return cls(V, 1.0, 0.0, U, 0.0, 0, 0, 0, 0)

    @property
    def keeps_mean(self) -> bool:
        """Whether the mean of the weights is kept."""
        return self.U.shape == self.V.shape

    @property
    def weights(self) -> Floats:
        """(K, D): W after the last row."""
        return np.ascontiguousarray(self.V * self.V.dtype.type(self.scale))

    @property
    def mean_weights(self) -> Floats:
        """(K, D): the mean of W over all rows seen, each W taken after its row."""
        V, U = self.V.astype(np.float64), self.U.astype(np.float64)
        return np.ascontiguousarray(((self.total_scale * V - U) / max(self.n_rows, 1)).astype(self.V.dtype))

    def weights_at(self, columns: Ints, *, mean: bool) -> Floats:
        """(K, len(columns)): the weights of some columns, or their mean over all rows seen."""
        V = self.V[:, columns]
        if not mean:
            return np.asarray(V * V.dtype.type(self.scale))
        total = self.total_scale * V.astype(np.float64) - self.U[:, columns]
        return np.asarray((total / max(self.n_rows, 1)).astype(V.dtype))


def perceptron(
    X: FeatureMatrix | SparseRows,
    mask: Mask,
    *,
    prediction: Prediction,
    initial: OnlineState,
    eta: float = 1.0,
    order: Ints | None = None,
    sample_weight: Floats | None = None,
    predicted: Ints | None = None,
    in_place: bool = False,
) -> OnlineState:
    """Pass once over the rows: where the hinge is > 0, add eta times the negative subgradient (Algorithms 1 and 2).

    X need not be known to be finite: a NaN or an infinity is met in its row's scores, which saves a pass over X.

    Parameters
    ----------
    X : ndarray, CSR matrix or SparseRows of shape (n, d)
    mask : ndarray of shape (n, K), bool
    prediction : {"average", "max"}
    initial : OnlineState
        Where to go on from; it is not changed.
    eta : float
        Step, > 0.
    order : ndarray of shape (n,), int64, optional
        The order in which the rows come.
    sample_weight : ndarray of shape (n,), optional
        Multiplies a row's step; a row of weight 0 is as good as none, but that it is predicted and must be finite.
    predicted : ndarray of shape (n,), int64, optional
        Filled with the class that each row was given before its update; rows that are not in `order` keep their entry.
    in_place : bool
        Let go of `initial`, whose arrays are changed: for one row a call, a copy of the weights costs more than all
        else. Where that row overflows, they stay as they are.

    Returns
    -------
    OnlineState

    Raises
    ------
    InputError
        If a row holds NaN or infinity, or its scores overflow.
    """
    return _run(
        X, mask, prediction, initial, order, sample_weight, predicted, in_place,
        eta=eta, lam=0.0, shrink_always=False,
    )  # fmt: skip


def pegasos(
    X: FeatureMatrix | SparseRows,
    mask: Mask,
    *,
    prediction: Prediction,
    initial: OnlineState,
    lam: float = 1e-4,
    shrink_always: bool = False,
    order: Ints | None = None,
    sample_weight: Floats | None = None,
    predicted: Ints | None = None,
    in_place: bool = False,
) -> OnlineState:
    """Pass once over the rows: W <- (1 - 1/t) W, a step of 1/(lam t), projection on ||W|| <= 1/sqrt(lam).

    With `shrink_always` the shrink is taken on every row, which is the variant that the regret bound holds for; else
    only where the hinge is > 0, as Algorithms 3 and 4 print it. The other parameters are those of `perceptron`.
    """
    return _run(
        X, mask, prediction, initial, order, sample_weight, predicted, in_place,
        eta=0.0, lam=lam, shrink_always=shrink_always,
    )  # fmt: skip


def _run(
    X: FeatureMatrix | SparseRows,
    mask: Mask,
    prediction: Prediction,
    initial: OnlineState,
    order: Ints | None,
    sample_weight: Floats | None,
    predicted: Ints | None,
    in_place: bool,
    *,
    eta: float,
    lam: float,
    shrink_always: bool,
) -> OnlineState:
    n, d = X.shape
    order = np.arange(n) if order is None else np.asarray(order, dtype=np.int64)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # Without predictions to keep, an empty array stands in.
    predicted = np.empty(0, dtype=np.int64) if predicted is None else predicted
    _check_shapes(initial, mask.shape, weight.shape, (n, d), order)
    if predicted.shape not in ((n,), (0,)) or predicted.dtype != np.int64:
        raise InputError(f"predicted is {predicted.dtype} of shape {predicted.shape}, expected int64 of shape ({n},).")
    rows = view_rows(X)
    memory = weights_order(X)
    V = np.array(initial.V, dtype=X.dtype, order=memory, copy=None if in_place else True)
    keep_mean = initial.keeps_mean
    # Without the mean, a small array of U's type stands in unused, for which numba need not compile anew.
    U = initial.U if keep_mean else np.zeros((2, 2))
    U = np.array(U, dtype=np.float64, order=memory, copy=None if in_place else True)
    reals = (initial.scale, initial.square, initial.total_scale)
    counts = (initial.n_summed, initial.n_rows, initial.n_mistakes, initial.n_updates)
    reals, counts, overflowed = pass_over(
        rows, read_only(mask), order, weight, V, U, V.ravel(order="K"), U.ravel(order="K"), reals, counts,
        prediction == "average", eta, lam, shrink_always, V.shape[1] > d, keep_mean, predicted,
    )  # fmt: skip
    if overflowed >= 0:
        check_finite(X)
        row = int(overflowed)
        raise InputError("the scores overflow; scale the features, for example with StandardScaler.", row=row)
    return replace(
        initial, V=V, U=U if keep_mean else initial.U, scale=reals[0], square=reals[1], total_scale=reals[2],
        n_summed=counts[0], n_rows=counts[1], n_mistakes=counts[2], n_updates=counts[3],
    )  # fmt: skip


def _check_shapes(
    state: OnlineState, mask: tuple[int, ...], weight: tuple[int, ...], rows: tuple[int, int], order: Ints
) -> None:
    """Raise unless everything fits together: compiled loops do not look where they read and write."""
    n, d = rows
    fits = (
        state.V.shape in ((mask[1], d), (mask[1], d + 1))
        and state.U.shape in (state.V.shape, (0, 0))
        and mask[0] == n
        and weight == (n,)
        and (len(order) == 0 or 0 <= order.min() <= order.max() < n)
    )
    if not fits:
        raise InputError(
            f"rows of shape {rows}, a mask of shape {mask}, weights of shape {weight}, an order of {len(order)} rows "
            f"and a state of shape {state.V.shape} do not fit together: start anew with a state for these rows."
        )
