"""The published form of the Laplace approximation: a Cholesky factor a class (Rasmussen & Williams, section 3.5).

With D_k = diag pi_.k, W = D - Pi Pi^T and E_k = D_k^1/2 B_k^-1 D_k^1/2, B_k = I + D_k^1/2 K_k D_k^1/2,

    (K + W^-1)^-1 = E - E J (sum_k E_k)^-1 J^T E,     log |I + K W| = sum_k log |B_k| + log |sum_k E_k|.

(The book's algorithm 3.3 leaves the last term out; its equation 3.44 has it.) The cost is K n^3 operations and K n^2
numbers.
"""

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, is_numpy_array, is_torch_array
from scipy.linalg import cholesky, lapack, solve_triangular

from oneof.solvers.laplace.prior import GramPrior
from oneof.typing import Array


@dataclass(frozen=True)
class Factors:
    """(K + W^-1)^-1, in parts."""

    E: list[Array]
    """K matrices of shape (n, n)."""
    root: Array
    """Lower triangular: of sum_k E_k."""
    log_det: float
    """log |I + K W|."""

    @classmethod
    def of(cls, prior: GramPrior, shares: Array) -> "Factors":
        """Work them out from the probabilities pi, (n, K)."""
        xp = array_namespace(shares)
        blocks, total, log_det = [], None, 0.0
        for k in range(shares.shape[1]):
            scale = xp.sqrt(shares[:, k])
            B = prior.of_class(k) * scale[:, None] * scale[None, :]
            B += xp.eye(B.shape[0], dtype=B.dtype, device=B.device)
            inverse, log_det_k = inverse_and_log_det(B)
            inverse *= scale[:, None]
            inverse *= scale[None, :]
            blocks.append(inverse)
            total = xp.asarray(inverse, copy=True) if total is None else total + inverse
            log_det += log_det_k
        root = lower_root(total)
        log_det += 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(root))))
        return cls(blocks, root, log_det)

    def times(self, V: Array) -> Array:
        """Return (K + W^-1)^-1 v, for v of shape (n, K)."""
        xp = array_namespace(V)
        turned = xp.stack([E @ V[:, k] for k, E in enumerate(self.E)], axis=1)
        shared = solve_lower(self.root, solve_lower(self.root, xp.sum(turned, axis=1)[:, None]), transposed=True)
        return turned - xp.stack([(E @ shared)[:, 0] for E in self.E], axis=1)


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
        diagonal = np.diagonal(inverse).copy()
        inverse += inverse.T  # above the diagonal LAPACK left zeros
        np.fill_diagonal(inverse, diagonal)
        return inverse.T, log_det
    xp = array_namespace(B)
    root = lower_root(B)
    log_det = 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(root))))
    if is_torch_array(B):
        import torch

        return torch.cholesky_inverse(root), log_det
    return xp.linalg.inv(B), log_det


def lower_root(matrix: Array) -> Array:
    """Return the lower triangular Cholesky factor, or raise NumPy's LinAlgError."""
    if is_numpy_array(matrix):
        return cholesky(matrix, lower=True, check_finite=False)
    try:
        return array_namespace(matrix).linalg.cholesky(matrix)
    except RuntimeError as error:  # torch's LinAlgError is one
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
