"""Rows without a label that join the loop, kept to the class frequencies of the others."""

from dataclasses import dataclass

import numpy as np

from oneof.likelihoods import restrict
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import Correction, Distractors
from oneof.typing import Floats

_TURNS = 3


@dataclass(frozen=True)
class ClassMass:
    """Multiplies the claims of unlabelled rows so that each class has the part of them that it has of the others.

    Without that, common classes draw more and more of the rows to themselves. In each turn a class's factor grows by
    (what it should have + 1) / (what it has + 1).
    """

    distractors: Distractors
    """For the other rows."""

    def correction(self, claims: Floats, shares: Floats, sets: CandidateGroups, n_done: int) -> Correction:
        """Return the factors of a round."""
        found, free = self.distractors.correction(claims, shares, sets, n_done), sets.unlabelled
        told = restrict(claims * found.factors, sets.mask)[~free].sum(axis=0)
        wanted, mass = told * (free.sum() / told.sum()), np.ones(len(told))
        for _ in range(_TURNS):
            mass *= (wanted + 1.0) / (restrict(claims[free] * mass, sets.mask[free]).sum(axis=0) + 1.0)
        return Correction(np.where(free[:, None], mass, found.factors), found.odds, found.exponent)
