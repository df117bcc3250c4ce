"""Kernels of a distance whose width is taken from the spread of the rows, behind a map of the features."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from oneof.errors import InputError
from oneof.kernels.gaussian_process import covariance
from oneof.kernels.rows import squares
from oneof.kernels.spread import total_variance
from oneof.typing import FeatureMatrix, Floats

RADIAL = ("rbf", "laplacian")
RBF_RATE = 0.3
"""Of exp(-rate d^2 / V), V the total variance of the rows, of which d^2 is twice on average."""
LAPLACIAN_RATE = 1.5
"""Of exp(-rate |x - y|_1 / d), for d standardized features."""
_LEAST_SPREAD = 1e-12
"""Share of the rows' mean square below which their spread is rounding, and they count as one point."""
_TILE = 1024


@dataclass(frozen=True)
class MappedKernel:
    """k(x, y) = exp(-rate distance(map(x), map(y)) / spread)."""

    feature_map: Any
    """One of `oneof.kernels.feature_maps`."""
    name: str
    """"rbf": squared Euclidean distances; "laplacian": city-block distances, of dense features."""
    spread: float

    @classmethod
    def of(cls, feature_map: Any, name: str, mapped: FeatureMatrix) -> "MappedKernel":
        """Take the spread of mapped rows."""
        spread = total_variance(mapped) if name == "rbf" else float(mapped.shape[1])
        size = float(squares(mapped).mean()) if name == "rbf" else 1.0
        return cls(feature_map, name, spread if spread > _LEAST_SPREAD * size else 1.0)

    def mapped(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the features between which distances are taken."""
        return self.feature_map(X)

    def kept(self, mapped: FeatureMatrix) -> FeatureMatrix:
        """Return the features between which distances are taken."""
        return mapped

    def gram(self, mapped: FeatureMatrix, others: FeatureMatrix | None = None) -> Floats:
        """Return k of mapped rows, (n, m); without `others`, of the rows with themselves, exactly symmetric.

        Raises
        ------
        InputError
            If distances overflow, or city-block distances of sparse rows are asked for.
        """
        if mapped.shape[1] == 0:
            return np.ones((mapped.shape[0], mapped.shape[0] if others is None else others.shape[0]))
        if self.name == "rbf":
            from sklearn.gaussian_process.kernels import RBF

            # In scikit-learn's form, exp(-d^2 / 2 l^2).
            return covariance(RBF(np.sqrt(0.5 * self.spread / RBF_RATE)), mapped, others)
        if sp.issparse(mapped):
            raise InputError('kernel="laplacian" takes features="standard", "rank" or "angle".')
        return _laplacian(mapped, mapped if others is None else others, self.spread, symmetric=others is None)


def _laplacian(X: Floats, Y: Floats, spread: float, *, symmetric: bool) -> Floats:
    gram = np.empty((len(X), len(Y)))
    for top in range(0, len(X), _TILE):
        here = slice(top, top + _TILE)
        for left in range(0, top + 1 if symmetric else len(Y), _TILE):
            there = slice(left, left + _TILE)
            tile = cdist(X[here], Y[there], "cityblock")
            tile *= -LAPLACIAN_RATE / spread
            gram[here, there] = np.exp(tile, out=tile)
            if symmetric:
                gram[there, here] = tile.T
    return gram
