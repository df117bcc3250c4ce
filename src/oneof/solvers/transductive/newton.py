"""Newton's method on the machine, for rows that ascent row by row moves too slowly.

The method of multipliers on the losses (Rockafellar 1976): with the dual variables beta^0 of the last round and a step
sigma > 0, w and b minimize

    1/2 ||w||^2 + sum_i M_i(f_i),   -M_i'(f_i) = beta_i(f_i) = clip(beta^0_i + sigma (y_i - f_i), low_i, high_i),

the hinge losses made smooth around beta^0, and beta(f) begins the next round, of a longer step. What is minimized is
convex and piecewise quadratic. Newton's method on it needs a linear system over the rows whose variables are off their
bounds, or over the features if they are fewer (Li, Sun & Toh 2018, A highly efficient semismooth Newton augmented
Lagrangian method for solving Lasso problems). An intercept is one more variable without a penalty.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from oneof.solvers.feature_spaces import Space, kernel_matvec
from oneof.typing import Floats, Ints

LONGEST = 1e12
"""Of sigma, over a mean square: beyond it systems are singular."""
GROWTH = 4.0
"""Of sigma from round to round."""
MOST_STEPS = 60
"""Of Newton in one round, at most."""
LARGEST = 2000
"""Of systems; where both the free rows and the features are more, there are no rounds."""

_FARTHEST = 1e12
"""Length of a step."""
_TRIALS = 60
"""Lengths that are tried."""


@dataclass(frozen=True)
class NewtonEnd:
    """Where the rounds ended."""

    coefficients: Floats
    """(n,): beta, within the bounds."""
    intercept: float
    converged: bool
    """Whether no score breaks a condition of optimality by more than the tolerance, and the sum of beta is 0."""


def newton_rounds(
    space: Space, signs: Floats, costs: Floats, coefficients: Floats, intercept: float, *, moves: bool, tol: float
) -> NewtonEnd:
    """Minimize 1/2 ||w||^2 + sum_i costs_i max(0, 1 - signs_i f_i), or go as far as the rounds reach.

    Parameters
    ----------
    space : FeatureSpace or KernelSpace
    signs, costs : ndarray of shape (n,)
        -1 or 1; at least 0.
    coefficients : ndarray of shape (n,)
        beta to begin with, 0 <= signs_i beta_i <= costs_i.
    intercept : float
        b to begin with.
    moves : bool
        Whether b moves.
    tol : float
        What a score may break a condition of optimality by.

    Returns
    -------
    NewtonEnd
    """
    low, high = np.minimum(0.0, signs * costs), np.maximum(0.0, signs * costs)
    square = float(space.squares.mean()) or 1.0
    here = _Point(coefficients.copy(), kernel_matvec(space, coefficients), intercept)
    # A sum of beta that is not 0 leaves rows off bounds where they belong, most visibly those of the least cost.
    unit = min(1.0 / square, float(costs[costs > 0.0].min(initial=np.inf)))
    least = 1e-15 * float(costs.sum())
    violation, sigma = np.inf, 1.0 / square
    while sigma < LONGEST / square:
        close = 0.1 * max(tol, min(violation, 1.0))
        smooth = _Smooth(space, signs, low, high, moves, here.gamma, sigma, close, max(close * unit, least))
        end = smooth.minimize(here)
        if end is None:
            break
        here, violation = end, smooth.violation(end)
        unbalanced = moves and abs(float(end.gamma.sum())) > max(tol * unit, least)
        if violation <= tol and not unbalanced:
            return NewtonEnd(here.gamma, here.intercept, True)
        sigma *= GROWTH
    return NewtonEnd(here.gamma, here.intercept, False)


@dataclass(frozen=True)
class _Point:
    """w = sum_i gamma_i Phi(x_i) with its products, and b."""

    gamma: Floats
    products: Floats
    intercept: float

    def moved(self, change: "_Point", length: float) -> "_Point":
        return _Point(
            self.gamma + length * change.gamma,
            self.products + length * change.products,
            self.intercept + length * change.intercept,
        )


@dataclass(frozen=True)
class _Smooth:
    """What one round minimizes."""

    space: Space
    signs: Floats
    low: Floats
    high: Floats
    moves: bool
    start: Floats
    sigma: float
    tol: float
    balance: float

    def minimize(self, here: _Point) -> _Point | None:
        """Return the minimizer, with beta for gamma, or None where Newton's method does not come to it."""
        for _ in range(MOST_STEPS):
            aims = self.aims(here.products + here.intercept)
            betas = np.clip(aims, self.low, self.high)
            end = self._end(here, aims, betas)
            if end is not None and (not self.moves or abs(float(end.gamma.sum())) <= self.balance):
                return end
            made = kernel_matvec(self.space, betas)
            total = float(betas.sum()) if self.moves else 0.0
            free = np.flatnonzero((aims > self.low) & (aims < self.high))
            if min(len(free), self.space.width) > LARGEST:
                return None
            try:
                change, shift = self._direction(free, aims, (here.products - made)[free], total)
            except LinAlgError:
                return None
            change[...] += betas - here.gamma
            move = _Point(change, kernel_matvec(self.space, change), shift)
            here = here.moved(move, self._length(here, move))
        return None

    def _end(self, here: _Point, aims: Floats, betas: Floats) -> _Point | None:
        """Return the point if its gamma is beta of scores that are off by no more than the tolerance.

        What is compared is gamma, and not w: where sigma is large, rounding of a score moves beta more than that.
        """
        same = np.abs(here.gamma - betas) <= 1e-12 * (self.high - self.low)
        kept = np.where(same, betas, np.clip(here.gamma, self.low, self.high))
        if np.abs(np.where(same, 0.0, aims - kept)).max(initial=0.0) > self.sigma * self.tol:
            return None
        made = kernel_matvec(self.space, kept)
        return _Point(kept, made, here.intercept) if np.abs(made - here.products).max() <= self.tol else None

    def aims(self, scores: Floats) -> Floats:
        """Return beta(f) before it is cut off."""
        return self.start + self.sigma * (self.signs - scores)

    def violation(self, end: _Point) -> float:
        """Return by how much a score of dual variables breaks a condition of optimality, at most."""
        short = self.signs - end.products - end.intercept
        up, down = short[end.gamma < self.high], -short[end.gamma > self.low]
        return float(max(up.max(initial=0.0), down.max(initial=0.0)))

    def _direction(self, free: Ints, aims: Floats, gap: Floats, total: float) -> tuple[Floats, float]:
        """Return changes u of the free variables, (n,), and of b: (K + 1 / sigma) u + db 1 = gap, 1^T u = -total."""
        change = np.zeros(len(self.signs))
        if not len(free):
            return change, self._nearest(aims, total)
        solved, ones = self.space.subset(free).solve(1.0 / self.sigma, np.column_stack([gap, np.ones(len(free))])).T
        shift = float((solved.sum() + total) / ones.sum()) if self.moves else 0.0
        change[free] = solved - shift * ones
        return change, shift

    def _nearest(self, aims: Floats, total: float) -> float:
        """Return the move of b that takes the nearest row halfway from its bound to the other, where all are at one."""
        width = self.high - self.low
        past = aims - self.high if total > 0.0 else self.low - aims
        ahead = np.flatnonzero((past >= 0.0) & (width > 0.0))
        if total == 0.0 or not len(ahead):
            return 0.0
        first = ahead[np.argmin(past[ahead])]
        return float(np.sign(total) * (past[first] + 0.5 * width[first]) / self.sigma)

    def _length(self, here: _Point, move: _Point) -> float:
        """Return a length where the slope along the move, which never falls, is a tenth of what it was at most."""
        linear, square = float(here.gamma @ move.products), float(move.gamma @ move.products)
        scores, change = here.products + here.intercept, move.products + move.intercept

        def slope(t: float) -> float:
            betas = np.clip(self.aims(scores + t * change), self.low, self.high)
            return linear + t * square - float(betas @ change)

        left, right = 0.0, 1.0
        falls, rises = slope(left), slope(right)
        if falls >= 0.0:  # at the minimum, but for rounding
            return right
        # Close to the end both slopes are rounding, of which a step of 1 makes the least.
        enough = 0.1 * abs(falls) + 1e-14 * float(np.maximum(-self.low, self.high) @ np.abs(change))
        while rises < -enough and right < _FARTHEST:
            left, falls, right = right, rises, 4.0 * right
            rises = slope(right)
        if rises <= enough:
            return right
        for _ in range(_TRIALS):
            part = min(max(falls / (falls - rises), 0.1), 0.9)
            middle = left + part * (right - left)
            here_slope = slope(middle)
            if abs(here_slope) <= enough:
                break
            if here_slope < 0.0:
                left, falls = middle, here_slope
            else:
                right, rises = middle, here_slope
        return middle
