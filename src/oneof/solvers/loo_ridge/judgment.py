"""Which account of the false candidates to believe, and how far: judged by what sets foretell, without a true label.

Three loops end in three sets of labels. Those of scenes and of confusion are each compared with those of even
distractors, by the standard score z of the difference of their gains (`oneof.solvers.loo_ridge.foretelling`), and

    P = w P_scene + (1 - w) N,  w = T(z(scene, even)),  N = P_confused if z(confused, even) > 1, otherwise P_even,

where T is the distribution function of Student's t, with one degree of freedom less than there are different sets: what
few sets say is not much. The scenes' gain is that of their loop with claims as they are, where it is less noisy than
with claims squared. Labels of confusion that hardly differ from the even ones are the even ones.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtr

from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.class_mass import with_class_mass
from oneof.solvers.loo_ridge.confusion import ConfusedDistractors
from oneof.solvers.loo_ridge.distractors import Distractors, EvenDistractors, SceneDistractors
from oneof.solvers.loo_ridge.foretelling import gains, standard_score
from oneof.solvers.loo_ridge.left_out import LeavesOut
from oneof.solvers.loo_ridge.rounds import Rounds, run_rounds
from oneof.typing import Floats

Account = Literal["uniform", "scene", "confusion"]
ACCOUNTS: tuple[Account, ...] = get_args(Account)

LEAST_CONFUSION = 1.0
"""Standard score above which confusion is believed."""
LEAST_MOVE = 0.01
"""Share of label mass that confusion has to move, to be told from even distractors."""
LEAST_SCENE = 1e-3
"""Share of the scenes below which it is none, and their loop is spared."""


@dataclass(frozen=True)
class Judgment:
    """Labels, and whose they are."""

    shares: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    parts: dict[Account, float]
    """The part of each account in P; they sum to 1."""
    evidence: dict[Account, float]
    """Standard scores of scenes and confusion against even distractors; empty where nothing was compared."""
    changes: Floats
    """(max_iter,): of the loop with the largest part, see `Rounds`."""


def judged_labels(
    ridge: LeavesOut, sets: CandidateGroups, *, max_iter: int, account: Account | None = None
) -> Judgment:
    """Run the loops and mix what they found.

    Parameters
    ----------
    ridge : LeavesOut
        On the rows of the sets.
    sets : CandidateGroups
    account : {"uniform", "scene", "confusion"}, optional
        How false candidates arise, where that is known; then its loop is run alone.
    max_iter : int
        Of each loop, at least 0.
    """

    def loop(distractors: Distractors) -> Rounds:
        return run_rounds(ridge, sets, with_class_mass(distractors, sets), max_iter=max_iter)

    if account is None and not sets.partial.any():
        account = "uniform"  # there is no false candidate to account for
    if account is not None:
        known: dict[Account, Distractors] = {
            "uniform": EvenDistractors(),
            "scene": SceneDistractors(),
            "confusion": ConfusedDistractors(),
        }
        found = loop(known[account])
        return Judgment(found.shares, dict.fromkeys(ACCOUNTS, 0.0) | {account: 1.0}, {}, found.changes)

    even, confused, scene = loop(EvenDistractors()), loop(ConfusedDistractors()), loop(SceneDistractors(claim_power=1))
    told = ~sets.unlabeled
    labeled = sets.of_rows(told)

    def gain(found: Rounds) -> Floats:
        return gains(found.shares[told], ridge.left_out(found.shares)[told], labeled)

    basis = gain(even)
    evidence: dict[Account, float] = {
        "scene": standard_score(gain(scene) - basis, labeled),
        "confusion": standard_score(gain(confused) - basis, labeled),
    }
    moved = float(np.abs(confused.shares - even.shares).sum(axis=1).mean() / 2.0)
    noise: Account = "uniform"
    if evidence["confusion"] > LEAST_CONFUSION and moved > LEAST_MOVE:
        noise = "confusion"
    n_sets = len(labeled.distinct)
    w = float(stdtr(n_sets - 1, evidence["scene"])) if n_sets > 1 else 0.0
    found, other = confused if noise == "confusion" else even, 1.0
    shares, changes = found.shares, found.changes
    if w >= LEAST_SCENE:
        scene, other = loop(SceneDistractors()), 1.0 - w
        shares = w * scene.shares + other * shares
        changes = scene.changes if w > other else changes
    parts = dict.fromkeys(ACCOUNTS, 0.0) | {"scene": 1.0 - other, noise: other}
    return Judgment(shares, parts, evidence, changes)
