"""Cholesky factors of the Laplace approximation, one for each class (Rasmussen & Williams, section 3.5).

With D_k = diag pi_.k, W = D - Pi Pi^T and E_k = D_k^1/2 B_k^-1 D_k^1/2, B_k = I + D_k^1/2 K_k D_k^1/2,

    (K + W^-1)^-1 = E - E J (sum_k E_k)^-1 J^T E,     log |I + K W| = sum_k log |B_k| + log |sum_k E_k|.

(The book's algorithm 3.3 omits the last term; its equation 3.44 includes it.) The cost is K n^3 operations and K n^2
numbers.

This module also handles matrices that have no Cholesky factor: `min_jitter` for kernels that are not known to be
positive semi-definite, and `overflow_as_input_error` for kernels whose variance exceeds the floating-point range.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array
from scipy.linalg import cholesky, lapack, solve_triangular

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.solvers.laplace.model import GramPrior
from oneof.typing import Array, Floats

JITTERS = (1e-10, 1e-8, 1e-6)
"""Values added to the diagonal, as fractions of its mean, until there is a Cholesky factor."""
SYMMETRY_TOL = 1e-7
"""Maximum asymmetry of a Gram matrix, as a fraction of its mean variance."""
MAX_VARIANCE = 1e12
"""Maximum prior variance. Above it rounding errors dominate the likelihood, whose latents differ by about 1."""
TOO_LARGE = "the kernel overflows the floating-point range. Scale the features, or lower the kernel's variance."


@dataclass(frozen=True)
class CholeskyFactors:
    """Components of (K + W^-1)^-1."""

    E: list[Array]
    """K matrices of shape (n, n)."""
    root: Array
    """Lower triangular Cholesky factor of sum_k E_k."""
    log_det: float
    """log |I + K W|."""

    @classmethod
    def from_proba(cls, prior: GramPrior, proba: Array) -> "CholeskyFactors":
        """Compute the factors from the class probabilities pi, (n, K)."""
        xp = array_namespace(proba)
        blocks: list[Array] = []
        log_det = 0.0
        identity = xp.eye(proba.shape[0], dtype=proba.dtype, device=device(proba))
        total = xp.zeros_like(identity)
        for k in range(proba.shape[1]):  # in place, since new matrices would take as long as the factorizations
            scale = xp.sqrt(proba[:, k])
            B = xp.asarray(prior.of_class(k), copy=True)
            B *= scale[:, None]
            B *= scale[None, :]
            B += identity
            inverse, log_det_k = inverse_and_log_det(B)
            inverse *= scale[:, None]
            inverse *= scale[None, :]
            blocks.append(inverse)
            total += inverse
            log_det += log_det_k
        root = lower_root(total)
        log_det += 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(root))))
        return cls(blocks, root, log_det)

    def matvec(self, V: Array) -> Array:
        """Return (K + W^-1)^-1 v, for v of shape (n, K)."""
        xp = array_namespace(V)
        product = xp.stack([E @ V[:, k] for k, E in enumerate(self.E)], axis=1)
        shared = solve_lower(self.root, solve_lower(self.root, xp.sum(product, axis=1)[:, None]), transposed=True)
        return product - xp.stack([(E @ shared)[:, 0] for E in self.E], axis=1)


def inverse_and_log_det(B: Array) -> tuple[Array, float]:
    """Return the inverse of a positive definite matrix, which is overwritten, and the logarithm of its determinant."""
    if B.shape[0] == 0:
        return B, 0.0
    if is_numpy_array(B):
        potrf, potri = lapack.get_lapack_funcs(("potrf", "potri"), (B,))
        root, failed = potrf(B.T, lower=True, overwrite_a=True, clean=True)  # B.T has LAPACK's order, and equals B
        if failed:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        log_det = 2.0 * float(np.log(np.diagonal(root)).sum())
        inverse, _ = potri(root, lower=True, overwrite_c=True)
        mirror_upper_triangle(inverse.T)
        return inverse.T, log_det
    xp = array_namespace(B)
    root = lower_root(B)
    log_det = 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(root))))
    if is_torch_array(B):
        import torch

        return torch.cholesky_inverse(root), log_det
    return xp.linalg.inv(B), log_det


@compiled
def mirror_upper_triangle(matrix: Floats) -> None:
    """Copy the upper triangle of a square matrix to the lower one, in blocks that fit the caches."""
    n = matrix.shape[0]
    for i0 in range(0, n, 32):
        for j0 in range(i0, n, 32):
            for i in range(i0, min(i0 + 32, n)):
                for j in range(max(j0, i + 1), min(j0 + 32, n)):
                    matrix[j, i] = matrix[i, j]


def lower_root(matrix: Array) -> Array:
    """Return the lower triangular Cholesky factor, or raise NumPy's LinAlgError."""
    if is_numpy_array(matrix):
        return cholesky(matrix, lower=True, check_finite=False)
    try:
        return array_namespace(matrix).linalg.cholesky(matrix)
    except RuntimeError as error:  # torch's LinAlgError is a RuntimeError
        if type(error).__name__ != "LinAlgError":
            raise
        raise np.linalg.LinAlgError(str(error)) from error


def solve_lower(root: Array, right: Array, *, transposed: bool = False) -> Array:
    """Return root^-1 right, or root^-T right, for a lower triangular root."""
    if is_numpy_array(root):
        return solve_triangular(root, right, lower=True, trans=int(transposed), check_finite=False)
    if is_torch_array(root):
        import torch

        return torch.linalg.solve_triangular(root.mT if transposed else root, right, upper=transposed)
    return array_namespace(root).linalg.solve(root.mT if transposed else root, right)


def min_jitter(gram: Array) -> float:
    """Return the minimum jitter, as a fraction of the mean variance, with which a Gram matrix has a Cholesky factor.

    The first value of `JITTERS` is within the rounding errors and is returned as 0.

    Raises
    ------
    InputError
        If the matrix is not symmetric, or no jitter is sufficient.
    """
    xp = array_namespace(gram)
    scale = float(xp.mean(xp.abs(xp.linalg.diagonal(gram))))
    if float(xp.max(xp.abs(gram - gram.mT))) > SYMMETRY_TOL * max(scale, 1e-300):
        raise InputError("`kernel` must be symmetric: k(x, y) and k(y, x) differ.")
    for jitter in JITTERS:
        shifted = gram + jitter * scale * xp.eye(gram.shape[0], dtype=gram.dtype, device=gram.device)
        try:
            root = lower_root(shifted)
        except np.linalg.LinAlgError:
            continue
        if bool(xp.all(xp.isfinite(root))):
            return 0.0 if jitter == JITTERS[0] else jitter
    raise InputError(
        "`kernel` must be positive semi-definite; its Gram matrix has no Cholesky factor even with a jitter of "
        f"{JITTERS[-1]:g} of its mean variance. Choose another kernel (ExpSineSquared takes a single feature only)."
    )


@contextlib.contextmanager
def overflow_as_input_error() -> Iterator[None]:
    """Raise an InputError that explains the cause if a Cholesky factorization fails."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise InputError(TOO_LARGE) from error
