"""Laplace approximation: determinants, and posterior covariances of the latents, K x K for each row.

`CholeskyFactors` is the reference form (Rasmussen & Williams, section 3.5), with one factor for each class. With
D_k = diag pi_.k, W = D - Pi Pi^T and E_k = D_k^1/2 B_k^-1 D_k^1/2, B_k = I + D_k^1/2 K_k D_k^1/2,

    (K + W^-1)^-1 = E - E J (sum_k E_k)^-1 J^T E,     log |I + K W| = sum_k log |B_k| + log |sum_k E_k|,

where J stacks K identity matrices of size n.
(The book's algorithm 3.3 omits the last term; its equation 3.44 includes it.) For a row x with covariances k_x to the n
training rows,

    cov_kl = [k = l] (k(x, x) - k_x^T E_k k_x) + (E_k k_x)^T (sum_j E_j)^-1 E_l k_x              (algorithm 3.4).

The cost is K n^3 operations and K n^2 numbers.

`WeightCovariance` is the form for a prior covariance given by features. With f_k = Phi_k w_k the weights have the
posterior covariance (I + H)^-1, H_kl = Phi_k^T diag(W_kl) Phi_l, of size sum_k m_k. For a row with features phi_k,
cov_kl = phi_k^T [(I + H)^-1]_kl phi_l. The prior variance of the row that its features do not explain is added to the
variances. So rows far from all landmarks have their full uncertainty.

This module also handles matrices that have no Cholesky factor: `min_jitter` for kernels that are not known to be
positive semi-definite, and `overflow_as_input_error` for kernels whose variance exceeds the floating-point range.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array
from scipy.linalg import cholesky, lapack, solve_triangular

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.solvers.laplace.model import GramPrior
from oneof.typing import Array, Floats

JITTERS = (1e-10, 1e-8, 1e-6)
"""Values added to the diagonal, as fractions of its mean, until there is a Cholesky factor."""
SYMMETRY_TOL = 1e-7
"""Maximum asymmetry of a Gram matrix, as a fraction of its mean variance."""
MAX_VARIANCE = 1e12
"""Maximum prior variance. Above it rounding errors dominate the likelihood, whose latents differ by about 1."""
TOO_LARGE = "the kernel overflows the floating-point range. Scale the features, or lower the kernel's variance."


@dataclass(frozen=True)
class CholeskyFactors:
    """Components of (K + W^-1)^-1."""

    E: list[Array]
    """K matrices of shape (n, n)."""
    root: Array
    """Lower triangular Cholesky factor of sum_k E_k."""
    log_det: float
    """log |I + K W|."""

    @classmethod
    def from_proba(cls, prior: GramPrior, proba: Array) -> "CholeskyFactors":
        """Compute the factors from the class probabilities pi, (n, K)."""
        xp = array_namespace(proba)
        blocks: list[Array] = []
        log_det = 0.0
        identity = xp.eye(proba.shape[0], dtype=proba.dtype, device=device(proba))
        total = xp.zeros_like(identity)
        for k in range(proba.shape[1]):  # in place, since new matrices would take as long as the factorizations
            scale = xp.sqrt(proba[:, k])
            B = xp.asarray(prior.of_class(k), copy=True)
            B *= scale[:, None]
            B *= scale[None, :]
            B += identity
            inverse, log_det_k = inverse_and_log_det(B)
            inverse *= scale[:, None]
            inverse *= scale[None, :]
            blocks.append(inverse)
            total += inverse
            log_det += log_det_k
        root = lower_root(total)
        log_det += 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(root))))
        return cls(blocks, root, log_det)

    def matvec(self, V: Array) -> Array:
        """Return (K + W^-1)^-1 v, for v of shape (n, K)."""
        xp = array_namespace(V)
        product = xp.stack([E @ V[:, k] for k, E in enumerate(self.E)], axis=1)
        shared = solve_lower(self.root, solve_lower(self.root, xp.sum(product, axis=1)[:, None]), transposed=True)
        return product - xp.stack([(E @ shared)[:, 0] for E in self.E], axis=1)

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
            covariances[:, diagonal, diagonal] += xp.stack(remaining, axis=1)
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


# -- factors of matrices ------------------------------------------------------------


def inverse_and_log_det(B: Array) -> tuple[Array, float]:
    """Return the inverse of a positive definite matrix, which is overwritten, and the logarithm of its determinant."""
    if B.shape[0] == 0:
        return B, 0.0
    if is_numpy_array(B):
        potrf, potri = lapack.get_lapack_funcs(("potrf", "potri"), (B,))
        root, failed = potrf(B.T, lower=True, overwrite_a=True, clean=True)  # B.T has LAPACK's order, and equals B
        if failed:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        log_det = 2.0 * float(np.log(np.diagonal(root)).sum())
        inverse, _ = potri(root, lower=True, overwrite_c=True)
        mirror_upper_triangle(inverse.T)
        return inverse.T, log_det
    xp = array_namespace(B)
    root = lower_root(B)
    log_det = 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(root))))
    if is_torch_array(B):
        import torch

        return torch.cholesky_inverse(root), log_det
    return xp.linalg.inv(B), log_det


@compiled
def mirror_upper_triangle(matrix: Floats) -> None:
    """Copy the upper triangle of a square matrix to the lower one, in blocks that fit the caches."""
    n = matrix.shape[0]
    for i0 in range(0, n, 32):
        for j0 in range(i0, n, 32):
            for i in range(i0, min(i0 + 32, n)):
                for j in range(max(j0, i + 1), min(j0 + 32, n)):
                    matrix[j, i] = matrix[i, j]


def lower_root(matrix: Array) -> Array:
    """Return the lower triangular Cholesky factor, or raise NumPy's LinAlgError."""
    if is_numpy_array(matrix):
        return cholesky(matrix, lower=True, check_finite=False)
    try:
        return array_namespace(matrix).linalg.cholesky(matrix)
    except RuntimeError as error:  # torch's LinAlgError is a RuntimeError
        if type(error).__name__ != "LinAlgError":
            raise
        raise np.linalg.LinAlgError(str(error)) from error


