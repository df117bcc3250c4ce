"""Preconditioner of the Newton steps over the weights of features.

The matrix of a step is I + H, H = sum_i (W_i x phi_i phi_i^T), of size sum_k m_k, whose eigenvalues may range over seven
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

from oneof.solvers.laplace.cholesky_factors import lower_root, solve_lower
from oneof.solvers.laplace.model import LikelihoodDerivatives
from oneof.solvers.laplace.posterior_covariance import consecutive_slices, curvature_matrix
from oneof.typing import Array

MAX_SAMPLED_ROWS = 8192
"""Maximum number of rows from which H is estimated."""
MAX_DENSE_SIZE = 2000
"""Maximum size of the dense block, over all classes."""
MIN_DIAGONAL = 0.1
"""Minimum diagonal of H of a leading feature."""


@dataclass(frozen=True)
class WeightPreconditioner:
    """Inverse of an approximation of I + H."""

    leading: list[Array]
    """Indices of the leading features of each class, (r_k,)."""
    root: Array
    """Lower triangular Cholesky factor of the dense block, (sum_k r_k, sum_k r_k)."""
    diagonal: Array
    """Diagonal of I + H, (m, K)."""

    @classmethod
    def from_rows(cls, features: Array, derivatives: LikelihoodDerivatives) -> "WeightPreconditioner":
        """Estimate I + H from features, (n, m) or (K, n, m), and the derivatives of n rows."""
        xp = array_namespace(features)
        n_classes = derivatives.proba.shape[1]
        rows, row_weights = sample_rows(_row_sizes(derivatives))
        pi, q = (values[rows, :] for values in (derivatives.proba, derivatives.candidate_proba))
        sampled = features[..., rows, :]
        by_class = [sampled if sampled.ndim == 2 else sampled[k, ...] for k in range(n_classes)]
        row_weights = xp.asarray(row_weights, dtype=pi.dtype, device=device(pi))

        def weight(k: int, j: int) -> Array:
            same = 1.0 if j == k else 0.0
            return xp.astype(row_weights * pi[:, k] * (same - pi[:, j]), sampled.dtype, copy=False)

        diagonal = xp.stack([1.0 + (own * own).mT @ weight(k, k) for k, own in enumerate(by_class)], axis=1)
        diagonal = xp.astype(diagonal, pi.dtype, copy=False)
        n_leading = min(MAX_DENSE_SIZE // n_classes, diagonal.shape[0])
        leading = []
        for k in range(n_classes):
            order = xp.argsort(-diagonal[:, k])[:n_leading]
            leading.append(order[: max(1, int(xp.sum(xp.astype(diagonal[order, k] > 1.0 + MIN_DIAGONAL, xp.int64))))])
        dense = curvature_matrix([own[:, leading[k]] for k, own in enumerate(by_class)], weight)
        dense = xp.astype(dense, pi.dtype, copy=False)
        index = xp.arange(dense.shape[0], device=device(dense))
        dense[index, index] += 1.0
        return cls(leading, lower_root(dense), diagonal)

    def solve(self, residual: Array) -> Array:
        """Return the solution for a residual, (m, K)."""
        xp = array_namespace(residual)
        solution = residual / self.diagonal
        right = xp.concat([residual[own, k] for k, own in enumerate(self.leading)])[:, None]
        dense = solve_lower(self.root, solve_lower(self.root, right), transposed=True)[:, 0]
        blocks = consecutive_slices([own.shape[0] for own in self.leading])
        for k, (own, block) in enumerate(zip(self.leading, blocks, strict=True)):
            solution[own, k] = dense[block]
        return solution


def _row_sizes(derivatives: LikelihoodDerivatives) -> Array:
    """Return the trace of W_i, (n,)."""
    pi = derivatives.proba
    return array_namespace(pi).sum(pi * (1.0 - pi), axis=1)


def sample_rows(sizes: Array) -> tuple[Array, np.ndarray]:
    """Return indices of rows and their weights: a systematic sample with probabilities proportional to their sizes.

    A row may be drawn several times, and then has the sum of the weights.
    """
    n = sizes.shape[0]
    xp = array_namespace(sizes)
    if n <= MAX_SAMPLED_ROWS:
        return xp.arange(n, device=device(sizes)), np.ones(n)
    values = np.asarray(sizes.cpu() if hasattr(sizes, "cpu") else sizes, dtype=np.float64)
    # A floor, so that no row is impossible
    values = values + 1e-3 * values.mean() + 1e-300
    ends = np.cumsum(values)
    points = (np.arange(MAX_SAMPLED_ROWS) + 0.5) * (ends[-1] / MAX_SAMPLED_ROWS)
    rows, counts = np.unique(np.searchsorted(ends, points), return_counts=True)
    rows = np.minimum(rows, n - 1)
    weights = counts * (ends[-1] / MAX_SAMPLED_ROWS) / values[rows]
    return xp.asarray(rows, device=device(sizes)), weights
