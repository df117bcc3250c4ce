"""Encoder of tables into a fixed number of features, for streams: numbers are standardized, words are hashed."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from oneof.io import TextOptions
from oneof.io.encoder import calendar_features
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_squares

_NUMBERS = ("number", "yes/no", "duration")
"""Kinds of columns with one feature."""
_DEVIATION_RTOL = 16 * np.finfo(np.float64).eps
"""Maximum ratio of standard deviation to mean that is due to rounding."""


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations of each column over the rows so far; NaN is a missing value.

    scikit-learn's StandardScaler has the same statistics, but its mean stays NaN after a block with an empty column.

    Attributes
    ----------
    count, mean, sum_of_squares : ndarray of shape (d,), or 0 before the first block

    References
    ----------
    Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American Statistician 37, eq. 1.5.

    Examples
    --------
    >>> import numpy as np
    >>> moments = Moments().update(np.array([[1.0, np.nan], [3.0, np.nan]])).update(np.array([[5.0, 7.0]]))
    >>> moments.mean.tolist(), moments.count.tolist()
    ([3.0, 7.0], [3.0, 1.0])
    """

    count: Floats | float = 0.0
    mean: Floats | float = 0.0
    sum_of_squares: Floats | float = 0.0

    def update(self, block: Floats) -> "Moments":
        """Return the moments after the rows of a block, (n, d); they are not finite if a square overflows."""
        present = ~np.isnan(block)
        block_count = present.sum(axis=0).astype(float)
        count = self.count + block_count
        fraction = block_count / np.maximum(count, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.where(present, block, 0.0).sum(axis=0) / np.maximum(block_count, 1)
            squares = (np.where(present, block - mean, 0.0) ** 2).sum(axis=0)
            step = mean - self.mean
            sum_of_squares = self.sum_of_squares + squares + step**2 * self.count * fraction
            return Moments(count, self.mean + fraction * step, sum_of_squares)

    def scale(self, block: Floats) -> Floats:
        """Return the block with mean 0 and standard deviation 1; missing numbers and constant columns become 0."""
        deviation = np.sqrt(self.sum_of_squares / np.maximum(self.count, 1))
        divisor = np.where(deviation > _DEVIATION_RTOL * np.abs(self.mean), deviation, 1.0)
        scaled = (block - self.mean) / divisor
        scaled[np.isnan(block)] = 0.0
        return scaled


class StreamEncoder(TransformerMixin, BaseEstimator):
    """Transformer from tables, as `oneof.io.align_columns` returns them, to rows for an online classifier.

    * Numbers, durations and the features of dates (and yes/no as 0 and 1) are standardized by the mean and the standard
      deviation of all rows so far. A missing number is at the mean; a column with missing numbers in the first batch
      has an indicator feature.
    * A category is one feature; a text is the counts of its words, scaled to norm 1. All of these are hashed, with
      random signs, into ``2 ** hash_bits`` columns (Weinberger et al. 2009).

    The rows are dense if all columns are numbers.

    Parameters
    ----------
    columns : list of (name, kind)
    hash_bits : int
    stop_words, stem : optional
        See `oneof.text.make_vectorizer`.

    Attributes
    ----------
    moments_ : Moments
    missing_indicator_ : ndarray of bool
        The columns of numbers that have an indicator feature for missing values.

    References
    ----------
    Weinberger et al. (2009), Feature hashing for large scale multitask learning.
    """

    moments_: Moments
    missing_indicator_: Any

    def __init__(
        self, columns: Sequence[tuple[str, str]], hash_bits: int = 18, stop_words: Any = None, stem: str | None = None
    ) -> None:
        self.columns = columns
        self.hash_bits = hash_bits
        self.stop_words = stop_words
        self.stem = stem

    def fit(self, frame: Any, y: Any = None) -> Self:  # noqa: ARG002 - a step of a pipeline
        """Fit to a single batch."""
        after, _ = self.partial_fit_transform(frame)
        self.moments_, self.missing_indicator_ = after.moments_, after.missing_indicator_
        return self

    def partial_fit_transform(self, frame: Any) -> tuple["StreamEncoder", FeatureMatrix]:
        """Return the encoder updated by a batch, and the batch as rows standardized by all rows so far.

        The batch is included in the moments, so that standardized numbers are bounded: each of n numbers is at most
        sqrt(n) standard deviations from their mean. A new number may be arbitrarily far from the mean of the earlier
        rows. Labels are not used.
        """
        for name in self._named(*_NUMBERS):  # divided by an infinite deviation, all numbers would be 0
            check_squares(frame[name].to_numpy(), f"column {name!r}")
        numbers, after = self._numbers(frame), copy.copy(self)
        after.moments_ = getattr(self, "moments_", Moments()).update(numbers)
        after.missing_indicator_ = getattr(self, "missing_indicator_", np.isnan(numbers).any(axis=0))
        return after, after._rows(frame, numbers)

    def transform(self, frame: Any) -> FeatureMatrix:
        """Return a batch as rows, standardized by the rows of the fit."""
        return self._rows(frame, self._numbers(frame))

    def _numbers(self, frame: Any) -> Floats:
        names = self._named(*_NUMBERS)
        numbers = frame.select(names).to_numpy().astype(np.float64, copy=False).reshape(frame.height, len(names))
        dates = [calendar_features(frame[name].to_numpy()) for name in self._named("date")]
        return np.hstack([numbers, *dates])

    def _rows(self, frame: Any, numbers: Floats) -> FeatureMatrix:
        missing = np.isnan(numbers[:, self.missing_indicator_])
        dense = np.hstack([self.moments_.scale(numbers), missing])
        hashed = [self._hash(frame[name], "=", lambda value: [value]) for name in self._named("category")]
        if texts := self._named("text"):
            analyze = TextOptions(self.stop_words, self.stem).vectorizer().build_analyzer()
            hashed += [self._hash(frame[name], " ", analyze) for name in texts]
        if not hashed:
            return dense
        rows = sp.hstack([sp.csr_matrix(dense), sum(hashed[1:], hashed[0])], format="csr")
        rows.sort_indices()
        return rows

    def _hash(self, cells: Any, separator: str, words_of: Callable[[str], list[str]]) -> Any:
        """Return the counts of the words of each cell as rows of norm 1; words are hashed with the column's name."""
        import polars as pl
        from sklearn.feature_extraction import FeatureHasher
        from sklearn.preprocessing import normalize

        distinct, prefix = cells.unique(maintain_order=True), f"{cells.name}{separator}"
        words = ([prefix + word for word in words_of(value)] for value in distinct.to_list())
        rows = normalize(FeatureHasher(2**self.hash_bits, input_type="string").transform(words), copy=False)
        return rows[cells.cast(pl.Enum(distinct)).to_physical().to_numpy()]

    def _named(self, *kinds: str) -> list[str]:
        return [column[0] for column in self.columns if column[1] in kinds]
