"""PLGP with Nystrom features over blocks: the ordinary ascent, over the weights of the features.

The kernel's parameters and the landmarks come from rows that are drawn, which one machine holds, as the ordinary `fit`
draws them. The rest are sums over blocks. Where the whole Hessian is small it is summed with the gradient, and a step
costs two rounds; else each product with it is a round.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oneof.distributed.blocks import Block, Blocks, in_block
from oneof.distributed.reduction import LARGEST_HESSIAN, each_held, sum_over
from oneof.errors import InputError
from oneof.estimators.gp_kernels import drawn_rows, learnt_kernels, read_kernels_by
from oneof.estimators.gp_parameters import check_parameters
from oneof.estimators.plgp import PLGP
from oneof.kernels import total_variance
from oneof.kernels.pairwise import checked_variance
from oneof.solvers.laplace.approximation import check_variances, landmark_features
from oneof.solvers.laplace.landmarks import NystroemFeatures
from oneof.solvers.laplace.likelihood import Shares
from oneof.solvers.laplace.posterior import stacked
from oneof.solvers.laplace.weight_posterior import WeightPosterior
from oneof.solvers.laplace.weight_space import FeatureRows, find_weights
from oneof.solvers.laplace.weights import WeightCovariance
from oneof.typing import Floats
from oneof.validation import check_memory


def check_plgp(model: PLGP) -> None:
    """Raise if a parameter cannot be used."""
    check_parameters(model)
    if model.approximation != "nystroem":
        raise InputError(
            'approximation=None takes the kernel of all pairs of rows, which blocks do not hold: pass "nystroem".'
        )
    if isinstance(model.temperature, str):
        raise InputError('temperature="loo" needs all rows at hand: give a number.')


def fit_plgp(model: PLGP, blocks: Blocks) -> None:
    """Fit a model, to what one machine would find; it has no `latent_mode_`, which would be one row for each of fit."""
    blocks = blocks.told
    n_classes, n_told = len(blocks.classes), blocks.n_told
    seed, random, normals = model._generators(n_classes)
    kernels = _kernels(model, blocks, random)
    m = min(int(model.n_components), n_told)
    check_memory(
        16 * (m * n_classes) ** 2, f"covariances of {m} features and {n_classes} classes", "lower n_components"
    )
    landmarks, _ = blocks.take(np.sort(random.permutation(n_told)[:m]))
    features = landmark_features(kernels, landmarks)
    sums = BlockFeatures.of(blocks, kernels, features, m)
    mode = find_weights(
        sums, float(model.sharpness), anneal=bool(model.anneal), max_iter=int(model.max_iter), tol=float(model.tol)
    )
    covariance = WeightCovariance.of_curvature(
        sums.final_curvature(mode.weights, float(model.sharpness)), [m] * n_classes
    )
    posterior = WeightPosterior.of(
        kernels, features, mode.weights, covariance, mode.objective[-1], float(model.sharpness)
    )
    blocks.describe(model)
    model.__dict__.pop("latent_mode_", None)
    model._keep(posterior, mode, np.empty((0, n_classes), dtype=bool), normals, seed)


def _kernels(model: PLGP, blocks: Blocks, random: np.random.Generator) -> list[Any]:
    n_classes, n_told = len(blocks.classes), blocks.n_told
    kernels = read_kernels_by(model.kernel, lambda: _total_variance(blocks), n_classes)
    if model.optimizer is None or not any(kernel.n_dims for kernel in kernels):
        return kernels
    drawn = drawn_rows(n_told, model.optimizer_max_samples, random)
    rows, mask = blocks.take(np.arange(n_told) if drawn is None else drawn)
    return learnt_kernels(
        kernels,
        rows,
        mask,
        float(model.sharpness),
        optimizer=model.optimizer,
        n_restarts=int(model.n_restarts_optimizer),
        most_rows=None,
        random=random,
    )


class _Moments(NamedTuple):
    """Of the features, over some rows."""

    n_rows: int
    means: Floats
    squares: float
    """Sum of squared distances from the means."""


def _total_variance(blocks: Blocks) -> float:
    found = sum_over(blocks.parts, _moments, add=_both)
    return checked_variance(found.squares / found.n_rows)


def _moments(block: Block) -> _Moments:
    rows, _ = block.told_rows()
    means = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    with in_block(block.number):
        return _Moments(rows.shape[0], means, rows.shape[0] * total_variance(rows))


def _both(a: _Moments, b: _Moments) -> _Moments:
    n = a.n_rows + b.n_rows
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is said of the sum of all
        apart = b.means - a.means
        squares = a.squares + b.squares + a.n_rows * b.n_rows / n * float(apart @ apart)
    return _Moments(n, a.means + b.n_rows / n * apart, squares)


class _Seen(NamedTuple):
    """What one round brings of the likelihood at some weights."""

    value: float
    slopes: Floats
    """(m, K)."""
    hessian: Floats | None
    """(K m, K m), where it is small."""
    largest: float


@dataclass(frozen=True)
class BlockShares:
    """The likelihood's derivatives at some weights."""

    rows: list[Any]
    shares: list[Any]
    """Of each block, held by the workers."""
    seen: _Seen

    @property
    def slopes(self) -> Floats:
        """Phi^T (q - pi), (m, K)."""
        return self.seen.slopes

    def bends(self, moves: Floats) -> Floats:
        """Return Phi^T W_true Phi v, (m, K)."""
        if self.seen.hessian is not None:
            return (self.seen.hessian @ moves.T.ravel()).reshape(moves.shape[::-1]).T
        return sum_over(list(zip(self.rows, self.shares)), _bends, moves)


