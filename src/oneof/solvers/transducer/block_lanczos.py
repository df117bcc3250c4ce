"""Smallest eigenpairs of a large sparse symmetric matrix by block Lanczos with thick restarts.

A sparse product with eight columns takes hardly longer than one with three single columns, and the orthogonalization of
a block is a product of matrices. The basis V and T = V^T A V grow by a block in each step. A full basis is replaced by
its best Ritz vectors and the last block (Wu & Simon 2000, Thick-restart Lanczos method for large symmetric eigenvalue
problems). Blocks are orthonormalized by Cholesky factors, twice.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from oneof.typing import Floats

BLOCK_SIZE = 8
"""Vectors that are multiplied together."""
MIN_VECTORS = 16
"""Number of vectors for which memory is used at least."""
BASIS_FACTOR, KEPT_FACTOR = 5, 2
"""Size of the full basis, and of that after a restart, relative to the number of vectors."""
RESIDUAL_TOL = 1e-11
"""Largest length of A v - lam v."""
MAX_RESTARTS = 100
CHECK_STEPS = 8
"""Number of steps between two checks of convergence."""
_MAX_CONDITION = 1e6
"""Largest condition number of a factor for which two factorizations give an orthonormal block."""


def block_lanczos(
    product: Callable[[Floats], Floats], start: Floats, n_vectors: int, tol: float = RESIDUAL_TOL
) -> tuple[Floats, Floats] | None:
    """Return the smallest eigenvalues in ascending order and their eigenvectors; None if the method does not converge.

    Parameters
    ----------
    product : callable
        Returns A B for B of shape (n, BLOCK_SIZE).
    start : ndarray of shape (n, BLOCK_SIZE)
        First block, of full rank. n is at least 10 times `n_vectors` and 10 times `MIN_VECTORS`.
    n_vectors : int
        d.
    tol : float
        Largest length of A v - lam v.

    Returns
    -------
    values : ndarray of shape (d,)
    vectors : ndarray of shape (n, d)
        Orthonormal columns.
    """
    b, n = BLOCK_SIZE, len(start)
    unit = max(n_vectors, MIN_VECTORS)
    capacity, n_kept = BASIS_FACTOR * unit // b * b, KEPT_FACTOR * unit // b * b
    basis, T = np.empty((capacity + b, n)), np.zeros((capacity + b, capacity + b))  # rows of the basis are vectors
    size, n_steps, n_restarts = 0, 0, 0
    try:
        basis[:b] = _orthonormalize(np.ascontiguousarray(start.T))[0]
        while n_restarts <= MAX_RESTARTS:
            end = size + b
            block = np.ascontiguousarray(product(np.ascontiguousarray(basis[size:end].T)).T)
            overlap = np.zeros((end, b))
            for _ in range(2):
                change = basis[:end] @ block.T
                block -= change.T @ basis[:end]
                overlap += change
            T[:end, size:end], T[size:end, :end] = overlap, overlap.T
            block, factor = _orthonormalize(block)
            size, n_steps = end, n_steps + 1
            is_full = size + b > capacity
            if is_full or (size >= n_vectors and n_steps % CHECK_STEPS == 0):
                values, ritz = np.linalg.eigh(0.5 * (T[:size, :size] + T[:size, :size].T))
                if np.linalg.norm(factor @ ritz[-b:, :n_vectors], axis=0).max() <= tol:
                    return values[:n_vectors], basis[:size].T @ ritz[:, :n_vectors]
            if is_full:
                _rotate(basis, ritz[:, :n_kept])
                T[...] = 0.0
                T[np.arange(n_kept), np.arange(n_kept)] = values[:n_kept]
                size, n_restarts = n_kept, n_restarts + 1
            basis[size : size + b] = block
    except LinAlgError:  # the block is rank-deficient: the basis is an invariant subspace
        return None
    return None


def _orthonormalize(block: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis of the rows of a block, Q, and R with block = R^T Q."""
    total = np.eye(len(block))
    for _ in range(2):
        factor = cholesky(block @ block.T)
        if np.linalg.cond(factor) > _MAX_CONDITION:
            raise LinAlgError
        block, total = solve_triangular(factor, block, trans=1), factor @ total
    return block, total


def _rotate(basis: Floats, ritz: Floats) -> None:
    """Replace the first vectors of the basis by their combinations, in blocks of columns to save memory."""
    for first in range(0, basis.shape[1], 4096):
        part = basis[: len(ritz), first : first + 4096]
        basis[: ritz.shape[1], first : first + 4096] = ritz.T @ part
