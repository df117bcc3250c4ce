"""Self-training by leave-one-out prediction.

Each iteration computes F = LOO(P), the leave-one-out predictions of all rows, and

    P_ik  <-  w_ik c(max(F, 1e-6))_ik,  rows scaled to sum 1,

with the correction c of a distractor model, from P = w / sum w. The weights w of a set are 1 for its candidates and 0
for other classes. Since the label of a row does not enter its own prediction, P is not confined to the initial guess.
Exact rows keep their label, and only predictions inside the sets are computed.
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import Distractors, IterationState
from oneof.solvers.loo_ridge.loo_operators import PairPredictor
from oneof.typing import Floats

MIN_PREDICTION = 1e-6
"""Lower bound of the predictions in self-training."""


@dataclass(frozen=True)
class SelfTrainingResult:
    """Result of `self_train`."""

    label_distributions: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    changes: Floats
    """(number of iterations,): the mean over the rows of sum_k |P_ik - P_ik before| / 2 in each iteration."""


def self_train(
    predict: PairPredictor, sets: CandidateGroups, distractors: Distractors, *, max_iter: int, tol: float
) -> SelfTrainingResult:
    """Run self-training under one distractor model.

    Parameters
    ----------
    predict : callable
        `LOOPredictor.pair_predictor` of the sets.
    sets : CandidateGroups
    distractors : Distractors
    max_iter : int
        At least 0. If all rows are exact, no iteration is made.
    tol : float
        The iterations end when at most this fraction of the label mass changes.
    """
    P = sets.initial
    changes: list[float] = []
    for t in range(max_iter if (sets.sizes > 1).any() else 0):
        predictions = np.maximum(predict(P), MIN_PREDICTION)
        new = sets.normalize(distractors.update(IterationState(predictions, P, sets, t)))
        changes.append(float(np.abs(new - P).sum() / (2.0 * len(sets.mask))))
        P = new
        if changes[-1] <= tol:
            break
    return SelfTrainingResult(sets.to_dense(P), np.array(changes))
