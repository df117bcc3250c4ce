"""Recurrence of candidate sets: pairs of rows with the same set, compared with labels that occur independently.

If a set of m labels is drawn with independent labels of odds o_k, given its size, p(S) = prod_{k in S} o_k / e_m(o),
with e_m the elementary symmetric polynomial. Two such sets are then equal with the probability

    sum_S p(S)^2 = e_m(o_1^2, ..., o_K^2) / e_m(o_1, ..., o_K)^2.

The odds are those of the fractions of the sets that have each class: an approximation, with about .9 for random sets.
"""

import numpy as np

from oneof.typing import Floats, Mask

CLASS_PRIOR = 0.5
"""Pseudo-count of the sets with a class, and of those without it."""


def recurrence(mask: Mask) -> float:
    """Return (observed + 1) / (expected + 1) pairs of rows with the same set, among rows with two candidates or more.

    It is about 1 for random distractors, and larger if rows share their sets, as those of a scene, of a word in a
    dictionary, or of a rule. Sets of all classes are not counted.

    Parameters
    ----------
    mask : ndarray of shape (n, K)
    """
    K = mask.shape[1]
    sizes = mask.sum(axis=1)
    counted = (sizes > 1) & (sizes < K)
    if not counted.any():
        return 1.0
    sets, sizes = mask[counted], sizes[counted]
    n_with = sets.sum(axis=0) + CLASS_PRIOR
    log_odds = np.log(n_with / (len(sets) + 2.0 * CLASS_PRIOR - n_with))
    first, second = (_log_symmetric_polynomials(power * log_odds, int(sizes.max())) for power in (1.0, 2.0))
    n_of_size = np.bincount(sizes)
    m = np.flatnonzero(n_of_size)
    expected = float((_n_pairs(n_of_size[m]) * np.exp(second[m] - 2.0 * first[m])).sum())
    repeats = np.unique(np.packbits(sets, axis=1), axis=0, return_counts=True)[1]
    return (float(_n_pairs(repeats).sum()) + 1.0) / (expected + 1.0)


def _n_pairs(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    return counts * (counts - 1.0) / 2.0


def _log_symmetric_polynomials(log_values: Floats, degree: int) -> Floats:
    """Return the logarithms of e_0, ..., e_degree of positive values."""
    polynomials = np.full(degree + 1, -np.inf)
    polynomials[0] = 0.0
    for value in log_values:
        polynomials[1:] = np.logaddexp(polynomials[1:], polynomials[:-1] + value)
    return polynomials
