"""The default M-step: Newton's method, in as many coordinates as there are rows or weights.

Where H is small it is factorized. Elsewhere the steps are found by conjugate gradients, whose products cost no more
than a gradient, and are preconditioned by what H would be if each row's curvature were v_i (I - 1 1^T / K), of the
trace of its own: as in block.py that takes two factorizations of one class's size, where all classes have one Lambda.
Where they have not it takes the block of each class.
"""

from collections.abc import Callable, Iterable

import numpy as np
import scipy.linalg

from oneof.solvers.graph_logistic.curvature import (
    cholesky,
    class_hessian,
    near_cholesky,
    weighted_gram,
    whole_hessian,
)
from oneof.solvers.graph_logistic.problem import Likelihood, Point
from oneof.solvers.graph_logistic.spaces import Space
from oneof.typing import Floats

FACTORizED = 200
"""Coordinates of all classes together up to which H is factorized."""
ENOUGH_PRODUCTS = 15
"""Products of a step beyond which the next one gets a preconditioner of its own."""
MOST_PRODUCTS = 300
MOST_HALVINGS = 40
ROUNDING = 1e-10
"""Length of a step, as a part of the weights', below which rounding may be all that it is."""
LOOSEST = 0.1
"""Largest relative error of a step."""

Solve = Callable[[Floats], Floats]


def newton(likelihood: Likelihood, space: Space, start: Floats, *, tol: float, max_iter: int) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda_c w^(c); return the (K-1, D) weights, and whether it arrived."""
    z, arrived = climb(likelihood, space, space.enter(start), tol=tol, max_iter=max_iter)
    return space.leave(z), arrived


def climb(likelihood: Likelihood, space: Space, z: Floats, *, tol: float, max_iter: int) -> tuple[Floats, bool]:
    """Maximize in the coordinates of a space.

    A step of the relative length delta, in the metric of H, leaves an error of about delta^2, and its own relative
    error is made no larger than delta: the last step is the first with delta <= 0.1 sqrt(tol). Where H is not positive
    definite, as on a saddle, steps are as short as what is left: there the last one has delta <= 0.1 tol.
    """
    scores, penalized = space.scores(z), space.penalized(z)
    at = likelihood.point(scores)
    value = at.likelihood - 0.5 * float((z * penalized).sum())
    nearly, n_products = None, 0
    small = space.size * space.prior.n_vectors <= FACTORizED
    tied = _ties(likelihood, space)
    for _ in range(max_iter):
        gradient = space.gather(likelihood.slopes(at)) - penalized
        if small:
            step, exact = _factorized_step(likelihood, space, at, gradient)
        else:
            if nearly is None or n_products > ENOUGH_PRODUCTS:
                nearly = _preconditioner(likelihood, space, at)
            size = float((scores * likelihood.bends(at, scores)).sum()) + float((z * penalized).sum())
            step, n_products, exact = _conjugate_gradients(_product(likelihood, space, at), nearly, gradient, size)
        step = tied(step)
        moved, penalized_step = space.scores(step), space.penalized(step)
        rise, length = float((step * gradient).sum()), 1.0
        for _ in range(MOST_HALVINGS):
            there = likelihood.point(scores + length * moved)
            ahead = z + length * step
            found = there.likelihood - 0.5 * float((ahead * (penalized + length * penalized_step)).sum())
            if found >= value + 1e-4 * length * rise - 1e-12 * abs(value):
                break
            length /= 2.0
        else:
            return z, True  # to rounding
        z, at, value = ahead, there, found
        scores, penalized = scores + length * moved, penalized + length * penalized_step
        whole = float((scores * likelihood.bends(at, scores)).sum()) + float((z * penalized).sum())
        least = tol if exact else max(tol, ROUNDING) ** 2
        if length == 1.0 and rise <= 0.01 * least * max(whole, 1e-12):
            return z, True
    return z, False


def _ties(likelihood: Likelihood, space: Space) -> Solve:
    """Return what makes a step equal for classes that no set tells apart, where they have one prior.

    Where they are equal the objective may have a saddle, off which rounding would lead to one of them, any of them.
    """
    _, group = np.unique(likelihood.mask[:, :-1], axis=1, return_inverse=True)
    group = group.ravel()
    counts = np.bincount(group)
    if space.prior.n_distinct > 1 or len(counts) == len(group):
        return lambda step: step
    mean = (group == np.arange(len(counts))[:, None]) / counts[:, None]
    return lambda step: (mean @ step)[group]


def _product(likelihood: Likelihood, space: Space, at: Point) -> Solve:
    return lambda move: space.gather(likelihood.bends(at, space.scores(move))) + space.penalized(move)


def _factorized_step(likelihood: Likelihood, space: Space, at: Point, gradient: Floats) -> tuple[Floats, bool]:
    """Return the step, and whether it is Newton's: where H is not positive definite its convex part stands in."""
    factor = cholesky(whole_hessian(space, likelihood.curvatures(at, convex=False)))
    exact = factor is not None
    if factor is None:
        factor = cholesky(whole_hessian(space, likelihood.curvatures(at, convex=True)))
    if factor is None:
        return _preconditioner(likelihood, space, at)(gradient), False
    step: Floats = scipy.linalg.cho_solve((factor, True), gradient.ravel(), check_finite=False)
    return step.reshape(gradient.shape), exact


