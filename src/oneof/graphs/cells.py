"""Nearest neighbors in many features: cells of near points, compared pair by pair by matrix products.

Points are grouped into cells of about `ROWS_PER_CELL` by k-means. The queries whose nearest center is a are compared
with one cell after the other, the nearest first: a product around the center b of the searched cell gives the squared
distances, and a compiled scan collects those below the distance r of the k-th neighbor so far. A cell is skipped for a
query q if a lower bound of its distance to the points of the cell, all of which are at least as near to b as to a, is
above r:

    max( (||q - b||^2 - ||q - a||^2) / (2 ||a - b||),   ||q - b|| - radius of the cell ).

The exact search skips no other cell. The approximate search skips cells whose bound is above a fraction of r. The
fraction is that at which a sample of the points finds `RECALL` of its neighbors, so that the recall does not depend on
the kind of data: the more isotropic the points, the more cells are searched. Results do not depend on the number of
threads.

Bounds of this kind: Elkan (2003), Using the triangle inequality to accelerate k-means, ICML.
"""

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from oneof.graphs.distances import search_unresolved
from oneof.jit import compiled
from oneof.parallel import parallel_map
from oneof.typing import Floats, Ints

RECALL = 0.97
"""Fraction of the neighbors of sampled rows that the approximate search must find: a margin above 0.95."""
ROWS_PER_CELL = 1_000
"""Mean number of rows in a cell: large enough for fast products."""
TRAINING_ROWS_PER_CELL, TRAINING_SWEEPS = 64, 8
"""Rows per cell from which k-means computes the centers, and its number of iterations."""
SAMPLE = 256
"""Number of sampled rows that determine the recall."""
BLOCK_QUERIES, BLOCK_PRODUCTS = 2_000, 128
"""Queries that are compared with a cell at a time, and in one product, which stays in the cache."""
_BOUND_RTOL = 1e-12  # rounding error of a difference of squared distances, relative to these


