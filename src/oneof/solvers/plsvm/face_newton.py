"""Newton step over all free dual variables, on the current face of the feasible set.

Dual ascent soon identifies the dual variables at their bounds, and then converges slowly. On the face spanned by the
free variables, the dual is an unconstrained concave quadratic. Conjugate gradients maximize it in as many steps as it
has distinct curvatures. If its maximizer violates bounds, the step is projected onto them (compare Moré & Toraldo 1991,
On the solution of large quadratic programming problems with bound constraints).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oneof.jit import compiled
from oneof.solvers.feature_spaces import Space
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.solvers.plsvm.row_duals import clip_to_bounds, number_faces, split_block
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
"""Blocks of level sets of at most this mass are left to dual ascent: steps that ignore bounds are too long for them."""
MIN_GAIN = 0.1
"""Fraction of the largest gain below which steps over blocks of level sets end: they meet more bounds than sets."""


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
    free = (
        _free_sets(problem, chosen, coefficients)
        if problem.levels is None
        else _free_blocks(problem, problem.levels.row, chosen, coefficients)
    )
    if free is None:
        return False
    alphas, gradient = free.alphas, 1.0 - free.margin(scores[free.rows])
    increased, largest_gain = False, 0.0
    for _ in range(min(100, 1 + _MAX_WORK // alphas.size)):
        step = _face_maximizer(free, gradient, alphas)
        length = 1.0
        # Steps that ignore nested bounds may be far too long.
        min_length = 1e-6 / max(float(np.abs(step).max()), 1.0) if free.is_nested else 1e-6
        while length > min_length:
            change = free.clip_step(alphas, length * step)
            weights = free.weights(change)
            gain = float(np.vdot(change, gradient)) - 0.5 * free.scale * free.space.dot(weights, weights)
            if gain > 0.0:
                break
            length *= 0.25
        else:
            break
        increased = True
        alphas = alphas + change
        free.store(coefficients, change, alphas)
        gradient = gradient - free.margin(free.space.matvec(weights))
        largest_gain = max(largest_gain, gain)
        if length == 1.0 and np.array_equal(alphas > 0.0, alphas - change > 0.0):
            break
        if free.is_nested and gain < MIN_GAIN * largest_gain:
            break
    return increased


@dataclass(frozen=True)
class _FreeSets:
    """Sets with free dual variables, of one row each, and the effect of changes of these."""

    space: Space
    scale: float
    rows: Ints
    """The rows of the space."""
    chosen: Ints
    alphas: Floats
    """Dual variables at the start, (F, K)."""
    is_nested: bool
    """Whether there are several bounds on the sums of the variables of a set."""

    def coefficients(self, changes: Floats) -> Floats:
        """Return changes of the alphas as changes of the coefficients."""
        out = -changes
        out[np.arange(len(out)), self.chosen] = changes.sum(axis=1)
        return out

    def weights(self, changes: Floats) -> Floats:
        """Return the change of the weights."""
        return self.space.rmatvec(self.coefficients(changes)) / self.scale

    def margin(self, scores: Floats) -> Floats:
        """Return the score of the chosen candidate of each set less that of each class, from scores of the rows."""
        return scores[np.arange(len(scores)), self.chosen][:, None] - scores

    def projection(self, alphas: Floats) -> Callable[[Floats], Floats]:
        """Return the projection onto the face: 0 at bounds, and of sum 0 in sets whose variables sum to 1."""
        free, capped = _free(alphas), alphas.sum(axis=1) >= _MAX_SUM
        n_free, subtracted = np.maximum(np.count_nonzero(free, axis=1), 1), free & capped[:, None]

        def project(values: Floats) -> Floats:
            values = np.where(free, values, 0.0)
            return np.where(subtracted, values - (values.sum(axis=1) / n_free)[:, None], values)

        return project

    def clip_step(self, alphas: Floats, step: Floats) -> Floats:
        """Return the step with each variable clipped at 0, and each set scaled to a sum of at most 1."""
        clipped = np.maximum(alphas + step, 0.0)
        clipped /= np.maximum(clipped.sum(axis=1, keepdims=True), 1.0)
        return clipped - alphas

    def store(self, coefficients: Floats, change: Floats, alphas: Floats) -> None:
        """Update the coefficients of all sets."""
        del alphas
        coefficients[self.rows] += self.coefficients(change)


def _free(alphas: Floats) -> Mask:
    """Return the free variables: those above 0, except for one that alone makes up the sum of its set."""
    positive = alphas > 0.0
    return positive & ((np.count_nonzero(positive, axis=1) > 1) | (alphas.sum(axis=1) < _MAX_SUM))[:, None]


def _free_sets(problem: PLSVMProblem, chosen: Ints, coefficients: Floats) -> _FreeSets | None:
    alphas = np.where(problem.mask, 0.0, -coefficients)
    rows = np.flatnonzero(_free(alphas).any(axis=1))
    if not len(rows):
        return None
    return _FreeSets(problem.space.subset(rows), problem.scale, rows, chosen[rows], alphas[rows], False)


@dataclass(frozen=True)
class _FreeBlocks(_FreeSets):
    """Blocks of level sets with free dual variables."""

    problem: PLSVMProblem
    row: Ints
    """The row of each block, as an index into `rows`."""
    bounds: Ints
    """The first and the last level set of each block, the last one excluded, (F, 2)."""
    chosen_of_all: Ints
    """The chosen candidates of all level sets."""

    def weights(self, changes: Floats) -> Floats:
        """Return the change of the weights."""
        sums = _sum_by_row(self.coefficients(changes), self.row, len(self.rows))
        return self.space.rmatvec(sums) / self.scale

    def margin(self, scores: Floats) -> Floats:
        """Return the score of the chosen candidate of each block less that of each class, from scores of the rows."""
        return super().margin(scores[self.row])

    def projection(self, alphas: Floats) -> Callable[[Floats], Floats]:
        """Return the projection onto the face: 0 at bounds, and sums of 0 where bounds on sums are active."""
        faces = _number_faces(alphas, self.problem.mask, self.problem.mass, self.bounds)[0]
        return lambda values: _project(values, faces)

    def clip_step(self, alphas: Floats, step: Floats) -> Floats:
        """Return the step with each variable clipped at 0, and sums of variables scaled to their bounds."""
        clipped = alphas + step
        _clip(clipped, self.problem.mask, self.problem.mass, self.bounds)
        return clipped - alphas

    def store(self, coefficients: Floats, change: Floats, alphas: Floats) -> None:
        """Update the coefficients of all sets."""
        del change
        _split(alphas, self.problem.mask, self.problem.mass, self.chosen_of_all, self.bounds, coefficients)


def _free_blocks(problem: PLSVMProblem, row: Ints, chosen: Ints, coefficients: Floats) -> _FreeBlocks | None:
    mask, mass = problem.mask, problem.mass
    first = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (np.diff(chosen, prepend=-1) != 0))
    bounds = np.column_stack([first, np.append(first[1:], len(row))])
    alphas = np.add.reduceat(coefficients, first, axis=0)
    alphas = np.where(mask[first], 0.0, np.maximum(-alphas, 0.0))
    is_free = (_number_faces(alphas, mask, mass, bounds)[1] > 0) & (np.add.reduceat(mass, first) > MIN_MASS)
    if not is_free.any():
        return None
    bounds, alphas = bounds[is_free], alphas[is_free]
    rows, index = np.unique(row[bounds[:, 0]], return_inverse=True)
    space = problem.space.subset(rows)
    own, is_nested = chosen[bounds[:, 0]], bool((bounds[:, 1] - bounds[:, 0]).max() > 1)
    return _FreeBlocks(space, problem.scale, rows, own, alphas, is_nested, problem, index.ravel(), bounds, chosen)


@compiled
def _sum_by_row(values: Floats, row: Ints, n_rows: int) -> Floats:
    sums = np.zeros((n_rows, values.shape[1]))
    for b in range(values.shape[0]):
        for k in range(values.shape[1]):
            sums[row[b], k] += values[b, k]
    return sums


@compiled
def _number_faces(alphas: Floats, mask: Mask, mass: Floats, bounds: Ints) -> tuple[Ints, Ints]:
    faces, n_free = np.empty(alphas.shape, dtype=np.int64), np.empty(len(alphas), dtype=np.int64)
    for b in range(len(alphas)):
        n_free[b] = number_faces(alphas[b], mask, mass, bounds[b, 0], bounds[b, 1], faces[b])
    return faces, n_free


@compiled
def _project(values: Floats, faces: Ints) -> Floats:
    out = np.empty_like(values)
    n_classes = values.shape[1]
    sums, sizes = np.zeros((2, n_classes + 2))
    for b in range(values.shape[0]):
        last = 1
        for k in range(n_classes):
            last = max(last, faces[b, k])
        sums[: last + 1], sizes[: last + 1] = 0.0, 0.0
        for k in range(n_classes):
            sums[faces[b, k]] += values[b, k]
            sizes[faces[b, k]] += 1.0
        for k in range(n_classes):
            face = faces[b, k]
            mean = sums[face] / sizes[face] if face > 1 else 0.0
            out[b, k] = values[b, k] - mean if face > 0 else 0.0
    return out


@compiled
def _clip(alphas: Floats, mask: Mask, mass: Floats, bounds: Ints) -> None:
    for b in range(len(alphas)):
        clip_to_bounds(alphas[b], mask, mass, bounds[b, 0], bounds[b, 1])


@compiled
def _split(alphas: Floats, mask: Mask, mass: Floats, chosen: Ints, bounds: Ints, coefficients: Floats) -> None:
    for b in range(len(alphas)):
        split_block(alphas[b], mask, mass, chosen, bounds[b, 0], bounds[b, 1], coefficients)


def _face_maximizer(variables: _FreeSets, gradient: Floats, alphas: Floats) -> Floats:
    """Return the step to the maximizer on the face by conjugate gradients, of at most `MAX_CG_ITER` iterations."""
    project = variables.projection(alphas)
    residual = project(gradient)
    direction, step = residual.copy(), np.zeros_like(residual)
    size = start = float(np.vdot(residual, residual))
    bound = float(variables.space.squares.max()) / variables.scale
    for _ in range(MAX_CG_ITER):
        if size <= 1e-24 * start or size == 0.0:
            break
        product = project(variables.margin(variables.space.matvec(variables.weights(direction))))
        curvature = float(np.vdot(direction, product))
        if curvature <= CURVATURE_RTOL * bound * float(np.vdot(direction, direction)):
            # The step must end at a bound.
            return step + direction / max(float(np.abs(direction).max()), 1e-300)
        step += size / curvature * direction
        residual -= size / curvature * product
        size, last = float(np.vdot(residual, residual)), size
        direction = residual + size / last * direction
    return step
