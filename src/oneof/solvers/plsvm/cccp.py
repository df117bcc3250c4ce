"""Concave-convex procedure for the partial-label SVM, from an annealed start.

J is a convex function less the convex sum of max_{k in S_i} s_ik. Each outer step replaces that maximum by the score of
the currently best candidate, which gives a convex majorant that touches J (Yuille & Rangarajan 2003). Dual ascent then
decreases the majorant, so that J never increases.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from oneof.solvers.plsvm.annealing import TEMPERATURES, anneal
from oneof.solvers.plsvm.dual_ascent import DualSolution, ascend, restrict_duals
from oneof.solvers.plsvm.problem import PLSVMProblem, PLSVMSolution, Trace, best_scores, check_definite
from oneof.typing import Floats, Ints

MAX_IDLE_STEPS = 100
"""Number of outer steps without a gain after which the solver stops: `tol` cannot be reached."""


def solve_cccp(
    problem: PLSVMProblem,
    *,
    rng: np.random.Generator,
    max_iter: int = 1000,
    tol: float = 1e-4,
    initial: Floats | None = None,
    temperatures: tuple[float, ...] | None = None,
) -> PLSVMSolution:
    """Minimize J until the chosen candidates no longer change and the duality gap is closed.

    Parameters
    ----------
    problem : PLSVMProblem
    rng : Generator
        Random generator for the order of the rows in dual ascent.
    max_iter : int
        Maximum number of outer steps, each of up to `oneof.solvers.plsvm.dual_ascent.MAX_EPOCHS` passes over the rows.
        The solver stops earlier if a number of steps have neither decreased J nor closed the gap further.
    tol : float
        Stop if an outer step decreases J by at most tol J, and the gap of its convex problem is at most tol J. A `tol`
        below a limit set by rounding, of at most 1e-3, is replaced by that limit.
    initial : weights of the problem's space, optional
        The start; W = 0 by default. It is annealed only if `temperatures` are given.
    temperatures : tuple of float, optional
        Temperatures of the annealed start; exact sets need none.

    Returns
    -------
    PLSVMSolution
        `objective_path` has an entry for each step of the start that decreased J, and one for each of the `n_iter`
        outer steps. If these end above the start, it is returned, as the last entry.
    """
    space, sets, trace = problem.space, problem.sets, Trace()
    # W is a sum of terms up to ||x|| / lam, whose rounding errors limit the accuracy of the scores.
    limit = space.precision * max(100.0, 0.01 * float(space.squares.max(initial=0.0)) / problem.lam)
    tol = max(tol, min(limit, 1e-3))
    start = space.zeros(problem.n_classes) if initial is None else initial
    is_convex = bool((sets.mask.sum(axis=1) == 1).all())
    if temperatures is None:  # with exact sets the problem is convex, and every start is equivalent
        temperatures = () if is_convex or initial is not None else TEMPERATURES
    trace.add(problem.objective(start, space.matvec(start)))
    weights, duals = _annealed_start(problem, start, temperatures, trace)
    scores = space.matvec(weights)
    value = problem.objective(weights, scores)
    if len(trace.objective) > 1:
        trace.objective[-1] = value  # in double precision
    converged, n_iter, min_gap, n_idle = False, 0, np.inf, 0
    while not converged and n_iter < max_iter and n_idle < MAX_IDLE_STEPS:
        chosen = best_scores(sets.take(scores), sets.mask).chosen
        duals = restrict_duals(duals, sets.mask, sets.mass, chosen)
        # If all steps solve the same problem, a small decrease of J is not a reason to stop.
        solution = ascend(problem, chosen, duals, tol=tol, value=-np.inf if is_convex else value, rng=rng)
        check_definite(space, solution.weights)
        new_weights, new_scores = _line_search(problem, chosen, weights, scores, solution)
        before, after = value, problem.objective(new_weights, new_scores)
        if after <= before:  # always true, up to rounding
            weights, scores, value = new_weights, new_scores, after
        trace.add(value)
        n_iter += 1
        is_idle = is_convex or before - value <= tol * before
        converged = is_idle and solution.gap <= tol * solution.primal
        n_idle = n_idle + 1 if is_idle and solution.gap > 0.9 * min_gap else 0
        min_gap = min(min_gap, solution.gap)
    if value > trace.objective[0]:
        weights = start
        trace.add(trace.objective[0])
    path, times = np.array(trace.objective), np.array(trace.times)
    return PLSVMSolution(weights, path, times, n_iter, converged, duals)


def _annealed_start(
    problem: PLSVMProblem, start: Floats, temperatures: tuple[float, ...], trace: Trace
) -> tuple[Floats, Floats]:
    """Return the best weights of the annealing with their duals, (L, K); each new lowest J is added to the trace.

    If no iterate has a lower J than the start, the last one is returned: W = 0, for example, does not distinguish
    candidates.
    """
    weights, duals, last = start, np.zeros(problem.sets.mask.shape, dtype=np.float32), None
    for last in anneal(problem, temperatures, start):
        if last.objective < trace.objective[-1] * (1.0 - 1e-5):  # by more than the rounding of single precision
            weights, duals = last.weights, -last.score_gradient
            trace.add(last.objective)
    return (last.weights, -last.score_gradient) if weights is start and last is not None else (weights, duals)


def _line_search(
    problem: PLSVMProblem, chosen: Ints, weights: Floats, scores: Floats, solution: DualSolution
) -> tuple[Floats, Floats]:
    """Return the point that minimizes the majorant between the weights and those of the dual solution."""
    step, score_step = solution.weights - weights, solution.scores - scores

    def majorant(length: float) -> float:
        return problem.majorant(weights + length * step, scores + length * score_step, chosen)

    initial_value = majorant(0.0)
    if solution.primal <= initial_value:
        return solution.weights, solution.scores
    length = float(minimize_scalar(majorant, bounds=(0.0, 1.0), method="bounded").x)
    if majorant(length) > initial_value:
        return weights, scores
    return weights + length * step, scores + length * score_step
