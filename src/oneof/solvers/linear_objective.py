"""Objectives over weights of linear scores: products with X, an intercept that is not penalized, blocks of a Hessian.

The weights are (K, D): D = d, or d + 1 with the intercept in the last column. The penalty is 1/2 ||W||_F^2 without that
column.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Floats

OVERFLOW = "the objective overflows: scale the features, for example with StandardScaler."


def penalized(weights: Floats, *, has_intercept: bool) -> Floats:
    """Return the weights with 0 for the intercept, which is not penalized."""
    if not has_intercept:
        return weights
    return np.column_stack([weights[:, :-1], np.zeros(len(weights))])


def penalized_diagonal(loss_diagonal: Floats, *, has_intercept: bool) -> Floats:
    """Return the diagonal of an objective's Hessian, (K, D), from that of its losses."""
    diagonal = loss_diagonal + penalized(np.ones_like(loss_diagonal), has_intercept=has_intercept)
    if not np.isfinite(diagonal).all():
        raise InputError(OVERFLOW)
    diagonal[diagonal == 0] = 1.0  # an intercept on which no loss depends
    return diagonal


@dataclass(frozen=True)
class LinearProblem:
    """What objectives of linear scores have in common; a subclass adds its losses."""

    X: FeatureMatrix
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

    def gather(self, values: Floats, X: FeatureMatrix) -> Floats:
        """Return values^T [X, 1], which is the adjoint of `scores`."""
        out = np.asarray(X.T @ values).T
        return np.column_stack([out, values.sum(axis=0)]) if self.has_intercept else out

    def penalized(self, weights: Floats) -> Floats:
        """Return the weights with 0 for the intercept, which is not penalized."""
        return penalized(weights, has_intercept=self.has_intercept)

    def diagonal(self, curvatures: Floats) -> Floats:
        """Return the Hessian's diagonal, (K, D), where the losses have these (n, K) second derivatives."""
        return penalized_diagonal(self.loss_diagonal(curvatures), has_intercept=self.has_intercept)

    def loss_diagonal(self, curvatures: Floats) -> Floats:
        """Return what the losses alone give to it, a sum over the rows."""
        return self.gather(curvatures, self.X.power(2) if sp.issparse(self.X) else self.X**2)

    def block(self, curvature: Floats) -> "Block":
        """Return the Hessian's block of one class, where its losses have these second derivatives, (n,)."""
        return Block.of(self.squares(curvature), has_intercept=self.has_intercept)

    def squares(self, curvature: Floats) -> Floats:
        """Return sum_i curvature_i [x_i, 1] [x_i, 1]^T, (D, D)."""
        active = np.flatnonzero(curvature)
        X, curvature, d = self.X[active], curvature[active], self.X.shape[1]
        weighted = X.multiply(curvature[:, None]).tocsr() if sp.issparse(X) else X * curvature[:, None]
        product = X.T @ weighted
        squares = np.zeros((self.shape[1], self.shape[1]))
        squares[:d, :d] = product.toarray() if sp.issparse(product) else product
        if self.has_intercept:
            squares[d, d] = curvature.sum()
            squares[:d, d] = squares[d, :d] = np.asarray(weighted.sum(axis=0)).ravel()
        return squares


@dataclass(frozen=True)
class Block:
    """A positive (D, D) matrix B = L L^T with L = diag(1 / scale) `factor`."""

    factor: Floats | None
    """(D, D): the lower Cholesky factor of B scaled to a diagonal of ones; None where B is diagonal."""
    scale: Floats
    """(D,)."""

    @classmethod
    def of(cls, squares: Floats, *, has_intercept: bool) -> "Block":
        """Add the penalty to what the losses give, (D, D), and factorize."""
        block, d = squares.copy(), len(squares) - has_intercept
        block[np.arange(d), np.arange(d)] += 1.0
        if has_intercept and block[d, d] == 0.0:
            block[d, d] = 1.0  # no loss depends on the intercept
        if not np.isfinite(block).all():
            raise InputError(OVERFLOW)
        scale = 1.0 / np.sqrt(np.diag(block))
        block *= scale[:, None]
        block *= scale
        block[np.diag_indices_from(block)] += 1e-12  # a Cholesky factor exists in spite of rounding
        return cls(cholesky(block, lower=True, overwrite_a=True), scale)

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
