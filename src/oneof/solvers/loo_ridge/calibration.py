"""Probabilities from scores: a softmax whose sharpness makes the sets likely under scores of rows left out.

p_k = exp(b f_k) / sum_j exp(b f_j). What is observed of a row is its set. With odds c_k, above 0, for how little a
class needs to be explained as a distractor (see `oneof.solvers.loo_ridge.distractors`), its likelihood goes with
sum_{k in S} p_k c_k; with equal odds that is the probability that the label is in the set.

Where no prediction falls outside the sets, that grows with b for ever. So each of n sets is taken to hold the label
with probability (n + 1) / (n + 2) alone, as if of two more rows one had been missed (Platt, Probabilistic outputs for
support vector machines, 1999).
"""

import numpy as np
from scipy.optimize import brentq

from oneof.typing import Floats, Mask

LEAST, MOST = 0.1, 1000.0
"""Between which the sharpness is sought."""
_GRID = 61


def best_sharpness(scores: Floats, mask: Mask, odds: Floats) -> float:
    """Return b that maximizes sum_i (1 - e) log sum_{k in S_i} p_ik c_k + e log sum_{k not in S_i} p_ik.

    With e = 1 / (n + 2) for n rows that have a label, or some; without any, 1 is returned. It is a root of the
    derivative by log b, found to rounding between the neighbors of the best point of a grid, so that scores which
    differ by rounding have a sharpness which does.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Of rows left out.
    mask : ndarray of shape (n, K), bool
    odds : ndarray of shape (K,)
        c, above 0.
    """
    told = ~mask.all(axis=1)
    scores, mask = scores[told], mask[told]
    if not len(scores):
        return 1.0
    doubt = 1.0 / (len(scores) + 2.0)
    inside, outside = np.where(mask, np.log(odds), -np.inf), np.where(mask, -np.inf, 0.0)

    def sums(log_b: float) -> list[tuple[Floats, Floats]]:
        return [_log_sum(np.exp(log_b) * scores + logs) for logs in (inside, outside, 0.0)]

    def value(log_b: float) -> float:
        (within, _), (beside, _), (all_, _) = sums(log_b)
        return float(((1.0 - doubt) * (within - all_) + doubt * (beside - all_)).sum())

    def slope(log_b: float) -> float:
        (_, within), (_, beside), (_, all_) = sums(log_b)
        moves = (1.0 - doubt) * (within - all_) + doubt * (beside - all_)
        return float(np.exp(log_b) * (moves * scores).sum())

    grid = np.linspace(np.log(LEAST), np.log(MOST), _GRID)
    best = int(np.argmax([value(point) for point in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    if slope(low) <= 0:
        return float(np.exp(low))
    if slope(high) >= 0:
        return float(np.exp(high))
    return float(np.exp(brentq(slope, low, high, xtol=1e-13, rtol=1e-14)))


def _log_sum(scores: Floats) -> tuple[Floats, Floats]:
    """Return log sum_k exp(s_ik), (n,), and its gradient, (n, K)."""
    top = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - top)
    total = shares.sum(axis=1, keepdims=True)
    return (np.log(total) + top)[:, 0], shares / total
