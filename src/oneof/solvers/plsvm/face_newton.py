"""Newton step over all free dual variables, on the current face of the feasible set.

Dual ascent soon identifies the dual variables at their bounds, and then converges slowly. On the face spanned by the
free variables, the dual is an unconstrained concave quadratic. Conjugate gradients maximize it in as many steps as it
has distinct curvatures. If its maximizer violates bounds, the step is projected onto them (compare Moré & Toraldo 1991,
On the solution of large quadratic programming problems with bound constraints).
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.feature_spaces import Space
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.typing import Floats, Ints, Mask

MAX_CG_ITER = 20
"""Maximum number of products with the Hessian per step."""
# With fewer variables, more steps are made, each on the face on which the last step ended.
_MAX_WORK = 10**5
_MAX_SUM = 1.0 - 1e-12
# Curvature, relative to an upper bound, below which a direction is treated as flat: conjugate gradients meet flat
# directions with rounding errors, along which a step would be 1e7 times too long.
CURVATURE_RTOL = 1e-9


def face_step(problem: PLSVMProblem, chosen: Ints, coefficients: Floats, scores: Floats) -> bool:
    """Raise the dual over the variables that are not at their bounds, if it can be raised.

    Parameters
    ----------
    problem : PLSVMProblem
    chosen : ndarray of shape (n,)
        Chosen candidate z of each row.
    coefficients : ndarray of shape (n, K), float64
        tau_i at the chosen candidate, -alpha_ik outside the set; changed in place.
    scores : ndarray of shape (n, K)
        Scores of the weights given by the coefficients.

    Returns
    -------
    bool
        Whether the dual has increased.
    """
    alphas = np.where(problem.mask, 0.0, -coefficients)
    rows = np.flatnonzero(_free(alphas).any(axis=1))
    if not len(rows):
        return False
    free = _FreeVariables(problem.space.subset(rows), chosen[rows], problem.scale)
    alphas, gradient = alphas[rows], 1.0 - free.margin(scores[rows])
    increased = False
    for _ in range(min(100, 1 + _MAX_WORK // alphas.size)):
        step = _face_maximizer(free, gradient, alphas)
        length = 1.0
        while length > 1e-6:
            change = _clip_step(alphas, length * step)
            weights = free.space.rmatvec(free.coefficients(change)) / free.scale
            gain = float(np.vdot(change, gradient)) - 0.5 * free.scale * free.space.dot(weights, weights)
            if gain > 0.0:
                break
            length *= 0.25
        else:
            break
        increased = True
        coefficients[rows] += free.coefficients(change)
        alphas = alphas + change
        gradient = gradient - free.margin(free.space.matvec(weights))
        if length == 1.0 and np.array_equal(alphas > 0.0, alphas - change > 0.0):
            break
    return increased


@dataclass(frozen=True)
class _FreeVariables:
    """Rows with free dual variables, and the effect of changes of these."""

    space: Space
    chosen: Ints
    scale: float

    def coefficients(self, changes: Floats) -> Floats:
        """Return changes of the alphas as changes of the coefficients."""
        out = -changes
        out[np.arange(len(out)), self.chosen] = changes.sum(axis=1)
        return out

    def margin(self, scores: Floats) -> Floats:
        """Return the score of the chosen candidate less that of each class."""
        return scores[np.arange(len(scores)), self.chosen][:, None] - scores


def _free(alphas: Floats) -> Mask:
    """Return the free variables: those above 0, except for one that alone makes up the sum of its row."""
    positive = alphas > 0.0
    return positive & ((np.count_nonzero(positive, axis=1) > 1) | (alphas.sum(axis=1) < _MAX_SUM))[:, None]


def _face_maximizer(variables: _FreeVariables, gradient: Floats, alphas: Floats) -> Floats:
    """Return the step to the maximizer on the face by conjugate gradients, of at most `MAX_CG_ITER` iterations."""
    free, capped = _free(alphas), alphas.sum(axis=1) >= _MAX_SUM
    residual = _project(gradient, free, capped)
    direction, step = residual.copy(), np.zeros_like(residual)
    size = start = float(np.vdot(residual, residual))
    bound = float(variables.space.squares.max()) / variables.scale
    for _ in range(MAX_CG_ITER):
        if size <= 1e-24 * start or size == 0.0:
            break
        weights = variables.space.rmatvec(variables.coefficients(direction)) / variables.scale
        product = _project(variables.margin(variables.space.matvec(weights)), free, capped)
        curvature = float(np.vdot(direction, product))
        if curvature <= CURVATURE_RTOL * bound * float(np.vdot(direction, direction)):
            # The step must end at a bound.
            return step + direction / max(float(np.abs(direction).max()), 1e-300)
        step += size / curvature * direction
        residual -= size / curvature * product
        size, last = float(np.vdot(residual, residual)), size
        direction = residual + size / last * direction
    return step


def _project(values: Floats, free: Mask, capped: Mask) -> Floats:
    """Return the projection onto the face: 0 at bounds, and of sum 0 in rows whose variables sum to 1."""
    values = np.where(free, values, 0.0)
    mean = values.sum(axis=1) / np.maximum(np.count_nonzero(free, axis=1), 1)
    return np.where(free & capped[:, None], values - mean[:, None], values)


def _clip_step(alphas: Floats, step: Floats) -> Floats:
    """Return the step with each variable clipped at 0, and each row scaled to a sum of at most 1."""
    clipped = np.maximum(alphas + step, 0.0)
    clipped /= np.maximum(clipped.sum(axis=1, keepdims=True), 1.0)
    return clipped - alphas
