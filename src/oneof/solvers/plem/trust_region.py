"""Trust-region Newton method that minimizes the objective of PLEM.

A step is computed by conjugate gradients in the norm of the preconditioner. It ends at the boundary of the region, or
follows a direction of negative curvature to it (Steihaug 1983). With partial rows the negative part of the rows'
Hessians is left out while the gradient is large. Scores are linear in W, so that one product of X with the step gives
the scores at every length: a step that does not reduce F enough is shortened instead of rejected.

The conjugate gradients run in single precision, in which products of X take half the time, while F, its gradient and
the weights are in double precision: as in iterative refinement, the accuracy of the result is that of the gradient. If
the gradient does not decrease as the quadratic model predicts, the steps change to double precision.

A diagonal preconditioner is replaced by blocks once its products have taken as long as the blocks take, and blocks are
renewed by the same rule if the curvature has changed. Blocks with more entries than X would make each product slower
than it is now; they are used only after a step of many products.
"""

from dataclasses import dataclass

import numpy as np

from oneof.errors import InputError
from oneof.solvers.linear_objective import OVERFLOW
from oneof.solvers.plem.problem import (
    MAX_BLOCK_ENTRIES,
    Evaluation,
    PLEMProblem,
    Preconditioner,
    PreconditionerKind,
)
from oneof.typing import Evidence, FeatureMatrix, Floats

SLOW_STEP = 100
"""Number of Hessian products in a step above which the other preconditioner is tried."""
MIN_CHANGE = 0.5
"""Relative change of the curvatures above which blocks are renewed."""
MAX_CG_ITER = 500
"""Maximum number of Hessian products in a step."""
MAX_CG_RTOL = 0.5
"""Maximum relative residual of a step."""
SINGLE_RTOL = 1e-3
"""Minimum relative residual of a step in single precision."""
LAST_RTOL = 1e-5
"""Relative residual of the last step in double precision."""
FIRST_RADIUS = 0.5
"""First radius with partial rows, relative to the norm of the gradient: long first steps end at lower likelihoods."""
MIN_POSITIVE_SIZE = 0.1
"""Relative size of the gradient above which steps with partial rows leave out negative curvature."""
MIN_SHRINKAGE = 0.25
"""Smallest factor of the radius after a step whose decrease was not predicted."""
MIN_DECREASE = 1e-4
"""Fraction of the decrease along the gradient that a step must reach."""
MIN_LENGTH = 1e-10
"""Fraction of a step below which no length is tried."""
OBJECTIVE_RTOL = 1e-6
"""Fraction of F(0) below which the accuracy is not relative to F, which can be 0 with an intercept alone."""
ROUNDING = 1e-13
"""Relative rounding error of F."""


@dataclass(frozen=True)
class PLEMSolution:
    """Stationary point found by `solve_plem`."""

    weights: Floats
    """(K, D): D = d, or d + 1 with the intercept b in the last column; sums to 0 over the classes."""
    objective_path: Floats
    """(n_steps,): -lam F at the start and after each step; it never decreases, up to rounding."""
    gradient: Floats
    """(K, D): gradient of F."""
    n_iter: int
    """Steps of the trust region, without the last one."""
    converged: bool


@dataclass(frozen=True)
class Step:
    """Step of the trust region."""

    weights: Floats
    """(K, D)."""
    predicted: float
    """Decrease of the quadratic model."""
    norm: float
    """Norm of the preconditioner."""
    is_interior: bool
    """True if the conjugate gradients ended within the region."""
    n_products: int


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked, and reported in one message
def solve_plem(
    X: FeatureMatrix,
    evidence: Evidence,
    *,
    lam: float,
    entropy_weight: float = 0.0,
    sample_weight: Floats,
    fit_intercept: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-6,
    initial: Floats | None = None,
) -> PLEMSolution:
    """Find a stationary point of F; with exact labels it is the minimum.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    evidence : ndarray of shape (n, K), bool or float64
        The candidate sets, or the weights v. At least one row that is not unlabeled has a sample weight above 0.
    lam : float
        Weight of the penalty, > 0.
    entropy_weight : float
        mu, >= 0.
    sample_weight : ndarray of shape (n,)
        At least 0; a weight of 2 is the same as the row twice.
    fit_intercept : bool
        Add a constant to each class's score, not penalized.
    max_iter : int
        Maximum number of steps.
    tol : float
        Stop if the gradient g has g^T M^-1 g <= tol^2 max(F, 1e-6 F(0)). As M approximates the Hessian, this is a
        relative error of about `tol` in W; one more Newton step then reduces it to a thousandth or less, as far as
        rounding allows.
    initial : ndarray of shape (K, D), optional
        The start; 0 by default.

    Returns
    -------
    PLEMSolution
    """
    problem = PLEMProblem.from_evidence(X, evidence, lam, entropy_weight, sample_weight, fit_intercept=fit_intercept)
    state = TrustRegion(problem, initial)
    while not state.is_within(tol) and state.n_iter < max_iter:
        state.n_iter += 1
        if not state.advance(rtol=min(MAX_CG_RTOL, state.relative_size**0.5)):
            break
        state.renew_preconditioner()
    converged = state.is_within(tol)
    if converged:
        state.polish()
    weights = np.ascontiguousarray(state.weights)
    if fit_intercept:
        weights[:, -1] -= weights[:, -1].mean()  # already 0 up to rounding
    return PLEMSolution(weights, -lam * np.array(state.path), state.gradient, state.n_iter, converged)


