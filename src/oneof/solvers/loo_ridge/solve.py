"""Solver of LOORidge: weights of the kernels, self-training, and the fitted function of rows.

Several kernels are averaged. Their leave-one-out predictions F_m = LOO_m(P) have weights that solve

    minimize  || P - sum_m w_m F_m ||^2,  w_m >= 0, sum_m w_m = 1

(Breiman, Stacked regressions, Machine Learning 24, 1996). No true label is needed: P are the labels of self-training
with equal weights. The average is again an exact leave-one-out prediction, at the cost of one kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import nnls

from oneof.parallel import n_available_threads, parallel_map
from oneof.solvers.loo_ridge.distractors import CandidateGroups, UniformDistractors, with_class_mass
from oneof.solvers.loo_ridge.loo_operators import (
    DualCoefficients,
    ExactRidge,
    Influences,
    NystroemRidge,
    Ridge,
    StackedExact,
    runner_up_classes,
    stack_ridges,
    top_influences,
)
from oneof.solvers.loo_ridge.self_training import (
    DistractorModel,
    DistractorSelection,
    select_distractor_models,
    self_train,
)
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_memory

BLOCK_ROWS = 2048
"""Number of new rows whose kernel is computed at a time."""
MIN_KERNEL_WEIGHT = 0.01
"""Kernels with a smaller weight are dropped."""


class RowKernel(Protocol):
    """A kernel with its own representation of the rows."""

    def transform(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the rows in the representation of the kernel."""

    def gram(self, rows: FeatureMatrix, other_rows: FeatureMatrix | None = None) -> Floats:
        """Return k of transformed rows, (n, m); without `other_rows`, of the rows with themselves, as a new array."""

    def support_rows(self, rows: FeatureMatrix) -> FeatureMatrix:
        """Return the representation of transformed rows that a fitted model stores."""


