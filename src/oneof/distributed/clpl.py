"""CLPL over blocks: the ordinary search for the minimum, whose sums over rows are sums over blocks.

Where the whole Hessian is small it is summed together with the gradient, and steps cost no further round; else each
product with it is a round. The search along a step is a round for each length that it tries.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oneof.distributed.blocks import RowBlock
from oneof.distributed.blocks import RowBlocks
from oneof.distributed.reduction import MAX_HESSIAN_SIZE, map_persist, map_reduce
from oneof.estimators.clpl import CLPL
from oneof.solvers.clpl import CLPLProblem, minimize
from oneof.solvers.clpl.problem import blocks_fit
from oneof.solvers.linear_objective import Block, penalized, penalized_diagonal
from oneof.typing import Floats


def check_clpl(model: CLPL) -> None:
    """Raise if a parameter cannot be used."""
    model._check_parameters()


def fit_clpl(model: CLPL, blocks: RowBlocks) -> None:
    """Fit a model, to what one machine would find."""
    blocks = blocks.labeled
    problems = map_persist(blocks.blocks, _problem, float(model.C), bool(model.fit_intercept))
    shape = (len(blocks.classes), blocks.metadata[0].n_features + bool(model.fit_intercept))
    found = minimize(BlockSums(problems, shape, bool(model.fit_intercept)), max_iter=model.max_iter, tol=model.tol)
    blocks.set_input_attributes(model)
    model._keep(found, blocks.dtype)


@dataclass(frozen=True)
class BlockSums:
    """The objective, as `oneof.solvers.clpl.sums.Sums` asks for it."""

    problems: list[Any]
    """A `CLPLProblem` for each block, held by the workers."""
    shape: tuple[int, int]
    has_intercept: bool

    @property
    def blocks_fit(self) -> bool:
        """Whether the Hessian's blocks are small enough to be factorized."""
        return blocks_fit(self.shape)

    def penalized(self, weights: Floats) -> Floats:
        """Return the weights with 0 for the intercept."""
        return penalized(weights, has_intercept=self.has_intercept)

    def scores(self, weights: Floats) -> "BlockScores":
        """Return the scores; nothing is worked out before it is asked for."""
        return BlockScores(self, weights)

    def objective(self, weights: Floats, scores: "BlockScores") -> float:
        """Return f."""
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + scores.sums.losses

    def gradient(self, weights: Floats, scores: "BlockScores") -> Floats:
        """Return the (K, D) gradient of f."""
        return self.penalized(weights) + scores.sums.gradient

    def curvatures(self, scores: "BlockScores") -> "BlockScores":
        """Return the scores, to which the curvatures belong."""
        return scores

    def hessian_product(self, curvatures: "BlockScores", direction: Floats) -> Floats:
        """Return the Hessian of f times a direction, (K, D)."""
        hessian = curvatures.sums.hessian
        if hessian is not None:
            bent = np.tensordot(hessian, direction, axes=2)
        else:
            bent = map_reduce(curvatures.bent, _product, direction)
        return self.penalized(direction) + bent

    def hessian_diagonal(self, curvatures: "BlockScores") -> Floats:
        """Return its diagonal, (K, D)."""
        return penalized_diagonal(curvatures.sums.diagonal, has_intercept=self.has_intercept)

    def hessian_blocks(self, curvatures: "BlockScores") -> list[Block]:
        """Return its blocks, one a class."""
        hessian = curvatures.sums.hessian
        if hessian is not None:
            squares = np.stack([hessian[k, :, k] for k in range(self.shape[0])])
        else:
            squares = map_reduce(curvatures.bent, _squares)
        return [Block.of(own, has_intercept=self.has_intercept) for own in squares]

    def line(self, scores: "BlockScores", moved: "BlockScores") -> "BlockLine":
        """Return the losses where the scores move."""
        return BlockLine(self, scores.weights, moved.weights)


