"""PLGP with Nystroem features over blocks: the method of `TrustRegionNewton` on the weights of the features.

The hyperparameters of the kernel and the landmarks come from random rows, which are collected in one process. They are
drawn in the same way as by the ordinary `fit`. Everything else is a sum over blocks. If the full Hessian is small, it
is summed together with the gradient, and a step costs two rounds. Otherwise each product with the Hessian is a round.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks, block_error_context
from oneof.distributed.reduction import MAX_HESSIAN_SIZE, map_persist, map_reduce
from oneof.errors import InputError
from oneof.estimators.gaussian_process._kernels import check_parameters, make_kernels, optimize_kernels, subsample
from oneof.estimators.gaussian_process.plgp import PLGP
from oneof.kernels import total_variance
from oneof.kernels.nystroem import NystroemFeatures
from oneof.kernels.pairwise import checked_variance
from oneof.likelihoods import support
from oneof.solvers.laplace.model import LikelihoodDerivatives
from oneof.solvers.laplace.posterior import check_variances, landmark_features, stack_classes
from oneof.solvers.laplace.posterior_covariance import WeightCovariance
from oneof.solvers.laplace.weight_space.mode import FeatureRows, find_weight_mode
from oneof.solvers.laplace.weight_space.posterior import WeightPosterior
from oneof.typing import Floats
from oneof.validation import check_memory


def check_plgp(model: PLGP) -> None:
    """Raise if a parameter is invalid."""
    check_parameters(model)
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
    kernels = _make_and_optimize_kernels(model, blocks, rng)
    m = min(int(model.n_components), n_labeled)
    check_memory(
        16 * (m * n_classes) ** 2, f"covariances of {m} features and {n_classes} classes", "lower n_components"
    )
    landmarks, _ = blocks.select(np.sort(rng.permutation(n_labeled)[:m]))
    features = landmark_features(kernels, landmarks)
    sums = DistributedFeatureSums.from_blocks(blocks, kernels, features, m)
    mode = find_weight_mode(
        sums, float(model.sharpness), anneal=bool(model.anneal), max_iter=int(model.max_iter), tol=float(model.tol)
    )
    covariance = WeightCovariance.from_curvature(
        sums.final_curvature(mode.weights, float(model.sharpness)), [m] * n_classes
    )
    posterior = WeightPosterior.from_weights(
        kernels, features, mode.weights, covariance, mode.objective_path[-1], float(model.sharpness)
    )
    blocks.set_input_attributes(model)
    model.__dict__.pop("latent_mode_", None)
    model._set_fitted_attributes(posterior, mode, np.empty((0, n_classes), dtype=bool), normals, seed)


def _make_and_optimize_kernels(model: PLGP, blocks: RowBlocks, rng: np.random.Generator) -> list[Any]:
    n_classes, n_labeled = len(blocks.classes), blocks.n_labeled
    kernels = make_kernels(model.kernel, lambda: _total_variance(blocks), n_classes)
    if model.optimizer is None or not any(kernel.n_dims for kernel in kernels):
        return kernels
    sample = subsample(n_labeled, model.optimizer_max_samples, rng)
    rows, evidence = blocks.select(np.arange(n_labeled) if sample is None else sample)
    return optimize_kernels(
        kernels,
        rows,
        evidence,
        float(model.sharpness),
        optimizer=model.optimizer,
        n_restarts=int(model.n_restarts_optimizer),
        max_rows=None,
        rng=rng,
    )


class _FeatureMoments(NamedTuple):
    """Moments of the features over some rows."""

    n_rows: int
    means: Floats
    squares: float
    """Sum of the squared distances from the means."""


def _total_variance(blocks: RowBlocks) -> float:
    moments = map_reduce(blocks.blocks, _moments, add=_add_moments)
    return checked_variance(moments.squares / moments.n_rows)


def _moments(block: RowBlock) -> _FeatureMoments:
    rows, _ = block.labeled_rows()
    means = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    with block_error_context(block.number):
        return _FeatureMoments(rows.shape[0], means, rows.shape[0] * total_variance(rows))


def _add_moments(a: _FeatureMoments, b: _FeatureMoments) -> _FeatureMoments:
    n = a.n_rows + b.n_rows
    with np.errstate(over="ignore", invalid="ignore"):  # `checked_variance` detects overflow in the sum of all blocks
        difference = b.means - a.means
        squares = a.squares + b.squares + a.n_rows * b.n_rows / n * float(difference @ difference)
    return _FeatureMoments(n, a.means + b.n_rows / n * difference, squares)


class _PosteriorEvaluation(NamedTuple):
    """Value and derivatives of the log likelihood at some weights, summed in one round."""

    value: float
    gradient: Floats
    """(m, K)."""
    hessian: Floats | None
    """(K m, K m), if it is small."""
    max_abs: float
    """max |Phi w|."""


@dataclass(frozen=True)
class DistributedDerivatives:
    """Derivatives of the log likelihood at some weights, as `Derivatives`."""

    rows: list[Any]
    derivatives: list[Any]
    """`LikelihoodDerivatives` of each block, stored on the workers."""
    evaluation: _PosteriorEvaluation

    @property
    def gradient(self) -> Floats:
        """Phi^T (q - pi), (m, K)."""
        return self.evaluation.gradient

    def hvp(self, direction: Floats) -> Floats:
        """Return Phi^T W_true Phi v, (m, K)."""
        if self.evaluation.hessian is not None:
            return (self.evaluation.hessian @ direction.T.ravel()).reshape(direction.shape[::-1]).T
        return map_reduce(list(zip(self.rows, self.derivatives)), _hvp, direction)

    def hvp_float32(self, direction: Floats) -> Floats:
        """Return Phi^T W_true Phi v in full precision."""
        return self.hvp(direction)

    def precondition(self, residual: Floats) -> Floats:
        """Return the residual unchanged."""
        return residual


class DistributedFeatureSums:
    """Sums over all rows, as `oneof.solvers.laplace.weight_space.mode.FeatureSums`."""

    def __init__(self, rows: list[Any], n_rows: int, shape: tuple[int, int], *, is_partial: bool) -> None:
        self.rows, self.n_rows, self.shape, self.is_partial = rows, n_rows, shape, is_partial
        self._last: list[tuple[Floats, float, DistributedDerivatives]] = []

    @classmethod
    def from_blocks(
        cls, blocks: RowBlocks, kernels: list[Any], features: list[NystroemFeatures], m: int
    ) -> "DistributedFeatureSums":
        """Compute the features of all rows, which stay on the workers."""
        rows = map_persist(blocks.blocks, _features, kernels, features)
        is_partial = bool(map_reduce(rows, _n_partial))
        return cls(rows, blocks.n_labeled, (m, len(blocks.classes)), is_partial=is_partial)

    def zeros(self) -> Floats:
        """Return weights of 0."""
        return np.zeros(self.shape)

    def value(self, weights: Floats, sharpness: float) -> float:
        """Return sum_i log p(S_i | f_i)."""
        return self.derivatives(weights, sharpness).evaluation.value

    def derivatives(self, weights: Floats, sharpness: float) -> DistributedDerivatives:
        """Return the derivatives at these weights, in one round unless they are among the last two results."""
        for last_weights, last_sharpness, result in self._last:
            if last_weights is weights and last_sharpness == sharpness:
                return result
        derivatives = map_persist(self.rows, _derivatives, weights, sharpness)
        evaluation = map_reduce(list(zip(self.rows, derivatives)), _evaluate, weights, sharpness, add=_add_evaluations)
        result = DistributedDerivatives(self.rows, derivatives, evaluation)
        self._last = [*self._last[-1:], (weights, sharpness, result)]
        return result

    def max_abs(self, weights: Floats) -> float:
        """Return max |Phi w| over rows and classes."""
        for last_weights, _, result in self._last:
            if last_weights is weights:
                return result.evaluation.max_abs
        return map_reduce(self.rows, _max_abs, weights, add=max)

    def final_curvature(self, weights: Floats, sharpness: float) -> Floats:
        """Return Phi^T W Phi, (K m, K m), with the positive W."""
        pairs = list(zip(self.rows, self.derivatives(weights, sharpness).derivatives))
        return map_reduce(pairs, _curvature, np.inf)


def _features(block: RowBlock, kernels: list[Any], features: list[NystroemFeatures]) -> FeatureRows:
    rows, evidence = block.labeled_rows()
    with block_error_context(block.number):
        check_variances(kernels, rows)
    return FeatureRows(stack_classes([own.transform(rows) for own in features]), evidence)


def _n_partial(rows: FeatureRows) -> int:
    return int((support(rows.evidence).sum(axis=1) > 1).sum())


def _derivatives(rows: FeatureRows, weights: Floats, sharpness: float) -> LikelihoodDerivatives:
    return rows.derivatives(weights, sharpness)


def _evaluate(
    pair: tuple[FeatureRows, LikelihoodDerivatives], weights: Floats, sharpness: float
) -> _PosteriorEvaluation:
    rows, derivatives = pair
    hessian = rows.curvature(derivatives, sharpness) if weights.size <= MAX_HESSIAN_SIZE else None
    gradient = rows.rmatvec(derivatives.gradient)
    return _PosteriorEvaluation(rows.value(weights, sharpness), gradient, hessian, _max_abs(rows, weights))


def _add_evaluations(a: _PosteriorEvaluation, b: _PosteriorEvaluation) -> _PosteriorEvaluation:
    hessian = None if a.hessian is None or b.hessian is None else a.hessian + b.hessian
    return _PosteriorEvaluation(a.value + b.value, a.gradient + b.gradient, hessian, max(a.max_abs, b.max_abs))


def _max_abs(rows: FeatureRows, weights: Floats) -> float:
    return float(np.abs(rows.latents(weights)).max())


def _hvp(pair: tuple[FeatureRows, LikelihoodDerivatives], direction: Floats) -> Floats:
    rows, derivatives = pair
    return rows.hvp(derivatives, direction)


def _curvature(pair: tuple[FeatureRows, LikelihoodDerivatives], sharpness: float) -> Floats:
    rows, derivatives = pair
    return rows.curvature(derivatives, sharpness)
