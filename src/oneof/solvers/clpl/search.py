"""The search for the minimum: Newton steps by conjugate gradients, each followed to the minimum on its line.

Where features are many and sparse, dual ascent goes first, and mostly suffices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.clpl.dual import ascend
from oneof.solvers.clpl.problem import CLPLProblem
from oneof.solvers.clpl.sums import Line, Sums
from oneof.solvers.linear_objective import OVERFLOW
from oneof.typing import FeatureMatrix, Floats, Mask

MOST_PRODUCTS = 1000
"""Products with the Hessian in a step."""


@dataclass(frozen=True)
class CLPLSolution:
    """The minimizer that `solve_clpl` found."""

    weights: Floats
    """(K, D): D = d, or d + 1 with the intercept b in the last column."""
    objective: float
    gradient: Floats
    """(K, D)."""
    n_iter: int
    """Newton steps; 1 where dual ascent alone has reached the minimum."""
    converged: bool


def solve_clpl(
    X: FeatureMatrix,
    mask: Mask,
    *,
    C: float,
    sample_weight: Floats,
    fit_intercept: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-8,
    initial: Floats | None = None,
) -> CLPLSolution:
    """Minimize the objective.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    mask : ndarray of shape (n, K), bool
    C : float
        Cost of the losses, > 0.
    sample_weight : ndarray of shape (n,)
        At least 0; a weight of 2 is the same as the row twice.
    fit_intercept : bool
        Add a constant to each class's score, not penalized (not in the paper).
    max_iter : int
        Newton steps, at most.
    tol : float
        The search ends where half the Newton decrement, which estimates f - min f, or the duality gap, which bounds it,
        is at most tol^2 f. As f grows from
        its minimum at least as 1/2 ||W - W_min||^2, this is a relative error of about `tol` in W.
    initial : ndarray of shape (K, D), optional
        A warm start.

    Returns
    -------
    CLPLSolution
    """
    problem = CLPLProblem.of(X, mask, C, sample_weight, fit_intercept=fit_intercept)
    if initial is None and sp.issparse(X) and len(problem.cost) and not problem.blocks_fit and not fit_intercept:
        initial, gap = ascend(problem, tol=tol**2, random=np.random.default_rng(0))
        if gap <= tol**2:
            scores = problem.scores(initial)
            objective, gradient = problem.objective(initial, scores), problem.gradient(initial, scores)
            return CLPLSolution(initial, objective, gradient, 1, converged=True)
    return minimize(problem, max_iter=max_iter, tol=tol, initial=initial)


@np.errstate(over="ignore", invalid="ignore")  # overflow is looked for below, and said in one sentence
def minimize(problem: Sums, *, max_iter: int, tol: float, initial: Floats | None = None) -> CLPLSolution:
    """Minimize the objective that a problem sums up; the other parameters are those of `solve_clpl`."""
    weights = np.zeros(problem.shape) if initial is None else np.array(initial, dtype=np.float64)
    n_iter, converged, accuracy, blocks = 0, False, 0.1, False
    while True:
        scores = problem.scores(weights)
        objective, gradient = problem.objective(weights, scores), problem.gradient(weights, scores)
        step, n_products = _newton_step(problem, scores, gradient, accuracy, blocks=blocks)
        decrement = -float((gradient * step).sum())
        if not (np.isfinite(objective) and np.isfinite(decrement)):
            raise InputError(OVERFLOW)
        converged = 0.5 * decrement <= min(tol, 1.0) ** 2 * objective  # f - min f is at most f, and no square overflows
        if converged or n_iter == max_iter:
            break
        # Blocks cost about as much as d/4 products, and keep the steps good where there are many.
        blocks = blocks or (problem.blocks_fit and (n_products > problem.shape[1] // 4 or n_iter >= 10))
        moved = problem.scores(step)
        length = _line_minimum(problem, weights, step, problem.line(scores, moved))
        if length == 0.0:  # rounding hides any gain along the step
            converged = 0.5 * decrement <= 1e-10 * objective
            break
        weights = weights + length * step
        accuracy = min(0.1, float(np.sqrt(decrement / objective)))
        n_iter += 1
    return CLPLSolution(weights, objective, gradient, n_iter, converged)


def _newton_step(problem: Sums, scores: Any, gradient: Floats, accuracy: float, *, blocks: bool) -> tuple[Floats, int]:
    """Solve H step = -gradient to a relative accuracy by conjugate gradients; also return the products with H taken."""
    curvatures = problem.curvatures(scores)
    precondition = _preconditioner(problem, curvatures, blocks=blocks)
    step, residual = np.zeros_like(gradient), -gradient
    direction = precondition(residual)
    size = float((residual * direction).sum())
    goal = size * max(accuracy, 1e-8) ** 2
    n_products = 0
    while size > goal and n_products < MOST_PRODUCTS:
        product = problem.hessian_product(curvatures, direction)
        curvature = float((direction * product).sum())
        if curvature <= 0.0:
            break
        n_products += 1
        step += size / curvature * direction
        residual -= size / curvature * product
        scaled = precondition(residual)
        size, last = float((residual * scaled).sum()), size
        direction = scaled + size / last * direction
    return step, n_products


def _preconditioner(problem: Sums, curvatures: Any, *, blocks: bool) -> Callable[[Floats], Floats]:
    """Return the inverse of the Hessian's blocks, one a class, or of its diagonal."""
    if not blocks:
        diagonal = problem.hessian_diagonal(curvatures)
        return lambda residual: residual / diagonal
    factors = problem.hessian_blocks(curvatures)
    return lambda residual: np.stack([factor.solve(part) for factor, part in zip(factors, residual)])


def _line_minimum(problem: Sums, weights: Floats, step: Floats, line: Line) -> float:
    """Return the length that minimizes f along the step: the root of its slope, increasing and linear in pieces."""
    linear = float((problem.penalized(weights) * step).sum())
    square = float((problem.penalized(step) ** 2).sum())

    def slope(length: float) -> float:
        return linear + length * square + line.slope(length)

    def curvature(length: float) -> float:
        return square + line.curvature(length)

    at_start = slope(0.0)
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(60):
        here = slope(length)
        if abs(here) <= 1e-3 * abs(at_start):
            return length
        low, high = (length, high) if here < 0 else (low, length)
        bent = curvature(length)
        length = length - here / bent if bent > 0 else np.inf
        if not low < length < high:
            length = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return low
