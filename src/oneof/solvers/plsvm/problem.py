"""Objective of the partial-label SVM, and its published solver (Nguyen & Caruana 2008, Algorithm 1: Pegasos)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.solvers.feature_spaces import Space
from oneof.solvers.plsvm.level_sums import SummedLevels
from oneof.typing import Evidence, Floats, Ints, Mask


@dataclass(frozen=True)
class PLSVMSolution:
    """Result of a solver."""

    weights: Floats
    """Weights of the problem's space."""
    objective_path: Floats
    """J at the start and after each step; the default solver never increases it."""
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

    The L sets of the problem are the n candidate sets, or the level sets of weights. The hinge of a row with weights is
    the sum of those of its level sets, each times its mass.
    """

    space: Space
    evidence: Evidence
    """(n, K)."""
    lam: float
    row_weight: Floats | None = None
    """(n,): factors of the losses of the rows, above 0, with mean 1; None for 1."""
    ridge: Floats | None = None
    """(D,): the penalty of each weight relative to lam, at most 1; None for 1 (`oneof.solvers.plsvm.proximal`)."""

    def __post_init__(self) -> None:
        """Raise if lam is too small to divide by."""
        if not max(self.space.squares.max(initial=0.0), 1.0) < 1e200 * self.scale:
            raise InputError(f"`lam` must be larger compared with the squares of the features; got {self.lam!r}.")

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.evidence.shape[1])

    @cached_property
    def levels(self) -> SummedLevels | None:
        """The level sets of weights; None without any weights, if each row has one set of mass 1."""
        if self.row_weight is None:
            return None if self.evidence.dtype == bool else SummedLevels.from_evidence(self.evidence)
        levels = SummedLevels.from_evidence(self.evidence)
        return replace(levels, mass=levels.mass * self.row_weight[levels.row])

    @property
    def mask(self) -> Mask:
        """The classes of each set, (L, K)."""
        return self.evidence if self.levels is None else self.levels.mask

    @cached_property
    def mass(self) -> Floats:
        """The mass of each set, (L,)."""
        return np.ones(len(self.evidence)) if self.levels is None else self.levels.mass

    def of_sets(self, values: Floats) -> Floats:
        """Return the (n, K) values of the rows for each set, (L, K)."""
        return values if self.levels is None else values[self.levels.row]

    def of_rows(self, values: Floats) -> Floats:
        """Return the sums of (L, K) values over the sets of each row, (n, K)."""
        return values if self.levels is None else self.levels.sum_by_row(values)

    def mean_loss(self, losses: Floats) -> float:
        """Return 1/n times the sum of the losses of the sets, (L,), times their masses."""
        if self.levels is None:
            return float(losses.mean(dtype=np.float64))
        return float((self.mass * losses).sum()) / self.space.n_rows

    @property
    def scale(self) -> float:
        """The product lam n: W = 1/(lam n) sum_i (dual variables)_i x_i."""
        return self.lam * self.space.n_rows

    def penalty(self, weights: Floats) -> float:
        """Return lam/2 ||W||^2."""
        return 0.5 * self.lam * self.space.dot(weights, self.penalized(weights))

    def penalized(self, weights: Floats) -> Floats:
        """Return the derivative of the penalty by the weights, divided by lam."""
        return weights if self.ridge is None else self.ridge * weights

    def objective(self, weights: Floats, scores: Floats) -> float:
        """Return J."""
        best = best_scores(self.of_sets(scores), self.mask)
        return self.penalty(weights) + self.mean_loss(np.maximum(0.0, 1.0 - best.inside + best.outside))

    def majorant(self, weights: Floats, scores: Floats, chosen: Ints) -> float:
        """Return J with max_{k in S_i} s_ik replaced by the score of one candidate: a convex upper bound of J."""
        scores = self.of_sets(scores)
        inside = np.take_along_axis(scores, chosen[:, None], axis=1)[:, 0]
        losses = np.maximum(0.0, 1.0 - inside + best_scores(scores, self.mask).outside)
        return self.penalty(weights) + self.mean_loss(losses)


class BestScores(NamedTuple):
    """Best scores of each set, in it and outside it."""

    inside: Floats
    """(n,), float64."""
    chosen: Ints
    """(n,): in(i), the candidate with that score; the first one in case of ties."""
    outside: Floats
    """(n,), float64."""


def best_scores(scores: Floats, mask: Mask) -> BestScores:
    """Return the best scores of the rows in and outside their sets, by a compiled loop."""
    n = len(scores)
    best = BestScores(np.full(n, -np.inf), np.zeros(n, dtype=np.int64), np.full(n, -np.inf))
    _find_best(np.ascontiguousarray(scores.T), mask, *best)
    return best


@compiled
def _find_best(scores: Floats, mask: Mask, inside: Floats, chosen: Ints, outside: Floats) -> None:
    n_classes, n = scores.shape
    for k in range(n_classes):
        for i in range(n):
            value = scores[k, i]
            if not mask[i, k]:
                outside[i] = max(outside[i], value)
            elif value > inside[i]:
                inside[i], chosen[i] = value, k


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
    space, lam, n = problem.space, problem.lam, problem.space.n_rows
    subgradient = _set_subgradient(problem.mask) if problem.levels is None else _level_subgradient(problem.levels)
    trace = Trace()
    weights, square = space.zeros(problem.n_classes), 0.0
    scores = space.matvec(weights)
    converged = False
    for t in range(1, max_iter + 1):
        losses, steps = subgradient(scores)
        trace.add(0.5 * lam * square + losses / n)
        # W_{t+1/2} = (1 - eta lam) W_t + eta/n sum (x at yPL_i in the set - x at yPL_i outside), eta = 1/(lam t)
        updated = (1.0 - 1.0 / t) * weights + space.rmatvec(steps) / (lam * t * n)
        square = space.dot(updated, updated)
        # W_{t+1} = min(1, 1/sqrt(lam) / ||W_{t+1/2}||) W_{t+1/2}
        if square > 1.0 / lam:
            updated *= np.sqrt(1.0 / (lam * square))
            square = 1.0 / lam
        change = updated - weights
        weights = updated
        scores = space.matvec(weights)
        if tol > 0 and space.dot(change, change) <= min(tol, 1e150) ** 2 * square:
            converged = True
            break
    trace.add(problem.objective(weights, scores))
    return PLSVMSolution(weights, np.array(trace.objective), np.array(trace.times), t, converged)


def _set_subgradient(mask: Mask) -> Callable[[Floats], tuple[float, Floats]]:
    """Return the function of the scores that gives the sum of the hinges, and minus its derivatives by the scores."""
    rows = np.arange(len(mask))
    # Added to the scores, these exclude the other classes, or the candidates, from the maximum.
    only_in, only_out = np.where(mask, 0.0, -np.inf), np.where(mask, -np.inf, 0.0)

    def subgradient(scores: Floats) -> tuple[float, Floats]:
        # A_L and A_PL: the rows with a loss, with their yPL_i in the set and outside it
        into, out = (scores + only_in).argmax(axis=1), (scores + only_out).argmax(axis=1)
        losses = 1.0 - scores[rows, into] + scores[rows, out]
        violators = np.flatnonzero(losses > 0)
        steps = np.zeros_like(scores)
        steps[violators, into[violators]] = 1.0
        steps[violators, out[violators]] = -1.0
        return float(losses[violators].sum(dtype=np.float64)), steps

    return subgradient


def _level_subgradient(levels: SummedLevels) -> Callable[[Floats], tuple[float, Floats]]:
    """Return the same function as `_set_subgradient` for level sets, whose hinges are multiplied by their masses."""
    start = levels.start

    def subgradient(scores: Floats) -> tuple[float, Floats]:
        steps = np.zeros(scores.shape, dtype=scores.dtype)
        return _add_level_steps(np.ascontiguousarray(scores), levels.mask, levels.mass, start, steps), steps

    return subgradient


@compiled
def _add_level_steps(scores: Floats, mask: Mask, mass: Floats, start: Ints, steps: Floats) -> float:
    """Add the steps of all level sets to `steps`, (n, K), and return the sum of their losses."""
    total = 0.0
    for i in range(scores.shape[0]):
        for j in range(start[i], start[i + 1]):
            into, out = -1, -1
            for k in range(scores.shape[1]):
                if mask[j, k]:
                    if into < 0 or scores[i, k] > scores[i, into]:
                        into = k
                elif out < 0 or scores[i, k] > scores[i, out]:
                    out = k
            loss = 1.0 - scores[i, into] + scores[i, out]
            if loss > 0.0:
                total += mass[j] * loss
                steps[i, into] += mass[j]
                steps[i, out] -= mass[j]
    return total
