"""Parts of a graph that hang together by strong links, and what flows between them.

Where parts are joined by faint links alone, their levels move so slowly that no iteration seems to change them, however
far they are from where they belong. So each part's level is a variable of its own, for which a small system is solved.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from oneof.typing import Floats

STRONG = 1e-3
"""A link is strong if it has this share of the strongest one of either row that it joins."""


class Parts:
    """The parts of a system, and the correction of their levels.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, symmetric and positive definite, nothing positive beside the diagonal.
    slack : ndarray of shape (n,)
        By how much each diagonal entry exceeds the links of its row.
    weights : ndarray of shape (n,)
        What a level of 1 is in each row.
    solver : callable
        Makes of a smaller matrix of the same kind a function that solves for a block.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        slack: Floats,
        weights: Floats,
        solver: Callable[[sp.csr_array], Callable[[Floats], Floats]],
    ) -> None:
        part, n_parts = _strong_parts(matrix)
        members = np.flatnonzero(part >= 0)
        shape = (n_parts, len(part))
        self._spread = sp.csr_array((weights[members], (part[members], members)), shape=shape)
        self._gather = sp.csr_array(self._spread.T)
        # Entries within parts would cancel to what flows out of them: it is added up from what does flow out.
        links = matrix.tocoo()
        i, j = (part[side] for side in links.coords)
        across = (i >= 0) & (j >= 0) & (i != j)
        i, j, weight = i[across], j[across], links.data[across]
        flow = sp.csr_array((weight, (i, j)), shape=(n_parts, n_parts))
        level = np.bincount(part[members], slack[members], n_parts) - np.bincount(i, weight, n_parts)
        flow = sp.csr_array(flow + sp.diags_array(level))
        self._solve = solver(flow) if n_parts else None

    def correction(self, residual: Floats) -> Floats:
        """Return the change of levels, (n, K), by which nothing is left of the residual within any part as a whole."""
        if self._solve is None:
            return np.zeros(residual.shape)
        return np.asarray(self._gather @ self._solve(self._spread @ residual))


def _strong_parts(matrix: sp.csr_array) -> tuple[np.ndarray, int]:
    """Return the part of each row, -1 where it has no link, and their number: at most half that of the rows."""
    n = matrix.shape[0]
    row = np.repeat(np.arange(n), np.diff(matrix.indptr))
    weight = -matrix.data
    strongest = np.zeros(n)
    np.maximum.at(strongest, row, weight)
    strong = (weight > 0) & (weight >= STRONG * np.minimum(strongest[row], strongest[matrix.indices]))
    graph = sp.csr_array((strong[strong], (row[strong], matrix.indices[strong])), shape=matrix.shape)
    _, part = connected_components(graph, directed=False)
    linked = strongest > 0
    kept, part[linked] = np.unique(part[linked], return_inverse=True)
    part[~linked] = -1
    return part, len(kept)
