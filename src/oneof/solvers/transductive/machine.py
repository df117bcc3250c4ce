"""A support vector machine of two classes in which every row has a cost of its own.

With signs y_i = +-1, costs C_i >= 0, and scores f_i = <w, Phi(x_i)> + b,

    min_{w, b}  P = 1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i f_i)

    max_beta    D = sum_i y_i beta_i - 1/2 ||w||^2,   w = sum_i beta_i Phi(x_i),
                0 <= y_i beta_i <= C_i,   sum_i beta_i = 0.

The dual is raised row by row (Hsieh et al. 2008, A dual coordinate descent method for large-scale linear SVM), which
cannot keep the equality. So b is held near a center by a penalty (b - center)^2 / (2 r), which is a constant feature
sqrt(r), and the center moves to where b is, again and again: the proximal point method, which is the method of
multipliers on the equality (Rockafellar 1976). It ends at the machine whose b has no penalty.
"""

from dataclasses import dataclass, replace

import numpy as np

from oneof.errors import InputError
from oneof.solvers.feature_spaces import Space
from oneof.solvers.jit import compiled
from oneof.solvers.row_accessors import row_add, row_scores
from oneof.solvers.transductive.intercept import best_intercept
from oneof.solvers.transductive.newton import newton_rounds
from oneof.typing import Floats

MOST_PASSES = 10_000
"""Passes over the rows for one machine, at most."""
_FIRST_LEAP = 50
"""Passes before a step over all free variables at once is tried."""
_CLOSEST = 1e-13
"""Of scores: closer tolerances are lost in rounding."""


@dataclass(frozen=True)
class Machine:
    """Where the ascent ended."""

    coefficients: Floats
    """(n,): beta."""
    weights: Floats
    """sum_i beta_i Phi(x_i), of the space."""
    products: Floats
    """(n,): <w, Phi(x_i)>."""
    intercept: float
    """The middle of the intercepts that are best for w; the end of them where they go on without end."""
    held_intercept: float
    """The intercept from which the ascent would go on."""
    violation: float
    """By how much the score of a row with a cost breaks a condition of optimality, at most."""
    converged: bool = False
    """Whether that is at most the tolerance."""

    @property
    def scores(self) -> Floats:
        """(n,): f."""
        return self.products + self.intercept


@dataclass(frozen=True)
class MachineProblem:
    """The rows, of which all machines are made."""

    space: Space
    has_intercept: bool

    def objective(self, machine: Machine, signs: Floats, costs: Floats) -> float:
        """Return P, from the hinge losses themselves."""
        losses = np.maximum(0.0, 1.0 - signs * machine.scores)
        return 0.5 * self.space.dot(machine.weights, machine.weights) + float(costs @ losses)

    def start(self) -> Machine:
        """Return the machine w = 0, b = 0."""
        n = self.space.n_rows
        return Machine(np.zeros(n), self.space.zeros(1), np.zeros(n), 0.0, 0.0, np.inf)


