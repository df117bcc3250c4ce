"""Compiled loop of the online classifiers: one epoch of the Perceptron or of Pegasos.

`oneof.solvers.online` documents the updates, and the reason to store the weights as scale * V.
"""

import numpy as np

from oneof.jit import compiled
from oneof.solvers.row_accessors import add_multiple, multiply, row_add, row_scores, row_square, total_square

# A power of two: moving it from the scale to V causes no rounding.
_RESCALE = 2.0**-20
_MAX_FLOAT = np.finfo(np.float64).max


@compiled
def run_epoch(
    rows,
    mask,
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
    scale, square, total_scale = scalars
    n_summed, t, n_mistakes, n_updates = counts
    is_pegasos = lam > 0.0
    radius = 1.0 / np.sqrt(lam) if is_pegasos else np.inf
    # ||V||^2 is recomputed regularly, at a cost of about 16 operations per update.
    recount_every = 1024 + n_classes * n_columns // 16
    scores = np.empty(n_classes, dtype=V.dtype)
    overflowed = -1

    for r in range(order.shape[0]):
        i = order[r]
        row_scores(rows, i, V, scores)
        # NaN or infinity in the row makes every score NaN or infinite, even if the weights are 0.
        if not abs(scores[0]) <= _MAX_FLOAT:
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
            # Not np.isfinite: it subtracts the number from itself, which reordered sums may simplify to 0.
            if not abs(score_in - score_out) <= _MAX_FLOAT:
                overflowed = i
                break
            has_loss = 1.0 - scale * (score_in - score_out) > 0.0
            top_in = scores[best_in]
            if scores[best_out] > top_in or (scores[best_out] == top_in and best_out < best_in):
                top = best_out
        if len(predicted) > 0:
            predicted[i] = top
        if not weight[i] > 0.0:  # a row of weight 0 is only predicted
            continue
        t += 1
        if top != best_in:
            n_mistakes += 1

        before_row = (scale, square, total_scale)
        rescaled = 1.0
        if is_pegasos and (has_loss or shrink_always):
            if t == 1:
                V[:] = 0.0
                scale, square, score_in, score_out = 1.0, 0.0, 0.0, 0.0
            else:
                scale *= 1.0 - 1.0 / t
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
            step_in = step / n_in if average else step
            before, growth = square, 0.0
            if is_pegasos:
                growth = (step * step_in + step * step) * row_square(rows, i, has_constant)
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
            for k in range(n_classes):
                if mask[i, k] and (average or k == best_in):
                    row_add(rows, i, V, k, step_in)
                    if has_mean:
                        row_add(rows, i, U, k, step_in * total_scale)
            row_add(rows, i, V, best_out, -step)
            if has_mean:
                row_add(rows, i, U, best_out, -step * total_scale)
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
    return (scale, square, total_scale), (n_summed, t, n_mistakes, n_updates), overflowed
