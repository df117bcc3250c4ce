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
"""

from dataclasses import dataclass

import numpy as np

from oneof.jit import compiled
from oneof.solvers.pauses import MAX_PAUSE, Pauses
from oneof.solvers.plsvm.face_newton import face_step
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
        _run_epoch(
            rows, sets.mask, sets.mass, sets.start, order, chosen, squares, 1.0 / scale, internal, coefficients, changes
        )
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
def _run_epoch(rows, mask, mass, start, order, chosen, squares, per_scale, weights, coefficients, changes):
    """Raise the dual over some rows, and write the changes of their dual variables."""
    n_classes = mask.shape[1]
    # One block of memory: the loops then vectorize, and sums are rounded, in the same way at every address.
    scores, gains, alphas, steps = np.empty((4, n_classes))
    for r in range(order.shape[0]):
        i = order[r]
        c = squares[i]
        changes[r] = 0.0
        if c == 0.0:  # the loss of a row of zeros is 1 for all weights: any variables of the largest sum
            for j in range(start[i], start[i + 1]):
                coefficients[j, :] = 0.0
                for k in range(n_classes):
                    if not mask[j, k]:
                        coefficients[j, k], coefficients[j, chosen[j]] = -mass[j], mass[j]
                        break
            continue
        row_scores(rows, i, weights, scores)
        steps[:] = 0.0
        is_single = start[i + 1] == start[i] + 1
        first_change = 0.0
        for sweep in range(1 if is_single else MAX_SWEEPS):
            sweep_change = 0.0
            for j in range(start[i], start[i + 1]):
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
