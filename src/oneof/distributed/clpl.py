"""CLPL over blocks: the Newton-CG solver of the ordinary `fit`, whose sums over rows are sums over blocks.

If the full Hessian is small, it is summed together with the gradient, and conjugate gradients take no further rounds.
Otherwise each product with it is a round. The line search takes a round for each length that it evaluates.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks
from oneof.distributed.reduction import MAX_HESSIAN_SIZE, map_persist, map_reduce
from oneof.estimators.linear.clpl import CLPL
from oneof.solvers.clpl import CLPLProblem, minimize
from oneof.solvers.clpl.problem import blocks_fit
from oneof.solvers.linear_objective import HessianBlock, penalized, penalized_diagonal
from oneof.typing import Floats


def check_clpl(model: CLPL) -> None:
    """Raise if a parameter is invalid."""
    model._check_parameters()


def fit_clpl(model: CLPL, blocks: RowBlocks) -> None:
    """Fit a model with the result of the ordinary `fit`."""
    blocks = blocks.labeled
    problems = map_persist(blocks.blocks, _problem, float(model.C), bool(model.fit_intercept))
    shape = (len(blocks.classes), blocks.metadata[0].n_features + bool(model.fit_intercept))
    objective = DistributedObjective(problems, shape, bool(model.fit_intercept))
    solution = minimize(objective, max_iter=model.max_iter, tol=model.tol)
    blocks.set_input_attributes(model)
    model._set_fitted_attributes(solution, blocks.dtype)


@dataclass(frozen=True)
class DistributedObjective:
    """Objective of CLPL over blocks, as `oneof.solvers.clpl.newton_cg.Objective`."""

    problems: list[Any]
    """A `CLPLProblem` for each block, stored on the workers."""
    shape: tuple[int, int]
    has_intercept: bool

    @property
    def blocks_fit(self) -> bool:
        """True if the Hessian's blocks are small enough to be factorized."""
        return blocks_fit(self.shape)

    def penalized(self, weights: Floats) -> Floats:
        """Return the weights with 0 for the intercept."""
        return penalized(weights, has_intercept=self.has_intercept)

    def matvec(self, weights: Floats) -> "BlockScores":
        """Return the lazily computed scores."""
        return BlockScores(self, weights)

    def objective(self, weights: Floats, scores: "BlockScores") -> float:
        """Return f."""
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + scores.sums.losses

    def gradient(self, weights: Floats, scores: "BlockScores") -> Floats:
        """Return the (K, D) gradient of f."""
        return self.penalized(weights) + scores.sums.gradient

    def curvatures(self, scores: "BlockScores") -> "BlockScores":
        """Return the scores, which determine the curvatures."""
        return scores

    def hvp(self, curvatures: "BlockScores", direction: Floats) -> Floats:
        """Return the Hessian of f times a direction, (K, D)."""
        hessian = curvatures.sums.hessian
        if hessian is not None:
            loss_hvp = np.tensordot(hessian, direction, axes=2)
        else:
            loss_hvp = map_reduce(curvatures.block_curvatures, _loss_hvp, direction)
        return self.penalized(direction) + loss_hvp

    def hessian_diagonal(self, curvatures: "BlockScores") -> Floats:
        """Return the diagonal of the Hessian of f, (K, D)."""
        return penalized_diagonal(curvatures.sums.diagonal, has_intercept=self.has_intercept)

    def hessian_blocks(self, curvatures: "BlockScores") -> list[HessianBlock]:
        """Return the diagonal blocks of the Hessian of f, one per class."""
        hessian = curvatures.sums.hessian
        if hessian is not None:
            grams = np.stack([hessian[k, :, k] for k in range(self.shape[0])])
        else:
            grams = map_reduce(curvatures.block_curvatures, _hessian_blocks)
        return [HessianBlock.from_gram(gram, has_intercept=self.has_intercept) for gram in grams]

    def active(self, scores: "BlockScores") -> tuple["DistributedObjective", "BlockScores"]:
        """Return the objective of all rows."""
        return self, scores

    def block_cost(self, curvatures: "BlockScores") -> float:
        """Return the cost of the Hessian's blocks, in products with the Hessian."""
        del curvatures
        return self.shape[1] / 4

    def line(self, scores: "BlockScores", score_step: "BlockScores") -> "BlockLineFunction":
        """Return the losses along a step of the scores."""
        return BlockLineFunction(self, scores.weights, score_step.weights)


