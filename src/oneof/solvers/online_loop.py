"""Compiled loop of the online classifiers: one epoch of the Perceptron or of Pegasos.

`oneof.solvers.online` documents the updates, and the reason to store the weights as scale * V. Numba compiles the loop
once for masks and once for weights. A row whose weights are all 0 or 1 takes the same path in both, so that a stream
can be split anywhere.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from oneof.jit import compiled
from oneof.solvers.row_accessors import add_multiple, multiply, row_add, row_scores, row_square, total_square

# A power of two: moving it from the scale to V causes no rounding.
_RESCALE = 2.0**-20
_MAX_FLOAT = np.finfo(np.float64).max


class Rule(NamedTuple):
    """The update rule: one of Algorithms 1 to 4."""

    is_pegasos: bool
    """Algorithms 3 and 4, with the regularization `lam`; otherwise 1 and 2, with the step size `eta0`."""
    is_average: bool
    """Algorithms 1 and 3, with the average prediction hinge; otherwise 2 and 4, with the max prediction hinge."""
    eta0: float
    lam: float
    shrink_always: bool
    """Whether W <- (1 - eta_t lam) W also if the loss is 0."""
    has_constant: bool = False
    has_mean: bool = False


class Arrays(NamedTuple):
    """V and U, (K, D), and the same arrays as vectors."""

    V: Any
    U: Any
    vector_V: Any  # noqa: N815 - the names of the documentation
    vector_U: Any  # noqa: N815


@compiled
def run_epoch(rows, evidence, order, weight, arrays, numbers, rule, predicted):
    """Update the weights row by row; return the numbers of the state, and the row that overflowed or -1."""
    V, U, all_V, all_U = arrays
    (scale, square, total_scale, n_mistakes), (n_summed, t, n_updates) = numbers
    n_classes, n_columns = V.shape
    radius = 1.0 / np.sqrt(rule.lam) if rule.is_pegasos else np.inf
    # ||V||^2 is recomputed regularly, at a cost of about 16 operations per update.
    recount_every = 1024 + n_classes * n_columns // 16
    scores = np.empty(n_classes, dtype=V.dtype)
    tau, per_candidate = np.empty(n_classes + 1), np.empty(n_classes + 1)
    order_in, best_after = np.empty(n_classes + 1, dtype=np.int64), np.empty(n_classes + 1, dtype=np.int64)
    overflowed = -1

    for r in range(order.shape[0]):
        # Get x^t. Predict argmax_k w_k^t x^t. Get the set Y^t. Calculate the loss, Eq. (2) or (3).
        i = order[r]
        row_scores(rows, i, V, scores)
        # NaN or infinity in the row makes every score NaN or infinite, even if the weights are 0.
        if not abs(scores[0]) <= _MAX_FLOAT:
            overflowed = i
            break
        if _is_set(evidence, i):
            loss, margin, tau_square, top = _set_steps(evidence, i, scores, scale, rule.is_average, tau)
        else:
            loss, margin, tau_square, top = _level_steps(
                evidence[i], scores, scale, rule.is_average, tau, order_in, best_after, per_candidate
            )
        if not abs(margin) <= _MAX_FLOAT:
            overflowed = i
            break
        if len(predicted) > 0:
            predicted[i] = top
        if not weight[i] > 0.0:  # a row of weight 0 is only predicted
            continue
        t += 1
        n_mistakes += 1.0 - evidence[i, top]

        before_row = (scale, square, total_scale)
        rescaled = 1.0
        # W <- (1 - eta_t lam) W^t, with eta_t = 1 / (lam t), if the loss is > 0
        if rule.is_pegasos and (loss > 0.0 or rule.shrink_always):
            if t == 1:
                V[:] = 0.0
                scale, square, margin = 1.0, 0.0, 0.0
            else:
                scale *= 1.0 - (1.0 if rule.shrink_always else loss) / t
                while 0.0 < scale < _RESCALE:
                    multiply(all_V, _RESCALE)
                    rescaled /= _RESCALE
                    scale /= _RESCALE
                    total_scale /= _RESCALE
                    square *= _RESCALE * _RESCALE
                    margin *= _RESCALE

        if loss > 0.0:
            step = weight[i] * (1.0 / (rule.lam * t) if rule.is_pegasos else rule.eta0) / scale
            before, growth = square, 0.0
            if rule.is_pegasos:
                growth = step * step * tau_square * row_square(rows, i, rule.has_constant)
                square += 2.0 * step * margin + growth
                if not abs(square) <= _MAX_FLOAT:
                    overflowed = i
                    if rescaled > 1.0:  # restore V
                        multiply(all_V, rescaled)
                    scale, square, total_scale = before_row
                    break
                next_scale = min(scale, radius / np.sqrt(max(square, 1e-300)))
                if rule.has_mean and next_scale * (n_summed + 1) < total_scale / 16.0:
                    add_multiple(all_U, -total_scale, all_V)
                    total_scale, n_summed = 0.0, 0
            # w_k <- w_k + eta tau_k^t x^t, k in [K]
            for k in range(n_classes):
                if tau[k] != 0.0:
                    row_add(rows, i, V, k, step * tau[k])
                    if rule.has_mean:
                        row_add(rows, i, U, k, step * tau[k] * total_scale)
            n_updates += 1
            if rule.is_pegasos:
                # W^{t+1} = min(1, 1/sqrt(lam) / ||W||) W. If most of the norm cancels, so do the digits of the sum.
                if square < 1e-3 * (before + growth) or n_updates % recount_every == 0:
                    square = total_square(all_V)
                norm = scale * np.sqrt(square)
                if norm > radius:
                    scale *= radius / norm
        if rule.has_mean:
            total_scale += scale
            n_summed += 1
    return (scale, square, total_scale, n_mistakes), (n_summed, t, n_updates), overflowed


@compiled
def _set_steps(mask, i, scores, scale, is_average, tau):
    """Write tau^t of a candidate set Y, minus the derivatives of its loss by the scores, Eq. (4) or (5).

    Average: 1/|Y| in Y. Max: 1 at the best candidate. Both: -1 at the best class outside, and 0 elsewhere. Return 1 if
    the loss is > 0, otherwise 0; the sum of tau_k times the scores, which is the margin (infinite if it overflows); the
    squared norm of tau; and the predicted class.
    """
    n_classes = scores.shape[0]
    n_in, sum_in, best_in, best_out = 0, 0.0, -1, -1
    for k in range(n_classes):
        if mask[i, k]:
            n_in += 1
            sum_in += scores[k]
            if best_in < 0 or scores[k] > scores[best_in]:
                best_in = k
        elif best_out < 0 or scores[k] > scores[best_out]:
            best_out = k
    if best_out < 0:
        return 0.0, 0.0, 0.0, best_in
    top_in, top_out = scores[best_in], scores[best_out]
    top = best_out if top_out > top_in or (top_out == top_in and best_out < best_in) else best_in
    margin = (sum_in / n_in if is_average else np.float64(top_in)) - np.float64(top_out)
    # Not np.isfinite: it subtracts the number from itself, which reordered sums may simplify to 0.
    if not abs(margin) <= _MAX_FLOAT:
        return 0.0, np.inf, 0.0, top
    if not 1.0 - scale * margin > 0.0:
        return 0.0, margin, 0.0, top
    share = 1.0 / n_in if is_average else 1.0
    for k in range(n_classes):
        tau[k] = share if mask[i, k] and (is_average or k == best_in) else 0.0
    tau[best_out] = -1.0
    return 1.0, margin, share + 1.0, top


def _is_set(evidence, i):
    """Return whether the weights of row i are all 0 or 1."""
    raise NotImplementedError("only inside compiled loops")


@overload(_is_set, inline="always")
def _overload_is_set(evidence, i):  # noqa: ARG001 - numba reads the types only
    if evidence.dtype == types.boolean:
        return lambda evidence, i: True  # noqa: ARG005
    return _has_only_zeros_and_ones


def _has_only_zeros_and_ones(evidence, i):
    result = True
    for k in range(evidence.shape[1]):
        result = result and (evidence[i, k] == 0.0 or evidence[i, k] == 1.0)
    return result


@compiled
def _level_steps(weights, scores, scale, is_average, tau, order, best_after, per_candidate):
    """Write the sum of tau^t over a row's level sets that have a loss, each times its mass.

    The last three arrays are workspace. Return the sum of the masses, the sum of tau_k times the scores (infinite if it
    overflows), the squared norm of tau, and the predicted class.
    """
    n_classes = scores.shape[0]
    size, best = 0, -1
    for k in range(n_classes):
        tau[k] = 0.0
        if weights[k] > 0.0:
            order[size] = k
            size += 1
        elif best < 0 or scores[k] > scores[best]:
            best = k
    _sort_descending(order[:size], weights)
    # The best class outside each level set, which consists of the first classes in this order.
    for p in range(size, 0, -1):
        best_after[p] = best
        k = order[p - 1]
        if best < 0 or scores[k] > scores[best] or (scores[k] == scores[best] and k < best):
            best = k
    total, sum_in, best_in = 0.0, 0.0, order[0]
    for p in range(1, size + 1):
        k, out = order[p - 1], best_after[p]
        sum_in += scores[k]
        if scores[k] > scores[best_in] or (scores[k] == scores[best_in] and k < best_in):
            best_in = k
        mass = weights[k] - (weights[order[p]] if p < size else 0.0)
        per_candidate[p] = 0.0
        if mass > 0.0 and out >= 0:
            margin = (sum_in / p if is_average else np.float64(scores[best_in])) - np.float64(scores[out])
            if not abs(margin) <= _MAX_FLOAT:
                return 0.0, np.inf, 0.0, best
            if 1.0 - scale * margin > 0.0:
                total += mass
                tau[out] -= mass
                if is_average:
                    per_candidate[p] = mass / p
                else:
                    tau[best_in] += mass
    per_class = product = square = 0.0
    for p in range(size, 0, -1):
        per_class += per_candidate[p]
        tau[order[p - 1]] += per_class
    for k in range(n_classes):
        product += tau[k] * scores[k]
        square += tau[k] * tau[k]
    return total, product, square, best


@compiled
def _sort_descending(order, weights):
    """Sort classes by decreasing weight, in place and stably."""
    if order.shape[0] > 16:
        order[:] = order[np.argsort(-weights[order], kind="mergesort")]
        return
    for p in range(1, order.shape[0]):
        k, q = order[p], p
        while q > 0 and weights[order[q - 1]] < weights[k]:
            order[q] = order[q - 1]
            q -= 1
        order[q] = k
