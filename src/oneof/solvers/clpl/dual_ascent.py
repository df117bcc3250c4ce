"""Dual coordinate ascent, one loss at a time, for weights without an intercept: the start on sparse rows.

Each loss j is a squared hinge, with a_j equal to x_i/|S_i| at each candidate of a row, or to -x_i at one class outside
its set. A row with weights has one for each of its level sets, and one for each class with a weight below 1:

    min_W          f(W) = 1/2 ||W||^2 + sum_j c_j max(0, 1 - <W, a_j>)^2
    max_{beta>=0}  D(beta) = sum_j (beta_j - beta_j^2 / (4 c_j)) - 1/2 ||W||^2,    W = sum_j beta_j a_j.

The dual is maximized over one beta_j at a time (Hsieh et al. 2008, A dual coordinate descent method for large-scale
linear SVM, algorithm 1). Losses of sparse rows have few features in common, so that tens of passes reach rounding
error, while L-BFGS takes 200 iterations on 20 Newsgroups, each as long as a pass. If they have many in common, at large
costs, the method is slow and stops early. Rows that no longer change, often nine of ten, are skipped.
"""

import numpy as np

from oneof.jit import compiled
from oneof.solvers.clpl.inside_means import LevelMeans, SetMeans
from oneof.solvers.clpl.problem import CLPLProblem
from oneof.solvers.feature_spaces import FeatureSpace
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
MAX_PAUSE = 31
"""Maximum number of passes for which a row is skipped."""


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
    space, n_classes = FeatureSpace(problem.X), problem.n_classes
    rows, evidence, inside = space.rows(), problem.evidence, problem.inside
    internal = space.to_internal(space.zeros(n_classes))
    # For each row, the classes outside its sets, then the means inside them.
    costs = problem.cost if isinstance(inside, SetMeans) else _costs_by_loss(problem, inside)
    betas = np.zeros((len(evidence), n_classes + 1) if isinstance(inside, SetMeans) else costs.shape)
    squares, (skip_until, pauses) = space.squares, np.zeros((2, len(evidence)), dtype=np.int64)
    n_passes, n_next, previous, last_value = 0, 2, np.inf, np.inf
    while True:
        for epoch in range(n_passes, n_passes + n_next):
            order = rng.permutation(np.flatnonzero(skip_until <= epoch))
            if isinstance(inside, SetMeans):
                changed = _run_epoch(rows, evidence, order, squares, costs[:, 0], internal, betas)
            else:
                sets = inside.order, inside.start, inside.size
                changed = _run_weighted_epoch(rows, *sets, order, squares, costs, internal, betas)
            # A row that stays at its bounds is skipped for an increasing number of epochs.
            pauses[order] = np.where(changed, 0, np.minimum(2 * pauses[order] + 1, MAX_PAUSE))
            skip_until[order] = epoch + 1 + pauses[order]
        n_passes, n_next = n_passes + n_next, min(n_passes + n_next, MAX_PASSES_PER_CHECK)
        weights = space.from_internal(internal, betas)
        penalty = 0.5 * float((weights**2).sum())
        value = penalty + problem.losses(space.matvec(weights))
        ratios = np.divide(betas, 4.0 * costs, out=np.zeros_like(betas), where=costs > 0.0)
        conjugate = betas * ratios  # the squares of betas may overflow
        gap = (value - float((betas - conjugate).sum()) + penalty) / value
        is_slow = not (value <= MIN_DECREASE * last_value or gap <= MIN_GAP_REDUCTION * previous)
        if gap <= max(tol, GAP_ROUNDING) or (is_slow and not pauses.any()) or n_passes >= MAX_PASSES:
            return weights, gap
        if is_slow:  # because of skipped rows
            skip_until[:], pauses[:] = 0, 0
        previous, last_value = gap, value


def _costs_by_loss(problem: CLPLProblem, inside: LevelMeans) -> Floats:
    """Return c_j of each loss, (n, K + the largest number of level sets of a row); 0 for losses that do not exist."""
    position = np.arange(len(inside.row)) - inside.start[inside.row]
    by_set = np.zeros((len(problem.cost), 1 + int(position.max())))
    by_set[inside.row, position] = inside.mass[:, 0]
    return problem.cost * np.hstack([problem.outside, by_set])


@compiled
def _run_epoch(rows, mask, order, squares, cost, weights, betas):
    """Raise the dual over some rows; return for each of them whether it has changed."""
    n_classes = mask.shape[1]
    scores, steps, changed = np.empty(n_classes), np.empty(n_classes), np.zeros(len(order), dtype=np.bool_)
    for r in range(order.shape[0]):
        i = order[r]
        row_scores(rows, i, weights, scores)
        ridge = 0.5 / cost[i]
        factor = 1.0 / (squares[i] + ridge)
        # The losses of a row at different classes have no weight in common, so the scores remain valid, and all
        # classes are updated at once, in a loop without branches.
        total, size, n_changed = 0.0, 0.0, 0
        for k in range(n_classes):
            beta = betas[i, k]
            new = max(0.0, beta + (1.0 + scores[k] - ridge * beta) * factor)
            steps[k] = 0.0 if mask[i, k] else beta - new
            betas[i, k] = beta - steps[k]
            n_changed += steps[k] != 0.0
            total += scores[k] if mask[i, k] else 0.0
            size += 1.0 if mask[i, k] else 0.0
        beta = betas[i, n_classes]
        new = max(0.0, beta + (1.0 - total / size - ridge * beta) / (squares[i] / size + ridge))
        if new != beta:
            n_changed += 1
            betas[i, n_classes] = new
            for k in range(n_classes):
                if mask[i, k]:
                    steps[k] = (new - beta) / size
        if n_changed > 0:
            changed[r] = True
            row_add_all(rows, i, weights, steps)
    return changed


@compiled
def _run_weighted_epoch(rows, class_order, start, size, order, squares, costs, weights, betas):
    """Do the same for rows with weights."""
    n_classes = class_order.shape[1]
    scores, change, changed = np.empty(n_classes), np.empty(n_classes), np.zeros(len(order), dtype=np.bool_)
    for r in range(order.shape[0]):
        i = order[r]
        row_scores(rows, i, weights, scores)
        square = squares[i]
        # The losses of a row have weights in common, so the scores are updated after each of them.
        for k in range(n_classes):
            change[k] = 0.0
            if costs[i, k] > 0.0:
                beta, ridge = betas[i, k], 0.5 / costs[i, k]
                new = max(0.0, beta + (1.0 + scores[k] - ridge * beta) / (square + ridge))
                betas[i, k] = new
                change[k] = beta - new
                scores[k] += square * change[k]
        for j in range(start[i], start[i + 1]):
            loss = n_classes + j - start[i]
            mean = 0.0
            for p in range(size[j]):
                mean += scores[class_order[i, p]]
            mean /= size[j]
            beta, ridge = betas[i, loss], 0.5 / costs[i, loss]
            new = max(0.0, beta + (1.0 - mean - ridge * beta) / (square / size[j] + ridge))
            betas[i, loss] = new
            step = (new - beta) / size[j]
            for p in range(size[j]):
                change[class_order[i, p]] += step
                scores[class_order[i, p]] += square * step
        for k in range(n_classes):
            changed[r] |= change[k] != 0.0
        if changed[r]:
            row_add_all(rows, i, weights, change)
    return changed
