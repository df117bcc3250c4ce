"""The partial-label SVM by the concave-convex procedure, from an annealed start.

J is a convex function less the convex sum of max_{k in S_i} s_ik. Each outer step replaces that maximum by the score of
the candidate that is best now, which gives a convex majorant that touches J (Yuille & Rangarajan 2003), and lowers the
majorant, by dual ascent; so J never rises.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from oneof.solvers.plsvm.annealing import TEMPERATURES, anneal
from oneof.solvers.plsvm.dual import Ascent, ascend, choose
from oneof.solvers.plsvm.problem import PLSVMProblem, PLSVMSolution, Trace, best_scores, refuse_indefinite
from oneof.typing import Floats, Ints

_MOST_IDLE = 100
"""Outer steps without any gain after which it ends: what is asked is out of reach."""


def solve_cccp(
    problem: PLSVMProblem,
    *,
    random: np.random.Generator,
    max_iter: int = 1000,
    tol: float = 1e-4,
    initial: Floats | None = None,
    temperatures: tuple[float, ...] | None = None,
) -> PLSVMSolution:
    """Lower J until the choices stand and the duality gap is closed.

    Parameters
    ----------
    problem : PLSVMProblem
    random : Generator
        For the order of the rows in dual ascent.
    max_iter : int
        Outer steps, at most, of `oneof.solvers.plsvm.dual.MOST_EPOCHS` passes over the rows each; it ends earlier where
        a number of steps have neither lowered J nor closed the gap further.
    tol : float
        Stop where an outer step lowers J by no more than tol J, and the gap of its convex problem is at most tol J.
        Rounding sets a limit, at most 1e-3, below which it counts as reached.
    initial : weights of the problem's space, optional
        A start in place of W = 0. It is annealed only where `temperatures` are given.
    temperatures : tuple of float, optional
        Those of the annealed start; none are needed where all sets are exact.

    Returns
    -------
    PLSVMSolution
        `objective` has an entry for each step of the start that lowered it, and one for each of the `n_iter` outer
        steps.
    """
    space, trace = problem.space, Trace()
    # W is a sum of terms up to ||x|| / lam, and scores are off by what rounding leaves of them.
    limit = space.precision * max(100.0, 0.01 * float(space.squares.max(initial=0.0)) / problem.lam)
    tol = max(tol, min(limit, 1e-3))
    weights = space.zeros(problem.n_classes) if initial is None else initial
    exact = bool((problem.mask.sum(axis=1) == 1).all())
    if temperatures is None:  # where nothing is to be chosen, the problem is convex, and any start as good
        temperatures = () if exact or initial is not None else TEMPERATURES
    trace.add(problem.objective(weights, space.scores(weights)))
    duals = np.zeros((space.n_rows, problem.n_classes), dtype=np.float32)
    start, point = weights, None
    for point in anneal(problem, temperatures, start):
        if point.objective < trace.objective[-1] * (1.0 - 1e-5):  # beyond the rounding of single precision
            weights, duals = point.weights, -point.slopes
            trace.add(point.objective)
    if weights is start and point is not None:
        # W = 0, say, is a poor place to choose from: go on where the annealing ended, though J is higher there.
        weights, duals = point.weights, -point.slopes
    scores = space.scores(weights)
    value = problem.objective(weights, scores)
    if len(trace.objective) > 1:
        trace.objective[-1] = min(value, trace.objective[-2])  # in double precision
    converged, n_iter, least_gap, n_idle = False, 0, np.inf, 0
    while not converged and n_iter < max_iter and n_idle < _MOST_IDLE:
        chosen = best_scores(scores, problem.mask).chosen
        coefficients = choose(duals, problem.mask, chosen)
        # What the choices have gained already is no reason to stop where there are none.
        known = -np.inf if exact else value
        ascent = ascend(problem, chosen, coefficients, tol=tol, value=known, random=random)
        refuse_indefinite(space, ascent.weights)
        duals = coefficients
        ahead, seen = _toward(problem, chosen, weights, scores, ascent)
        before, after = value, problem.objective(ahead, seen)
        if after <= before:  # but for rounding, it always is
            weights, scores, value = ahead, seen, after
        trace.add(min(value, trace.objective[-1]))
        n_iter += 1
        level = exact or before - value <= tol * before
        converged = level and ascent.gap <= tol * ascent.primal
        n_idle = n_idle + 1 if level and ascent.gap > 0.9 * least_gap else 0
        least_gap = min(least_gap, ascent.gap)
    if value > trace.objective[0]:
        weights = start
    objective, seconds = np.array(trace.objective), np.array(trace.seconds)
    return PLSVMSolution(weights, objective, seconds, n_iter, converged, duals)


def _toward(
    problem: PLSVMProblem, chosen: Ints, weights: Floats, scores: Floats, ascent: Ascent
) -> tuple[Floats, Floats]:
    """Go from the weights to those of the ascent as far as the majorant falls."""
    step, moved = ascent.weights - weights, ascent.scores - scores

    def majorant(length: float) -> float:
        return problem.majorant(weights + length * step, scores + length * moved, chosen)

    here = majorant(0.0)
    if ascent.primal <= here:
        return ascent.weights, ascent.scores
    length = float(minimize_scalar(majorant, bounds=(0.0, 1.0), method="bounded").x)
    return (weights + length * step, scores + length * moved) if majorant(length) <= here else (weights, scores)
