"""Gaussian process model: the prior of the latents and the likelihood of the candidate sets.

The search for the mode takes nearly all of its time for products of the covariance matrix with n x K blocks. These take
nearly all of their time to read the matrix. Each prior therefore has a float32 copy of the matrix, for products that
only determine a search direction.

A Gram matrix of low rank maps some nonzero coefficients to 0. Rounding errors then give their squared norm a small
value of random sign. Products with the matrix therefore add a ridge of about the size of these errors, so that no
squared norm is negative.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from array_api_compat import array_namespace, device

from oneof.likelihoods import log_likelihoods, masked_softmax, softmax, softmax_jvp
from oneof.solvers.laplace.thin_products import transposed_product
from oneof.typing import Array

RIDGE = 4.0
"""Ridge in units of the largest variance times the machine epsilon of the products."""


@dataclass(frozen=True)
class GramPrior:
    """Prior whose covariance is given by its Gram matrix."""

    gram: Array
    """(n, n), shared by all classes, or (K, n, n)."""
    float32: Array
    """Copy of the Gram matrix in single precision."""
    variance: Array
    """Largest variance, of shape () or (K,)."""

    @classmethod
    def from_gram(cls, gram: Array) -> "GramPrior":
        """Make a prior from a Gram matrix, with its float32 copy."""
        xp = array_namespace(gram)
        variance = xp.max(xp.linalg.diagonal(gram), axis=-1)
        return cls(gram, xp.astype(gram, _single(gram), copy=False), variance)

    @property
    def is_shared(self) -> bool:
        """Whether all classes have the same covariance."""
        return self.gram.ndim == 2

    def of_class(self, k: int) -> Array:
        """Return the Gram matrix of a class."""
        return self.gram if self.is_shared else self.gram[k, ...]

    def float32_of_class(self, k: int) -> Array:
        """Return the Gram matrix of a class in single precision."""
        return self.float32 if self.is_shared else self.float32[k, ...]

    def zeros(self, n_classes: int) -> Array:
        """Return latents of 0, (n, K)."""
        return _zeros(self.gram, self.gram.shape[-2], n_classes)

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return int(self.gram.shape[-1])

    def max_abs(self, latents: Array) -> float:
        """Return max |F| over rows and classes."""
        return _max_abs(latents)

    def matvec(self, V: Array) -> Array:
        """Return K_k v_k for each class k, (n, K)."""
        return rmatvec_by_class(self.gram, V) + self._ridge(self.gram) * V

    def matvec_float32(self, V: Array) -> Array:
        """Return K_k v_k for each class k, computed in single precision."""
        xp = array_namespace(V)
        product = rmatvec_by_class(self.float32, xp.astype(V, self.float32.dtype, copy=False))
        return xp.astype(product, V.dtype, copy=False) + self._ridge(self.float32) * V

    def _ridge(self, gram: Array) -> Array:
        return RIDGE * float(array_namespace(gram).finfo(gram.dtype).eps) * self.variance


@dataclass(frozen=True)
class FeaturePrior:
    """Prior with a covariance Phi Phi^T of low rank, given by features of the rows."""

    features: Array
    """Phi: (n, m), shared by all classes, or (K, n, m)."""
    float32: Array
    """Copy of the features in single precision."""

    @classmethod
    def from_features(cls, features: Array) -> "FeaturePrior":
        """Make a prior from features, with their float32 copy."""
        return cls(features, array_namespace(features).astype(features, _single(features), copy=False))

    @property
    def is_shared(self) -> bool:
        """Whether all classes have the same covariance."""
        return self.features.ndim == 2

    def of_class(self, k: int) -> Array:
        """Return the features of a class."""
        return self.features if self.is_shared else self.features[k, ...]

    def zeros(self, n_classes: int) -> Array:
        """Return latents of 0, (n, K)."""
        return _zeros(self.features, self.features.shape[-2], n_classes)

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return int(self.features.shape[-2])

    def max_abs(self, latents: Array) -> float:
        """Return max |F| over rows and classes."""
        return _max_abs(latents)

    def weights(self, V: Array) -> Array:
        """Return Phi_k^T v_k for each class k, (m, K)."""
        return rmatvec_by_class(self.features, V)

    def matvec(self, V: Array) -> Array:
        """Return Phi_k Phi_k^T v_k for each class k, (n, K)."""
        return matvec_by_class(self.features, self.weights(V))

    def matvec_float32(self, V: Array) -> Array:
        """Return Phi_k Phi_k^T v_k for each class k, computed in single precision."""
        xp = array_namespace(V)
        weights = rmatvec_by_class(self.float32, xp.astype(V, self.float32.dtype, copy=False))
        return xp.astype(matvec_by_class(self.float32, weights), V.dtype, copy=False)


Prior = GramPrior | FeaturePrior


def matvec_by_class(matrix: Array, V: Array) -> Array:
    """Return the product of one matrix with all columns, or of each of K matrices with its column."""
    if matrix.ndim == 2:
        return matrix @ V
    return (matrix @ V.mT[:, :, None])[:, :, 0].mT


def rmatvec_by_class(matrix: Array, V: Array) -> Array:
    """Return the product of one transposed matrix with all columns, or of each of K transposed matrices with its own.

    It takes less time than `matvec_by_class`, which has the same result for a symmetric matrix.
    """
    return transposed_product(matrix, V) if matrix.ndim == 2 else matvec_by_class(matrix.mT, V)


def _max_abs(latents: Array) -> float:
    xp = array_namespace(latents)
    return float(xp.max(xp.abs(latents)))


def _zeros(template: Array, n_rows: int, n_classes: int) -> Array:
    return array_namespace(template).zeros((n_rows, n_classes), dtype=template.dtype, device=device(template))


def _single(array: Array) -> Any:
    return array_namespace(array).float32


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


class HessianOperator(Protocol):
    """Negative Hessian of the log likelihood, as a linear operator on directions."""

    def hvp(self, direction: Array) -> Array:
        """Return the negative Hessian times a direction."""


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

    def hvp_float32(self, direction: Array) -> Array:
        """Return W_true v in full precision, since single precision saves no time here."""
        return self.hvp(direction)

    def precondition(self, residual: Array) -> Array:
        """Return the residual unchanged."""
        return residual
