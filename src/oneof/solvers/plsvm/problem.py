"""The objective of the partial-label SVM, and what its solvers return."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from oneof.errors import InputError
from oneof.solvers.feature_spaces import Space
from oneof.solvers.jit import compiled
from oneof.typing import Floats, Ints, Mask


@dataclass(frozen=True)
class PLSVMSolution:
    """Where a solver ended."""

    weights: Floats
    """Of the space."""
    objective: Floats
    """J over time, from the start on; it never rises with the default solver."""
    seconds: Floats
    """When each was reached, since the start."""
    n_iter: int
    """Outer steps, or iterates after the first."""
    converged: bool
    """Whether the solver stopped by its `tol`."""
    duals: Floats | None = None
    """(n, K): coefficients of the rows from which dual ascent can go on, where that was the solver."""


def refuse_indefinite(space: Space, weights: Floats) -> None:
    """Raise where the square of the weights is below 0 by more than rounding."""
    if space.dot(weights, weights) < -1e-3 * space.dot(np.abs(weights), np.abs(weights)):
        raise InputError("the kernel is not positive semi-definite, so that no machine is best: choose another.")


@dataclass(frozen=True)
class PLSVMProblem:
    """J(W) = lam/2 ||W||^2 + 1/n sum_i MPH_i over rows none of which is full."""

    space: Space
    mask: Mask
    """(n, K)."""
    lam: float

    def __post_init__(self) -> None:
        """Refuse a lam by which nothing can be divided."""
        if not max(self.space.squares.max(initial=0.0), 1.0) < 1e200 * self.scale:
            raise InputError(f"lam={self.lam!r} is too small beside the features: raise it.")

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.mask.shape[1])

    @property
    def scale(self) -> float:
        """Lam n: W = 1/(lam n) sum_i (dual variables)_i x_i."""
        return self.lam * self.space.n_rows

    def penalty(self, weights: Floats) -> float:
        """Return lam/2 ||W||^2."""
        return 0.5 * self.lam * self.space.dot(weights, weights)

    def objective(self, weights: Floats, scores: Floats) -> float:
        """Return J."""
        best = best_scores(scores, self.mask)
        return self.penalty(weights) + float(np.maximum(0.0, 1.0 - best.inside + best.outside).mean())

    def majorant(self, weights: Floats, scores: Floats, chosen: Ints) -> float:
        """Return J with max_{k in S_i} s_ik replaced by the score of one candidate: convex, and nowhere below J."""
        inside = np.take_along_axis(scores, chosen[:, None], axis=1)[:, 0]
        losses = np.maximum(0.0, 1.0 - inside + best_scores(scores, self.mask).outside)
        return self.penalty(weights) + float(losses.mean(dtype=np.float64))


class BestScores(NamedTuple):
    """The best scores of each row in its set and outside it."""

    inside: Floats
    """(n,), float64."""
    chosen: Ints
    """(n,): in(i), the candidate of that score; the first of equals."""
    outside: Floats
    """(n,), float64."""


def best_scores(scores: Floats, mask: Mask) -> BestScores:
    """Return the best scores of the rows in and outside their sets; compiled, as solvers ask for them often."""
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
    """The objective over time."""

    objective: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def add(self, value: float) -> None:
        """Note the objective at this time."""
        self.objective.append(value)
        self.seconds.append(time.perf_counter() - self.started)
