"""Dual coordinate ascent for the convex problem with one chosen candidate per row.

With z_i the chosen candidate of row i, the problem is that of Crammer & Singer (2001) without the other candidates:

    min_W  P(W) = lam/2 ||W||^2 + 1/n sum_i max(0, 1 - s_i,z_i + max_{k not in S_i} s_ik)

    max_alpha  D = 1/n sum_i tau_i - lam/2 ||W||^2,  alpha_ik >= 0 for k not in S_i,  tau_i = sum_k alpha_ik <= 1,
    W = 1/(lam n) sum_i (tau_i x_i at z_i - sum_k alpha_ik x_i at k).

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


def restrict_duals(duals: Floats, mask: Mask, chosen: Ints) -> Floats:
    """Return dual variables for the chosen candidates, as coefficients of the rows.

    Parameters
    ----------
    duals : ndarray of shape (n, K)
        -alpha outside the sets; values inside them are ignored.
    mask : ndarray of shape (n, K), bool
    chosen : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n, K)
        tau_i at the chosen candidate, -alpha_ik outside the set, 0 at the other candidates.
    """
    coefficients = np.where(mask, 0.0, np.minimum(duals.astype(np.float64, copy=False), 0.0))
    coefficients /= np.maximum(-coefficients.sum(axis=1, keepdims=True), 1.0)
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
    chosen : ndarray of shape (n,)
        Chosen candidate z of each row.
    coefficients : ndarray of shape (n, K), float64
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
    solution = _evaluate(problem, chosen, coefficients, space.rmatvec(coefficients) / scale)
    n_epochs, n_next, previous = 0, 3, np.inf
    while solution.gap > max(tol * solution.primal, value - solution.primal) and n_epochs < MAX_EPOCHS:
        slow, previous = solution.gap > MAX_GAP_RATIO * previous, solution.gap
        if n_epochs and slow and face_step(problem, chosen, coefficients, solution.scores):
            solution = _evaluate(problem, chosen, coefficients, space.rmatvec(coefficients) / scale)
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
    coefficients : ndarray of shape (n, K), float64
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
    return space.from_internal(internal, coefficients / scale)


def _evaluate(problem: PLSVMProblem, chosen: Ints, coefficients: Floats, weights: Floats) -> DualSolution:
    scores = problem.space.matvec(weights)
    taus = np.take_along_axis(coefficients, chosen[:, None], axis=1)
    dual = float(taus.mean()) - problem.penalty(weights)
    return DualSolution(weights, scores, problem.majorant(weights, scores, chosen), dual)


@compiled
def _run_epoch(rows, mask, order, chosen, squares, per_scale, weights, coefficients, skip_until, idle_epochs, epoch):
    n_classes = mask.shape[1]
    scores, gains, alphas = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for r in range(order.shape[0]):
        i = order[r]
        z, c = chosen[i], squares[i]
        coefficient = coefficients[i]
        if c == 0.0:  # the loss of a row of zeros is 1 for all weights
            coefficient[:] = 0.0
            for k in range(n_classes):
                if not mask[i, k]:
                    coefficient[k], coefficient[z] = -1.0, 1.0
                    break
            skip_until[i] = np.iinfo(np.int64).max
            continue
        row_scores(rows, i, weights, scores)
        # The hinge without the contribution of this row to the weights.
        inside = scores[z] - c * coefficient[z]
        for k in range(n_classes):
            gains[k] = -np.inf if mask[i, k] else 1.0 + scores[k] - c * coefficient[k] - inside
        tau = _row_duals(gains, c, alphas)
        change = 0.0
        for k in range(n_classes):
            if not mask[i, k]:
                step = -alphas[k] - coefficient[k]
                if step != 0.0:
                    coefficient[k] = -alphas[k]
                    row_add(rows, i, weights, k, step * per_scale)
                    change += abs(step)
        step = tau - coefficient[z]
        if step != 0.0:
            coefficient[z] = tau
            row_add(rows, i, weights, z, step * per_scale)
        # A row that stays at its bounds is skipped for an increasing number of epochs.
        idle_epochs[i] = min(2 * idle_epochs[i] + 1, 31) if change == 0.0 else 0
        skip_until[i] = epoch + 1 + idle_epochs[i]


@compiled
def _row_duals(gains: Floats, c: float, alphas: Floats) -> float:
    """Maximize sum_k alpha_k gain_k - c/2 (tau^2 + sum_k alpha_k^2) over alpha >= 0, tau = sum_k alpha_k <= 1.

    The solution is alpha_k = max(0, gain_k - theta) / c, with theta = c tau if tau < 1. Classes are added in
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
        theta = max(total / (1.0 + size), (total - c) / size)
    capped = size > 0 and (total - c) / size >= total / (1.0 + size)
    tau = 0.0
    for k in range(n_classes):
        alphas[k] = max(0.0, (gains[k] - theta) / c) if size > 0 else 0.0
        tau += alphas[k]
    if capped and size == 1:  # exactly, so that a row at its bound does not change by rounding
        for k in range(n_classes):
            alphas[k] = 1.0 if alphas[k] > 0.0 else 0.0
        return 1.0
    return tau
