"""Dual coordinate ascent for the convex problem with one chosen candidate per row.

With z_i the chosen candidate of row i, the problem is that of Crammer & Singer (2001) without the other candidates:

    min_W  P(W) = lam/2 ||W||^2 + 1/n sum_i max(0, 1 - s_i,z_i + max_{k not in S_i} s_ik)

    max_alpha  D = 1/n sum_i tau_i - lam/2 ||W||^2,  alpha_ik >= 0 for k not in S_i,  tau_i = sum_k alpha_ik <= 1,
    W = 1/(lam n) sum_i (tau_i x_i at z_i - sum_k alpha_ik x_i at k).

A row with weights has a chosen candidate z_ij, and dual variables of sum at most the mass m_ij, for each of its level
sets j. Its loss is the sum of those of the level sets times m_ij, and its contribution to W the sum of theirs.

The dual is raised row by row, with the exact solution for the variables of each row (Keerthi et al. 2008, A sequential
dual method for large scale multi-class linear SVMs). At any time D <= min P <= P.
"""

from dataclasses import dataclass

import numpy as np

from oneof.jit import compiled
from oneof.solvers.plsvm.face_newton import face_step
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.solvers.row_accessors import row_add, row_scores
from oneof.typing import Floats, Ints, Mask

MAX_EPOCHS = 100
"""Maximum number of passes over the rows in one call."""

MAX_GAP_RATIO = 0.2
"""Ratio of successive gaps above which a step over all free variables is tried. Such a step costs as much as ten passes
over sparse rows, for which it is seldom needed."""

MIN_MASS = 1e-9
"""A row is skipped although the dual variables of a level set of at most this mass change."""


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
    problem: PLSVMProblem, chosen: Ints, coefficients: Floats, *, tol: float, value: float, rng: np.random.Generator
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
    space, scale = problem.space, problem.scale
    skip_until, idle_epochs = np.zeros((2, space.n_rows), dtype=np.int64)
    solution = _evaluate(problem, chosen, coefficients, space.rmatvec(problem.of_rows(coefficients)) / scale)
    n_epochs, n_next, previous = 0, 3, np.inf
    while solution.gap > max(tol * solution.primal, value - solution.primal) and n_epochs < MAX_EPOCHS:
        slow, previous = solution.gap > MAX_GAP_RATIO * previous, solution.gap
        if n_epochs and slow and face_step(problem, chosen, coefficients, solution.scores):
            solution = _evaluate(problem, chosen, coefficients, space.rmatvec(problem.of_rows(coefficients)) / scale)
        epochs = range(n_epochs, n_epochs + n_next)
        weights = run_epochs(problem, chosen, coefficients, solution.weights, skip_until, idle_epochs, epochs, rng)
        n_epochs += n_next
        n_next = min(2 * n_next, 20)
        solution = _evaluate(problem, chosen, coefficients, weights)
    return solution


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
    for epoch in epochs:
        order = rng.permutation(np.flatnonzero(skip_until <= epoch))
        _run_epoch(
            rows,
            problem.mask,
            problem.start,
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
        )
    return space.from_internal(internal, problem.of_rows(coefficients) / scale)


def _evaluate(problem: PLSVMProblem, chosen: Ints, coefficients: Floats, weights: Floats) -> DualSolution:
    scores = problem.space.matvec(weights)
    taus = np.take_along_axis(coefficients, chosen[:, None], axis=1)
    dual = float(taus.sum()) / problem.space.n_rows - problem.penalty(weights)
    return DualSolution(weights, scores, problem.majorant(weights, scores, chosen), dual)


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
):
    n_classes = mask.shape[1]
    scores, gains, alphas, steps = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for r in range(order.shape[0]):
        i = order[r]
        c = squares[i]
        if c == 0.0:  # the loss of a row of zeros is 1 for all weights
            for j in range(start[i], start[i + 1]):
                coefficients[j, :] = 0.0
                for k in range(n_classes):
                    if not mask[j, k]:
                        coefficients[j, k], coefficients[j, chosen[j]] = -mass[j], mass[j]
                        break
            skip_until[i] = np.iinfo(np.int64).max
            continue
        row_scores(rows, i, weights, scores)
        change = 0.0
        steps[:] = 0.0
        for j in range(start[i], start[i + 1]):
            z, coefficient = chosen[j], coefficients[j]
            # The hinge without the contribution of this set to the weights.
            inside = scores[z] - c * coefficient[z]
            best, first, second, n_nonzero = 0, -np.inf, -np.inf, 0
            for k in range(n_classes):
                gains[k] = -np.inf if mask[j, k] else 1.0 + scores[k] - c * coefficient[k] - inside
                n_nonzero += coefficient[k] != 0.0
                if gains[k] > first:
                    best, first, second = k, gains[k], first
                else:
                    second = max(second, gains[k])
            # Most sets stay at a bound: no loss, or the whole mass on one class.
            if first <= 0.0 and n_nonzero == 0:
                continue
            is_capped = first - c * mass[j] >= max(second, 0.5 * first)
            if is_capped and n_nonzero == 2 and coefficient[best] == -mass[j] and coefficient[z] == mass[j]:
                continue
            tau = _row_duals(gains, c, mass[j], alphas)
            set_change = 0.0
            for k in range(n_classes):
                if not mask[j, k]:
                    step = -alphas[k] - coefficient[k]
                    if step != 0.0:
                        coefficient[k] = -alphas[k]
                        steps[k] += step
                        scores[k] += c * step
                        set_change += abs(step)
            step = tau - coefficient[z]
            if step != 0.0:
                coefficient[z] = tau
                steps[z] += step
                scores[z] += c * step
            if mass[j] > MIN_MASS:
                change += set_change
        for k in range(n_classes):
            if steps[k] != 0.0:
                row_add(rows, i, weights, k, steps[k] * per_scale)
        # A row that stays at its bounds is skipped for an increasing number of epochs.
        idle_epochs[i] = min(2 * idle_epochs[i] + 1, 31) if change == 0.0 else 0
        skip_until[i] = epoch + 1 + idle_epochs[i]


@compiled
def _row_duals(gains: Floats, c: float, mass: float, alphas: Floats) -> float:
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
