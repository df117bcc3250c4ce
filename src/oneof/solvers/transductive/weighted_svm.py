"""Support vector machine for two classes with a separate cost for every row.

With signs y_i = +-1, costs C_i >= 0, and scores f_i = <w, Phi(x_i)> + b,

    min_{w, b}  P = 1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i f_i)

    max_beta    D = sum_i y_i beta_i - 1/2 ||w||^2,   w = sum_i beta_i Phi(x_i),
                0 <= y_i beta_i <= C_i,   sum_i beta_i = 0.

The dual is solved by coordinate ascent (Hsieh et al. 2008, A dual coordinate descent method for large-scale linear
SVM), which cannot satisfy the equality constraint. A penalty (b - center)^2 / (2 r), equivalent to a constant feature
sqrt(r), therefore keeps b near a center, and the center is moved to b repeatedly. This is the proximal point method,
which is the method of multipliers on the equality (Rockafellar 1976). It converges to the SVM with an unpenalized b.

If there are many rows, most of them are far from the margins y_i f_i = 1, and remain so from one SVM to the next. Those
with a loss, beta_i = y_i C_i, are replaced by their weighted mean for each sign, with the sum of their costs: the loss
of a mean is the mean of the losses as long as none of them is 0. Those without a loss are left out. The solution is
then checked on all rows, and the rows that violate an optimality condition are added.

**Newton's method for the weighted SVM, for rows on which coordinate ascent converges too slowly.**

The method of multipliers on the losses (Rockafellar 1976): with the dual variables beta^0 of the last outer iteration
and a step sigma > 0, w and b minimize

    1/2 ||w||^2 + sum_i M_i(f_i),   -M_i'(f_i) = beta_i(f_i) = clip(beta^0_i + sigma (y_i - f_i), low_i, high_i),

with the hinge losses smoothed around beta^0. The next outer iteration begins with beta(f) and a larger step. The
smoothed objective is convex and piecewise quadratic. Its Newton steps need a linear system over the rows whose
variables are off their bounds, or over the features if these are fewer. An intercept is one more variable without a
penalty. See Li, Sun & Toh (2018), A highly efficient semismooth Newton augmented Lagrangian method for solving Lasso
problems.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.solvers.feature_spaces import FeatureSpace, Space, kernel_matvec
from oneof.solvers.pauses import MAX_PAUSE, Pauses
from oneof.solvers.row_accessors import row_add, row_scores
from oneof.typing import Floats, Ints, Mask

MAX_EPOCHS = 10_000
"""Maximum number of passes over the rows for one SVM."""
_NEWTON_AFTER = 50
"""Number of epochs before a Newton step over all free variables is tried."""
MIN_ROWS = 4000
"""Number of dense rows above which the rows far from the margins are replaced by their means."""
NEAR_FRACTION = 0.06
"""Fraction of the rows, those nearest to the margins, that are not replaced."""
MAX_NEAR_FRACTION = 0.5
"""Fraction of the rows above which none is replaced."""
_MIN_TOL = 1e-13
"""Minimum tolerance of scores; smaller differences are dominated by rounding errors."""
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
class SVMSolution:
    """Result of `solve_weighted_svm`."""

    coefficients: Floats
    """(n,): beta."""
    weights: Floats
    """sum_i beta_i Phi(x_i), in the form of the feature space."""
    products: Floats
    """(n,): <w, Phi(x_i)>."""
    intercept: float
    """Optimal intercept for w: the middle of an interval of optimal ones, or its finite end if it is unbounded."""
    proximal_center: float
    """Intercept from which a warm start continues."""
    violation: float
    """Largest violation of an optimality condition by the score of a row with a positive cost."""
    converged: bool = False
    """Whether the violation is at most the tolerance."""

    @property
    def scores(self) -> Floats:
        """(n,): f."""
        return self.products + self.intercept


@dataclass(frozen=True)
class SVMProblem:
    """Rows in a feature space, shared by all SVMs of a fit."""

    space: Space
    has_intercept: bool
    is_reduced: bool = False
    """Whether some of the rows are means of rows."""

    @property
    def reducible_rows(self) -> Floats | None:
        """The rows, if some of them can be replaced by their means: dense ones, and many more than the features."""
        space = self.space
        if self.is_reduced or not isinstance(space, FeatureSpace) or 10 * space.dimension > space.n_rows:
            return None
        return None if sp.issparse(space.X) else space.X

    def objective(self, svm: SVMSolution, signs: Floats, costs: Floats) -> float:
        """Return P, computed from the hinge losses."""
        losses = np.maximum(0.0, 1.0 - signs * svm.scores)
        return 0.5 * self.space.dot(svm.weights, svm.weights) + float(costs @ losses)

    def zero_solution(self) -> SVMSolution:
        """Return the initial point w = 0, b = 0."""
        n = self.space.n_rows
        return SVMSolution(np.zeros(n), self.space.zeros(1), np.zeros(n), 0.0, 0.0, np.inf)


def solve_weighted_svm(
    problem: SVMProblem,
    signs: Floats,
    costs: Floats,
    *,
    initial: SVMSolution,
    tol: float,
    rng: np.random.Generator,
    allow_increase: bool = False,
    max_epochs: int = MAX_EPOCHS,
) -> SVMSolution:
    """Maximize the dual, starting from another solution clipped to the bounds, until the optimality conditions hold.

    Unless `allow_increase` is True, the tolerance is tightened until P is no higher than at the initial weights.

    Parameters
    ----------
    problem : SVMProblem
    signs : ndarray of shape (n,)
        -1 or 1.
    costs : ndarray of shape (n,)
        At least 0; rows of cost 0 are ignored.
    initial : SVMSolution
    tol : float
        Maximum violation of an optimality condition by a score: y_i f_i >= 1 if beta_i = 0, <= 1 if it is
        y_i C_i, and = 1 between. A beta_i within tol C_i of a bound counts as at the bound.
    rng : Generator
        Random generator for the order of the rows.
    allow_increase : bool
        Whether P may be higher than at the initial weights.
    max_epochs : int
        Maximum number of passes over the rows.

    Returns
    -------
    SVMSolution

    Raises
    ------
    InputError
        If the squared norm of the weights is negative, because the kernel is not positive semi-definite.
    """
    if problem.reducible_rows is not None and np.count_nonzero(costs) >= MIN_ROWS:
        options: Any = {"tol": tol, "rng": rng, "allow_increase": allow_increase, "max_epochs": max_epochs}
        solution = _solve_near_rows(problem, signs, costs, initial, **options)
        if solution is not None:
            return solution
    ceiling = np.inf if allow_increase else problem.objective(initial, signs, costs)
    ascent, inner_tol = _DualAscent(problem, signs, costs, initial, rng), tol
    while True:
        ascent.run(inner_tol, max_epochs)
        solution = _evaluate(problem, signs, costs, ascent.coefficients, float(ascent.intercept[0]), tol)
        increased = problem.objective(solution, signs, costs) > ceiling * (1.0 + 1e-12)
        is_last = ascent.pauses.n_passes >= max_epochs or inner_tol < _MIN_TOL
        if is_last or not (solution.violation > tol or increased):
            return replace(solution, converged=solution.violation <= tol)
        ascent.restart(solution.weights)
        inner_tol *= 0.2


class _DualAscent:
    """Coordinate ascent from a solution clipped to the bounds, with Newton steps if it is slow."""

    def __init__(
        self, problem: SVMProblem, signs: Floats, costs: Floats, initial: SVMSolution, rng: np.random.Generator
    ) -> None:
        space = problem.space
        self._problem, self._space, self._signs, self._costs = problem, space, signs, costs
        self.coefficients = signs * np.clip(signs * initial.coefficients, 0.0, costs)
        self.intercept = np.array([initial.proximal_center])
        self.pauses = Pauses(np.flatnonzero(costs > 0.0), space.n_rows, rng)
        self._strength = float(space.squares.mean()) if problem.has_intercept else 0.0
        self._rows, self._n_active = space.rows(), np.count_nonzero(costs > 0.0)
        self._curvatures, self._next_newton = space.squares + self._strength, _NEWTON_AFTER
        self._weights = space.to_internal(space.rmatvec(self.coefficients[:, None]))

    def restart(self, weights: Floats) -> None:
        """Continue from the weights of the coefficients, without the accumulated rounding errors."""
        self._weights = self._space.to_internal(weights)
        if self.pauses.n_passes >= _NEWTON_AFTER:
            self._next_newton = self.pauses.n_passes  # coordinate ascent has been slow so far

    def run(self, tol: float, max_epochs: int) -> None:
        """Raise the dual until no score violates an optimality condition by more than the tolerance."""
        pauses = self.pauses
        pauses.end()  # rows that seemed to stay at their bound are visited again
        while pauses.n_passes < max_epochs:
            order = pauses.order()
            longest = np.empty(len(order), dtype=np.int64)
            dual = self._curvatures, self._strength, self._weights, self.intercept, self.coefficients
            max_violation = _run_epoch(self._rows, order, self._signs, self._costs, *dual, longest)
            pauses.update(order, longest)
            shift = self._strength * float(self.coefficients.sum())
            if abs(shift) > max(max_violation, tol):  # the penalty keeps b away from its optimum: move the center
                self.intercept[0] += shift
            elif max_violation <= tol:
                if len(order) == self._n_active:
                    return
                pauses.end()
            if pauses.n_passes >= self._next_newton:
                self._next_newton = pauses.n_passes + max(_NEWTON_AFTER, pauses.n_passes // 4)
                if self._take_newton_steps(tol):
                    return

    def _take_newton_steps(self, tol: float) -> bool:
        """Continue with Newton's method; return whether it has converged."""
        result = newton_proximal(
            self._space,
            self._signs,
            self._costs,
            self.coefficients,
            float(self.intercept[0]),
            has_intercept=self._problem.has_intercept,
            tol=tol,
        )
        self.coefficients[:], self.intercept[0] = result.coefficients, result.intercept
        self._weights = self._space.to_internal(self._space.rmatvec(self.coefficients[:, None]))
        self.pauses.end()
        return result.converged


