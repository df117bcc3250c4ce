"""Means of the scores over the candidates of each row, the first term of the loss, for sets and for weights.

A row with weights has a mean for each of its level sets (`oneof.candidates.LevelSets`). As these are nested, all means
of a row, and all sums over the sets that have a class, cost one pass over its candidates.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from oneof.candidates import LevelSets
from oneof.jit import compiled
from oneof.typing import Evidence, Floats, Ints, Mask


@dataclass(frozen=True)
class SetMeans:
    """One mean per row, over its candidate set."""

    fraction: Floats
    """(n, K): 1/|S_i| in the set and 0 outside, so that the mean over the set is a sum."""

    def means(self, scores: Floats) -> Floats:
        """Return the mean score of each set, (n, 1)."""
        return np.einsum("ik,ik->i", self.fraction, scores)[:, None]

    def spread(self, values: Floats) -> Floats:
        """Return the values of the sets, (n, 1), times the derivatives of the means by the scores, (n, K)."""
        return self.fraction * values

    def spread_squares(self, values: Floats) -> Floats:
        """Return the values of the sets, (n, 1), times the squared derivatives of the means by the scores, (n, K)."""
        return self.fraction**2 * values

    def of_sets(self, values: Floats) -> Floats:
        """Return the values of the rows, (n, 1), for each set."""
        return values

    def of_rows(self, values: Floats) -> Floats:
        """Return the sum over the sets of each row, (n, 1)."""
        return values

    def take(self, rows: Ints) -> "SetMeans":
        """Return the means of some rows."""
        return SetMeans(self.fraction[rows])


@dataclass(frozen=True)
class LevelMeans:
    """One mean per level set; each counts with its mass wherever it is summed over the sets of a row."""

    order: Ints
    """(n, K): the classes of each row by decreasing weight."""
    start: Ints
    """(n + 1,): the first level set of each row."""
    size: Ints
    """(L,): number of classes of each set, the first ones of its row in `order`."""
    row: Ints
    """(L,)."""
    mass: Floats
    """(L, 1)."""

    @classmethod
    def from_weights(cls, weights: Floats) -> "LevelMeans":
        """Return the means of (n, K) weights, of rows that are not unlabeled."""
        levels = LevelSets.from_evidence(weights)
        order = np.argsort(-weights, axis=1, kind="stable")
        start = np.searchsorted(levels.row, np.arange(len(weights) + 1))
        return cls(order, start, levels.mask.sum(axis=1), levels.row, levels.mass[:, None])

    def means(self, scores: Floats) -> Floats:
        """Return the mean score of each set, (L, 1)."""
        means = np.empty((len(self.size), 1))
        _sum_prefixes(np.ascontiguousarray(scores), self.order, self.start, self.size, means[:, 0])
        return means / self.size[:, None]

    def spread(self, values: Floats) -> Floats:
        """Return the masses times the values, (L, 1), times the derivatives of the means by the scores, (n, K)."""
        return self._spread(self.mass * values / self.size[:, None])

    def spread_squares(self, values: Floats) -> Floats:
        """Return the masses times the values, (L, 1), times the squared derivatives of the means, (n, K)."""
        return self._spread(self.mass * values / self.size[:, None] ** 2)

    def of_sets(self, values: Floats) -> Floats:
        """Return the values of the rows, (n, 1), for each set, (L, 1)."""
        return values[self.row]

    def of_rows(self, values: Floats) -> Floats:
        """Return the sum over the sets of each row, times their masses, (n, 1)."""
        sums = np.bincount(self.row, (self.mass * values)[:, 0], minlength=len(self.order))
        return sums.astype(np.float64, copy=False)[:, None]

    def take(self, rows: Ints) -> "LevelMeans":
        """Return the means of some rows."""
        n_sets = np.diff(self.start)[rows]
        start = np.append(0, np.cumsum(n_sets))
        row = np.repeat(np.arange(len(rows)), n_sets)
        sets = np.arange(len(row)) + (self.start[rows] - start[:-1])[row]
        return LevelMeans(self.order[rows], start, self.size[sets], row, self.mass[sets])

    def _spread(self, values: Floats) -> Floats:
        out = np.empty(self.order.shape)
        _sum_suffixes(values[:, 0], self.order, self.start, self.size, out)
        return out


InsideMeans: TypeAlias = SetMeans | LevelMeans


def inside_means(evidence: Evidence) -> InsideMeans:
    """Return the means of rows that are not unlabeled."""
    if evidence.dtype == bool:
        mask: Mask = evidence
        return SetMeans(mask / np.count_nonzero(mask, axis=1)[:, None])
    return LevelMeans.from_weights(evidence)


@compiled
def _sum_prefixes(scores: Floats, order: Ints, start: Ints, size: Ints, sums: Floats) -> None:
    for i in range(order.shape[0]):
        total, p = 0.0, 0
        for j in range(start[i], start[i + 1]):
            while p < size[j]:
                total += scores[i, order[i, p]]
                p += 1
            sums[j] = total


@compiled
def _sum_suffixes(values: Floats, order: Ints, start: Ints, size: Ints, out: Floats) -> None:
    out[:] = 0.0
    for i in range(order.shape[0]):
        total = 0.0
        for j in range(start[i + 1] - 1, start[i] - 1, -1):
            total += values[j]
            for p in range(size[j - 1] if j > start[i] else 0, size[j]):
                out[i, order[i, p]] = total
