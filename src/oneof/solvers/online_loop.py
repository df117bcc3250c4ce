"""The compiled loop of the online learners: one pass over rows, Perceptron or Pegasos.

What it computes, and why the weights are kept as scale * V, is told in `oneof.solvers.online`.
"""

import numpy as np

from oneof.solvers.jit import compiled
from oneof.solvers.row_accessors import add_multiple, multiply, row_add, row_scores, row_square, total_square

# A power of two: moving it from the scale to V rounds nothing.
_SMALL = 2.0**-20
_LARGEST = np.finfo(np.float64).max


@compiled
def pass_over(
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
    """Learn from the rows in order; return the scalars of the state, its counts, and the row that overflowed or -1."""
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
            has_loss = 1.0 - scale * (score_in - score_out) > 0.0
            top_in = scores[best_in]
            if scores[best_out] > top_in or (scores[best_out] == top_in and best_out < best_in):
                top = best_out
        if len(predicted) > 0:
            predicted[i] = top
        if not weight[i] > 0.0:  # as if the row were not there
            continue
        t += 1
        if top != best_in:
            n_mistakes += 1

        kept = (scale, square, total_scale)
        raised = 1.0
        if is_pegasos and (has_loss or shrink_always):
            if t == 1:
                V[:] = 0.0
                scale, square, score_in, score_out = 1.0, 0.0, 0.0, 0.0
            else:
                scale *= 1.0 - 1.0 / t
                while 0.0 < scale < _SMALL:
                    multiply(all_V, _SMALL)
                    raised /= _SMALL
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
                    if raised > 1.0:  # the row leaves V as it was
                        multiply(all_V, raised)
                    scale, square, total_scale = kept
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
