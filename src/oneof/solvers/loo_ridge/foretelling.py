"""How much better rows are foretold once their candidate sets are known: the judge between accounts of distractors.

With labels P and predictions F without the row's own label, R = max(F, .001) scaled to rows that sum to 1, p_k the
share of class k, and rho_ik the share of class k among the other rows of the identical set,

    gain_i = log sum_{k in S_i} rho_ik R_ik / p_k

estimates log p(x_i | S_i) - log p(x_i). A set that is likelier because its labels are frequent earns nothing, as the
predictions are divided by p; and labels that fell together lose, as one class then has to look like several.
"""

import numpy as np

from oneof.likelihoods import normalize_within_sets
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.typing import Floats

LEAST_PREDICTION = 1e-3
"""Below which predictions count as this."""
GROUP_PRIOR = 4.0
"""Rows' worth of the classes' shares that each group's are mixed with."""
CLASS_PRIOR = 0.5
"""Rows that each class has beforehand."""


def gains(shares: Floats, scores: Floats, sets: CandidateGroups) -> Floats:
    """Return gain_i, (n,), of labels P and left-out predictions F.

    Parameters
    ----------
    shares, scores : ndarray of shape (n, K)
    sets : CandidateGroups
        Of rows that have a label, or some.
    """
    n, K = shares.shape
    frequency = (shares.sum(axis=0) + CLASS_PRIOR) / (n + CLASS_PRIOR * K)
    prediction = np.maximum(scores, LEAST_PREDICTION)
    prediction /= prediction.sum(axis=1, keepdims=True)
    prior = GROUP_PRIOR * normalize_within_sets(np.broadcast_to(frequency, shares.shape), sets.mask)
    among = (sets.sums(shares) - shares + prior) / (sets.row_counts[:, None] - 1.0 + GROUP_PRIOR)
    return np.log((np.where(sets.mask, among, 0.0) * prediction / frequency).sum(axis=1))


def standard_score(differences: Floats, sets: CandidateGroups) -> float:
    """Return the mean of (n,) differences over its standard error, where the rows of one set are one draw.

    It is 0 where the error is.
    """
    mean = differences.mean()
    error = np.sqrt((sets.totals(differences - mean) ** 2).sum()) / len(differences)
    return float(mean / error) if error > 1e-12 * (1.0 + abs(mean)) else 0.0
