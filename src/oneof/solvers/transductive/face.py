"""Steps over all dual variables at once that are not at a bound.

Where rows are many and features few, far more variables than features are long on the way to their bounds, and ascent
row by row moves them slowly. Over the face that they span, the dual is a concave quadratic, which conjugate gradients
climb; along what is flat in it they go as far as the bounds. A step that breaks bounds is cut back to them, and the
next one is made on the smaller face (compare Moré & Toraldo 1991, On the solution of large quadratic programming
problems with bound constraints).
"""

from collections.abc import Callable

import numpy as np

from oneof.solvers.plsvm import Space
from oneof.typing import Floats, Mask

MOST_STEPS = 100
"""On smaller and smaller faces, at most."""
MOST_PRODUCTS = 30
"""Products with the rows in one step, at most."""
SHORTEST = 1e-6
"""Of the lengths that are tried."""


def climb_faces(space: Space, slopes: Floats, low: Floats, high: Floats, coefficients: Floats, strength: float) -> bool:
    """Raise sum_i slopes_i d_i - 1/2 d^T (K + strength 1 1^T) d over changes d of the variables between their bounds.

    Parameters
    ----------
    space : FeatureSpace or KernelSpace
        K is the matrix of products of its rows.
    slopes : ndarray of shape (n,)
        Derivatives of the dual.
    low, high : ndarray of shape (n,)
    coefficients : ndarray of shape (n,)
        Within the bounds; changed in place.
    strength : float
        At least 0: the square of the constant feature.

    Returns
    -------
    bool
        Whether the dual has risen.
    """
    rows = np.flatnonzero((coefficients > low) & (coefficients < high))
    if not len(rows):
        return False
    part = space.part(rows)
    slopes, low, high, here = slopes[rows], low[rows], high[rows], coefficients[rows]
    largest = float(part.squares.max() + strength)

    def bend(change: Floats) -> Floats:
        return np.asarray(part.scores(part.gather(change[:, None])))[:, 0] + strength * change.sum()

    risen = False
    for _ in range(MOST_STEPS):
        free = (here > low) & (here < high)
        move = _climb(bend, slopes, free, largest, float((high - low).max()))
        length = 1.0
        while length > SHORTEST:
            moved = np.clip(here + length * move, low, high)
            bent = bend(moved - here)
            if (moved - here) @ slopes - 0.5 * ((moved - here) @ bent) > 0.0:
                break
            length *= 0.25
        else:
            break
        risen = True
        slopes, here = slopes - bent, moved
        if length == 1.0 and np.array_equal(free, (here > low) & (here < high)):
            break
    coefficients[rows] = here
    return risen


def _climb(bend: Callable[[Floats], Floats], slopes: Floats, free: Mask, largest: float, reach: float) -> Floats:
    """Return the move of the free variables to the top of the face, or as far as the products or the bounds reach."""
    residual = np.where(free, slopes, 0.0)
    direction, move = residual.copy(), np.zeros_like(residual)
    size = start = float(residual @ residual)
    for _ in range(MOST_PRODUCTS):
        if size <= 1e-24 * start or size == 0.0:
            break
        bent = np.where(free, bend(direction), 0.0)
        curvature = float(direction @ bent)
        if curvature <= 1e-12 * largest * float(direction @ direction):
            return move + direction * (reach / float(np.abs(direction).max()))
        move += size / curvature * direction
        residual -= size / curvature * bent
        size, last = float(residual @ residual), size
        direction = residual + size / last * direction
    return move
