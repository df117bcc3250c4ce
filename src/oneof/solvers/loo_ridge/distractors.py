"""How false candidates arise, and what that makes of a row's claims: the one place that knows it.

By Bayes' rule, if class j gets into a set as a false candidate with probability q_j, whatever the row,

    p(y = k | S, x)  ~  p(k | x) / q_k    within the set S,

since k has to be explained as the truth and the others as distractors. Here q_k ~ M_k^tau, with M_k how many rows are
of class k: distractors drawn evenly have tau = 0, and the sets "whatever else is in this scene" tau near 1, where
common labels are common distractors.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oneof.likelihoods import restrict
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.typing import Floats

CLASS_POWER = 0.5
"""Share of the correction by class that is made in a round: the scores of rare classes are noisy."""
GROUP_POWER = 0.25
"""Share of the correction by group that is made in each of its turns."""
GROUP_TURNS = 3
WARM_UP = 10
"""Rounds at tau = 1 before it is fitted: started lower, it stays in poorer fixed points."""


@dataclass(frozen=True)
class Correction:
    """What the rows' claims are to be multiplied with."""

    factors: Floats
    """(n, K), above 0; what is the same for a row's candidates does not matter."""
    odds: Floats
    """(K,): 1 / q_k but for a factor, with which a candidate counts in the likelihood of a set."""
    exponent: float
    """tau."""


class Distractors(Protocol):
    """How false candidates arise."""

    def correction(self, claims: Floats, shares: Floats, sets: CandidateGroups, n_done: int) -> Correction:
        """Return the factors of a round.

        Parameters
        ----------
        claims : ndarray of shape (n, K)
            What the rows say of their labels without a look at how sets arise; 0 outside the sets, rows sum to 1.
        shares : ndarray of shape (n, K)
            P at the start of the round.
        sets : CandidateGroups
        n_done : int
            Rounds before this one.
        """


@dataclass(frozen=True)
class CommonDistractors:
    """Common labels are common distractors, to the power tau; rows of one set share its labels out among themselves.

    A scene's labels are the truths of its rows, so that in a group of rows with the identical set each candidate
    should be the truth of some: to the power tau / 4, in three turns, the groups' sums are moved towards equal shares.
    """

    exponent: float | None = None
    """tau, from 0 to 1; None fits it in each round."""
    warm_up: int = WARM_UP
    """Rounds before it is fitted."""

    def correction(self, claims: Floats, shares: Floats, sets: CandidateGroups, n_done: int) -> Correction:
        """Return the factors M_k^(-tau/2) and those of the groups."""
        tau = self._exponent(shares, sets, n_done)
        odds = (shares.sum(axis=0) + 1.0) ** -tau
        if tau == 0.0:
            return Correction(np.ones_like(claims), odds, tau)
        factors = np.broadcast_to(odds**CLASS_POWER, claims.shape).copy()
        for _ in range(GROUP_TURNS):
            now = sets.sums(restrict(claims * factors, sets.mask))
            factors *= ((sets.equal_shares + 1.0) / (now + 1.0)) ** (GROUP_POWER * tau)
        factors[sets.unlabelled] = 1.0  # the label is missing, and nothing was mistaken for it
        return Correction(factors, odds, tau)

    def _exponent(self, shares: Floats, sets: CandidateGroups, n_done: int) -> float:
        if not sets.partial.any():
            return 0.0
        if self.exponent is not None:
            return self.exponent
        return 1.0 if n_done < self.warm_up else fitted_exponent(shares, sets)


def fitted_exponent(shares: Floats, sets: CandidateGroups) -> float:
    """Return tau, from 0 to 1: the slope of log q_k on log M_k, weighted by the root of how many sets hold k.

    Both are counted in rows of several candidates alone: exact rows never show a distractor. q_k is the share of rows
    of other classes whose set holds k, each count taken one higher.
    """
    mask, true = sets.mask[sets.partial], shares[sets.partial].sum(axis=0)
    n, named = len(mask), mask.sum(axis=0)
    weight = np.sqrt(named)
    if n == 0:
        return 0.0
    x = np.log(true + 1.0)
    q = np.log((named - true + 1.0) / (n - true + 1.0))
    x -= weight @ x / weight.sum()
    spread = weight @ x**2
    if spread <= 1e-12 * weight.sum():  # classes are equally frequent: no slope can be told
        return 0.0
    return float(np.clip(weight @ (x * q) / spread, 0.0, 1.0))