class TrustRegion:
    """Weights, the derivatives there, the preconditioner and the radius of the region."""

    kind: PreconditionerKind
    preconditioner: Preconditioner
    size: float
    """Norm of the gradient, sqrt(g^T M^-1 g)."""

    def __init__(self, problem: PLEMProblem, initial: Floats | None) -> None:
        self.problem, self.weights = problem, problem.zeros()
        self.scores = problem.matvec(self.weights)
        self.at = problem.evaluate(self.scores)
        self.value = problem.objective(self.weights, self.at)
        self._min_value = OBJECTIVE_RTOL * self.value
        if initial is not None:
            self.weights += initial - np.mean(initial, axis=0)
            self.scores = problem.matvec(self.weights)
            self.at = problem.evaluate(self.scores)
            self.value = problem.objective(self.weights, self.at)
        _check_finite(self.value)
        self.gradient = problem.gradient(self.weights, self.at)
        self.path, self.n_iter, self.radius, self.is_single = [self.value], 0, np.inf, True
        self._n_products = 0  # of the last step
        self._n_spent = 0  # since the preconditioner was computed
        self._precondition("diagonal")
        if problem.labels is None:
            self.radius = FIRST_RADIUS * self.size

    @property
    def relative_size(self) -> float:
        """Norm of the gradient, relative to that of a step that would reduce F to 0."""
        return self.size / max(self.value, self._min_value) ** 0.5

    @property
    def is_positive(self) -> bool:
        """True if steps leave out the negative curvature."""
        return self.problem.labels is None and self.relative_size > MIN_POSITIVE_SIZE

    def is_within(self, tol: float) -> bool:
        """Return whether the gradient is small; along nearly collinear features only blocks show that."""
        if self.relative_size <= tol and self.kind == "diagonal" and self._block_entries("common") <= MAX_BLOCK_ENTRIES:
            self._precondition("common")
        return self.relative_size <= tol

    def advance(self, rtol: float) -> bool:
        """Take a step, and adapt the radius and the precision; return False if no length of it decreases F."""
        step, is_newton = self._step(rtol), not self.is_positive
        score_step = self.problem.matvec(step.weights)
        slope = _inner(self.gradient, step.weights)
        _check_finite(slope)
        length, rounding = 1.0, ROUNDING * self.value
        while True:
            weights, scores = self.weights + length * step.weights, self.scores + length * score_step
            at = self.problem.evaluate(scores)
            value = self.problem.objective(weights, at)
            decrease = self.value - value + rounding
            if decrease >= -MIN_DECREASE * length * slope:
                break
            # The minimum of the parabola with this slope and value.
            length *= np.clip(-0.5 * length * slope / (value - self.value - length * slope), 0.1, 0.5)
            if not length >= MIN_LENGTH:
                was_single, self.is_single = self.is_single, False
                return was_single
        ratio = decrease / (step.predicted + rounding) if length == 1.0 else 0.0
        if ratio < 0.25:
            self.radius = (MIN_SHRINKAGE if length == 1.0 else max(length, MIN_SHRINKAGE)) * step.norm
        elif ratio > 0.75:
            self.radius = max(self.radius, 2.0 * step.norm)
        self.weights, self.scores, self.at, self.value = weights, scores, at, value
        self.gradient = self.problem.gradient(weights, at)
        self.path.append(value)
        last = self.size
        self.size = self._gradient_size()
        is_quadratic = is_newton and step.is_interior and 0.9 < ratio < 1.1
        if is_quadratic and self.relative_size < 0.1 and self.size > 0.5 * last:
            self.is_single = False
        self._n_products = step.n_products
        self._n_spent += step.n_products
        return True

    def polish(self) -> None:
        """Take the last step, unless rounding keeps it from reducing the gradient."""
        weights, gradient, size, n_steps = self.weights, self.gradient, self.size, len(self.path)
        if size > 0.0:
            self.advance(rtol=SINGLE_RTOL if self.is_single else LAST_RTOL)
        if self.size > size:
            self.weights, self.gradient, self.size = weights, gradient, size
            del self.path[n_steps:]

    def renew_preconditioner(self) -> None:
        """Compute other blocks if that takes no longer than the products since the last ones."""
        kind: PreconditionerKind = "blocks"
        if self._block_entries(kind) > MAX_BLOCK_ENTRIES:
            kind = "common"
        if self._block_entries(kind) > MAX_BLOCK_ENTRIES:
            return
        if self._n_products > SLOW_STEP:
            self._precondition(kind if self.kind == "diagonal" else "diagonal")
        elif self._n_spent >= self._block_cost(kind):
            if self.kind == "diagonal":
                is_due = self._block_entries("common") <= self.problem.n_numbers
            else:
                before = self.preconditioner.curvatures
                change = np.abs(self.problem.curvatures(self.at) - before).sum()
                is_due = bool(change > MIN_CHANGE * before.sum())
            if is_due:
                self._precondition(kind)

    def _step(self, rtol: float) -> Step:
        """Return a step, in single precision if that is accurate enough."""
        if self.is_single:
            unit = (self.gradient / self.size).astype(np.float32)
            step = truncated_conjugate_gradients(
                self.problem.single,
                self.at.single,
                self.preconditioner.single,
                unit,
                self.radius / self.size,
                max(rtol, SINGLE_RTOL),
                is_positive=self.is_positive,
            )
            if np.isfinite([step.predicted, step.norm]).all() and np.isfinite(step.weights).all():
                weights = self.size * step.weights.astype(np.float64)
                weights -= weights.mean(axis=0)
                norm, predicted = self.size * step.norm, self.size * self.size * step.predicted
                return Step(weights, predicted, norm, step.is_interior, step.n_products)
            self.is_single = False
        return truncated_conjugate_gradients(
            self.problem,
            self.at,
            self.preconditioner,
            self.gradient,
            self.radius,
            rtol,
            is_positive=self.is_positive,
        )

    def _precondition(self, kind: PreconditionerKind) -> None:
        self.kind, self._n_spent = kind, 0
        self.preconditioner = self.problem.preconditioner(self.at, kind)
        self.size = self._gradient_size()

    def _gradient_size(self) -> float:
        """Return the norm of the gradient, sqrt(g^T M^-1 g)."""
        square = _inner(self.gradient, self.preconditioner.solve(self.gradient))
        _check_finite(square)
        return max(square, 0.0) ** 0.5

    def _block_entries(self, kind: PreconditionerKind) -> int:
        return self.problem.shape[1] ** 2 * (self.problem.n_classes if kind == "blocks" else 1)

    def _block_cost(self, kind: PreconditionerKind) -> float:
        """Return the time of blocks in Hessian products: about a fifth of the rows is active in a block."""
        problem = self.problem
        n_blocks, width = (problem.n_classes if kind == "blocks" else 1), problem.shape[1]
        numbers_per_row = problem.n_numbers / max(len(problem.cost), 1)
        operations = 0.2 * problem.n_numbers * numbers_per_row + width**3 / 3 + 5e6
        return n_blocks * operations / (10.0 * problem.n_numbers * problem.n_classes + 2e5)


