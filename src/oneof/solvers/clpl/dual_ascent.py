"""Dual coordinate ascent, one loss at a time, for weights without an intercept: the start on sparse rows.

Each loss j is a squared hinge, with a_j equal to x_i/|S_j| at each candidate of a set of row i, or to -x_i at one class
outside:

    min_W          f(W) = 1/2 ||W||^2 + sum_j c_j max(0, 1 - <W, a_j>)^2
    max_{beta>=0}  D(beta) = sum_j (beta_j - beta_j^2 / (4 c_j)) - 1/2 ||W||^2,    W = sum_j beta_j a_j.

The dual is maximized over one beta_j at a time (Hsieh et al. 2008, A dual coordinate descent method for large-scale
linear SVM, algorithm 1). Losses of sparse rows have few features in common, so that tens of passes reach rounding
error, while L-BFGS takes 200 iterations on 20 Newsgroups, each as long as a pass. If they have many in common, at large
costs, the method is slow and stops early. Rows that no longer change, often nine of ten, are skipped.
"""

import numpy as np

from oneof.jit import compiled
from oneof.solvers.clpl.problem import CLPLProblem
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.pauses import MAX_PAUSE, Pauses
from oneof.solvers.row_accessors import row_add_all, row_scores
from oneof.typing import Floats

GAP_ROUNDING = 1e-15
"""Rounding error of the relative gap."""
MAX_PASSES, MAX_PASSES_PER_CHECK = 200, 8
# Computing the gap costs about three passes; the ascent stops if the gap has fallen by less than this factor.
MIN_GAP_REDUCTION = 0.3
MIN_DECREASE = 0.5
"""Ratio of successive values of f below which the ascent continues: far from the minimum, where the active losses still
change, a pass costs less than an iteration of L-BFGS."""


def ascend(problem: CLPLProblem, *, tol: float, rng: np.random.Generator) -> tuple[Floats, float]:
    """Raise the dual until the gap is at most `tol` f, or f and the gap decrease slowly.

    Parameters
    ----------
    problem : CLPLProblem
        Problem without an intercept.
    tol : float
        A `tol` below `GAP_ROUNDING` is replaced by it.
    rng : Generator
        Random generator for the order of the rows.

    Returns
    -------
    weights : ndarray of shape (K, d)
    gap : float
        (f(W) - D) / f(W), which bounds (f(W) - min f) / f(W).
    """
    space, sets = FeatureSpace(problem.X), problem.sets
    rows, internal, n_rows = space.rows(), space.to_internal(space.zeros(problem.n_classes)), space.n_rows
    costs = problem.cost * problem.outside, problem.set_cost  # c_j of the losses outside, (n, K), and of the sets, (L,)
    betas = np.zeros_like(costs[0]), np.zeros_like(costs[1])
    pauses = Pauses(np.arange(n_rows), n_rows, rng)
    n_next, previous, last_value = 2, np.inf, np.inf
    while True:
        for _ in range(n_next):
            order = pauses.order()
            changed = np.zeros(len(order), dtype=bool)
            _run_epoch(rows, sets.fraction, sets.start, order, space.squares, *costs, internal, *betas, changed)
            pauses.update(order, np.where(changed, 0, MAX_PAUSE))
        n_next = min(pauses.n_passes, MAX_PASSES_PER_CHECK)
        weights = space.from_internal(internal, betas[0])
        penalty = 0.5 * float((weights**2).sum())
        value = penalty + problem.losses(space.matvec(weights))
        dual = sum(float((beta - _conjugate(beta, cost)).sum()) for beta, cost in zip(betas, costs))
        gap = (value - dual + penalty) / value
        is_slow = not (value <= MIN_DECREASE * last_value or gap <= MIN_GAP_REDUCTION * previous)
        if gap <= max(tol, GAP_ROUNDING) or (is_slow and not pauses.any) or pauses.n_passes >= MAX_PASSES:
            return weights, gap
        if is_slow:  # because of skipped rows
            pauses.end()
        previous, last_value = gap, value


def _conjugate(betas: Floats, costs: Floats) -> Floats:
    """Return beta_j^2 / (4 c_j); the squares of betas may overflow."""
    return betas * np.divide(betas, 4.0 * costs, out=np.zeros_like(betas), where=costs > 0.0)


@compiled
def _run_epoch(rows, fraction, start, order, squares, costs, set_costs, weights, betas, set_betas, changed):
    """Raise the dual over some rows, and write for each of them whether it has changed."""
    n_classes = fraction.shape[1]
    scores, steps = np.empty((2, n_classes))
    for r in range(order.shape[0]):
        i = order[r]
        row_scores(rows, i, weights, scores)
        square = squares[i]
        # The losses of different classes have no weight in common, so that all are updated at once, without branches.
        # The scores change with the steps: the sets of a row have weights in common with them.
        for k in range(n_classes):
            beta, cost = betas[i, k], costs[i, k]
            new = max(0.0, beta + ((1.0 + scores[k]) * cost - 0.5 * beta) / (square * cost + 0.5))
            new = new if cost > 0.0 else 0.0
            steps[k] = beta - new
            betas[i, k] = new
            scores[k] += square * steps[k]
        for j in range(start[i], start[i + 1]):
            mean, norm = 0.0, 0.0  # <W, a_j> and |a_j|^2 / ||x_i||^2
            for k in range(n_classes):
                mean += fraction[j, k] * scores[k]
                norm += fraction[j, k] * fraction[j, k]
            beta, cost = set_betas[j], set_costs[j]
            new = max(0.0, beta + ((1.0 - mean) * cost - 0.5 * beta) / (square * norm * cost + 0.5))
            set_betas[j] = new
            for k in range(n_classes):
                step = fraction[j, k] * (new - beta)
                steps[k] += step
                scores[k] += square * step
        for k in range(n_classes):
            changed[r] |= steps[k] != 0.0
        if changed[r]:
            row_add_all(rows, i, weights, steps)
