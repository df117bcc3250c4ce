"""M-step by Newton's method (the default), and the Hessian that it shares with the Laplace posterior.

The M-step maximizes Q (12). The Hessian is formed in the smaller coordinates of `coordinates.py`. A small Hessian is
factorized. With a larger one the steps are computed by conjugate gradients, whose products cost no more than a
gradient. Their preconditioner is the Hessian that would result if the curvature of each row were v_i (I - 1 1^T / K),
scaled to its own trace. As in `bohning.py`, it takes two factorizations of the size of one class.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from oneof.solvers.graph_logistic.coordinates import Coordinates
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood, LikelihoodEvaluation
from oneof.solvers.graph_logistic.prior import scale_rows, to_dense
from oneof.solvers.linear import Operator, conjugate_gradients
from oneof.typing import Floats

MAX_COORDINATES = 4000
"""Maximum number of coordinates of all classes for the full H; above it, only the block of each class is formed."""
MAX_FACTORIZED = 200
"""Maximum number of coordinates of all classes for which Newton's steps factorize H."""
PRECONDITIONER_MAX_PRODUCTS = 15
"""Number of products in a step above which the next step computes a new preconditioner."""
MAX_PRODUCTS = 300
"""Maximum number of products with the Hessian per step."""
MAX_HALVINGS = 40
"""Maximum number of halvings of a step length."""
STEP_RTOL = 1e-10
"""Length of a step, relative to the weights, below which the step may consist of rounding errors."""
MAX_STEP_ERROR = 0.1
"""Largest relative error of a step."""
CHOLESKY_JITTER = 1e-8
"""Fraction of its diagonal added to a matrix that is not positive definite because of rounding."""


def newton_mstep(
    likelihood: CandidateLikelihood, coordinates: Coordinates, initial: Floats, *, tol: float, max_iter: int
) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda w^(c); return the (K-1, D) weights, and whether it converged.

    A step of the relative length delta, in the metric of H, leaves an error of about delta^2. The relative error of the
    step itself is at most delta, so that the last step is the first with delta <= 0.1 sqrt(tol). If H is not positive
    definite, as on a saddle, the length of a step is about the remaining error; there the last step has
    delta <= 0.1 tol.
    """
    features, z = coordinates.features, coordinates.to_internal(initial)
    scores, prior_gradient = np.asarray(features @ z.T), coordinates.prior_matvec(z)
    at = likelihood.evaluate(scores)
    value = at.log_likelihood - 0.5 * float((z * prior_gradient).sum())
    size = _size(likelihood, at, scores, z, prior_gradient)
    preconditioner, n_products = None, 0
    average_inseparable = _inseparable_classes(likelihood)
    for _ in range(max_iter):
        gradient = np.asarray((features.T @ likelihood.gradient(at)).T) - prior_gradient
        if z.size <= MAX_FACTORIZED:
            step, exact = _factorized_step(likelihood, coordinates, at, gradient)
        else:
            if preconditioner is None or n_products > PRECONDITIONER_MAX_PRODUCTS:
                preconditioner = _preconditioner(likelihood, coordinates, at)
            solved = conjugate_gradients(
                partial(_hessian_product, likelihood, coordinates, at),
                gradient,
                preconditioner,
                tol=partial(_relative_error, size),
                max_iter=MAX_PRODUCTS,
            )
            step, n_products, exact = solved.solution, solved.n_products, solved.end != "curvature"
        step = average_inseparable(step)
        score_step, prior_step = np.asarray(features @ step.T), coordinates.prior_matvec(step)
        slope, length = float((step * gradient).sum()), 1.0
        for _ in range(MAX_HALVINGS):
            new_at = likelihood.evaluate(scores + length * score_step)
            new_z = z + length * step
            new_value = new_at.log_likelihood - 0.5 * float((new_z * (prior_gradient + length * prior_step)).sum())
            if new_value >= value + 1e-4 * length * slope - 1e-12 * abs(value):
                break
            length /= 2.0
        else:
            return coordinates.from_internal(z), True  # converged up to rounding
        z, at, value = new_z, new_at, new_value
        scores, prior_gradient = scores + length * score_step, prior_gradient + length * prior_step
        size = _size(likelihood, at, scores, z, prior_gradient)
        step_tol = tol if exact else max(tol, STEP_RTOL) ** 2
        if length == 1.0 and slope <= 0.01 * step_tol * max(size, 1e-12):
            return coordinates.from_internal(z), True
    return coordinates.from_internal(z), False


def _size(
    likelihood: CandidateLikelihood, at: LikelihoodEvaluation, scores: Floats, z: Floats, prior_gradient: Floats
) -> float:
    """Return z^T H z, the square of the size |z| of the weights."""
    return float((scores * likelihood.hvp(at, scores)).sum()) + float((z * prior_gradient).sum())


def _relative_error(size: float, norm: float) -> float:
    """Return the tolerance of a step: its relative error is at most its size |s| / |z|."""
    return min(MAX_STEP_ERROR, norm / max(size, 1e-300) ** 0.5)


def _inseparable_classes(likelihood: CandidateLikelihood) -> Operator:
    """Return the function that averages a step over classes with the same evidence.

    At equal weights of such classes the objective may have a saddle, and rounding would lead away from it in an
    arbitrary direction.
    """
    _, group = np.unique(likelihood.evidence[:, :-1], axis=1, return_inverse=True)
    group = group.ravel()
    counts = np.bincount(group)
    if len(counts) == len(group):
        return lambda step: step
    mean = (group == np.arange(len(counts))[:, None]) / counts[:, None]
    return lambda step: (mean @ step)[group]


def _hessian_product(
    likelihood: CandidateLikelihood, coordinates: Coordinates, at: LikelihoodEvaluation, direction: Floats
) -> Floats:
    product = likelihood.hvp(at, np.asarray(coordinates.features @ direction.T))
    return np.asarray((coordinates.features.T @ product).T) + coordinates.prior_matvec(direction)


def _factorized_step(
    likelihood: CandidateLikelihood, coordinates: Coordinates, at: LikelihoodEvaluation, gradient: Floats
) -> tuple[Floats, bool]:
    """Return the step, and whether it is Newton's; if H is not positive definite, its convex part replaces it."""
    for convex in (False, True):
        factor = try_cholesky(full_hessian(coordinates, likelihood.curvatures(at, convex=convex)))
        if factor is not None:
            step: Floats = scipy.linalg.cho_solve((factor, True), gradient.ravel(), check_finite=False)
            return step.reshape(gradient.shape), not convex
    return _preconditioner(likelihood, coordinates, at)(gradient), False


