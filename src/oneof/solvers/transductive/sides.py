"""Candidate sets as problems of one class against the others."""

import numpy as np

from oneof.likelihoods import uniform_within_sets
from oneof.solvers.transductive.annealing import Sides
from oneof.typing import Floats, Mask


def sides_of(mask: Mask, k: int, positive_fraction: float | None = None) -> Sides:
    """Return what candidate sets say of class k: S = {k} is positive, S without k negative, any other S unlabeled.

    The share p of positive rows among the unlabeled is, unless it is given, the mean of q_i = 1[k in S_i] / |S_i| over
    the rows that are not full; num_+ = floor(p * unlabeled + 1/2).

    Where no row is positive, or none negative, a machine of the labeled rows ranks nothing. The unlabeled rows are
    then ranked by the scores <mu_1 - mu_0, Phi(x)>, in which mu_1 is the mean of the rows that are not full weighted
    by q_i, and mu_0 that weighted by 1 - q_i; a mean of no weight is left out.

    Parameters
    ----------
    mask : ndarray of shape (n, K), bool
        Not all of its rows full.
    k : int
    positive_fraction : float, optional
        p, from 0 to 1.

    Returns
    -------
    Sides
    """
    told = ~mask.all(axis=1)
    positive, negative = mask[:, k] & (mask.sum(axis=1) == 1), ~mask[:, k]
    signs = positive.astype(np.float64) - negative
    share = np.where(told, uniform_within_sets(mask)[:, k], 0.0)
    p = float(share[told].mean()) if positive_fraction is None else positive_fraction
    n_unlabeled = int((signs == 0).sum())
    n_positive = min(int(np.floor(p * n_unlabeled + 0.5)), n_unlabeled)
    if positive.any() and negative.any():
        return Sides(signs, n_positive)
    ranking = _mean_of(share) - _mean_of(np.where(told, 1.0 - share, 0.0))
    return Sides(signs, n_positive, ranking)


def _mean_of(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total > 0 else weights
