"""Which account of the false candidates to believe, and how far: judged by what sets foretell, without a true label.

Three loops end in three sets of labels. Those of scenes and of confusion are each compared with those of even
distractors, by the standard score z of the difference of their gains (`oneof.solvers.loo_ridge.foretelling`), and

    P = w P_scene + (1 - w) N,  w = Phi(z(scene, even)),  N = P_confused if z(confused, even) > 1, otherwise P_even.

The scenes' gain is that of their loop with claims as they are, where it is less noisy than with claims squared.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr

from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.class_mass import ClassMass
from oneof.solvers.loo_ridge.confusion import ConfusedDistractors
from oneof.solvers.loo_ridge.distractors import Distractors, EvenDistractors, SceneDistractors
from oneof.solvers.loo_ridge.foretelling import gains, standard_score
from oneof.solvers.loo_ridge.left_out import LeavesOut
from oneof.solvers.loo_ridge.rounds import Rounds, run_rounds
from oneof.typing import Floats

Account = Literal["uniform", "scene", "confusion"]

LEAST_CONFUSION = 1.0
"""Standard score above which confusion is believed."""
LEAST_SCENE = 1e-3
"""Share of the scenes below which it is none, and their loop is spared."""


@dataclass(frozen=True)
class Judgement:
    """Labels, and whose they are."""

    shares: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    parts: dict[Account, float]
    """The part of each account in P; they sum to 1."""
    evidence: dict[Account, float]
    """Standard scores of scenes and confusion against even distractors; empty where nothing was compared."""
    changes: Floats
    """(n_rounds,): of the loop with the largest part, see `Rounds`."""


def judged_labels(
    ridge: LeavesOut, sets: CandidateGroups, *, account: Account | None = None, n_rounds: int = 25
) -> Judgement:
    """Run the loops and mix what they found.

    Parameters
    ----------
    ridge : LeavesOut
        On the rows of the sets.
    sets : CandidateGroups
    account : {"uniform", "scene", "confusion"}, optional
        How false candidates arise, where that is known; then its loop is run alone.
    n_rounds : int
        Of each loop, at least 0.
    """

    def loop(distractors: Distractors) -> Rounds:
        if sets.unlabelled.any():
            distractors = ClassMass(distractors)
        return run_rounds(ridge, sets, distractors, n_rounds=n_rounds)

    if account is None and not sets.partial.any():
        account = "uniform"  # there is no false candidate to account for
    if account is not None:
        known: dict[Account, Distractors] = {
            "uniform": EvenDistractors(),
            "scene": SceneDistractors(),
            "confusion": ConfusedDistractors(),
        }
        found = loop(known[account])
        return Judgement(found.shares, {account: 1.0}, {}, found.changes)

    even, confused, scene = loop(EvenDistractors()), loop(ConfusedDistractors()), loop(SceneDistractors(claim_power=1))
    told = ~sets.unlabelled
    labelled = sets.of_rows(told)

    def gain(found: Rounds) -> Floats:
        return gains(found.shares[told], ridge.left_out(found.shares)[told], labelled)

    basis = gain(even)
    evidence: dict[Account, float] = {
        "scene": standard_score(gain(scene) - basis, labelled),
        "confusion": standard_score(gain(confused) - basis, labelled),
    }
    noise: Account = "confusion" if evidence["confusion"] > LEAST_CONFUSION else "uniform"
    loops = {noise: confused if noise == "confusion" else even}
    parts = {noise: 1.0}
    w = float(ndtr(evidence["scene"])) if evidence["scene"] != 0.0 else 0.0
    if w >= LEAST_SCENE:
        loops["scene"] = loop(SceneDistractors())
        parts = {noise: 1.0 - w, "scene": w}
    shares = np.sum([part * loops[name].shares for name, part in parts.items()], axis=0)
    return Judgement(shares, parts, evidence, loops[max(parts, key=lambda name: parts[name])].changes)