class CellIndex:
    """Index of points by cells.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        At least one row; finite, and squared distances must not overflow float64.
    approximate : bool
        Whether neighbors may be missed: at most 1 - `RECALL` of those of a sample of the rows.
    """

    def __init__(self, points: Floats, *, approximate: bool = False) -> None:
        self._points, self._approximate = points, approximate
        centers = _fit_centers(points, max(1, len(points) // ROWS_PER_CELL))
        home, distances = _nearest_center(points, centers)
        used, self._home = np.unique(home, return_inverse=True)
        self._centers = centers[used]
        self._gaps = cdist(self._centers, self._centers)
        self._members = _split(self._home, len(used))
        self._radii = np.array([distances[members].max() for members in self._members])
        # ||y||^2 - 2 q y = (q, 1) (-2 y, ||y||^2) for the points y and the queries q around the center of a cell.
        around = [points[members] - center for members, center in zip(self._members, self._centers, strict=True)]
        self._columns = [np.vstack([-2.0 * y.T, np.einsum("ij,ij->i", y, y)]) for y in around]
        self._fractions: dict[int, float] = {}

    def nearest(self, queries: Floats, k: int) -> Ints:
        """Return the row indices of the k nearest points of each query, (t, k), in any order."""
        fraction = self._fraction(k) if self._approximate else 1.0
        neighbors = np.empty((len(queries), k), dtype=np.int64)

        def search(group: tuple[int, Ints]) -> None:
            home, rows = group
            bounds = self._lower_bounds(queries[rows], home)
            neighbors[rows], _ = self._search(queries[rows], k, np.argsort(self._gaps[home]), bounds, fraction)

        members = _split(_nearest_center(queries, self._centers)[0], len(self._members))
        groups = [
            (home, rows[start : start + BLOCK_QUERIES])
            for home, rows in enumerate(members)
            for start in range(0, len(rows), BLOCK_QUERIES)
        ]
        parallel_map(search, groups)
        return neighbors

    def _search(self, queries: Floats, k: int, order: Ints, bounds: Floats, fraction: float) -> tuple[Ints, Floats]:
        """Search the cells in this order; return the neighbors of the queries, (t, k), and the largest distances, (t,).

        The bounds are lower bounds of the distances to cells, (t, c).
        """
        t = len(queries)
        shape = (t, 2 * k + BLOCK_PRODUCTS)  # with room for more points until the nearest are selected
        squares, neighbors = np.full(shape, np.inf), np.zeros(shape, dtype=np.int64)
        counts, limits, reach = np.zeros(t, np.int64), np.full(t, np.inf), np.zeros(t)
        for cell in order:
            selected = np.flatnonzero(bounds[:, cell] <= fraction * np.sqrt(np.maximum(limits, 0.0)))
            if len(selected):
                around = queries[selected] - self._centers[cell]
                own = np.einsum("ij,ij->i", around, around)
                reach[selected] = np.maximum(reach[selected], own)
                around = np.hstack([around, np.ones((len(selected), 1))])
                cells = self._columns[cell], self._members[cell]
                _collect(around, own, *cells, selected, k, squares, neighbors, counts, limits)
        neighbors, distances = neighbors[:, :k].copy(), np.sqrt(np.maximum(limits, 0.0))
        search_unresolved(queries, self._points, neighbors, distances, np.sqrt(reach))
        return neighbors, distances

    def _fraction(self, k: int) -> float:
        """Return the fraction of the distance to the k-th neighbor above which lower bounds of cells are ignored."""
        if k not in self._fractions:
            n, n_cells = len(self._points), len(self._members)
            sample = np.random.default_rng(0).choice(n, min(SAMPLE, n - 1), replace=False)
            queries, everywhere = self._points[sample], np.zeros((len(sample), n_cells))
            k_and_self = min(k + 1, n)
            neighbors, distances = self._search(queries, k_and_self, np.arange(n_cells), everywhere, 1.0)
            bounds = np.vstack([self._lower_bounds(self._points[[i]], self._home[i]) for i in sample])
            needed = np.take_along_axis(bounds, self._home[neighbors], axis=1)
            needed /= np.maximum(distances, np.finfo(np.float64).tiny)[:, None]
            # Above 0, so that cells are searched until there are k rows.
            quantile = np.quantile(needed[neighbors != sample[:, None]], RECALL, method="higher")
            self._fractions[k] = max(float(quantile), 1e-6)
        return self._fractions[k]

    def _lower_bounds(self, queries: Floats, home: int) -> Floats:
        """Return a lower bound of the distance from each query of a home cell to the points of each cell, (t, c)."""
        distances, gaps = cdist(queries, self._centers), self._gaps[home]
        squares = distances**2
        difference = (1.0 - _BOUND_RTOL) * squares - squares[:, [home]]
        plane = np.divide(difference, 2.0 * gaps, out=np.zeros_like(squares), where=gaps > 0)
        return np.maximum(plane, (1.0 - _BOUND_RTOL) * distances - self._radii)


def _fit_centers(points: Floats, n_cells: int) -> Floats:
    """Return centers by k-means on a sample of the points; a cell that becomes empty keeps its center."""
    n = min(len(points), TRAINING_ROWS_PER_CELL * n_cells)
    sample = points[np.random.default_rng(0).choice(len(points), n, replace=False)].astype(np.float64)
    centers = sample[:n_cells].copy()
    for _ in range(TRAINING_SWEEPS):
        home, _ = _nearest_center(sample, centers)
        used, counts = np.unique(home, return_counts=True)
        sums = sp.csr_array((np.ones(n), (home, np.arange(n))), shape=(n_cells, n)) @ sample
        centers[used] = sums[used] / counts[:, None]
    return centers


def _nearest_center(points: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """Return the index of the nearest center of each point, and its distance."""
    home, distances = np.empty(len(points), dtype=np.int64), np.empty(len(points))

    def search(start: int) -> None:
        block = slice(start, start + BLOCK_QUERIES)
        to_centers = cdist(points[block], centers)
        home[block], distances[block] = to_centers.argmin(axis=1), to_centers.min(axis=1)

    parallel_map(search, range(0, len(points), BLOCK_QUERIES))
    return home, distances


def _split(home: Ints, n_cells: int) -> list[Ints]:
    """Return the ascending row indices of each cell."""
    return np.split(np.argsort(home, kind="stable"), np.cumsum(np.bincount(home, minlength=n_cells))[:-1])


@compiled
def _collect(queries, own, columns, members, selected, k, squares, neighbors, counts, limits):
    """Add the points of a cell whose squared distance from a query is below its limit, that of the k-th so far.

    When the buffer of a query is full, and at the end, the k nearest points remain.
    """
    products = np.empty((BLOCK_PRODUCTS, columns.shape[1]))
    for block in range(0, len(selected), BLOCK_PRODUCTS):
        stop = min(block + BLOCK_PRODUCTS, len(selected))
        np.dot(queries[block:stop], columns, products[: stop - block])
        for r in range(block, stop):
            i, product = selected[r], products[r - block]
            count, limit = counts[i], limits[i] - own[r]
            for j in range(len(members)):
                if product[j] < limit:
                    squares[i, count], neighbors[i, count] = product[j] + own[r], members[j]
                    count += 1
                    if count == squares.shape[1]:
                        count, limit = k, _select(squares[i], neighbors[i], k) - own[r]
            if count > max(counts[i], k - 1):
                count, limits[i] = k, _select(squares[i, :count], neighbors[i, :count], k)
            counts[i] = count


@compiled
def _select(squares, neighbors, k):
    """Move the k nearest points to the front, and return the largest of their squared distances."""
    nearest = np.argpartition(squares, k - 1)[:k]
    squares[:k], neighbors[:k] = squares[nearest], neighbors[nearest]
    return squares[:k].max()