def solve_machine(
    problem: MachineProblem,
    signs: Floats,
    costs: Floats,
    *,
    initial: Machine,
    tol: float,
    random: np.random.Generator,
    may_rise: bool = False,
    most_passes: int = MOST_PASSES,
) -> Machine:
    """Raise the dual from the coefficients of another machine, cut off at the bounds, until the conditions hold.

    It goes on, to a closer tolerance, where P would otherwise be higher than at the weights that it began with, unless
    it may be.

    Parameters
    ----------
    problem : MachineProblem
    signs : ndarray of shape (n,)
        -1 or 1.
    costs : ndarray of shape (n,)
        At least 0; rows of cost 0 do not count.
    initial : Machine
    tol : float
        What a score may break a condition of optimality by: y_i f_i >= 1 where beta_i = 0, <= 1 where it is y_i C_i,
        and = 1 between; within tol C_i of a bound, beta_i counts as being at it.
    random : Generator
        For the order of the rows.
    may_rise : bool
    most_passes : int
        Passes over the rows, at most.

    Returns
    -------
    Machine

    Raises
    ------
    InputError
        If the squared length of the weights is below 0, so that the kernel is none.
    """
    space = problem.space
    ceiling = np.inf if may_rise else problem.objective(initial, signs, costs)
    coefficients = signs * np.clip(signs * initial.coefficients, 0.0, costs)
    strength = float(space.squares.mean()) if problem.has_intercept else 0.0
    curvatures, rows = space.squares + strength, space.rows()
    counted = np.flatnonzero(costs > 0.0)
    intercept = np.array([initial.held_intercept])
    waiting, idle = np.zeros((2, space.n_rows), dtype=np.int64)
    entered = space.to_internal(space.rmatvec(coefficients[:, None]))
    aim, done, leap = tol, 0, _FIRST_LEAP
    while True:
        waiting[:] = done  # rows that looked settled are looked at again
        while done < most_passes:
            order = random.permutation(counted[waiting[counted] <= done])
            worst = _pass(
                rows, order, signs, costs, curvatures, strength, entered, intercept, coefficients, waiting, idle, done
            )
            done += 1
            push = strength * float(coefficients.sum())
            if abs(push) > max(worst, aim):  # the rows agree on a b that is held back by its center
                intercept[0] += push
            elif worst <= aim:
                if len(order) == len(counted):
                    break
                waiting[:] = done
            if done >= leap:
                leap = done + max(_FIRST_LEAP, done // 4)
                end = newton_rounds(
                    space, signs, costs, coefficients, float(intercept[0]), moves=problem.has_intercept, tol=aim
                )
                coefficients[:], intercept[0] = end.coefficients, end.intercept
                if end.converged:
                    break
                entered = space.to_internal(space.rmatvec(coefficients[:, None]))
                waiting[:] = done
        found = _measure(problem, signs, costs, coefficients, float(intercept[0]), tol)
        risen = problem.objective(found, signs, costs) > ceiling * (1.0 + 1e-12)
        if done >= most_passes or aim < _CLOSEST or not (found.violation > tol or risen):
            return replace(found, converged=found.violation <= tol)
        entered = space.to_internal(found.weights)
        aim *= 0.2
        if done >= _FIRST_LEAP:
            leap = done  # where ascent was slow once, it will be so again


def _measure(
    problem: MachineProblem, signs: Floats, costs: Floats, coefficients: Floats, held_intercept: float, tol: float
) -> Machine:
    """Return the machine of dual variables, without what rounding has added up on the way."""
    space = problem.space
    weights = space.rmatvec(coefficients[:, None])
    products = np.asarray(space.matvec(weights))[:, 0]
    if products @ coefficients < -1e-6 * (np.abs(products) @ np.abs(coefficients)):
        raise InputError("the kernel is not positive semi-definite, so that no machine is best: choose another.")
    intercept = best_intercept(products, signs, costs) if problem.has_intercept else 0.0
    short = 1.0 - signs * (products + intercept)
    sizes = signs * coefficients
    # Where all are at their bounds, many intercepts are best, and the middle of them is not that of the ascent.
    inside = sizes > tol * costs, sizes < (1.0 - tol) * costs
    broken = np.maximum(np.where(inside[1], short, 0.0), np.where(inside[0], -short, 0.0))
    violation = float(broken.max(where=costs > 0.0, initial=0.0))
    return Machine(coefficients.copy(), weights, products, intercept, held_intercept, violation)


@compiled
def _pass(rows, order, signs, costs, curvatures, strength, weights, intercept, coefficients, waiting, idle, done):
    """Go over the rows once; return the largest violation met."""
    score = np.empty(1)
    worst = 0.0
    for r in range(order.shape[0]):
        i = order[r]
        sign, cost, size = signs[i], costs[i], signs[i] * coefficients[i]
        row_scores(rows, i, weights, score)
        short = 1.0 - sign * (score[0] + intercept[0])
        broken = max(short if size < cost else 0.0, -short if size > 0.0 else 0.0)
        worst = max(worst, broken)
        if broken == 0.0:
            # A row that stays at its bound sits out longer and longer.
            idle[i] = min(2 * idle[i] + 1, 31)
        else:
            idle[i] = 0
            moved = cost if short > 0.0 else 0.0
            if curvatures[i] > 0.0:
                moved = min(max(size + short / curvatures[i], 0.0), cost)
            step = sign * (moved - size)
            coefficients[i] = sign * moved
            row_add(rows, i, weights, 0, step)
            intercept[0] += strength * step
        waiting[i] = done + 1 + idle[i]
    return worst
