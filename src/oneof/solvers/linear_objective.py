"""Base of objectives over linear scores: products with X, an unpenalized intercept, blocks of the Hessian.

The weights are (K, D): D = d, or d + 1 with the intercept in the last column. The penalty is 1/2 ||W||_F^2 without that
column.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs
from scipy.linalg.lapack import dpotrf, dpotrs

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Floats, Ints

Kind = Literal["diagonal", "common", "blocks"]
"""Preconditioners: the diagonal of the Hessian's block with the curvature of the mean class, this block, all blocks."""

OVERFLOW = "the objective overflows float64. Scale the features, for example with StandardScaler."
MIN_CURVATURE = 0.1
"""Fraction of the mean curvature below which a row is left out of a block."""
MAX_BLOCK_ENTRIES = 3e7
"""Maximum number of entries in the blocks of a preconditioner (120 MB in single precision, twice during the work)."""
MIN_SINGLE, MAX_SINGLE = 1e-12, 1e12
"""Range of the largest absolute feature for products in single precision, whose own range is 1e-38 to 1e38."""
RIDGES = {np.float32: 1e-6, np.float64: 1e-12}
"""Added to the diagonal of ones of a scaled block: ten and 5,000 times the rounding."""
ACTIVE_SHARE = 0.2
"""Share of the rows in a block, as on italian, usps and mnist."""
BLOCK_OVERHEAD, ITERATION_OVERHEAD = 5e6, 2e5
"""Operations in the time that NumPy's calls take, as measured on digits; blocks have half the speed of products."""
MAX_FIRST_COST = 20.0
"""Iterations that the common block at the start may cost, of the 30 to 150 that a fit takes."""
MIN_PIVOT = 1e-4
"""Smallest variance of a feature given the others, of 1, with which blocks are inverted in single precision."""


@dataclass(frozen=True)
class LinearProblem:
    """Base of the objectives of linear scores; a subclass adds its losses."""

    X: FeatureMatrix
    """(n, d); scores and gradients are in double precision for every precision of X."""
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
        if not self.has_intercept:
            return weights
        return np.column_stack([weights[:, :-1], np.zeros(len(weights))])

    def diagonal(self, curvatures: Floats) -> Floats:
        """Return the Hessian's diagonal, (K, D), for losses with these (n, K) second derivatives."""
        losses = self.rmatvec(curvatures, self.X.power(2) if sp.issparse(self.X) else self.X**2)
        diagonal = losses + self.penalized(np.ones_like(losses))
        if not np.isfinite(diagonal).all():
            raise InputError(OVERFLOW)
        diagonal[diagonal == 0] = 1.0  # an intercept on which no loss depends
        return diagonal

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

    factor: Floats
    """(D, D): the lower Cholesky factor of B scaled to a diagonal of ones."""
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
        return self.scale * dpotrs(self.factor, (self.scale * right).T, lower=1)[0].T


@dataclass(frozen=True)
class LinearIterate:
    """Weights, their scores and the derivatives there."""

    weights: Floats
    """(K, D)."""
    scores: Floats
    """(n, K)."""
    by_score: Floats
    """Derivatives of the sum of the losses by the scores, (n, K)."""
    value: float
    """The objective."""


