"""The published solver of the partial-label SVM (Nguyen & Caruana 2008, Algorithm 1): Pegasos over all rows."""

import numpy as np

from oneof.solvers.plsvm.problem import PLSVMProblem, PLSVMSolution, Trace


def solve_pegasos(problem: PLSVMProblem, *, max_iter: int = 1000, tol: float = 0.0) -> PLSVMSolution:
    """Take `max_iter` steps of length 1/(lam t) along the subgradient of all rows, and keep the last iterate.

    Parameters
    ----------
    problem : PLSVMProblem
    max_iter : int
        T.
    tol : float
        Stop where a step changes W by no more than tol ||W||; 0 never stops early.

    Returns
    -------
    PLSVMSolution
    """
    space, mask, lam, n = problem.space, problem.mask, problem.lam, problem.space.n_rows
    rows = np.arange(n)
    # Added to the scores, these leave the best candidate, and the best class outside.
    only_in, only_out = np.where(mask, 0.0, -np.inf), np.where(mask, -np.inf, 0.0)
    trace = Trace()
    weights, square = space.zeros(problem.n_classes), 0.0
    scores = space.scores(weights)
    converged = False
    for t in range(1, max_iter + 1):
        # A_L and A_PL: the rows with a loss, with their yPL_i in the set and outside it
        into, out = (scores + only_in).argmax(axis=1), (scores + only_out).argmax(axis=1)
        losses = 1.0 - scores[rows, into] + scores[rows, out]
        violators = np.flatnonzero(losses > 0)
        trace.add(0.5 * lam * square + float(losses[violators].sum(dtype=np.float64)) / n)
        steps = np.zeros_like(scores)
        steps[violators, into[violators]] = 1.0
        steps[violators, out[violators]] = -1.0
        # W_{t+1/2} = (1 - eta lam) W_t + eta/n sum (x at yPL_i in the set - x at that outside), eta = 1/(lam t)
        moved = (1.0 - 1.0 / t) * weights + space.gather(steps) / (lam * t * n)
        square = space.dot(moved, moved)
        # W_{t+1} = min(1, 1/sqrt(lam) / ||W_{t+1/2}||) W_{t+1/2}
        if square > 1.0 / lam:
            moved *= np.sqrt(1.0 / (lam * square))
            square = 1.0 / lam
        change = moved - weights
        weights = moved
        scores = space.scores(weights)
        if tol > 0 and space.dot(change, change) <= min(tol, 1e150) ** 2 * square:
            converged = True
            break
    trace.add(problem.objective(weights, scores))
    return PLSVMSolution(weights, np.array(trace.objective), np.array(trace.seconds), t, converged)
