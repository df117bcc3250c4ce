"""Dual coordinate ascent for the convex problem with one chosen candidate per set.

With z_j the chosen candidate of the set j, of mass m_j and of the row i, the problem is that of Crammer & Singer (2001)
without the other candidates:

    min_W  P(W) = lam/2 ||W||^2 + 1/n sum_j m_j max(0, 1 - s_i,z_j + max_{k not in S_j} s_ik)

    max_alpha  D = 1/n sum_j tau_j - lam/2 ||W||^2,  alpha_jk >= 0 for k not in S_j,  tau_j = sum_k alpha_jk <= m_j,
    W = 1/(lam n) sum_j (tau_j x_i at z_j - sum_k alpha_jk x_i at k).

Without weights each row has one set, of mass 1. The coefficients of a set are tau_j at z_j, -alpha_jk outside the set,
and 0 at the other candidates.

The dual is raised row by row, with the exact solution for the variables of each set (Keerthi et al. 2008, A sequential
dual method for large scale multi-class linear SVMs). The sets of one row have the same features, so that a visit solves
them in turn until they agree, and reads the features once. At any time D <= min P <= P.

**Newton step over all free dual variables, on the current face of the feasible set.**

Dual ascent soon identifies the dual variables at their bounds, and then converges slowly. On the face spanned by the
free variables, the dual is an unconstrained concave quadratic. Conjugate gradients maximize it in as many steps as it
has distinct curvatures. If its maximizer violates bounds, the step is projected onto them (compare Moré & Toraldo 1991,
On the solution of large quadratic programming problems with bound constraints).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.jit import compiled
from oneof.solvers.feature_spaces import Space
from oneof.solvers.linear import conjugate_gradients
from oneof.solvers.pauses import MAX_PAUSE, Pauses
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.solvers.row_accessors import row_add_all, row_scores
from oneof.typing import Floats, Ints, Mask

MAX_EPOCHS = 100
"""Maximum number of passes over the rows in one call."""
MIN_EPOCHS = 3
"""Minimum number of passes between two computations of the gap, which costs about one."""
MAX_GAP_RATIO = 0.2
"""Ratio of successive gaps above which a step over all free variables is tried. Such a step costs as much as ten passes
over sparse rows, for which it is seldom needed."""
SMALL_CHANGE = 0.5
"""Changes of a row below this fraction of the mean in the last pass are small: their squares, to which the gain of the
dual is proportional, are a quarter of it. Rows with small changes are skipped for up to three passes."""
MIN_MASS = 1e-9
"""A row is skipped although the dual variables of a set of at most this mass change."""
STEP_RTOL = 1e-14
"""Change of a dual variable that is treated as rounding, relative to its mass and its value without the bound."""
MAX_SWEEPS, SWEEP_RTOL = 5, 0.1
"""Maximum number of sweeps over the sets of a row, and their last change relative to the first one's."""
MAX_CG_ITER = 20
"""Maximum number of products with the Hessian per step."""
# With fewer coefficients, more steps are made, each on the face on which the last step ended.
_MAX_WORK = 10**5
_MAX_SUM = 1.0 - 1e-12
# Curvature, relative to an upper bound, below which a direction is treated as flat: conjugate gradients meet flat
# directions with rounding errors, along which a step would be 1e7 times too long.
CURVATURE_RTOL = 1e-9
MIN_FACE_MASS = 1e-3
"""Sets of at most this mass are left to dual ascent: steps that ignore bounds are too long for them."""
MIN_GAIN = 0.5
"""Fraction of the largest gain below which steps over level sets end: they meet more bounds than steps over sets."""


@dataclass(frozen=True)
class DualSolution:
    """Result of the dual ascent."""

    weights: Floats
    scores: Floats
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """P - D, which bounds P - min P."""
        return self.primal - self.dual


def restrict_duals(duals: Floats, mask: Mask, mass: Floats, chosen: Ints) -> Floats:
    """Return dual variables for the chosen candidates, as coefficients of the sets.

    Parameters
    ----------
    duals : ndarray of shape (L, K)
        -alpha outside the sets; values inside them are ignored.
    mask : ndarray of shape (L, K), bool
    mass : ndarray of shape (L,)
    chosen : ndarray of shape (L,)

    Returns
    -------
    ndarray of shape (L, K)
    """
    coefficients = np.where(mask, 0.0, np.minimum(duals.astype(np.float64, copy=False), 0.0))
    coefficients /= np.maximum(-coefficients.sum(axis=1, keepdims=True) / mass[:, None], 1.0)
    np.put_along_axis(coefficients, chosen[:, None], -coefficients.sum(axis=1, keepdims=True), axis=1)
    return coefficients


