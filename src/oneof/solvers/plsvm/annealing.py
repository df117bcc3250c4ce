"""A start for the partial-label SVM: its objective smoothed, at falling temperatures.

J has many local minima, since a row may choose any of its candidates. At a high temperature the smoothed hinge lets all
candidates share the choice, and the objective is close to convex; as the temperature falls, each row makes up its mind.
Each stage goes on where the last one ended, by L-BFGS (Nocedal & Wright 2006, Numerical optimization, algorithm 7.4).
scipy's own takes neither the inner product of a kernel machine nor scores that are linear in the step: here a search
along a line costs no product with X.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from oneof.solvers.feature_spaces import Space
from oneof.solvers.plsvm.hinge import SmoothedHinge
from oneof.solvers.plsvm.problem import PLSVMProblem, refuse_indefinite
from oneof.typing import Floats

TEMPERATURES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""In units of the margin."""
_MOST_STEPS = 50
# A stage ends where a step gains less than this share of what the temperature itself does to the objective.
_ENOUGH = 0.05
# Pairs of past steps and turns that are kept: fewer where weights are many, for each pair holds as much twice.
_MEMORY, _SMALL_MEMORY, _LARGE = 10, 3, 10**6


class Point(NamedTuple):
    """Where a step ended."""

    weights: Floats
    scores: Floats
    """(n, K), float32."""
    slopes: Floats
    """(n, K), float32: derivatives of the rows' smoothed hinges by the scores."""
    smoothed: float
    """J with the smoothed hinge."""
    objective: float
    """J, in single precision."""


def anneal(problem: PLSVMProblem, temperatures: tuple[float, ...], initial: Floats) -> Iterator[Point]:
    """Yield where each step ends.

    Parameters
    ----------
    problem : PLSVMProblem
        Worked on in single precision: this is a start.
    temperatures : tuple of float
        T of each stage, above 0.
    initial : weights of the problem's space

    Yields
    ------
    Point
    """
    space, lam = problem.space.coarse(), problem.lam
    hinge = SmoothedHinge(problem.mask)
    weights, scores = initial, _single(space.scores(initial))
    memory: list[tuple[Floats, Floats, float]] = []
    for temperature in temperatures:
        slopes = np.empty_like(scores)
        losses, penalty = hinge(scores, temperature, slopes), problem.penalty(weights)
        point = Point(weights, scores, slopes, losses[0] + penalty, losses[1] + penalty)
        gradient = _gradient(space, lam, point)
        refuse_indefinite(space, gradient)
        for _ in range(_MOST_STEPS):
            step = _direction(space, gradient, memory)
            slope, last = space.dot(gradient, step), point
            point = _search(space, lam, hinge, temperature, last, step, slope, known=bool(memory))
            if point is last:
                break
            yield point
            before, gradient = gradient, _gradient(space, lam, point)
            moved, turned = point.weights - last.weights, gradient - before
            curvature = space.dot(moved, turned)
            if curvature**2 > 1e-20 * space.dot(moved, moved) * space.dot(turned, turned) and curvature > 0.0:
                n_kept = _MEMORY if moved.size <= _LARGE else _SMALL_MEMORY
                memory = [*memory[1 - n_kept :], (moved, turned, curvature)]
            if last.smoothed - point.smoothed < _ENOUGH * abs(point.smoothed - point.objective):
                break
        weights, scores = point.weights, point.scores


def _single(scores: Floats) -> Floats:
    """Return scores as `SmoothedHinge` wants them."""
    return np.asfortranarray(scores, dtype=np.float32)


def _gradient(space: Space, lam: float, point: Point) -> Floats:
    return lam * point.weights + space.gather(point.slopes) / space.n_rows


def _direction(space: Space, gradient: Floats, memory: list[tuple[Floats, Floats, float]]) -> Floats:
    """Return minus the gradient times the inverse Hessian that the last steps tell of."""
    step, shares = -gradient, []
    for moved, turned, curvature in reversed(memory):
        shares.append(space.dot(moved, step) / curvature)
        step -= shares[-1] * turned
    if memory:
        _, turned, curvature = memory[-1]
        step *= curvature / space.dot(turned, turned)
    for (moved, turned, curvature), share in zip(memory, reversed(shares)):
        step += (share - space.dot(turned, step) / curvature) * moved
    return step


def _search(
    space: Space,
    lam: float,
    hinge: SmoothedHinge,
    temperature: float,
    point: Point,
    step: Floats,
    slope: float,
    *,
    known: bool,
) -> Point:
    """Go along the step until the objective has fallen enough and its slope is gone; stay where nothing helps.

    Where the curvature is not `known`, the step is only a direction, and first made to move scores by the temperature.
    """
    moved = space.scores(step)
    size = 1.0 if known else float(np.sqrt(np.mean(np.square(moved, dtype=np.float64)))) / temperature
    if not slope < 0.0 or not 0.0 < size < np.inf:
        return point
    step, slope, moved = step / size, slope / size, _single(moved / size)
    squares = tuple(space.dot(a, b) for a, b in ((point.weights, point.weights), (point.weights, step), (step, step)))
    slopes = np.empty_like(moved)
    low, high, value_low, slope_low, slope_high = 0.0, np.inf, point.smoothed, slope, np.inf
    length = 1.0
    for _ in range(40):
        scores = point.scores + np.float32(length) * moved
        penalty = 0.5 * lam * (squares[0] + length * (2.0 * squares[1] + length * squares[2]))
        losses = hinge(scores, temperature, slopes)
        value = losses[0] + penalty
        here = float(np.vdot(slopes.T, moved.T)) / space.n_rows + lam * (squares[1] + length * squares[2])
        too_far = value > point.smoothed + 1e-4 * length * slope
        if not too_far and abs(here) <= 0.7 * abs(slope):
            return Point(point.weights + length * step, scores, slopes, value, losses[1] + penalty)
        if too_far or here > 0.0:
            high, slope_high = length, here
        else:
            low, value_low, slope_low = length, value, here
        width = high - low
        if too_far:  # the minimum of a parabola through what is known
            bend = value - value_low - slope_low * width
            length = low - 0.5 * slope_low * width**2 / bend if bend > 0.0 else low
        elif high < np.inf:  # where the slope, taken for linear, is 0
            length = low - slope_low * width / (slope_high - slope_low) if slope_high > 0.0 else high
        else:
            length *= min(max(slope / (slope - here), 2.0), 20.0) if here > slope else 10.0
        if high < np.inf:
            length = min(max(length, low + 0.01 * width), high - 0.1 * width)
    return point
