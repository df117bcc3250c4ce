"""Columns as features of a fixed number, though the values to come are not known: numbers scaled, words hashed."""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from oneof.errors import InputError
from oneof.stream.moments import Moments
from oneof.tables import Words
from oneof.typing import FeatureMatrix, Floats


class StreamEncoder(TransformerMixin, BaseEstimator):
    """From tables as `oneof.tables.conform` returns them to rows for an online learner.

    Numbers (and yes/no as 0 and 1) get the mean 0 and the deviation 1 of all rows met so far; missing ones are at the
    mean, and columns in which the first batch lacks some have a feature beside that says so. Each category is one
    feature, and each text its words, counted and brought to norm 1; these are hashed, with signs that alternate, into
    ``2 ** hash_bits`` columns for all of them (Weinberger et al. 2009). Rows are dense where there are numbers alone.

    Parameters
    ----------
    columns : list of (name, kind)
    hash_bits : int
    stop_words, stem : optional
        See `oneof.text.make_vectorizer`.

    Attributes
    ----------
    moments_ : Moments
    marked_ : ndarray of bool
        The numbers whose lack is a feature.

    References
    ----------
    Weinberger et al. (2009), Feature hashing for large scale multitask learning.
    """

    moments_: Moments
    marked_: Any

    def __init__(
        self, columns: Sequence[tuple[str, str]], hash_bits: int = 18, stop_words: Any = None, stem: str | None = None
    ) -> None:
        self.columns = columns
        self.hash_bits = hash_bits
        self.stop_words = stop_words
        self.stem = stem

    def fit(self, frame: Any, y: Any = None) -> Self:  # noqa: ARG002 - a step of a pipeline
        """Take in one batch as the first and only one."""
        after, _ = self.take(frame)
        self.moments_, self.marked_ = after.moments_, after.marked_
        return self

    def take(self, frame: Any) -> tuple["StreamEncoder", FeatureMatrix]:
        """Return the encoder after a batch, and the batch as rows that are scaled by all so far, itself included.

        The batch is taken in first, since no number among n lies more than sqrt(n) deviations from their mean, whereas
        one beyond all before could be any number of deviations away. No label plays a part in it.
        """
        numbers = self._numbers(frame)
        after = copy.copy(self)
        if hasattr(self, "moments_"):
            after.moments_ = self.moments_.after(numbers)
        else:
            after.moments_ = Moments.start(numbers.shape[1]).after(numbers)
            after.marked_ = np.isnan(numbers).any(axis=0)
        _check_squares(after.moments_, numbers, self._named("number", "yes/no"))
        return after, after._rows(frame, numbers)

    def transform(self, frame: Any) -> FeatureMatrix:
        """Return a batch as rows, scaled by the rows met so far."""
        return self._rows(frame, self._numbers(frame))

    def _numbers(self, frame: Any) -> Floats:
        return np.asarray(frame.select(self._named("number", "yes/no")).to_numpy(), dtype=np.float64).reshape(
            frame.height, -1
        )

    def _rows(self, frame: Any, numbers: Floats) -> FeatureMatrix:
        lacking = np.isnan(numbers[:, self.marked_])
        dense = np.hstack([self.moments_.scale(numbers), lacking])
        hashed = [self._categories(frame[name]) for name in self._named("category")]
        hashed += [self._texts(frame[name]) for name in self._named("text")]
        if not hashed:
            return dense
        together = hashed[0]
        for part in hashed[1:]:
            together = together + part
        rows = sp.hstack([sp.csr_matrix(dense), together], format="csr")
        rows.sort_indices()
        return rows

    def _categories(self, cells: Any) -> Any:
        distinct = cells.unique(maintain_order=True).to_list()
        code = {value: row for row, value in enumerate(distinct)}
        rows = self._hash([f"{cells.name}={value}"] for value in distinct)
        return rows[[code[value] for value in cells.to_list()]]

    def _texts(self, cells: Any) -> Any:
        from sklearn.preprocessing import normalize

        cut = Words(self.stop_words, self.stem).vectorizer().build_analyzer()
        mark = f"{cells.name} "
        return normalize(self._hash([mark + word for word in cut(text)] for text in cells.to_list()), copy=False)

    def _hash(self, words: Any) -> Any:
        from sklearn.feature_extraction import FeatureHasher

        return FeatureHasher(2**self.hash_bits, input_type="string").transform(words)

    def _named(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.columns if kind in kinds]


def _check_squares(moments: Moments, numbers: Floats, names: Sequence[str]) -> None:
    """Raise if the deviation of a column overflows: divided by it, all its numbers would be 0."""
    for name, square, cells in zip(names, moments.square, numbers.T, strict=True):
        if not np.isfinite(square):
            row = int(np.nanargmax(np.abs(cells)))
            raise InputError(
                f"row {row}: column {name!r} holds {cells[row]:g}, whose square overflows; use smaller numbers, or "
                "leave the cell empty."
            )