class BlockFeatures:
    """The sums over all rows, as `oneof.solvers.laplace.weight_space.FeatureSums` asks for them."""

    def __init__(self, rows: list[Any], n_rows: int, shape: tuple[int, int], *, is_partial: bool) -> None:
        self.rows, self.n_rows, self.shape, self.is_partial = rows, n_rows, shape, is_partial
        self._last: list[tuple[Floats, float, BlockShares]] = []

    @classmethod
    def of(cls, blocks: Blocks, kernels: list[Any], features: list[NystroemFeatures], m: int) -> "BlockFeatures":
        """Work out the features of all rows, which the workers hold."""
        rows = each_held(blocks.parts, _features, kernels, features)
        is_partial = bool(sum_over(rows, _n_partial))
        return cls(rows, blocks.n_told, (m, len(blocks.classes)), is_partial=is_partial)

    def value(self, weights: Floats, sharpness: float) -> float:
        """Return sum_i log p(S_i | f_i)."""
        return self.at(weights, sharpness).seen.value

    def at(self, weights: Floats, sharpness: float) -> BlockShares:
        """Return the derivatives at these weights; a round, but for the last two that were asked for."""
        for seen, level, found in self._last:
            if seen is weights and level == sharpness:
                return found
        shares = each_held(self.rows, _shares, weights, sharpness)
        seen = sum_over(list(zip(self.rows, shares)), _look, weights, sharpness, add=_add)
        found = BlockShares(self.rows, shares, seen)
        self._last = [*self._last[-1:], (weights, sharpness, found)]
        return found

    def largest(self, weights: Floats) -> float:
        """Return max |Phi w| over rows and classes."""
        for seen, _, found in self._last:
            if seen is weights:
                return found.seen.largest
        return sum_over(self.rows, _largest, weights, add=max)

    def final_curvature(self, weights: Floats, sharpness: float) -> Floats:
        """Return Phi^T W Phi, (K m, K m), with the positive W."""
        return sum_over(list(zip(self.rows, self.at(weights, sharpness).shares)), _curvature, np.inf)


def _features(block: Block, kernels: list[Any], features: list[NystroemFeatures]) -> FeatureRows:
    rows, mask = block.told_rows()
    with in_block(block.number):
        check_variances(kernels, rows)
    return FeatureRows(stacked([made.of_rows(rows) for made in features]), mask)


def _n_partial(rows: FeatureRows) -> int:
    return int((rows.mask.sum(axis=1) > 1).sum())


def _shares(rows: FeatureRows, weights: Floats, sharpness: float) -> Shares:
    return rows.shares(weights, sharpness)


def _look(part: tuple[FeatureRows, Shares], weights: Floats, sharpness: float) -> _Seen:
    rows, shares = part
    hessian = rows.curvature(shares, sharpness) if weights.size <= LARGEST_HESSIAN else None
    return _Seen(
        rows.value(weights, sharpness), rows.gather(shares.slopes), hessian, float(np.abs(rows.latents(weights)).max())
    )


def _add(a: _Seen, b: _Seen) -> _Seen:
    hessian = None if a.hessian is None or b.hessian is None else a.hessian + b.hessian
    return _Seen(a.value + b.value, a.slopes + b.slopes, hessian, max(a.largest, b.largest))


def _largest(rows: FeatureRows, weights: Floats) -> float:
    return float(np.abs(rows.latents(weights)).max())


def _bends(part: tuple[FeatureRows, Shares], moves: Floats) -> Floats:
    rows, shares = part
    return rows.bends(shares, moves)


def _curvature(part: tuple[FeatureRows, Shares], sharpness: float) -> Floats:
    rows, shares = part
    return rows.curvature(shares, sharpness)
