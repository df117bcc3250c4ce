"""What a linear model sees of one view of a row: its features, centered and in one unit, or kernels with other rows."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.kernels import Kernel
from oneof.typing import FeatureMatrix, Floats, Ints

_ROUNDING = 1e-12
"""Share of a feature's mean square below which its variance counts as 0."""


@dataclass(frozen=True)
class ViewFeatures:
    """From rows to the features of one view.

    The model does not depend on where features have their origin, as long as it has an intercept, nor on their common
    unit: the precisions take it up. The arithmetic does, so that features are brought to mean 0, where they are dense,
    and all of them together to a mean variance of 1. Differences of unit between features stay as they are.

    Attributes
    ----------
    columns : ndarray of column numbers or None
        Of the view; None for all.
    kernel, basis
        With kernel features those of k(x, basis_j), else None.
    power : int
        Features are divided by 2^power before all else: 0 but for features that are extremely large or small.
    offset : ndarray of shape (p,) or None
        What is subtracted then.
    scale : float
        By which features are divided in the end.
    has_constant : bool
        Whether a constant feature 1 is added, as the last.
    """

    columns: Ints | None
    kernel: Kernel | None
    basis: FeatureMatrix | None
    power: int
    offset: Floats | None
    scale: float
    has_constant: bool

    @classmethod
    def of(
        cls,
        rows: FeatureMatrix,
        weight: Floats,
        *,
        columns: Ints | None = None,
        kernel: Kernel | None = None,
        basis: FeatureMatrix | None = None,
        has_constant: bool = True,
    ) -> "ViewFeatures":
        """Find origin and unit from distinct rows of the view, (m, p), and their weights."""
        raw = _kernel_or_raw(rows, kernel, basis)
        power = _power(raw)
        raw = _divided(raw, power)
        mean, square, variance = _moments(raw, weight)
        if sp.issparse(raw) or not has_constant:
            offset = None
        else:  # a constant feature becomes exactly 0, which its mean may miss by rounding
            offset = np.where((raw == raw[0]).all(axis=0), raw[0], mean)
        varied = variance > _ROUNDING * square  # constant features have no say in the unit
        scale = float(np.sqrt(variance[varied].mean())) if varied.any() else 1.0
        return cls(columns, kernel, basis, power, offset, scale, has_constant)

    @property
    def unit(self) -> float:
        """By how much features are divided."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(self.scale, self.power))

    def instances(self, rows: FeatureMatrix) -> FeatureMatrix:
        """Return the features of rows that have the view, (t, p) or, with a constant, (t, p + 1), in float64."""
        return self.of_part(rows if self.columns is None else rows[:, self.columns])

    def of_part(self, part: FeatureMatrix) -> FeatureMatrix:
        """Return the features of rows of which only the view's columns are given."""
        plain = _divided(_kernel_or_raw(part, self.kernel, self.basis), self.power)
        if sp.issparse(plain) and self.offset is not None:  # fit had dense rows, which were centered
            plain = plain.toarray()
        if sp.issparse(plain):
            plain = plain / self.scale
            if self.has_constant:
                plain = sp.hstack([plain, np.ones((plain.shape[0], 1))])
            return sp.csr_array(plain)
        plain = (plain if self.offset is None else plain - self.offset) / self.scale
        return np.column_stack([plain, np.ones(len(plain))]) if self.has_constant else plain

    def in_units_of_rows(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return weights, (K - 1, p), and intercepts for features that are neither centered nor divided.

        Raises
        ------
        InputError
            If features are so small that their weights are no numbers.
        """
        slopes = (weights[:, :-1] if self.has_constant else weights) / self.scale
        intercept = weights[:, -1].copy() if self.has_constant else np.zeros(len(weights))
        if self.offset is not None:
            intercept -= slopes @ self.offset
        with np.errstate(over="ignore", under="ignore"):
            weights = np.ldexp(slopes, -self.power)
        if not np.isfinite(weights).all():
            raise InputError("the weights overflow: scale the features, for example with StandardScaler.")
        return weights, intercept


def _kernel_or_raw(part: FeatureMatrix, kernel: Kernel | None, basis: FeatureMatrix | None) -> FeatureMatrix:
    values = part if kernel is None or basis is None else kernel.gram(part, basis)
    return values.astype(np.float64, copy=False)


def _power(values: FeatureMatrix) -> int:
    stored = values.data if sp.issparse(values) else values
    largest = float(max(stored.max(initial=0.0), -stored.min(initial=0.0)))
    power = int(np.frexp(largest)[1])
    return power if abs(power) > 256 else 0  # within, neither squares nor sums of them overflow or vanish


def _divided(values: FeatureMatrix, power: int) -> FeatureMatrix:
    if power == 0:
        return values
    with np.errstate(over="ignore", under="ignore"):
        if sp.issparse(values):
            out = values.copy()
            out.data = np.ldexp(out.data, -power)
            return out
        return np.ldexp(values, -power)


def _moments(values: FeatureMatrix, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the weighted means of the features, of their squares, and their variances."""
    share = weight / weight.sum()
    mean = np.asarray(values.T @ share).ravel()
    square = np.asarray((values.multiply(values) if sp.issparse(values) else values**2).T @ share).ravel()
    if sp.issparse(values):
        return mean, square, np.maximum(square - mean**2, 0.0)
    return mean, square, np.asarray(share @ (values - mean) ** 2)
