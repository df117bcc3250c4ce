"""Dual coordinate ascent for the convex problem with one chosen candidate per row.

With z_i the chosen candidate of row i, the problem is that of Crammer & Singer (2001) without the other candidates:

    min_W  P(W) = lam/2 ||W||^2 + 1/n sum_i max(0, 1 - s_i,z_i + max_{k not in S_i} s_ik)

    max_alpha  D = 1/n sum_i tau_i - lam/2 ||W||^2,  alpha_ik >= 0 for k not in S_i,  tau_i = sum_k alpha_ik <= 1,
    W = 1/(lam n) sum_i (tau_i x_i at z_i - sum_k alpha_ik x_i at k).

A row with weights has a chosen candidate z_ij, and dual variables of sum at most the mass m_ij, for each of its level
sets j. Its loss is the sum of those of the level sets times m_ij, and its contribution to W the sum of theirs.

The dual is raised row by row, with the exact solution for the variables of each row (Keerthi et al. 2008, A sequential
dual method for large scale multi-class linear SVMs), or of each of its blocks of level sets with the same chosen
candidate (`oneof.solvers.plsvm.row_duals`). At any time D <= min P <= P.
"""

from dataclasses import dataclass

import numpy as np

from oneof.jit import compiled
from oneof.solvers.plsvm.face_newton import face_step
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.solvers.plsvm.proximal import NO_PROXIMAL_TERM, ProximalPenalty
from oneof.solvers.plsvm.row_duals import block_duals, block_end, row_duals, split_block
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
"""A row is skipped although the dual variables of a block of at most this mass change."""
STEP_RTOL = 1e-14
"""Change of a dual variable that is treated as rounding, relative to its mass and its value without the bound."""


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
        tau_i at the chosen candidate, -alpha_ik outside the set, 0 at the other candidates.
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
    penalty: ProximalPenalty = NO_PROXIMAL_TERM,
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
    penalty : ProximalPenalty
        Penalty of a problem with scaled columns.

    Returns
    -------
    DualSolution
    """
    space = problem.space
    skip_until, idle_epochs = np.zeros((2, space.n_rows), dtype=np.int64)
    weights = _weights(problem, coefficients, penalty)
    solution = _evaluate(problem, chosen, coefficients, weights, penalty)
    n_epochs, n_next, max_next, previous, slow = 0, MIN_EPOCHS, MIN_EPOCHS, np.inf, False
    goal = max(tol * solution.primal, value - solution.primal)
    while solution.gap > goal and n_epochs < MAX_EPOCHS:
        previous = solution.gap
        if slow and face_step(problem, chosen, coefficients, solution.scores):
            weights = _weights(problem, coefficients, penalty)
            solution = _evaluate(problem, chosen, coefficients, weights, penalty)
        epochs = range(n_epochs, n_epochs + n_next)
        weights = run_epochs(problem, chosen, coefficients, solution.weights, skip_until, idle_epochs, epochs, rng)
        solution = _evaluate(problem, chosen, coefficients, weights, penalty)
        goal = max(tol * solution.primal, value - solution.primal)
        slow = n_next == max_next and solution.gap > MAX_GAP_RATIO * previous
        n_epochs, max_next = n_epochs + n_next, min(2 * max_next, 20)
        n_next = _epochs_to_goal(solution.gap, goal, previous, n_next, max_next)
    return solution


def _epochs_to_goal(gap: float, goal: float, previous: float, n_epochs: int, max_epochs: int) -> int:
    """Return twice the epochs that decrease the gap to the goal at the rate of the last ones, which becomes slower."""
    if not 0.0 < gap < previous or not 0.0 < goal < gap:
        return max_epochs
    n_next = 2.0 * n_epochs * np.log(gap / goal) / np.log(previous / gap)
    return int(min(max(np.ceil(n_next), MIN_EPOCHS), max_epochs))


def run_epochs(
    problem: PLSVMProblem,
    chosen: Ints,
    coefficients: Floats,
    weights: Floats,
    skip_until: Ints,
    idle_epochs: Ints,
    epochs: range,
    rng: np.random.Generator,
) -> Floats:
    """Raise the dual row by row, once over the rows for each epoch, and return the resulting weights.

    Parameters
    ----------
    problem, chosen, rng
        As for `ascend`.
    coefficients : ndarray of shape (L, K), float64
        Changed in place.
    weights : weights of the problem's space
    skip_until, idle_epochs : ndarray of shape (n,), int64
        The epoch until which each row is skipped, and the number of epochs of its last pause; changed in place.
    epochs : range
    """
    space, scale = problem.space, problem.scale
    rows, squares, internal = space.rows(), space.squares / scale, space.to_internal(weights)
    start = None if problem.levels is None else problem.levels.start
    small_change = 0.0
    for epoch in epochs:
        order = rng.permutation(np.flatnonzero(skip_until <= epoch))
        small_change = SMALL_CHANGE * _run_epoch(
            rows,
            problem.mask,
            start,
            problem.mass,
            order,
            chosen,
            squares,
            1.0 / scale,
            internal,
            coefficients,
            skip_until,
            idle_epochs,
            epoch,
            small_change,
        )
    return space.from_internal(internal, problem.of_rows(coefficients) / scale)


def _weights(problem: PLSVMProblem, coefficients: Floats, penalty: ProximalPenalty) -> Floats:
    space = problem.space
    is_zero = not coefficients.any()  # as at the start on exact sets
    sums = space.zeros(problem.n_classes) if is_zero else space.rmatvec(problem.of_rows(coefficients)) / problem.scale
    return sums + penalty.center


def _evaluate(
    problem: PLSVMProblem, chosen: Ints, coefficients: Floats, weights: Floats, penalty: ProximalPenalty
) -> DualSolution:
    space = problem.space
    scores = space.matvec(weights) if weights.any() else np.zeros((space.n_rows, problem.n_classes))
    taus = np.take_along_axis(coefficients, chosen[:, None], axis=1)
    dual, primal = float(taus.sum()) / space.n_rows, problem.majorant(weights, scores, chosen)
    if problem.ridge is None:
        return DualSolution(weights, scores, primal, dual - problem.penalty(weights))
    sums, lam = weights - penalty.center, problem.lam
    square = 0.5 * lam * space.dot(sums, sums)
    primal += square + penalty.constant - problem.penalty(weights)
    dual += penalty.constant - square - lam * space.dot(sums, weights - sums)
    return DualSolution(weights, scores, primal, dual)


@compiled
def _run_epoch(
    rows,
    mask,
    start,
    mass,
    order,
    chosen,
    squares,
    per_scale,
    weights,
    coefficients,
    skip_until,
    idle_epochs,
    epoch,
    small_change,
):
    """Raise the dual over some rows, and return the mean change of their dual variables."""
    n_classes = mask.shape[1]
    scores, gains, alphas, steps = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    total_change = 0.0
    for r in range(order.shape[0]):
        i = order[r]
        c = squares[i]
        if c == 0.0:  # the loss of a row of zeros is 1 for all weights
            first, stop = (i, i + 1) if start is None else (start[i], start[i + 1])
            for j in range(first, stop):
                coefficients[j, :] = 0.0
                for k in range(n_classes):
                    if not mask[j, k]:
                        coefficients[j, k], coefficients[j, chosen[j]] = -mass[j], mass[j]
                        break
            skip_until[i] = np.iinfo(np.int64).max
            continue
        row_scores(rows, i, weights, scores)
        change, steps[:] = 0.0, 0.0
        if start is None:  # numba compiles this branch only, if there are no weights
            z, coefficient = chosen[i], coefficients[i]
            # The hinge without the contribution of this set to the weights.
            inside = scores[z] - c * coefficient[z]
            for k in range(n_classes):
                gains[k] = -np.inf if mask[i, k] else 1.0 + scores[k] - c * coefficient[k] - inside
            tau = row_duals(gains, c, 1.0, alphas)
            for k in range(n_classes):
                if not mask[i, k]:
                    step = -alphas[k] - coefficient[k]
                    if step != 0.0:
                        coefficient[k] = -alphas[k]
                        steps[k] = step * per_scale
                        change += abs(step)
            steps[z] = (tau - coefficient[z]) * per_scale
            coefficient[z] = tau
        else:
            first = start[i]
            while first < start[i + 1]:
                end = block_end(chosen, first, start[i + 1])
                z, total_mass = chosen[first], mass[first:end].sum()
                sums = coefficients[first].copy()
                for j in range(first + 1, end):
                    sums += coefficients[j]
                inside = scores[z] - c * sums[z]
                for k in range(n_classes):
                    gains[k] = -np.inf if mask[first, k] else 1.0 + scores[k] - c * sums[k] - inside
                # Sets without nested bounds have the same steps as without weights.
                rounding = STEP_RTOL * (total_mass + max(0.0, gains.max()) / c) if end > first + 1 else 0.0
                block_duals(gains, c, mask, mass, first, end, alphas)
                tau_step = block_change = 0.0
                for k in range(n_classes):
                    if not mask[first, k]:
                        step = -alphas[k] - sums[k]
                        if abs(step) > rounding or (alphas[k] == 0.0 and step != 0.0):
                            scores[k] += c * step
                            steps[k] += step * per_scale
                            block_change += abs(step)
                            tau_step -= step
                        else:
                            alphas[k] = -sums[k]
                if block_change > 0.0:
                    scores[z] += c * tau_step
                    steps[z] += tau_step * per_scale
                    split_block(alphas, mask, mass, chosen, first, end, coefficients)
                    if total_mass > MIN_MASS:
                        change += block_change
                first = end
        if change > 0.0 or steps.any():
            row_add_all(rows, i, weights, steps)
        # A row at its bounds is skipped for an increasing number of epochs, and one that changes little for a few.
        if change == 0.0:
            idle_epochs[i] = min(2 * idle_epochs[i] + 1, 31)
        else:
            idle_epochs[i] = min(2 * idle_epochs[i] + 1, 3) if change < small_change else 0
        skip_until[i] = epoch + 1 + idle_epochs[i]
        total_change += change
    return total_change / max(len(order), 1)
