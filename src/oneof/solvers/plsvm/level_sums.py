"""Level sets with sums over the sets of a row, for losses whose features belong to the row."""

from functools import cached_property

import numpy as np

from oneof.candidates import LevelSets
from oneof.jit import compiled
from oneof.typing import Floats, Ints


class SummedLevels(LevelSets):
    """Level sets of rows that are not unlabeled, so that each row has at least one."""

    @cached_property
    def start(self) -> Ints:
        """The first set of each row, and the number of sets: (n + 1,)."""
        return np.append(np.flatnonzero(np.diff(self.row, prepend=-1)), len(self.row))

    def sum_by_row(self, values: Floats) -> Floats:
        """Return the sums of (n_levels, K) values over the sets of each row, (n, K).

        The result has the memory order of `values`.
        """
        n_rows, n_classes = len(self.start) - 1, values.shape[1]
        if values.flags.c_contiguous:
            sums = np.zeros((n_rows, n_classes), dtype=values.dtype)
            _add_segments(values, self.start, sums)
            return sums
        sums = np.empty((n_classes, n_rows), dtype=values.dtype)
        _sum_segments_of_columns(np.ascontiguousarray(values.T), self.start, sums)
        return sums.T


@compiled
def _add_segments(values: Floats, start: Ints, sums: Floats) -> None:
    for i in range(sums.shape[0]):
        for j in range(start[i], start[i + 1]):
            for k in range(sums.shape[1]):
                sums[i, k] += values[j, k]


@compiled
def _sum_segments_of_columns(values: Floats, start: Ints, sums: Floats) -> None:
    for k in range(sums.shape[0]):
        for i in range(sums.shape[1]):
            total = values[k, start[i]]
            for j in range(start[i] + 1, start[i + 1]):
                total += values[k, j]
            sums[k, i] = total
