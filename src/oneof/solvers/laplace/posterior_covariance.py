"""Posterior covariances of the latents of further rows, K x K for each row.

`LatentCovariance` is the reference form. For a row x with covariances k_x to the n training rows,

    cov_kl = [k = l] (k(x, x) - k_x^T E_k k_x) + (E_k k_x)^T (sum_j E_j)^-1 E_l k_x

(Rasmussen & Williams, algorithm 3.4), with E_k = D_k^1/2 (I + A_k)^-1 D_k^1/2, A_k = D_k^1/2 K_k D_k^1/2 and D_k =
diag pi_.k. It stores every E_k as a dense matrix.

`WeightCovariance` is the form for a prior covariance given by features. With f_k = Phi_k w_k the weights have the
posterior covariance (I + H)^-1, H_kl = Phi_k^T diag(W_kl) Phi_l, of size sum_k m_k. For a row with features phi_k,
cov_kl = phi_k^T [(I + H)^-1]_kl phi_l. The prior variance of the row that its features do not explain is added to the
variances. So rows far from all landmarks have their full uncertainty.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from array_api_compat import array_namespace, device

from oneof.solvers.laplace.cholesky_factors import CholeskyFactors, inverse_and_log_det, solve_lower
from oneof.solvers.laplace.model import GramPrior
from oneof.typing import Array

MAX_SINGLE_ERROR = 1e-3
"""Maximum product of the machine epsilon of single precision and the largest trace of A_k with which it is tried."""


@dataclass(frozen=True)
class LatentCovariance:
    """Posterior covariance in the reference form, by the Cholesky factors of the training rows."""

    E: list[Array]
    """K matrices of shape (n, n)."""
    root: Array
    """Lower triangular Cholesky factor of sum_k E_k."""

    @classmethod
    def from_prior(cls, prior: GramPrior, proba: Array) -> "LatentCovariance":
        """Factorize the matrix of each class, at the class probabilities pi, (n, K)."""
        factors = CholeskyFactors.from_proba(prior, proba)
        return cls(factors.E, factors.root)

    @classmethod
    def from_prior_single(cls, prior: GramPrior, proba: Array) -> "LatentCovariance | None":
        """Factorize in single precision, or return None if rounding errors are too large for a factor."""
        xp = array_namespace(proba)
        single = prior.single.gram.dtype
        trace = float(xp.max(xp.sum(proba, axis=0) * prior.variance))  # bounds the eigenvalues of every A_k
        if float(xp.finfo(single).eps) * trace > MAX_SINGLE_ERROR:
            return None
        try:
            return cls.from_prior(prior.single, xp.astype(proba, single))
        except np.linalg.LinAlgError:
            return None

    def refined_variances(self, prior: GramPrior, proba: Array, cross: Array, variances: Array) -> Array:
        """Return the posterior variances of t rows, (t, K), after one step of iterative refinement.

        The columns of M k_x, M = (K + W^-1)^-1, solve (I + W K) u = W k_x, with residuals in the precision of the
        prior. `prior` and `proba` are those of the training rows; the other parameters are those of `covariances`.
        """
        xp = array_namespace(cross)
        (t, n), n_classes = cross.shape[-2:], len(self.E)
        by_class = [(cross if cross.ndim == 2 else cross[k, ...]).mT for k in range(n_classes)]
        right = xp.zeros((n_classes, n, n_classes * t), dtype=cross.dtype, device=device(cross))
        for k, block in enumerate(consecutive_slices([t] * n_classes)):
            right[k, :, block] = by_class[k]
        solution = self._matmul(right)
        residual = _times_w(proba, right - _times_prior(prior, solution)) - solution
        solution += residual - self._matmul(_times_prior(prior, residual))
        explained = xp.reshape(xp.sum(right * solution, axis=(0, 1)), (n_classes, t)).mT
        return (variances[:, None] if variances.ndim == 1 else variances.mT) - explained

    def _matmul(self, V: Array) -> Array:
        """Return M V for V of shape (K, n, t), in the precision of V."""
        xp = array_namespace(V)
        single = xp.astype(V, self.root.dtype, copy=False)
        products = xp.stack([E @ single[k, ...] for k, E in enumerate(self.E)])
        shared = solve_lower(self.root, solve_lower(self.root, xp.sum(products, axis=0)), transposed=True)
        return xp.astype(products - xp.stack([E @ shared for E in self.E]), V.dtype, copy=False)

    def covariances(self, cross: Array, variances: Array) -> Array:
        """Return the posterior covariances of t rows.

        Parameters
        ----------
        cross : array of shape (t, n), or (K, t, n)
            Prior covariances with the training rows.
        variances : array of shape (t,), or (K, t)
            Prior variances.

        Returns
        -------
        array of shape (t, K, K)
        """
        xp = array_namespace(cross)
        cross = xp.astype(cross, self.root.dtype, copy=False)
        t, n_classes = cross.shape[-2], len(self.E)
        is_shared = cross.ndim == 2 and variances.ndim == 1
        n_computed = n_classes - 1 if is_shared else n_classes
        solved = xp.empty((t, n_computed, cross.shape[-1]), dtype=cross.dtype, device=device(cross))
        remaining = []  # variances that the training rows do not explain
        for k, E in enumerate(self.E[:n_computed]):
            cross_k = cross if cross.ndim == 2 else cross[k, ...]
            product = cross_k @ E
            remaining.append((variances if variances.ndim == 1 else variances[k, :]) - xp.vecdot(product, cross_k))
            solved[:, k, :] = solve_lower(self.root, product.mT).mT
        covariances = xp.empty((t, n_classes, n_classes), dtype=cross.dtype, device=device(cross))
        covariances[:, :n_computed, :n_computed] = solved @ solved.mT
        diagonal = xp.arange(n_computed, device=device(cross))
        if n_computed > 0:
            covariances[:, diagonal, diagonal] += xp.astype(xp.stack(remaining, axis=1), cross.dtype, copy=False)
        return _fill_last_class(covariances, variances) if is_shared else covariances


def _fill_last_class(covariances: Array, variances: Array) -> Array:
    """Set the covariances of the last class from those of the others, if all classes have the same prior.

    The candidate sets have no information about the sum of a row's latents, since W 1 = 0. The sum therefore keeps its
    prior, and is independent of the differences: the covariances of a class with all classes sum to k(x, x).
    """
    xp = array_namespace(covariances)
    block = covariances[:, :-1, :-1]
    prior = xp.astype(variances, covariances.dtype, copy=False)
    last = prior[:, None] - xp.sum(block, axis=2)
    covariances[:, :-1, -1] = last
    covariances[:, -1, :-1] = last
    covariances[:, -1, -1] = prior - xp.sum(last, axis=1)
    return covariances


@dataclass(frozen=True)
class WeightCovariance:
    """Posterior covariance (I + H)^-1 of the weights of features."""

    inverse: Array
    """(I + H)^-1, (sum_k m_k, sum_k m_k)."""
    blocks: list[slice]
    """Rows and columns of each class."""
    log_det: float
    """log |I + H|, which equals log |I + K W|."""

    @classmethod
    def from_features(cls, features: list[Array], proba: Array) -> "WeightCovariance":
        """Compute the covariance from the features of each class, (n, m_k), and the probabilities pi, (n, K)."""
        return cls.from_curvature(weight_curvature(features, proba), [own.shape[1] for own in features])

    @classmethod
    def from_curvature(cls, H: Array, sizes: list[int]) -> "WeightCovariance":
        """Compute the covariance from H, which is overwritten, and the number of features of each class."""
        xp = array_namespace(H)
        diagonal = xp.arange(H.shape[0], device=device(H))
        H[diagonal, diagonal] += 1.0
        inverse, log_det = inverse_and_log_det(H)
        return cls(inverse, consecutive_slices(sizes), log_det)

    def covariances(self, features: Array, variances: Array) -> Array:
        """Return the posterior covariances of t rows.

        Parameters
        ----------
        features : array of shape (t, m), or (K, t, m)
        variances : array of shape (t,), or (K, t)
            Prior variances.

        Returns
        -------
        array of shape (t, K, K)
        """
        xp, n_classes = array_namespace(self.inverse), len(self.blocks)
        by_class = [features if features.ndim == 2 else features[k, ...] for k in range(n_classes)]
        t = features.shape[-2]
        covariances = xp.empty((t, n_classes, n_classes), dtype=features.dtype, device=device(features))
        for k, own in enumerate(by_class):
            product = own @ self.inverse[self.blocks[k], : self.blocks[k].stop]
            for j in range(k + 1):
                covariances[:, k, j] = xp.vecdot(product[:, self.blocks[j]], by_class[j])
                covariances[:, j, k] = covariances[:, k, j]
            residual = (variances if variances.ndim == 1 else variances[k, :]) - xp.vecdot(own, own)
            covariances[:, k, k] += xp.astype(xp.where(residual > 0, residual, 0.0), features.dtype, copy=False)
        return covariances


def _times_prior(prior: GramPrior, V: Array) -> Array:
    """Return K_k v_k for V of shape (K, n, t)."""
    xp = array_namespace(V)
    if not prior.is_shared:
        return xp.stack([prior.of_class(k) @ V[k, ...] for k in range(V.shape[0])])
    n_classes, n, t = V.shape  # one product with all columns reads the matrix once
    columns = xp.reshape(xp.permute_dims(V, (1, 0, 2)), (n, n_classes * t))
    return xp.permute_dims(xp.reshape(prior.gram @ columns, (n, n_classes, t)), (1, 0, 2))


def _times_w(proba: Array, V: Array) -> Array:
    """Return W v for V of shape (K, n, t)."""
    pi = proba.mT[:, :, None]
    product = pi * V
    return product - pi * array_namespace(V).sum(product, axis=0, keepdims=True)


def weight_curvature(features: list[Array], proba: Array) -> Array:
    """Return H, with W = diag pi - pi pi^T, from the features of each class, (n, m_k), and pi, (n, K)."""
    return curvature_matrix(features, lambda k, j: proba[:, k] * ((1.0 if j == k else 0.0) - proba[:, j]))


def curvature_matrix(features: list[Array], weight: Callable[[int, int], Array]) -> Array:
    """Return H with the blocks Phi_k^T diag(W_kl) Phi_l, a sum over rows; `weight` returns W_kl, (n,), for l <= k."""
    xp = array_namespace(features[0])
    blocks = consecutive_slices([features_k.shape[1] for features_k in features])
    size = blocks[-1].stop
    H = xp.zeros((size, size), dtype=features[0].dtype, device=device(features[0]))
    for k, block in enumerate(blocks):
        for j in range(k + 1):
            values = features[k].mT @ (weight(k, j)[:, None] * features[j])
            H[block, blocks[j]] = values
            H[blocks[j], block] = values.mT
    return H


def consecutive_slices(sizes: list[int]) -> list[slice]:
    """Return consecutive slices of these sizes."""
    ends = list(accumulate(sizes, initial=0))
    return [slice(start, end) for start, end in pairwise(ends)]
