"""Newton's method for the weighted SVM, for rows on which coordinate ascent converges too slowly.

The method of multipliers on the losses (Rockafellar 1976): with the dual variables beta^0 of the last outer iteration
and a step sigma > 0, w and b minimize

    1/2 ||w||^2 + sum_i M_i(f_i),   -M_i'(f_i) = beta_i(f_i) = clip(beta^0_i + sigma (y_i - f_i), low_i, high_i),

with the hinge losses smoothed around beta^0. The next outer iteration begins with beta(f) and a larger step. The
smoothed objective is convex and piecewise quadratic. Its Newton steps need a linear system over the rows whose
variables are off their bounds, or over the features if these are fewer. An intercept is one more variable without a
penalty. See Li, Sun & Toh (2018), A highly efficient semismooth Newton augmented Lagrangian method for solving Lasso
problems.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from oneof.solvers.feature_spaces import Space, kernel_matvec
from oneof.typing import Floats, Ints

MAX_SIGMA = 1e12
"""Maximum sigma, relative to the reciprocal mean square: above it systems are singular."""
SIGMA_GROWTH = 4.0
"""Growth factor of sigma in each outer iteration."""
MAX_NEWTON_STEPS = 60
"""Maximum number of Newton steps in one outer iteration."""
MAX_UNKNOWNS = 2000
"""Maximum size of the systems; with more free rows and more features the method stops."""

_MAX_STEP_LENGTH = 1e12
_MAX_LINE_SEARCH = 60
"""Maximum number of step lengths that are tried."""


@dataclass(frozen=True)
class NewtonResult:
    """Result of `newton_proximal`."""

    coefficients: Floats
    """(n,): beta, within the bounds."""
    intercept: float
    converged: bool
    """Whether no score violates an optimality condition by more than the tolerance, and the sum of beta is 0."""


def newton_proximal(
    space: Space,
    signs: Floats,
    costs: Floats,
    coefficients: Floats,
    intercept: float,
    *,
    has_intercept: bool,
    tol: float,
) -> NewtonResult:
    """Minimize 1/2 ||w||^2 + sum_i costs_i max(0, 1 - signs_i f_i) by the proximal Newton method.

    If the method stops early, the best point so far is returned.

    Parameters
    ----------
    space : FeatureSpace or KernelSpace
    signs, costs : ndarray of shape (n,)
        -1 or 1; at least 0.
    coefficients : ndarray of shape (n,)
        Initial beta, 0 <= signs_i beta_i <= costs_i.
    intercept : float
        Initial b.
    has_intercept : bool
        Whether b is a variable.
    tol : float
        Maximum violation of an optimality condition by a score.

    Returns
    -------
    NewtonResult
    """
    low, high = np.minimum(0.0, signs * costs), np.maximum(0.0, signs * costs)
    square = float(space.squares.mean()) or 1.0
    point = _PrimalPoint(coefficients.copy(), kernel_matvec(space, coefficients), intercept)
    # A nonzero sum of beta keeps variables away from their optimal bounds, most of all those with the lowest cost.
    unit = min(1.0 / square, float(costs[costs > 0.0].min(initial=np.inf)))
    min_balance = 1e-15 * float(costs.sum())
    violation, sigma = np.inf, 1.0 / square
    while sigma < MAX_SIGMA / square:
        inner_tol = 0.1 * max(tol, min(violation, 1.0))
        balance_tol = max(inner_tol * unit, min_balance)
        smoothed = _SmoothedDual(space, signs, low, high, has_intercept, point.gamma, sigma, inner_tol, balance_tol)
        minimizer = smoothed.minimize(point)
        if minimizer is None:
            break
        point, violation = minimizer, smoothed.violation(minimizer)
        unbalanced = has_intercept and abs(float(minimizer.gamma.sum())) > max(tol * unit, min_balance)
        if violation <= tol and not unbalanced:
            return NewtonResult(point.gamma, point.intercept, True)
        sigma *= SIGMA_GROWTH
    return NewtonResult(point.gamma, point.intercept, False)


@dataclass(frozen=True)
class _PrimalPoint:
    """w = sum_i gamma_i Phi(x_i) with its products, and b."""

    gamma: Floats
    products: Floats
    intercept: float

    def add(self, direction: "_PrimalPoint", length: float) -> "_PrimalPoint":
        return _PrimalPoint(
            self.gamma + length * direction.gamma,
            self.products + length * direction.products,
            self.intercept + length * direction.intercept,
        )


@dataclass(frozen=True)
class _SmoothedDual:
    """Smoothed objective of one outer iteration."""

    space: Space
    signs: Floats
    low: Floats
    high: Floats
    has_intercept: bool
    last: Floats
    """beta^0."""
    sigma: float
    tol: float
    balance_tol: float

    def minimize(self, point: _PrimalPoint) -> _PrimalPoint | None:
        """Return the minimizer, with beta as gamma, or None if Newton's method does not converge."""
        for _ in range(MAX_NEWTON_STEPS):
            targets = self.targets(point.products + point.intercept)
            betas = np.clip(targets, self.low, self.high)
            solution = self._check_convergence(point, targets, betas)
            if solution is not None and (
                not self.has_intercept or abs(float(solution.gamma.sum())) <= self.balance_tol
            ):
                return solution
            products = kernel_matvec(self.space, betas)
            total = float(betas.sum()) if self.has_intercept else 0.0
            free = np.flatnonzero((targets > self.low) & (targets < self.high))
            if min(len(free), self.space.dimension) > MAX_UNKNOWNS:
                return None
            try:
                change, shift = self._newton_step(free, targets, (point.products - products)[free], total)
            except LinAlgError:
                return None
            change[...] += betas - point.gamma
            direction = _PrimalPoint(change, kernel_matvec(self.space, change), shift)
            point = point.add(direction, self._line_search(point, direction))
        return None

    def _check_convergence(self, point: _PrimalPoint, targets: Floats, betas: Floats) -> _PrimalPoint | None:
        """Return the point if its gamma is beta of scores with errors of at most the tolerance.

        The comparison uses gamma, not w: if sigma is large, the rounding error of a score changes beta by more.
        """
        same = np.abs(point.gamma - betas) <= 1e-12 * (self.high - self.low)
        gamma = np.where(same, betas, np.clip(point.gamma, self.low, self.high))
        if np.abs(np.where(same, 0.0, targets - gamma)).max(initial=0.0) > self.sigma * self.tol:
            return None
        products = kernel_matvec(self.space, gamma)
        is_close = np.abs(products - point.products).max() <= self.tol
        return _PrimalPoint(gamma, products, point.intercept) if is_close else None

    def targets(self, scores: Floats) -> Floats:
        """Return beta(f) before clipping."""
        return self.last + self.sigma * (self.signs - scores)

    def violation(self, point: _PrimalPoint) -> float:
        """Return the largest violation of an optimality condition by a score."""
        slack = self.signs - point.products - point.intercept
        up, down = slack[point.gamma < self.high], -slack[point.gamma > self.low]
        return float(max(up.max(initial=0.0), down.max(initial=0.0)))

    def _newton_step(self, free: Ints, targets: Floats, gap: Floats, total: float) -> tuple[Floats, float]:
        """Return changes u of the free variables, (n,), and of b: (K + 1 / sigma) u + db 1 = gap, 1^T u = -total."""
        change = np.zeros(len(self.signs))
        if not len(free):
            return change, self._nearest_kink(targets, total)
        solved, ones = self.space.subset(free).solve(1.0 / self.sigma, np.column_stack([gap, np.ones(len(free))])).T
        shift = float((solved.sum() + total) / ones.sum()) if self.has_intercept else 0.0
        change[free] = solved - shift * ones
        return change, shift

    def _nearest_kink(self, targets: Floats, total: float) -> float:
        """Return the change of b that moves the nearest row halfway between its bounds, if no variable is free."""
        width = self.high - self.low
        distance = targets - self.high if total > 0.0 else self.low - targets
        candidates = np.flatnonzero((distance >= 0.0) & (width > 0.0))
        if total == 0.0 or not len(candidates):
            return 0.0
        first = candidates[np.argmin(distance[candidates])]
        return float(np.sign(total) * (distance[first] + 0.5 * width[first]) / self.sigma)

    def _line_search(self, point: _PrimalPoint, direction: _PrimalPoint) -> float:
        """Return a step length at which the slope, which never decreases, is at most a tenth of the initial one."""
        linear, square = float(point.gamma @ direction.products), float(direction.gamma @ direction.products)
        scores, change = point.products + point.intercept, direction.products + direction.intercept

        def slope(t: float) -> float:
            betas = np.clip(self.targets(scores + t * change), self.low, self.high)
            return linear + t * square - float(betas @ change)

        left, right = 0.0, 1.0
        left_slope, right_slope = slope(left), slope(right)
        if left_slope >= 0.0:  # at the minimum, up to rounding
            return right
        # Close to the minimum both slopes are rounding errors, which are smallest with a step of 1.
        slope_tol = 0.1 * abs(left_slope) + 1e-14 * float(np.maximum(-self.low, self.high) @ np.abs(change))
        while right_slope < -slope_tol and right < _MAX_STEP_LENGTH:
            left, left_slope, right = right, right_slope, 4.0 * right
            right_slope = slope(right)
        if right_slope <= slope_tol:
            return right
        for _ in range(_MAX_LINE_SEARCH):
            fraction = min(max(left_slope / (left_slope - right_slope), 0.1), 0.9)
            middle = left + fraction * (right - left)
            middle_slope = slope(middle)
            if abs(middle_slope) <= slope_tol:
                break
            if middle_slope < 0.0:
                left, left_slope = middle, middle_slope
            else:
                right, right_slope = middle, middle_slope
        return middle
