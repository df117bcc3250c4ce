"""Candidate sets of all rows, stacked: the level sets of weights, for losses whose features belong to the row.

The L sets of n rows are weighted rows of a mask. Without weights each row has one set of mass 1, L = n, and values of
the rows are those of the sets: nothing is copied.
"""

from functools import cached_property
from typing import Self

import numpy as np

from oneof.candidates import LevelSets
from oneof.jit import compiled
from oneof.typing import Floats, Ints


class StackedSets(LevelSets):
    """Level sets of rows that are not unlabeled, so that each row has at least one."""

    @cached_property
    def offsets(self) -> Ints:
        """The first set of each row, and the number of sets: (n + 1,)."""
        return np.append(np.flatnonzero(np.diff(self.row, prepend=-1)), len(self.row))

    @property
    def is_single(self) -> bool:
        """Whether each row has one set."""
        return len(self.offsets) == len(self.row) + 1

    def take(self, values: Floats) -> Floats:
        """Return the (n, ...) values of the rows for each set, (L, ...)."""
        return values if self.is_single else values[self.row]

    def sum_by_row(self, values: Floats) -> Floats:
        """Return the sums of (L, K) values over the sets of each row, (n, K)."""
        if self.is_single:
            return values
        sums = np.empty((values.shape[1], len(self.offsets) - 1), dtype=values.dtype)
        _sum_segments(np.ascontiguousarray(values.T), self.offsets, sums)
        return sums.T

    def of_rows(self, rows: Ints) -> Self:
        """Return the sets of some rows, which are numbered from 0."""
        n_sets = np.diff(self.offsets)[rows]
        row = np.repeat(np.arange(len(rows)), n_sets)
        sets = np.arange(len(row)) + (self.offsets[rows] - np.append(0, np.cumsum(n_sets)[:-1]))[row]
        return type(self)(row, self.mask[sets], self.mass[sets])


@compiled
def _sum_segments(values: Floats, offsets: Ints, sums: Floats) -> None:
    for k in range(sums.shape[0]):
        for i in range(sums.shape[1]):
            total = values[k, offsets[i]]
            for j in range(offsets[i] + 1, offsets[i + 1]):
                total += values[k, j]
            sums[k, i] = total
