"""Concave-convex procedure for the partial-label SVM, from an annealed start.

J is a convex function less the convex sum of max_{k in S_i} s_ik. Each outer step replaces that maximum by the score of
the currently best candidate, which gives a convex majorant that touches J (Yuille & Rangarajan 2003). Dual ascent then
decreases the majorant, so that J never increases.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from oneof.solvers.plsvm.annealing import TEMPERATURES, anneal
from oneof.solvers.plsvm.dual_ascent import DualSolution, ascend, restrict_duals
from oneof.solvers.plsvm.problem import PLSVMProblem, PLSVMSolution, Trace, best_scores, check_definite
from oneof.solvers.plsvm.proximal import ProximalPenalty, scale_columns
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
        outer steps.
    """
    scaled = scale_columns(problem) if problem.ridge is None else None
    if scaled is not None:
        problem, scales = scaled
        scaled_start = None if initial is None else scales * initial
        of_scaled = solve_cccp(
            problem, rng=rng, max_iter=max_iter, tol=tol, initial=scaled_start, temperatures=temperatures
        )
        return replace(of_scaled, weights=of_scaled.weights / scales)
    space, trace = problem.space, Trace()
    # W is a sum of terms up to ||x|| / lam, whose rounding errors limit the accuracy of the scores.
    limit = space.precision * max(100.0, 0.01 * float(space.squares.max(initial=0.0)) / problem.lam)
    tol = max(tol, min(limit, 1e-3))
    weights = space.zeros(problem.n_classes) if initial is None else initial
    convex = bool((problem.mask.sum(axis=1) == 1).all())
    exact = convex and problem.ridge is None  # one convex problem, without proximal terms
    if temperatures is None:  # with exact sets the problem is convex, and every start is equivalent
        temperatures = () if convex or initial is not None else TEMPERATURES
    scores = np.zeros((space.n_rows, problem.n_classes)) if initial is None else space.matvec(weights)
    trace.add(problem.objective(weights, scores))
    duals = np.zeros(problem.mask.shape, dtype=np.float32)
    start, iterate = weights, None
    for iterate in anneal(problem, temperatures, start):
        if iterate.objective < trace.objective[-1] * (1.0 - 1e-5):  # by more than the rounding of single precision
            weights, duals = iterate.weights, -iterate.score_gradient
            trace.add(iterate.objective)
    if weights is start and iterate is not None:
        # W = 0, for example, does not distinguish candidates: continue from the end of the annealing, of higher J.
        weights, duals = iterate.weights, -iterate.score_gradient
    if weights is not start:
        scores = space.matvec(weights)
    value = problem.objective(weights, scores)
    if len(trace.objective) > 1:
        trace.objective[-1] = min(value, trace.objective[-2])  # in double precision
    converged, n_iter, min_gap, n_idle = False, 0, np.inf, 0
    while not converged and n_iter < max_iter and n_idle < MAX_IDLE_STEPS:
        chosen = best_scores(problem.of_sets(scores), problem.mask).chosen
        coefficients = restrict_duals(duals, problem.mask, problem.mass, chosen)
        # If all steps solve the same problem, a small decrease of J is not a reason to stop.
        previous = -np.inf if exact else value
        penalty = ProximalPenalty.at(problem, weights)
        solution = ascend(problem, chosen, coefficients, tol=tol, value=previous, rng=rng, penalty=penalty)
        check_definite(space, solution.weights)
        duals = coefficients
        new_weights, new_scores = _line_search(problem, chosen, weights, scores, solution)
        before, after = value, problem.objective(new_weights, new_scores)
        if after <= before:  # always true, up to rounding
            weights, scores, value = new_weights, new_scores, after
        trace.add(min(value, trace.objective[-1]))
        n_iter += 1
        level = exact or before - value <= tol * before
        converged = level and solution.gap <= tol * solution.primal
        n_idle = n_idle + 1 if level and solution.gap > 0.9 * min_gap else 0
        min_gap = min(min_gap, solution.gap)
    if value > trace.objective[0]:
        weights = start
    path, times = np.array(trace.objective), np.array(trace.times)
    return PLSVMSolution(weights, path, times, n_iter, converged, duals)


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
