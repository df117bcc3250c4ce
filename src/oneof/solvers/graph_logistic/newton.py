"""The default M-step: Newton's method with conjugate gradients, in as many coordinates as there are rows or weights.

The steps are preconditioned by the block of each class of the Hessian, which is all of it but for what couples the
classes: few products with the Hessian are needed, and no matrix over all classes is formed.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg

from oneof.solvers.graph_logistic.curvature import cholesky, class_hessian
from oneof.solvers.graph_logistic.problem import Likelihood, Point
from oneof.solvers.graph_logistic.spaces import Space, space_of
from oneof.solvers.graph_logistic.terms import Precisions, Prior
from oneof.typing import Floats

MOST_PRODUCTS = 250
MOST_HALVINGS = 40


def newton(
    likelihood: Likelihood, prior: Prior, precisions: Precisions, start: Floats, *, tol: float, max_iter: int
) -> Floats:
    """Maximise l(w) - 1/2 sum_c w^(c)T Lambda_c w^(c) from a start; return the (K-1, D) weights."""
    space = space_of(prior, precisions, likelihood)
    return space.leave(climb(likelihood, space, space.enter(start), tol=tol, max_iter=max_iter))


def climb(likelihood: Likelihood, space: Space, z: Floats, *, tol: float, max_iter: int) -> Floats:
    """Maximise in the coordinates of a space, until a step is at most `tol` of the way in the metric of the Hessian."""
    scores = space.scores(z)
    at = likelihood.point(scores)
    value = at.likelihood - 0.5 * float((z * space.penalised(z)).sum())
    for _ in range(max_iter):
        gradient = space.gather(likelihood.slopes(at)) - space.penalised(z)
        step = _newton_step(likelihood, space, at, gradient)
        moved = space.scores(step)
        rise = float((step * gradient).sum())
        size = 1.0
        for _ in range(MOST_HALVINGS):
            ahead = z + size * step
            there = likelihood.point(scores + size * moved)
            found = there.likelihood - 0.5 * float((ahead * space.penalised(ahead)).sum())
            if found >= value + 1e-4 * size * rise - 1e-13 * abs(value):
                break
            size /= 2.0
        else:
            return z
        z, at, value = ahead, there, found
        scores = space.scores(z)
        length = float((moved * likelihood.bends(at, scores * 0 + moved)).sum())
        reach = float((scores * likelihood.bends(at, scores)).sum()) + float((z * space.penalised(z)).sum())
        if size == 1.0 and rise <= tol**2 * max(reach, 1e-12) and length >= 0:
            break
    return z


def _newton_step(likelihood: Likelihood, space: Space, at: Point, gradient: Floats) -> Floats:
    curvature = likelihood.curvatures(at, convex=True)
    n_vectors = space.prior.n_vectors
    factors = [cholesky(class_hessian(space, curvature[:, c, c], c)) for c in range(n_vectors)]

    def nearly(residual: Floats) -> Floats:
        solved = [
            scipy.linalg.cho_solve((factor, True), part, check_finite=False)
            for factor, part in zip(factors, residual, strict=True)
        ]
        return np.array(solved)

    def product(move: Floats) -> Floats:
        return space.gather(likelihood.bends(at, space.scores(move))) + space.penalised(move)

    return _conjugate_gradients(product, nearly, gradient)


def _conjugate_gradients(
    product: Callable[[Floats], Floats], nearly: Callable[[Floats], Floats], target: Floats
) -> Floats:
    """Solve H step = target; where H is not positive along the way, end with the way so far."""
    solution = np.zeros_like(target)
    residual = target
    solved = nearly(residual)
    direction = solved
    square = first = float((residual * solved).sum())
    goal = first * 1e-6
    for k in range(MOST_PRODUCTS):
        if square <= goal or square <= 0:
            break
        bent = product(direction)
        curved = float((direction * bent).sum())
        if curved <= 0:
            return solution if k else direction
        solution = solution + square / curved * direction
        residual = residual - square / curved * bent
        solved = nearly(residual)
        before, square = square, float((residual * solved).sum())
        direction = solved + square / before * direction
    return solution
