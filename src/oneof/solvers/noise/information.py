"""Information of held-out predictions about the sets given, which decides whether a noise rate can be estimated.

Predictions that are often wrong and labels that are often wrong give the same data. The rate is identified by confident
predictions, and there are few of them if the features are weak. The gain of a row is the log-likelihood of its set by
the fitted model of noise, which is calibrated for the labels given, minus that by the class frequencies.

Let H be the entropy of the class frequencies, and q = exp(-H). Perfect predictions of exact labels of which a fraction
e is wrong have the mean gain of the Kullback-Leibler divergence of (1 - e, e) and (q, 1 - q), which is a share of H.
Weak predictions have less than half of this share for e = 0.2. The share of sets and weights is that of their
log-likelihood by the class frequencies.
"""

import numpy as np

from oneof.likelihoods import uniform_within_sets
from oneof.typing import Evidence, Floats

MIN_SHARE, REFERENCE_RATE = 0.5, 0.2
"""Smallest mean gain, as a share of that of perfect predictions of labels with this noise rate."""
N_STANDARD_ERRORS = 2.0
"""Predictions are better than the class frequencies if the sum of the gains exceeds 0 by this."""


def information_gains(likelihood: Floats, evidence: Evidence) -> tuple[Floats, float]:
    """Return the gain of each row, (n,), and the smallest mean gain with which a noise rate can be estimated.

    Parameters
    ----------
    likelihood : ndarray of shape (n,)
        The likelihoods of the sets, as in `NoiseSolution`.
    evidence : ndarray of shape (n, K)
        A mask, or weights.
    """
    tiny = np.finfo(np.float64).tiny
    frequencies = uniform_within_sets(evidence).mean(axis=0)
    by_frequencies = np.log((evidence * frequencies).sum(axis=1))
    entropy = -float((frequencies * np.log(np.maximum(frequencies, tiny))).sum())
    e, q = REFERENCE_RATE, min(float(np.exp(-entropy)), 1.0 - REFERENCE_RATE)
    perfect = (1.0 - e) * np.log((1.0 - e) / q) + e * np.log(e / (1.0 - q))
    min_gain = -MIN_SHARE * perfect * by_frequencies.mean() / max(entropy, tiny)
    return np.asarray(np.log(likelihood) - by_frequencies), float(min_gain)


def is_better_than_frequencies(gains: Floats) -> bool:
    """Return whether the sum of the gains is above 0 by some standard errors."""
    return bool(gains.sum() > N_STANDARD_ERRORS * np.sqrt((gains**2).sum()))
