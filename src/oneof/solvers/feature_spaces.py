"""Spaces of the weights of a linear model: one vector per class, over features or over the rows of a Gram matrix.

Both spaces offer the same few operations, so that a solver is written once for linear and kernel models. Weights are
arrays that can be added and scaled; their layout is internal to the space.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from oneof.errors import InputError
from oneof.solvers.row_accessors import (
    DenseRows,
    GramRows,
    SparseRows,
    as_row_view,
    memory_order,
    read_only,
    row_squares,
)
from oneof.typing import FeatureMatrix, Floats, Ints

OVERFLOW = "products of rows overflow float64. Scale the features, for example with StandardScaler."
MIN_FLOAT32_SQUARE = 1e-12
"""Smallest squared norm for single precision, which must still represent the cube."""
MAX_GATHERED_FRACTION = 0.25
"""Fraction of the dense rows with coefficients up to which they are copied, so that the others are not read."""


class FeatureSpace:
    """Weights (K, D) over features, with D = d, or d + 1 for a constant feature 1 in the last column.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d), float64, or float32 for single precision
    has_constant : bool

    Attributes
    ----------
    n_rows : int
    dimension : int
        D.
    squares : ndarray of shape (n,), float64
        ||x_i||^2.
    precision : float
        Relative rounding error of the scores.
    """

    def __init__(self, X: FeatureMatrix, *, has_constant: bool = False) -> None:
        self.X = X
        self.has_constant = has_constant
        self.n_rows = X.shape[0]
        self.dimension = X.shape[1] + has_constant
        self.precision = float(np.finfo(X.dtype).eps)
        self.squares = row_squares(as_row_view(X), has_constant)
        _check_range(self.squares)

    def zeros(self, n_classes: int) -> Floats:
        """Return W = 0."""
        return np.zeros((n_classes, self.X.shape[1] + self.has_constant))

    def matvec(self, weights: Floats) -> Floats:
        """Return the (n, K) scores, in the precision of X."""
        d = self.X.shape[1]
        by_feature = weights[:, :d].astype(self.X.dtype, copy=False)
        scores = np.asarray(self.X @ by_feature.T) if sp.issparse(self.X) else (by_feature @ self.X.T).T
        return scores + weights[:, d].astype(self.X.dtype, copy=False) if self.has_constant else scores

    def rmatvec(self, coefficients: Floats) -> Floats:
        """Return sum_i coefficients_ik x_i, (K, D)."""
        coefficients = coefficients.astype(self.X.dtype, copy=False)
        if sp.issparse(self.X):
            weights = (self.X.T @ coefficients).T
        else:
            used = np.flatnonzero(coefficients.any(axis=1))
            is_few = len(used) <= MAX_GATHERED_FRACTION * self.n_rows
            weights = coefficients[used].T @ self.X[used] if is_few else coefficients.T @ self.X
        if self.has_constant:
            weights = np.column_stack([weights, coefficients.sum(axis=0)])
        return weights.astype(np.float64, copy=False)

    def dot(self, a: Floats, b: Floats) -> float:
        """Return <a, b>."""
        return float(np.vdot(a, b))

    def as_float32(self) -> "FeatureSpace":
        """Return the space in single precision, or the same space if products of rows over- or underflow float32."""
        if not MIN_FLOAT32_SQUARE < self.squares.max(initial=0.0) < 1.0 / MIN_FLOAT32_SQUARE:
            return self
        return FeatureSpace(self.X.astype(np.float32), has_constant=self.has_constant)

    def subset(self, rows: Ints) -> "FeatureSpace":
        """Return the space of some of the rows."""
        return FeatureSpace(self.X[rows], has_constant=self.has_constant)

    def solve(self, ridge: float, right: Floats) -> Floats:
        """Return (K + ridge I)^-1 right, (n, m), for the Gram matrix K; solve for rows or features, the fewer."""
        X = self.X
        if self.has_constant:
            ones = np.ones((self.n_rows, 1))
            X = sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
        if self.dimension >= self.n_rows:
            return _solver(_dense(X @ X.T), ridge)(right)
        # The rows span as many directions as there are features; in all others the inverse is 1 / ridge.
        solution, solve = np.zeros_like(right), _solver(_dense(X.T @ X), ridge)
        for _ in range(3):  # the difference below cancels digits if the ridge is small, so the residual is solved again
            residual = right - X @ (X.T @ solution) - ridge * solution
            solution = solution + (residual - X @ solve(X.T @ residual)) / ridge
        return solution

    def rows(self) -> DenseRows | SparseRows:
        """Return the view of the rows for compiled loops."""
        return as_row_view(self.X)

    def to_internal(self, weights: Floats) -> Floats:
        """Return a copy of the weights for compiled loops to change, in the memory order of the rows."""
        return np.array(weights, dtype=np.float64, order=memory_order(self.X))

    def from_internal(self, internal: Floats, coefficients: Floats) -> Floats:
        """Return the weights from their internal form; `coefficients`, (n, K), are those of the rows."""
        del coefficients
        return np.array(internal, order="C")


class KernelSpace:
    """Weights sum_i A_ik Phi(x_i) over n rows with a Gram matrix K: the pair (A, K A), of shape (2, n, K).

    Attributes and methods are those of `FeatureSpace`.

    Parameters
    ----------
    gram : ndarray of shape (n, n), float64, or float32 for single precision
        Symmetric, positive semi-definite.
    """

    def __init__(self, gram: Floats) -> None:
        self.gram = np.ascontiguousarray(gram)
        self.n_rows = self.dimension = len(gram)
        self.precision = float(np.finfo(gram.dtype).eps)
        self.squares = gram.diagonal().astype(np.float64)
        _check_range(self.squares)

    def zeros(self, n_classes: int) -> Floats:
        """Return W = 0."""
        return np.zeros((2, self.n_rows, n_classes))

    def matvec(self, weights: Floats) -> Floats:
        """Return the scores, the second component of the weights."""
        return weights[1]

    def rmatvec(self, coefficients: Floats) -> Floats:
        """Return sum_i coefficients_ik Phi(x_i): one product with the Gram matrix."""
        scores = self.gram @ coefficients.astype(self.gram.dtype, copy=False)
        return np.stack([coefficients, scores]).astype(np.float64, copy=False)

    def dot(self, a: Floats, b: Floats) -> float:
        """Return <a, b> = tr(A_a^T K A_b)."""
        return float(np.vdot(a[0], b[1]))

    def as_float32(self) -> "KernelSpace":
        """Return the space in single precision, or the same space if products of entries over- or underflow float32."""
        if not MIN_FLOAT32_SQUARE < self.squares.max(initial=0.0) < 1.0 / MIN_FLOAT32_SQUARE:
            return self
        return KernelSpace(self.gram.astype(np.float32))

    def subset(self, rows: Ints) -> "KernelSpace":
        """Return the space of some of the rows."""
        return KernelSpace(self.gram[np.ix_(rows, rows)])

    def solve(self, ridge: float, right: Floats) -> Floats:
        """Return (K + ridge I)^-1 right, (n, m)."""
        return _solver(self.gram, ridge)(right)

    def rows(self) -> GramRows:
        """Return the view of the Gram matrix for compiled loops."""
        return GramRows(read_only(self.gram))

    def to_internal(self, weights: Floats) -> Floats:
        """Return a copy of the scores, (K, n), which represent the weights in compiled loops."""
        return np.array(weights[1].T, order="C")

    def coefficients(self, weights: Floats) -> Floats:
        """Return A, (n, K)."""
        return weights[0]

    def from_internal(self, internal: Floats, coefficients: Floats) -> Floats:
        """Return the coefficients with their scores."""
        return np.stack([coefficients, internal.T])


Space: TypeAlias = FeatureSpace | KernelSpace


def kernel_matvec(space: Space, coefficients: Floats) -> Floats:
    """Return <w, Phi(x_i)>, (n,), of the one vector w = sum_j coefficients_j Phi(x_j)."""
    return np.asarray(space.matvec(space.rmatvec(coefficients[:, None])))[:, 0]


def _check_range(squares: Floats) -> None:
    """Raise if sums of products of rows could overflow."""
    if not squares.max(initial=0.0) < 1e300:
        raise InputError(OVERFLOW)


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def _solver(matrix: Floats, ridge: float) -> Callable[[Floats], Floats]:
    """Return the function that multiplies by (matrix + ridge I)^-1."""
    shifted = matrix.copy(order="F")  # the order for a factorization in place
    shifted[np.diag_indices_from(shifted)] += ridge
    factor = cho_factor(shifted, lower=True, overwrite_a=True)
    return lambda right: np.asarray(cho_solve(factor, right))