@dataclass(frozen=True)
class SmoothProblem(LinearProblem):
    """Base of the objectives of `oneof.solvers.lbfgs`; a subclass adds `point` and `curvatures`."""

    @cached_property
    def single(self) -> Self | None:
        """The problem with products in single precision; None if its range is too small."""
        largest = np.abs(self.X.data if sp.issparse(self.X) else self.X).max(initial=0.0)
        if not MIN_SINGLE < largest < MAX_SINGLE:
            return None
        return replace(self, X=self.X.astype(np.float32))

    def zeros(self) -> Floats:
        """Return weights of 0, feature by feature if X is sparse, as its products require."""
        return np.zeros(self.shape, order="F" if sp.issparse(self.X) else "C")

    def point(self, weights: Floats, scores: Floats) -> LinearIterate:
        """Return the point with these weights and their scores."""
        raise NotImplementedError

    def curvatures(self, scores: Floats) -> Floats:
        """Return the absolute second derivatives of the rows' losses by each score, (n, K)."""
        raise NotImplementedError

    def gradient(self, point: LinearIterate) -> Floats:
        """Return the (K, D) gradient."""
        gradient = self.rmatvec(point.by_score, self.X)
        gradient += self.penalized(point.weights)
        return gradient

    def slope(self, point: LinearIterate, step: Floats, score_step: Floats) -> float:
        """Return the derivative of the objective along a step."""
        return float((self.penalized(point.weights) * step).sum() + np.vdot(point.by_score, score_step))

    def preconditioner(self, point: LinearIterate, kind: Kind) -> Callable[[Floats], Floats]:
        """Return the function x -> M^-1 x."""
        curvatures = self.curvatures(point.scores)
        mean = curvatures.mean(axis=1)[:, None]
        if kind == "diagonal":
            diagonal = self.diagonal(mean)
            return lambda right: right / diagonal
        curvatures = curvatures if kind == "blocks" else mean
        inverses = self._invert_blocks(curvatures, np.float32) or self._invert_blocks(curvatures, np.float64)
        if inverses is None:  # features too close to a combination of others
            return self.preconditioner(point, "diagonal")
        scale, scaled_inverses = inverses

        def solve(right: Floats) -> Floats:
            scaled = (scale * right).astype(scaled_inverses.dtype, copy=False)
            out = np.empty_like(right)
            return np.multiply(np.matmul(scaled_inverses, scaled[:, :, None])[:, :, 0], scale, out=out)

        return solve

    @property
    def first_kind(self) -> Kind:
        """The preconditioner at the start: the common block if it is cheap to compute and to apply, or the diagonal."""
        is_cheap = self.shape[1] ** 2 <= self._n_numbers and self._block_cost(0.0) <= MAX_FIRST_COST
        return "common" if is_cheap else "diagonal"

    @property
    def block_cost(self) -> float:
        """The time of the blocks of all classes in iterations; infinite if their memory is too large."""
        n_entries = self.n_classes * self.shape[1] ** 2
        return self.n_classes * self._block_cost(BLOCK_OVERHEAD) if n_entries <= MAX_BLOCK_ENTRIES else np.inf

    @property
    def _n_numbers(self) -> int:
        """Number of entries of X that a product reads."""
        return int(self.X.nnz if sp.issparse(self.X) else self.X.size)

    def _block_cost(self, overhead: float) -> float:
        """Return the time of a block in iterations, each of which has two products of X with K columns."""
        n_numbers = self._n_numbers
        gram = ACTIVE_SHARE * n_numbers * n_numbers / max(self.X.shape[0], 1)
        operations = 2.0 * (gram + self.shape[1] ** 3) + overhead
        return operations / (4.0 * n_numbers * self.n_classes + ITERATION_OVERHEAD)

    def _invert_blocks(self, curvatures: Floats, dtype: Any) -> tuple[Floats, Floats] | None:
        """Return d, (K, D), and the inverses of the blocks scaled to diagonals of ones, diag(d) B diag(d), (K, D, D).

        None if a feature is too close to a combination of others for the precision.
        """
        potrf, potri = get_lapack_funcs(("potrf", "potri"), dtype=dtype)
        d, inverses = np.empty((curvatures.shape[1], self.shape[1])), []
        for k, curvature in enumerate(curvatures.T):
            active = np.flatnonzero(curvature > MIN_CURVATURE * curvature.mean())
            X, penalty = self._scaled_rows(active, np.sqrt(curvature[active])[:, None])
            squares = X.power(2).sum(axis=0) if sp.issparse(X) else np.einsum("ij,ij->j", X, X)
            diagonal = np.asarray(squares).ravel() + penalty
            if not np.isfinite(diagonal).all():
                raise InputError(OVERFLOW)
            d[k] = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
            X = (X.multiply(d[k]).tocsr() if sp.issparse(X) else np.multiply(X, d[k], out=X)).astype(dtype, copy=False)
            block = X.T @ X  # an array times itself takes half the time of other products
            block = block.toarray() if sp.issparse(block) else block
            block[np.diag_indices_from(block)] += (penalty * d[k] ** 2 + RIDGES[dtype]).astype(dtype)
            factor, info = potrf(block.T, lower=1, overwrite_a=1)
            if info != 0 or (dtype == np.float32 and factor.diagonal().min() ** 2 < MIN_PIVOT):
                return None
            inverse = potri(factor, lower=1, overwrite_c=1)[0]
            inverses.append(np.tril(inverse) + np.tril(inverse, -1).T)
        return d, np.stack(inverses)

    def _scaled_rows(self, rows: Ints, factor: Floats) -> tuple[FeatureMatrix, Floats]:
        """Return the rows of [X, 1] times a factor, (m, D), and the penalty of each column, (D,)."""
        X, penalty = self.X[rows].astype(np.float64, copy=False), np.ones(self.shape[1])
        X = X.multiply(factor).tocsr() if sp.issparse(X) else X * factor
        if self.has_intercept:
            X = sp.hstack([X, factor], format="csr") if sp.issparse(X) else np.hstack([X, factor])
            penalty[-1] = 0.0
        return X, penalty
