"""The M-step in one block, by Bohning's bound (1992).

-B is below the Hessian of l everywhere,

    B = 1/2 (I - 1 1^T / K) kron X^T V X,        w <- w + (B + Lambda)^-1 (g - Lambda w),

g the gradient of l. Each step raises the objective. For candidate sets g is that of the responsibilities, and the step
one of the generalized EM algorithm, as B bounds the likelihood of whatever they are.

Where all classes have one Lambda, two D x D factorizations are all, by the eigenvalues of I - 1 1^T / K. Otherwise
B + Lambda is factorized as a whole, or where that is too large the bound is relaxed to 1/2 I kron X^T V X, which is the
class-by-class one.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg

from oneof.solvers.graph_logistic.curvature import MOST_COORDINATES, near_cholesky, weighted_gram
from oneof.solvers.graph_logistic.ending import Ending
from oneof.solvers.graph_logistic.factors import dense
from oneof.solvers.graph_logistic.newton import separate_solver, shared_solver
from oneof.solvers.graph_logistic.openings import VAGUE
from oneof.solvers.graph_logistic.prior import Prior
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.solvers.graph_logistic.terms import Precisions
from oneof.typing import Floats


def block(
    likelihood: Likelihood, prior: Prior, precisions: Precisions, start: Floats, *, tol: float, max_iter: int
) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda_c w^(c); return the (K-1, D) weights, and whether it arrived."""
    solve = _solver(likelihood, prior, precisions)
    weights, ending = start, Ending(tol)
    for _ in range(max_iter):
        at = likelihood.point(np.asarray(likelihood.features @ weights.T))
        gradient = np.asarray((likelihood.features.T @ likelihood.slopes(at)).T)
        step = solve(gradient - prior.penalized(weights, precisions))
        weights = weights + step
        moved = np.asarray(likelihood.features @ step.T)
        if ending.reached(moved, np.asarray(likelihood.features @ weights.T)):
            return weights, True
    return weights, False


def _solver(likelihood: Likelihood, prior: Prior, precisions: Precisions) -> Callable[[Floats], Floats]:
    """Factorize B + Lambda, and return what solves with it."""
    n_vectors, n_weights = prior.n_vectors, prior.n_weights
    gram = weighted_gram(likelihood.features, likelihood.row_weight / 2.0)
    matrices = [dense(prior.openings.closed(prior.matrix(precisions, c), VAGUE)) for c in range(prior.n_distinct)]

    if len(matrices) == 1:
        return shared_solver(gram, matrices[0], n_vectors)

    if n_vectors * n_weights <= MOST_COORDINATES:
        whole = np.kron(np.eye(n_vectors) - 1.0 / (n_vectors + 1), gram)
        whole += scipy.linalg.block_diag(*matrices)
        root = near_cholesky(whole), True  # a larger matrix bounds as well
        return lambda target: scipy.linalg.cho_solve(root, target.ravel(), check_finite=False).reshape(target.shape)
    return separate_solver(gram + matrix for matrix in matrices)
