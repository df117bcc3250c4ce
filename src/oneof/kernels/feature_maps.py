"""Feature maps that remove the scale and the shape of the features before a kernel computes distances.

Each map is fitted to NumPy or CSR rows by a function of `MAPS` or `SPARSE_MAPS`, and then called with rows of the same
number of features. The result is dense float64, or CSR from the maps that keep zeros. Maps that standardize drop
constant features. A map that `move_map` has moved to the device of tensors is called with tensors.
"""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_torch_array
from scipy.special import ndtri

from oneof.arrays import as_floats, to_namespace_of
from oneof.errors import InputError
from oneof.kernels.pairwise import check_finite, namespace, squares
from oneof.typing import Array, FeatureMatrix, Floats, Ints

_OVERFLOW = "squares of the features over- or underflow. Scale the features, for example with StandardScaler."
_CONSTANT_RTOL = 1e-12
"""Range of a feature, relative to its largest absolute value, below which it counts as constant."""


FeatureMap: TypeAlias = Callable[[FeatureMatrix], FeatureMatrix]
"""A fitted map of rows."""


@dataclass(frozen=True)
class Standard:
    """z-scores: (x - mean) / standard deviation."""

    columns: Array
    """(d',): the indices of the features that are not constant."""
    mean: Array
    scale: Array

    @classmethod
    def fit(cls, X: FeatureMatrix) -> "Standard":
        """Compute means and standard deviations."""
        X = _dense(X)
        with np.errstate(over="ignore", invalid="ignore"):
            columns = np.flatnonzero(np.ptp(X, axis=0) > _CONSTANT_RTOL * np.abs(X).max(axis=0))
            selected = X[:, columns]
            standard = cls(columns, selected.mean(axis=0), selected.std(axis=0))
        if not (np.isfinite(standard.mean).all() and np.isfinite(standard.scale).all() and (standard.scale > 0).all()):
            raise InputError(_OVERFLOW)
        return standard

    def __call__(self, X: FeatureMatrix) -> Array:
        """Return the (n, d') z-scores."""
        with np.errstate(over="ignore", invalid="ignore"):
            return check_finite((_dense(X)[:, self.columns] - self.mean) / self.scale, _OVERFLOW)


@dataclass(frozen=True)
class NormalQuantiles:
    """z-scores of the normal quantile of u = (#{training rows below x} + #{training rows not above x}) / 2n.

    u is clipped to 1/2n and 1 - 1/2n.
    """

    sorted_features: Array
    """(n, d): the features of the training rows, each sorted."""
    standard: Standard

    @classmethod
    def fit(cls, X: FeatureMatrix) -> "NormalQuantiles":
        """Sort each feature."""
        X = _dense(X)
        sorted_features = np.sort(X, axis=0)
        return cls(sorted_features, Standard.fit(_normal_quantiles(sorted_features, X)))

    def __call__(self, X: FeatureMatrix) -> Array:
        """Return the (n, d') normal quantiles."""
        return self.standard(_normal_quantiles(self.sorted_features, _dense(X)))


@dataclass(frozen=True)
class Spherical:
    """z-scores divided by each row's root mean square, so that only their direction remains, and standardized again."""

    before: Standard
    after: Standard

    @classmethod
    def fit(cls, X: FeatureMatrix) -> "Spherical":
        """Compute means and standard deviations, before and after the division."""
        before = Standard.fit(X)
        return cls(before, Standard.fit(_project_to_sphere(before(X))))

    def __call__(self, X: FeatureMatrix) -> Array:
        """Return the (n, d') directions."""
        return self.after(_project_to_sphere(self.before(X)))


