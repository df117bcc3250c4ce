"""Concave-convex procedure for the partial-label SVM, from an annealed start.

J is a convex function less the convex sum of max_{k in S_i} s_ik. Each outer step replaces that maximum by the score of
the currently best candidate, which gives a convex majorant that touches J (Yuille & Rangarajan 2003). Dual ascent then
decreases the majorant, so that J never increases.

**Annealed start for the partial-label SVM: its objective, smoothed at decreasing temperatures.**

J has many local minima, since any candidate of a row may have the maximum score. Replacing both maxima and the hinge of
a row by T log sum exp(./T) gives the max prediction hinge smoothed at a temperature T,

    T log( sum_{k in S} exp(s_k / T) + sum_{k not in S} exp((1 + s_k) / T) ) - T log sum_{k in S} exp(s_k / T),

which is -T times the log-likelihood of the set under a softmax that favors the classes outside by the margin 1. It
tends to the hinge as T -> 0, and its derivatives are dual variables of the hinge: -tau q_k inside and alpha_k outside,
where sum_k q_k = 1 and tau = sum_k alpha_k < 1.

At a high temperature all candidates contribute and the objective is close to convex; as the temperature decreases, each
row concentrates on one candidate. Each stage continues from the last one, by L-BFGS (Nocedal & Wright 2006, Numerical
optimization, algorithm 7.4). scipy's version supports neither the inner product of a kernel space nor a line search on
scores that are linear in the step, which needs no product with X.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from oneof.jit import compiled
from oneof.solvers.feature_spaces import Space
from oneof.solvers.plsvm.dual_ascent import DualSolution, ascend, restrict_duals
from oneof.solvers.plsvm.problem import PLSVMProblem, PLSVMSolution, Trace, best_scores, check_definite
from oneof.solvers.stacked_sets import StackedSets
from oneof.typing import Floats, Ints, Mask

MAX_IDLE_STEPS = 100
"""Number of outer steps without a gain after which the solver stops: `tol` cannot be reached."""
TEMPERATURES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Temperatures of the stages, in units of the margin."""
MAX_STEPS = 50
"""Maximum number of L-BFGS steps per stage."""
# A stage ends if a step gains less than this fraction of the difference between the smoothed and the hard objective.
_GAIN_RTOL = 0.05
# Number of stored pairs of past steps and gradient changes; fewer above this number of weights, to save memory.
_MEMORY, _SMALL_MEMORY, _LARGE_SIZE = 10, 3, 10**6
# exp(-80) is negligible compared with 1, but not a subnormal number, with which processors are slow.
_MIN_EXPONENT = np.float32(-80.0)
# Loops run along the rows, class by class, so that they vectorize for any number of classes, in chunks that fit into
# the cache.
_CHUNK = 256


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


# -- annealing ---------------------------------------------------------------------------------------------------------


class Iterate(NamedTuple):
    """Result of a step."""

    weights: Floats
    scores: Floats
    """(n, K), float32."""
    score_gradient: Floats
    """(L, K), float32: derivatives of the sets' smoothed hinges, times their masses, by the scores."""
    row_gradient: Floats
    """(n, K), float32: their sums over the sets of each row."""
    smoothed: float
    """J with the smoothed hinge."""
    objective: float
    """J, in single precision."""


class SmoothedHinge:
    """Mean loss of n rows, hard or smoothed, and its gradient with respect to the scores.

    Parameters
    ----------
    sets : StackedSets
        The L sets of the rows, none of which has all classes.
    """

    def __init__(self, sets: StackedSets) -> None:
        self._sets = sets
        self._mask = np.ascontiguousarray(sets.mask.T)
        self._powers = np.empty(self._mask.shape, dtype=np.float32)

    def __call__(self, scores: Floats, temperature: float, gradient: Floats) -> tuple[float, float]:
        """Return the means of the smoothed hinge and of the hinge, and write the gradient of the smoothed one.

        Parameters
        ----------
        scores : ndarray of shape (n, K), float32, in Fortran order
        temperature : float
            T, above 0.
        gradient : ndarray of shape (L, K), float32, in Fortran order
            Output: the derivatives of the sets' losses, times their masses, by the scores.

        Returns
        -------
        smoothed, hinge : float
        """
        powers, sets = self._powers, self._sets
        losses, inside, outside = np.empty((3, len(sets.mask)), dtype=np.float32)
        by_class = scores.T if sets.is_single else np.take(scores.T, sets.row, axis=1)
        _exponents(by_class, self._mask, np.float32(1.0 / temperature), powers, losses)
        np.exp(powers, out=powers)  # vectorized, in contrast to exp in a compiled loop
        _sums(powers, self._mask, inside, outside)
        logits = losses / np.float32(temperature) + np.log(outside / inside)
        small = np.exp(-np.abs(logits))
        taus = np.where(logits > 0, np.float32(1.0), small) / (1.0 + small) * sets.mass.astype(np.float32)
        _scale_by_side(powers, self._mask, -taus / inside, taus / outside, gradient.T)
        smoothed, hinges = np.maximum(logits, 0.0) + np.log1p(small), np.maximum(losses, 0.0)
        n = len(scores)
        return temperature * float((sets.mass * smoothed).sum()) / n, float((sets.mass * hinges).sum()) / n


