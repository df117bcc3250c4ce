"""Powers that calibrate two independent pieces of evidence, a classifier and the answers, by each other.

Probabilities of classifiers are too close to 0 and 1, or too far from them. With held-out probabilities p and the
likelihood w of the answers, the power b maximizes

    sum_i log sum_k w_ik p_ik^b / sum_j p_ij^b.

If p has no information about the labels, b is small, and the prior p^b / sum p^b is nearly uniform.

Answers to one row are often not independent given its class: difficult rows mislead all annotators. Their product is
then too close to 0 and 1. With calibrated p, the power a of the likelihood minimizes the cross-entropy

    - sum_i sum_k p_ik log (w_ik^a / sum_j w_ij^a),

which is convex in a: w^a / sum w^a are then the best predictions, of this form, of the labels that p predicts.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from oneof.likelihoods import log_likelihoods, softmax
from oneof.typing import Evidence, Floats

MIN_POWER, MAX_POWER, N_POWERS = 1.0 / 64, 64.0, 25
MIN_ANSWER_POWER = 0.1
"""Lower bound of a; the upper bound is 1, for independent answers."""


def temper(scores: Floats, evidence: Evidence, max_power: float = MAX_POWER) -> tuple[Floats, float]:
    """Return the softmax of b times the scores, (n, K), and b.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        The logarithms of held-out probabilities, or other scores.
    evidence : ndarray of shape (n, K)
        Weights of the classes given the answers. Rows of equal weights have no effect on b.
    max_power : float
        Upper bound of b.
    """

    def loss(log_power: float) -> float:
        return -float(log_likelihoods(np.exp(log_power) * scores, evidence).sum())

    powers = np.linspace(np.log(MIN_POWER), np.log(max_power), N_POWERS)
    best = int(np.argmin([loss(power) for power in powers]))
    bounds = (powers[max(best - 1, 0)], powers[min(best + 1, N_POWERS - 1)])
    power = float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4}).x))
    return softmax(power * scores), power


def answer_power(log_likelihood: Floats, proba: Floats) -> float:
    """Return the power a of the likelihood of the answers.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n, K)
        log w, of rows with answers.
    proba : ndarray of shape (n, K)
        p, held-out probabilities that are calibrated.
    """
    centered = log_likelihood - (proba * log_likelihood).sum(axis=1, keepdims=True)

    def loss(power: float) -> float:
        shifted = power * centered
        top = shifted.max(axis=1)
        return float((top + np.log(np.exp(shifted - top[:, None]).sum(axis=1))).sum())

    if not len(log_likelihood):
        return 1.0
    solution = minimize_scalar(loss, bounds=(MIN_ANSWER_POWER, 1.0), method="bounded", options={"xatol": 1e-4})
    return float(solution.x)
