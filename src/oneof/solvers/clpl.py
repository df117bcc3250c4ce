"""Convex loss for partial labels, on linear scores (Cour, Sapp & Taskar 2011), by a Newton method.

Over the rows that are not full, with s = X W^T + b and psi(u) = max(0, 1 - u)^2, minimise

    f(W, b) = 1/2 ||W||_F^2 + C sum_i w_i [ psi(mean_{k in S_i} s_ik) + sum_{k not in S_i} psi(-s_ik) ].

f is convex and quadratic in pieces, so that a Newton step is exact once the losses that are not 0 stay the same. Each
step is found by conjugate gradients, where a Hessian product is two products of X with K columns, preconditioned by the
Hessian's diagonal. Where that takes many products, its K blocks, one a class, are factorised instead: the classes meet
only in the mean over the set, so they are close to the whole. The step is followed to the minimum on its line, at no
product with X.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oneof.errors import InputError
from oneof.solvers.linear import OVERFLOW, LinearProblem
from oneof.typing import Floats, Mask, Rows

LARGEST_BLOCKS = 2e7
"""Most numbers in the Hessian's K blocks (160 MB) for which they are factorised."""


@dataclass(frozen=True)
class CLPLSolution:
    """The minimiser that `solve_clpl` found."""

    weights: Floats
    """(K, D): D = d, or d + 1 with the intercept b in the last column."""
    objective: float
    gradient: Floats
    """(K, D)."""
    n_iter: int
    """Newton steps."""
    converged: bool


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
    def of(cls, X: Rows, mask: Mask, C: float, sample_weight: Floats, *, fit_intercept: bool) -> "CLPLProblem":
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
        """Whether the Hessian's blocks are small enough to be factorised."""
        n_classes, size = self.shape
        return n_classes * size**2 <= LARGEST_BLOCKS

    def hinges(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return max(0, 1 - mean over the set), (n, 1), and max(0, 1 + score) outside it, (n, K)."""
        mean = (self.inside * scores).sum(axis=1, keepdims=True)
        return np.maximum(0.0, 1.0 - mean), self.outside * np.maximum(0.0, 1.0 + scores)

    def objective(self, weights: Floats, scores: Floats) -> float:
        """Return f."""
        inner, outer = self.hinges(scores)
        losses = inner[:, 0] ** 2 + (outer**2).sum(axis=1)
        return 0.5 * float((self.penalised(weights) ** 2).sum()) + float(self.cost[:, 0] @ losses)

    def slopes(self, scores: Floats) -> Floats:
        """Return the (n, K) derivatives of the losses by the scores."""
        inner, outer = self.hinges(scores)
        return 2.0 * self.cost * (outer - self.inside * inner)

    def gradient(self, weights: Floats, scores: Floats) -> Floats:
        """Return the (K, D) gradient of f."""
        return self.penalised(weights) + self.gather(self.slopes(scores), self.X)

    def curvatures(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the second derivatives by the mean over the set, (n, 1), and by each score outside it, (n, K)."""
        inner, outer = self.hinges(scores)
        return 2.0 * self.cost * (inner > 0), 2.0 * self.cost * (outer > 0)

    def bend(self, curvatures: tuple[Floats, Floats], moved: Floats) -> Floats:
        """Return the (n, K) change of the slopes along a move of the scores."""
        inner, outer = curvatures
        mean = (self.inside * moved).sum(axis=1, keepdims=True)
        return self.inside * (inner * mean) + outer * moved


@np.errstate(over="ignore", invalid="ignore")  # overflow is looked for below, and said in one sentence
def solve_clpl(
    X: Rows,
    mask: Mask,
    *,
    C: float,
    sample_weight: Floats,
    fit_intercept: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-8,
    initial: Floats | None = None,
) -> CLPLSolution:
    """Minimise the objective.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    mask : ndarray of shape (n, K), bool
    C : float
        Cost of the losses, > 0.
    sample_weight : ndarray of shape (n,)
        At least 0; a weight of 2 is the same as the row twice.
    fit_intercept : bool
        Add a constant to each class's score, not penalised (not in the paper).
    max_iter : int
        Newton steps, at most.
    tol : float
        The search ends where half the Newton decrement, which estimates f - min f, is at most tol^2 f. As f grows from
        its minimum at least as 1/2 ||W - W_min||^2, this is a relative error of about `tol` in W.
    initial : ndarray of shape (K, D), optional
        A warm start.

    Returns
    -------
    CLPLSolution
    """
    problem = CLPLProblem.of(X, mask, C, sample_weight, fit_intercept=fit_intercept)
    weights = np.zeros(problem.shape) if initial is None else np.array(initial, dtype=np.float64)
    n_iter, converged, accuracy, blocks = 0, False, 0.1, False
    while True:
        scores = problem.scores(weights)
        objective, gradient = problem.objective(weights, scores), problem.gradient(weights, scores)
        step, n_products = _newton_step(problem, scores, gradient, accuracy, blocks=blocks)
        decrement = -float((gradient * step).sum())
        if not (np.isfinite(objective) and np.isfinite(decrement)):
            raise InputError(OVERFLOW)
        converged = 0.5 * decrement <= tol**2 * objective
        if converged or n_iter == max_iter:
            break
        # Blocks cost about as much as d/4 products, and keep the steps good where there are many.
        blocks = blocks or (problem.blocks_fit and (n_products > problem.shape[1] // 4 or n_iter >= 10))
        moved = problem.scores(step)
        length = _line_minimum(problem, weights, step, scores, moved)
        if length == 0.0:  # rounding hides any gain along the step
            converged = 0.5 * decrement <= 1e-10 * objective
            break
        weights = weights + length * step
        accuracy = min(0.1, float(np.sqrt(decrement / objective)))
        n_iter += 1
    return CLPLSolution(weights, objective, gradient, n_iter, converged)


def _newton_step(
    problem: CLPLProblem, scores: Floats, gradient: Floats, accuracy: float, *, blocks: bool, max_products: int = 1000
) -> tuple[Floats, int]:
    """Solve H step = -gradient to a relative accuracy by conjugate gradients; also return the products with H taken."""
    curvatures = problem.curvatures(scores)
    precondition = _preconditioner(problem, curvatures, blocks=blocks)
    step, residual = np.zeros_like(gradient), -gradient
    direction = precondition(residual)
    size = float((residual * direction).sum())
    goal = size * max(accuracy, 1e-8) ** 2
    n_products = 0
    while size > goal and n_products < max_products:
        bent = problem.bend(curvatures, problem.scores(direction))
        product = problem.penalised(direction) + problem.gather(bent, problem.X)
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


def _preconditioner(
    problem: CLPLProblem, curvatures: tuple[Floats, Floats], *, blocks: bool
) -> Callable[[Floats], Floats]:
    """Return the inverse of the Hessian's blocks, one a class, or of its diagonal."""
    inner, outer = curvatures
    each = problem.inside**2 * inner + outer
    if not blocks:
        diagonal = problem.diagonal(each)
        return lambda residual: residual / diagonal
    factors = [problem.block(each[:, k]) for k in range(problem.n_classes)]
    return lambda residual: np.stack([factor.solve(part) for factor, part in zip(factors, residual)])


def _line_minimum(problem: CLPLProblem, weights: Floats, step: Floats, scores: Floats, moved: Floats) -> float:
    """Return the length that minimises f along the step: the root of its slope, increasing and linear in pieces."""
    linear = float((problem.penalised(weights) * step).sum())
    square = float((problem.penalised(step) ** 2).sum())

    def slope(length: float) -> float:
        return linear + length * square + float((problem.slopes(scores + length * moved) * moved).sum())

    def curvature(length: float) -> float:
        return square + float((problem.bend(problem.curvatures(scores + length * moved), moved) * moved).sum())

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
