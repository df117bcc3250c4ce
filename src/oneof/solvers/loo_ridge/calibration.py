"""Calibration: the inverse temperature of the softmax, fitted to the labels by leave-one-out scores.

p_k = exp(b f_k) / sum_j exp(b f_j), with the b that maximizes the expected log-likelihood of the labels P,

    sum_i sum_k t_ik log p_ik,    t_ik = (1 - e) P_ik + e (1 - P_ik) / (K - 1),    e = 1 / (n + 2).

It is concave in b. Without e, labels that are all predicted correctly would have no finite b. With e, each of n labels
is correct with probability (n + 1) / (n + 2), as if one of two additional rows were an error (Platt, Probabilistic
outputs for support vector machines, 1999).

The evidence of a row, its set or its weights, enters P only. The scores, and so p, do not depend on it, since they omit
the label of the row. With t_ik ~ w_ik p_ik this is the M-step of EM for the likelihood sum_i log sum_k w_ik p_ik, in
which the weights of a row count once.
"""

import numpy as np
from scipy.optimize import brentq

from oneof.likelihoods import softmax
from oneof.typing import Floats

MIN_INVERSE_TEMPERATURE, MAX_INVERSE_TEMPERATURE = 0.1, 1000.0
MAX_CALIBRATION_ROWS = 20_000
"""Number of rows, evenly spaced, on which the temperature is fitted."""


def fit_inverse_temperature(scores: Floats, label_distributions: Floats) -> float:
    """Return b, between .1 and 1,000; without rows or with a single class, 1.

    The result is a root of the derivative, accurate to rounding.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Leave-one-out scores of labeled rows.
    label_distributions : ndarray of shape (n, K)
        P, rows sum to 1.
    """
    step = max(1, -(-len(scores) // MAX_CALIBRATION_ROWS))
    scores, P = scores[::step], label_distributions[::step]
    n, K = scores.shape
    if n == 0 or K == 1:
        return 1.0
    e = 1.0 / (n + 2.0)
    targets = (1.0 - e) * P + e * (1.0 - P) / (K - 1)

    def derivative(log_b: float) -> float:
        return float(((targets - softmax(np.exp(log_b) * scores)) * scores).sum())

    low, high = np.log(MIN_INVERSE_TEMPERATURE), np.log(MAX_INVERSE_TEMPERATURE)
    if not derivative(low) > 0.0 > derivative(high):
        return MIN_INVERSE_TEMPERATURE if derivative(low) <= 0.0 else MAX_INVERSE_TEMPERATURE
    return float(np.exp(brentq(derivative, low, high, xtol=1e-13, rtol=1e-14)))
