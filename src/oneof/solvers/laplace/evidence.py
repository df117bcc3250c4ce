"""The evidence log q(Y|X) of Gaussian processes on candidate sets, by Laplace's approximation, and its gradient.

With F the mode, A = K^-1 F = q - pi, and the positive W = diag pi - pi pi^T in the determinant,

    log q(Y|X) = Psi(F) - 1/2 log |I + K W|

(Rasmussen & Williams 2006, equation 3.44). A hyper-parameter theta moves it in two ways. At a fixed F by

    1/2 sum_k a_k^T dK_k a_k - 1/2 sum_k tr(M_kk dK_k),     M = (K + W^-1)^-1,

and through F, on which W depends: dF = (I + K W_true)^-1 dK A, with the whole Hessian (with W in its place the gradient
would be wrong at finite sharpness), while Psi is at its maximum. All of it is linear in dK, so that one matrix a class
serves however many hyper-parameters there are. The cost is about 3 K n^3 operations.

Since E_k (K_k + D_k^-1) = I, the products E_k K_k = I - E_k D_k^-1 cost nothing. With R R^T = sum_k E_k and
V_k = R^-1 E_k, which M_kk = E_k - V_k^T V_k asks for anyway, the covariances of a row's latents under the posterior are

    Sigma_kl = [k = l] (1/pi_k - E_k,ii / pi_k^2) + t_k^T t_l,     t_k = (R^-1 - V_k D_k^-1)_i,

and sum_k pi_k t_k = (R^-1 - R^T)_i, since the probabilities of a row sum to 1.
"""

from collections.abc import Sequence

import numpy as np
from array_api_compat import array_namespace, device

from oneof.solvers.laplace.factors import Factors, solve_lower
from oneof.solvers.laplace.likelihood import Shares
from oneof.solvers.laplace.mode import LaplaceMode
from oneof.solvers.laplace.prior import GramPrior
from oneof.typing import Array

SOLVE_TOLERANCE = 1e-11
MOST_PRODUCTS = 500


def evidence(prior: GramPrior, mode: LaplaceMode, factors: Factors | None = None) -> float:
    """Return log q(Y|X).

    Parameters
    ----------
    prior : GramPrior
        Over n rows.
    mode : LaplaceMode
        What `find_mode` found for it.
    factors : Factors, optional
        At the mode, where they are at hand.
    """
    if factors is None:
        factors = Factors.of(prior, mode.shares.overall)
    return mode.objective[-1] - 0.5 * factors.log_det


def evidence_gradient(
    prior: GramPrior, mode: LaplaceMode, factors: Factors, gram_gradients: Array | Sequence[Array]
) -> Array:
    """Return the derivatives of log q(Y|X), (p,); they are right where the mode is a maximum of Psi.

    Parameters
    ----------
    prior : GramPrior
        Over n rows.
    mode : LaplaceMode
        What `find_mode` found for it, to a small tolerance.
    factors : Factors
        At the mode.
    gram_gradients : array of shape (n, n, p), or K arrays of shape (n, n, p_k)
        dK/dtheta_j: of the kernel that all classes share, or of each class's own.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the mode's move with theta is undefined: the Hessian of Psi is singular.
    """
    xp = array_namespace(mode.latents)
    A, pi, root = mode.coefficients, mode.shares.overall, factors.root
    inverse = solve_lower(root, xp.eye(root.shape[0], dtype=root.dtype, device=device(root)))
    whole: Array = 0.0
    parts, pulls = [], []
    for k, E in enumerate(factors.E):
        V = solve_lower(root, E)
        explicit = 0.5 * (A[:, k][:, None] * A[:, k][None, :] - E + V.mT @ V)
        if prior.is_shared:
            whole += explicit
        else:
            parts.append(_contract(explicit, gram_gradients[k]))
        pulls.append(_pull(pi[:, k], xp.linalg.diagonal(E), V, root, inverse))
    pull = xp.stack(pulls, axis=1)
    slopes = -0.5 * (pull - pi * xp.sum(pull, axis=1, keepdims=True))
    U = _adjoint(prior, mode.shares, factors, slopes)
    if prior.is_shared:
        return _contract(whole + U @ A.mT, gram_gradients)
    implicit = [_contract(U[:, k][:, None] * A[:, k][None, :], gram_gradients[k]) for k in range(A.shape[1])]
    return xp.concat(parts) + xp.concat(implicit)


def _pull(pi: Array, diagonal: Array, V: Array, root: Array, inverse: Array) -> Array:
    """Return pi_k (Sigma_kk - 2 sum_l Sigma_kl pi_l), (n,): pi_k times the derivative of log |I + K W| by pi_k.

    1/pi and t are scaled by the roots of the probabilities, however small, so that no digits are lost.
    """
    xp = array_namespace(pi)
    least = float(xp.finfo(pi.dtype).smallest_normal)
    scale = xp.sqrt(xp.where(pi > least, pi, least))
    T = inverse * scale[None, :] - V / scale[None, :]
    H = (inverse - root.mT) * scale[None, :]
    pull = (1.0 - diagonal / scale**2) * (1.0 - 2.0 * pi) + xp.sum(T * (T - 2.0 * H), axis=0)
    return xp.where(pi > least, pull, 0.0)


def _adjoint(prior: GramPrior, shares: Shares, factors: Factors, slopes: Array) -> Array:
    """Return U with (I + W_true K) U = slopes.

    By conjugate gradients in the inner product <A, B> = sum A (K B), preconditioned by I - M K, the inverse of I + W K:
    at infinite sharpness the first step is the last.
    """
    xp = array_namespace(slopes)
    ahead, residual = xp.zeros_like(slopes), slopes  # ahead: K U
    image = prior.product(residual)
    first = float(xp.sum(residual * image))
    direction = turned = ahead  # turned: K direction
    square, before = first, np.inf
    for _ in range(MOST_PRODUCTS):
        if square <= SOLVE_TOLERANCE**2 * first:
            return slopes - shares.bends(ahead)
        eased = residual - factors.times(image)
        now = float(xp.sum(eased * image))
        direction = eased + now / before * direction
        turned = prior.product(eased) + now / before * turned
        before = now
        bent = direction + shares.bends(turned)
        curvature = float(xp.sum(turned * bent))
        if curvature == 0.0:
            break
        ahead = ahead + now / curvature * turned
        residual = residual - now / curvature * bent
        image = prior.product(residual)
        square = float(xp.sum(residual * image))
    raise np.linalg.LinAlgError("the Hessian of Psi is singular at the mode")


def _contract(weights: Array, gradients: Array) -> Array:
    """Return sum_ij weights_ij dK_ij / dtheta for each theta."""
    return array_namespace(weights).tensordot(weights, gradients, axes=2)