def _solve_near_rows(
    problem: SVMProblem,
    signs: Floats,
    costs: Floats,
    initial: SVMSolution,
    *,
    tol: float,
    rng: np.random.Generator,
    allow_increase: bool,
    max_epochs: int,
) -> SVMSolution | None:
    """Solve with the rows near the margins and the means of the others; None if too many rows are near."""
    active = costs > 0.0
    ceiling = np.inf if allow_increase else problem.objective(initial, signs, costs) * (1.0 + 1e-12)
    margins = np.where(active, 1.0 - signs * initial.scores, np.inf)
    n_near = int(NEAR_FRACTION * np.count_nonzero(active))
    near = np.zeros(len(signs), dtype=bool)
    near[np.argpartition(np.abs(margins), n_near)[:n_near]] = True
    solution, inner_tol = initial, tol
    while np.count_nonzero(near) <= MAX_NEAR_FRACTION * len(near) and inner_tol >= _MIN_TOL:
        inside = active & ~near & (1.0 - signs * solution.scores > 0.0)
        reduced = _ReducedRows.from_rows(problem, signs, costs, near, inside)
        rows, start = (reduced.problem, reduced.signs, reduced.costs), reduced.restrict(solution)
        part = solve_weighted_svm(
            *rows, initial=start, tol=inner_tol, rng=rng, allow_increase=True, max_epochs=max_epochs
        )
        coefficients = reduced.extend(part.coefficients, signs, costs)
        solution = _evaluate(problem, signs, costs, coefficients, part.proximal_center, tol)
        if not part.converged:
            return solution
        increased = problem.objective(solution, signs, costs) > ceiling
        if solution.violation <= tol and not increased:
            return replace(solution, converged=True)
        violating = ~near & (_violations(solution, signs, costs, tol) > 0.1 * tol)
        if not violating.any():
            inner_tol *= 0.2
        near |= violating
    return None


