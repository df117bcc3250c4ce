"""Where the weights of a linear model live: one vector a class over features, or over the rows of a Gram matrix.

Both spaces offer the same few operations, so that a solver is written once for linear and kernel machines. Weights are
arrays that can be added and scaled; what they look like is the space's own business.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from oneof.errors import InputError
from oneof.solvers.row_accessors import GramRows, read_only, row_squares, view_rows, weights_order
from oneof.typing import FeatureMatrix, Floats, Ints

OVERFLOW = "products of rows overflow: scale the features, for example with StandardScaler."
_LEAST_SQUARE = 1e-12
"""Of a row in single precision, whose cube must still be a number."""


class FeatureSpace:
    """Weights (K, D) over features, D = d, or d + 1 with that of a constant feature 1 in the last column.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d), float64, or float32 for coarse ones
    has_constant : bool

    Attributes
    ----------
    n_rows : int
    width : int
        D, the dimension.
    squares : ndarray of shape (n,), float64
        ||x_i||^2.
    precision : float
        Relative rounding error of the scores.
    """

    def __init__(self, X: FeatureMatrix, *, has_constant: bool = False) -> None:
        self.X = X
        self.has_constant = has_constant
        self.n_rows = X.shape[0]
        self.width = X.shape[1] + has_constant
        self.precision = float(np.finfo(X.dtype).eps)
        self.squares = row_squares(view_rows(X), has_constant)
        _check_range(self.squares)

    def zeros(self, n_classes: int) -> Floats:
        """Return W = 0."""
        return np.zeros((n_classes, self.X.shape[1] + self.has_constant))

    def scores(self, weights: Floats) -> Floats:
        """Return the (n, K) scores, in the precision of X."""
        d = self.X.shape[1]
        by_feature = weights[:, :d].astype(self.X.dtype, copy=False)
        scores = np.asarray(self.X @ by_feature.T) if sp.issparse(self.X) else (by_feature @ self.X.T).T
        return scores + weights[:, d].astype(self.X.dtype, copy=False) if self.has_constant else scores

    def gather(self, slopes: Floats) -> Floats:
        """Return sum_i slopes_ik x_i, (K, D)."""
        slopes = slopes.astype(self.X.dtype, copy=False)
        gathered = (self.X.T @ slopes).T if sp.issparse(self.X) else slopes.T @ self.X
        if self.has_constant:
            gathered = np.column_stack([gathered, slopes.sum(axis=0)])
        return gathered.astype(np.float64, copy=False)

    def dot(self, a: Floats, b: Floats) -> float:
        """Return <a, b>."""
        return float(np.vdot(a, b))

    def coarse(self) -> "FeatureSpace":
        """Return the rows in single precision, unless products of them are too large or too small for it."""
        if not _LEAST_SQUARE < self.squares.max(initial=0.0) < 1.0 / _LEAST_SQUARE:
            return self
        return FeatureSpace(self.X.astype(np.float32), has_constant=self.has_constant)

    def part(self, rows: Ints) -> "FeatureSpace":
        """Return the space of some of the rows."""
        return FeatureSpace(self.X[rows], has_constant=self.has_constant)

    def solve(self, ridge: float, right: Floats) -> Floats:
        """Return (K + ridge I)^-1 right, (n, m), for the products K of the rows, in as many unknowns as are fewer."""
        X = self.X
        if self.has_constant:
            ones = np.ones((self.n_rows, 1))
            X = sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
        if self.width >= self.n_rows:
            return _solver(_dense(X @ X.T), ridge)(right)
        # The rows take part in as many directions as there are features, and 1 / ridge is left in all others.
        solved, solve = np.zeros_like(right), _solver(_dense(X.T @ X), ridge)
        for _ in range(3):  # the difference below loses what the ridge is small beside; its remainder is solved for
            rest = right - X @ (X.T @ solved) - ridge * solved
            solved = solved + (rest - X @ solve(X.T @ rest)) / ridge
        return solved

    def rows(self) -> Any:
        """Return the rows as compiled loops see them."""
        return view_rows(self.X)

    def enter(self, weights: Floats) -> Floats:
        """Return a copy of the weights in the form that compiled loops change: here in the memory order of the rows."""
        return np.array(weights, dtype=np.float64, order=weights_order(self.X))

    def leave(self, entered: Floats, coefficients: Floats) -> Floats:
        """Return the weights from that form; `coefficients`, (n, K), tell of which rows they are the sum."""
        del coefficients
        return np.array(entered, order="C")


class KernelSpace:
    """Weights sum_i A_ik Phi(x_i) over n rows, known by their Gram matrix: the pair (A, K A), of shape (2, n, K).

    Attributes and methods are those of `FeatureSpace`.

    Parameters
    ----------
    gram : ndarray of shape (n, n), float64, or float32 for a coarse one
        Symmetric, positive semi-definite.
    """

    def __init__(self, gram: Floats) -> None:
        self.gram = np.ascontiguousarray(gram)
        self.n_rows = self.width = len(gram)
        self.precision = float(np.finfo(gram.dtype).eps)
        self.squares = gram.diagonal().astype(np.float64)
        _check_range(self.squares)

    def zeros(self, n_classes: int) -> Floats:
        """Return W = 0."""
        return np.zeros((2, self.n_rows, n_classes))

    def scores(self, weights: Floats) -> Floats:
        """Return the scores, which the weights carry with them."""
        return weights[1]

    def gather(self, slopes: Floats) -> Floats:
        """Return sum_i slopes_ik Phi(x_i): one product with the Gram matrix."""
        return np.stack([slopes, self.gram @ slopes.astype(self.gram.dtype, copy=False)]).astype(np.float64, copy=False)

    def dot(self, a: Floats, b: Floats) -> float:
        """Return <a, b> = tr(A_a^T K A_b)."""
        return float(np.vdot(a[0], b[1]))

    def coarse(self) -> "KernelSpace":
        """Return the Gram matrix in single precision, unless products of it are too large or too small for it."""
        if not _LEAST_SQUARE < self.squares.max(initial=0.0) < 1.0 / _LEAST_SQUARE:
            return self
        return KernelSpace(self.gram.astype(np.float32))

    def part(self, rows: Ints) -> "KernelSpace":
        """Return the space of some of the rows."""
        return KernelSpace(self.gram[np.ix_(rows, rows)])

    def solve(self, ridge: float, right: Floats) -> Floats:
        """Return (K + ridge I)^-1 right, (n, m)."""
        return _solver(self.gram, ridge)(right)

    def rows(self) -> Any:
        """Return the rows of the Gram matrix as compiled loops see them."""
        return GramRows(read_only(self.gram))

    def enter(self, weights: Floats) -> Floats:
        """Return the scores, (K, n), which stand for the weights in compiled loops."""
        return np.array(weights[1].T, order="C")

    def coefficients(self, weights: Floats) -> Floats:
        """Return A, (n, K)."""
        return weights[0]

    def leave(self, entered: Floats, coefficients: Floats) -> Floats:
        """Return the coefficients with their scores."""
        return np.stack([coefficients, entered.T])


Space: TypeAlias = FeatureSpace | KernelSpace


def products_of(space: Space, coefficients: Floats) -> Floats:
    """Return <w, Phi(x_i)>, (n,), of the one vector w = sum_j coefficients_j Phi(x_j)."""
    return np.asarray(space.scores(space.gather(coefficients[:, None])))[:, 0]


def _check_range(squares: Floats) -> None:
    """Raise where sums of products of rows could overflow."""
    if not squares.max(initial=0.0) < 1e300:
        raise InputError(OVERFLOW)


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def _solver(matrix: Floats, ridge: float) -> Callable[[Floats], Floats]:
    """Return the function that multiplies by (matrix + ridge I)^-1."""
    shifted = matrix.copy(order="F")  # in which it is factored in its own place
    shifted[np.diag_indices_from(shifted)] += ridge
    factor = cho_factor(shifted, lower=True, overwrite_a=True)
    return lambda right: np.asarray(cho_solve(factor, right))
