"""Means and deviations of columns that are met block by block, with missing numbers."""

from dataclasses import dataclass

import numpy as np

from oneof.typing import Floats

_NOISE = 16 * np.finfo(np.float64).eps
"""Deviations below this share of the mean are rounding."""


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations of each column over the rows met so far; NaN counts as missing.

    scikit-learn's StandardScaler keeps the same, but a block in which a column is empty makes its mean NaN for good.

    Attributes
    ----------
    count, mean, square : ndarray of shape (d,)

    References
    ----------
    Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American Statistician 37, eq. 1.5.

    Examples
    --------
    >>> import numpy as np
    >>> moments = Moments.start(2).after(np.array([[1.0, np.nan], [3.0, np.nan]])).after(np.array([[5.0, 7.0]]))
    >>> moments.mean.tolist(), moments.count.tolist()
    ([3.0, 7.0], [3.0, 1.0])
    """

    count: Floats
    mean: Floats
    square: Floats

    @classmethod
    def start(cls, n_columns: int) -> "Moments":
        """Return what is known before the first row."""
        return cls(np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns))

    def after(self, block: Floats) -> "Moments":
        """Return the moments with the rows of a block, (n, d), taken in; not finite where squares overflow."""
        known = ~np.isnan(block)
        there = known.sum(axis=0).astype(float)
        count = self.count + there
        share = there / np.maximum(count, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.where(known, block, 0.0).sum(axis=0) / np.maximum(there, 1)
            square = (np.where(known, block - mean, 0.0) ** 2).sum(axis=0)
            step = mean - self.mean
            return Moments(count, self.mean + share * step, self.square + square + step**2 * self.count * share)

    def scale(self, block: Floats) -> Floats:
        """Return the block with mean 0 and deviation 1 so far, missing numbers at the mean; constants become 0."""
        deviation = np.sqrt(self.square / np.maximum(self.count, 1))
        divisor = np.where(deviation > _NOISE * np.abs(self.mean), deviation, 1.0)
        scaled = (block - self.mean) / divisor
        scaled[np.isnan(block)] = 0.0
        return scaled
