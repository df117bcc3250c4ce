"""Weights of the candidates: validation, normalization, and storage of the rows that have them.

A weight w_ik is proportional to the probability of row i's evidence if its true class is k. It is free up to a factor
for each row, so the largest weight of a row is 1. A row whose weights are all 0 or 1 is a candidate set.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates.indicator import is_frame
from oneof.candidates.labels import as_classes, pack_classes
from oneof.errors import LabelError
from oneof.typing import Floats, Labels, Mask
from oneof.validation import check_choice

_TIE_RTOL = 1e-14
"""Relative difference from the largest weight of a row, a few roundings, up to which a weight is equal to it."""


@dataclass(frozen=True)
class RowWeights:
    """The weights of the rows whose candidates do not all have the same weight."""

    is_weighted: Mask
    """(n,): True if the row has weights."""
    values: Floats
    """(m, K): the weights of those rows, in order; the largest of each row is 1."""

    def select(self, rows: Any) -> "RowWeights | None":
        """Return the weights of some rows, selected by a slice, a mask or an array; None if none of them has any."""
        is_weighted = self.is_weighted[rows]
        if not is_weighted.any():
            return None
        position = np.cumsum(self.is_weighted) - 1
        return RowWeights(is_weighted, self.values[position[rows][is_weighted]])

    def over(self, mask: Mask) -> Floats:
        """Return the weights of all rows of an (n, K) mask; those of the other rows are 0 and 1."""
        weights = mask.astype(np.float64)
        weights[self.is_weighted] = self.values
        return weights


def split_weights(weights: Floats) -> tuple[Mask, RowWeights | None]:
    """Return the candidates of valid (n, K) weights, and the weights of the rows that are not 0/1 up to a factor."""
    scaled = weights / weights.max(axis=1, keepdims=True)
    scaled[scaled >= 1.0 - _TIE_RTOL] = 1.0
    mask = scaled > 0
    is_weighted = (mask & (scaled < 1.0)).any(axis=1)
    return mask, RowWeights(is_weighted, scaled[is_weighted]) if is_weighted.any() else None


def check_weights(weights: Floats, name: str = "a weight") -> Floats:
    """Return (n, K) weights; raise unless they are finite, at least 0, and not all 0 in any row."""
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        raise LabelError(
            f"{name} must be a finite number of at least 0; got {weights[row, column].item()!r}. "
            "Give an unlabeled row the same weight for all classes.",
            row=row,
            column=column,
        )
    empty = np.flatnonzero(~weights.any(axis=1))
    if len(empty):
        raise LabelError(
            f"all weights of the row are 0 (such rows: {len(empty)}). Give every row at least one weight above 0; "
            "an unlabeled row has the same weight for all classes.",
            row=int(empty[0]),
            cause="empty set",
        )
    return weights


def read_weights(W: Any, classes: Any, kind: str, prior: Any) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of a matrix of likelihoods or posteriors."""
    check_choice("kind", kind, ("likelihood", "posterior"))
    if is_frame(W):
        classes = pack_classes(list(W.columns)) if classes is None else classes
        W = W.to_numpy()
    weights = np.asarray(W.toarray() if sp.issparse(W) else W, dtype=np.float64)
    known = np.arange(weights.shape[1]) if classes is None else as_classes(classes)
    check_weights(weights)
    if kind == "posterior":
        weights = weights / weights.sum(axis=1, keepdims=True)
        prior = weights.mean(axis=0) if prior is None else np.asarray(prior, dtype=np.float64)
        weights = np.divide(weights, prior, out=np.zeros_like(weights), where=weights > 0)
    return weights, known


def same_weights(first: RowWeights | None, second: RowWeights | None) -> bool:
    """Return whether the same rows have the same weights."""
    if first is None or second is None:
        return first is second
    return np.array_equal(first.is_weighted, second.is_weighted) and np.array_equal(first.values, second.values)