def truncated_conjugate_gradients(
    problem: PLEMProblem,
    at: Evaluation,
    preconditioner: Preconditioner,
    gradient: Floats,
    radius: float,
    rtol: float,
    *,
    is_positive: bool,
) -> Step:
    """Return a step that approximately minimizes the quadratic model of F within a radius (Steihaug 1983).

    It ends at a relative residual of `rtol`, at the boundary, or on it in a direction of negative curvature. The inner
    products of the step s and the direction p are those of the preconditioner.
    """
    step, residual = np.zeros_like(gradient), -gradient
    scaled = preconditioner.solve(residual)
    direction, size = scaled.copy(order="K"), _inner(residual, scaled)
    goal, largest = rtol * rtol * size, size**0.5  # products of floats overflow to infinity, powers raise
    ss, sp, pp, predicted, is_interior = 0.0, 0.0, size, 0.0, True
    n_products = 0
    while n_products < MAX_CG_ITER:
        n_products += 1
        product = problem.hvp(direction, at, is_positive=is_positive)
        curvature = _inner(direction, product)
        length = size / curvature if curvature > 0 else np.inf
        if curvature <= 0 or ss + 2 * length * sp + length * length * pp >= radius * radius:
            if radius == np.inf:  # negative curvature without a region: a step as long as the gradient
                radius = max(ss**0.5, largest)
            length = (np.sqrt(sp * sp + pp * max(radius * radius - ss, 0.0)) - sp) / pp
            step += np.multiply(direction, length, out=scaled)
            predicted += length * size - 0.5 * length * length * curvature
            ss, is_interior = radius * radius, False
            break
        step += np.multiply(direction, length, out=scaled)
        residual -= np.multiply(product, length, out=product)
        predicted += 0.5 * length * size
        ss += 2 * length * sp + length * length * pp
        scaled = preconditioner.solve(residual)
        size, last = _inner(residual, scaled), size
        if size <= goal or not np.isfinite(size):
            break
        sp = size / last * (sp + length * pp)
        pp = size + (size / last) ** 2 * pp
        direction *= size / last
        direction += scaled
    return Step(step, predicted, ss**0.5, is_interior, n_products)


def _inner(a: Floats, b: Floats) -> float:
    """Return the sum of the products of two (K, D) arrays of the same memory layout."""
    return float(np.vdot(a.T, b.T) if a.flags.f_contiguous else np.vdot(a, b))


def _check_finite(value: float) -> None:
    if not np.isfinite(value):
        raise InputError(OVERFLOW)
