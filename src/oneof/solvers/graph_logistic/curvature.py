"""Minus the Hessian of the penalized likelihood in the coordinates of a space: whole, or its block of each class."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from oneof.solvers.graph_logistic.spaces import Space
from oneof.typing import Floats

MOST_COORDINATES = 4000
"""Coordinates of all classes together up to which H is formed; beyond, only the block of each class is."""


def is_whole(space: Space) -> bool:
    """Whether H is formed as a whole."""
    return space.size * space.prior.n_vectors <= MOST_COORDINATES


def whole_hessian(space: Space, curvatures: Floats) -> Floats:
    """Return H = Lambda + sum_i C_i kron x_i x_i^T, ((K-1) size,) * 2, of (m, K-1, K-1) curvatures."""
    r, n_vectors = space.size, space.prior.n_vectors
    hessian = np.zeros((n_vectors * r, n_vectors * r))
    for c in range(n_vectors):
        at = slice(c * r, (c + 1) * r)
        left = space.features_of_class(c)
        hessian[at, at] = space.prior_of_class(c)
        for k in range(c, n_vectors):
            block = _weighted_product(left, curvatures[:, c, k], space.features_of_class(k))
            hessian[at, k * r : (k + 1) * r] += block
            if k > c:
                hessian[k * r : (k + 1) * r, at] = block.T
    return hessian


def class_hessian(space: Space, curvature: Floats, c: int) -> Floats:
    """Return the block of H of a class, (size, size), from its (m,) curvature."""
    own = space.features_of_class(c)
    return space.prior_of_class(c) + weighted_gram(own, curvature)


def weighted_gram(rows: Any, weights: Floats) -> Floats:
    """Return sum_i v_i x_i x_i^T, with weights of at least 0."""
    roots = np.sqrt(weights)
    if sp.issparse(rows):
        scaled = sp.dia_array((roots[None], 0), shape=(len(roots),) * 2) @ rows
        return (scaled.T @ scaled).toarray()
    scaled = roots[:, None] * rows
    return scaled.T @ scaled  # of one array: half the work


def _weighted_product(left: Any, weights: Floats, right: Any) -> Floats:
    if sp.issparse(right):
        return (left.T @ sp.dia_array((weights[None], 0), shape=(len(weights),) * 2) @ right).toarray()
    return left.T @ (weights[:, None] * right)


NEARLY = 1e-8
"""Share of its diagonal added to a matrix that rounding has left without a factor."""


def near_cholesky(matrix: Floats) -> Floats:
    """Return the lower Cholesky factor of a positive semi-definite matrix, or of one a little larger."""
    factor = cholesky(matrix)
    if factor is None:
        return scipy.linalg.cholesky(matrix + np.diag(NEARLY * matrix.diagonal()), lower=True, check_finite=False)
    return factor


def cholesky(matrix: Floats) -> Floats | None:
    """Return the lower Cholesky factor, or None where the matrix is not positive definite."""
    try:
        return scipy.linalg.cholesky(matrix, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
