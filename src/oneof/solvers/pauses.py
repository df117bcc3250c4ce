"""Pauses of rows in dual coordinate ascent, as in the shrinking of Hsieh et al. (2008), section 3.3.

A row that does not change in a pass, mostly one at its bounds, is skipped in the next passes: in 1, 3, 7, ... of them,
as long as it still does not change.
"""

import numpy as np

from oneof.typing import Floats, Ints

MAX_PAUSE = 31
"""Maximum number of passes for which a row is skipped."""


class Pauses:
    """The rows to visit in each pass, in random order.

    Parameters
    ----------
    rows : ndarray of int
        The rows that are visited at all.
    n_rows : int
    rng : Generator
    """

    def __init__(self, rows: Ints, n_rows: int, rng: np.random.Generator) -> None:
        self.n_passes = 0
        self._rows, self._rng = rows, rng
        self._skip_until, self._pauses = np.zeros((2, n_rows), dtype=np.int64)

    def order(self) -> Ints:
        """Return the rows of the next pass."""
        return self._rng.permutation(self._rows[self._skip_until[self._rows] <= self.n_passes])

    def update(self, order: Ints, longest: Floats | int) -> None:
        """Set the pauses of the rows of a pass, each at most `longest`: 0 for a row that has changed."""
        pauses = np.minimum(2 * self._pauses[order] + 1, longest)
        self._pauses[order] = pauses
        self.n_passes += 1
        self._skip_until[order] = self.n_passes + pauses

    @property
    def any(self) -> bool:
        """Whether a row is skipped in the next pass."""
        return bool((self._skip_until[self._rows] > self.n_passes).any())

    def end(self) -> None:
        """Visit all rows in the next pass; their next pauses follow their last ones."""
        self._skip_until[:] = self.n_passes
