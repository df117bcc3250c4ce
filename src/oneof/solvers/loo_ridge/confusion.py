"""False candidates that annotators take for the truth: one rate for each pair of classes.

C_kj is the probability that class j stands beside the truth k in a row of several candidates. Of N_kj such rows among
m_k, both counted with soft labels, it is estimated as (N_kj + t q) / (m_k + t): the rates of all pairs are shrunk
toward one common rate q, with a strength t under which the counts are likeliest. Evenly drawn candidates have a large
t, and C is then q throughout.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from oneof.solvers.loo_ridge.distractors import Round
from oneof.typing import Floats, Mask

STRENGTHS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1e4])
"""Among which t is sought."""
LEAST_RATE = 1e-4
"""Rates are kept so far from 0 and 1."""
RATE_POWER = 0.5
"""Share of the correction that is made in a round."""
WARM_UP = 5
"""Rounds before the first correction, in which labels become worth counting."""


@dataclass(frozen=True)
class ConfusedDistractors:
    """Each class has its own distractors."""

    def corrected(self, now: Round) -> Floats:
        """Return F prod_{j != k} (C_kj if j in S, otherwise 1 - C_kj)^(1/2); rows without a label keep their claims."""
        claims, sets = now.claims, now.sets
        if now.n_done < WARM_UP or not sets.partial.any():
            return claims
        rates = confusion_rates(now.shares[sets.partial], sets.mask[sets.partial])
        absent = np.log1p(-rates)
        beside = np.log(rates) - absent
        for logs in (absent, beside):
            np.fill_diagonal(logs, 0.0)
        evidence = sets.distinct @ beside.T + absent.sum(axis=1)
        evidence = np.where(sets.distinct, evidence, -np.inf)
        evidence -= evidence.max(axis=1, keepdims=True)
        factors = np.exp(RATE_POWER * evidence)[sets.group]
        return np.where(sets.unlabeled[:, None], claims, claims * factors)


def confusion_rates(shares: Floats, mask: Mask) -> Floats:
    """Return C, (K, K), whose diagonal means nothing, from the labels and sets of rows of several candidates."""
    n, K = mask.shape
    count, true = shares.T @ mask, shares.sum(axis=0)
    q = float(np.clip((mask.sum() - n) / (n * (K - 1)), 1e-6, 1.0 - 1e-6))
    t = _likeliest_strength(count, true, q)
    return np.clip((count + t * q) / (true[:, None] + t), LEAST_RATE, 1.0 - LEAST_RATE)


def _likeliest_strength(count: Floats, true: Floats, q: float) -> float:
    """Return the t of the largest beta-binomial likelihood of N_kj of m_k, j != k."""
    others = ~np.eye(len(true), dtype=bool)
    rows = np.broadcast_to(true[:, None], count.shape)[others]
    held = np.minimum(count[others], rows)  # more by rounding alone
    values = [
        (betaln(held + t * q, rows - held + t * (1.0 - q)) - betaln(t * q, t * (1.0 - q))).sum() for t in STRENGTHS
    ]
    return float(STRENGTHS[int(np.argmax(values))])
