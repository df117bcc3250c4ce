"""Calibration: the inverse temperature of the softmax, fitted to the candidate sets by leave-one-out scores.

p_k = exp(b f_k) / sum_j exp(b f_j). The observation of a row is its set. With the odds c_k > 0 of the classes (see
`oneof.solvers.loo_ridge.distractors`), its likelihood is proportional to sum_{k in S} p_k c_k. With equal odds this is
the probability that the label is in the set.

If no prediction is outside the sets, the likelihood increases with b without bound. So each of n sets contains the
label with probability (n + 1) / (n + 2), as if one of two additional rows were an error (Platt, Probabilistic outputs
for support vector machines, 1999).
"""

import numpy as np
from scipy.optimize import brentq

from oneof.typing import Floats, Mask

MIN_INVERSE_TEMPERATURE, MAX_INVERSE_TEMPERATURE = 0.1, 1000.0
_N_GRID = 61
MAX_CALIBRATION_ROWS = 20_000
"""Number of labeled rows, evenly spaced, on which the temperature is fitted."""


def fit_inverse_temperature(scores: Floats, mask: Mask, class_odds: Floats) -> float:
    """Return b that maximizes sum_i (1 - e) log sum_{k in S_i} p_ik c_k + e log sum_{k not in S_i} p_ik.

    e = 1 / (n + 2) for n labeled rows; without labeled rows, 1 is returned. The result is a root of the derivative by
    log b, accurate to rounding, between the neighbors of the best point of a grid. So scores that differ by rounding
    have inverse temperatures that differ by rounding.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Leave-one-out scores.
    mask : ndarray of shape (n, K), bool
    class_odds : ndarray of shape (K,)
        c, above 0.
    """
    labeled = np.flatnonzero(~mask.all(axis=1))
    labeled = labeled[:: max(1, -(-len(labeled) // MAX_CALIBRATION_ROWS))]
    scores, mask = scores[labeled], mask[labeled]
    if not len(scores):
        return 1.0
    error_rate = 1.0 / (len(scores) + 2.0)
    log_inside, log_outside = np.where(mask, np.log(class_odds), -np.inf), np.where(mask, -np.inf, 0.0)

    def log_sums(log_b: float) -> list[tuple[Floats, Floats]]:
        return [_log_sum_exp(np.exp(log_b) * scores + logs) for logs in (log_inside, log_outside, 0.0)]

    def value(log_b: float) -> float:
        (inside, _), (outside, _), (total, _) = log_sums(log_b)
        return float(((1.0 - error_rate) * (inside - total) + error_rate * (outside - total)).sum())

    def derivative(log_b: float) -> float:
        (_, inside), (_, outside), (_, total) = log_sums(log_b)
        gradient = (1.0 - error_rate) * (inside - total) + error_rate * (outside - total)
        return float(np.exp(log_b) * (gradient * scores).sum())

    grid = np.linspace(np.log(MIN_INVERSE_TEMPERATURE), np.log(MAX_INVERSE_TEMPERATURE), _N_GRID)
    best = int(np.argmax([value(point) for point in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, _N_GRID - 1)]
    if derivative(low) <= 0:
        return float(np.exp(low))
    if derivative(high) >= 0:
        return float(np.exp(high))
    return float(np.exp(brentq(derivative, low, high, xtol=1e-13, rtol=1e-14)))


def _log_sum_exp(scores: Floats) -> tuple[Floats, Floats]:
    """Return log sum_k exp(s_ik), (n,), and its gradient, (n, K)."""
    top = scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores - top)
    total = exponentials.sum(axis=1, keepdims=True)
    return (np.log(total) + top)[:, 0], exponentials / total
