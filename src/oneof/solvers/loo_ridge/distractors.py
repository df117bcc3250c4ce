"""How false candidates arise, and what rows that are predicted without their labels then say of them.

By Bayes' rule, if class j gets into the set of a row of class k as a false candidate with probability q_kj,

    p(y = k | S, x)  ~  p(k | x) prod_{j != k} (q_kj if j in S, otherwise 1 - q_kj)    within the set S.

Evenly drawn candidates leave p(k | x) as it is. In the sets "whatever else is in this scene", common labels are common
distractors, q_kj ~ M_j, the number of rows of class j, so that the product goes with 1 / M_k. For annotators who take
one class for another see `oneof.solvers.loo_ridge.confusion`.
"""

from dataclasses import dataclass
from typing import Protocol

from oneof.likelihoods import normalize_within_sets
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.typing import Floats

CLASS_POWER = 0.5
"""Share of the correction by class that is made in a round: the predictions of rare classes are noisy."""
GROUP_POWER = 0.25
"""Share of the correction by group that is made in each of its turns."""
GROUP_TURNS = 3


@dataclass(frozen=True)
class Round:
    """What a round starts from."""

    claims: Floats
    """(n, K): the rows as predicted without their own labels, above 0."""
    shares: Floats
    """(n, K): their labels P."""
    sets: CandidateGroups
    n_done: int
    """Rounds before this one."""


class Distractors(Protocol):
    """How false candidates arise."""

    def corrected(self, now: Round) -> Floats:
        """Return the (n, K) labels after a round, but for what the sets exclude and for the scale of each row."""


@dataclass(frozen=True)
class EvenDistractors:
    """Every class is as likely a false candidate as any other."""

    def corrected(self, now: Round) -> Floats:
        """Return the claims as they are."""
        return now.claims


@dataclass(frozen=True)
class SceneDistractors:
    """Sets hold the labels of all that is in one scene.

    Common labels are then common distractors; and as a scene's labels are the truths of its rows, in a group of rows
    with the identical set each candidate should be the truth of some: in three turns, the groups' sums are moved a
    quarter of the way toward equal shares. Rows without a label are in no scene: they are not counted, and keep their
    claims.
    """

    claim_power: int = 2
    """To which the claims are taken; 2 makes labels clearer from round to round."""

    def corrected(self, now: Round) -> Floats:
        """Return F^b M^(-1/2), with the sums of groups moved."""
        powers, sets = now.claims**self.claim_power, now.sets
        labels = powers * (now.shares[~sets.unlabeled].sum(axis=0) + 1.0) ** -CLASS_POWER
        for _ in range(GROUP_TURNS):
            have = sets.sums(normalize_within_sets(labels, sets.mask))
            labels *= ((sets.equal_shares + 1.0) / (have + 1.0)) ** GROUP_POWER
        labels[sets.unlabeled] = powers[sets.unlabeled]
        return labels