def ascend(
    problem: PLSVMProblem,
    chosen: Ints,
    coefficients: Floats,
    *,
    tol: float,
    value: float,
    rng: np.random.Generator,
) -> DualSolution:
    """Raise the dual until the gap is at most tol P, or at most the decrease of P below `value`.

    It stops after `MAX_EPOCHS` passes in any case.

    Parameters
    ----------
    problem : PLSVMProblem
    chosen : ndarray of shape (L,)
        Chosen candidate z of each set.
    coefficients : ndarray of shape (L, K), float64
        Result of `restrict_duals`, which is changed in place.
    tol : float
    value : float
        Value of P at earlier weights.
    rng : Generator
        Random generator for the order of the rows.

    Returns
    -------
    DualSolution
    """
    n_rows = problem.space.n_rows
    pauses = Pauses(np.arange(n_rows), n_rows, rng)
    solution = _evaluate(problem, chosen, coefficients, problem.weights(coefficients))
    n_next, max_next, previous, slow = MIN_EPOCHS, MIN_EPOCHS, np.inf, False
    goal = max(tol * solution.primal, value - solution.primal)
    while solution.gap > goal and pauses.n_passes < MAX_EPOCHS:
        previous = solution.gap
        if slow and face_step(problem, chosen, coefficients, solution.scores):
            solution = _evaluate(problem, chosen, coefficients, problem.weights(coefficients))
        weights = run_epochs(problem, chosen, coefficients, solution.weights, n_next, pauses)
        solution = _evaluate(problem, chosen, coefficients, weights)
        goal = max(tol * solution.primal, value - solution.primal)
        slow = n_next == max_next and solution.gap > MAX_GAP_RATIO * previous
        max_next = min(2 * max_next, 20)
        n_next = _epochs_to_goal(solution.gap, goal, previous, n_next, max_next)
    return solution


def _epochs_to_goal(gap: float, goal: float, previous: float, n_epochs: int, max_epochs: int) -> int:
    """Return twice the epochs that decrease the gap to the goal at the rate of the last ones, which becomes slower."""
    if not 0.0 < gap < previous or not 0.0 < goal < gap:
        return max_epochs
    n_next = 2.0 * n_epochs * np.log(gap / goal) / np.log(previous / gap)
    return int(min(max(np.ceil(n_next), MIN_EPOCHS), max_epochs))


def run_epochs(
    problem: PLSVMProblem, chosen: Ints, coefficients: Floats, weights: Floats, n_epochs: int, pauses: Pauses
) -> Floats:
    """Raise the dual row by row in some passes over the rows, and return the resulting weights.

    The coefficients and the pauses are changed in place.
    """
    space, sets, scale = problem.space, problem.sets, problem.scale
    rows, squares, internal = space.rows(), space.squares / scale, space.to_internal(weights)
    mean_change = 0.0
    for _ in range(n_epochs):
        order = pauses.order()
        changes = np.empty(len(order))
        arrays = sets.mask, sets.mass, sets.offsets
        _run_epoch(rows, *arrays, order, chosen, squares, 1.0 / scale, internal, coefficients, changes)
        # A row at its bounds is skipped for an increasing number of passes, and one that changes little for a few.
        longest = np.where(changes < SMALL_CHANGE * mean_change, 3, 0)
        pauses.update(order, np.where(changes == 0.0, MAX_PAUSE, longest))
        mean_change = float(changes.sum()) / max(len(order), 1)
    return space.from_internal(internal, sets.sum_by_row(coefficients) / scale)


def _evaluate(problem: PLSVMProblem, chosen: Ints, coefficients: Floats, weights: Floats) -> DualSolution:
    space = problem.space
    scores = space.matvec(weights) if weights.any() else np.zeros((space.n_rows, problem.n_classes))
    taus = np.take_along_axis(coefficients, chosen[:, None], axis=1)
    dual = float(taus.sum()) / space.n_rows - problem.penalty(weights)
    return DualSolution(weights, scores, problem.majorant(weights, scores, chosen), dual)


