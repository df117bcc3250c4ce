"""Objective of the partial-label SVM, and its published solver (Nguyen & Caruana 2008, Algorithm 1: Pegasos)."""

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.solvers.feature_spaces import Space
from oneof.solvers.stacked_sets import StackedSets
from oneof.typing import Evidence, Floats, Ints, Mask


@dataclass(frozen=True)
class PLSVMSolution:
    """Result of a solver."""

    weights: Floats
    """Weights of the problem's space."""
    objective_path: Floats
    """J at the start and after each step."""
    times: Floats
    """Seconds since the start, for each entry of `objective_path`."""
    n_iter: int
    """Outer steps, or iterates after the first."""
    converged: bool
    """Whether the solver stopped by its `tol`."""
    duals: Floats | None = None
    """(L, K): coefficients of the sets from which dual ascent can continue; None after Pegasos."""


def check_definite(space: Space, weights: Floats) -> None:
    """Raise if the squared norm of the weights is below 0 by more than rounding."""
    if space.dot(weights, weights) < -1e-3 * space.dot(np.abs(weights), np.abs(weights)):
        raise InputError("`kernel` must be positive semi-definite; otherwise the objective is unbounded below.")


@dataclass(frozen=True)
class PLSVMProblem:
    """J(W) = lam/2 ||W||^2 + 1/n sum_i MPH_i, with the max prediction hinge MPH_i, over rows that are not unlabeled.

    The hinge of a row with weights is the sum of those of its level sets, each times its mass.
    """

    space: Space
    evidence: Evidence
    """(n, K)."""
    lam: float
    row_weight: Floats | None = None
    """(n,): factors of the losses of the rows, above 0, with mean 1; None for 1."""

    def __post_init__(self) -> None:
        """Raise if lam is too small to divide by."""
        if not max(self.space.squares.max(initial=0.0), 1.0) < 1e200 * self.scale:
            raise InputError(f"`lam` must be larger compared with the squares of the features; got {self.lam!r}.")

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.evidence.shape[1])

    @cached_property
    def sets(self) -> StackedSets:
        """The L sets of the rows, with the factors of the rows in their masses."""
        sets = StackedSets.from_evidence(self.evidence)
        return sets if self.row_weight is None else replace(sets, mass=sets.mass * self.row_weight[sets.row])

    @property
    def scale(self) -> float:
        """The product lam n: W = 1/(lam n) sum_i (dual variables)_i x_i."""
        return self.lam * self.space.n_rows

    def weights(self, coefficients: Floats) -> Floats:
        """Return the weights of dual variables, (L, K)."""
        if not coefficients.any():  # as at the start on exact sets
            return self.space.zeros(self.n_classes)
        return self.space.rmatvec(self.sets.sum_by_row(coefficients)) / self.scale

    def mean_loss(self, losses: Floats) -> float:
        """Return 1/n times the sum of the losses of the sets, (L,), times their masses."""
        return float((self.sets.mass * losses).sum()) / self.space.n_rows

    def penalty(self, weights: Floats) -> float:
        """Return lam/2 ||W||^2."""
        return 0.5 * self.lam * self.space.dot(weights, weights)

    def objective(self, weights: Floats, scores: Floats) -> float:
        """Return J."""
        best = best_scores(self.sets.take(scores), self.sets.mask)
        return self.penalty(weights) + self.mean_loss(best.hinges)

    def majorant(self, weights: Floats, scores: Floats, chosen: Ints) -> float:
        """Return J with max_{k in S_i} s_ik replaced by the score of one candidate: a convex upper bound of J."""
        scores = self.sets.take(scores)
        inside = np.take_along_axis(scores, chosen[:, None], axis=1)[:, 0]
        losses = np.maximum(0.0, 1.0 - inside + best_scores(scores, self.sets.mask).outside)
        return self.penalty(weights) + self.mean_loss(losses)


class BestScores(NamedTuple):
    """Best scores of each set, in it and outside it."""

    inside: Floats
    """(L,), float64."""
    chosen: Ints
    """(L,): in(i), the candidate with that score; the first one in case of ties."""
    outside: Floats
    """(L,), float64."""
    rival: Ints
    """(L,): out(i), the class outside with that score; the first one in case of ties."""

    @property
    def hinges(self) -> Floats:
        """The losses of the sets, (L,)."""
        return np.maximum(0.0, 1.0 - self.inside + self.outside)


def best_scores(scores: Floats, mask: Mask) -> BestScores:
    """Return the best (L, K) scores in and outside the sets, by a compiled loop."""
    n = len(scores)
    best = [(np.full(n, -np.inf), np.zeros(n, dtype=np.int64)) for _ in range(2)]
    _find_best(np.ascontiguousarray(scores.T), mask, *best[0], *best[1])
    return BestScores(*best[0], *best[1])


@compiled
def _find_best(scores: Floats, mask: Mask, inside: Floats, chosen: Ints, outside: Floats, rival: Ints) -> None:
    n_classes, n = scores.shape
    for k in range(n_classes):
        for i in range(n):
            value = scores[k, i]
            if mask[i, k]:
                if value > inside[i]:
                    inside[i], chosen[i] = value, k
            elif value > outside[i]:
                outside[i], rival[i] = value, k


@dataclass
class Trace:
    """Objective over time."""

    objective: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def add(self, value: float) -> None:
        """Append the objective and the time."""
        self.objective.append(value)
        self.times.append(time.perf_counter() - self.started)


def solve_pegasos(problem: PLSVMProblem, *, max_iter: int = 1000, tol: float = 0.0) -> PLSVMSolution:
    """Take `max_iter` steps of length 1/(lam t) along the subgradient of all rows; return the last iterate.

    Parameters
    ----------
    problem : PLSVMProblem
    max_iter : int
        T.
    tol : float
        Stop if a step changes W by at most tol ||W||; 0 never stops early.

    Returns
    -------
    PLSVMSolution
    """
    space, lam, n, sets = problem.space, problem.lam, problem.space.n_rows, problem.sets
    trace, converged = Trace(), False
    weights, square = space.zeros(problem.n_classes), 0.0
    scores = space.matvec(weights)
    for t in range(1, max_iter + 1):
        best = best_scores(sets.take(scores), sets.mask)
        trace.add(0.5 * lam * square + problem.mean_loss(best.hinges))
        # A_L and A_PL: the rows with a loss; each steps along x at its best class in the set, in(i), and along -x at
        # its best class outside, out(i), the paper's two forms of yPL_i
        violators = np.flatnonzero(best.hinges)
        steps = np.zeros(sets.mask.shape)
        steps[violators, best.chosen[violators]] = sets.mass[violators]
        steps[violators, best.rival[violators]] = -sets.mass[violators]
        # W_{t+1/2} = (1 - eta lam) W_t + eta/n sum (x at in(i) - x at out(i)), eta = 1/(lam t)
        updated = (1.0 - 1.0 / t) * weights + space.rmatvec(sets.sum_by_row(steps)) / (lam * t * n)
        square = space.dot(updated, updated)
        # W_{t+1} = min(1, 1/sqrt(lam) / ||W_{t+1/2}||) W_{t+1/2}
        if square > 1.0 / lam:
            updated *= np.sqrt(1.0 / (lam * square))
            square = 1.0 / lam
        change = updated - weights
        weights, scores = updated, space.matvec(updated)
        if tol > 0 and space.dot(change, change) <= min(tol, 1e150) ** 2 * square:
            converged = True
            break
    trace.add(problem.objective(weights, scores))
    return PLSVMSolution(weights, np.array(trace.objective), np.array(trace.times), t, converged)
