"""Pauses of rows in dual coordinate ascent, as in the shrinking of Hsieh et al. (2008), section 3.3.

A row that does not change in a pass, mostly one at its bounds, is skipped in the next passes: in 1, 3, 7, ... of them,
as long as it still does not change.
"""

import numpy as np

from oneof.jit import compiled
from oneof.typing import Ints

MAX_PAUSE = 31
"""Maximum number of passes for which a row is skipped."""


class Pauses:
    """The rows to visit in each pass, in random order.

    Parameters
    ----------
    rows : ndarray of int
        The rows that are visited at all, ascending.
    n_rows : int
    rng : Generator
    """

    def __init__(self, rows: Ints, n_rows: int, rng: np.random.Generator) -> None:
        self.n_passes = 0
        self._rows, self._rng = rows, rng
        self._pauses, self._skip_until = np.zeros(n_rows, dtype=np.int64), np.full(n_rows, np.iinfo(np.int64).max)
        self.end()

    def order(self) -> Ints:
        """Return the rows of the next pass."""
        return self._rng.permutation(np.flatnonzero(self._skip_until <= self.n_passes))

    def update(self, order: Ints, longest: Ints) -> None:
        """Set the pauses of the rows of a pass, each at most `longest`: 0 for a row that has changed."""
        self.n_passes += 1
        _set_pauses(order, longest, self.n_passes, self._pauses, self._skip_until)

    @property
    def any(self) -> bool:
        """Whether a row is skipped in the next pass."""
        return bool((self._skip_until[self._rows] > self.n_passes).any())

    def end(self) -> None:
        """Visit all rows in the next pass; their next pauses follow their last ones."""
        self._skip_until[self._rows] = self.n_passes


@compiled
def _set_pauses(order: Ints, longest: Ints, n_passes: int, pauses: Ints, skip_until: Ints) -> None:
    for r in range(order.shape[0]):
        i = order[r]
        pauses[i] = min(2 * pauses[i] + 1, longest[r])
        skip_until[i] = n_passes + pauses[i]
