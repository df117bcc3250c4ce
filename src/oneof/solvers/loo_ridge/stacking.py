"""Several kernels as one: left-out predictions are averaged with weights under which they come nearest the labels.

With F_m = LOO_m(P) of kernel m the weights solve

    minimize  || P - sum_m w_m F_m ||^2,  w_m >= 0, sum_m w_m = 1

(Breiman, Stacked regressions, Machine Learning 24, 1996), which needs no true label: P are the labels of a loop that
takes all kernels alike. The average again leaves every row out exactly, at the cost of one kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.class_mass import with_class_mass
from oneof.solvers.loo_ridge.distractors import EvenDistractors
from oneof.solvers.loo_ridge.left_out import ExactRidge, LeavesOut, Ridge
from oneof.solvers.loo_ridge.rounds import run_rounds
from oneof.typing import Floats, Ints

LEAST_WEIGHT = 0.01
"""Kernels of less are left out."""


@dataclass(frozen=True)
class StackedExact:
    """The average of exact ridges, as one matrix."""

    operator: Floats
    """A, (n, n), with LOO(P) = P - A (P - 1 m^T)."""

    @classmethod
    def of(cls, ridges: Sequence[ExactRidge], weights: Floats) -> "StackedExact":
        """Average diag(1 / c_ii) C."""
        operator = np.zeros_like(ridges[0].inverse)
        for ridge, weight in zip(ridges, weights, strict=True):
            operator += (weight / ridge.diagonal) * ridge.inverse
        return cls(operator)

    def left_out(self, targets: Floats) -> Floats:
        """Return the (n, K) predictions of each row without its own target."""
        return targets - self.operator @ (targets - targets.mean(axis=0))

    def influences(self, rows: Ints) -> Floats:
        """Return a_ij, (number of rows, n), with LOO_i(P) = m + sum_j a_ij (P_j - m); a_ii means nothing."""
        return -self.operator[rows]


@dataclass(frozen=True)
class StackedRidge:
    """The average of any ridges."""

    ridges: Sequence[Ridge]
    weights: Floats

    def left_out(self, targets: Floats) -> Floats:
        """Return the (n, K) predictions of each row without its own target."""
        return np.sum(
            [weight * ridge.left_out(targets) for ridge, weight in zip(self.ridges, self.weights, strict=True)], axis=0
        )


def stacked(ridges: Sequence[Ridge], weights: Floats) -> LeavesOut:
    """Return the average, in the form in which it is cheapest."""
    if len(ridges) == 1:
        return ridges[0]
    exact = [ridge for ridge in ridges if isinstance(ridge, ExactRidge)]
    if len(exact) == len(ridges):
        return StackedExact.of(exact, weights)
    return StackedRidge(ridges, weights)


def stacking_weights(ridges: Sequence[Ridge], sets: CandidateGroups, *, max_iter: int) -> Floats:
    """Return w, (number of ridges,): at least 0, sum 1, and 0 where it would be less than a hundredth.

    Parameters
    ----------
    ridges : sequence of Ridge
        Of each kernel, on the rows of the sets.
    sets : CandidateGroups
        Rows without a label have no say.
    max_iter : int
        Of the loop with even distractors that finds the labels.
    """
    alike = np.full(len(ridges), 1.0 / len(ridges))
    if len(ridges) == 1:
        return alike
    account, told = with_class_mass(EvenDistractors(), sets), ~sets.unlabeled
    shares = run_rounds(stacked(ridges, alike), sets, account, max_iter=max_iter).shares
    residuals = np.stack([(shares - ridge.left_out(shares))[told].ravel() for ridge in ridges], axis=1)
    return simplex_least_squares(residuals)


def simplex_least_squares(residuals: Floats) -> Floats:
    """Return w that minimizes ||E w||^2 with w >= 0 and sum 1, small weights then dropped; E is (n, m).

    Without the sum, ||E w||^2 + (1 - sum w)^2 is least at a multiple of the same w: of all lengths along v of sum 1 the
    best gives q / (1 + q), q = ||E v||^2, which grows with q.
    """
    size = max(float(np.sqrt((residuals**2).sum(axis=0).mean())), np.finfo(float).tiny)
    system = np.vstack([np.linalg.qr(residuals / size, mode="r"), np.ones(residuals.shape[1])])
    weights, _ = nnls(system, np.append(np.zeros(len(system) - 1), 1.0))
    weights = weights / weights.sum()
    weights[weights < LEAST_WEIGHT] = 0.0
    return weights / weights.sum()
