"""Trust-region Newton method for a penalized log likelihood, which need not be concave (Steihaug 1983).

The objective is Psi(x) = l(x) - 1/2 |x|^2 in the norm |s|^2 = s^T M s of a prior, which is also that of the region. A
step s may have another form than a gradient (see `oneof.solvers.linear`): M s is its `dual`, and g^T s the sum of the
products of g with its `image`.

Each step maximizes the quadratic model of the objective at the current point by conjugate gradients, within a region
|s| <= radius. A step that would leave the region, or that meets negative curvature, ends at its boundary. A step is
rejected, and the region shrinks, if the objective increases by less than a fraction of the increase that the model
predicts (Conn, Gould & Toint 2000, algorithm 6.1.1). The objective therefore never decreases.

The products within a step may be in single precision, since they only determine the step. They are in double precision
from the first step that does not halve the distance from the maximum although the model predicted its increase well.
"""

from typing import Any, Protocol

import numpy as np

from oneof.solvers.linear import CGResult, Operator, conjugate_gradients, inner_product

MAX_CG_ITER = 200
"""Maximum number of conjugate gradient iterations within one step."""
MIN_TOL_EPS = 500.0
"""Minimum tolerance, in units of the machine epsilon."""
ROUNDING_EPS = 20.0
"""Rounding error of the objective, in the same units."""
MIN_FAST_TOL = 1e-3
"""Tolerance above which convergence may be tested in single precision."""
MAX_IDLE_STEPS = 100
"""Maximum number of consecutive steps in full precision whose increase does not exceed its rounding error."""
MIN_CG_RTOL, MAX_CG_RTOL = 1e-3, 0.1
"""Range of the relative residual of a step; the distance from the maximum within it."""
LAST_CG_RATIO = 0.3
"""Residual of the last step, in units of the tolerance, so that it is not more accurate than it needs to be."""
MIN_GAIN_RATIO, BAD_RATIO, GOOD_RATIO = 1e-4, 0.25, 0.75
"""Ratios of the actual to the predicted increase with which a step is accepted, the region shrinks, and grows."""


class Point(Protocol):
    """Log likelihood l at a point x with its second-order model; derivatives are computed when they are needed."""

    @property
    def value(self) -> float:
        """The log likelihood."""

    @property
    def max_abs(self) -> float:
        """Size of the point, by which distances are measured."""

    @property
    def gradient(self) -> Any:
        """Gradient of the log likelihood."""

    def hvp(self, step: Any) -> Any:
        """Return the product of the negative Hessian of the log likelihood with a step."""

    def fast_hvp(self, step: Any) -> Any:
        """Return `hvp`, in single precision if that saves time."""

    @property
    def preconditioner(self) -> Operator | None:
        """Approximate inverse of the negative Hessian of Psi, if there is one."""


class Objective(Protocol):
    """Log likelihood, and the norm of its prior."""

    @property
    def eps(self) -> float:
        """Machine epsilon of the points."""

    @property
    def n_terms(self) -> int:
        """Number of terms whose sum is the log likelihood."""

    def evaluate(self, x: Any) -> Any:
        """Return the `Point` at x."""

    def ascent(self, gradient: Any) -> Any:
        """Return the step M^-1 g of steepest ascent."""

    def fast_ascent(self, gradient: Any) -> Any:
        """Return `ascent`, in single precision if that saves time."""

    def max_abs(self, step: Any) -> float:
        """Return the size of a step, by which distances are measured."""

    def dual(self, step: Any) -> Any:
        """Return M s, in the form of a gradient."""

    def image(self, step: Any) -> Any:
        """Return the form of a step whose products with a gradient sum to g^T s."""

    def correct(self, step: Any) -> Any:
        """Return a step without the rounding errors of products in single precision."""


