"""Kernels of transformed features: radial kernels behind a feature map, callables, precomputed Gram matrices, and sums.

All have the methods `transform`, `gram` and `support_rows` that `oneof.solvers.loo_ridge` requires.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_torch_array

from oneof.arrays import as_floats, as_numpy, precision_of
from oneof.errors import InputError
from oneof.jit import compiled
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS, FeatureMap, count_nonzeros, default_maps, move_map
from oneof.kernels.gaussian_process import covariance
from oneof.kernels.pairwise import check_gram, squares, total_variance
from oneof.kernels.svc import Kernel
from oneof.typing import Array, FeatureMatrix, Floats, Ints, Precision
from oneof.validation import check_choice, check_memory

RADIAL = ("rbf", "laplacian")
RBF_GAMMA = 0.3
"""Rate gamma of exp(-gamma d^2 / V), with V the total variance of the rows; the mean of d^2 is 2 V."""
LAPLACIAN_GAMMA = 1.5
"""Rate gamma of exp(-gamma |x - y|_1 / d), for d standardized features."""
_VARIANCE_RTOL = 1e-12
"""Total variance, relative to the mean square of the rows, below which it is rounding and the rows are one point."""
MIN_FLOAT32_ENTRIES = 1_000_000
"""Number of rows times features that are not 0 in all rows, from which kernels are evaluated in float32."""

MappedRows: TypeAlias = Any
"""Rows in the representation of a kernel."""


class RowKernel:
    """A kernel with its own representation of the rows; by default, the rows themselves."""

    def transform(self, X: FeatureMatrix) -> MappedRows:
        """Return the rows in the representation of the kernel."""
        return X

    def gram(self, rows: MappedRows, other_rows: MappedRows | None = None) -> Array:
        """Return k of transformed rows, (n, m); without `other_rows`, of the rows with themselves, as a new array."""
        raise NotImplementedError

    def support_rows(self, rows: MappedRows) -> MappedRows:
        """Return the representation of transformed rows that a fitted model stores."""
        return rows


@dataclass(frozen=True)
class MappedKernel(RowKernel):
    """k(x, y) = exp(-gamma distance(map(x), map(y)) / scale)."""

    feature_map: FeatureMap
    name: str
    """"rbf": squared Euclidean distances; "laplacian": city-block distances, of dense features."""
    scale: float
    dtype: Precision = "float64"
    """Precision of the transformed rows and of the values."""

    @classmethod
    def from_rows(cls, feature_map: FeatureMap, name: str, rows: FeatureMatrix, dtype: Precision) -> "MappedKernel":
        """Compute the scale from transformed rows."""
        scale = total_variance(rows) if name == "rbf" else float(rows.shape[1])
        size = float(squares(rows).mean()) if name == "rbf" else 1.0
        return cls(feature_map, name, scale if scale > _VARIANCE_RTOL * size else 1.0, dtype)

    def transform(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the transformed features."""
        return as_floats(self.feature_map(X), self.dtype)

    def gram(self, rows: FeatureMatrix, other_rows: FeatureMatrix | None = None) -> Array:
        """Return k of transformed rows, (n, m); without `other_rows`, of the rows with themselves.

        Raises
        ------
        InputError
            If distances overflow.
        """
        if self.name == "rbf":
            from sklearn.gaussian_process.kernels import RBF

            # In scikit-learn's form, exp(-d^2 / 2 l^2).
            return covariance(RBF(np.sqrt(0.5 * self.scale / RBF_GAMMA)), rows, other_rows)
        distances = city_block_distances(rows, rows if other_rows is None else other_rows)
        distances *= -LAPLACIAN_GAMMA / self.scale
        return array_namespace(distances).exp(distances, out=distances)


@dataclass(frozen=True)
class CallableKernel(RowKernel):
    """A function k(X, Y) of untransformed rows."""

    kernel: Kernel

    def gram(self, rows: FeatureMatrix, other_rows: FeatureMatrix | None = None) -> Floats:
        """Return the values of the function."""
        if other_rows is not None:
            return self.kernel.gram(rows, other_rows)
        return check_gram(self.kernel.gram(rows, rows), np.arange(rows.shape[0]))


@dataclass(frozen=True)
class PrecomputedGram(RowKernel):
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
        return check_gram(rows, self.used)

    def support_rows(self, rows: FeatureMatrix) -> FeatureMatrix:
        """Return an empty array: new rows are given by their kernel values."""
        return rows[:0]


