"""Gaussian process priors of the latents, as products with their covariance over the rows.

Products with n x K blocks are nearly all that the mode costs, and reading the matrix is nearly all that they cost. So
each prior keeps a copy in single precision for the products that only look for a direction.

A Gram matrix of low rank maps some coefficients to nothing: rounding gives them a length all the same, and of random
sign. Products with it therefore add a ridge of about the size of its rounding errors, so that no length is negative.
"""

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from oneof.typing import Array

RIDGE = 4.0
"""In units of the largest variance and of the precision of products."""


@dataclass(frozen=True)
class GramPrior:
    """A covariance given by its Gram matrix."""

    gram: Array
    """(n, n), shared by all classes, or (K, n, n)."""
    rough: Array
    """The same in single precision."""
    variance: Array
    """The largest variance: of shape (), or (K,)."""

    @classmethod
    def of(cls, gram: Array) -> "GramPrior":
        """Keep a Gram matrix and its copy."""
        xp = array_namespace(gram)
        largest = xp.max(xp.linalg.diagonal(gram), axis=-1)
        return cls(gram, xp.astype(gram, _single(gram), copy=False), largest)

    @property
    def is_shared(self) -> bool:
        """Whether all classes have one covariance."""
        return self.gram.ndim == 2

    def of_class(self, k: int) -> Array:
        """Return the Gram matrix of a class."""
        return self.gram if self.is_shared else self.gram[k, ...]

    def rough_of_class(self, k: int) -> Array:
        """Return the same in single precision."""
        return self.rough if self.is_shared else self.rough[k, ...]

    def zeros(self, n_classes: int) -> Array:
        """Return latents of 0, (n, K)."""
        return _zeros(self.gram, self.gram.shape[-2], n_classes)

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.gram.shape[-1])

    def largest(self, latents: Array) -> float:
        """Return max |F| over rows and classes."""
        return _largest(latents)

    def product(self, V: Array) -> Array:
        """Return K_k v_k for each class k, (n, K)."""
        return by_class(self.gram, V) + self._ridge(self.gram) * V

    def rough_product(self, V: Array) -> Array:
        """Return the same to single precision."""
        xp = array_namespace(V)
        product = by_class(self.rough, xp.astype(V, self.rough.dtype, copy=False))
        return xp.astype(product, V.dtype, copy=False) + self._ridge(self.rough) * V

    def _ridge(self, gram: Array) -> Array:
        return RIDGE * float(array_namespace(gram).finfo(gram.dtype).eps) * self.variance


@dataclass(frozen=True)
class FeaturePrior:
    """A covariance Phi Phi^T of low rank, given by features of the rows."""

    features: Array
    """Phi: (n, m), shared by all classes, or (K, n, m)."""
    rough: Array

    @classmethod
    def of(cls, features: Array) -> "FeaturePrior":
        """Keep features and their copy."""
        return cls(features, array_namespace(features).astype(features, _single(features), copy=False))

    @property
    def is_shared(self) -> bool:
        """Whether all classes have one covariance."""
        return self.features.ndim == 2

    def of_class(self, k: int) -> Array:
        """Return the features of a class."""
        return self.features if self.is_shared else self.features[k, ...]

    def zeros(self, n_classes: int) -> Array:
        """Return latents of 0, (n, K)."""
        return _zeros(self.features, self.features.shape[-2], n_classes)

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.features.shape[-2])

    def largest(self, latents: Array) -> float:
        """Return max |F| over rows and classes."""
        return _largest(latents)

    def weights(self, V: Array) -> Array:
        """Return Phi_k^T v_k for each class k, (m, K)."""
        return by_class(self.features.mT, V)

    def product(self, V: Array) -> Array:
        """Return Phi_k Phi_k^T v_k for each class k, (n, K)."""
        return by_class(self.features, self.weights(V))

    def rough_product(self, V: Array) -> Array:
        """Return the same to single precision."""
        xp = array_namespace(V)
        weights = by_class(self.rough.mT, xp.astype(V, self.rough.dtype, copy=False))
        return xp.astype(by_class(self.rough, weights), V.dtype, copy=False)


Prior = GramPrior | FeaturePrior


def by_class(matrix: Array, V: Array) -> Array:
    """Return the product of one matrix with all columns, or of each of K matrices with its column."""
    if matrix.ndim == 2:
        return matrix @ V
    return (matrix @ V.mT[:, :, None])[:, :, 0].mT


def _largest(latents: Array) -> float:
    xp = array_namespace(latents)
    return float(xp.max(xp.abs(latents)))


def _zeros(like: Array, n_rows: int, n_classes: int) -> Array:
    return array_namespace(like).zeros((n_rows, n_classes), dtype=like.dtype, device=device(like))


def _single(array: Array) -> Any:
    return array_namespace(array).float32
