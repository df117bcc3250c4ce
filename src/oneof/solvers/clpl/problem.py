"""The convex loss for partial labels, its derivatives and their sums, over rows that are at hand."""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.linear_objective import Block, LinearProblem
from oneof.typing import FeatureMatrix, Floats, Mask

LARGEST_BLOCKS = 2e7
"""Most numbers in the Hessian's K blocks (160 MB) for which they are factorized."""


@dataclass(frozen=True)
class CLPLProblem(LinearProblem):
    """The objective over weights of shape (K, D), for rows that are not full and have some weight."""

    inside: Floats
    """(n, K): 1/|S_i| in the set and 0 outside, so that the mean over the set is a sum."""
    outside: Floats
    """(n, K): 0 in the set and 1 outside."""
    cost: Floats
    """(n, 1): C w_i."""

    @classmethod
    def of(cls, X: FeatureMatrix, mask: Mask, C: float, sample_weight: Floats, *, fit_intercept: bool) -> "CLPLProblem":
        """Leave out the rows without a loss."""
        told = ~mask.all(axis=1) & (sample_weight > 0)
        mask = mask[told]
        return cls(
            X=(X if told.all() else X[told]).astype(np.float64, copy=False),
            n_classes=mask.shape[1],
            has_intercept=fit_intercept,
            inside=mask / np.count_nonzero(mask, axis=1)[:, None],
            outside=(~mask).astype(np.float64),
            cost=C * sample_weight[told][:, None],
        )

    @property
    def blocks_fit(self) -> bool:
        """Whether the Hessian's blocks are small enough to be factorized."""
        return blocks_fit(self.shape)

    def hinges(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return max(0, 1 - mean over the set), (n, 1), and max(0, 1 + score) outside it, (n, K)."""
        mean = (self.inside * scores).sum(axis=1, keepdims=True)
        return np.maximum(0.0, 1.0 - mean), self.outside * np.maximum(0.0, 1.0 + scores)

    def objective(self, weights: Floats, scores: Floats) -> float:
        """Return f."""
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + self.losses(scores)

    def losses(self, scores: Floats) -> float:
        """Return the sum of the losses."""
        inner, outer = self.hinges(scores)
        return float(self.cost[:, 0] @ (inner[:, 0] ** 2 + (outer**2).sum(axis=1)))

    def slopes(self, scores: Floats) -> Floats:
        """Return the (n, K) derivatives of the losses by the scores."""
        inner, outer = self.hinges(scores)
        return 2.0 * self.cost * (outer - self.inside * inner)

    def gradient(self, weights: Floats, scores: Floats) -> Floats:
        """Return the (K, D) gradient of f."""
        return self.penalized(weights) + self.gather(self.slopes(scores), self.X)

    def curvatures(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the second derivatives by the mean over the set, (n, 1), and by each score outside it, (n, K)."""
        inner, outer = self.hinges(scores)
        return 2.0 * self.cost * (inner > 0), 2.0 * self.cost * (outer > 0)

    def bend(self, curvatures: tuple[Floats, Floats], moved: Floats) -> Floats:
        """Return the (n, K) change of the slopes along a move of the scores."""
        inner, outer = curvatures
        mean = (self.inside * moved).sum(axis=1, keepdims=True)
        return self.inside * (inner * mean) + outer * moved

    def bent(self, curvatures: tuple[Floats, Floats], direction: Floats) -> Floats:
        """Return the Hessian of the losses' sum times a direction, (K, D)."""
        return self.gather(self.bend(curvatures, self.scores(direction)), self.X)

    def hessian_product(self, curvatures: tuple[Floats, Floats], direction: Floats) -> Floats:
        """Return the Hessian of f times a direction, (K, D)."""
        return self.penalized(direction) + self.bent(curvatures, direction)

    def by_class(self, curvatures: tuple[Floats, Floats]) -> Floats:
        """Return the second derivatives of the losses by one score each, (n, K)."""
        inner, outer = curvatures
        return self.inside**2 * inner + outer

    def hessian_diagonal(self, curvatures: tuple[Floats, Floats]) -> Floats:
        """Return the diagonal of the Hessian of f, (K, D)."""
        return self.diagonal(self.by_class(curvatures))

    def hessian_blocks(self, curvatures: tuple[Floats, Floats]) -> list[Block]:
        """Return its blocks, one a class."""
        each = self.by_class(curvatures)
        return [self.block(each[:, k]) for k in range(self.n_classes)]

    def loss_hessian(self, curvatures: tuple[Floats, Floats]) -> Floats:
        """Return the whole Hessian of the losses' sum, (K, D, K, D)."""
        inner, outer = curvatures
        n_classes, size = self.shape
        hessian = np.empty((n_classes, size, n_classes, size))
        for k in range(n_classes):
            for j in range(k + 1):
                both = inner[:, 0] * self.inside[:, k] * self.inside[:, j]
                hessian[k, :, j] = self.squares(both + outer[:, k] if j == k else both)
                hessian[j, :, k] = hessian[k, :, j]
        return hessian

    def line(self, scores: Floats, moved: Floats) -> "RowsLine":
        """Return the losses where the scores move."""
        return RowsLine(self, scores, moved)


@dataclass(frozen=True)
class RowsLine:
    """The losses of rows whose scores are `scores` + length * `moved`."""

    problem: CLPLProblem
    scores: Floats
    moved: Floats

    def slope(self, length: float) -> float:
        """Return the first derivative of the losses' sum."""
        return float((self.problem.slopes(self.scores + length * self.moved) * self.moved).sum())

    def curvature(self, length: float) -> float:
        """Return the second."""
        curvatures = self.problem.curvatures(self.scores + length * self.moved)
        return float((self.problem.bend(curvatures, self.moved) * self.moved).sum())


def blocks_fit(shape: tuple[int, int]) -> bool:
    """Return whether K blocks of D x D numbers are small enough to be factorized."""
    n_classes, size = shape
    return n_classes * size**2 <= LARGEST_BLOCKS
