"""Gaussian process model: the prior of the latents and the likelihood of the candidate sets.

The search for the mode takes nearly all of its time for products of the covariance matrix with n x K blocks. These take
nearly all of their time to read the matrix. Each prior therefore has a copy in single precision, for products that only
determine a search direction.

A Gram matrix of low rank maps some nonzero coefficients to 0. Rounding errors then give their squared norm a small
value of random sign. Products with the matrix therefore add a ridge of about the size of these errors, so that no
squared norm is negative.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace, device

from oneof.likelihoods import log_likelihoods, masked_softmax, softmax, softmax_jvp, support
from oneof.typing import Array

RIDGE = 4.0
"""Ridge in units of the largest variance times the machine epsilon of the products."""
MAX_SEPARATE_COLUMNS = 4
"""Number of columns up to which a product with each of them takes less time than one with all, which BLAS packs."""
ANNEALING_SHARPNESS = (0.1, 1.0, 10.0)
"""Sharpness of the annealing stages that precede a larger one."""
STAGE_TOL = 0.05
"""Tolerance of each annealing stage."""


@dataclass(frozen=True)
class GramPrior:
    """Prior whose covariance is given by its Gram matrix."""

    gram: Array
    """(n, n), shared by all classes, or (K, n, n)."""

    @property
    def is_shared(self) -> bool:
        """Whether all classes have the same covariance."""
        return self.gram.ndim == 2

    @cached_property
    def variance(self) -> Array:
        """Largest variance, of shape () or (K,)."""
        xp = array_namespace(self.gram)
        return xp.max(xp.linalg.diagonal(self.gram), axis=-1)

    @cached_property
    def single(self) -> "GramPrior":
        """Copy in single precision."""
        return GramPrior(as_single(self.gram))

    def of_class(self, k: int) -> Array:
        """Return the Gram matrix of a class."""
        return self.gram if self.is_shared else self.gram[k, ...]

    def matvec(self, V: Array) -> Array:
        """Return K_k v_k for each class k, (n, K), computed in the precision of the Gram matrix."""
        # The transposed matrix, which is equal: BLAS then reads it in the order of its memory.
        product = multiply_by_class(self.gram.mT, V)
        product += self._ridge * V
        return product

    @cached_property
    def _ridge(self) -> Array:
        xp = array_namespace(self.gram)
        ridge = RIDGE * float(xp.finfo(self.gram.dtype).eps) * self.variance
        return float(ridge) if self.is_shared else ridge


@dataclass(frozen=True)
class FeaturePrior:
    """Prior with a covariance Phi Phi^T of low rank, given by features of the rows."""

    features: Array
    """Phi: (n, m), shared by all classes, or (K, n, m)."""

    @cached_property
    def single(self) -> "FeaturePrior":
        """Copy in single precision."""
        return FeaturePrior(as_single(self.features))

    def of_class(self, k: int) -> Array:
        """Return the features of a class."""
        return self.features if self.features.ndim == 2 else self.features[k, ...]

    def latents(self, weights: Array) -> Array:
        """Return F = Phi_k w_k for each class k, (n, K), computed in the precision of the features."""
        return multiply_by_class(self.features, weights)

    def weights(self, V: Array) -> Array:
        """Return Phi_k^T v_k for each class k, (m, K), computed in the precision of the features."""
        return multiply_by_class(self.features.mT, V)

    def matvec(self, V: Array) -> Array:
        """Return Phi_k Phi_k^T v_k for each class k, (n, K)."""
        return self.latents(self.weights(V))


Prior = GramPrior | FeaturePrior


def matvec_by_class(matrix: Array, V: Array) -> Array:
    """Return the product of one matrix with all columns, or of each of K matrices with its column."""
    if matrix.ndim == 3:
        return (matrix @ V.mT[:, :, None])[:, :, 0].mT
    if V.shape[1] > MAX_SEPARATE_COLUMNS:
        return matrix @ V
    return array_namespace(V).stack([matrix @ V[:, k] for k in range(V.shape[1])], axis=1)


def multiply_by_class(matrix: Array, V: Array) -> Array:
    """Return `matvec_by_class` computed in the precision of the matrix, as an array in the precision of V."""
    if matrix.dtype == V.dtype:
        return matvec_by_class(matrix, V)
    xp = array_namespace(V)
    return xp.astype(matvec_by_class(matrix, xp.astype(V, matrix.dtype)), V.dtype)


def as_single(array: Array) -> Array:
    """Return an array in single precision."""
    xp = array_namespace(array)
    return xp.astype(array, xp.float32, copy=False)


def zero_latents(matrix: Array, n_classes: int) -> Array:
    """Return latents of 0, (n, K), of the rows of a Gram matrix or of features."""
    xp = array_namespace(matrix)
    return xp.zeros((matrix.shape[-2], n_classes), dtype=matrix.dtype, device=device(matrix))


def max_abs(latents: Array) -> float:
    """Return max |F| over rows and classes."""
    xp = array_namespace(latents)
    return float(xp.max(xp.abs(latents)))


# -- the likelihood -------------------------------------------------------------------------------------------------


def has_partial_rows(evidence: Array) -> bool:
    """Return whether some row has several candidates."""
    xp = array_namespace(evidence)
    return bool(xp.any(xp.sum(xp.astype(support(evidence), xp.int64), axis=1) > 1))


def annealing_schedule(sharpness: float, *, is_partial: bool) -> list[float]:
    """Return the sharpness of each stage before the last one; empty if every row is exact, since no stage matters."""
    return [level for level in ANNEALING_SHARPNESS if level < sharpness] if is_partial else []


@dataclass(frozen=True)
class Likelihood:
    """Likelihood p(S_i | f_i) = exp(G_L(f_i)) / sum_k exp f_ik of the evidence, with G_L from `oneof.likelihoods`."""

    evidence: Array
    """(n, K): candidate sets, or weights of the candidates; no row has equal weights of all classes."""
    sharpness: float
    """L, above 0; inf for the largest candidate."""

    def value(self, latents: Array) -> float:
        """Return sum_i log p(S_i | f_i)."""
        values = log_likelihoods(latents, self.evidence, self.sharpness)
        return float(array_namespace(values).sum(values))

    def psi(self, coefficients: Array, latents: Array) -> float:
        """Return Psi = sum_i log p(S_i | f_i) - 1/2 sum_k f_k^T K_k^-1 f_k, for coefficients A with F = K A."""
        return self.value(latents) - 0.5 * float(array_namespace(latents).sum(coefficients * latents))

    def derivatives(self, latents: Array) -> "LikelihoodDerivatives":
        """Return the derivatives at these latents."""
        candidate_proba = masked_softmax(latents, self.evidence, self.sharpness)
        return LikelihoodDerivatives(softmax(latents), candidate_proba, self.sharpness)


@dataclass(frozen=True)
class LikelihoodDerivatives:
    """Class probabilities at some latents, which determine all derivatives of the log likelihood."""

    proba: Array
    """pi, (n, K): softmax over all classes."""
    candidate_proba: Array
    """q, (n, K): the gradient of G_L, which is the softmax over the candidates for L = 1, and 0 for other classes."""
    sharpness: float

    @property
    def gradient(self) -> Array:
        """Q - pi, (n, K): gradient of the log likelihood."""
        return self.candidate_proba - self.proba

    def hvp(self, direction: Array) -> Array:
        """Return W_true v with W_true = diag pi - pi pi^T - L (diag q - q q^T), the negative Hessian.

        For L = inf it is W = diag pi - pi pi^T, since the other term vanishes unless candidates tie.
        """
        product = softmax_jvp(self.proba, direction)
        if self.sharpness < float("inf"):
            product -= self.sharpness * softmax_jvp(self.candidate_proba, direction)
        return product

    def __getitem__(self, rows: slice) -> "LikelihoodDerivatives":
        """Return the derivatives of some rows."""
        return LikelihoodDerivatives(self.proba[rows, :], self.candidate_proba[rows, :], self.sharpness)

    def astype(self, dtype: Any) -> "LikelihoodDerivatives":
        """Return a copy in another precision."""
        xp = array_namespace(self.proba)
        proba = xp.astype(self.proba, dtype, copy=False)
        return LikelihoodDerivatives(proba, xp.astype(self.candidate_proba, dtype, copy=False), self.sharpness)
