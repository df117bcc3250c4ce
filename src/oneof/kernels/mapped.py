"""Kernels of transformed features: radial kernels behind a feature map, callables and precomputed Gram matrices.

All have the methods `transform`, `gram` and `support_rows` that `oneof.solvers.loo_ridge` requires.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from oneof.errors import InputError
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS, FeatureMap, default_maps
from oneof.kernels.gaussian_process import covariance
from oneof.kernels.pairwise import check_gram, check_square, squares, total_variance
from oneof.kernels.svc import Kernel
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_memory

RADIAL = ("rbf", "laplacian")
RBF_GAMMA = 0.3
"""Rate gamma of exp(-gamma d^2 / V), with V the total variance of the rows; the mean of d^2 is 2 V."""
LAPLACIAN_GAMMA = 1.5
"""Rate gamma of exp(-gamma |x - y|_1 / d), for d standardized features."""
_VARIANCE_RTOL = 1e-12
"""Total variance, relative to the mean square of the rows, below which it is rounding and the rows are one point."""
_TILE = 1024


@dataclass(frozen=True)
class MappedKernel:
    """k(x, y) = exp(-gamma distance(map(x), map(y)) / scale)."""

    feature_map: FeatureMap
    name: str
    """"rbf": squared Euclidean distances; "laplacian": city-block distances, of dense features."""
    scale: float

    @classmethod
    def from_rows(cls, feature_map: FeatureMap, name: str, rows: FeatureMatrix) -> "MappedKernel":
        """Compute the scale from transformed rows."""
        scale = total_variance(rows) if name == "rbf" else float(rows.shape[1])
        size = float(squares(rows).mean()) if name == "rbf" else 1.0
        return cls(feature_map, name, scale if scale > _VARIANCE_RTOL * size else 1.0)

    def transform(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the transformed features."""
        return self.feature_map(X)

    def support_rows(self, rows: FeatureMatrix) -> FeatureMatrix:
        """Return the transformed features."""
        return rows

    def gram(self, rows: FeatureMatrix, other_rows: FeatureMatrix | None = None) -> Floats:
        """Return k of transformed rows, (n, m); without `other_rows`, of the rows with themselves, exactly symmetric.

        Raises
        ------
        InputError
            If distances overflow, or the kernel is "laplacian" and the rows are sparse.
        """
        if rows.shape[1] == 0:
            return np.ones((rows.shape[0], rows.shape[0] if other_rows is None else other_rows.shape[0]))
        if self.name == "rbf":
            from sklearn.gaussian_process.kernels import RBF

            # In scikit-learn's form, exp(-d^2 / 2 l^2).
            gram: Floats = covariance(RBF(np.sqrt(0.5 * self.scale / RBF_GAMMA)), rows, other_rows)
            return gram
        if sp.issparse(rows):
            raise InputError('kernel="laplacian" requires features="standard", "quantile" or "spherical".')
        return _laplacian(rows, rows if other_rows is None else other_rows, self.scale, symmetric=other_rows is None)


@dataclass(frozen=True)
class CallableKernel:
    """A function k(X, Y) of untransformed rows."""

    kernel: Kernel

    def transform(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the rows."""
        return X

    def gram(self, rows: FeatureMatrix, other_rows: FeatureMatrix | None = None) -> Floats:
        """Return the values of the function."""
        if other_rows is not None:
            return self.kernel.gram(rows, other_rows)
        gram = check_gram(self.kernel.gram(rows, rows), np.arange(rows.shape[0]))
        return np.array(gram, order="C")  # a copy, since the caller overwrites it and the function may own it

    def support_rows(self, rows: FeatureMatrix) -> FeatureMatrix:
        """Return the rows."""
        return rows


@dataclass(frozen=True)
class PrecomputedGram:
    """Rows given by their kernel values with the training rows; only some of the latter are used."""

    used: Ints
    """The indices of the used rows."""

    def transform(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the columns of the used rows."""
        return X[:, self.used]

    def gram(self, rows: FeatureMatrix, other_rows: FeatureMatrix | None = None) -> Floats:
        """Return the given values."""
        if other_rows is not None:
            return np.asarray(rows)
        return np.array(check_gram(rows, self.used), dtype=np.float64, order="C")

    def support_rows(self, rows: FeatureMatrix) -> FeatureMatrix:
        """Return an empty array: new rows are given by their kernel values."""
        return rows[:0]


def check_kernel(kernel: Any, features: Any) -> None:
    """Raise unless `kernel` and `features` are valid for `iter_kernels`, alone and together."""
    names = ("auto", *RADIAL)
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in (*names, "precomputed")):
        raise InputError(f"`kernel` must be one of {', '.join(names)}, precomputed, or a function; got {kernel!r}.")
    choices = ("auto", *MAPS, *SPARSE_MAPS)
    if not (isinstance(features, str) and features in choices):
        raise InputError(f"`features` must be one of {', '.join(choices)}; got {features!r}.")
    if features in SPARSE_MAPS and kernel == "laplacian":
        raise InputError(
            f'`features` must be "auto", "standard", "quantile" or "spherical" with kernel="laplacian"; '
            f"got {features!r}."
        )


def iter_kernels(
    kernel: Any, features: str, rows: FeatureMatrix, used: Ints
) -> Iterator[tuple[str, tuple[Any, FeatureMatrix]]]:
    """Yield the name of each kernel to be fitted, with the kernel and the used rows in its representation.

    CSR rows are made dense for the maps that do not keep zeros.
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        check_square(rows.shape)
        precomputed = PrecomputedGram(used)
        yield "precomputed", (precomputed, precomputed.transform(rows[used]))
        return
    used_rows = rows if len(used) == rows.shape[0] else rows[used]
    if callable(kernel):
        function = Kernel.from_rows(kernel, used_rows, gamma="auto", degree=1, coef0=0.0)
        yield "function", (CallableKernel(function), used_rows)
        return
    kinds = RADIAL if kernel == "auto" else (kernel,)
    if features != "auto":
        maps = {features: (MAPS | SPARSE_MAPS)[features]}
    else:
        maps = MAPS if kernel == "laplacian" else default_maps(used_rows)
    dense = _as_dense(used_rows) if any(name in MAPS for name in maps) else None
    for map_name, map_class in maps.items():
        source = dense if map_name in MAPS else used_rows
        feature_map = map_class.fit(source)
        mapped = feature_map(source)
        for kind in kinds if map_name in MAPS else ("rbf",):
            yield f"{map_name}-{kind}", (MappedKernel.from_rows(feature_map, kind, mapped), mapped)


def _laplacian(X: Floats, Y: Floats, scale: float, *, symmetric: bool) -> Floats:
    gram = np.empty((len(X), len(Y)))
    for top in range(0, len(X), _TILE):
        block = slice(top, top + _TILE)
        for left in range(0, top + 1 if symmetric else len(Y), _TILE):
            other = slice(left, left + _TILE)
            tile = cdist(X[block], Y[other], "cityblock")
            tile *= -LAPLACIAN_GAMMA / scale
            gram[block, other] = np.exp(tile, out=tile)
            if symmetric:
                gram[other, block] = tile.T
    return gram


def _as_dense(rows: FeatureMatrix) -> Floats:
    n, d = rows.shape
    check_memory(32.0 * n * d, f"{d} features of {n} rows, not sparse,", 'pass features="l2"')
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
