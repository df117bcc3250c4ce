"""Newton step over all free dual variables, on the current face of the feasible set.

Dual ascent soon identifies the dual variables at their bounds, and then converges slowly. On the face spanned by the
free variables, the dual is an unconstrained concave quadratic. Conjugate gradients maximize it in as many steps as it
has distinct curvatures. If its maximizer violates bounds, the step is projected onto them (compare Moré & Toraldo 1991,
On the solution of large quadratic programming problems with bound constraints).
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.feature_spaces import Space
from oneof.solvers.plsvm.level_sums import SummedLevels
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
MIN_MASS = 1e-3
"""Level sets of at most this mass are left to dual ascent: a step that ignores bounds is far too long for them."""


def face_step(problem: PLSVMProblem, chosen: Ints, coefficients: Floats, scores: Floats) -> bool:
    """Raise the dual over the variables that are not at their bounds, if it can be raised.

    Parameters
    ----------
    problem : PLSVMProblem
    chosen : ndarray of shape (L,)
        Chosen candidate z of each set.
    coefficients : ndarray of shape (L, K), float64
        tau_i at the chosen candidate, -alpha_ik outside the set; changed in place.
    scores : ndarray of shape (n, K)
        Scores of the weights given by the coefficients.

    Returns
    -------
    bool
        Whether the dual has increased.
    """
    alphas = np.where(problem.mask, 0.0, -coefficients)
    is_free = _free(alphas, problem.mass).any(axis=1)
    sets = rows = np.flatnonzero(is_free if problem.levels is None else is_free & (problem.mass > MIN_MASS))
    if not len(sets):
        return False
    levels = None
    if problem.levels is not None:
        rows, levels = problem.levels.select(sets)
        levels = None if len(rows) == len(sets) else levels
    free = _FreeVariables(problem.space.subset(rows), chosen[sets], problem.mass[sets], levels, problem.scale)
    alphas, gradient = alphas[sets], 1.0 - free.margin(scores[rows])
    increased = False
    for _ in range(min(100, 1 + _MAX_WORK // alphas.size)):
        step = _face_maximizer(free, gradient, alphas)
        # Level sets of one row with the same chosen candidate have equal effects, so that steps may be far too long.
        full = 1.0 if free.levels is None else 1.0 / max(float(np.abs(step).max()), 1.0)
        length = full
        while length > 1e-6 * full:
            change = _clip_step(alphas, length * step, free.mass)
            weights = free.weights(change)
            gain = float(np.vdot(change, gradient)) - 0.5 * free.scale * free.space.dot(weights, weights)
            if gain > 0.0:
                break
            length *= 0.25
        else:
            break
        increased = True
        coefficients[sets] += free.coefficients(change)
        alphas = alphas + change
        gradient = gradient - free.margin(free.space.matvec(weights))
        if length == full and np.array_equal(alphas > 0.0, alphas - change > 0.0):
            break
    return increased


@dataclass(frozen=True)
class _FreeVariables:
    """Sets with free dual variables, and the effect of changes of these."""

    space: Space
    chosen: Ints
    mass: Floats
    levels: SummedLevels | None
    """The rows of the sets; None if each row has one set."""
    scale: float

    def coefficients(self, changes: Floats) -> Floats:
        """Return changes of the alphas as changes of the coefficients."""
        out = -changes
        out[np.arange(len(out)), self.chosen] = changes.sum(axis=1)
        return out

    def weights(self, changes: Floats) -> Floats:
        """Return the change of the weights."""
        coefficients = self.coefficients(changes)
        if self.levels is not None:
            coefficients = self.levels.sum_by_row(coefficients)
        return self.space.rmatvec(coefficients) / self.scale

    def margin(self, scores: Floats) -> Floats:
        """Return the score of the chosen candidate of each set less that of each class, from scores of the rows."""
        scores = scores if self.levels is None else scores[self.levels.row]
        return scores[np.arange(len(scores)), self.chosen][:, None] - scores


def _free(alphas: Floats, mass: Floats) -> Mask:
    """Return the free variables: those above 0, except for one that alone makes up the mass of its set."""
    positive = alphas > 0.0
    return positive & ((np.count_nonzero(positive, axis=1) > 1) | (alphas.sum(axis=1) < _MAX_SUM * mass))[:, None]


def _face_maximizer(variables: _FreeVariables, gradient: Floats, alphas: Floats) -> Floats:
    """Return the step to the maximizer on the face by conjugate gradients, of at most `MAX_CG_ITER` iterations."""
    mass = variables.mass
    free, capped = _free(alphas, mass), alphas.sum(axis=1) >= _MAX_SUM * mass
    residual = _project(gradient, free, capped)
    direction, step = residual.copy(), np.zeros_like(residual)
    size = start = float(np.vdot(residual, residual))
    bound = float(variables.space.squares.max()) / variables.scale
    for _ in range(MAX_CG_ITER):
        if size <= 1e-24 * start or size == 0.0:
            break
        scores = variables.space.matvec(variables.weights(direction))
        product = _project(variables.margin(scores), free, capped)
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
    """Return the projection onto the face: 0 at bounds, and of sum 0 in sets whose variables sum to their mass."""
    values = np.where(free, values, 0.0)
    mean = values.sum(axis=1) / np.maximum(np.count_nonzero(free, axis=1), 1)
    return np.where(free & capped[:, None], values - mean[:, None], values)


def _clip_step(alphas: Floats, step: Floats, mass: Floats) -> Floats:
    """Return the step with each variable clipped at 0, and each set scaled to a sum of at most its mass."""
    clipped = np.maximum(alphas + step, 0.0)
    clipped /= np.maximum(clipped.sum(axis=1, keepdims=True) / mass[:, None], 1.0)
    return clipped - alphas
