"""Convex loss for partial labels: the objective and its derivatives."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oneof.jit import compiled
from oneof.likelihoods import constant_rows
from oneof.solvers.linear_objective import HessianBlock, LinearIterate, SmoothProblem
from oneof.solvers.row_accessors import sparse_if_few
from oneof.solvers.stacked_sets import StackedSets
from oneof.typing import Evidence, FeatureMatrix, Floats

MAX_BLOCK_ENTRIES = 3e7
"""Maximum number of entries in the Hessian's K blocks (240 MB) for a factorization."""
MAX_ACTIVE = 0.8
"""Fraction of rows with a loss above which all rows are used."""


class MeanSets(StackedSets):
    """Means of the scores over the L sets of n rows."""

    @cached_property
    def fraction(self) -> Floats:
        """1/|S_j| in the set and 0 outside, (L, K), so that the mean over the set is a sum."""
        return self.mask / np.count_nonzero(self.mask, axis=1)[:, None]

    def means(self, scores: Floats) -> Floats:
        """Return the mean of the (n, K) scores over each set, (L,)."""
        return np.einsum("jk,jk->j", self.fraction, self.take(scores))

    def spread(self, values: Floats) -> Floats:
        """Return the (n, K) derivatives of the sum of values, (L,), times means by the scores."""
        return self.sum_by_row(self.fraction * values[:, None])


@dataclass(frozen=True)
class CLPLProblem(SmoothProblem):
    """Objective over weights of shape (K, D), for rows that are not unlabeled and have a positive weight.

    f = 1/2 ||W||^2 + sum_j c_j psi(mean_{k in S_j} s_ik) + sum_ik c_ik psi(-s_ik) over the sets j and the rows i.
    """

    sets: MeanSets
    outside: Floats
    """(n, K): 0 in the set and 1 outside; 1 - w_k with weights."""
    cost: Floats
    """(n, 1): C times the sample weight; c_ik is its product with `outside`."""

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
            sets=MeanSets.from_evidence(evidence),
            outside=1.0 - evidence,
            cost=C * sample_weight[labeled][:, None],
        )

    @cached_property
    def set_cost(self) -> Floats:
        """c_j of the sets, (L,): C times the sample weight times the mass."""
        return self.sets.mass * self.sets.take(self.cost)[:, 0]

    @property
    def blocks_fit(self) -> bool:
        """Whether the Hessian's blocks are small enough to be factorized."""
        n_classes, size = self.shape
        return n_classes * size**2 <= MAX_BLOCK_ENTRIES

    def hinges(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return max(0, 1 - mean over the set), (L,), and max(0, 1 + score), (n, K)."""
        return np.maximum(0.0, 1.0 - self.sets.means(scores)), np.maximum(0.0, 1.0 + scores)

    def losses(self, scores: Floats) -> float:
        """Return the sum of the losses."""
        inner = np.maximum(0.0, 1.0 - self.sets.means(scores))
        return float(self.set_cost @ inner**2) + float(self.cost[:, 0] @ _outer_losses(scores, self.outside))

    def objective(self, weights: Floats, scores: Floats) -> float:
        """Return f."""
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + self.losses(scores)

    def point(self, weights: Floats, scores: Floats) -> LinearIterate:
        """Return the point with these weights and their scores."""
        inner, outer = self.hinges(scores)
        half_gradient = self.cost * self.outside * outer
        value = 0.5 * float((self.penalized(weights) ** 2).sum()) + float(self.set_cost @ inner**2)
        by_score = 2.0 * (half_gradient - self.sets.spread(self.set_cost * inner))
        return LinearIterate(weights, scores, by_score, value + float((half_gradient * outer).sum()))

    def loss_curvatures(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the second derivatives by the mean over each set, (L,), and by each score outside, (n, K)."""
        inner, outer = self.hinges(scores)
        return 2.0 * self.set_cost * (inner > 0), 2.0 * self.cost * self.outside * (outer > 0)

    def curvatures(self, scores: Floats) -> Floats:
        """Return the second derivatives of the losses by each single score, (n, K)."""
        inner, outer = self.loss_curvatures(scores)
        return self.sets.sum_by_row(self.sets.fraction**2 * inner[:, None]) + outer

    def hvp(self, curvatures: tuple[Floats, Floats], direction: Floats) -> Floats:
        """Return the Hessian of f times a direction, (K, D)."""
        (inner, outer), step = curvatures, self.matvec(direction)
        by_score = self.sets.spread(inner * self.sets.means(step)) + outer * step
        return self.penalized(direction) + self.rmatvec(by_score, self.X)

    def hessian_blocks(self, curvatures: Floats) -> list[HessianBlock]:
        """Return the diagonal blocks of the Hessian of f, one per class."""
        return [self.block(curvature) for curvature in curvatures.T]

    def active(self, scores: Floats) -> tuple["CLPLProblem", Floats]:
        """Return the problem of the rows with a positive loss at these scores, which has the same derivatives."""
        inner = np.maximum(0.0, 1.0 - self.sets.means(scores))[:, None]
        is_active = (self.sets.sum_by_row(inner)[:, 0] > 0.0) | (_outer_losses(scores, self.outside) > 0.0)
        if np.count_nonzero(is_active) > MAX_ACTIVE * len(is_active):
            return self, scores
        rows = np.flatnonzero(is_active)
        sets, outside, cost = self.sets.of_rows(rows), self.outside[rows], self.cost[rows]
        return replace(self, X=self.X[rows], sets=sets, outside=outside, cost=cost), scores[rows]

    def line_derivatives(self, scores: Floats, score_step: Floats, length: float) -> tuple[float, float]:
        """Return the first and the second derivative of the losses along a step of the scores."""
        mean_step = self.sets.means(score_step)
        inner = np.maximum(0.0, 1.0 - self.sets.means(scores) - length * mean_step)
        outer = _outer_derivatives(scores, score_step, self.outside, self.cost[:, 0], length)
        first = outer[0] - float(self.set_cost @ (inner * mean_step))
        return 2.0 * first, 2.0 * (outer[1] + float(self.set_cost @ ((inner > 0.0) * mean_step**2)))


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