def _preconditioner(likelihood: CandidateLikelihood, coordinates: Coordinates, at: LikelihoodEvaluation) -> Operator:
    n_vectors = coordinates.prior.n_vectors
    curvature = likelihood.row_weight * likelihood.trace_curvature(at) / n_vectors
    return shared_solver(weighted_gram(coordinates.features, curvature), coordinates.precision, n_vectors)


def shared_solver(gram: Floats, precision: Floats, n_vectors: int) -> Operator:
    """Return a solver for (I - 1 1^T / K) kron G + I kron Lambda, with (K-1, size) targets.

    I - 1 1^T / K over the K-1 classes has the eigenvalue 1/K along 1, and 1 across.
    """
    along, across = (_jittered_cholesky(matrix + precision) for matrix in (gram / (n_vectors + 1), gram))

    def solve(target: Floats) -> Floats:
        mean = target.mean(axis=0)
        solved: Floats = scipy.linalg.cho_solve((across, True), (target - mean).T, check_finite=False).T
        return solved + scipy.linalg.cho_solve((along, True), mean, check_finite=False)

    return solve


# -- the Hessian ----------------------------------------------------------------------------------------------------


def full_hessian(coordinates: Coordinates, curvatures: Floats) -> Floats:
    """Return H = Lambda + sum_i C_i kron x_i x_i^T, ((K-1) size,) * 2, from (m, K-1, K-1) curvatures."""
    r, n_vectors, features = len(coordinates.precision), coordinates.prior.n_vectors, coordinates.features
    hessian = np.kron(np.eye(n_vectors), coordinates.precision)
    for c in range(n_vectors):
        for k in range(c, n_vectors):
            block = to_dense(features.T @ scale_rows(features, curvatures[:, c, k]))
            hessian[c * r : (c + 1) * r, k * r : (k + 1) * r] += block
            if k > c:
                hessian[k * r : (k + 1) * r, c * r : (c + 1) * r] = block.T
    return hessian


def weighted_gram(rows: Any, weights: Floats) -> Floats:
    """Return sum_i v_i x_i x_i^T, for nonnegative weights."""
    scaled = scale_rows(rows, np.sqrt(weights))
    return to_dense(scaled.T @ scaled)  # a product of an array with itself takes half the work


def _jittered_cholesky(matrix: Floats) -> Floats:
    """Return the lower Cholesky factor of a positive semi-definite matrix, with a jitter if it needs one."""
    factor = try_cholesky(matrix)
    jitter = CHOLESKY_JITTER * matrix.diagonal()
    return scipy.linalg.cholesky(matrix + np.diag(jitter), lower=True) if factor is None else factor


def try_cholesky(matrix: Floats) -> Floats | None:
    """Return the lower Cholesky factor, or None if the matrix is not positive definite."""
    try:
        return scipy.linalg.cholesky(matrix, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
