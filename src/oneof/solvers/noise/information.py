"""Information of held-out predictions about the sets given, which decides whether a noise rate can be estimated.

Predictions that are often wrong and labels that are often wrong give the same data. The rate is identified by confident
predictions, and there are few of them if the features are weak. The predictions are therefore calibrated without noise
(e = 0, b free) and compared with the class frequencies: the gain of a row is the difference of the log-likelihoods.

Let q be the geometric mean of the probabilities of the sets by the class frequencies. Perfect predictions of sets of
which a fraction e is wrong have the mean gain of the Kullback-Leibler divergence of (1 - e, e) and (q, 1 - q). Weak
predictions have less than half of it for e = 0.2.
"""

import numpy as np

from oneof.likelihoods import uniform_within_sets
from oneof.solvers.noise.em import NoiseModel, NoiseProblem, sample_rows
from oneof.solvers.noise.wrong_sets import uniform_confusion
from oneof.typing import Evidence, Floats

MIN_SHARE, REFERENCE_RATE = 0.5, 0.2
"""Smallest mean gain, as a share of that of perfect predictions of sets with this noise rate."""
N_STANDARD_ERRORS = 2.0
"""Predictions are better than the class frequencies if the sum of the gains exceeds 0 by this."""
MAX_ITER, TOL, MAX_ROWS = 100, 1e-4, 10_000
"""Limit and tolerance of the fit of b, and its number of rows."""


def information_gains(scores: Floats, evidence: Evidence, seed: int = 0) -> tuple[Floats, float]:
    """Return the gain of each row, (n,), and the smallest mean gain with which a noise rate can be estimated.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Held-out scores of which the softmax is taken.
    evidence : ndarray of shape (n, K)
        A mask, or weights.
    seed : int
        Seed of the choice of the rows if there are more than `MAX_ROWS`.
    """
    n, K = scores.shape
    group = np.zeros(n, dtype=np.int64)
    rows = sample_rows(n, MAX_ROWS, seed)
    start = NoiseModel(1.0, np.zeros(1), uniform_confusion(K))
    model = NoiseProblem.of(scores[rows], evidence[rows], group[rows], 1).run(start, MAX_ITER, TOL, 0.0).model
    likelihood = np.maximum((model.predict(scores) * evidence).sum(axis=1), np.finfo(np.float64).tiny)
    by_frequencies = np.log((evidence * uniform_within_sets(evidence).mean(axis=0)).sum(axis=1))
    e, q = REFERENCE_RATE, min(float(np.exp(by_frequencies.mean())), 1.0 - REFERENCE_RATE)
    perfect = (1.0 - e) * np.log((1.0 - e) / q) + e * np.log(e / (1.0 - q))
    return np.log(likelihood) - by_frequencies, float(MIN_SHARE * perfect)


def is_better_than_frequencies(gains: Floats) -> bool:
    """Return whether the sum of the gains is above 0 by some standard errors."""
    return bool(gains.sum() > N_STANDARD_ERRORS * np.sqrt((gains**2).sum()))
