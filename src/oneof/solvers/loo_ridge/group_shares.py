"""Class shares of the groups of rows with the identical set, and the likelihood of the rows under them.

In group S the class shares pi_S are drawn from Dirichlet(alpha b_S), b_Sk ~ m_k^(1 - tau) within S. Here m_k is the
fraction of class k among all rows. A row of the group has class k with probability pi_Sk, and its features have the
density ratio r_ik = p(k | x_i) / m_k. p(k | x_i) is the softmax of b times predictions *without any row of its group*,
so that rows with the same set cannot confirm their common labels. (Of more than 400 rows with the same set, about 400
are left out together.)

tau = 0 are the frequencies of the classes, tau = 1 equal shares. A large concentration alpha gives all groups these
shares, as in scenes or with random distractors. With a small alpha, the shares of a group differ strongly from them:
one candidate of a set is the label of nearly all its rows, as in dictionaries and rules.

The marginal likelihood of the rows is bounded from below by variational Bayes, as in Blei, Ng & Jordan, Latent
Dirichlet allocation, JMLR 3, 2003, without the estimation of topics. With gamma_S = alpha b_S + sum_{i in S} q_i,

    q_ik ~ r_ik exp(psi(gamma_Sk) - psi(sum_j gamma_Sj)),

    log p >= sum_i log sum_k r_ik exp(psi(gamma_Sk) - psi(sum_j gamma_Sj)) - sum_S KL(Dir(gamma_S) || Dir(alpha b_S)).

If the candidates have weights, r_ik is multiplied by w_ik, the likelihood of the weights of row i under class k. The
predictions do not depend on the evidence of the row.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from oneof.likelihoods import softmax
from oneof.solvers.loo_ridge.calibration import fit_inverse_temperature
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.typing import Floats

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Grid of tau."""
CONCENTRATIONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 1000.0)
"""Grid of alpha."""
N_VARIATIONAL_ITER = 6
"""Number of updates of the shares for each alpha, from those of the previous alpha."""
CLASS_PRIOR = 0.5
"""Pseudo-count of each class."""
MAX_INVERSE_TEMPERATURE = 100.0
"""Upper bound of b."""
MIN_PROBABILITY = 1e-4
"""Lower bound of p(k | x)."""


@dataclass(frozen=True)
class GroupShares:
    """Fitted class shares of the groups."""

    log_likelihood: Floats
    """(n,): contributions of the rows to the bound; the divergence of a group is divided among its rows."""
    exponent: float
    """tau"""
    concentration: float
    """alpha"""
    information: float
    """Mean over the rows of sum_k p(k | x) log(p(k | x) / m_k), in nats: 0 for uninformative predictions."""


def fit_group_shares(label_distributions: Floats, scores: Floats, sets: CandidateGroups) -> GroupShares:
    """Return the tau and alpha with the largest bound of the likelihood.

    Parameters
    ----------
    label_distributions : ndarray of shape (n, K)
        P, for the fractions m_k of the classes.
    scores : ndarray of shape (n, K)
        Predictions without the rows of the group.
    sets : CandidateGroups
    """
    n, K = label_distributions.shape
    frequency = (label_distributions.sum(axis=0) + CLASS_PRIOR) / (n + CLASS_PRIOR * K)
    b = min(fit_inverse_temperature(scores, label_distributions), MAX_INVERSE_TEMPERATURE)
    proba = np.maximum(softmax(b * scores), MIN_PROBABILITY)
    information = float((proba * np.log(proba / frequency)).sum(axis=1).mean())
    ratios = sets.weigh(sets.values(proba / frequency))
    groups = CandidateGroups(sets.distinct, np.arange(len(sets.distinct)))
    n_rows = np.bincount(sets.group).astype(np.float64)
    best: GroupShares | None = None
    for tau in EXPONENTS:
        base = groups.normalize(frequency[groups.classes] ** (1.0 - tau))
        counts: Floats = n_rows[groups.rows] * base
        for alpha in CONCENTRATIONS[::-1]:
            prior = alpha * base
            for _ in range(N_VARIATIONAL_ITER):
                weighted = ratios * np.exp(_log_shares(prior + counts, groups))[sets.group_pairs]
                counts = np.bincount(sets.group_pairs, sets.normalize(weighted)).astype(np.float64, copy=False)
            posterior = prior + counts
            log_shares = _log_shares(posterior, groups)
            divergence = (
                gammaln(groups.row_sums(posterior))
                - gammaln(alpha)
                + groups.row_sums(gammaln(prior) - gammaln(posterior) + counts * log_shares)
            )
            rows = np.log(sets.row_sums(ratios * np.exp(log_shares)[sets.group_pairs]))
            rows -= (divergence / n_rows)[sets.group]
            if best is None or rows.mean() > best.log_likelihood.mean():
                best = GroupShares(rows, tau, alpha, information)
    assert best is not None
    return best


def _log_shares(posterior: Floats, groups: CandidateGroups) -> Floats:
    """Return E[log pi] under Dirichlet distributions."""
    return digamma(posterior) - digamma(groups.row_sums(posterior))[groups.rows]