@dataclass(frozen=True)
class _ReducedRows:
    """The rows near the margins, followed by the means of those with a loss, for each sign that has some."""

    problem: SVMProblem
    signs: Floats
    costs: Floats
    near: Ints
    groups: tuple[Ints, ...]
    """The rows of each mean."""

    @classmethod
    def from_rows(cls, problem: SVMProblem, signs: Floats, costs: Floats, near: Mask, inside: Mask) -> "_ReducedRows":
        """Return the rows that are near, and the means of those inside."""
        X: Any = problem.reducible_rows
        rows = np.flatnonzero(near)
        groups = [np.flatnonzero(inside & (signs == sign)) for sign in (-1.0, 1.0)]
        groups = [group for group in groups if len(group)]
        totals = [float(costs[group].sum()) for group in groups]
        means = [costs[group] @ X[group] / total for group, total in zip(groups, totals)]
        return cls(
            SVMProblem(FeatureSpace(np.vstack([X[rows], *means])), problem.has_intercept, is_reduced=True),
            np.append(signs[rows], [signs[group[0]] for group in groups]),
            np.append(costs[rows], totals),
            rows,
            tuple(groups),
        )

    def restrict(self, solution: SVMSolution) -> SVMSolution:
        """Return the start: the coefficients of the near rows, and those of the means at their bounds."""
        n_means = len(self.groups)
        at_bound = (self.signs * self.costs)[len(self.signs) - n_means :]
        coefficients = np.append(solution.coefficients[self.near], at_bound)
        products = np.zeros(len(coefficients))
        return replace(solution, coefficients=coefficients, products=products, violation=np.inf, converged=False)

    def extend(self, coefficients: Floats, signs: Floats, costs: Floats) -> Floats:
        """Return the coefficients of all rows."""
        out, n_near = np.zeros(len(signs)), len(self.near)
        out[self.near] = coefficients[:n_near]
        for group, coefficient, total in zip(self.groups, coefficients[n_near:], self.costs[n_near:]):
            out[group] = signs[group] * costs[group] * (abs(coefficient) / total)
        return out


