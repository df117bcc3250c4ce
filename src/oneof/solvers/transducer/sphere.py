"""The least value of a quadratic on a sphere (Gander, Golub & von Matt 1989).

    minimize  w^T G w - 2 b^T w   over  ||w||^2 = r.

The minimizer is w = (G - lam I)^-1 b for the lam <= g_1, the smallest eigenvalue of G, that gives w its length. With
G = Q diag(g) Q^T and beta = Q^T b, the multiplier is the root of the secular equation
sum_i beta_i^2 / (g_i - lam)^2 = r; it is also the smallest eigenvalue of the 2d x 2d matrix
[[G, -I], [-b b^T / r, G]], which is not formed here, since it is far from symmetric.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from oneof.typing import Floats

_LARGE = 1e100
MAX_STEPS = 100
"""Newton's method climbs to the root without ever passing it; it takes some ten steps."""


@dataclass(frozen=True)
class SpherePoint:
    """The minimizer of a quadratic on a sphere, with its multiplier."""

    w: Floats
    """(d,): the minimizer."""
    multiplier: float
    """lam: (G - lam I) w = b, and G - lam I has no negative eigenvalue."""


def minimize_on_sphere(G: Floats, b: Floats, square_radius: float) -> SpherePoint:
    """Find the w of length sqrt(r) for which w^T G w - 2 b^T w is least.

    In the hard case, where b has no part along the lowest eigenvectors of G and all the others together do not fill the
    length, the rest of it is laid along one of the lowest eigenvectors; the other direction would do as well.

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
    if largest > _LARGE:  # squares would overflow; the point is the same in other units
        unit = 2.0 ** (np.frexp(largest)[1] - 1)
        point = minimize_on_sphere(G / unit, b / unit, square_radius)
        return SpherePoint(point.w, point.multiplier * unit)
    values, Q = scipy.linalg.eigh(G)
    above = values - values[0]
    beta = Q.T @ b
    rounding = 100 * len(b) * np.finfo(np.float64).eps
    lowest = above <= rounding * np.abs(values).max()
    above[lowest] = 0.0  # sums over the lowest eigenspace then do not depend on how its basis was turned
    if np.linalg.norm(beta[lowest]) <= rounding * np.linalg.norm(beta):
        beta[lowest] = 0.0
        rest = np.where(lowest, 0.0, beta / np.where(lowest, 1.0, above))
        missing = square_radius - float(rest @ rest)
        if missing >= 0:
            return SpherePoint(Q @ rest + np.sqrt(missing) * _upright(Q[:, 0]), float(values[0]))

    def solve(right: Floats, below: float) -> Floats:
        return _quotients(right, above + below)

    radius = float(np.sqrt(square_radius))
    below = climb(solve, beta, float(np.linalg.norm(beta[lowest])) / radius, radius)
    return SpherePoint(Q @ solve(beta, below), float(values[0] - below))


def climb(solve: Callable[[Floats, float], Floats], b: Floats, below: float, radius: float) -> float:
    """Return the root mu = g_1 - lam of 1/||w(mu)|| = 1/sqrt(r).

    The left side rises and is concave in mu, and a straight line where one term prevails, so Newton's method from any
    point below the root climbs to it and never passes it. In mu, not lam, nothing cancels where lam is close to g_1.

    Parameters
    ----------
    solve : callable
        Returns (G - lam I)^-1 v for v and mu.
    b : ndarray of shape (d,)
        w(mu) is solve(b, mu).
    below : float
        Where to start, at the root or below it: the mu for which the part of b along the lowest eigenvectors alone
        fills the length.
    radius : float
        sqrt(r).
    """
    for _ in range(MAX_STEPS):
        w = solve(b, below)
        length = np.linalg.norm(w)
        slope = float(w @ solve(w, below)) / length  # -d||w|| / dmu
        step = float(length * (length - radius) / (radius * slope))
        below += max(step, 0.0)
        if step <= np.finfo(np.float64).eps * below:
            break
    return below


def _quotients(above: Floats, below: Floats) -> Floats:
    """Divide, with 0 for 0 / 0: directions that b does not have."""
    return np.where(above == 0, 0.0, above / np.where(below > 0, below, 1.0))


def _upright(vector: Floats) -> Floats:
    """Return one of v and -v, the one whose largest entry is positive."""
    return vector * np.sign(vector[np.argmax(np.abs(vector))])
