"""A step over all dual variables at once that are free to move.

Dual ascent soon knows which dual variables are at their bounds, and then goes on slowly. On the face that the others
span the dual is an unconstrained concave quadratic, which conjugate gradients maximize in as many steps as it has
different curvatures. Where its maximizer breaks bounds, the step is cut back to them (compare Moré & Toraldo 1991, On
the solution of large quadratic programming problems with bound constraints).
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.feature_spaces import Space
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.typing import Floats, Ints, Mask

MOST_PRODUCTS = 20
"""Products with the curvature in one round, at most."""
# The fewer variables there are, the more rounds are made, each on the face that the last one ended on.
_NUMBERS = 10**5
_FULL = 1.0 - 1e-12
# Curvature, as a share of the largest that there may be, below which a direction counts as flat: conjugate gradients
# come upon flat directions mixed with rounding, and would go 1e7 times too far along them.
_FLAT = 1e-9


def face_step(problem: PLSVMProblem, chosen: Ints, coefficients: Floats, scores: Floats) -> bool:
    """Raise the dual over the variables that are not at their bounds, or leave it as it was.

    Parameters
    ----------
    problem : PLSVMProblem
    chosen : ndarray of shape (n,)
        z.
    coefficients : ndarray of shape (n, K), float64
        tau_i at the choice, -alpha_ik outside the set; changed in place.
    scores : ndarray of shape (n, K)
        Of the weights that the coefficients make.

    Returns
    -------
    bool
        Whether the dual has risen.
    """
    alphas = np.where(problem.mask, 0.0, -coefficients)
    rows = np.flatnonzero(_movable(alphas).any(axis=1))
    if not len(rows):
        return False
    part = _Part(problem.space.part(rows), chosen[rows], problem.scale)
    alphas, slopes = alphas[rows], 1.0 - part.lead(scores[rows])
    risen = False
    for _ in range(min(100, 1 + _NUMBERS // alphas.size)):
        move = _climb(part, slopes, alphas)
        length = 1.0
        while length > 1e-6:
            change = _within_bounds(alphas, length * move)
            moved = part.space.gather(part.coefficients(change)) / part.scale
            gain = float(np.vdot(change, slopes)) - 0.5 * part.scale * part.space.dot(moved, moved)
            if gain > 0.0:
                break
            length *= 0.25
        else:
            break
        risen = True
        coefficients[rows] += part.coefficients(change)
        alphas = alphas + change
        slopes = slopes - part.lead(part.space.scores(moved))
        if length == 1.0 and np.array_equal(alphas > 0.0, alphas - change > 0.0):
            break
    return risen


@dataclass(frozen=True)
class _Part:
    """The rows that can move, with what a change of their dual variables does."""

    space: Space
    chosen: Ints
    scale: float

    def coefficients(self, changes: Floats) -> Floats:
        """Return changes of the alphas as changes of the coefficients."""
        out = -changes
        out[np.arange(len(out)), self.chosen] = changes.sum(axis=1)
        return out

    def lead(self, scores: Floats) -> Floats:
        """Return by how much the choice beats each class."""
        return scores[np.arange(len(scores)), self.chosen][:, None] - scores


def _movable(alphas: Floats) -> Mask:
    """Return which variables can move: those above 0, but for one that alone makes up a whole row."""
    free = alphas > 0.0
    return free & ((np.count_nonzero(free, axis=1) > 1) | (alphas.sum(axis=1) < _FULL))[:, None]


def _climb(part: _Part, slopes: Floats, alphas: Floats) -> Floats:
    """Return the move to the maximizer on the face, or as far as the products reach."""
    free, capped = _movable(alphas), alphas.sum(axis=1) >= _FULL
    residual = _project(slopes, free, capped)
    direction, move = residual.copy(), np.zeros_like(residual)
    size = start = float(np.vdot(residual, residual))
    largest = float(part.space.squares.max()) / part.scale
    for _ in range(MOST_PRODUCTS):
        if size <= 1e-24 * start or size == 0.0:
            break
        changed = part.space.scores(part.space.gather(part.coefficients(direction)) / part.scale)
        bent = _project(part.lead(changed), free, capped)
        curvature = float(np.vdot(direction, bent))
        if curvature <= _FLAT * largest * float(np.vdot(direction, direction)):
            # A bound must stop the move.
            return move + direction / max(float(np.abs(direction).max()), 1e-300)
        move += size / curvature * direction
        residual -= size / curvature * bent
        size, last = float(np.vdot(residual, residual)), size
        direction = residual + size / last * direction
    return move


def _project(values: Floats, free: Mask, capped: Mask) -> Floats:
    """Return the part of values along the face: 0 at bounds, and of sum 0 in rows whose variables sum to 1."""
    values = np.where(free, values, 0.0)
    mean = values.sum(axis=1) / np.maximum(np.count_nonzero(free, axis=1), 1)
    return np.where(free & capped[:, None], values - mean[:, None], values)


def _within_bounds(alphas: Floats, move: Floats) -> Floats:
    """Return the move with each variable stopped at 0, and each row scaled to sum at most 1."""
    moved = np.maximum(alphas + move, 0.0)
    moved /= np.maximum(moved.sum(axis=1, keepdims=True), 1.0)
    return moved - alphas
