"""Rows among which nearest neighbours are sought."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from oneof.errors import InputError
from oneof.typing import Floats, Ints, Rows

OVERFLOW = "distances between rows overflow: scale the features, for example with StandardScaler."


class NeighbourRows:
    """Rows with an index of them, by Euclidean distance.

    Which of several rows at the same distance are taken is arbitrary.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (m, d)

    Raises
    ------
    InputError
        If distances could be too large for the arithmetic.
    """

    def __init__(self, rows: Rows) -> None:
        _check_range(rows)
        self.rows = rows
        self._index = NearestNeighbors().fit(rows)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def alike(self, rows: Rows) -> Rows:
        """Return other rows in the form of these, dense or CSR, for neither trees nor products mix the two."""
        if sp.issparse(rows) == sp.issparse(self.rows):
            return rows
        return sp.csr_array(rows) if sp.issparse(self.rows) else rows.toarray()

    def nearest(self, rows: Rows | None, n_neighbors: int) -> tuple[Floats, Ints]:
        """Find the nearest of these rows to each of others, the nearest first.

        Parameters
        ----------
        rows : ndarray or CSR matrix of shape (n, d), or None
            In the form of these rows, see `alike`. Without it, these rows are meant (n = m), none of which is its own
            neighbour.
        n_neighbors : int
            Where there are fewer rows to choose from, all of them are neighbours.

        Returns
        -------
        distances : ndarray of shape (n, k)
        neighbours : ndarray of shape (n, k)
            Numbers of these rows.

        Raises
        ------
        InputError
            If a distance is too large for the arithmetic.
        """
        n = len(self) if rows is None else rows.shape[0]
        k = min(n_neighbors, len(self) - (rows is None))
        if n == 0 or k == 0:
            return np.zeros((n, k)), np.zeros((n, k), dtype=np.int64)
        if rows is not None:
            _check_range(rows)
        distances, neighbours = self._index.kneighbors(rows, k)
        if not np.isfinite(distances).all():
            raise InputError(OVERFLOW)
        return distances, neighbours

    def __getstate__(self) -> dict[str, Any]:
        """Leave the index out of files: its tree holds offsets for compiled code, which a forged file could misuse."""
        return {"rows": self.rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rows = state["rows"]
        self._index = NearestNeighbors().fit(self.rows)


def _check_range(rows: Rows) -> None:
    """Raise where ||x||^2 + ||x'||^2 - 2 x . x' could overflow: among infinities the index finds no neighbours."""
    values = rows.data if sp.issparse(rows) else rows
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest > 0.5 * np.sqrt(np.finfo(np.float64).max / max(rows.shape[1], 1)):
        raise InputError(OVERFLOW)