@dataclass(frozen=True)
class KernelModel:
    """A fitted function of rows."""

    kernel: RowKernel
    support: FeatureMatrix
    """Training rows or landmarks, in the representation of the kernel."""
    dual: DualCoefficients

    def scores(self, X: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of new rows, computed in blocks."""
        scores = np.empty((X.shape[0], len(self.dual.means)))
        for start in range(0, X.shape[0], BLOCK_ROWS):
            rows = self.kernel.transform(X[start : start + BLOCK_ROWS])
            scores[start : start + BLOCK_ROWS] = self.kernel.gram(rows, self.support) @ self.dual.coefficients
        return scores + self.dual.means


@dataclass(frozen=True)
class StackedModel:
    """Weighted average of functions of rows."""

    models: Sequence[KernelModel]
    weights: Floats

    def scores(self, X: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of new rows."""
        return np.sum([w * model.scores(X) for model, w in zip(self.models, self.weights, strict=True)], axis=0)


@dataclass(frozen=True)
class LOORidgeSolution:
    """Result of `solve_loo_ridge`: the fitted function, and the labels to which it is fitted."""

    sets: CandidateGroups
    model: StackedModel
    kernel_weights: Floats
    """(number of kernels,): the weight of each kernel, sum 1."""
    selection: DistractorSelection
    scores: Floats
    """LOO(P), (n, K)."""
    runner_up: Ints
    """(n,): see `runner_up_classes`."""
    influences: Influences | None
    """The most influential rows; None for the Nystroem form."""

    @property
    def class_odds(self) -> Floats:
        """(K,): M^-w, with w the weight of the cooccurring model, for the likelihood of a set.

        It is 1 for w = 0 and 1 / M for w = 1; the confusable model has no factor.
        """
        labels = self.selection.label_distributions[~self.sets.unlabeled]
        return (labels.sum(axis=0) + 1.0) ** -self.selection.weights["cooccurring"]


def solve_loo_ridge(
    kernels: Sequence[tuple[RowKernel, FeatureMatrix]],
    sets: CandidateGroups,
    *,
    lam: float,
    max_iter: int,
    distractor_model: DistractorModel | None = None,
    landmarks: Ints | None = None,
    stacking_rows: Ints | None = None,
) -> LOORidgeSolution:
    """Weight the kernels, disambiguate the labels, and fit the function.

    Parameters
    ----------
    kernels : sequence of (RowKernel, array or CSR matrix of n rows)
        Each with the rows in its representation.
    sets : CandidateGroups
        Candidate sets of the rows.
    lam : float
        Above 0: for k(x, x) of about 1, the expected noise of a target.
    max_iter : int
        Iterations of each self-training.
    distractor_model : {"uniform", "cooccurring", "confusable"}, optional
        The origin of the distractors, if it is known.
    landmarks : ndarray of shape (m,), optional
        Indices of the landmarks of the Nystroem form; without them the exact form is used.
    stacking_rows : ndarray, optional
        Indices of the rows on which, with landmarks, the kernels are weighted in the exact form; all by default.

    Raises
    ------
    InputError
        If a kernel is not positive semi-definite, its values are not finite, or they would not fit in memory.
    """
    n = len(sets.mask)
    ridges: list[Ridge]
    if landmarks is None:
        ridges = list(_exact_ridges(kernels, lam, 'pass approximation="nystroem"'))
        weights = stacking_weights(ridges, sets, max_iter=max_iter)
        ridges = [ridge for ridge, weight in zip(ridges, weights, strict=True) if weight > 0]
    else:
        weights = np.ones(1)
        if len(kernels) > 1:
            subset = np.arange(n) if stacking_rows is None else stacking_rows
            remedy = "pass one `kernel` and one of `features`"
            exact = _exact_ridges([(kernel, rows[subset]) for kernel, rows in kernels], lam, remedy)
            weights = stacking_weights(exact, CandidateGroups.from_mask(sets.mask[subset]), max_iter=max_iter)
            del exact
        n_bytes = 8.0 * n * len(landmarks) * (np.count_nonzero(weights) + 2)
        check_memory(n_bytes, f"{len(landmarks)} features of {n} rows for each kernel", "lower n_components")
        ridges = [
            NystroemRidge.from_gram(kernel.gram(rows, rows[landmarks]), kernel.gram(rows[landmarks]), lam)
            for (kernel, rows), weight in zip(kernels, weights, strict=True)
            if weight > 0
        ]
    selected = [pair for pair, weight in zip(kernels, weights, strict=True) if weight > 0]
    ridge = stack_ridges(ridges, weights[weights > 0])
    selection = select_distractor_models(ridge, sets, model=distractor_model, max_iter=max_iter)
    P = selection.label_distributions
    models = [
        KernelModel(kernel, kernel.support_rows(rows if landmarks is None else rows[landmarks]), kernel_ridge.fit(P))
        for (kernel, rows), kernel_ridge in zip(selected, ridges, strict=True)
    ]
    scores = ridge.predict_loo(P)
    runner_up = runner_up_classes(P, scores, sets.mask)
    influences = None
    if isinstance(ridge, ExactRidge | StackedExact):
        influences = top_influences(ridge, P, runner_up)
    model = StackedModel(models, weights[weights > 0])
    return LOORidgeSolution(sets, model, weights, selection, scores, runner_up, influences)


def stacking_weights(ridges: Sequence[Ridge], sets: CandidateGroups, *, max_iter: int) -> Floats:
    """Return w, (number of ridges,): at least 0, with sum 1; weights below 0.01 are replaced by 0.

    Parameters
    ----------
    ridges : sequence of Ridge
        One for each kernel, on the rows of the sets.
    sets : CandidateGroups
        Unlabeled rows have no influence on the weights.
    max_iter : int
        Iterations of self-training with uniform distractors.
    """
    uniform_weights = np.full(len(ridges), 1.0 / len(ridges))
    if len(ridges) == 1:
        return uniform_weights
    distractors, labeled = with_class_mass(UniformDistractors(), sets), ~sets.unlabeled
    result = self_train(stack_ridges(ridges, uniform_weights), sets, distractors, max_iter=max_iter)
    P = result.label_distributions
    residuals = np.stack([(P - ridge.predict_loo(P))[labeled].ravel() for ridge in ridges], axis=1)
    return simplex_least_squares(residuals)


def simplex_least_squares(residuals: Floats) -> Floats:
    """Return the w with w >= 0 and sum 1 that minimizes ||E w||^2, without small weights; E is (n, m).

    Without the constraint on the sum, ||E w||^2 + (1 - sum w)^2 has its minimum at a multiple of the same w: among all
    multiples of v with sum 1 the minimum is q / (1 + q), q = ||E v||^2, which increases with q.
    """
    size = max(float(np.sqrt((residuals**2).sum(axis=0).mean())), np.finfo(float).tiny)
    system = np.vstack([np.linalg.qr(residuals / size, mode="r"), np.ones(residuals.shape[1])])
    weights, _ = nnls(system, np.append(np.zeros(len(system) - 1), 1.0))
    weights = weights / weights.sum()
    weights[weights < MIN_KERNEL_WEIGHT] = 0.0
    return weights / weights.sum()


def _exact_ridges(kernels: Sequence[tuple[RowKernel, FeatureMatrix]], lam: float, remedy: str) -> list[ExactRidge]:
    n = kernels[0][1].shape[0]
    # One inverse for each kernel, their average, and two matrices for each inversion in progress.
    n_bytes = 8.0 * n**2 * (len(kernels) + 1 + 2 * min(n_available_threads(), len(kernels)))
    check_memory(n_bytes, f"{len(kernels)} kernels of all pairs of {n} rows", remedy)
    return parallel_map(lambda pair: ExactRidge.from_gram(pair[0].gram(pair[1]), lam), kernels)
