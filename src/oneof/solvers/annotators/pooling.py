"""Priors of the sources at the mean of all of them: a source with few answers falls back on the mean.

The answers of a source to rows of one class are Dirichlet-multinomial with mean m and strength s. The prior counts for
s answers. The strength is common to all sources; it maximizes the likelihood of the counts by
the fixed point of Minka (2000), Estimating a Dirichlet distribution,

    s <- s sum_g m_a [digamma(c_ga + s m_a) - digamma(s m_a)] / sum_g [digamma(n_g + s) - digamma(s)],

where the sums are over groups of n_g answers, c_ga of them a, and over a. Entries with c_ga = 0 contribute nothing.
"""

import numpy as np
from scipy.special import digamma

from oneof.typing import Floats

MIN_STRENGTH, MAX_STRENGTH = 0.1, 1000.0


def update_strength(strength: float, counts: Floats, mean: Floats, totals: Floats) -> float:
    """Return the strength after one fixed-point step, within its limits.

    Parameters
    ----------
    strength : float
        s, above 0.
    counts, mean : ndarray of one shape
        c_ga, and the m_a of each entry, above 0.
    totals : ndarray
        n_g of all groups.
    """
    prior = strength * mean
    numerator = float((mean * (digamma(counts + prior) - digamma(prior))).sum())
    denominator = float((digamma(totals + strength) - digamma(strength)).sum())
    if denominator <= 0:
        return strength
    return float(np.clip(strength * numerator / denominator, MIN_STRENGTH, MAX_STRENGTH))


def update_beta_strength(strength: float, successes: Floats, totals: Floats, mean: float) -> float:
    """Return the strength of a Beta prior of success rates after one fixed-point step."""
    counts = np.stack([successes, totals - successes])
    means = np.array([[mean], [1.0 - mean]]) * np.ones_like(counts)
    return update_strength(strength, np.maximum(counts, 0.0), means, totals)


def pooled_rate(successes: Floats, totals: Floats) -> float:
    """Return the success rate of all sources, with one additional success and failure."""
    return float((successes.sum() + 1.0) / (totals.sum() + 2.0))


def unknown_rate(chance: float) -> float:
    """Return the accuracy that is assumed if nothing is known of it: the mean of its range, from chance to 1."""
    return (1.0 + chance) / 2.0
