"""Evidence log q(Y|X) of Gaussian processes on candidate sets, by Laplace's approximation, and its gradient.

With F the mode, A = K^-1 F = q - pi, and the positive W = diag pi - pi pi^T in the determinant,

    log q(Y|X) = Psi(F) - 1/2 log |I + K W|

(Rasmussen & Williams 2006, equation 3.44). A hyperparameter theta changes it in two ways. At a fixed F it does so by

    1/2 sum_k a_k^T dK_k a_k - 1/2 sum_k tr(M_kk dK_k),     M = (K + W^-1)^-1,

and through F, on which W depends: dF = (I + K W_true)^-1 dK A, with the full Hessian, while Psi is at its maximum.
(With W in place of W_true, the gradient would be wrong at finite sharpness.) All of this is linear in dK, so that one
matrix per class suffices for any number of hyperparameters. The cost is about 3 K n^3 operations.

Since E_k (K_k + D_k^-1) = I, the products E_k K_k = I - E_k D_k^-1 cost nothing. With R R^T = sum_k E_k and
V_k = R^-1 E_k, which M_kk = E_k - V_k^T V_k needs in any case, the covariances of a row's latents under the posterior
are

    Sigma_kl = [k = l] (1/pi_k - E_k,ii / pi_k^2) + t_k^T t_l,     t_k = (R^-1 - V_k D_k^-1)_i,

and sum_k pi_k t_k = (R^-1 - R^T)_i, since the probabilities of a row sum to 1.
"""

from collections.abc import Sequence

import numpy as np
from array_api_compat import array_namespace, device

from oneof.solvers.laplace.cholesky_factors import CholeskyFactors, solve_lower
from oneof.solvers.laplace.mode import LaplaceMode
from oneof.solvers.laplace.model import GramPrior, LikelihoodDerivatives
from oneof.solvers.linear import conjugate_gradients, inner_product
from oneof.typing import Array

ADJOINT_RTOL = 1e-11
"""Relative residual norm at which the iterations of the adjoint system stop."""
MAX_CG_ITER = 500
"""Maximum number of conjugate gradient iterations."""


def log_evidence(prior: GramPrior, mode: LaplaceMode, factors: CholeskyFactors | None = None) -> float:
    """Return log q(Y|X).

    Parameters
    ----------
    prior : GramPrior
        Prior over n rows.
    mode : LaplaceMode
        Result of `find_mode` for this prior.
    factors : CholeskyFactors, optional
        Factors at the mode; the default computes them.
    """
    if factors is None:
        factors = CholeskyFactors.from_proba(prior, mode.derivatives.proba)
    return mode.objective_path[-1] - 0.5 * factors.log_det


def evidence_gradient(
    prior: GramPrior, mode: LaplaceMode, factors: CholeskyFactors, gram_gradients: Array | Sequence[Array]
) -> Array:
    """Return the derivatives of log q(Y|X), (p,), which are correct if the mode is a maximum of Psi.

    Parameters
    ----------
    prior : GramPrior
        Prior over n rows.
    mode : LaplaceMode
        Result of `find_mode` for this prior, to a small tolerance.
    factors : CholeskyFactors
        Factors at the mode.
    gram_gradients : array of shape (n, n, p), or K arrays of shape (n, n, p_k)
        dK/dtheta_j of the kernel that all classes share, or of the kernel of each class.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the derivative of the mode by theta is undefined because the Hessian of Psi is singular.
    """
    xp = array_namespace(mode.latents)
    A, pi, root = mode.coefficients, mode.derivatives.proba, factors.root
    inverse = solve_lower(root, xp.eye(root.shape[0], dtype=root.dtype, device=device(root)))
    difference = 2.0 * (root.mT - inverse)
    total = A @ A.mT  # sum_k a_k a_k^T - M_kk
    explicit_by_class, cotangents = [], []
    for k, E in enumerate(factors.E):
        V = solve_lower(root, E)
        if prior.is_shared:
            total -= E
            total += V.mT @ V
        else:
            explicit = 0.5 * (A[:, k][:, None] * A[:, k][None, :] - E + V.mT @ V)
            explicit_by_class.append(_contract(explicit, gram_gradients[k]))
        cotangents.append(_vjp_determinant(pi[:, k], xp.linalg.diagonal(E), V, inverse, difference))
    cotangent = xp.stack(cotangents, axis=1)
    gradient = -0.5 * (cotangent - pi * xp.sum(cotangent, axis=1, keepdims=True))
    U = _solve_adjoint(prior, mode.derivatives, factors, gradient)
    if prior.is_shared:
        return _contract(0.5 * total + U @ A.mT, gram_gradients)
    implicit = [_contract(U[:, k][:, None] * A[:, k][None, :], gram_gradients[k]) for k in range(A.shape[1])]
    return xp.concat(explicit_by_class) + xp.concat(implicit)


def _vjp_determinant(pi: Array, diagonal: Array, V: Array, inverse: Array, difference: Array) -> Array:
    """Return pi_k (Sigma_kk - 2 sum_l Sigma_kl pi_l), (n,): pi_k times the derivative of log |I + K W| by pi_k.

    V, which is overwritten, becomes -t_k, and `difference` is 2 (R^T - R^-1). Probabilities near the smallest number,
    whose reciprocal might overflow, have a derivative of 0.
    """
    xp = array_namespace(pi)
    smallest = float(xp.finfo(pi.dtype).smallest_normal) ** 0.9
    positive = xp.where(pi > smallest, pi, smallest)
    V /= positive[None, :]
    V -= inverse
    product = (1.0 - diagonal / positive) * (1.0 - 2.0 * pi)
    product += positive * (xp.vecdot(V, V, axis=0) - xp.vecdot(V, difference, axis=0))
    return xp.where(pi > smallest, product, 0.0)


def _solve_adjoint(
    prior: GramPrior, hessian: LikelihoodDerivatives, factors: CholeskyFactors, gradient: Array
) -> Array:
    """Return U with (I + W_true K) U = gradient.

    The inner product of the conjugate gradients is <A, B> = sum A (K B), so that a search direction is a pair of
    coefficients V and their image K V. The preconditioner is I - M K, the inverse of I + W K. At infinite sharpness
    they converge in one iteration.
    """
    xp = array_namespace(gradient)

    def precondition(residual: Array) -> Array:
        solved = residual - factors.matvec(prior.matvec(residual))
        return xp.stack([solved, prior.matvec(solved)])

    result = conjugate_gradients(
        lambda pair: pair[0] + hessian.hvp(pair[1]),
        gradient,
        precondition,
        tol=ADJOINT_RTOL,
        max_iter=MAX_CG_ITER,
        inner=lambda residual, pair: inner_product(residual, pair[1]),
    )
    if result.end != "converged":
        raise np.linalg.LinAlgError("the Hessian of Psi is singular or indefinite at the mode")
    return gradient - hessian.hvp(result.solution[1])


def _contract(weights: Array, gradients: Array) -> Array:
    """Return sum_ij weights_ij dK_ij / dtheta for each theta."""
    xp = array_namespace(weights)
    flat = xp.reshape(weights, (-1,))
    products = [xp.vecdot(flat, xp.reshape(gradients[:, :, j], (-1,))) for j in range(gradients.shape[2])]
    return xp.stack(products) if products else xp.zeros(0, dtype=weights.dtype, device=device(weights))
