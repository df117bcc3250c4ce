"""Posterior covariances of the latents of further rows, K x K for each row.

For a row x with k_x the covariances to the n rows of fit,

    cov_kl = [k = l] (k(x, x) - k_x^T E_k k_x) + (E_k k_x)^T (sum_j E_j)^-1 E_l k_x

(Rasmussen & Williams, algorithm 3.4), with E_k = D_k^1/2 (I + A_k)^-1 D_k^1/2, A_k = D_k^1/2 K_k D_k^1/2 and D_k =
diag pi_.k. The published form has every E_k as a dense matrix. The cheap one replaces A_k by a Nystrom approximation
B B^T <= A_k of as many columns as leave no eigenvalue above eps in A_k - B B^T, so that E_k = D_k - Y_k Y_k^T is
applied at a cost that goes with them. Then K - K^ <= eps D^-1 <= eps W^-1 in the order of positive semi-definite
matrices, from which follows

    cov^ <= cov <= cov^ / (1 - eps),

a relative bound in every direction. The eigenvalue is estimated by the power method. What is left over lies where the
rows say little, so that in practice variances are right to a tenth of a percent.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from oneof.solvers.laplace.factors import Factors, inverse_and_log_det, lower_root, solve_lower
from oneof.solvers.laplace.prior import GramPrior
from oneof.typing import Array

EPS = 0.02
POWERS = 8
"""Steps of the power method that estimates what a Nystrom approximation left over."""
LARGEST_LOSS = 1e-4
"""Most that single precision may change of a variance."""
LARGEST_SHARE = 3
"""A class for which more than a third of the columns would be needed has its E_k as a dense matrix."""


@dataclass(frozen=True)
class Block:
    """E_k = diag(d) - Y Y^T."""

    diagonal: Array
    columns: Array

    def astype(self, dtype: Any) -> "Block":
        """Return it in another precision."""
        xp = array_namespace(self.columns)
        return Block(xp.astype(self.diagonal, dtype), xp.astype(self.columns, dtype))

    def applied(self, cross: Array) -> Array:
        """Return E_k k_x for rows of covariances, (t, n)."""
        return cross * self.diagonal - (cross @ self.columns) @ self.columns.mT


@dataclass(frozen=True)
class DenseBlock:
    """E_k as it is."""

    matrix: Array

    def astype(self, dtype: Any) -> "DenseBlock":
        """Return it in another precision."""
        return DenseBlock(array_namespace(self.matrix).astype(self.matrix, dtype))

    def applied(self, cross: Array) -> Array:
        """Return E_k k_x for rows of covariances, (t, n)."""
        return cross @ self.matrix


@dataclass(frozen=True)
class LatentCovariance:
    """What is needed of the rows of fit."""

    blocks: list[Block | DenseBlock]
    root: Array
    """Lower triangular: of sum_k E_k."""

    @classmethod
    def published(cls, prior: GramPrior, shares: Array) -> "LatentCovariance":
        """Factorise each class."""
        factors = Factors.of(prior, shares)
        return cls([DenseBlock(E) for E in factors.E], factors.root)

    @classmethod
    def reduced(
        cls, prior: GramPrior, shares: Array, random: np.random.Generator, *, eps: float = EPS
    ) -> "LatentCovariance":
        """Approximate each class, to a relative error of at most eps, as far as its estimate goes."""
        xp = array_namespace(shares)
        n, n_classes = shares.shape
        blocks: list[Block | DenseBlock] = []
        total = xp.zeros((n, n), dtype=shares.dtype, device=device(shares))
        rank = max(n // 32, 8)
        for k in range(n_classes):
            block, rank = _block(prior.of_class(k), shares[:, k], rank, eps, random)
            if isinstance(block, Block):
                total -= block.columns @ block.columns.mT
                total += xp.eye(n, dtype=total.dtype, device=device(total)) * block.diagonal
            else:
                total += block.matrix
            blocks.append(block)
        return cls(blocks, lower_root(total))

    def to_single_precision(self, cross: Array, variances: Array) -> "LatentCovariance":
        """Return itself in single precision, twice as fast, if that is precise enough for the rows that are given."""
        xp = array_namespace(cross)
        single = LatentCovariance([block.astype(xp.float32) for block in self.blocks], xp.astype(self.root, xp.float32))
        double = self.of_rows(cross, variances)
        lost = xp.astype(single.of_rows(cross, variances), double.dtype) - double
        each = xp.arange(double.shape[1], device=device(double))
        precise = bool(xp.all(xp.abs(lost[:, each, each]) <= LARGEST_LOSS * double[:, each, each]))
        return single if precise else self

    def of_rows(self, cross: Array, variances: Array) -> Array:
        """Return the covariances of t rows.

        Parameters
        ----------
        cross : array of shape (t, n), or (K, t, n)
            Prior covariances to the rows of fit.
        variances : array of shape (t,), or (K, t)
            Prior variances.

        Returns
        -------
        array of shape (t, K, K)
        """
        xp = array_namespace(cross)
        cross = xp.astype(cross, self.root.dtype, copy=False)
        t, n_classes = cross.shape[-2], len(self.blocks)
        solved = xp.empty((t, n_classes, cross.shape[-1]), dtype=cross.dtype, device=device(cross))
        left = []  # of the variances
        for k, block in enumerate(self.blocks):
            given = cross if cross.ndim == 2 else cross[k, ...]
            applied = block.applied(given)
            left.append((variances if variances.ndim == 1 else variances[k, :]) - xp.vecdot(applied, given))
            solved[:, k, :] = solve_lower(self.root, applied.mT).mT
        covariances = solved @ solved.mT
        each = xp.arange(n_classes, device=device(cross))
        covariances[:, each, each] += xp.astype(xp.stack(left, axis=1), cross.dtype, copy=False)
        return covariances


def _block(
    gram: Array, share: Array, rank: int, eps: float, random: np.random.Generator
) -> tuple[Block | DenseBlock, int]:
    """Return E_k, and the number of columns to begin with for the next class."""
    xp = array_namespace(gram)
    n = gram.shape[0]
    scale = xp.sqrt(share)
    while LARGEST_SHARE * rank <= n:
        B = _nystrom(gram, scale, rank, random)
        if _norm_left(gram, scale, B, random) <= 0.5 * eps:
            # With orthogonal columns, those that matter least go, down to what eps allows.
            square, turn = xp.linalg.eigh(B.mT @ B)
            kept = square > 0.5 * eps
            columns = (B @ turn[:, kept]) / xp.sqrt(1.0 + square[kept]) * scale[:, None]
            return Block(share, columns), max(int(columns.shape[1] * 1.2), 8)
        rank = rank * 3 // 2
    A = gram * scale[:, None] * scale[None, :]
    A += xp.eye(n, dtype=A.dtype, device=device(A))
    inverse, _ = inverse_and_log_det(A)
    return DenseBlock(inverse * scale[:, None] * scale[None, :]), max(n // LARGEST_SHARE, 8)


def _nystrom(gram: Array, scale: Array, rank: int, random: np.random.Generator) -> Array:
    """Return B, (n, rank), with B B^T = A Z (Z^T A Z)^-1 Z^T A for some Z; A is the Gram matrix, scaled twice."""
    xp = array_namespace(gram)
    image = _normals(gram, (gram.shape[0], rank), random)
    for _ in range(2):  # the first product turns random directions towards the large eigenvalues
        Z, _ = xp.linalg.qr(image)
        image = scale[:, None] * (gram @ (scale[:, None] * Z))
    squares, turns = xp.linalg.eigh(_symmetric(Z.mT @ image))
    kept = squares > 100 * float(xp.finfo(gram.dtype).eps) * float(xp.max(squares))  # the kernel may be of lower rank
    return image @ (turns[:, kept] / xp.sqrt(squares[kept]))


def _norm_left(gram: Array, scale: Array, B: Array, random: np.random.Generator) -> float:
    """Return the spectral norm of A - B B^T, estimated from below by the power method."""
    xp = array_namespace(gram)
    vectors = _normals(gram, (gram.shape[0], 4), random)
    norm = 0.0
    for _ in range(POWERS):
        lengths = xp.sqrt(xp.sum(vectors * vectors, axis=0))
        vectors = vectors / xp.where(lengths > 0, lengths, 1.0)
        vectors = scale[:, None] * (gram @ (scale[:, None] * vectors)) - B @ (B.mT @ vectors)
        norm = float(xp.max(xp.sqrt(xp.sum(vectors * vectors, axis=0))))
        if norm == 0:
            break
    return norm


def _normals(like: Array, shape: tuple[int, int], random: np.random.Generator) -> Array:
    xp = array_namespace(like)
    return xp.asarray(random.standard_normal(shape), dtype=like.dtype, device=device(like))


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.mT) / 2.0
