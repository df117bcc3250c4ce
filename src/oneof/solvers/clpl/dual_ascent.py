"""Dual coordinate ascent, one loss at a time, for many sparse features and weights without an intercept.

Each loss j is a squared hinge, with a_j equal to x_i/|S_i| at each candidate of a row, or to -x_i at one class outside
its set:

    min_W          f(W) = 1/2 ||W||^2 + sum_j c_j max(0, 1 - <W, a_j>)^2
    max_{beta>=0}  D(beta) = sum_j (beta_j - beta_j^2 / (4 c_j)) - 1/2 ||W||^2,    W = sum_j beta_j a_j.

The dual is maximized over one beta_j at a time (Hsieh et al. 2008, A dual coordinate descent method for large-scale
linear SVM, algorithm 1). Losses of sparse rows have few features in common, so that tens of passes reach rounding
error, while a single Newton step takes tens of products with X. If they have many in common, at large costs, the method
is slow and stops early.
"""

import numpy as np

from oneof.jit import compiled
from oneof.solvers.clpl.problem import CLPLProblem
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.row_accessors import row_add, row_scores
from oneof.typing import Floats

MAX_PASSES, MAX_PASSES_PER_CHECK = 200, 8
# Computing the gap costs about three passes; the ascent stops if the gap has fallen by less than this factor.
MIN_GAP_REDUCTION = 0.3


def ascend(problem: CLPLProblem, *, tol: float, rng: np.random.Generator) -> tuple[Floats, float]:
    """Raise the dual until the gap is at most `tol` f, or decreases slowly.

    Parameters
    ----------
    problem : CLPLProblem
        Problem without an intercept.
    tol : float
        At least 1e-15, the rounding error.
    rng : Generator
        Random generator for the order of the rows.

    Returns
    -------
    weights : ndarray of shape (K, d)
    gap : float
        (f(W) - D) / f(W), which bounds (f(W) - min f) / f(W).
    """
    space, n_classes = FeatureSpace(problem.X), problem.n_classes
    rows, mask, cost = space.rows(), problem.inside > 0.0, problem.cost[:, 0]
    internal = space.to_internal(space.zeros(n_classes))
    betas = np.zeros((len(mask), n_classes + 1))  # for the classes outside the set; the last one for the mean inside it
    n_passes, n_next, previous = 0, 2, np.inf
    while True:
        for _ in range(n_next):
            order = rng.permutation(len(mask))
            _run_epoch(rows, mask, problem.inside, order, space.squares, cost, internal, betas)
        n_passes, n_next = n_passes + n_next, min(n_passes + n_next, MAX_PASSES_PER_CHECK)
        weights = space.from_internal(internal, betas)
        penalty = 0.5 * float((weights**2).sum())
        value = penalty + problem.losses(space.matvec(weights))
        gap = (value - float((betas - betas**2 / (4.0 * problem.cost)).sum()) + penalty) / value
        if gap <= max(tol, 1e-15) or not gap <= MIN_GAP_REDUCTION * previous or n_passes >= MAX_PASSES:
            return weights, gap
        previous = gap


@compiled
def _run_epoch(rows, mask, inside, order, squares, cost, weights, betas):
    n_classes = mask.shape[1]
    scores = np.empty(n_classes)
    for r in range(order.shape[0]):
        i = order[r]
        row_scores(rows, i, weights, scores)
        ridge = 0.5 / cost[i]
        # The losses of a row at different classes have no weight in common, so the scores remain valid.
        mean, fraction = 0.0, 0.0
        for k in range(n_classes):
            if mask[i, k]:
                fraction = inside[i, k]
                mean += fraction * scores[k]
            else:
                beta = betas[i, k]
                new = max(0.0, beta + (1.0 + scores[k] - ridge * beta) / (squares[i] + ridge))
                if new != beta:
                    betas[i, k] = new
                    row_add(rows, i, weights, k, beta - new)
        beta = betas[i, n_classes]
        new = max(0.0, beta + (1.0 - mean - ridge * beta) / (squares[i] * fraction + ridge))
        if new != beta:
            betas[i, n_classes] = new
            for k in range(n_classes):
                if mask[i, k]:
                    row_add(rows, i, weights, k, (new - beta) * fraction)
