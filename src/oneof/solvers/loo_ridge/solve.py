"""Solver of LOORidge: weights of the kernels, self-training, and the fitted function of rows.

The kernel is a sum k = sum_m w_m k_m. With F_m = LOO_m(P) the leave-one-out predictions of the ridge with the single
kernel k_m, the weights solve

    minimize  || P - sum_m w_m F_m ||^2,  w_m >= 0, sum_m w_m = 1

(Breiman, Stacked regressions, Machine Learning 24, 1996) on a sample of the rows. No true label is needed: P are the
labels of self-training with equal weights. The ridge with the sum of the kernels predicts as accurately as the average
of one ridge for each kernel, and needs one inverse, one set of landmarks and one vector of coefficients.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import is_torch_array
from scipy.optimize import nnls

from oneof.arrays import as_floats
from oneof.kernels.mapped import KernelSum, MappedRows, RowKernel, take_rows
from oneof.parallel import n_available_threads
from oneof.solvers.loo_ridge.blocks import BlockedRows, map_blocks, map_kernel_rows
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.linear_algebra import empty_array, product
from oneof.solvers.loo_ridge.linear_judge import fit_judge
from oneof.solvers.loo_ridge.loo_operators import (
    DualCoefficients,
    ExactRidge,
    Landmarks,
    LinearLOO,
    NystroemRidge,
    runner_up_classes,
    square_and_scores,
    top_influences,
)
from oneof.solvers.loo_ridge.self_training import NO_JUDGE, SelfTraining, SelfTrainingResult
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_memory

_LOG = logging.getLogger("oneof")

MIN_KERNEL_WEIGHT = 0.05
"""Kernels with a smaller weight are dropped."""
MAX_FULL_ITER = 3
"""Maximum number of iterations with all rows, if self-training uses a part of them."""
FULL_TOL = 0.01
"""The iterations with all rows end when at most this fraction of the label mass changes."""


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

        def block_scores(block: slice) -> Floats:
            gram = self.kernel.gram(self.kernel.transform(X[block]), self.support)
            return product(gram, self.dual.coefficients)

        blocks = map_kernel_rows(block_scores, X)
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
    influences: tuple[Ints, Floats] | None
    """The most influential rows, and their contributions; None for the Nystroem form."""


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
        _LOG.info("LOORidge: the weights of the kernels are %s.", weights.round(3).tolist())
    selected = np.flatnonzero(weights).tolist()
    kernel = KernelSum.from_kernels([kernels[i] for i in selected], weights[selected])
    rows = blocks.take(samples.training)
    judge = fit_judge(rows, kernel, sets, training) if use_judge and samples.training is None else NO_JUDGE
    _LOG.info("LOORidge: the linear classifier has the weight %.3g in the labels.", judge.weight)
    ridge: ExactRidge | NystroemRidge
    if samples.landmarks is None:
        support = kernel.transform(rows)
        ridge = _exact_ridge(kernel, support, training.lam)
    else:
        support = kernel.transform(blocks.take(samples.landmarks))
        landmarks = Landmarks.from_rows(kernel, support, rows)
        ridge = NystroemRidge.in_memory(rows, landmarks, training.lam)
    labels = training.run(ridge, sets if samples.training is None else sets.select(samples.training), judge)
    P = labels.label_distributions
    _LOG.info("LOORidge: self-training of %d rows ended after %d iterations.", len(P), len(labels.changes))
    dual, scores = ridge.fit(P)
    influences = None
    if isinstance(ridge, ExactRidge):
        influences = top_influences(ridge, P, runner_up_classes(P, scores, sets.mask))
    if samples.training is not None:  # continue with all rows, in blocks, from the predictions of the function
        del rows, ridge
        square, predictions = blocks.map_reduce(square_and_scores, [None] * len(blocks.slices), landmarks, dual)
        ridge = NystroemRidge.in_blocks(blocks, landmarks, square, training.lam)
        training = replace(training, max_iter=MAX_FULL_ITER, tol=FULL_TOL)
        last = training.run(ridge, sets, predictions=sets.values(np.concatenate(predictions)))
        labels = replace(last, changes=np.append(labels.changes, last.changes))
        dual, scores = ridge.fit(labels.label_distributions)
    model = KernelModel(kernel, kernel.support_rows(support), dual)
    return LOORidgeSolution(model, weights, labels, scores, judge.weight, influences)


def weigh_kernels(
    kernels: Sequence[RowKernel], X: FeatureMatrix, sets: CandidateGroups, training: SelfTraining
) -> Floats:
    """Return w, (number of kernels,): at least 0, with sum 1; weights below 0.05 are replaced by 0.

    The labels are those of self-training with uniform distractors by the average of the ridges, one for each kernel.
    Unlabeled rows have no influence on the weights.
    """
    n = len(sets.mask)
    # The operator of each kernel, their average, and two matrices for each inversion in progress.
    n_bytes = 8.0 * n**2 * (len(kernels) + 1 + 2 * min(n_available_threads(), len(kernels)))
    check_memory(n_bytes, f"{len(kernels)} kernels of all pairs of {n} rows", "pass one `kernel` and one of `features`")

    def ridge(kernel: RowKernel) -> ExactRidge:
        return ExactRidge.from_gram(as_floats(kernel.gram(kernel.transform(X)), "float64"), training.lam)

    ridges = map_blocks(ridge, kernels, X)
    average = LinearLOO(sum(ridge.operator for ridge in ridges) / len(ridges))
    P = replace(training, distractors="uniform").run(average, sets).label_distributions
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
        # The operator, the blocks of the classes with one of them in progress, and the influences.
        check_memory(32.0 * n**2, f"the kernel of all pairs of {n} rows", 'pass approximation="nystroem"')
    if not all(hasattr(k, "feature_map") for k in kernel.kernels):
        return ExactRidge.from_gram(as_floats(kernel.gram(rows), "float64"), lam)
    gram = empty_array((n, n), rows[0], "float64")

    def fill(block: slice) -> None:  # only the upper triangle is read
        right = slice(block.start, n)
        gram[block, right] = kernel.gram(take_rows(rows, block), take_rows(rows, right))

    map_kernel_rows(fill, rows[0])
    return ExactRidge.from_gram(gram, lam)
