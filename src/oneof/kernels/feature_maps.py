"""Maps of rows that take scale and shape out of the features before a kernel measures distances.

Each learns from the rows of fit by `of`, and is then called with rows of that width; dense float64 comes back, or CSR
from those that keep zeros. Constant features are dropped by the maps that standardize.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from oneof.errors import InputError
from oneof.typing import Array, FeatureMatrix, Floats

_OVERFLOW = "squares of the features over- or underflow: scale the features, for example with StandardScaler."
_CONSTANT = 1e-12
"""Share of its largest absolute value within which a feature counts as constant."""


@dataclass(frozen=True)
class Standard:
    """z-scores: (x - mean) / standard deviation."""

    columns: Array
    """(d',): the features that are kept."""
    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, X: FeatureMatrix) -> "Standard":
        """Learn means and deviations."""
        X = _dense(X)
        with np.errstate(over="ignore", invalid="ignore"):
            columns = np.flatnonzero(np.ptp(X, axis=0) > _CONSTANT * np.abs(X).max(axis=0))
            kept = X[:, columns]
            found = cls(columns, kept.mean(axis=0), kept.std(axis=0))
        if not (np.isfinite(found.mean).all() and np.isfinite(found.scale).all() and (found.scale > 0).all()):
            raise InputError(_OVERFLOW)
        return found

    def __call__(self, X: FeatureMatrix) -> Floats:
        """Return the (n, d') z-scores."""
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite((_dense(X)[:, self.columns] - self.mean) / self.scale)


@dataclass(frozen=True)
class GaussianRank:
    """Ranks made normal: u = (#{rows of fit below x} + #{not above x}) / 2n, and the normal quantile of u, as z-scores.

    u is kept between 1/2n and 1 - 1/2n.
    """

    known: Floats
    """(n, d): the features of the rows of fit, each sorted."""
    standard: Standard

    @classmethod
    def of(cls, X: FeatureMatrix) -> "GaussianRank":
        """Learn the order of the rows in each feature."""
        X = _dense(X)
        known = np.sort(X, axis=0)
        return cls(known, Standard.of(_normal_ranks(known, X)))

    def __call__(self, X: FeatureMatrix) -> Floats:
        """Return the (n, d') normal ranks."""
        return self.standard(_normal_ranks(self.known, _dense(X)))


@dataclass(frozen=True)
class Angle:
    """z-scores divided by each row's root mean square, so that only their direction counts, and standardized again."""

    before: Standard
    after: Standard

    @classmethod
    def of(cls, X: FeatureMatrix) -> "Angle":
        """Learn means and deviations, before and after."""
        before = Standard.of(X)
        return cls(before, Standard.of(_on_a_sphere(before(X))))

    def __call__(self, X: FeatureMatrix) -> Floats:
        """Return the (n, d') directions."""
        return self.after(_on_a_sphere(self.before(X)))


@dataclass(frozen=True)
class UnitRows:
    """Rows scaled to length 1; zeros stay zeros."""

    @classmethod
    def of(cls, X: FeatureMatrix) -> "UnitRows":
        """Learn nothing."""
        del X
        return cls()

    def __call__(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the (n, d) rows."""
        X = _divided(X.astype(np.float64), _largest(X, axis=1)[:, None])  # so that no square over- or underflows
        squares = np.asarray(X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)).ravel()
        return _divided(X, np.where(squares > 0, np.sqrt(squares), 1.0)[:, None])


@dataclass(frozen=True)
class ScaledUnitRows:
    """Features divided by their largest absolute value, rows then scaled to length 1; zeros stay zeros."""

    largest: Floats
    """(d,); 1 where a feature is always 0."""

    @classmethod
    def of(cls, X: FeatureMatrix) -> "ScaledUnitRows":
        """Learn the largest absolute values."""
        return cls(_largest(X, axis=0))

    def __call__(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the (n, d) rows."""
        return UnitRows()(_divided(X.astype(np.float64), self.largest[None, :]))


MAPS: dict[str, Any] = {"standard": Standard, "rank": GaussianRank, "angle": Angle}
"""Maps that make all features alike."""
SPARSE_MAPS: dict[str, Any] = {"unit": UnitRows, "scaled_unit": ScaledUnitRows}
"""Maps that keep zeros, for rows that are mostly zeros, such as counts of words."""
_MOST_FEATURES = 5000
_MOSTLY_ZEROS, _HALF_ZEROS = 0.1, 0.5


def suited_maps(X: FeatureMatrix) -> dict[str, Any]:
    """Return the maps that suit rows, by the share of entries that are not 0.

    Up to a tenth, or above 5,000 features, those that keep zeros: to the others a rare word is as large as any. Above
    a half, those that make all features alike. Between, all of them. Features that are 0 throughout do not count, and
    dense rows and the same rows as CSR have one answer.
    """
    used = np.asarray(X.astype(bool).sum(axis=0) if sp.issparse(X) else np.count_nonzero(X, axis=0)).ravel()
    n_used, n_entries = int(np.count_nonzero(used)), float(used.sum())
    if n_used > _MOST_FEATURES or n_entries <= _MOSTLY_ZEROS * X.shape[0] * n_used:
        return SPARSE_MAPS
    return MAPS | SPARSE_MAPS if n_entries <= _HALF_ZEROS * X.shape[0] * n_used else MAPS


def _normal_ranks(known: Floats, X: Floats) -> Floats:
    n, ranks = len(known), np.empty(X.shape)
    for j in range(X.shape[1]):
        column = np.ascontiguousarray(known[:, j])
        ranks[:, j] = np.searchsorted(column, X[:, j], "left") + np.searchsorted(column, X[:, j], "right")
    return ndtri(np.clip(ranks / (2.0 * n), 0.5 / n, 1.0 - 0.5 / n))


def _largest(X: FeatureMatrix, *, axis: int) -> Floats:
    """Return the largest absolute values of features or rows, and 1 where all are 0."""
    largest = abs(X).max(axis=axis)
    largest = np.asarray(largest.toarray() if sp.issparse(largest) else largest, dtype=np.float64).ravel()
    return np.where(largest > 0, largest, 1.0)


def _divided(X: FeatureMatrix, by: Floats) -> FeatureMatrix:
    """Divide features or rows; not multiply by inverses, which may be infinite."""
    if not sp.issparse(X):
        return X / by
    entries = sp.coo_array(X)
    return sp.csr_array((entries.data / np.broadcast_to(by, X.shape)[entries.coords], entries.coords), shape=X.shape)


def _on_a_sphere(Z: Floats) -> Floats:
    with np.errstate(over="ignore"):
        size = np.sqrt(_finite(np.einsum("ij,ij->i", Z, Z)) / max(Z.shape[1], 1))[:, None]
    return Z / np.where(size > 0, size, 1.0)


def _dense(X: FeatureMatrix) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise InputError(_OVERFLOW)
    return values
