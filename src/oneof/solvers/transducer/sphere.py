"""Minimization of quadratics on a sphere (Gander, Golub & von Matt 1989), also with one linear constraint.

    minimize  w^T G w - 2 b^T w   over  ||w||^2 = r.

The minimizer is w = (G - lam I)^-1 b for the lam <= g_1, the smallest eigenvalue of G, for which w has this length.
With G = Q diag(g) Q^T and beta = Q^T b, the multiplier is the root of the secular equation
sum_i beta_i^2 / (g_i - lam)^2 = r. It is also the smallest eigenvalue of the 2d x 2d matrix
[[G, -I], [-b b^T / r, G]], which is not formed here, since it is far from symmetric.

The separable problem with a linear constraint is

    minimize  sum_i g_i x_i^2 - 2 b^T x   over  ||x||^2 = r,  a^T x = 0   (every a_i above 0).

Again x is a function of a multiplier lam <= g*, the minimum of the quadratic without b, that gives x its length:
(g_i - lam) x_i = b_i - mu a_i with the mu for which a^T x = 0. Time and memory are proportional to the m coordinates,
whereas a basis of the plane would be dense and its eigenvectors cubic. With p the coordinate of the smallest g, which
is eliminated (since g* lies between g_p and the next), and sums over all other coordinates,

    A = sum a_i^2 / (g_i - lam),   B = sum a_i b_i / (g_i - lam),   F = a_p^2 + (g_p - lam) A,
    mu = (a_p b_p + (g_p - lam) B) / F,   x_p = (b_p A - a_p B) / F,

and g* is the root of F. Several coordinates with the smallest g are replaced by one along a, and one orthogonal to it,
which the constraint does not affect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from oneof.typing import Floats

MAX_VALUE = 1e100
"""Larger entries are scaled, because squares would overflow."""
MAX_NEWTON_STEPS = 100
"""Maximum number of Newton steps. The iterates increase monotonically to the root, in about ten steps."""
HARD_CASE_TOL = 1e-8
"""Smallest component of b along the direction of value g*, relative to its length. With a smaller one, the quotients
for x would cancel."""
MIN_NORMAL = 1e-75
"""Smallest entry of the unit normal, so that squares and their quotients neither underflow nor overflow."""


@dataclass(frozen=True)
class SpherePoint:
    """Minimizer of a quadratic on a sphere, with its multiplier."""

    w: Floats
    """(d,): the minimizer."""
    multiplier: float
    """lam: (G - lam I) w = b, and G - lam I has no negative eigenvalue."""


def minimize_on_sphere(G: Floats, b: Floats, square_radius: float) -> SpherePoint:
    """Minimize w^T G w - 2 b^T w over the w of length sqrt(r).

    In the hard case, b has no component along the lowest eigenvectors of G, and the other components alone are too
    short. The missing length is then added along one of the lowest eigenvectors; the opposite direction has the same
    value.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Symmetric.
    b : ndarray of shape (d,)
    square_radius : float
        r, above 0.

    Returns
    -------
    SpherePoint

    References
    ----------
    Gander, Golub & von Matt (1989), A constrained eigenvalue problem, Linear Algebra and its Applications 114. The
    iteration is that of Moré & Sorensen (1983), Computing a trust region step.
    """
    largest = max(float(np.abs(G).max()), float(np.abs(b).max()))
    if largest > MAX_VALUE:  # squares would overflow; the point does not depend on the unit
        unit = 2.0 ** (np.frexp(largest)[1] - 1)
        point = minimize_on_sphere(G / unit, b / unit, square_radius)
        return SpherePoint(point.w, point.multiplier * unit)
    values, Q = scipy.linalg.eigh(G)
    gaps = values - values[0]
    beta = Q.T @ b
    rtol = 100 * len(b) * np.finfo(np.float64).eps
    lowest = gaps <= rtol * np.abs(values).max()
    gaps[lowest] = 0.0  # sums over the lowest eigenspace then do not depend on the rotation of its basis
    if np.linalg.norm(beta[lowest]) <= rtol * np.linalg.norm(beta):
        beta[lowest] = 0.0
        partial = np.where(lowest, 0.0, beta / np.where(lowest, 1.0, gaps))
        missing_square = square_radius - float(partial @ partial)
        if missing_square >= 0:
            return SpherePoint(Q @ partial + np.sqrt(missing_square) * _fix_sign(Q[:, 0]), float(values[0]))

    def solve(right: Floats, shift: float) -> Floats:
        return _quotients(right, gaps + shift)

    radius = float(np.sqrt(square_radius))
    shift = solve_secular(solve, beta, float(np.linalg.norm(beta[lowest])) / radius, radius)
    return SpherePoint(Q @ solve(beta, shift), float(values[0] - shift))


def minimize_on_constrained_sphere(g: Floats, b: Floats, a: Floats, square_radius: float) -> SpherePoint:
    """Minimize sum_i g_i x_i^2 - 2 b^T x over the x of length sqrt(r) that are orthogonal to a.

    In the hard case, b has hardly any component along the direction of value g*. A small component is then added, which
    selects one of two minimizers. Close to the hard case about eight digits are correct, elsewhere all of them.

    Parameters
    ----------
    g, b : ndarray of shape (m,)
        m is at least 2.
    a : ndarray of shape (m,)
        Above 0.
    square_radius : float
        r, above 0.

    Returns
    -------
    SpherePoint
    """
    rtol = 100 * len(g) * np.finfo(np.float64).eps
    radius = float(np.sqrt(square_radius))
    # A power of two that keeps both the differences of g and the entries of b from overflow and underflow.
    unit = np.ldexp(1.0, int(np.frexp(max(np.abs(g).max(), np.abs(b).max() / radius))[1]) - 1)
    g, b = g / unit, b / unit
    a = a / a.max()
    a = np.maximum(a / np.linalg.norm(a), MIN_NORMAL)
    smallest = g.min()
    tied = g - smallest <= rtol
    along = a[tied] / np.linalg.norm(a[tied])
    a_rest, gaps = a[~tied], g[~tied] - smallest
    problem = _PlaneProblem(float(along @ a[tied]), a_rest, gaps, bool(tied.sum() > 1))
    orthogonal = _orthogonal_direction(along, b[tied], rtol)
    target = np.concatenate([[along @ b[tied]], b[~tied], [orthogonal @ b[tied]] if problem.has_free else []])
    lowest = problem.lowest_direction()
    component, size = float(lowest @ target), float(np.linalg.norm(target)) or 1.0
    if abs(component) < HARD_CASE_TOL * size:
        enlarged = float(np.copysign(HARD_CASE_TOL * size, component))
        target, component = target + (enlarged - component) * lowest, enlarged
    shift = solve_secular(problem.solve, target, abs(component) / radius, radius)
    solution = problem.solve(target, shift)
    x = np.empty(len(g))
    x[~tied] = solution[1 : 1 + len(gaps)]
    x[tied] = solution[0] * along + (solution[-1] * orthogonal if problem.has_free else 0.0)
    x -= (a @ x) / (a @ a) * a
    return SpherePoint(x * (radius / np.linalg.norm(x)), float(smallest + problem.offset - shift) * unit)


def solve_secular(solve: Callable[[Floats, float], Floats], b: Floats, shift: float, radius: float) -> float:
    """Return the root mu = g_1 - lam of 1/||w(mu)|| = 1/sqrt(r), by Newton's method.

    The left side is increasing and concave in mu, and linear if one term dominates. Newton's method from any point
    below the root therefore increases to it monotonically. In mu, unlike in lam, nothing cancels if lam is close to
    g_1.

    Parameters
    ----------
    solve : callable
        Returns (G - lam I)^-1 v for v and mu.
    b : ndarray of shape (d,)
        w(mu) is solve(b, mu).
    shift : float
        Initial mu, at most the root: the mu for which the component of b along the lowest eigenvectors alone has the
        required length.
    radius : float
        sqrt(r).
    """
    for _ in range(MAX_NEWTON_STEPS):
        w = solve(b, shift)
        length = np.linalg.norm(w)
        derivative = float(w @ solve(w, shift)) / length  # -d||w|| / dmu
        step = float(length * (length - radius) / (radius * derivative))
        shift += max(step, 0.0)
        if step <= np.finfo(np.float64).eps * shift:
            break
    return shift


class _PlaneProblem:
    """Constrained problem in the coordinate p, all others, and the free one if several have the smallest g."""

    def __init__(self, a_p: float, a: Floats, gaps: Floats, has_free: bool) -> None:
        self.a_p, self.a, self.has_free = a_p, a, has_free
        self.offset = 0.0
        """g* - g_p."""
        self.gaps = gaps
        """g_i - g*."""
        if not has_free:
            self.offset, self.gaps = _lowest_value(a_p, a, gaps)

    def solve(self, b: Floats, shift: float) -> Floats:
        """Return the x of the multiplier g* - shift."""
        last = 1 + len(self.a)
        b_p, b_rest = b[0], b[1:last]
        gaps = self.gaps + shift
        A, B = np.sum(self.a**2 / gaps), np.sum(self.a * b_rest / gaps)
        F = self.a_p**2 + (shift - self.offset) * A
        mu = (self.a_p * b_p + (shift - self.offset) * B) / F
        return np.concatenate([[(b_p * A - self.a_p * B) / F], (b_rest - mu * self.a) / gaps, b[last:] / shift])

    def lowest_direction(self) -> Floats:
        """Return the direction of value g*, of length 1."""
        if self.has_free:
            return np.concatenate([np.zeros(1 + len(self.a)), [1.0]])
        direction = np.concatenate([[-self.a_p / self.offset], self.a / self.gaps])
        return direction / np.linalg.norm(direction)


def _lowest_value(a_p: float, a: Floats, gaps: Floats) -> tuple[float, Floats]:
    """Return s = g* - g_p, the root of a_p^2 = s sum_i a_i^2 / (gap_i - s) below the smallest gap, and all gap_i - s.

    The unknown is s or the smallest gap_i - s, whichever is smaller, so that neither is a difference of almost equal
    numbers.
    """
    smallest = float(gaps.min())
    further = gaps - smallest

    def remainder(offset: float, gap: float) -> float:
        return float(a_p**2 - offset * np.sum(a**2 / (further + gap)))

    options: dict[str, Any] = {"xtol": np.finfo(np.float64).tiny, "rtol": 1e-15, "maxiter": 2000}
    if remainder(smallest / 2, smallest / 2) < 0:
        offset = float(brentq(lambda s: remainder(s, smallest - s), 0.0, smallest / 2, **options))
        return offset, gaps - offset
    gap = float(brentq(lambda s: remainder(smallest - s, s), MIN_NORMAL**2 * smallest / 2, smallest / 2, **options))
    return smallest - gap, further + gap


def _orthogonal_direction(along: Floats, b: Floats, rtol: float) -> Floats:
    """Return the direction of b orthogonal to a, both of several coordinates; an arbitrary one if b is along a."""
    direction = b - (along @ b) * along
    if np.linalg.norm(direction) <= rtol * np.linalg.norm(b):
        direction = np.eye(1, len(b), int(along.argmin()))[0]
    direction = direction - (along @ direction) * along  # a second time, in case it is small compared with b
    return direction / (float(np.linalg.norm(direction)) or 1.0)


def _quotients(gaps: Floats, shifted: Floats) -> Floats:
    """Divide, with 0 for 0 / 0: directions along which b has no component."""
    return np.where(gaps == 0, 0.0, gaps / np.where(shifted > 0, shifted, 1.0))


def _fix_sign(vector: Floats) -> Floats:
    """Return one of v and -v, the one whose largest entry is positive."""
    return vector * np.sign(vector[np.argmax(np.abs(vector))])
