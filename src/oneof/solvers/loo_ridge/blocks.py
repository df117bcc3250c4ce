"""Blocks of rows, in memory or on workers: the kernel of all rows is never in memory at a time.

Everything is a sum over blocks, in their order, so that the number of threads or workers does not affect the result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from array_api_compat import is_torch_array

from oneof.parallel import parallel_map
from oneof.typing import FeatureMatrix, Ints

BLOCK_ROWS = 8192
"""Number of rows of a block."""
KERNEL_ROWS = 1024
"""Number of rows whose kernel is computed at a time."""


class BlockedRows(Protocol):
    """Rows in blocks, in memory or on workers."""

    @property
    def slices(self) -> Sequence[slice]:
        """The rows of each block."""

    def take(self, index: Ints | None = None) -> FeatureMatrix:
        """Return rows by ascending index, or all rows."""

    def map_reduce(self, function: Callable[..., Any], payloads: Sequence[Any], *shared: Any) -> tuple[Any, list[Any]]:
        """Apply ``function(X_block, payload, *shared) -> (summand, value)``.

        Returns the sum of the summands, in the order of the blocks, and the list of the values.
        """


@dataclass(frozen=True)
class RowsInMemory:
    """Rows of one array, in blocks."""

    X: FeatureMatrix

    @property
    def slices(self) -> list[slice]:
        """The rows of each block: `BLOCK_ROWS` or fewer."""
        return row_slices(self.X.shape[0], BLOCK_ROWS)

    def take(self, index: Ints | None = None) -> FeatureMatrix:
        """Return rows by index, or all rows."""
        return self.X if index is None else self.X[index]

    def map_reduce(self, function: Callable[..., Any], payloads: Sequence[Any], *shared: Any) -> tuple[Any, list[Any]]:
        """Apply a function to one block after the other, so that few summands are in memory at a time."""
        total: Any = 0
        values = []
        for rows, payload in zip(self.slices, payloads, strict=True):
            summand, value = function(self.X[rows], payload, *shared)
            total = total + summand
            values.append(value)
        return total, values


def row_slices(n: int, n_rows: int) -> list[slice]:
    """Return slices of n rows, each of at most `n_rows`."""
    return [slice(start, min(start + n_rows, n)) for start in range(0, n, n_rows)]


def map_kernel_rows(function: Callable[[slice], Any], X: FeatureMatrix) -> list[Any]:
    """Apply a function to the slices of `KERNEL_ROWS` rows."""
    return map_blocks(function, row_slices(X.shape[0], KERNEL_ROWS), X)


def map_blocks(function: Callable[[Any], Any], items: Sequence[Any], X: FeatureMatrix) -> list[Any]:
    """Apply a function to each item in several threads; in turn if each operation has several, as for tensors."""
    in_turn = len(items) == 1 or is_torch_array(X)
    return [function(item) for item in items] if in_turn else parallel_map(function, items)
