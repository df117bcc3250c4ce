"""Solver of LOORidge: weights of the kernels, self-training, and the fitted function of rows.

The kernel is a sum k = sum_m w_m k_m. With F_m = LOO_m(P) the leave-one-out predictions of the ridge with the single
kernel k_m, the weights solve

    minimize  || P - sum_m w_m F_m ||^2,  w_m >= 0, sum_m w_m = 1

(Breiman, Stacked regressions, Machine Learning 24, 1996) on a sample of the rows. No true label is needed: P are the
labels of self-training with equal weights. The ridge with the sum of the kernels predicts as accurately as the average
of one ridge for each kernel, and needs one inverse, one set of landmarks and one vector of coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from scipy.optimize import nnls

from oneof.arrays import precision_of
from oneof.kernels.mapped import KernelSum, MappedRows, RowKernel, take_rows
from oneof.parallel import n_available_threads
from oneof.solvers.loo_ridge.blocks import BlockedRows, LandmarkFeatures, fit_in_blocks, map_blocks
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import UniformDistractors, model_for
from oneof.solvers.loo_ridge.influences import Influences, runner_up_classes, top_influences
from oneof.solvers.loo_ridge.linear_algebra import product
from oneof.solvers.loo_ridge.linear_judge import fit_judge
from oneof.solvers.loo_ridge.loo_operators import (
    DualCoefficients,
    ExactRidge,
    LinearLOO,
    NystroemRidge,
    Ridge,
)
from oneof.solvers.loo_ridge.self_training import SelfTraining, SelfTrainingResult
from oneof.typing import Array, FeatureMatrix, Floats, Ints
from oneof.validation import check_memory

BLOCK_ROWS = 1024
"""Number of rows whose kernel is computed at a time."""
MIN_KERNEL_WEIGHT = 0.05
"""Kernels with a smaller weight are dropped."""
MIN_FLOAT32_FEATURES = 10_000_000
"""Number of entries of the Nystroem features from which they are in float32."""


@dataclass(frozen=True)
class RowSamples:
    """Indices of the rows that a step uses instead of all rows."""

    landmarks: Ints | None = None
    """Landmarks of the Nystroem form; without them the exact form is used."""
    training: Ints | None = None
    """With landmarks: rows of self-training, before a few iterations with all rows in blocks; all rows by default."""
    stacking: Ints | None = None
    """Rows on which the kernels are weighted; all by default."""


@dataclass(frozen=True)
class KernelModel:
    """A fitted function of rows."""

    kernel: KernelSum
    support: list[MappedRows]
    """Training rows or landmarks, in the representations of the kernel."""
    dual: DualCoefficients

    def scores(self, X: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of new rows, computed in blocks."""

        def block_scores(start: int) -> Floats:
            rows = self.kernel.transform(X[start : start + BLOCK_ROWS])
            return product(self.kernel.gram(rows, self.support), self.dual.coefficients)

        blocks = map_blocks(block_scores, range(0, X.shape[0], BLOCK_ROWS), X)
        return np.concatenate(blocks) + self.dual.means if blocks else np.empty((0, len(self.dual.means)))


@dataclass(frozen=True)
class LOORidgeSolution:
    """Result of `solve_loo_ridge`: the fitted function, and the labels to which it is fitted."""

    model: KernelModel
    kernel_weights: Floats
    """(number of kernels,): the weight of each kernel, sum 1."""
    labels: SelfTrainingResult
    scores: Floats
    """LOO(P), (n, K)."""
    judge_weight: float
    """Weight of the linear judge in the labels, in [0, 1]; 0 without one."""
    influences: Influences | None
    """The most influential rows; None for the Nystroem form."""


def solve_loo_ridge(
    kernels: Sequence[RowKernel],
    blocks: BlockedRows,
    sets: CandidateGroups,
    training: SelfTraining,
    samples: RowSamples,
    *,
    use_judge: bool = False,
) -> LOORidgeSolution:
    """Weight the kernels, disambiguate the labels, and fit the function.

    Parameters
    ----------
    kernels : sequence of RowKernel
    blocks : BlockedRows
        The rows, in memory or on workers.
    sets : CandidateGroups
        Candidate sets of the rows.
    training : SelfTraining
    samples : RowSamples
    use_judge : bool
        Mix the labels with those of a linear classifier, unless self-training uses a part of the rows.

    Raises
    ------
    InputError
        If a kernel is not positive semi-definite, its values are not finite, or they would not fit in memory.
    """
    weights: Floats = np.ones(1)
    if len(kernels) > 1:
        subset = np.arange(len(sets.mask)) if samples.stacking is None else samples.stacking
        weights = weigh_kernels(kernels, blocks.take(subset), sets.select(subset), training)
    selected = np.flatnonzero(weights).tolist()
    kernel = KernelSum.from_kernels([kernels[i] for i in selected], weights[selected])
    landmarks = samples.landmarks
    if samples.training is not None and landmarks is not None:
        return _solve_in_blocks(blocks, sets, (kernel, weights), landmarks, samples.training, training)
    rows = blocks.take()
    judge = fit_judge(rows, kernel, sets, training) if use_judge else None
    support = kernel.transform(rows if landmarks is None else blocks.take(landmarks))
    ridge: Ridge = (
        _exact_ridge(kernel, support, training.lam)
        if landmarks is None
        else _nystroem_ridge(kernel, rows, support, training.lam)
    )
    labels = training.run(ridge, sets, judge)
    P = labels.label_distributions
    model = KernelModel(kernel, kernel.support_rows(support), ridge.fit(P))
    scores = ridge.predict_loo(P)
    influences = None
    if isinstance(ridge, LinearLOO):
        influences = top_influences(ridge, P, runner_up_classes(P, scores, sets.mask))
    return LOORidgeSolution(model, weights, labels, scores, 0.0 if judge is None else judge.weight, influences)


