"""Objectives over weights of linear scores: products with X, an intercept that is not penalised, blocks of a Hessian.

The weights are (K, D): D = d, or d + 1 with the intercept in the last column. The penalty is 1/2 ||W||_F^2 without that
column.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from oneof.errors import InputError
from oneof.typing import Floats, Rows

OVERFLOW = "the objective overflows: scale the features, for example with StandardScaler."


@dataclass(frozen=True)
class LinearProblem:
    """What objectives of linear scores have in common; a subclass adds its losses."""

    X: Rows
    """(n, d): in float64."""
    n_classes: int
    has_intercept: bool

    @property
    def shape(self) -> tuple[int, int]:
        """(K, D)."""
        return self.n_classes, self.X.shape[1] + self.has_intercept

    def scores(self, weights: Floats) -> Floats:
        """Return the (n, K) scores."""
        if self.has_intercept:
            return np.asarray(self.X @ weights[:, :-1].T) + weights[:, -1]
        return np.asarray(self.X @ weights.T)

    def gather(self, values: Floats, X: Rows) -> Floats:
        """Return values^T [X, 1], which is the adjoint of `scores`."""
        out = np.asarray(X.T @ values).T
        return np.column_stack([out, values.sum(axis=0)]) if self.has_intercept else out

    def penalised(self, weights: Floats) -> Floats:
        """Return the weights with 0 for the intercept, which is not penalised."""
        if not self.has_intercept:
            return weights
        return np.column_stack([weights[:, :-1], np.zeros(len(weights))])

    def diagonal(self, curvatures: Floats) -> Floats:
        """Return the Hessian's diagonal, (K, D), where the losses have these (n, K) second derivatives."""
        squares = self.X.power(2) if sp.issparse(self.X) else self.X**2
        ones = np.ones((curvatures.shape[1], self.shape[1]))
        diagonal = self.gather(curvatures, squares) + self.penalised(ones)
        if not np.isfinite(diagonal).all():
            raise InputError(OVERFLOW)
        diagonal[diagonal == 0] = 1.0  # an intercept on which no loss depends
        return diagonal

    def block(self, curvature: Floats) -> "Block":
        """Return the Hessian's block of one class, where its losses have these second derivatives, (n,)."""
        active = np.flatnonzero(curvature)
        X, curvature, d = self.X[active], curvature[active], self.X.shape[1]
        weighted = X.multiply(curvature[:, None]).tocsr() if sp.issparse(X) else X * curvature[:, None]
        product = X.T @ weighted
        block = np.eye(self.shape[1])
        block[:d, :d] += product.toarray() if sp.issparse(product) else product
        if self.has_intercept:
            block[d, d] = curvature.sum() or 1.0  # 1 where no loss depends on the intercept
            block[:d, d] = block[d, :d] = np.asarray(weighted.sum(axis=0)).ravel()
        if not np.isfinite(block).all():
            raise InputError(OVERFLOW)
        scale = 1.0 / np.sqrt(np.diag(block))
        block *= scale[:, None]
        block *= scale
        block[np.diag_indices_from(block)] += 1e-12  # a Cholesky factor exists in spite of rounding
        return Block(cholesky(block, lower=True, overwrite_a=True), scale)


@dataclass(frozen=True)
class Block:
    """A positive (D, D) matrix B = L L^T with L = diag(1 / scale) `factor`."""

    factor: Floats | None
    """(D, D): the lower Cholesky factor of B scaled to a diagonal of ones; None where B is diagonal."""
    scale: Floats
    """(D,)."""

    def solve(self, right: Floats) -> Floats:
        """Return B^-1 x for a vector x, or for each row of an array."""
        return self.backward(self.forward(right))

    def forward(self, right: Floats) -> Floats:
        """Return L^-1 x for a vector x, or for each row of an array."""
        scaled = self.scale * right
        if self.factor is None:
            return scaled
        return solve_triangular(self.factor, scaled.T, lower=True, check_finite=False).T

    def backward(self, right: Floats) -> Floats:
        """Return L^-T x for a vector x, or for each row of an array."""
        if self.factor is None:
            return self.scale * right
        return self.scale * solve_triangular(self.factor, right.T, lower=True, trans=1, check_finite=False).T
