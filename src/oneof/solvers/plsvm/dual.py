"""Dual ascent for the convex problem in which each row has chosen one of its candidates.

With z_i the choice of row i, the problem is that of Crammer & Singer (2001) with the other candidates left out:

    min_W  P(W) = lam/2 ||W||^2 + 1/n sum_i max(0, 1 - s_i,z_i + max_{k not in S_i} s_ik)

    max_alpha  D = 1/n sum_i tau_i - lam/2 ||W||^2,  alpha_ik >= 0 for k not in S_i,  tau_i = sum_k alpha_ik <= 1,
    W = 1/(lam n) sum_i (tau_i x_i at z_i - sum_k alpha_ik x_i at k).

The dual is raised row by row, each row's part being solved exactly (Keerthi et al. 2008, A sequential dual method for
large scale multi-class linear SVMs). At any time D <= min P <= P.
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.jit import compiled
from oneof.solvers.plsvm.face import face_step
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.solvers.row_accessors import row_add, row_scores
from oneof.typing import Floats, Ints, Mask

MOST_EPOCHS = 100
"""Passes over the rows in one call, at most."""

_SLOW = 0.2
"""Share of the gap that some passes may leave before a step over all free variables is tried: it costs as much as ten
passes over sparse rows, which need none of it."""


@dataclass(frozen=True)
class Ascent:
    """Where the ascent ended."""

    weights: Floats
    scores: Floats
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """P - D, which bounds P - min P."""
        return self.primal - self.dual


def choose(duals: Floats, mask: Mask, chosen: Ints) -> Floats:
    """Return the dual variables as coefficients of the rows, (n, K): tau_i at the choice, -alpha_ik outside the set.

    Parameters
    ----------
    duals : ndarray of shape (n, K)
        Outside the sets -alpha; inside them anything, but for the sum.
    mask : ndarray of shape (n, K), bool
    chosen : ndarray of shape (n,)
    """
    coefficients = np.where(mask, 0.0, np.minimum(duals.astype(np.float64, copy=False), 0.0))
    coefficients /= np.maximum(-coefficients.sum(axis=1, keepdims=True), 1.0)
    np.put_along_axis(coefficients, chosen[:, None], -coefficients.sum(axis=1, keepdims=True), axis=1)
    return coefficients


def ascend(
    problem: PLSVMProblem, chosen: Ints, coefficients: Floats, *, tol: float, value: float, random: np.random.Generator
) -> Ascent:
    """Raise the dual until the gap is at most tol P, or no more than what has been gained on `value`.

    It ends after `MOST_EPOCHS` passes in any case.

    Parameters
    ----------
    problem : PLSVMProblem
    chosen : ndarray of shape (n,)
        z.
    coefficients : ndarray of shape (n, K), float64
        From `choose`; changed in place.
    tol : float
    value : float
        P of weights that are known already.
    random : Generator
        For the order of the rows.

    Returns
    -------
    Ascent
    """
    space, scale = problem.space, problem.scale
    waiting, idle = np.zeros((2, space.n_rows), dtype=np.int64)
    found = _measure(problem, chosen, coefficients, space.gather(coefficients) / scale)
    done, more, before = 0, 3, np.inf
    while found.gap > max(tol * found.primal, value - found.primal) and done < MOST_EPOCHS:
        slow, before = found.gap > _SLOW * before, found.gap
        if done and slow and face_step(problem, chosen, coefficients, found.scores):
            found = _measure(problem, chosen, coefficients, space.gather(coefficients) / scale)
        epochs = range(done, done + more)
        weights = pass_over(problem, chosen, coefficients, found.weights, waiting, idle, epochs, random)
        done += more
        more = min(2 * more, 20)
        found = _measure(problem, chosen, coefficients, weights)
    return found


def pass_over(
    problem: PLSVMProblem,
    chosen: Ints,
    coefficients: Floats,
    weights: Floats,
    waiting: Ints,
    idle: Ints,
    epochs: range,
    random: np.random.Generator,
) -> Floats:
    """Raise the dual row by row, once over the rows for each epoch, and return where the weights have come to.

    Parameters
    ----------
    problem, chosen, random
        As for `ascend`.
    coefficients : ndarray of shape (n, K), float64
        Changed in place.
    weights : weights of the problem's space
    waiting, idle : ndarray of shape (n,), int64
        The epoch until which each row sits out, and for how many it did; changed in place.
    epochs : range
    """
    space, scale = problem.space, problem.scale
    rows, squares, entered = space.rows(), space.squares / scale, space.enter(weights)
    for epoch in epochs:
        order = random.permutation(np.flatnonzero(waiting <= epoch))
        _epoch(rows, problem.mask, order, chosen, squares, 1.0 / scale, entered, coefficients, waiting, idle, epoch)
    return space.leave(entered, coefficients / scale)


def _measure(problem: PLSVMProblem, chosen: Ints, coefficients: Floats, weights: Floats) -> Ascent:
    scores = problem.space.scores(weights)
    taus = np.take_along_axis(coefficients, chosen[:, None], axis=1)
    dual = float(taus.mean()) - problem.penalty(weights)
    return Ascent(weights, scores, problem.majorant(weights, scores, chosen), dual)


@compiled
def _epoch(rows, mask, order, chosen, squares, per_scale, weights, coefficients, waiting, idle, epoch):
    n_classes = mask.shape[1]
    scores, gains, alphas = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for r in range(order.shape[0]):
        i = order[r]
        z, c = chosen[i], squares[i]
        coefficient = coefficients[i]
        if c == 0.0:  # a row of zeros has the loss 1, whatever the weights
            coefficient[:] = 0.0
            for k in range(n_classes):
                if not mask[i, k]:
                    coefficient[k], coefficient[z] = -1.0, 1.0
                    break
            waiting[i] = np.iinfo(np.int64).max
            continue
        row_scores(rows, i, weights, scores)
        # What the hinge would be if the row had no part in the weights.
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
        # A row that stays at its bounds sits out longer and longer.
        idle[i] = min(2 * idle[i] + 1, 31) if change == 0.0 else 0
        waiting[i] = epoch + 1 + idle[i]


@compiled
def _row_duals(gains: Floats, c: float, alphas: Floats) -> float:
    """Maximize sum_k alpha_k gain_k - c/2 (tau^2 + sum_k alpha_k^2) over alpha >= 0, tau = sum_k alpha_k <= 1.

    The solution is alpha_k = max(0, gain_k - theta) / c, with theta = c tau where tau < 1. Classes enter in falling
    order of their gains, until the next one's is below theta.
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
    if capped and size == 1:  # without rounding, so that a row at its bound is seen not to change
        for k in range(n_classes):
            alphas[k] = 1.0 if alphas[k] > 0.0 else 0.0
        return 1.0
    return tau
