"""Convex loss for partial labels: the objective and its derivatives."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from oneof.jit import compiled
from oneof.likelihoods import constant_rows
from oneof.solvers.clpl.inside_means import InsideMeans, inside_means
from oneof.solvers.linear_objective import HessianBlock, LinearProblem, Point, SmoothProblem
from oneof.solvers.row_accessors import sparse_if_few
from oneof.typing import Evidence, FeatureMatrix, Floats

MAX_BLOCK_ENTRIES = 3e7
"""Maximum number of entries in the Hessian's K blocks (240 MB) for a factorization."""
MAX_ACTIVE = 0.8
"""Fraction of rows with a loss above which all rows are used."""


@dataclass(frozen=True)
class CLPLProblem(LinearProblem):
    """Objective over weights of shape (K, D), for rows that are not unlabeled and have a positive weight."""

    evidence: Evidence
    """(n, K)."""
    inside: InsideMeans
    """The means of the sets; weighted rows have one for each of their L level sets."""
    outside: Floats
    """(n, K): 0 in the set and 1 outside; 1 - w_k with weights."""
    cost: Floats
    """(n, 1): C times the sample weight."""

    @classmethod
    def from_evidence(
        cls, X: FeatureMatrix, evidence: Evidence, C: float, sample_weight: Floats, *, fit_intercept: bool
    ) -> "CLPLProblem":
        """Return the problem of the rows that have a loss."""
        labeled = ~constant_rows(evidence) & (sample_weight > 0)
        evidence, X = evidence[labeled], sparse_if_few(X)
        return cls(
            X=(X if labeled.all() else X[labeled]).astype(np.float64, copy=False),
            n_classes=evidence.shape[1],
            has_intercept=fit_intercept,
            evidence=evidence,
            inside=inside_means(evidence),
            outside=1.0 - evidence,
            cost=C * sample_weight[labeled][:, None],
        )

    @property
    def blocks_fit(self) -> bool:
        """Whether the Hessian's blocks are small enough to be factorized."""
        n_classes, size = self.shape
        return n_classes * size**2 <= MAX_BLOCK_ENTRIES

    def hinges(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return max(0, 1 - mean over the set), (L, 1), and max(0, 1 + score), (n, K)."""
        return np.maximum(0.0, 1.0 - self.inside.means(scores)), np.maximum(0.0, 1.0 + scores)

    def objective(self, weights: Floats, scores: Floats) -> float:
        """Return f."""
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + self.losses(scores)

    def losses(self, scores: Floats) -> float:
        """Return the sum of the losses."""
        return float(self.cost[:, 0] @ self.row_losses(scores))

    def row_losses(self, scores: Floats) -> Floats:
        """Return the losses of the rows without their costs, (n,)."""
        inner = np.maximum(0.0, 1.0 - self.inside.means(scores))
        return self.inside.of_rows(inner**2)[:, 0] + _outer_losses(scores, self.outside)

    def score_gradient(self, scores: Floats) -> Floats:
        """Return the (n, K) derivatives of the losses by the scores."""
        inner, outer = self.hinges(scores)
        return 2.0 * self.cost * (self.outside * outer - self.inside.spread(inner))

    def gradient(self, weights: Floats, scores: Floats) -> Floats:
        """Return the (K, D) gradient of f."""
        return self.penalized(weights) + self.rmatvec(self.score_gradient(scores), self.X)

    def curvatures(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the second derivatives by the mean over the set, (L, 1), and by each score outside it, (n, K)."""
        inner, outer = self.hinges(scores)
        return 2.0 * self.inside.of_sets(self.cost) * (inner > 0), 2.0 * self.cost * self.outside * (outer > 0)

    def hvp_scores(self, curvatures: tuple[Floats, Floats], score_step: Floats) -> Floats:
        """Return the Hessian of the losses by the scores times a step of the scores, (n, K)."""
        inner, outer = curvatures
        return self.inside.spread(inner * self.inside.means(score_step)) + outer * score_step

    def hvp(self, curvatures: tuple[Floats, Floats], direction: Floats) -> Floats:
        """Return the Hessian of f times a direction, (K, D)."""
        return self.penalized(direction) + self.rmatvec(self.hvp_scores(curvatures, self.matvec(direction)), self.X)

    def curvature_by_class(self, curvatures: tuple[Floats, Floats]) -> Floats:
        """Return the second derivatives of the losses by each single score, (n, K)."""
        inner, outer = curvatures
        return self.inside.spread_squares(inner) + outer

    def hessian_diagonal(self, curvatures: tuple[Floats, Floats]) -> Floats:
        """Return the diagonal of the Hessian of f, (K, D)."""
        return self.diagonal(self.curvature_by_class(curvatures))

    def hessian_blocks(self, curvatures: tuple[Floats, Floats]) -> list[HessianBlock]:
        """Return the diagonal blocks of the Hessian of f, one per class."""
        by_class = self.curvature_by_class(curvatures)
        return [self.block(by_class[:, k]) for k in range(self.n_classes)]

    def block_cost(self, curvatures: tuple[Floats, Floats]) -> float:
        """Return the cost of the Hessian's blocks, in products with the Hessian."""
        n_classes, size = self.shape
        if sp.issparse(self.X):
            return size / 4
        n_active = np.count_nonzero(self.curvature_by_class(curvatures))
        return size * (n_active + n_classes * size / 3) / (2.0 * max(len(self.cost), 1) * n_classes)

    def line(self, scores: Floats, score_step: Floats) -> "LineFunction":
        """Return the losses along a step of the scores."""
        means = self.inside.means(scores)[:, 0], self.inside.means(score_step)[:, 0]
        return LineFunction(self, scores, score_step, *means)

    def active(self, scores: Floats) -> tuple["CLPLProblem", Floats]:
        """Return the problem of the rows with a positive loss at these scores, which has the same derivatives."""
        is_active = self.row_losses(scores) > 0.0
        if np.count_nonzero(is_active) > MAX_ACTIVE * len(is_active):
            return self, scores
        rows = np.flatnonzero(is_active)
        restricted = replace(
            self,
            X=self.X[rows],
            evidence=self.evidence[rows],
            inside=self.inside.take(rows),
            outside=self.outside[rows],
            cost=self.cost[rows],
        )
        return restricted, scores[rows]


@dataclass(frozen=True)
class SmoothCLPL(SmoothProblem):
    """The problem in the form of L-BFGS."""

    problem: CLPLProblem

    @classmethod
    def of(cls, problem: CLPLProblem) -> "SmoothCLPL":
        """Return the form of a problem."""
        return cls(problem.X, problem.n_classes, problem.has_intercept, problem)

    def point(self, weights: Floats, scores: Floats) -> Point:
        """Return the point with these weights and their scores."""
        by_score = self.problem.score_gradient(scores)
        return Point(weights, scores, by_score, self.problem.objective(weights, scores))

    def curvatures(self, scores: Floats) -> Floats:
        """Return the second derivatives of the losses by each score, (n, K)."""
        return self.problem.curvature_by_class(self.problem.curvatures(scores))


@dataclass(frozen=True)
class LineFunction:
    """Losses at the scores `scores` + length * `score_step`."""

    problem: CLPLProblem
    scores: Floats
    score_step: Floats
    means: Floats
    """(L,): means of the scores over the sets."""
    mean_steps: Floats
    """(L,)."""

    def derivatives(self, length: float) -> tuple[float, float]:
        """Return the first and the second derivative of the sum of the losses."""
        p = self.problem
        inner = np.maximum(0.0, 1.0 - self.means - length * self.mean_steps)
        first = p.inside.of_rows((-inner * self.mean_steps)[:, None])[:, 0]
        second = p.inside.of_rows(((inner > 0.0) * self.mean_steps**2)[:, None])[:, 0]
        outer = _outer_derivatives(self.scores, self.score_step, p.outside, p.cost[:, 0], length)
        return 2.0 * (float(p.cost[:, 0] @ first) + outer[0]), 2.0 * (float(p.cost[:, 0] @ second) + outer[1])


@compiled
def _outer_losses(scores: Floats, outside: Floats) -> Floats:
    """Return the sums of the losses of the classes outside, (n,)."""
    losses = np.empty(scores.shape[0])
    for i in range(scores.shape[0]):
        total = 0.0
        for k in range(scores.shape[1]):
            total += outside[i, k] * max(0.0, 1.0 + scores[i, k]) ** 2
        losses[i] = total
    return losses


@compiled
def _outer_derivatives(
    scores: Floats, steps: Floats, outside: Floats, cost: Floats, length: float
) -> tuple[float, float]:
    """Return half the derivatives of the losses of the classes outside."""
    first, second = 0.0, 0.0
    for i in range(scores.shape[0]):
        row_first, row_second = 0.0, 0.0
        for k in range(scores.shape[1]):
            step = steps[i, k]
            hinge = 1.0 + scores[i, k] + length * step
            weighted = outside[i, k] * step if hinge > 0.0 else 0.0
            row_first += weighted * hinge
            row_second += weighted * step
        first += cost[i] * row_first
        second += cost[i] * row_second
    return first, second
