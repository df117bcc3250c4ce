"""Self-training by leave-one-out prediction.

Each iteration computes F = LOO(P), the leave-one-out predictions of all rows, and

    P_ik  <-  w_ik c(max(F, 1e-6))_ik,  rows scaled to sum 1,

with the correction c of a distractor model, from P = w / sum w. The weights w of a set are 1 for its candidates and 0
for other classes. Since the label of a row does not enter its own prediction, P is not confined to the initial guess.
Exact rows keep their label, and only predictions inside the sets are computed. With a judge, the labels at the start
and after each iteration are mixed with its own.
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import N_WARM_UP_ITER, DistractorModel, IterationState, next_labels
from oneof.solvers.loo_ridge.loo_operators import LinearLOO, NystroemRidge, pair_predictor
from oneof.typing import Floats

MIN_PREDICTION = 1e-6
"""Lower bound of the predictions in self-training."""


@dataclass(frozen=True)
class Judge:
    """Label distributions of another classifier, which are mixed with those of each iteration."""

    probabilities: Floats
    """(number of pairs,): the label distributions W of the rows."""
    weight: float
    """Their weight in the labels, in [0, 1]."""

    def mix(self, labels: Floats) -> Floats:
        """Return the labels of the pairs with the weight of the judge."""
        return (1.0 - self.weight) * labels + self.weight * self.probabilities


NO_JUDGE = Judge(np.zeros(1), 0.0)


@dataclass(frozen=True)
class SelfTrainingResult:
    """Result of `SelfTraining.run`."""

    label_distributions: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    changes: Floats
    """(number of iterations,): the mean over the rows of sum_k |P_ik - P_ik before| / 2 in each iteration."""


@dataclass(frozen=True)
class SelfTraining:
    """Settings of a ridge and its self-training."""

    lam: float
    """Above 0: for k(x, x) of about 1, the expected noise of a target."""
    max_iter: int
    """Maximum number of iterations, at least 0. If all rows are exact, no iteration is made."""
    tol: float = 0.0
    """The iterations end when at most this fraction of the label mass changes."""
    distractors: DistractorModel = "cooccurring"
    """Model of the distractors among the main candidates."""

    def run(
        self,
        ridge: LinearLOO | NystroemRidge,
        sets: CandidateGroups,
        judge: Judge = NO_JUDGE,
        predictions: Floats | None = None,
    ) -> SelfTrainingResult:
        """Return the labels of the rows of a ridge.

        Parameters
        ----------
        ridge : LinearLOO or NystroemRidge
        sets : CandidateGroups
        judge : Judge, optional
            Its labels are mixed with those of each iteration.
        predictions : ndarray, optional
            Predictions of the pairs, by a function that was fitted to labels of some rows, from which the labels start.
        """
        predict = pair_predictor(ridge, sets)
        n_done, P = 0, judge.mix(sets.normalize(sets.weights))
        if predictions is not None:
            n_done, P = N_WARM_UP_ITER, sets.normalize(sets.weights * np.maximum(predictions, MIN_PREDICTION))
        changes: list[float] = []
        for t in range(self.max_iter if (sets.sizes > 1).any() else 0):
            new_predictions = np.maximum(predict(P), MIN_PREDICTION)
            new = judge.mix(next_labels(self.distractors, IterationState(new_predictions, P, sets, n_done + t)))
            changes.append(float(np.abs(new - P).sum() / (2.0 * len(sets.mask))))
            P = new
            if changes[-1] <= self.tol:
                break
        return SelfTrainingResult(sets.to_dense(P), np.array(changes))
