"""Nystroem features: inner products that approximate a kernel (Williams & Seeger 2001)."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from array_api_compat import array_namespace

from oneof.kernels.gaussian_process import covariance
from oneof.kernels.svc import Kernel
from oneof.typing import Array, FeatureMatrix

BLOCK_ROWS = 4096
"""Number of rows whose covariances with the landmarks are in memory at a time."""
EIGENVALUE_RTOL = 1e-10
"""Directions of the landmarks whose eigenvalue is a smaller fraction of the largest one are dropped."""


@dataclass(frozen=True)
class NystroemFeatures:
    """Features phi(x) = R^T k(Z, x) with R R^T = k(Z, Z)^-1 over m landmarks Z."""

    kernel: Any
    """A `Kernel`, or one of `sklearn.gaussian_process.kernels`."""
    landmarks: FeatureMatrix
    """Z, (m, d)."""
    root: Array
    """R, (m, m); a column is 0 if rounding errors dominate its direction."""

    @classmethod
    def fit(cls, kernel: Any, landmarks: FeatureMatrix) -> "NystroemFeatures":
        """Compute the inverse root of the covariance matrix of the landmarks."""
        return cls(kernel, landmarks, inverse_root(covariance(kernel, landmarks)))

    def transform(self, X: FeatureMatrix) -> Array:
        """Return the features of n rows, (n, m), computed in blocks."""
        xp = array_namespace(self.root)
        gram = self.kernel.gram if isinstance(self.kernel, Kernel) else partial(covariance, self.kernel)
        features = xp.empty((X.shape[0], self.root.shape[1]), dtype=self.root.dtype, device=self.root.device)
        for start in range(0, X.shape[0], BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            features[block, :] = xp.astype(gram(X[block], self.landmarks), self.root.dtype, copy=False) @ self.root
        return features


def inverse_root(gram: Array, *, symmetric: bool = False) -> Array:
    """Return R with R R^T = gram^-1 in float64, without directions that are dominated by rounding errors.

    The features of the `symmetric` root have similar sizes; those of the other one are orthogonal on the landmarks.
    """
    xp = array_namespace(gram)
    values, vectors = xp.linalg.eigh(xp.astype(gram, xp.float64))
    selected = values > EIGENVALUE_RTOL * xp.max(values)
    root = vectors * xp.where(selected, 1.0 / xp.sqrt(xp.where(selected, values, 1.0)), 0.0)
    if not symmetric:
        return root
    sizes = xp.sqrt(xp.sum(root**2, axis=0))
    return root @ (root / xp.where(sizes > 0.0, sizes, 1.0)).T