@dataclass(frozen=True)
class L2Normalize:
    """Rows scaled to length 1; zeros stay zeros."""

    def __call__(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the (n, d) scaled rows."""
        X = as_floats(X, "float64")
        X = _divide(X, _max_abs(X, axis=1)[:, None])  # squares can then neither over- nor underflow
        lengths, xp = squares(X).reshape(-1) ** 0.5, namespace(X)
        return _divide(X, xp.where(lengths > 0, lengths, 1.0)[:, None])


@dataclass(frozen=True)
class MaxAbsL2:
    """Features divided by their largest absolute value, rows then scaled to length 1; zeros stay zeros."""

    max_abs: Array
    """(d,); 1 if a feature is always 0."""

    @classmethod
    def fit(cls, X: FeatureMatrix) -> "MaxAbsL2":
        """Compute the largest absolute values."""
        return cls(_max_abs(X, axis=0))

    def __call__(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the (n, d) rows."""
        return L2Normalize()(_divide(as_floats(X, "float64"), self.max_abs[None, :]))


Fit: TypeAlias = Callable[[FeatureMatrix], FeatureMap]
"""Fit a map to rows."""
MAPS: dict[str, Fit] = {"standard": Standard.fit, "quantile": NormalQuantiles.fit, "spherical": Spherical.fit}
"""Maps that give all features the same scale."""
SPARSE_MAPS: dict[str, Fit] = {"l2": lambda _: L2Normalize(), "maxabs_l2": MaxAbsL2.fit}
"""Maps that keep zeros, for rows that are mostly zeros, such as word counts."""
_MAX_DENSE_FEATURES = 5000
_SPARSE_DENSITY, _DENSE_DENSITY = 0.1, 0.5


def move_map(feature_map: Any, rows: Array) -> Any:
    """Return a fitted map with its arrays on the device and in the precision of rows, for calls with tensors."""
    values = vars(feature_map).items()
    moved = {name: (move_map if is_dataclass(value) else to_namespace_of)(value, rows) for name, value in values}
    return replace(feature_map, **moved)


def default_maps(X: FeatureMatrix) -> dict[str, Fit]:
    """Return the maps for rows of this density (fraction of nonzero entries).

    Up to a tenth, or above 5,000 features: the maps that keep zeros, since the others give a rare word the same scale
    as a common one. Above a half: the maps that give all features the same scale. In between: all maps. Features that
    are 0 in all rows do not count, and dense rows have the same maps as equal CSR rows.
    """
    used = count_nonzeros(X)
    n_used, n_entries = int(np.count_nonzero(used)), float(used.sum())
    if n_used > _MAX_DENSE_FEATURES or n_entries <= _SPARSE_DENSITY * X.shape[0] * n_used:
        return SPARSE_MAPS
    return MAPS | SPARSE_MAPS if n_entries <= _DENSE_DENSITY * X.shape[0] * n_used else MAPS


def count_nonzeros(X: FeatureMatrix) -> Ints:
    """Return the number of nonzero entries of each feature, the same for dense and CSR rows."""
    return np.asarray(X.astype(bool).sum(axis=0) if sp.issparse(X) else np.count_nonzero(X, axis=0)).ravel()


def _normal_quantiles(sorted_features: Array, X: Array) -> Array:
    n = sorted_features.shape[0]
    if is_torch_array(X):
        import torch

        columns, values = (rows.mT.contiguous() for rows in (sorted_features, X))
        below, not_above = (torch.searchsorted(columns, values, side=side) for side in ("left", "right"))
        return torch.special.ndtri(((below + not_above).mT.double() / (2.0 * n)).clip(0.5 / n, 1.0 - 0.5 / n))
    ranks = np.empty(X.shape)
    for j in range(X.shape[1]):
        column = np.ascontiguousarray(sorted_features[:, j])
        ranks[:, j] = np.searchsorted(column, X[:, j], "left") + np.searchsorted(column, X[:, j], "right")
    return ndtri(np.clip(ranks / (2.0 * n), 0.5 / n, 1.0 - 0.5 / n))


def _max_abs(X: FeatureMatrix, *, axis: int) -> Array:
    """Return the largest absolute values of features or rows, and 1 if all are 0."""
    xp = namespace(X)
    if sp.issparse(X):
        largest = np.asarray(abs(X).max(axis=axis).toarray()).ravel()
    else:
        largest = xp.max(xp.abs(X), axis=axis)
    return xp.where(largest > 0, as_floats(largest, "float64"), 1.0)


def _divide(X: FeatureMatrix, divisor: Floats) -> FeatureMatrix:
    """Divide features or rows, without inverses, which may be infinite."""
    if not sp.issparse(X):
        return X / divisor
    entries = sp.coo_array(X)
    return sp.csr_array(
        (entries.data / np.broadcast_to(divisor, X.shape)[entries.coords], entries.coords), shape=X.shape
    )


def _project_to_sphere(Z: Array) -> Array:
    with np.errstate(over="ignore"):
        size = (check_finite(squares(Z), _OVERFLOW) / max(Z.shape[1], 1)) ** 0.5
    return Z / array_namespace(Z).where(size > 0, size, 1.0)[:, None]


def _dense(X: FeatureMatrix) -> Array:
    return as_floats(X.toarray() if sp.issparse(X) else X, "float64")
