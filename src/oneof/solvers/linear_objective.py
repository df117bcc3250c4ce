"""Base of objectives over linear scores: products with X, an unpenalized intercept, blocks of the Hessian.

The weights are (K, D): D = d, or d + 1 with the intercept in the last column. The penalty is 1/2 ||W||_F^2 without that
column.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Floats

OVERFLOW = "the objective overflows float64. Scale the features, for example with StandardScaler."


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
    """Base of the objectives of linear scores; a subclass adds its losses."""

    X: FeatureMatrix
    """(n, d), float64."""
    n_classes: int
    has_intercept: bool

    @property
    def shape(self) -> tuple[int, int]:
        """(K, D)."""
        return self.n_classes, self.X.shape[1] + self.has_intercept

    def matvec(self, weights: Floats) -> Floats:
        """Return the (n, K) scores [X, 1] W^T, with products in the precision of X."""
        features = weights[:, :-1] if self.has_intercept else weights
        scores = np.asarray(self.X @ features.T.astype(self.X.dtype, copy=False)).astype(np.float64, copy=False)
        return scores + weights[:, -1] if self.has_intercept else scores

    def rmatvec(self, values: Floats, X: FeatureMatrix) -> Floats:
        """Return values^T [X, 1], the adjoint of `matvec`, in the memory layout of the weights."""
        is_sparse, typed = sp.issparse(X), values.astype(X.dtype, copy=False)
        product: Floats = np.asarray(X.T @ typed).T if is_sparse else typed.T @ X
        if not self.has_intercept:
            return product.astype(np.float64, copy=False)
        out = np.empty(self.shape, order="F" if is_sparse else "C")
        out[:, :-1], out[:, -1] = product, values.sum(axis=0)
        return out

    def penalized(self, weights: Floats) -> Floats:
        """Return the weights with 0 for the intercept, which is not penalized."""
        return penalized(weights, has_intercept=self.has_intercept)

    def diagonal(self, curvatures: Floats) -> Floats:
        """Return the Hessian's diagonal, (K, D), for losses with these (n, K) second derivatives."""
        return penalized_diagonal(self.loss_diagonal(curvatures), has_intercept=self.has_intercept)

    def loss_diagonal(self, curvatures: Floats) -> Floats:
        """Return the diagonal of the Hessian of the losses alone, a sum over the rows."""
        return self.rmatvec(curvatures, self.X.power(2) if sp.issparse(self.X) else self.X**2)

    def block(self, curvature: Floats) -> "HessianBlock":
        """Return the Hessian's block of one class, for losses with these second derivatives, (n,)."""
        return HessianBlock.from_gram(self.weighted_gram(curvature), has_intercept=self.has_intercept)

    def weighted_gram(self, curvature: Floats) -> Floats:
        """Return sum_i curvature_i [x_i, 1] [x_i, 1]^T, (D, D)."""
        active = np.flatnonzero(curvature)
        X, curvature, d = self.X[active], curvature[active], self.X.shape[1]
        weighted = X.multiply(curvature[:, None]).tocsr() if sp.issparse(X) else X * curvature[:, None]
        product = X.T @ weighted
        gram = np.zeros((self.shape[1], self.shape[1]))
        gram[:d, :d] = product.toarray() if sp.issparse(product) else product
        if self.has_intercept:
            gram[d, d] = curvature.sum()
            gram[:d, d] = gram[d, :d] = np.asarray(weighted.sum(axis=0)).ravel()
        return gram


@dataclass(frozen=True)
class HessianBlock:
    """A positive definite (D, D) matrix B = L L^T with L = diag(1 / scale) `factor`."""

    factor: Floats | None
    """(D, D): the lower Cholesky factor of B scaled to a diagonal of ones; None if B is diagonal."""
    scale: Floats
    """(D,)."""

    @classmethod
    def from_gram(cls, gram: Floats, *, has_intercept: bool) -> "HessianBlock":
        """Add the penalty to the (D, D) Hessian of the losses, and factorize the sum."""
        block, d = gram.copy(), len(gram) - has_intercept
        block[np.arange(d), np.arange(d)] += 1.0
        if has_intercept and block[d, d] == 0.0:
            block[d, d] = 1.0  # no loss depends on the intercept
        if not np.isfinite(block).all():
            raise InputError(OVERFLOW)
        scale = 1.0 / np.sqrt(np.diag(block))
        block *= scale[:, None]
        block *= scale
        block[np.diag_indices_from(block)] += 1e-12  # a Cholesky factor exists in spite of rounding
        factor, info = dpotrf(block.T, lower=1, clean=1, overwrite_a=1)
        if info != 0:
            raise InputError(OVERFLOW)
        return cls(factor, scale)

    def solve(self, right: Floats) -> Floats:
        """Return B^-1 x for a vector x, or for each row of an array."""
        if self.factor is None:
            return self.scale * (self.scale * right)
        return self.scale * dpotrs(self.factor, (self.scale * right).T, lower=1)[0].T

    def forward(self, right: Floats) -> Floats:
        """Return L^-1 x for a vector x, or for each row of an array."""
        scaled = self.scale * right
        if self.factor is None:
            return scaled
        return dtrtrs(self.factor, scaled.T, lower=1)[0].T

    def backward(self, right: Floats) -> Floats:
        """Return L^-T x for a vector x, or for each row of an array."""
        if self.factor is None:
            return self.scale * right
        return self.scale * dtrtrs(self.factor, right.T, lower=1, trans=1)[0].T