@dataclass(frozen=True)
class _PartialSums:
    """Losses and their derivatives over some rows, computed in one round."""

    losses: float
    gradient: Floats
    diagonal: Floats
    """Diagonal of the Hessian."""
    hessian: Floats | None
    """(K, D, K, D), if it is small."""

    def __add__(self, other: "_PartialSums") -> "_PartialSums":
        hessian = None if self.hessian is None or other.hessian is None else self.hessian + other.hessian
        return _PartialSums(
            self.losses + other.losses, self.gradient + other.gradient, self.diagonal + other.diagonal, hessian
        )


@dataclass(frozen=True)
class BlockScores:
    """Scores of all rows, represented by the weights."""

    problem: DistributedObjective
    weights: Floats

    @cached_property
    def sums(self) -> _PartialSums:
        """Losses and derivatives, computed in one round."""
        return map_reduce(self.problem.problems, _sums, self.weights)

    @cached_property
    def block_curvatures(self) -> list[Any]:
        """Pairs of each block's problem and its curvatures at these scores, stored on the workers."""
        problems = self.problem.problems
        return list(zip(problems, map_persist(problems, _curvatures, self.weights)))


class BlockLineFunction:
    """Losses along a step, as a `LineFunction`; results are cached, so that each length takes one round."""

    def __init__(self, problem: DistributedObjective, weights: Floats, step: Floats) -> None:
        scores = map_persist(problem.problems, _scores_and_steps, weights, step)
        self._pairs = list(zip(problem.problems, scores))
        self._cache: dict[float, Floats] = {}

    def derivatives(self, length: float) -> tuple[float, float]:
        """Return the first and the second derivative of the losses' sum."""
        first, second = self._at(length)
        return float(first), float(second)

    def _at(self, length: float) -> Floats:
        if length not in self._cache:
            lengths = [length] if self._cache else sorted({0.0, 1.0, length})  # the solver needs 0 and 1 first
            derivatives = map_reduce(self._pairs, _line_derivatives, lengths)
            self._cache.update(zip(lengths, derivatives))
        return self._cache[length]


def _problem(block: RowBlock, C: float, fit_intercept: bool) -> CLPLProblem:
    sample_weight = np.ones(block.X.shape[0])
    return CLPLProblem.from_evidence(block.X, block.evidence, C, sample_weight, fit_intercept=fit_intercept)


@np.errstate(over="ignore", invalid="ignore")  # `minimize` checks for overflow
def _sums(problem: CLPLProblem, weights: Floats) -> _PartialSums:
    scores = problem.matvec(weights)
    curvatures = problem.curvatures(scores)
    gradient = problem.rmatvec(problem.score_gradient(scores), problem.X)
    if weights.size <= MAX_HESSIAN_SIZE:
        hessian = problem.loss_hessian(curvatures)
        diagonal = np.einsum("kdkd->kd", hessian)
    else:
        hessian, diagonal = None, problem.loss_diagonal(problem.curvature_by_class(curvatures))
    return _PartialSums(problem.losses(scores), gradient, diagonal, hessian)


@np.errstate(over="ignore", invalid="ignore")
def _curvatures(problem: CLPLProblem, weights: Floats) -> Any:
    return problem.curvatures(problem.matvec(weights))


@np.errstate(over="ignore", invalid="ignore")
def _loss_hvp(pair: tuple[CLPLProblem, Any], direction: Floats) -> Floats:
    problem, curvatures = pair
    return problem.loss_hvp(curvatures, direction)


@np.errstate(over="ignore", invalid="ignore")
def _hessian_blocks(pair: tuple[CLPLProblem, Any]) -> Floats:
    problem, curvatures = pair
    by_class = problem.curvature_by_class(curvatures)
    return np.stack([problem.weighted_gram(by_class[:, k]) for k in range(problem.n_classes)])


@np.errstate(over="ignore", invalid="ignore")
def _scores_and_steps(problem: CLPLProblem, weights: Floats, step: Floats) -> tuple[Floats, Floats]:
    return problem.matvec(weights), problem.matvec(step)


@np.errstate(over="ignore", invalid="ignore")
def _line_derivatives(pair: tuple[CLPLProblem, tuple[Floats, Floats]], lengths: list[float]) -> Floats:
    problem, (scores, score_step) = pair
    line = problem.line(scores, score_step)
    return np.array([line.derivatives(length) for length in lengths])
