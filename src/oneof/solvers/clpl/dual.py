"""Dual ascent, one loss at a time: for many sparse features, and weights without an intercept.

Each loss j is a squared hinge, with a_j the row spread over its candidates, x_i/|S_i| each, or -x_i at a class outside
the set:

    min_W          f(W) = 1/2 ||W||^2 + sum_j c_j max(0, 1 - <W, a_j>)^2
    max_{beta>=0}  D(beta) = sum_j (beta_j - beta_j^2 / (4 c_j)) - 1/2 ||W||^2,    W = sum_j beta_j a_j.

The dual is maximized over one beta_j at a time (Hsieh et al. 2008, A dual coordinate descent method for large-scale
linear SVM, algorithm 1). Losses of sparse rows hardly meet, so that tens of passes end at rounding, where a single
Newton step takes tens of products with X. Where they do meet, at large costs, it is slow and gives up early.
"""

import numpy as np

from oneof.solvers.clpl.problem import CLPLProblem
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.jit import compiled
from oneof.solvers.row_accessors import row_add, row_scores
from oneof.typing import Floats

_MOST_PASSES, _BETWEEN = 200, 8
# A measure of the gap costs about three passes; where it has fallen by less than this since the last one, ascent ends.
_ENOUGH = 0.3


def ascend(problem: CLPLProblem, *, tol: float, random: np.random.Generator) -> tuple[Floats, float]:
    """Raise the dual until the gap is at most `tol` f, or falls slowly.

    Parameters
    ----------
    problem : CLPLProblem
        Without an intercept.
    tol : float
        At least rounding, 1e-15.
    random : Generator
        For the order of the rows.

    Returns
    -------
    weights : ndarray of shape (K, d)
    gap : float
        (f(W) - D) / f(W), which bounds (f(W) - min f) / f(W).
    """
    space, n_classes = FeatureSpace(problem.X), problem.n_classes
    rows, mask, cost = space.rows(), problem.inside > 0.0, problem.cost[:, 0]
    entered = space.enter(space.zeros(n_classes))
    betas = np.zeros((len(mask), n_classes + 1))  # of the classes outside the set, and last of the mean inside it
    done, more, before = 0, 2, np.inf
    while True:
        for _ in range(more):
            order = random.permutation(len(mask))
            _pass(rows, mask, problem.inside, order, space.squares, cost, entered, betas)
        done, more = done + more, min(done + more, _BETWEEN)
        weights = space.leave(entered, betas)
        penalty = 0.5 * float((weights**2).sum())
        value = penalty + problem.losses(space.scores(weights))
        gap = (value - float((betas - betas**2 / (4.0 * problem.cost)).sum()) + penalty) / value
        if gap <= max(tol, 1e-15) or not gap <= _ENOUGH * before or done >= _MOST_PASSES:
            return weights, gap
        before = gap


@compiled
def _pass(rows, mask, inside, order, squares, cost, weights, betas):
    n_classes = mask.shape[1]
    scores = np.empty(n_classes)
    for r in range(order.shape[0]):
        i = order[r]
        row_scores(rows, i, weights, scores)
        bend = 0.5 / cost[i]
        # Losses of a row at different classes have no weight in common, so that the scores stay good throughout.
        mean, share = 0.0, 0.0
        for k in range(n_classes):
            if mask[i, k]:
                share = inside[i, k]
                mean += share * scores[k]
            else:
                beta = betas[i, k]
                new = max(0.0, beta + (1.0 + scores[k] - bend * beta) / (squares[i] + bend))
                if new != beta:
                    betas[i, k] = new
                    row_add(rows, i, weights, k, beta - new)
        beta = betas[i, n_classes]
        new = max(0.0, beta + (1.0 - mean - bend * beta) / (squares[i] * share + bend))
        if new != beta:
            betas[i, n_classes] = new
            for k in range(n_classes):
                if mask[i, k]:
                    row_add(rows, i, weights, k, (new - beta) * share)
