"""The least value of a separable quadratic on a sphere, within the plane of one normal.

    minimize  sum_i g_i x_i^2 - 2 b^T x   over  ||x||^2 = r,  a^T x = 0   (every a_i above 0).

As without the plane, x is a function of a multiplier lam <= g*, the least value of the quadratic without b, that gives
it its length: (g_i - lam) x_i = b_i - mu a_i with the mu for which a^T x = 0. Here everything takes time and memory in
proportion to the m coordinates, where a basis of the plane would be dense and its eigenvectors cubic. With p the
coordinate of the least g, eliminated (for g* lies between g_p and the next), and sums over all others,

    A = sum a_i^2 / (g_i - lam),   B = sum a_i b_i / (g_i - lam),   F = a_p^2 + (g_p - lam) A,
    mu = (a_p b_p + (g_p - lam) B) / F,   x_p = (b_p A - a_p B) / F,

and g* is the root of F. Several coordinates of the least g are one along a, and one across it that no plane cuts.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from oneof.solvers.transducer.sphere import SpherePoint, climb
from oneof.typing import Floats

HARD = 1e-8
"""The least part of b along the direction of value g*, of its length. With less, the quotients above would cancel."""
LEAST_NORMAL = 1e-75
"""Entries of the unit normal are at least this, so that their squares, and the quotients of these, are numbers."""


def minimize_in_plane(g: Floats, b: Floats, a: Floats, square_radius: float) -> SpherePoint:
    """Find the x of length sqrt(r), orthogonal to a, for which sum_i g_i x_i^2 - 2 b^T x is least.

    In the hard case, where b has hardly any part along the direction of value g*, it is given one: of the points that
    are least where it has none, and lie on either side, one is taken. Close to it some eight digits are right,
    and elsewhere all.

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
    rounding = 100 * len(g) * np.finfo(np.float64).eps
    radius = float(np.sqrt(square_radius))
    # A power of two, by which neither what tells coordinates apart nor what pulls at them is beyond the arithmetic.
    unit = np.ldexp(1.0, int(np.frexp(max(np.abs(g).max(), np.abs(b).max() / radius))[1]) - 1)
    g, b = g / unit, b / unit
    a = a / a.max()
    a = np.maximum(a / np.linalg.norm(a), LEAST_NORMAL)
    least = g.min()
    tied = g - least <= rounding
    along = a[tied] / np.linalg.norm(a[tied])
    beside, gaps = a[~tied], g[~tied] - least
    problem = _Problem(float(along @ a[tied]), beside, gaps, bool(tied.sum() > 1))
    across = _across(along, b[tied], rounding)
    target = np.concatenate([[along @ b[tied]], b[~tied], [across @ b[tied]] if problem.free else []])
    lowest = problem.lowest()
    part, size = float(lowest @ target), float(np.linalg.norm(target)) or 1.0
    if abs(part) < HARD * size:
        pushed = float(np.copysign(HARD * size, part))
        target, part = target + (pushed - part) * lowest, pushed
    below = climb(problem.solve, target, abs(part) / radius, radius)
    found = problem.solve(target, below)
    x = np.empty(len(g))
    x[~tied] = found[1 : 1 + len(gaps)]
    x[tied] = found[0] * along + (found[-1] * across if problem.free else 0.0)
    x -= (a @ x) / (a @ a) * a
    return SpherePoint(x * (radius / np.linalg.norm(x)), float(least + problem.drop - below) * unit)


class _Problem:
    """The coordinate p, the others, and last, where several had the least g, the free one across a."""

    def __init__(self, a_p: float, a: Floats, gaps: Floats, free: bool) -> None:
        self.a_p, self.a, self.free = a_p, a, free
        self.drop = 0.0
        """g* - g_p."""
        self.above = gaps
        """g_i - g*."""
        if not free:
            self.drop, self.above = _between(a_p, a, gaps)

    def solve(self, b: Floats, below: float) -> Floats:
        """Return the x of the multiplier g* - below."""
        last = 1 + len(self.a)
        b_p, b_others = b[0], b[1:last]
        above = self.above + below
        A, B = np.sum(self.a**2 / above), np.sum(self.a * b_others / above)
        F = self.a_p**2 + (below - self.drop) * A
        mu = (self.a_p * b_p + (below - self.drop) * B) / F
        return np.concatenate([[(b_p * A - self.a_p * B) / F], (b_others - mu * self.a) / above, b[last:] / below])

    def lowest(self) -> Floats:
        """Return the direction of value g*, of length 1."""
        if self.free:
            return np.concatenate([np.zeros(1 + len(self.a)), [1.0]])
        direction = np.concatenate([[-self.a_p / self.drop], self.a / self.above])
        return direction / np.linalg.norm(direction)


def _between(a_p: float, a: Floats, gaps: Floats) -> tuple[float, Floats]:
    """Return s = g* - g_p, the root of a_p^2 = s sum_i a_i^2 / (gap_i - s) below the least gap, and all gap_i - s.

    Whichever of the two is the smaller is what is sought, so that neither is a difference of almost equal numbers.
    """
    least = float(gaps.min())
    further = gaps - least

    def left(drop: float, spare: float) -> float:
        return float(a_p**2 - drop * np.sum(a**2 / (further + spare)))

    exactly: dict[str, Any] = {"xtol": np.finfo(np.float64).tiny, "rtol": 1e-15, "maxiter": 2000}
    if left(least / 2, least / 2) < 0:
        drop = float(brentq(lambda s: left(s, least - s), 0.0, least / 2, **exactly))
        return drop, gaps - drop
    spare = float(brentq(lambda s: left(least - s, s), LEAST_NORMAL**2 * least / 2, least / 2, **exactly))
    return least - spare, further + spare


def _across(along: Floats, b: Floats, rounding: float) -> Floats:
    """Return the direction of b beside that of a, both of several coordinates; any, where b has no other than a."""
    rest = b - (along @ b) * along
    if np.linalg.norm(rest) <= rounding * np.linalg.norm(b):
        rest = np.eye(1, len(b), int(along.argmin()))[0]
    rest = rest - (along @ rest) * along  # once more, for a rest that is small beside b
    return rest / (float(np.linalg.norm(rest)) or 1.0)
