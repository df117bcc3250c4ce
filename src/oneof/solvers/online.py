"""Online learners for candidate sets: Perceptron and Pegasos, on the average or the max prediction hinge.

Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithms 1 to 4.

The weights are W = scale * V. The shrink and the projection of Pegasos touch the scale alone, the steps touch the rows
of V whose classes the loss names, and ||V||^2 is kept from the scores that are known anyway: no row costs K x D beyond
its scores, but for renormalisations and recounts, which are rare unless lam is so small that every step is projected.

For the mean of all W_t, U is kept beside V such that  sum_t W_t = total_scale * V - U  (each step delta to V is added
to U times the sum of the scales before it), which again touches the same rows only. Where a projection would leave the
scale far below its mean, digits would cancel in that difference: then U takes in the whole sum first.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.compiled import compiled
from oneof.solvers.rows import (
    add_multiple,
    multiply,
    row_add,
    row_scores,
    row_square,
    total_square,
    view_rows,
    weights_order,
)
from oneof.typing import Floats, Ints, Mask, Rows

Prediction = Literal["average", "max"]
"""Which candidate score the hinge looks at: the mean over the set, or its largest."""

# A power of two: moving it from the scale to V rounds nothing.
_SMALL = 2.0**-20
_LARGEST = np.finfo(np.float64).max


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
    """Rows seen, t."""
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


def perceptron(
    X: Rows,
    mask: Mask,
    *,
    prediction: Prediction,
    initial: OnlineState,
    eta: float = 1.0,
    order: Ints | None = None,
    sample_weight: Floats | None = None,
    predicted: Ints | None = None,
) -> OnlineState:
    """Pass once over the rows: where the hinge is > 0, add eta times the negative subgradient (Algorithms 1 and 2).

    X need not be known to be finite: a NaN or an infinity is met in its row's scores, which saves a pass over X.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    mask : ndarray of shape (n, K), bool
    prediction : {"average", "max"}
    initial : OnlineState
        Where to go on from; it is not changed.
    eta : float
        Step, > 0.
    order : ndarray of shape (n,), int64, optional
        The order in which the rows come.
    sample_weight : ndarray of shape (n,), optional
        Multiplies a row's step; a row of weight 0 takes none.
    predicted : ndarray of shape (n,), int64, optional
        Filled with the class that each row was given before its update; rows that are not in `order` keep their entry.

    Returns
    -------
    OnlineState

    Raises
    ------
    InputError
        If a row holds NaN or infinity, or its scores overflow.
    """
    return _run(X, mask, prediction, initial, order, sample_weight, predicted, eta=eta, lam=0.0, shrink_always=False)


def pegasos(
    X: Rows,
    mask: Mask,
    *,
    prediction: Prediction,
    initial: OnlineState,
    lam: float = 1e-4,
    shrink_always: bool = False,
    order: Ints | None = None,
    sample_weight: Floats | None = None,
    predicted: Ints | None = None,
) -> OnlineState:
    """Pass once over the rows: W <- (1 - 1/t) W, a step of 1/(lam t), projection on ||W|| <= 1/sqrt(lam).

    With `shrink_always` the shrink is taken on every row, which is the variant that the regret bound holds for; else
    only where the hinge is > 0, as Algorithms 3 and 4 print it. The other parameters are those of `perceptron`.
    """
    return _run(
        X, mask, prediction, initial, order, sample_weight, predicted, eta=0.0, lam=lam, shrink_always=shrink_always
    )


def _run(
    X: Rows,
    mask: Mask,
    prediction: Prediction,
    initial: OnlineState,
    order: Ints | None,
    sample_weight: Floats | None,
    predicted: Ints | None,
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
    V = np.array(initial.V, dtype=X.dtype, order=weights_order(X))
    keep_mean = initial.keeps_mean
    # Without the mean, a small array of U's type stands in unused, for which numba need not compile anew.
    U = np.array(initial.U if keep_mean else np.zeros((2, 2)), dtype=np.float64, order=weights_order(X))
    reals = (initial.scale, initial.square, initial.total_scale)
    counts = (initial.n_summed, initial.n_rows, initial.n_mistakes, initial.n_updates)
    mask = mask.view()
    mask.flags.writeable = False  # one compiled loop for writeable and read-only masks
    reals, counts, overflowed = _pass(
        view_rows(X), mask, order, weight, V, U, V.ravel(order="K"), U.ravel(order="K"), reals, counts,
        prediction == "average", eta, lam, shrink_always, V.shape[1] > d, keep_mean, predicted,
    )  # fmt: skip
    if overflowed >= 0:
        row = X[[overflowed]]
        if not np.isfinite(row.data if sp.issparse(row) else row).all():
            raise InputError(f"Input X contains NaN or infinity (row {overflowed}): impute the value or drop the row.")
        raise InputError(f"row {overflowed}: the scores overflow; scale the features, for example with StandardScaler.")
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


@compiled
def _pass(
    rows,
    mask,
    order,
    weight,
    V,
    U,
    all_V,
    all_U,
    reals,
    counts,
    average,
    eta,
    lam,
    shrink_always,
    has_constant,
    keep_mean,
    predicted,
):
    n_classes, n_columns = V.shape
    scale, square, total_scale = reals
    n_summed, t, n_mistakes, n_updates = counts
    is_pegasos = lam > 0.0
    radius = 1.0 / np.sqrt(lam) if is_pegasos else np.inf
    # ||V||^2 is counted anew now and then, at a cost of some 16 operations an update.
    recount_every = 1024 + n_classes * n_columns // 16
    scores = np.empty(n_classes, dtype=V.dtype)
    overflowed = -1

    for r in range(order.shape[0]):
        i = order[r]
        t += 1
        row_scores(rows, i, V, scores)
        # A NaN or an infinity in the row shows in every score, also against weights of 0.
        if not abs(scores[0]) <= _LARGEST:
            overflowed = i
            break

        n_in, sum_in, best_in, best_out = 0, 0.0, -1, -1
        for k in range(n_classes):
            if mask[i, k]:
                n_in += 1
                sum_in += scores[k]
                if best_in < 0 or scores[k] > scores[best_in]:
                    best_in = k
            elif best_out < 0 or scores[k] > scores[best_out]:
                best_out = k
        has_loss = False
        score_in = score_out = 0.0
        top = best_in
        if best_out >= 0:
            score_in = sum_in / n_in if average else np.float64(scores[best_in])
            score_out = np.float64(scores[best_out])
            # Not np.isfinite: it subtracts the number from itself, which reordered sums may take for 0.
            if not abs(score_in - score_out) <= _LARGEST:
                overflowed = i
                break
            has_loss = weight[i] > 0.0 and 1.0 - scale * (score_in - score_out) > 0.0
            top_in = scores[best_in]
            if scores[best_out] > top_in or (scores[best_out] == top_in and best_out < best_in):
                n_mistakes += 1
                top = best_out
        if len(predicted) > 0:
            predicted[i] = top

        if is_pegasos and (has_loss or shrink_always):
            if t == 1:
                V[:] = 0.0
                scale, square, score_in, score_out = 1.0, 0.0, 0.0, 0.0
            else:
                scale *= 1.0 - 1.0 / t
                while 0.0 < scale < _SMALL:
                    multiply(all_V, _SMALL)
                    scale /= _SMALL
                    total_scale /= _SMALL
                    square *= _SMALL * _SMALL
                    score_in *= _SMALL
                    score_out *= _SMALL

        if has_loss:
            step = weight[i] * (1.0 / (lam * t) if is_pegasos else eta) / scale
            share = step / n_in if average else step
            before, grown = square, 0.0
            if is_pegasos:
                grown = (step * share + step * step) * row_square(rows, i, has_constant)
                square += 2.0 * step * (score_in - score_out) + grown
                if not abs(square) <= _LARGEST:
                    overflowed = i
                    break
                next_scale = min(scale, radius / np.sqrt(max(square, 1e-300)))
                if keep_mean and next_scale * (n_summed + 1) < total_scale / 16.0:
                    add_multiple(all_U, -total_scale, all_V)
                    total_scale, n_summed = 0.0, 0
            for k in range(n_classes):
                if mask[i, k] and (average or k == best_in):
                    row_add(rows, i, V, k, share)
                    if keep_mean:
                        row_add(rows, i, U, k, share * total_scale)
            row_add(rows, i, V, best_out, -step)
            if keep_mean:
                row_add(rows, i, U, best_out, -step * total_scale)
            n_updates += 1

            if is_pegasos:
                # Where most of the norm cancels, so do the digits of the sum.
                if square < 1e-3 * (before + grown) or n_updates % recount_every == 0:
                    square = total_square(all_V)
                norm = scale * np.sqrt(square)
                if norm > radius:
                    scale *= radius / norm
        if keep_mean:
            total_scale += scale
            n_summed += 1
    return (scale, square, total_scale), (n_summed, t, n_mistakes, n_updates), overflowed