def anneal(problem: PLSVMProblem, temperatures: tuple[float, ...], initial: Floats) -> Iterator[Iterate]:
    """Minimize the smoothed objective at one temperature after the other; yield the result of each step.

    Parameters
    ----------
    problem : PLSVMProblem
        Problem to solve, in single precision, which suffices for a start.
    temperatures : tuple of float
        T of each stage, above 0.
    initial : weights of the problem's space

    Yields
    ------
    Iterate
    """
    space = problem.space.as_float32()
    hinge = SmoothedHinge(problem.sets)
    weights, scores = initial, _as_float32(space.matvec(initial))
    memory: list[tuple[Floats, Floats, float]] = []
    for temperature in temperatures:
        score_gradient = np.empty(problem.sets.mask.shape, dtype=np.float32, order="F")
        losses, penalty = hinge(scores, temperature, score_gradient), problem.penalty(weights)
        row_gradient = problem.sets.sum_by_row(score_gradient)
        iterate = Iterate(weights, scores, score_gradient, row_gradient, losses[0] + penalty, losses[1] + penalty)
        gradient = _gradient(problem, space, iterate)
        check_definite(space, gradient)
        for _ in range(MAX_STEPS):
            direction = _direction(space, gradient, memory)
            slope, last = space.dot(gradient, direction), iterate
            iterate = _wolfe_search(problem, space, hinge, temperature, last, direction, slope, scaled=bool(memory))
            if iterate is last:
                break
            yield iterate
            previous, gradient = gradient, _gradient(problem, space, iterate)
            step, change = iterate.weights - last.weights, gradient - previous
            curvature = space.dot(step, change)
            if curvature**2 > 1e-20 * space.dot(step, step) * space.dot(change, change) and curvature > 0.0:
                size = _MEMORY if step.size <= _LARGE_SIZE else _SMALL_MEMORY
                memory = [*memory[1 - size :], (step, change, curvature)]
            if last.smoothed - iterate.smoothed < _GAIN_RTOL * abs(iterate.smoothed - iterate.objective):
                break
        weights, scores = iterate.weights, iterate.scores


def _as_float32(scores: Floats) -> Floats:
    """Return scores in the layout of `SmoothedHinge`: float32, in Fortran order."""
    return np.asfortranarray(scores, dtype=np.float32)


def _gradient(problem: PLSVMProblem, space: Space, iterate: Iterate) -> Floats:
    return problem.lam * iterate.weights + space.rmatvec(iterate.row_gradient) / space.n_rows


def _direction(space: Space, gradient: Floats, memory: list[tuple[Floats, Floats, float]]) -> Floats:
    """Return minus the gradient times the inverse Hessian estimated from the last steps (two-loop recursion)."""
    direction, alphas = -gradient, []
    for step, change, curvature in reversed(memory):
        alphas.append(space.dot(step, direction) / curvature)
        direction -= alphas[-1] * change
    if memory:
        _, change, curvature = memory[-1]
        direction *= curvature / space.dot(change, change)
    for (step, change, curvature), alpha in zip(memory, reversed(alphas)):
        direction += (alpha - space.dot(change, direction) / curvature) * step
    return direction


