"""PLGP with Nystroem features over blocks: the method of `TrustRegionNewton` on the weights of the features.

The hyperparameters of the kernel and the landmarks come from random rows, which are collected in one process. They are
drawn in the same way as by the ordinary `fit`. Everything else is a sum over blocks: a round for each step, and one for
each product with the Hessian.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks, block_error_context
from oneof.distributed.reduction import compute, delayed_task, map_persist, map_reduce, persist, shared, tree_sum
from oneof.errors import InputError
from oneof.estimators.plgp import PLGP
from oneof.kernels.nystroem import NystroemFeatures
from oneof.kernels.pairwise import checked_variance, total_variance
from oneof.solvers.laplace.covariance import WeightCovariance, weight_curvature
from oneof.solvers.laplace.mode import RowSums, find_weight_mode, hvp_by_blocks
from oneof.solvers.laplace.model import FeaturePrior, LikelihoodDerivatives, max_abs
from oneof.solvers.laplace.posterior import LaplacePosterior, check_variances, landmark_features, stack_classes
from oneof.typing import Floats
from oneof.validation import check_memory


def check_plgp(model: PLGP) -> None:
    """Raise if a parameter is invalid."""
    model._check_parameters()
    if model.approximation != "nystroem":
        raise InputError(
            f'`approximation` must be "nystroem" over blocks of rows; got {model.approximation!r}, which needs the '
            "kernel of all pairs of rows."
        )
    if isinstance(model.temperature, str):
        raise InputError(
            f"`temperature` must be a number over blocks of rows; got {model.temperature!r}, which needs all rows in "
            "memory."
        )


def fit_plgp(model: PLGP, blocks: RowBlocks) -> None:
    """Fit a model with the result of the ordinary `fit`, without `latent_mode_`, which has an entry for each row."""
    blocks = blocks.labeled
    n_classes, n_labeled = len(blocks.classes), blocks.n_labeled
    seed, rng, normals = model._generators(n_classes)
    kernels, _ = model._fit_kernels(lambda: _total_variance(blocks), blocks.select, (n_labeled, n_classes), rng)
    m = min(int(model.n_components), n_labeled)
    check_memory(
        16 * (m * n_classes) ** 2, f"covariances of {m} features and {n_classes} classes", "lower n_components"
    )
    landmarks, _ = blocks.select(np.sort(rng.permutation(n_labeled)[:m]))
    features = landmark_features(kernels, landmarks)
    rows = map_persist(blocks.blocks, _features, kernels, features)
    is_partial = any(entry.n_partial for entry in blocks.metadata)
    sums = DistributedFeatureSums(rows, n_labeled, (m, n_classes), is_partial)
    mode = find_weight_mode(
        sums, float(model.sharpness), anneal=bool(model.anneal), max_iter=int(model.max_iter), tol=float(model.tol)
    )
    covariance = WeightCovariance.from_curvature(
        sums.final_curvature(mode.weights, float(model.sharpness)), [m] * n_classes
    )
    posterior = LaplacePosterior(
        kernels,
        rows=landmarks,
        features=features,
        coefficients=mode.weights,
        proba=np.empty((0, n_classes)),
        weights=mode.weights,
        jitters=(0.0,) * len(kernels),
        sharpness=float(model.sharpness),
        weight_covariance=covariance,
        psi=mode.objective_path[-1],
    )
    blocks.set_input_attributes(model)
    model.__dict__.pop("latent_mode_", None)
    model._set_fitted_attributes(posterior, mode, np.empty((0, n_classes), dtype=bool), normals, seed)


def _total_variance(blocks: RowBlocks) -> float:
    """Return the sum of the variances of the features: that within the blocks, and that of their means."""
    moments = compute([delayed_task(_moments, block) for block in blocks.blocks])
    counts, means, variances = (np.array(values) for values in zip(*moments))
    with np.errstate(over="ignore", invalid="ignore"):  # `checked_variance` raises
        between = ((means - np.average(means, axis=0, weights=counts)) ** 2).sum(axis=1)
        return checked_variance(float(np.average(variances + between, weights=counts)))


def _moments(block: RowBlock) -> tuple[int, Floats, float]:
    rows, _ = block.labeled_rows()
    with block_error_context(block.number):
        return rows.shape[0], np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel(), total_variance(rows)


class _ObjectiveTerms(NamedTuple):
    """Log likelihood of some rows at some weights, with its gradient, and the largest latent."""

    value: float
    gradient: Floats
    """Phi^T (q - pi), (m, K)."""
    max_abs: float
    """max |Phi w|."""


@dataclass(frozen=True)
class DistributedPoint:
    """Log likelihood at some weights, as `RowPoint`."""

    pairs: list[Any]
    """The `RowSums` of each block with its `LikelihoodDerivatives`, stored on the workers."""
    value: float
    max_abs: float
    """Max |Phi w|."""
    gradient: Floats
    """Phi^T (q - pi), (m, K)."""
    preconditioner: None = None

    def hvp(self, direction: Floats) -> Floats:
        """Return Phi^T W_true Phi v, (m, K)."""
        return map_reduce(self.pairs, _hvp, direction)

    fast_hvp = hvp


@dataclass
class DistributedFeatureSums:
    """Sums over all rows, as `oneof.solvers.laplace.mode.FeatureSums`."""

    rows: list[Any]
    """The `RowSums` of each block, stored on the workers."""
    n_rows: int
    shape: tuple[int, int]
    is_partial: bool

    def zeros(self) -> Floats:
        """Return weights of 0."""
        return np.zeros(self.shape)

    def evaluate(self, weights: Floats, sharpness: float) -> DistributedPoint:
        """Return the log likelihood and its derivatives, in one round."""
        at = shared(weights)
        tasks = [delayed_task(_evaluate, rows, at, sharpness, nout=2) for rows in self.rows]
        *derivatives, total = persist([*(own for own, _ in tasks), tree_sum([term for _, term in tasks], _add)])
        terms = compute(total)
        return DistributedPoint(list(zip(self.rows, derivatives)), terms.value, terms.max_abs, terms.gradient)

    def max_abs(self, weights: Floats) -> float:
        """Return max |Phi w| over rows and classes."""
        return map_reduce(self.rows, _max_abs, weights, add=max)

    def final_curvature(self, weights: Floats, sharpness: float) -> Floats:
        """Return Phi^T W Phi, (K m, K m), with the positive W."""
        return map_reduce(self.evaluate(weights, sharpness).pairs, _curvature)


def _features(block: RowBlock, kernels: list[Any], features: list[NystroemFeatures]) -> RowSums:
    rows, evidence = block.labeled_rows()
    with block_error_context(block.number):
        check_variances(kernels, rows)
    return RowSums(FeaturePrior(stack_classes([own.transform(rows) for own in features])), evidence)


def _evaluate(rows: RowSums, weights: Floats, sharpness: float) -> tuple[LikelihoodDerivatives, _ObjectiveTerms]:
    point = rows.evaluate(weights, sharpness)
    return point.derivatives, _ObjectiveTerms(point.value, point.gradient, point.max_abs)


def _add(a: _ObjectiveTerms, b: _ObjectiveTerms) -> _ObjectiveTerms:
    return _ObjectiveTerms(a.value + b.value, a.gradient + b.gradient, max(a.max_abs, b.max_abs))


def _max_abs(rows: RowSums, weights: Floats) -> float:
    return max_abs(rows.prior.latents(weights))


def _hvp(pair: tuple[RowSums, LikelihoodDerivatives], direction: Floats) -> Floats:
    rows, derivatives = pair
    return hvp_by_blocks(rows.prior.features, derivatives, direction)


def _curvature(pair: tuple[RowSums, LikelihoodDerivatives]) -> Floats:
    rows, derivatives = pair
    n_classes = derivatives.proba.shape[1]
    return weight_curvature([rows.prior.of_class(k) for k in range(n_classes)], derivatives.proba)
