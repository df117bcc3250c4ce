"""The power of class probabilities under which answers are most likely.

Probabilities of classifiers are too close to 0 and 1, or too far from them. With held-out probabilities p and the
likelihood w of the answers, the power b maximizes

    sum_i log sum_k w_ik p_ik^b / sum_j p_ij^b.

If p carries no information about the labels, b is small, and the prior p^b / sum p^b is nearly uniform.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from oneof.likelihoods import log_likelihoods, softmax
from oneof.typing import Evidence, Floats

MIN_POWER, MAX_POWER, N_POWERS = 1.0 / 64, 64.0, 25


def temper(scores: Floats, evidence: Evidence) -> tuple[Floats, float]:
    """Return the softmax of b times the scores, (n, K), and b.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        The logarithms of held-out probabilities, or other scores.
    evidence : ndarray of shape (n, K)
        Weights of the classes given the answers. Rows of equal weights have no effect on b.
    """

    def loss(log_power: float) -> float:
        return -float(log_likelihoods(np.exp(log_power) * scores, evidence).sum())

    powers = np.linspace(np.log(MIN_POWER), np.log(MAX_POWER), N_POWERS)
    best = int(np.argmin([loss(power) for power in powers]))
    bounds = (powers[max(best - 1, 0)], powers[min(best + 1, N_POWERS - 1)])
    power = float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4}).x))
    return softmax(power * scores), power
