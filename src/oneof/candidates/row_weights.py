"""Weights of the candidates: normalization, storage of the rows that have them, and noise.

A weight w_ik is proportional to the probability of row i's evidence if its true class is k. It is free up to a factor
for each row, so the largest weight of a row is 1. A row whose weights are all 0 or 1 is a candidate set.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.candidates.levels import LevelSets
from oneof.errors import InputError, LabelError
from oneof.typing import Evidence, Floats, Mask
from oneof.validation import as_float_array

_TIE_RTOL = 1e-14
"""Relative difference of two weights of a row, a few roundings, up to which they are equal."""
MIN_STORED_WEIGHT = float(np.finfo(np.float64).tiny)
"""The smallest weight above 0, relative to the largest of its row; its inverse and its logarithm are finite."""
MAX_PLAUSIBLE_SUM = 2.0
"""Maximum sum of probabilities that a person or a language model chose; percentages have larger ones."""


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


def scale_rows(weights: Floats) -> Floats:
    """Return valid (n, K) weights with row maxima of 1, in which no weight above 0 underflows to 0."""
    scaled = weights / weights.max(axis=1, keepdims=True)
    np.maximum(scaled, MIN_STORED_WEIGHT, out=scaled, where=weights > 0)
    return scaled


def split_weights(weights: Floats) -> tuple[Mask, RowWeights | None]:
    """Return the candidates of valid (n, K) weights, and the weights of the rows that are not 0/1 up to a factor."""
    mask = weights > 0
    scaled = scale_rows(weights)
    scaled[scaled >= 1.0 - _TIE_RTOL] = 1.0
    is_weighted = np.asarray((mask & (scaled < 1.0)).any(axis=1))
    return mask, RowWeights(is_weighted, _merge_ties(scaled[is_weighted])) if is_weighted.any() else None


def _merge_ties(weights: Floats) -> Floats:
    """Return (m, K) weights in which those that differ from a larger one by roundings are equal to it."""
    ranked = -np.sort(-weights, axis=1)
    tied = (ranked[:, 1:] < ranked[:, :-1]) & (ranked[:, 1:] >= ranked[:, :-1] * (1.0 - _TIE_RTOL))
    rows = np.flatnonzero(tied.any(axis=1))
    if len(rows):
        order, ranked = np.argsort(-weights[rows], axis=1), ranked[rows]
        for previous, value in zip(ranked.T[:-1], ranked.T[1:]):
            np.copyto(value, previous, where=value >= previous * (1.0 - _TIE_RTOL))
        merged = np.empty_like(ranked)
        np.put_along_axis(merged, order, ranked, axis=1)
        weights[rows] = merged
    return weights


def same_weights(first: RowWeights | None, second: RowWeights | None) -> bool:
    """Return whether the same rows have the same weights."""
    if first is None or second is None:
        return first is second
    return np.array_equal(first.is_weighted, second.is_weighted) and np.array_equal(first.values, second.values)


def soften_weights(evidence: Evidence, noise_rate: Any) -> Floats:
    """Return the (n, K) likelihoods of the evidence if its sets exclude the true class with some probability.

    A set of s < K classes that holds the true class with probability 1 - e, all sets of this size with equal
    probability, has the likelihood (1 - e) / C(K-1, s-1) inside and e / C(K-1, s) outside. The ratio of the second to
    the first is e / (1 - e) * s / (K - s). The likelihood of weights is the sum of those of their level sets, times
    their masses.
    """
    n, n_classes = evidence.shape
    rate = as_float_array(noise_rate, "noise_rate")
    if rate.ndim > 1 or rate.shape not in ((), (n,)):
        raise InputError(f"`noise_rate` must be a number, or one number for each of the {n} rows; got {noise_rate!r}.")
    rate = np.broadcast_to(rate, n)
    wrong = np.flatnonzero(~((rate >= 0) & (rate < 1)))
    if len(wrong):
        raise InputError(
            f"`noise_rate` must be at least 0 and below 1; got {rate[wrong[0]].item()!r}.",
            row=int(wrong[0]) if np.ndim(noise_rate) else None,
        )
    levels = LevelSets.from_evidence(evidence)
    size = np.count_nonzero(levels.mask, axis=1)
    error = rate[levels.row]
    outside = levels.mass * (error / (1.0 - error)) * (size / (n_classes - size))
    softened = evidence.astype(np.float64)
    np.add.at(softened, levels.row, np.where(levels.mask, 0.0, outside[:, None]))
    return softened


def zero_weights(row: int | None, n_rows: int = 1) -> LabelError:
    """Return the error for a row, the first of several, whose weights are all 0."""
    return LabelError(
        f"all weights of the row are 0 (such rows: {n_rows}). Give every row at least one weight above 0; an "
        "unlabeled row has the same weight for all classes.",
        row=row,
        cause="empty set",
    )


def invalid_weight(row: int | None, label: Any, weight: Any) -> LabelError:
    """Return the error for a weight of a label that is negative or not finite."""
    remedy = "If the weights are logarithms, write exp(weight)." if weight < 0 else "Use None for an unlabeled row."
    return LabelError(
        f"the weight of {label!r} must be a finite number of at least 0; got {weight!r}. {remedy}",
        row=row,
        label=label,
    )


def no_rest(row: int | None, total: float, n_rows: int = 1) -> LabelError:
    """Return the error for a row with a sum of weights above `MAX_PLAUSIBLE_SUM`, which has no rest."""
    return LabelError(
        f"the weights of the row sum to {total:.6g} (such rows: {n_rows}), but a rest requires probabilities, "
        "whose sum is about 1. Write percentages with a percent sign, or divide them by 100; or omit `rest` "
        "(--rest), so that only the ratios of the weights matter and other classes are ruled out.",
        row=row,
    )