def solve_lower(root: Array, right: Array, *, transposed: bool = False) -> Array:
    """Return root^-1 right, or root^-T right, for a lower triangular root."""
    if is_numpy_array(root):
        return solve_triangular(root, right, lower=True, trans=int(transposed), check_finite=False)
    if is_torch_array(root):
        import torch

        return torch.linalg.solve_triangular(root.mT if transposed else root, right, upper=transposed)
    return array_namespace(root).linalg.solve(root.mT if transposed else root, right)


def min_jitter(gram: Array) -> float:
    """Return the minimum jitter, as a fraction of the mean variance, with which a Gram matrix has a Cholesky factor.

    The first value of `JITTERS` is within the rounding errors and is returned as 0.

    Raises
    ------
    InputError
        If the matrix is not symmetric, or no jitter is sufficient.
    """
    xp = array_namespace(gram)
    scale = float(xp.mean(xp.abs(xp.linalg.diagonal(gram))))
    if float(xp.max(xp.abs(gram - gram.mT))) > SYMMETRY_TOL * max(scale, 1e-300):
        raise InputError("`kernel` must be symmetric: k(x, y) and k(y, x) differ.")
    for jitter in JITTERS:
        shifted = gram + jitter * scale * xp.eye(gram.shape[0], dtype=gram.dtype, device=gram.device)
        try:
            root = lower_root(shifted)
        except np.linalg.LinAlgError:
            continue
        if bool(xp.all(xp.isfinite(root))):
            return 0.0 if jitter == JITTERS[0] else jitter
    raise InputError(
        "`kernel` must be positive semi-definite; its Gram matrix has no Cholesky factor even with a jitter of "
        f"{JITTERS[-1]:g} of its mean variance. Choose another kernel (ExpSineSquared takes a single feature only)."
    )


@contextlib.contextmanager
def overflow_as_input_error() -> Iterator[None]:
    """Raise an InputError that explains the cause if a Cholesky factorization fails."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise InputError(TOO_LARGE) from error