def _violations(solution: SVMSolution, signs: Floats, costs: Floats, tol: float) -> Floats:
    """Return the violation of the optimality conditions by the score of each row; 0 for rows of cost 0."""
    slack, sizes = 1.0 - signs * solution.scores, signs * solution.coefficients
    above_lower, below_upper = sizes > tol * costs, sizes < (1.0 - tol) * costs
    violations = np.maximum(np.where(below_upper, slack, 0.0), np.where(above_lower, -slack, 0.0))
    return np.where(costs > 0.0, violations, 0.0)


def _evaluate(
    problem: SVMProblem, signs: Floats, costs: Floats, coefficients: Floats, proximal_center: float, tol: float
) -> SVMSolution:
    """Return the solution of dual variables, recomputed without the accumulated rounding errors."""
    space = problem.space
    weights = space.rmatvec(coefficients[:, None])
    products = np.asarray(space.matvec(weights))[:, 0]
    if products @ coefficients < -1e-6 * (np.abs(products) @ np.abs(coefficients)):
        raise InputError(
            "the kernel is not positive semi-definite, so the objective is unbounded below. Choose another kernel."
        )
    intercept = best_intercept(products, signs, costs) if problem.has_intercept else 0.0
    # If all variables are at their bounds, an interval of intercepts is optimal, and its middle differs from the
    # intercept of the ascent.
    solution = SVMSolution(coefficients.copy(), weights, products, intercept, proximal_center, np.inf)
    return replace(solution, violation=float(_violations(solution, signs, costs, tol).max(initial=0.0)))


def best_intercept(products: Floats, signs: Floats, costs: Floats) -> float:
    """Minimize sum_i C_i max(0, 1 - y_i (p_i + b)) over b.

    If an interval of intercepts is optimal, its middle is returned. If the interval is unbounded, because all rows have
    one sign, its finite end is returned, at which the losses are just 0.

    Parameters
    ----------
    products : ndarray of shape (n,)
        p, the scores without an intercept.
    signs : ndarray of shape (n,)
        -1 or 1.
    costs : ndarray of shape (n,)
        At least 0, and one of them above 0.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> best_intercept(np.array([2.0, 0.5]), np.array([1.0, -1.0]), np.ones(2))
    -1.25
    """
    active = np.flatnonzero(costs > 0.0)
    kinks = signs[active] - products[active]  # where a loss begins or ends, and the slope increases by its cost
    order = np.argsort(kinks)
    kinks, active = kinks[order], active[order]
    derivatives = np.cumsum(costs[active]) - float(costs[active][signs[active] > 0].sum())  # to the right of each kink
    rounding = 1e-10 * float(costs[active].sum())
    low = int(np.argmax(derivatives >= -rounding))
    high = int(np.argmax(derivatives > rounding)) if derivatives[-1] > rounding else low
    return 0.5 * float(kinks[low] + kinks[high])


@compiled
def _run_epoch(rows, order, signs, costs, curvatures, strength, weights, intercept, coefficients, longest):
    """Update the dual variables of the rows in `order` once; write their longest pauses, and return the violation."""
    score = np.empty(1)
    max_violation = 0.0
    for r in range(order.shape[0]):
        i = order[r]
        sign, cost, size = signs[i], costs[i], signs[i] * coefficients[i]
        row_scores(rows, i, weights, score)
        slack = 1.0 - sign * (score[0] + intercept[0])
        violation = max(slack if size < cost else 0.0, -slack if size > 0.0 else 0.0)
        max_violation = max(max_violation, violation)
        longest[r] = MAX_PAUSE if violation == 0.0 else 0
        if violation > 0.0:
            updated = cost if slack > 0.0 else 0.0
            if curvatures[i] > 0.0:
                updated = min(max(size + slack / curvatures[i], 0.0), cost)
            step = sign * (updated - size)
            coefficients[i] = sign * updated
            row_add(rows, i, weights, 0, step)
            intercept[0] += strength * step
    return max_violation


# -- newton ------------------------------------------------------------------------------------------------------------


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
