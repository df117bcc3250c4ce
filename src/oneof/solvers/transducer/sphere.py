"""The least value of a quadratic on a sphere (Gander, Golub & von Matt 1989).

    minimise  w^T G w - 2 b^T w   over  ||w||^2 = r.

The minimiser is w = (G - lam I)^-1 b for the lam <= g_1, the smallest eigenvalue of G, that gives w its length. With
G = Q diag(g) Q^T and beta = Q^T b, the multiplier is the root of the secular equation
sum_i beta_i^2 / (g_i - lam)^2 = r; it is also the smallest eigenvalue of the 2d x 2d matrix
[[G, -I], [-b b^T / r, G]], which is not formed here, since it is far from symmetric.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from oneof.typing import Floats

MAX_STEPS = 100
"""Newton's method climbs to the root without ever passing it; it takes some ten steps."""


@dataclass(frozen=True)
class SpherePoint:
    """The minimiser of a quadratic on a sphere, with its multiplier."""

    w: Floats
    """(d,): the minimiser."""
    multiplier: float
    """lam: (G - lam I) w = b, and G - lam I has no negative eigenvalue."""
    hard: bool
    """Whether b has no part along the lowest eigenvectors of G, so that more than one point is least."""
    n_iter: int
    """Steps of Newton's method for the multiplier."""


def minimise_on_sphere(G: Floats, b: Floats, square_radius: float) -> SpherePoint:
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
            return SpherePoint(Q @ rest + np.sqrt(missing) * _upright(Q[:, 0]), float(values[0]), True, 0)
    below, n_iter = _climb(above, beta, square_radius)
    return SpherePoint(Q @ _quotients(beta, above + below), float(values[0] - below), False, n_iter)


def _climb(above: Floats, beta: Floats, square_radius: float) -> tuple[float, int]:
    """Return mu = g_1 - lam, the root of 1/||w(mu)|| = 1/sqrt(r) with w_i = beta_i / (g_i - g_1 + mu), and the steps.

    The left side rises and is concave in mu, and a straight line where one term prevails, so Newton's method from any
    point below the root climbs to it and never passes it. In mu, not lam, nothing cancels where lam is close to g_1.
    """
    radius = np.sqrt(square_radius)
    below = float(np.linalg.norm(beta[above == 0]) / radius)  # the lowest terms alone fill the length here
    n_iter = 0
    for n_iter in range(1, MAX_STEPS + 1):  # noqa: B007 - the number of steps is wanted after the loop
        w = _quotients(beta, above + below)
        length = np.linalg.norm(w)
        slope = float(w @ _quotients(w, above + below)) / length  # -d||w|| / dmu
        step = length * (length - radius) / (radius * slope)
        below += max(step, 0.0)
        if step <= np.finfo(np.float64).eps * below:
            break
    return below, n_iter


def _quotients(above: Floats, below: Floats) -> Floats:
    """Divide, with 0 for 0 / 0: directions that b does not have."""
    return np.where(above == 0, 0.0, above / np.where(below > 0, below, 1.0))


def _upright(vector: Floats) -> Floats:
    """Return one of v and -v, the one whose largest entry is positive."""
    return vector * np.sign(vector[np.argmax(np.abs(vector))])
