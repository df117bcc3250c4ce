"""Features whose inner products approximate a kernel (Williams & Seeger 2001)."""

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from oneof.kernels import covariance
from oneof.typing import Array

BLOCK = 4096
"""Rows whose covariances to the landmarks are held at a time."""
SMALLEST = 1e-10
"""Share of the largest eigenvalue below which a direction of the landmarks is left out."""


@dataclass(frozen=True)
class NystroemFeatures:
    """phi(x) = R^T k(Z, x) with R R^T = k(Z, Z)^-1 over m landmarks Z."""

    kernel: Any
    landmarks: Array
    root: Array
    """R, (m, m): its columns are 0 where a direction of the landmarks is lost in rounding."""

    @classmethod
    def of(cls, kernel: Any, landmarks: Array) -> "NystroemFeatures":
        """Take the inverse root of the landmarks' covariances."""
        return cls(kernel, landmarks, inverse_root(covariance(kernel, landmarks)))

    def of_rows(self, X: Array) -> Array:
        """Return phi(x) of n rows, (n, r), worked out in blocks."""
        n = X.shape[0]
        features = None
        for start in range(0, n, BLOCK):
            cross = covariance(self.kernel, X[start : start + BLOCK], self.landmarks)
            xp = array_namespace(cross)
            part = xp.astype(cross, self.root.dtype, copy=False) @ self.root
            if features is None:
                features = xp.empty((n, part.shape[1]), dtype=part.dtype, device=part.device)
            features[start : start + part.shape[0], :] = part
        return features


def inverse_root(gram: Array) -> Array:
    """Return R with R R^T = gram^-1, in double precision, without the directions that are lost in rounding."""
    xp = array_namespace(gram)
    values, vectors = xp.linalg.eigh(xp.astype(gram, xp.float64))
    kept = values > SMALLEST * xp.max(values)
    return vectors * xp.where(kept, 1.0 / xp.sqrt(xp.where(kept, values, 1.0)), 0.0)
