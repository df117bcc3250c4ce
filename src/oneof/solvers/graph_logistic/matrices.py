"""The matrices of a prior on weights: smooth along a graph, small, and in agreement between views."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.graphs import laplacian
from oneof.typing import FeatureMatrix, Floats

_ROUNDING = 1e-13
"""Of a feature's squares, times the weights of their links: a sum of changes along links below it is 0."""
_DENSE = 0.1  # sparse products of which a larger share is not 0 are faster as dense matrices


def smoothness(features: FeatureMatrix, affinity: sp.csr_array, weight: Floats) -> Any:
    """Return A = X^T L X with L the Laplacian of the links w_i w_j W_ij: w^T A w is how much scores change along them.

    A row of weight w stands for w equal rows. Between these nothing changes, and each of them has the links of the one.

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n, p)
    affinity : csr_array of shape (n, n)
    weight : ndarray of shape (n,)

    Returns
    -------
    ndarray or csr_array of shape (p, p)
        Symmetric, positive semi-definite; of lower rank than p where there are fewer rows less connected parts.
    """
    diagonal = sp.diags_array(weight, format="csr")
    L = laplacian(diagonal @ affinity @ diagonal) if (weight != 1).any() else laplacian(affinity)
    A = features.T @ (L @ features)
    # Rounding leaves something of features that are the same along all links, as a constant is: they have exactly 0.
    squares = np.asarray((features * features).T @ L.diagonal()).ravel()
    return symmetric(_without(A, A.diagonal() <= _ROUNDING * squares))


def disagreement(left: FeatureMatrix, right: FeatureMatrix, weight: Floats) -> tuple[Any, Any, Any]:
    """Return the blocks C_ll, C_lr and C_rr of sum_i w_i [l_i, -r_i] [l_i, -r_i]^T over rows that have two views."""
    root = np.sqrt(weight)
    L, R = _weighted(left, root), _weighted(right, root)
    return symmetric(L.T @ L), plain_or_dense(-(L.T @ R)), symmetric(R.T @ R)


def blocks(parts: dict[tuple[int, int], Any], sizes: list[int]) -> Any:
    """Return a symmetric matrix of blocks, of which those above the diagonal are given, and the absent ones are 0."""
    if any(sp.issparse(part) for part in parts.values()) or len(parts) < len(sizes):
        grid: list[list[Any]] = [[None] * len(sizes) for _ in sizes]
        for place, size in enumerate(sizes):
            grid[place][place] = sp.csr_array((size, size))
        for (i, j), part in parts.items():
            grid[i][j] = sp.csr_array(part)
            if i != j:
                grid[j][i] = sp.csr_array(part.T)
        return plain_or_dense(sp.csr_array(sp.block_array(grid)))
    out = np.zeros((sum(sizes), sum(sizes)))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for (i, j), part in parts.items():
        here, there = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        out[here, there] = part
        out[there, here] = part.T
    return out


def symmetric(matrix: Any) -> Any:
    """Return the symmetric part, to which rounding has added another."""
    return plain_or_dense((matrix + matrix.T) / 2)


def plain_or_dense(matrix: Any) -> Any:
    """Return a sparse matrix as it is if most of it is 0, and else dense."""
    if not sp.issparse(matrix):
        return np.asarray(matrix)
    return matrix.toarray() if matrix.nnz > _DENSE * max(np.prod(matrix.shape), 1) else sp.csr_array(matrix)


def _without(matrix: Any, dropped: Any) -> Any:
    """Return a matrix with rows and columns of 0 in some places."""
    if not dropped.any():
        return matrix
    if sp.issparse(matrix):
        kept = sp.diags_array((~dropped).astype(np.float64), format="csr")
        out = sp.csr_array(kept @ matrix @ kept)
        out.eliminate_zeros()
        return out
    matrix[dropped, :] = 0.0
    matrix[:, dropped] = 0.0
    return matrix


def _weighted(rows: FeatureMatrix, root: Floats) -> FeatureMatrix:
    return sp.csr_array(sp.diags_array(root) @ rows) if sp.issparse(rows) else rows * root[:, None]