@compiled
def row_duals(gains: Floats, c: float, mass: float, alphas: Floats) -> float:
    """Maximize sum_k alpha_k gain_k - c/2 (tau^2 + sum_k alpha_k^2) over alpha >= 0, tau = sum_k alpha_k <= mass.

    c is ||x_i||^2 / (lam n).
    The solution is alpha_k = max(0, gain_k - theta) / c, with theta = c tau if tau < mass. Classes are added in
    decreasing order of their gains, until the next gain is below theta.
    """
    n_classes = gains.shape[0]
    total, size, theta = 0.0, 0, 0.0
    for k in range(n_classes):
        alphas[k] = gains[k]
    while size < n_classes:
        best = 0
        for k in range(1, n_classes):
            if alphas[k] > alphas[best]:
                best = k
        if alphas[best] <= theta:
            break
        total += alphas[best]
        size += 1
        alphas[best] = -np.inf
        theta = max(total / (1.0 + size), (total - c * mass) / size)
    capped = size > 0 and (total - c * mass) / size >= total / (1.0 + size)
    tau = 0.0
    for k in range(n_classes):
        alphas[k] = max(0.0, (gains[k] - theta) / c) if size > 0 else 0.0
        tau += alphas[k]
    if capped and size == 1:  # exactly, so that a row at its bound does not change by rounding
        for k in range(n_classes):
            alphas[k] = mass if alphas[k] > 0.0 else 0.0
        return mass
    return tau


@compiled
def _run_epoch(rows, mask, mass, offsets, order, chosen, squares, per_scale, weights, coefficients, changes):
    """Raise the dual over some rows, and write the changes of their dual variables."""
    n_classes = mask.shape[1]
    # Separate arrays: with rows of one array, which numba cannot tell apart, sparse rows take 1.6 times as long.
    scores, gains, alphas, steps = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for r in range(order.shape[0]):
        i = order[r]
        c = squares[i]
        changes[r] = 0.0
        if c == 0.0:  # the loss of a row of zeros is 1 for all weights: any variables of the largest sum
            for j in range(offsets[i], offsets[i + 1]):
                coefficients[j, :] = 0.0
                for k in range(n_classes):
                    if not mask[j, k]:
                        coefficients[j, k], coefficients[j, chosen[j]] = -mass[j], mass[j]
                        break
            continue
        row_scores(rows, i, weights, scores)
        steps[:] = 0.0
        is_single = offsets[i + 1] == offsets[i] + 1
        first_change = 0.0
        for sweep in range(1 if is_single else MAX_SWEEPS):
            sweep_change = 0.0
            for j in range(offsets[i], offsets[i + 1]):
                z, coefficient = chosen[j], coefficients[j]
                # The hinge without the contribution of this set to the weights.
                inside = scores[z] - c * coefficient[z]
                for k in range(n_classes):
                    gains[k] = -np.inf if mask[j, k] else 1.0 + scores[k] - c * coefficient[k] - inside
                tau = row_duals(gains, c, mass[j], alphas)
                rounding = 0.0 if is_single else STEP_RTOL * (mass[j] + max(0.0, gains.max()) / c)
                for k in range(n_classes):
                    step = 0.0 if mask[j, k] else -alphas[k] - coefficient[k]
                    if step != 0.0:
                        coefficient[k] = -alphas[k]
                        scores[k] += c * step
                        steps[k] += step * per_scale
                        if abs(step) > rounding and mass[j] > (0.0 if is_single else MIN_MASS):
                            sweep_change += abs(step)
                step = tau - coefficient[z]
                scores[z] += c * step
                steps[z] += step * per_scale
                coefficient[z] = tau
            if sweep == 0:
                changes[r] = first_change = sweep_change
            if sweep_change <= SWEEP_RTOL * first_change:
                break
        row_add_all(rows, i, weights, steps)


# -- face newton -------------------------------------------------------------------------------------------------------


@np.errstate(over="ignore", invalid="ignore")  # a step that overflows has no gain, and is not taken
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
    free = _FreeVariables.of(problem, chosen, positive & ~(is_fixed | (sets.mass <= MIN_FACE_MASS))[:, None])
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
