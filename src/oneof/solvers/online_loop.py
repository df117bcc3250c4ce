"""Compiled loop of the online classifiers: one epoch of the Perceptron or of Pegasos.

`oneof.solvers.online` documents the updates, and the reason to store the weights as scale * V. Numba compiles the loop
once for masks and once for weights. A row whose weights are all 0 or 1 takes the same path in both, so that a stream
can be split anywhere.
"""

import numpy as np
from numba import types
from numba.extending import overload

from oneof.jit import compiled
from oneof.solvers.row_accessors import add_multiple, multiply, row_add, row_scores, row_square, total_square

# A power of two: moving it from the scale to V causes no rounding.
_RESCALE = 2.0**-20
_MAX_FLOAT = np.finfo(np.float64).max


@compiled
def run_epoch(
    rows,
    evidence,
    order,
    weight,
    V,
    U,
    all_V,
    all_U,
    scalars,
    counts,
    average,
    eta0,
    lam,
    shrink_always,
    has_constant,
    has_mean,
    predicted,
):
    """Update the weights row by row; return the scalars of the state, its counts, and the row that overflowed or -1."""
    n_classes, n_columns = V.shape
    scale, square, total_scale, n_mistakes = scalars
    n_summed, t, n_updates = counts
    is_pegasos = lam > 0.0
    radius = 1.0 / np.sqrt(lam) if is_pegasos else np.inf
    # ||V||^2 is recomputed regularly, at a cost of about 16 operations per update.
    recount_every = 1024 + n_classes * n_columns // 16
    scores = np.empty(n_classes, dtype=V.dtype)
    direction, per_candidate = np.empty((2, n_classes + 1))
    order_in, best_after = np.empty((2, n_classes + 1), dtype=np.int64)
    overflowed = -1

    for r in range(order.shape[0]):
        i = order[r]
        row_scores(rows, i, V, scores, order[r + 2] if r + 2 < order.shape[0] else -1)
        # NaN or infinity in the row makes every score NaN or infinite, even if the weights are 0.
        if not abs(scores[0]) <= _MAX_FLOAT:
            overflowed = i
            break

        is_set = _is_set(evidence, i)
        # The scores are those of the candidates and of the other classes in the hinge; of weighted rows, the first one
        # is the product of the step's coefficients with the scores, and the second one is 0.
        n_in, sum_in, best_in, best_out = 0, 0.0, -1, -1
        has_loss = False
        score_in = score_out = direction_square = 0.0
        shrink = 1.0  # the fraction of the shrink that a loss causes
        if is_set:
            for k in range(n_classes):
                if evidence[i, k]:
                    n_in += 1
                    sum_in += scores[k]
                    if best_in < 0 or scores[k] > scores[best_in]:
                        best_in = k
                elif best_out < 0 or scores[k] > scores[best_out]:
                    best_out = k
            top = best_in
            if best_out >= 0:
                score_in = sum_in / n_in if average else np.float64(scores[best_in])
                score_out = np.float64(scores[best_out])
                # Not np.isfinite: it subtracts the number from itself, which reordered sums may simplify to 0.
                if not abs(score_in - score_out) <= _MAX_FLOAT:
                    overflowed = i
                    break
                has_loss = 1.0 - scale * (score_in - score_out) > 0.0
                top_in = scores[best_in]
                if scores[best_out] > top_in or (scores[best_out] == top_in and best_out < best_in):
                    top = best_out
        else:
            shrink, score_in, direction_square, top = _sum_levels(
                evidence[i], scores, scale, average, direction, order_in, best_after, per_candidate
            )
            if not abs(score_in) <= _MAX_FLOAT:
                overflowed = i
                break
            has_loss = shrink > 0.0
        if len(predicted) > 0:
            predicted[i] = top
        if not weight[i] > 0.0:  # a row of weight 0 is only predicted
            continue
        t += 1
        if is_set:
            if top != best_in:
                n_mistakes += 1.0
        else:
            n_mistakes += 1.0 - evidence[i, top]

        before_row = (scale, square, total_scale)
        rescaled = 1.0
        if is_pegasos and (has_loss or shrink_always):
            if t == 1:
                V[:] = 0.0
                scale, square, score_in, score_out = 1.0, 0.0, 0.0, 0.0
            else:
                scale *= 1.0 - (1.0 if shrink_always else shrink) / t
                while 0.0 < scale < _RESCALE:
                    multiply(all_V, _RESCALE)
                    rescaled /= _RESCALE
                    scale /= _RESCALE
                    total_scale /= _RESCALE
                    square *= _RESCALE * _RESCALE
                    score_in *= _RESCALE
                    score_out *= _RESCALE

        if has_loss:
            step = weight[i] * (1.0 / (lam * t) if is_pegasos else eta0) / scale
            step_in = step / n_in if average and is_set else step
            before, growth = square, 0.0
            if is_pegasos:
                coefficient_square = step * step_in + step * step if is_set else step * step * direction_square
                growth = coefficient_square * row_square(rows, i, has_constant)
                square += 2.0 * step * (score_in - score_out) + growth
                if not abs(square) <= _MAX_FLOAT:
                    overflowed = i
                    if rescaled > 1.0:  # restore V
                        multiply(all_V, rescaled)
                    scale, square, total_scale = before_row
                    break
                next_scale = min(scale, radius / np.sqrt(max(square, 1e-300)))
                if has_mean and next_scale * (n_summed + 1) < total_scale / 16.0:
                    add_multiple(all_U, -total_scale, all_V)
                    total_scale, n_summed = 0.0, 0
            # One call for each array: the compiler inlines few calls, and a call per class is half of the time.
            for k in range(n_classes):
                if not is_set:
                    class_step = step * direction[k]
                elif k == best_out:
                    class_step = -step
                else:
                    class_step = step_in if evidence[i, k] and (average or k == best_in) else 0.0
                if class_step != 0.0:
                    row_add(rows, i, V, k, class_step)
                    if has_mean:
                        row_add(rows, i, U, k, class_step * total_scale)
            n_updates += 1

            if is_pegasos:
                # If most of the norm cancels, so do the digits of the sum.
                if square < 1e-3 * (before + growth) or n_updates % recount_every == 0:
                    square = total_square(all_V)
                norm = scale * np.sqrt(square)
                if norm > radius:
                    scale *= radius / norm
        if has_mean:
            total_scale += scale
            n_summed += 1
    return (scale, square, total_scale, n_mistakes), (n_summed, t, n_updates), overflowed


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
def _sum_levels(weights, scores, scale, average, direction, order, best_after, per_candidate):
    """Sum the steps of a row's level sets that have a loss, each times its mass.

    Write the coefficients of the row in the weights of the classes to `direction`. The last three arrays are workspace.
    Return the sum of the masses, the product of the coefficients with the scores (infinite if one overflows), the
    squared norm of the coefficients, and the predicted class.
    """
    n_classes = scores.shape[0]
    size, best = 0, -1
    for k in range(n_classes):
        direction[k] = 0.0
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
            margin = (sum_in / p if average else np.float64(scores[best_in])) - np.float64(scores[out])
            if not abs(margin) <= _MAX_FLOAT:
                return 0.0, np.inf, 0.0, best
            if 1.0 - scale * margin > 0.0:
                total += mass
                direction[out] -= mass
                if average:
                    per_candidate[p] = mass / p
                else:
                    direction[best_in] += mass
    per_class = product = square = 0.0
    for p in range(size, 0, -1):
        per_class += per_candidate[p]
        direction[order[p - 1]] += per_class
    for k in range(n_classes):
        product += direction[k] * scores[k]
        square += direction[k] * direction[k]
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
