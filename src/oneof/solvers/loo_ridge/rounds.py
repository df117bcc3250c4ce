"""The rounds: rows are predicted without their own labels, and what is predicted within a set becomes the label.

Each round works out F = LOO(P), the predictions of every row as if it had been left out, and

    P_ik  <-  S_ik c(max(F, 1e-6))_ik,  rows scaled to sum 1,

with the correction c of `oneof.solvers.loo_ridge.distractors`. A row never vouches for itself, so that P does not
settle on the first guess. Exact rows keep their label.
"""

from dataclasses import dataclass

import numpy as np

from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import Distractors, Round
from oneof.solvers.loo_ridge.left_out import LeavesOut
from oneof.typing import Floats

LEAST_CLAIM = 1e-6
"""Predictions of 0 and below count as this."""


@dataclass(frozen=True)
class Rounds:
    """Where the rounds ended."""

    shares: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    changes: Floats
    """(max_iter,): the mean over the rows of sum_k |P_ik - P_ik before| / 2 in each round."""


def run_rounds(ridge: LeavesOut, sets: CandidateGroups, distractors: Distractors, *, max_iter: int) -> Rounds:
    """Run the rounds.

    Parameters
    ----------
    ridge : LeavesOut
        On the rows of the sets.
    sets : CandidateGroups
    distractors : Distractors
    max_iter : int
        At least 0. If all rows are exact there is nothing to do, and no round is made.
    """
    mask = sets.mask
    shares = uniform_within_sets(mask)
    changes: list[float] = []
    for t in range(max_iter if (sets.sizes > 1).any() else 0):
        claims = np.maximum(ridge.left_out(shares), LEAST_CLAIM)
        new = normalize_within_sets(distractors.corrected(Round(claims, shares, sets, t)), mask)
        changes.append(float(np.abs(new - shares).sum(axis=1).mean() / 2.0))
        shares = new
    return Rounds(shares, np.array(changes))