@dataclass(frozen=True)
class _Sums:
    """What one round brings."""

    losses: float
    gradient: Floats
    diagonal: Floats
    """Of the Hessian."""
    hessian: Floats | None
    """(K, D, K, D), where it is small."""

    def __add__(self, other: "_Sums") -> "_Sums":
        hessian = None if self.hessian is None or other.hessian is None else self.hessian + other.hessian
        return _Sums(
            self.losses + other.losses, self.gradient + other.gradient, self.diagonal + other.diagonal, hessian
        )


@dataclass(frozen=True)
class BlockScores:
    """The scores of all rows at some weights, by the weights alone."""

    problem: BlockSums
    weights: Floats

    @cached_property
    def sums(self) -> _Sums:
        """Losses and derivatives: one round."""
        return map_reduce(self.problem.problems, _sums, self.weights)

    @cached_property
    def bent(self) -> list[Any]:
        """Each block's problem beside the curvatures at these scores, held by the workers."""
        problems = self.problem.problems
        return list(zip(problems, map_persist(problems, _curvatures, self.weights)))


class BlockLine:
    """The losses along a step; a length that is asked for twice costs one round."""

    def __init__(self, problem: BlockSums, weights: Floats, step: Floats) -> None:
        held = map_persist(problem.problems, _scores_and_moves, weights, step)
        self._parts = list(zip(problem.problems, held))
        self._seen: dict[float, Floats] = {}

    def slope(self, length: float) -> float:
        """Return the first derivative of the losses' sum."""
        return float(self._at(length)[0])

    def curvature(self, length: float) -> float:
        """Return the second."""
        return float(self._at(length)[1])

    def _at(self, length: float) -> Floats:
        if length not in self._seen:
            lengths = [length] if self._seen else sorted({0.0, 1.0, length})  # the first two that are asked for
            found = map_reduce(self._parts, _along, lengths)
            self._seen.update(zip(lengths, found))
        return self._seen[length]


def _problem(block: RowBlock, C: float, fit_intercept: bool) -> CLPLProblem:
    weight = np.ones(block.X.shape[0])
    return CLPLProblem.of(block.X, block.mask, C, weight, fit_intercept=fit_intercept)


@np.errstate(over="ignore", invalid="ignore")  # `minimize` looks for overflow
def _sums(problem: CLPLProblem, weights: Floats) -> _Sums:
    scores = problem.scores(weights)
    curvatures = problem.curvatures(scores)
    gradient = problem.gather(problem.slopes(scores), problem.X)
    if weights.size <= MAX_HESSIAN_SIZE:
        hessian = problem.loss_hessian(curvatures)
        diagonal = np.einsum("kdkd->kd", hessian)
    else:
        hessian, diagonal = None, problem.loss_diagonal(problem.by_class(curvatures))
    return _Sums(problem.losses(scores), gradient, diagonal, hessian)


@np.errstate(over="ignore", invalid="ignore")
def _curvatures(problem: CLPLProblem, weights: Floats) -> Any:
    return problem.curvatures(problem.scores(weights))


@np.errstate(over="ignore", invalid="ignore")
def _product(bent: tuple[CLPLProblem, Any], direction: Floats) -> Floats:
    problem, curvatures = bent
    return problem.bent(curvatures, direction)


@np.errstate(over="ignore", invalid="ignore")
def _squares(bent: tuple[CLPLProblem, Any]) -> Floats:
    problem, curvatures = bent
    each = problem.by_class(curvatures)
    return np.stack([problem.squares(each[:, k]) for k in range(problem.n_classes)])


@np.errstate(over="ignore", invalid="ignore")
def _scores_and_moves(problem: CLPLProblem, weights: Floats, step: Floats) -> tuple[Floats, Floats]:
    return problem.scores(weights), problem.scores(step)


@np.errstate(over="ignore", invalid="ignore")
def _along(part: tuple[CLPLProblem, tuple[Floats, Floats]], lengths: list[float]) -> Floats:
    problem, (scores, moved) = part
    line = problem.line(scores, moved)
    return np.array([(line.slope(length), line.curvature(length)) for length in lengths])
