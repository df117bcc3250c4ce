"""The loop: rows are predicted without their own labels, and what is predicted within a set becomes the label.

Each round works out F = LOO(P), the predictions of every row as if it had been left out, and

    P_ik  <-  S_ik max(F_ik, 1e-6)^2 c_ik,  rows scaled to sum 1,

with the corrections c of `oneof.solvers.loo_ridge.distractors`. A row never vouches for itself, so that P does not
settle on the first guess; the square makes the labels clearer from round to round. Exact rows keep their label.
"""

from dataclasses import dataclass

import numpy as np

from oneof.likelihoods import restrict, uniform
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import Distractors
from oneof.solvers.loo_ridge.left_out import Dual, Ridge
from oneof.typing import Floats, Mask

LEAST_CLAIM = 1e-6
"""Predictions of 0 and below count as this."""
CLAIM_POWER = 2
"""To which predictions are taken."""


@dataclass(frozen=True)
class LOORidgeSolution:
    """Where the rounds ended."""

    shares: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    scores: Floats
    """LOO(P), (n, K)."""
    odds: Floats
    """(K,): how little a class needs to be explained as a distractor, at the end; see `Correction`."""
    dual: Dual
    """The function fitted to P on all rows."""
    exponents: Floats
    """(n_rounds,): tau in each round."""
    changes: Floats
    """(n_rounds,): the mean over the rows of sum_k |P_ik - P_ik before| / 2 in each round."""
    cover: float
    """Share of the rows with a label, or some, whose largest left-out score, of all classes, lies in their set."""

    @property
    def exponent(self) -> float:
        """Tau at the end; 0 if there was no round."""
        return float(self.exponents[-1]) if len(self.exponents) else 0.0


def solve_loo_ridge(
    ridge: Ridge, sets: CandidateGroups, distractors: Distractors, *, n_rounds: int = 25, initial: Floats | None = None
) -> LOORidgeSolution:
    """Run the rounds.

    Parameters
    ----------
    ridge : Ridge
        On the rows of the sets.
    sets : CandidateGroups
    distractors : Distractors
    n_rounds : int
        At least 0. If all rows are exact there is nothing to do, and no round is made.
    initial : ndarray of shape (n, K), optional
        The start, in place of equal shares.

    Returns
    -------
    LOORidgeSolution
    """
    mask = sets.mask
    shares = np.asarray(uniform(mask) if initial is None else initial, dtype=np.float64)
    odds: Floats = np.ones(mask.shape[1])
    exponents: list[float] = []
    changes: list[float] = []
    for t in range(n_rounds if (sets.sizes > 1).any() else 0):
        claims = restrict(np.maximum(ridge.left_out(shares), LEAST_CLAIM) ** CLAIM_POWER, mask)
        found = distractors.correction(claims, shares, sets, t)
        new, odds = restrict(claims * found.factors, mask), found.odds
        exponents.append(found.exponent)
        changes.append(float(np.abs(new - shares).sum(axis=1).mean() / 2.0))
        shares = new
    scores = ridge.left_out(shares)
    return LOORidgeSolution(
        shares=shares,
        scores=scores,
        odds=odds,
        dual=ridge.fitted(shares),
        exponents=np.array(exponents),
        changes=np.array(changes),
        cover=covered(scores[~sets.unlabelled], mask[~sets.unlabelled]),
    )


def covered(scores: Floats, mask: Mask) -> float:
    """Return the share of rows whose largest score lies in their set."""
    return float(mask[np.arange(len(mask)), scores.argmax(axis=1)].mean())