@dataclass(frozen=True)
class KernelSum(RowKernel):
    """Weighted sum of kernels. Kernels with the same feature map share the transformed rows."""

    kernels: Sequence[RowKernel]
    weights: Floats
    """(number of kernels,)"""
    sources: Sequence[int]
    """For each kernel, the index of its transformed rows."""

    @classmethod
    def from_kernels(cls, kernels: Sequence[RowKernel], weights: Floats) -> "KernelSum":
        """Find the kernels that share a feature map."""
        maps = [id(getattr(kernel, "feature_map", kernel)) for kernel in kernels]
        distinct = list(dict.fromkeys(maps))
        return cls(list(kernels), np.asarray(weights, dtype=np.float64), [distinct.index(key) for key in maps])

    def transform(self, X: FeatureMatrix) -> list[MappedRows]:
        """Return the rows in the representation of each feature map."""
        return [self.kernels[self.sources.index(i)].transform(X) for i in range(max(self.sources) + 1)]

    def support_rows(self, rows: list[MappedRows]) -> list[MappedRows]:
        """Return the representations that a fitted model stores."""
        return [self.kernels[self.sources.index(i)].support_rows(mapped) for i, mapped in enumerate(rows)]

    def gram(self, rows: list[MappedRows], other_rows: list[MappedRows] | None = None) -> Array:
        """Return the weighted sum of the values, as a new array."""
        total = None
        for kernel, weight, source in zip(self.kernels, self.weights, self.sources, strict=True):
            values = kernel.gram(rows[source], None if other_rows is None else other_rows[source])
            if total is None:
                total = values * float(weight)
            else:
                values *= float(weight)
                total += values
        return total


def take_rows(rows: list[MappedRows], index: Any) -> list[MappedRows]:
    """Return some rows of each representation."""
    return [mapped[index] for mapped in rows]


def check_kernel(kernel: Any, features: Any) -> None:
    """Raise unless `kernel` and `features` are valid for `iter_kernels`, alone and together."""
    if not callable(kernel):
        check_choice("kernel", kernel, ("auto", *RADIAL, "precomputed"), ", or a function")
    if features in SPARSE_MAPS and kernel == "laplacian":
        raise InputError(f'`features` must be a map that standardizes with kernel="laplacian"; got {features!r}.')


def iter_kernels(kernel: Any, features: str, rows: FeatureMatrix, used: Ints) -> Iterator[tuple[str, RowKernel]]:
    """Yield the name of each kernel, and the kernel fitted to the rows.

    Parameters
    ----------
    kernel, features
        Parameters of `LOORidge`.
    rows : array, CSR matrix or tensor of shape (n, d)
        CSR rows are made dense for the maps that do not keep zeros. Maps are fitted to a NumPy copy of tensors, and
        then moved to their device; the kernels have their precision.
    used : ndarray
        The indices of all used rows, of which `rows` may be a sample: for the precision, and for kernel="precomputed".

    Raises
    ------
    InputError
        If rows are tensors and the kernel is precomputed or a function.
    """
    tensor = rows if is_torch_array(rows) else None
    if tensor is not None and kernel not in ("auto", *RADIAL):
        names = '"auto", "rbf" or "laplacian"'
        raise InputError(f"`kernel` must be {names} if `X` is a tensor; got {kernel!r}. Pass X.cpu().numpy().")
    if callable(kernel):
        yield "function", CallableKernel(Kernel(kernel, gamma=1.0, degree=1, coef0=0.0))
        return
    if kernel == "precomputed":
        yield "precomputed", PrecomputedGram(used)
        return
    rows = rows if tensor is None else as_numpy(tensor)
    if features != "auto":
        maps = {features: (MAPS | SPARSE_MAPS)[features]}
    else:
        maps = MAPS if kernel == "laplacian" else default_maps(rows)
    dense = rows
    if MAPS.keys() & maps:
        n, d = rows.shape
        check_memory(32.0 * n * d, f"{d} features of {n} rows, not sparse,", 'pass features="l2"')
        dense = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
    n_entries = len(used) * int(np.count_nonzero(count_nonzeros(rows)))
    dtype: Precision = "float32" if n_entries >= MIN_FLOAT32_ENTRIES else "float64"
    for map_name, fit in maps.items():
        source, kinds = (dense, RADIAL) if map_name in MAPS else (rows, ("rbf",))
        feature_map = fit(source)
        mapped = feature_map(source)
        if tensor is not None:
            feature_map, dtype = move_map(feature_map, as_floats(tensor[:1], "float64")), precision_of(tensor)
        for kind in kinds if kernel == "auto" else (kernel,):
            yield f"{map_name}-{kind}", MappedKernel.from_rows(feature_map, kind, mapped, dtype)


def city_block_distances(X: Array, Y: Array) -> Array:
    """Return sum_f |x_if - y_jf|, (n, m), in the precision of the rows.

    The sum of a pair does not depend on the other rows, so that a row has the same distances in every block. SciPy's
    `cdist` computes in float64 and is about four times slower.

    Parameters
    ----------
    X, Y : NumPy array or tensor of shape (n, d) and (m, d)
        In float32 or float64, both in the same precision.
    """
    if is_torch_array(X):
        import torch

        return torch.cdist(X, Y, p=1.0)
    out = np.empty((len(X), len(Y)), dtype=X.dtype)
    _city_block(np.ascontiguousarray(X), np.ascontiguousarray(Y), out)
    return out


@compiled
def _city_block(X: Floats, Y: Floats, out: Floats) -> None:
    for top in range(0, len(Y), 64):  # a tile of rows of Y stays in the cache while all rows of X pass by
        for i in range(len(X)):
            for j in range(top, min(top + 64, len(Y))):
                total = X.dtype.type(0)
                for f in range(X.shape[1]):
                    total += abs(X[i, f] - Y[j, f])
                out[i, j] = total