def _preconditioner(likelihood: Likelihood, space: Space, at: Point) -> Solve:
    n_vectors = space.prior.n_vectors
    if space.prior.n_distinct == 1:
        curvature = likelihood.row_weight * likelihood.bend(at) / n_vectors
        gram, own = weighted_gram(space.features_of_class(0), curvature), space.prior_of_class(0)
        return shared_solver(gram, own, n_vectors)
    several = likelihood.curvatures(at, convex=True)
    return separate_solver(class_hessian(space, several[:, c, c], c) for c in range(n_vectors))


def shared_solver(gram: Floats, precision: Floats, n_vectors: int) -> Solve:
    """Return what solves with (I - 1 1^T / K) kron G + I kron Lambda, for (K-1, size) targets.

    I - 1 1^T / K over the K-1 classes has the eigenvalue 1/K along 1 and 1 across.
    """
    along, across = _root(gram / (n_vectors + 1) + precision), _root(gram + precision)

    def solve(target: Floats) -> Floats:
        mean = target.mean(axis=0)
        solved: Floats = scipy.linalg.cho_solve(across, (target - mean).T, check_finite=False).T
        return solved + scipy.linalg.cho_solve(along, mean, check_finite=False)

    return solve


def separate_solver(matrices: Iterable[Floats]) -> Solve:
    """Return what solves with a matrix for each class but the last, for (K-1, size) targets."""
    roots = [_root(matrix) for matrix in matrices]
    return lambda target: np.array(
        [scipy.linalg.cho_solve(own, part, check_finite=False) for own, part in zip(roots, target, strict=True)]
    )


def _root(matrix: Floats) -> tuple[Floats, bool]:
    return near_cholesky(matrix), True


def _conjugate_gradients(product: Solve, nearly: Solve, target: Floats, size: float) -> tuple[Floats, int, bool]:
    """Solve H step = target to a relative error of min(LOOSEST, delta), delta^2 the step's square by `size`.

    Return the step, the number of products, and whether H was positive along the way; it ends where it was not.
    """
    solution = np.zeros_like(target)
    residual, solved = target, nearly(target)
    direction = solved
    square = first = float((residual * solved).sum())
    goal = first * min(LOOSEST**2, first / max(size, 1e-300))
    for k in range(MOST_PRODUCTS):
        if square <= max(goal, 1e-28 * first):
            return solution, k, True
        bent = product(direction)
        curved = float((direction * bent).sum())
        if curved <= 0:
            return (solution if k else direction), k, False
        solution = solution + square / curved * direction
        residual = residual - square / curved * bent
        solved = nearly(residual)
        before, square = square, float((residual * solved).sum())
        direction = solved + square / before * direction
    return solution, MOST_PRODUCTS, True
