"""Newton step over all free dual variables, on the current face of the feasible set.

Dual ascent soon identifies the dual variables at their bounds, and then converges slowly. On the face spanned by the
free variables, the dual is an unconstrained concave quadratic. Conjugate gradients maximize it in as many steps as it
has distinct curvatures. If its maximizer violates bounds, the step is projected onto them (compare Moré & Toraldo 1991,
On the solution of large quadratic programming problems with bound constraints).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.solvers.feature_spaces import Space
from oneof.solvers.linear import conjugate_gradients
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.typing import Floats, Ints, Mask

MAX_CG_ITER = 20
"""Maximum number of products with the Hessian per step."""
# With fewer coefficients, more steps are made, each on the face on which the last step ended.
_MAX_WORK = 10**5
_MAX_SUM = 1.0 - 1e-12
# Curvature, relative to an upper bound, below which a direction is treated as flat: conjugate gradients meet flat
# directions with rounding errors, along which a step would be 1e7 times too long.
CURVATURE_RTOL = 1e-9
MIN_MASS = 1e-3
"""Sets of at most this mass are left to dual ascent: steps that ignore bounds are too long for them."""
MIN_GAIN = 0.5
"""Fraction of the largest gain below which steps over level sets end: they meet more bounds than steps over sets."""


def face_step(problem: PLSVMProblem, chosen: Ints, coefficients: Floats, scores: Floats) -> bool:
    """Raise the dual over the variables that are not at their bounds, if it can be raised.

    Parameters
    ----------
    problem : PLSVMProblem
    chosen : ndarray of shape (L,)
        Chosen candidate z of each set.
    coefficients : ndarray of shape (L, K), float64
        tau_j at the chosen candidate, -alpha_jk outside the set; changed in place.
    scores : ndarray of shape (n, K)
        Scores of the weights given by the coefficients.

    Returns
    -------
    bool
        Whether the dual has increased.
    """
    sets = problem.sets
    alphas = np.where(sets.mask, 0.0, -coefficients)
    positive = alphas > 0.0
    is_fixed = (np.count_nonzero(positive, axis=1) == 1) & (alphas.sum(axis=1) >= _MAX_SUM * sets.mass)
    free = _FreeVariables.of(problem, chosen, positive & ~(is_fixed | (sets.mass <= MIN_MASS))[:, None])
    if not len(free.j):
        return False
    alphas, gradient = alphas[free.j, free.k], 1.0 - free.margins(scores[free.rows])
    increased, largest_gain = False, 0.0
    for _ in range(min(100, 1 + _MAX_WORK // (len(free.rows) * problem.n_classes))):
        step, length = _face_maximizer(free, gradient, alphas), 1.0
        # Steps that ignore the bounds of nested sets may be far too long.
        min_length = 1e-6 if sets.is_single else 1e-6 / max(float(np.abs(step).max()), 1.0)
        while length > min_length:
            change = free.clip(alphas + length * step) - alphas
            weights = free.weights(change)
            gain = float(change @ gradient) - 0.5 * free.scale * free.space.dot(weights, weights)
            if gain > 0.0:
                break
            length *= 0.25
        else:
            break
        increased = True
        alphas = alphas + change
        gradient = gradient - free.margins(free.space.matvec(weights))
        largest_gain = max(largest_gain, gain)
        if length == 1.0 and np.array_equal(alphas > 0.0, alphas - change > 0.0):
            break
        if not sets.is_single and gain < MIN_GAIN * largest_gain:
            break
    if increased:
        coefficients[free.j, free.k] = -alphas
        changed = np.unique(free.j)
        coefficients[changed, chosen[changed]] = np.bincount(free.j, alphas)[changed]
    return increased


@dataclass(frozen=True)
class _FreeVariables:
    """The free dual variables alpha_jk, as a vector."""

    j: Ints
    """The set of each variable."""
    k: Ints
    """The class of each variable."""
    mass: Floats
    """The masses of all sets, (L,)."""
    n_classes: int
    rows: Ints
    """The rows of the sets."""
    space: Space
    """The space of these rows."""
    scale: float
    plus: Ints
    """The place of the chosen class among the (n, K) coefficients of the rows, to which a variable is added."""
    minus: Ints
    """The place of the class of the variable, from which it is subtracted."""

    @classmethod
    def of(cls, problem: PLSVMProblem, chosen: Ints, free: Mask) -> "_FreeVariables":
        """Return the variables of a mask, (L, K)."""
        j, k = np.nonzero(free)
        rows, row = np.unique(problem.sets.row[j], return_inverse=True)
        first = row.ravel() * problem.n_classes
        space = problem.space.subset(rows)
        return cls(j, k, problem.sets.mass, problem.n_classes, rows, space, problem.scale, first + chosen[j], first + k)

    def weights(self, changes: Floats) -> Floats:
        """Return the change of the weights."""
        size = len(self.rows) * self.n_classes
        coefficients: Any = np.bincount(self.plus, changes, size) - np.bincount(self.minus, changes, size)
        return self.space.rmatvec(coefficients.reshape(len(self.rows), -1)) / self.scale

    def margins(self, scores: Floats) -> Floats:
        """Return the score of the chosen candidate less that of the class of each variable."""
        scores = scores.ravel()
        return scores[self.plus] - scores[self.minus]

    def clip(self, alphas: Floats) -> Floats:
        """Return alphas clipped at 0, and scaled to a sum of at most the mass of their set."""
        clipped = np.maximum(alphas, 0.0)
        sums = np.bincount(self.j, clipped, minlength=len(self.mass))
        return clipped / np.maximum(sums / self.mass, 1.0)[self.j]


def _face_maximizer(free: _FreeVariables, gradient: Floats, alphas: Floats) -> Floats:
    """Return the step to the maximizer on the face by conjugate gradients, of at most `MAX_CG_ITER` iterations.

    The face: 0 for variables at the bound 0, and the sum 0 in sets whose variables have the sum of their mass.
    """
    is_positive = alphas > 0.0
    n_positive = np.bincount(free.j, is_positive, minlength=len(free.mass))
    is_full = np.bincount(free.j, alphas, minlength=len(free.mass)) >= _MAX_SUM * free.mass
    mean_factor = np.where(is_full, 1.0 / np.maximum(n_positive, 1.0), 0.0)

    def project(values: Floats) -> Floats:
        means = mean_factor * np.bincount(free.j, values * is_positive, minlength=len(free.mass))
        return np.where(is_positive, values - means[free.j], 0.0)

    result = conjugate_gradients(
        lambda direction: project(free.margins(free.space.matvec(free.weights(direction)))),
        project(gradient),
        tol=1e-12,
        max_iter=MAX_CG_ITER,
        min_curvature=CURVATURE_RTOL * float(free.space.squares.max()) / free.scale,
        inner=lambda a, b: float(a @ b),
    )
    if result.end == "curvature":  # a flat direction: the step ends at a bound
        return result.solution + result.direction / max(float(np.abs(result.direction).max()), 1e-300)
    return result.solution