def _solve_in_blocks(
    blocks: BlockedRows,
    sets: CandidateGroups,
    weighted_kernel: tuple[KernelSum, Floats],
    landmarks: Ints,
    training_rows: Ints,
    training: SelfTraining,
) -> LOORidgeSolution:
    """Label the training rows, and continue with all rows in blocks."""
    kernel, weights = weighted_kernel
    support = kernel.transform(blocks.take(landmarks))
    ridge = _nystroem_ridge(kernel, blocks.take(training_rows), support, training.lam)
    labels = training.run(ridge, sets.select(training_rows))
    initial = ridge.fit(labels.label_distributions)
    precision = precision_of(ridge.directions)
    del ridge
    features = LandmarkFeatures.from_landmarks(kernel, support, precision)
    result = fit_in_blocks(blocks, features, sets, model_for(training.distractors, sets), initial, lam=training.lam)
    P = sets.to_dense(result.label_probabilities)
    labels = SelfTrainingResult(P, np.append(labels.changes, result.changes))
    model = KernelModel(kernel, kernel.support_rows(support), result.dual)
    return LOORidgeSolution(model, weights, labels, result.scores, 0.0, None)


def weigh_kernels(
    kernels: Sequence[RowKernel], X: FeatureMatrix, sets: CandidateGroups, training: SelfTraining
) -> Floats:
    """Return the weights of kernels that are fitted to the rows of the sets; see `stacking_weights`."""
    n = len(sets.mask)
    # The operator of each kernel, their average, and two matrices for each inversion in progress.
    n_bytes = 8.0 * n**2 * (len(kernels) + 1 + 2 * min(n_available_threads(), len(kernels)))
    check_memory(n_bytes, f"{len(kernels)} kernels of all pairs of {n} rows", "pass one `kernel` and one of `features`")
    rows = KernelSum.from_kernels(kernels, np.ones(len(kernels)))
    mapped = rows.transform(X)

    def ridge(i: int) -> ExactRidge:
        return ExactRidge.from_gram(_as_new_float64(kernels[i].gram(mapped[rows.sources[i]])), training.lam)

    return stacking_weights(map_blocks(ridge, range(len(kernels)), X), sets, training)


def stacking_weights(ridges: Sequence[ExactRidge], sets: CandidateGroups, training: SelfTraining) -> Floats:
    """Return w, (number of ridges,): at least 0, with sum 1; weights below 0.05 are replaced by 0.

    The labels are those of self-training with uniform distractors by the average of the ridges, one for each kernel.
    Unlabeled rows have no influence on the weights.
    """
    uniform_weights = np.full(len(ridges), 1.0 / len(ridges))
    if len(ridges) == 1:
        return uniform_weights
    average = LinearLOO.from_ridges(ridges, uniform_weights)
    P = replace(training, distractors=UniformDistractors()).run(average, sets).label_distributions
    residuals = np.stack([(P - ridge.predict_loo(P))[~sets.unlabeled].ravel() for ridge in ridges], axis=1)
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


def _exact_ridge(kernel: KernelSum, rows: list[MappedRows], lam: float) -> ExactRidge:
    n = rows[0].shape[0]
    if not is_torch_array(rows[0]):
        # The operator, its part for rows with several candidates, and the blocks of the classes.
        check_memory(32.0 * n**2, f"the kernel of all pairs of {n} rows", 'pass approximation="nystroem"')
    if not all(hasattr(k, "feature_map") for k in kernel.kernels):
        return ExactRidge.from_gram(_as_new_float64(kernel.gram(rows)), lam)
    gram = _empty((n, n), rows[0], np.float64)

    def fill(start: int) -> None:  # only the upper triangle is read
        block = slice(start, min(start + BLOCK_ROWS, n))
        gram[block, start:] = kernel.gram(take_rows(rows, block), take_rows(rows, slice(start, n)))

    map_blocks(fill, range(0, n, BLOCK_ROWS), rows[0])
    return ExactRidge.from_gram(gram, lam)


def _nystroem_ridge(kernel: KernelSum, X: FeatureMatrix, landmarks: list[MappedRows], lam: float) -> NystroemRidge:
    gram = kernel.gram(landmarks)
    n, m = X.shape[0], gram.shape[0]
    dtype = np.float32 if n * m >= MIN_FLOAT32_FEATURES else np.float64
    if not is_torch_array(X):
        check_memory(1.5 * np.dtype(dtype).itemsize * n * m, f"{m} features of {n} rows", "lower n_components")
    cross = _empty((n, m), X, dtype)

    def fill(start: int) -> None:
        block = slice(start, start + BLOCK_ROWS)
        cross[block] = kernel.gram(kernel.transform(X[block]), landmarks)

    map_blocks(fill, range(0, n, BLOCK_ROWS), X)
    return NystroemRidge.from_gram(cross, gram, lam)


def _empty(shape: tuple[int, int], rows: FeatureMatrix, dtype: Any) -> Array:
    """Return an array of a NumPy data type, or for tensors one in their precision and on their device."""
    if is_torch_array(rows):
        return array_namespace(rows).empty(shape, dtype=rows.dtype, device=device(rows))
    return np.empty(shape, dtype=dtype)


def _as_new_float64(gram: Array) -> Array:
    """Return a C-ordered copy, since `ExactRidge.from_gram` overwrites it and the caller may own it."""
    if is_torch_array(gram):
        return gram.double().clone()
    return np.array(gram, dtype=np.float64, order="C")