class TrustRegionNewton:
    """State of the Newton method."""

    def __init__(self, objective: Objective, x: Any) -> None:
        self.objective, self.x, self.point = objective, x, objective.evaluate(x)
        self.objective_path = [self._psi(x, self.point)]
        self.n_iter = 0
        self._is_fast = True
        self._radius = np.inf
        self._n_idle = 0
        self._expected = np.inf  # distance that the last step should have reached

    def run(self, max_iter: int, tol: float) -> bool:
        """Iterate until max |M^-1 g| <= tol max(1, max |x|), and return whether that was reached."""
        tol = max(tol, MIN_TOL_EPS * self.objective.eps)
        while True:
            distance = self._distance(fast=self._is_fast)
            if distance <= tol <= MIN_FAST_TOL and self._is_fast:
                distance = self._distance(fast=False)
            if distance <= tol:
                return True
            if self.n_iter == max_iter or self._n_idle == MAX_IDLE_STEPS:
                return False
            self._is_fast = self._is_fast and distance <= self._expected
            self._step(distance, tol)

    def _inner(self, gradient: Any, step: Any) -> float:
        return inner_product(gradient, self.objective.image(step))

    def _psi(self, x: Any, point: Point) -> float:
        return point.value - 0.5 * self._inner(self.objective.dual(x), x)

    @property
    def _gradient(self) -> Any:
        return self.point.gradient - self.objective.dual(self.x)

    def _distance(self, *, fast: bool) -> float:
        ascent = (self.objective.fast_ascent if fast else self.objective.ascent)(self._gradient)
        return self.objective.max_abs(ascent) / max(1.0, self.point.max_abs)

    def _product(self, step: Any) -> Any:
        """Return the product of the negative Hessian of Psi with a step."""
        return self.objective.dual(step) + (self.point.fast_hvp if self._is_fast else self.point.hvp)(step)

    def _step(self, distance: float, tol: float) -> None:
        """Compute one step, adapt the region, and accept the step if the objective increases sufficiently."""
        self.n_iter += 1
        objective, gradient = self.objective, self._gradient
        rtol = max(distance, MIN_CG_RTOL, LAST_CG_RATIO * tol / distance)
        step, norm = self._solve(gradient, min(rtol, MAX_CG_RTOL))
        predicted = self._inner(gradient, step) - 0.5 * self._inner(self._product(step), step)
        x = self.x + step
        point = objective.evaluate(x)
        value = self._psi(x, point)
        gain = value - self.objective_path[-1]
        # The objective may be near 0 although the points, over which it is a sum, are not.
        rounding = ROUNDING_EPS * objective.eps * max(abs(value), objective.n_terms**0.5 * point.max_abs)
        increases = predicted > rounding and gain > MIN_GAIN_RATIO * predicted
        self._n_idle = 0 if increases or self._is_fast else self._n_idle + 1
        if self._is_fast and predicted <= -rounding:
            self._is_fast = False
            return
        ratio = gain / predicted if predicted > rounding else 1.0
        is_inside = norm < self._radius
        if ratio < BAD_RATIO:
            self._radius = BAD_RATIO * norm
        elif ratio > GOOD_RATIO:
            self._radius = max(self._radius, 2.0 * norm)
        self._expected = 0.5 * distance if is_inside and ratio > GOOD_RATIO else np.inf
        if ratio > MIN_GAIN_RATIO:
            self.x, self.point = x, point
            self.objective_path.append(value)

    def _solve(self, gradient: Any, rtol: float) -> tuple[Any, float]:
        """Return the step within the region, and its norm.

        A preconditioner only accelerates steps that end inside the region. If it also changed how steps end at the
        boundary, the iteration would often reach another maximum.
        """
        objective = self.objective

        def solve(preconditioner: Operator, radius: float) -> CGResult:
            options: Any = {"tol": rtol, "max_iter": MAX_CG_ITER, "radius": radius, "inner": self._inner}
            return conjugate_gradients(self._product, gradient, preconditioner, **options)

        if self.point.preconditioner is not None:
            result = solve(self.point.preconditioner, np.inf)
            norm = max(self._inner(objective.dual(result.solution), result.solution), 0.0) ** 0.5
            if result.end != "curvature" and norm < self._radius:
                return result.solution, norm
        result = solve(objective.fast_ascent if self._is_fast else objective.ascent, self._radius)
        return objective.correct(result.solution), result.norm
