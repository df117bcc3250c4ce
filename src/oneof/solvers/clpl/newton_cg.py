"""Solver: dual ascent on sparse rows, then L-BFGS, then Newton steps by conjugate gradients if L-BFGS is slow.

Newton steps have an exact line search.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers import lbfgs
from oneof.solvers.clpl.dual_ascent import GAP_ROUNDING, ascend
from oneof.solvers.clpl.problem import CLPLProblem
from oneof.solvers.linear import conjugate_gradients
from oneof.solvers.linear_objective import OVERFLOW
from oneof.typing import Evidence, FeatureMatrix, Floats

MAX_CG_ITER = 1000
"""Maximum number of products with the Hessian per step."""
MAX_LBFGS_ITER = 300
"""Iterations of L-BFGS before Newton steps, which are exact: for large C it is slow at the kinks of the loss."""


@dataclass(frozen=True)
class CLPLSolution:
    """Result of `solve_clpl`."""

    weights: Floats
    """(K, D): D = d, or d + 1 with the intercept b in the last column."""
    objective_path: Floats
    """(n_values,): f at the start of the Newton steps and after each of them."""
    gradient: Floats
    """(K, D)."""
    n_iter: int
    """Newton steps; 1 if dual ascent alone reached the minimum."""
    converged: bool

    @property
    def objective(self) -> float:
        """Final value of f."""
        return float(self.objective_path[-1])


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked, and reported in one message
def solve_clpl(
    X: FeatureMatrix,
    evidence: Evidence,
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
    evidence : ndarray of shape (n, K), bool or float64
    C : float
        Weight of the losses, > 0.
    sample_weight : ndarray of shape (n,)
        At least 0; a weight of 2 is the same as the row twice.
    fit_intercept : bool
        Add a constant to each class's score, not penalized (not in the paper).
    max_iter : int
        Maximum number of iterations of L-BFGS and of Newton steps.
    tol : float
        Stop if an estimate of f - min f, by the inverse Hessian of L-BFGS or half the Newton decrement, or the duality
        gap, which bounds it, is at most tol^2 f. As f grows from its minimum at least as 1/2 ||W - W_min||^2, this is a
        relative error of about `tol` in W.
    initial : ndarray of shape (K, D), optional
        A warm start.

    Returns
    -------
    CLPLSolution
    """
    problem = CLPLProblem.from_evidence(X, evidence, C, sample_weight, fit_intercept=fit_intercept)
    weights, max_gap = problem.zeros(), max(tol * tol, GAP_ROUNDING)  # a product that overflows is infinite
    if initial is not None:
        weights += initial
    elif len(problem.cost) and not fit_intercept and sp.issparse(problem.X):
        ascent, gap = ascend(problem, tol=max_gap, rng=np.random.default_rng(0))
        weights += ascent
        if gap <= max_gap:
            point = problem.point(weights, problem.matvec(weights))
            return CLPLSolution(weights, np.array([point.value]), problem.gradient(point), 1, converged=True)
    n_first = min(max_iter, MAX_LBFGS_ITER)
    first = lbfgs.minimize(problem, weights, tol=0.1 * tol, max_iter=n_first, single=problem.single)
    if first.converged or first.n_iter == max_iter:
        return CLPLSolution(first.weights, first.objective_path, first.gradient, first.n_iter, first.converged)
    last = minimize(problem, max_iter=max_iter - first.n_iter, tol=tol, initial=np.ascontiguousarray(first.weights))
    path = np.concatenate([first.objective_path, last.objective_path[1:]])
    return CLPLSolution(last.weights, path, last.gradient, first.n_iter + last.n_iter, last.converged)


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked below, and reported in one message
def minimize(problem: CLPLProblem, *, max_iter: int, tol: float, initial: Floats | None = None) -> CLPLSolution:
    """Minimize an objective; the other parameters are those of `solve_clpl`."""
    weights = np.zeros(problem.shape) if initial is None else np.array(initial, dtype=np.float64)
    n_iter, converged, accuracy, blocks = 0, False, 0.1, False
    objective_path = []
    while True:
        scores = problem.matvec(weights)
        active, active_scores = problem.active(scores)
        objective, gradient = problem.objective(weights, scores), active.gradient(active.point(weights, active_scores))
        objective_path.append(objective)
        step, n_products = _newton_step(active, active_scores, gradient, accuracy, blocks=blocks)
        decrement = -float((gradient * step).sum())
        if not (np.isfinite(objective) and np.isfinite(decrement)):
            raise InputError(OVERFLOW)
        converged = 0.5 * decrement <= min(tol, 1.0) ** 2 * objective  # f - min f is at most f, and no square overflows
        if converged or n_iter == max_iter:
            break
        # Blocks keep the steps good if there are many.
        blocks = blocks or (problem.blocks_fit and (n_products > _block_cost(active, active_scores) or n_iter >= 10))
        length = _line_minimum(problem, weights, scores, step)
        if length == 0.0:  # rounding hides any decrease along the step
            converged = 0.5 * decrement <= 1e-10 * objective
            break
        weights = weights + length * step
        accuracy = min(0.1, float(np.sqrt(decrement / objective)))
        n_iter += 1
    return CLPLSolution(weights, np.array(objective_path), gradient, n_iter, converged)


def _newton_step(
    problem: CLPLProblem, scores: Floats, gradient: Floats, accuracy: float, *, blocks: bool
) -> tuple[Floats, int]:
    """Solve H step = -gradient to a relative accuracy; return the step and the number of products used.

    The preconditioner is the inverse of the Hessian's blocks, one per class, or of its diagonal.
    """
    by_class, curvatures = problem.curvatures(scores), problem.loss_curvatures(scores)
    factors = problem.hessian_blocks(by_class) if blocks else []
    diagonal = None if blocks else problem.diagonal(by_class)
    result = conjugate_gradients(
        lambda direction: problem.hvp(curvatures, direction),
        -gradient,
        lambda right: (
            np.stack([factor.solve(row) for factor, row in zip(factors, right)]) if blocks else right / diagonal
        ),
        tol=max(accuracy, 1e-8),
        max_iter=MAX_CG_ITER,
        inner=lambda a, b: float((a * b).sum()),
    )
    return result.solution, result.n_products


def _block_cost(problem: CLPLProblem, scores: Floats) -> float:
    """Return the cost of the Hessian's blocks, in products with the Hessian."""
    n_classes, size = problem.shape
    if sp.issparse(problem.X):
        return size / 4
    n_active = np.count_nonzero(problem.curvatures(scores))
    return float(size * (n_active + n_classes * size / 3) / (2.0 * max(len(problem.cost), 1) * n_classes))


def _line_minimum(problem: CLPLProblem, weights: Floats, scores: Floats, step: Floats) -> float:
    """Return the step length that minimizes f, the root of an increasing piecewise linear derivative."""
    linear = float((problem.penalized(weights) * step).sum())
    square, score_step = float((problem.penalized(step) ** 2).sum()), problem.matvec(step)

    def derivatives(length: float) -> tuple[float, float]:
        first, second = problem.line_derivatives(scores, score_step, length)
        return linear + length * square + first, square + second

    initial_slope = derivatives(0.0)[0]
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(60):
        value, second = derivatives(length)
        if abs(value) <= 1e-3 * abs(initial_slope):
            return length
        low, high = (length, high) if value < 0 else (low, length)
        length = length - value / second if second > 0 else np.inf
        if not low < length < high:
            length = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return low
