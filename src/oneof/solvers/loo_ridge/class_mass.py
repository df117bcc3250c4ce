"""Rows without a label that join the loop, kept to the class frequencies of the others."""

from dataclasses import dataclass

import numpy as np

from oneof.likelihoods import normalize_within_sets
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import Distractors, Round
from oneof.typing import Floats

_TURNS = 3
_CLAIM_POWER = 2


def with_class_mass(distractors: Distractors, sets: CandidateGroups) -> Distractors:
    """Return an account that is fit for rows without a label too, if there are any."""
    return ClassMass(distractors) if sets.unlabeled.any() else distractors


@dataclass(frozen=True)
class ClassMass:
    """Multiplies the claims of unlabeled rows so that each class has the part of them that it has of the others.

    Without that, common classes draw more and more of the rows to themselves. In each turn a class's factor grows by
    (what it should have + 1) / (what it has + 1). Their claims are squared, as those of scenes are: with many classes
    in each set, labels would else stay vague.
    """

    distractors: Distractors
    """For the other rows."""

    def corrected(self, now: Round) -> Floats:
        """Return the labels after a round, but for what the sets exclude and for the scale of each row."""
        sets = now.sets
        labels, free = self.distractors.corrected(now), sets.unlabeled
        told = normalize_within_sets(labels, sets.mask)[~free].sum(axis=0)
        wanted, mass = told * (free.sum() / told.sum()), np.ones(len(told))
        own = now.claims[free] ** _CLAIM_POWER
        for _ in range(_TURNS):
            mass *= (wanted + 1.0) / (normalize_within_sets(own * mass, sets.mask[free]).sum(axis=0) + 1.0)
        return np.where(free[:, None], now.claims**_CLAIM_POWER * mass, labels)