def _wolfe_search(
    problem: PLSVMProblem,
    space: Space,
    hinge: SmoothedHinge,
    temperature: float,
    iterate: Iterate,
    step: Floats,
    slope: float,
    *,
    scaled: bool,
) -> Iterate:
    """Return the iterate along the step that satisfies the Wolfe conditions, or the given one if none was found.

    If the step is not `scaled` by a curvature, it is first scaled to change the scores by about the temperature.
    """
    score_step = space.matvec(step)
    with np.errstate(over="ignore"):  # an infinite size ends the search
        size = 1.0 if scaled else float(np.sqrt(np.mean(np.square(score_step, dtype=np.float64)))) / temperature
    if not slope < 0.0 or not 0.0 < size < np.inf:
        return iterate
    step, slope, score_step = step / size, slope / size, _as_float32(score_step / size)
    lam, pairs = problem.lam, ((iterate.weights, iterate.weights), (iterate.weights, step), (step, step))
    squares = tuple(space.dot(a, b) for a, b in pairs)
    score_gradient = np.empty_like(iterate.score_gradient)
    low, high, value_low, slope_low, slope_high = 0.0, np.inf, iterate.smoothed, slope, np.inf
    length = 1.0
    for _ in range(40):
        if length > float(np.finfo(np.float32).max):  # the objective does not change along the step
            break
        scores = iterate.scores + np.float32(length) * score_step
        penalty = 0.5 * lam * (squares[0] + length * (2.0 * squares[1] + length * squares[2]))
        losses = hinge(scores, temperature, score_gradient)
        value = losses[0] + penalty
        row_gradient = problem.sets.sum_by_row(score_gradient)
        derivative = float(np.vdot(row_gradient.T, score_step.T)) / space.n_rows
        derivative = derivative + lam * (squares[1] + length * squares[2])
        too_far = value > iterate.smoothed + 1e-4 * length * slope
        if not too_far and abs(derivative) <= 0.7 * abs(slope):
            weights = iterate.weights + length * step
            return Iterate(weights, scores, score_gradient, row_gradient, value, losses[1] + penalty)
        if too_far or derivative > 0.0:
            high, slope_high = length, derivative
        else:
            low, value_low, slope_low = length, value, derivative
        width = high - low
        if too_far:  # the minimum of the interpolating parabola
            curvature = value - value_low - slope_low * width
            length = low - 0.5 * slope_low * width**2 / curvature if curvature > 0.0 else low
        elif high < np.inf:  # the root of the linear interpolation of the derivative
            length = low - slope_low * width / (slope_high - slope_low) if slope_high > 0.0 else high
        else:
            length *= min(max(slope / (slope - derivative), 2.0), 20.0) if derivative > slope else 10.0
        if high < np.inf:
            length = min(max(length, low + 0.01 * width), high - 0.1 * width)
    return iterate


@compiled
def _exponents(scores: Floats, mask: Mask, inverse: float, powers: Floats, losses: Floats) -> None:
    """Write (s_k - the maximum of its side of the set) / T, (K, n), and 1 - margin, (n,)."""
    n_classes, n = scores.shape
    lowest = scores.dtype.type(-np.inf)
    best_in, best_out = np.empty(_CHUNK, dtype=scores.dtype), np.empty(_CHUNK, dtype=scores.dtype)
    for start in range(0, n, _CHUNK):
        size = min(_CHUNK, n - start)
        best_in[:], best_out[:] = lowest, lowest
        for k in range(n_classes):
            s, member = scores[k, start : start + size], mask[k, start : start + size]
            for i in range(size):
                best_in[i] = max(best_in[i], s[i] if member[i] else lowest)
                best_out[i] = max(best_out[i], lowest if member[i] else s[i])
        for i in range(size):
            losses[start + i] = 1 - best_in[i] + best_out[i]
        for k in range(n_classes):
            s, member = scores[k, start : start + size], mask[k, start : start + size]
            power = powers[k, start : start + size]
            for i in range(size):
                power[i] = max((s[i] - (best_in[i] if member[i] else best_out[i])) * inverse, _MIN_EXPONENT)


@compiled
def _sums(powers: Floats, mask: Mask, inside: Floats, outside: Floats) -> None:
    """Write the sums of the powers over each row's set and over the other classes."""
    n_classes, n = powers.shape
    zero = powers.dtype.type(0)
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        into, out = inside[start:stop], outside[start:stop]
        into[:], out[:] = zero, zero
        for k in range(n_classes):
            power, member = powers[k, start:stop], mask[k, start:stop]
            for i in range(stop - start):
                into[i] += power[i] if member[i] else zero
                out[i] += zero if member[i] else power[i]


@compiled
def _scale_by_side(powers: Floats, mask: Mask, per_inside: Floats, per_outside: Floats, gradient: Floats) -> None:
    """Write the powers, (K, n), each times the factor of its row and of its side of the set."""
    n_classes, n = powers.shape
    for k in range(n_classes):
        for i in range(n):
            gradient[k, i] = powers[k, i] * (per_inside[i] if mask[k, i] else per_outside[i])
