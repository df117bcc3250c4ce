"""Preconditioner of the Newton steps over the weights of features.

The matrix of a step is I + H, H = sum_i (W_i x phi_i phi_i^T), of size sum_k m_k, with eigenvalues over up to seven
orders of magnitude. Two approximations make its inverse affordable:

* H is estimated from a sample of the rows. Row i is drawn with a probability proportional to the size of W_i, and
  weighted by its inverse, so that the estimate is unbiased. Rows whose label is clear have W_i near 0 and are rarely
  drawn.
* The features are the principal directions of the landmarks, with quickly decreasing sizes. Only those with a large
  diagonal of H, the leading ones, are in a dense block, which is factorized. The others have their diagonal.

Conjugate gradients with this preconditioner have the same solution. It only determines the number of iterations.
"""

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from oneof.arrays import as_numpy
from oneof.solvers.laplace.cholesky_factors import lower_root, solve_lower
from oneof.solvers.laplace.model import LikelihoodDerivatives
from oneof.solvers.laplace.posterior_covariance import consecutive_slices, curvature_matrix
from oneof.typing import Array

MAX_SAMPLED_ROWS = 4096
"""Maximum number of rows from which H is estimated."""
MAX_DENSE_SIZE = 2000
"""Maximum size of the dense block, over all classes."""
MIN_SIZE = 1e-3
"""Size added to those of all rows, as a fraction of their mean, so that every row can be drawn."""
MAX_COST = 10
"""Maximum number of operations to estimate the dense block, in products with the Hessian."""
MIN_DIAGONAL = 1.0
"""Minimum diagonal of H of a leading feature."""


@dataclass(frozen=True)
class WeightPreconditioner:
    """Inverse of an approximation of I + H."""

    orders: list[Array]
    """Indices of the features of each class, (m,), by decreasing diagonal of H."""
    sizes: list[int]
    """Number of leading features of each class, r_k."""
    root: Array
    """Lower triangular Cholesky factor of the dense block, (sum_k r_k, sum_k r_k)."""
    diagonal: Array
    """Diagonal of I + H, (m, K)."""

    @classmethod
    def from_rows(cls, features: Array, derivatives: LikelihoodDerivatives) -> "WeightPreconditioner":
        """Estimate I + H with W = diag pi - pi pi^T.

        Parameters
        ----------
        features : array of shape (n, m), or (K, n, m)
        derivatives : LikelihoodDerivatives
            Derivatives of the log likelihood of the n rows.
        """
        xp = array_namespace(features)
        n, m = features.shape[-2:]
        n_classes = derivatives.proba.shape[1]
        rows, row_weights = sample_rows(xp.sum(derivatives.proba * (1.0 - derivatives.proba), axis=1))
        pi = xp.take(derivatives.proba, rows, axis=0)
        sampled = xp.take(features, rows, axis=features.ndim - 2)
        by_class = [sampled if sampled.ndim == 2 else sampled[k, ...] for k in range(n_classes)]

        def weight(k: int, j: int) -> Array:
            product = row_weights * pi[:, k] * ((1.0 if j == k else 0.0) - pi[:, j])
            return xp.astype(product, sampled.dtype, copy=False)

        diagonal = xp.stack([1.0 + (own * own).mT @ weight(k, k) for k, own in enumerate(by_class)], axis=1)
        diagonal = xp.astype(diagonal, pi.dtype, copy=False)
        orders = [xp.argsort(-diagonal[:, k], stable=True) for k in range(n_classes)]
        max_size = min(MAX_DENSE_SIZE, int((4 * MAX_COST * n * m * n_classes / rows.shape[0]) ** 0.5))
        n_large = [int(xp.sum(xp.astype(diagonal[:, k] > 1.0 + MIN_DIAGONAL, xp.int64))) for k in range(n_classes)]
        sizes = [min(max(1, size), max(1, max_size // n_classes)) for size in n_large]
        leading = [xp.take(by_class[k], orders[k][: sizes[k]], axis=1) for k in range(n_classes)]
        identity = xp.eye(sum(sizes), dtype=pi.dtype, device=device(pi))
        try:
            root = lower_root(xp.astype(curvature_matrix(leading, weight), pi.dtype) + identity)
        except np.linalg.LinAlgError:  # rounding errors of single precision exceed 1
            leading = [xp.astype(own, pi.dtype) for own in leading]
            root = lower_root(curvature_matrix(leading, weight) + identity)
        return cls(orders, sizes, root, diagonal)

    def solve(self, residual: Array) -> Array:
        """Return the solution for a residual, (m, K)."""
        xp = array_namespace(residual)
        ordered = [xp.take(residual[:, k], order) for k, order in enumerate(self.orders)]
        right = xp.concat([values[:size] for values, size in zip(ordered, self.sizes, strict=True)])
        dense = solve_lower(self.root, solve_lower(self.root, right[:, None]), transposed=True)[:, 0]
        columns = []
        for k, block in enumerate(consecutive_slices(self.sizes)):
            others = ordered[k][self.sizes[k] :] / xp.take(self.diagonal[:, k], self.orders[k][self.sizes[k] :])
            columns.append(xp.take(xp.concat([dense[block], others]), xp.argsort(self.orders[k])))
        return xp.stack(columns, axis=1)


def sample_rows(sizes: Array) -> tuple[Array, Array]:
    """Return indices of rows and their weights: a systematic sample with probabilities proportional to their sizes.

    A row that is drawn several times has the sum of its weights. With few rows, all of them have a weight of 1.
    """
    xp, n = array_namespace(sizes), sizes.shape[0]
    if n <= MAX_SAMPLED_ROWS:
        return xp.arange(n, device=device(sizes)), xp.ones_like(sizes)
    sizes = sizes + MIN_SIZE * xp.mean(sizes) + float(xp.finfo(sizes.dtype).smallest_normal)
    ends = as_numpy(xp.cumulative_sum(sizes))
    spacing = float(ends[-1]) / MAX_SAMPLED_ROWS
    drawn = np.searchsorted(ends, (np.arange(MAX_SAMPLED_ROWS) + 0.5) * spacing)
    rows, counts = np.unique(np.minimum(drawn, n - 1), return_counts=True)
    rows, counts = (xp.asarray(values, device=device(sizes)) for values in (rows, counts))
    return rows, xp.astype(counts, sizes.dtype) * spacing / xp.take(sizes, rows)
