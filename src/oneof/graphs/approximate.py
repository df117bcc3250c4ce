"""Approximate nearest-neighbor index: an inverted file of k-means cells, searched by matrix products.

The search may miss neighbors. It returns the same neighbors for any number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from oneof.errors import MissingExtraError
from oneof.typing import Floats, Ints

_MIN_ROWS = 5_000  # with fewer rows, the comparison of all pairs is as fast
MAX_TREE_FEATURES = 5  # maximum number of features with which a tree is faster, and exact
_CELLS_PER_ROOT = 0.125  # times the root of the number of rows: few large cells, because large matrix products are fast
_N_PROBES = 5  # cells whose rows are compared with a query
_TRAINING_ROWS_PER_CELL = 64  # rows for each cell from which k-means computes the center
_BLOCK_SIZE = 1 << 22  # neighbors, over all probed cells, that are in memory at the same time


def cells_are_faster(points: Floats) -> bool:
    """Return whether cells take less time than exact neighbors, by the number of rows and features.

    Raises
    ------
    MissingExtraError
        If faiss is not installed, for any number of rows.
    """
    _faiss()
    n, d = points.shape
    return n >= _MIN_ROWS and d > MAX_TREE_FEATURES


class ApproximateIndex:
    """Inverted file index: rows are grouped into k-means cells, and the nearest cells of a query are searched in full.

    There are sqrt(n) / 8 cells, and each query searches 5 of them. Cells are processed one at a time. All queries of
    a cell are compared with its rows by one matrix product, in single precision around the center of the cell. The
    result is the same every time, for any number of threads. The recall depends on the rows: of 10 neighbors among
    20,000 rows the index misses 1 % in blobs of 50 features, and 34 % in isotropic noise; see
    `oneof.graphs.NeighborGraph`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    exact : callable
        Builds the exact index of the points, for queries whose cells contain too few rows. It is called when the
        first such query occurs.

    Raises
    ------
    MissingExtraError
        If faiss is not installed.
    """

    def __init__(self, points: Floats, exact: Callable[[Floats], Any]) -> None:
        self._points, self._make_exact = points, exact
        self._origin = np.median(points, axis=0).astype(np.float64)
        # faiss has single precision only, in which squares overflow from features of 1e19 on.
        self._exponent = int(np.frexp(np.abs(points - self._origin).max())[1])
        self._rows = self._to_float32(points)
        with _workers(1) as worker:
            self._centers = worker.submit(
                _fit_centers, self._rows, int(_CELLS_PER_ROOT * np.sqrt(len(points)))
            ).result()
            cells = worker.submit(self._nearest_cells, self._rows, 1).result().ravel()
        self._members = _group_by_cell(cells, len(self._centers))

    def nearest(self, points: Floats | None, k: int) -> Ints:
        """Return the row indices of k near neighbors of each query, (t, k); without queries, of each indexed row.

        An indexed row is not its own neighbor.
        """
        exclude_self = points is None
        rows = self._rows if points is None else self._to_float32(points)
        neighbors = np.empty((len(rows), k + exclude_self), dtype=np.int64)
        step = max(1, _BLOCK_SIZE // (_N_PROBES * (k + exclude_self)))
        with _workers() as workers:
            for start in range(0, len(rows), step):
                neighbors[start : start + step] = self._search(rows[start : start + step], k + exclude_self, workers)
        if exclude_self:
            neighbors = _drop_self(neighbors, np.arange(len(neighbors)))
        incomplete = np.flatnonzero((neighbors < 0).any(axis=1))
        if incomplete.size:
            neighbors[incomplete] = self._search_exactly(points, incomplete, k)
        return neighbors

    def _search(self, rows: Floats, k: int, workers: ThreadPoolExecutor) -> Ints:
        """Return the row indices of the k nearest rows in the probed cells, the nearest first, padded with -1."""
        probes = workers.submit(self._nearest_cells, rows, _N_PROBES).result()
        distances = np.full((probes.size, k), np.inf, dtype=np.float32)
        indices = np.full((probes.size, k), -1, dtype=np.int64)

        def search_cell(cell: int, queries: Ints) -> None:
            members = self._members[cell]
            if not len(members) or not len(queries):
                return
            center, n_found = self._centers[cell], min(k, len(members))
            # Around the center of the cell, rows are no larger than distances, and products lose no digits of these.
            centered_queries, centered = rows[queries // probes.shape[1]] - center, self._rows[members] - center
            distances[queries, :n_found], nearest = _faiss().knn(centered_queries, centered, n_found)
            indices[queries, :n_found] = members[nearest]

        queries = _group_by_cell(probes.ravel(), len(self._centers))
        list(workers.map(search_cell, range(len(self._centers)), queries))
        distances, indices = distances.reshape(len(rows), -1), indices.reshape(len(rows), -1)
        nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1)
        return np.take_along_axis(indices, np.take_along_axis(nearest, order, axis=1), axis=1)

    def _nearest_cells(self, rows: Floats, n_cells: int) -> Ints:
        """Return the cells nearest to each row, (t, n_cells)."""
        _, cells = _faiss().knn(rows, self._centers, min(n_cells, len(self._centers)))
        return cells

    def _search_exactly(self, points: Floats | None, rows: Ints, k: int) -> Ints:
        if points is not None:
            return self._exact.nearest(points[rows], k)
        return _drop_self(self._exact.nearest(self._points[rows], k + 1), rows)

    @cached_property
    def _exact(self) -> Any:
        return self._make_exact(self._points)

    def _to_float32(self, points: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            single = np.ldexp(points - self._origin, -self._exponent).astype(np.float32)
        # Queries far from the training rows have the same neighbors as at the limit of single precision.
        return np.ascontiguousarray(np.clip(single, -1e15, 1e15))


def _fit_centers(rows: Floats, n_cells: int) -> Floats:
    means = _faiss().Kmeans(rows.shape[1], n_cells, niter=10, max_points_per_centroid=_TRAINING_ROWS_PER_CELL)
    means.train(rows)
    return np.asarray(means.centroids)


def _group_by_cell(cells: Ints, n_cells: int) -> list[Ints]:
    """Return, for each cell, the positions at which it occurs."""
    order = np.argsort(cells, kind="stable")
    return np.split(order, np.searchsorted(cells[order], np.arange(1, n_cells)))


def _drop_self(neighbors: Ints, rows: Ints) -> Ints:
    """Drop each row from its own neighbors, (t, k + 1); the last neighbor if duplicates have displaced the row."""
    is_self = neighbors == rows[:, None]
    return np.take_along_axis(neighbors, np.argsort(is_self, axis=1, kind="stable"), axis=1)[:, :-1]


def _workers(n_threads: int | None = None) -> ThreadPoolExecutor:
    """Return a pool of as many threads as faiss uses, with one faiss thread in each.

    Products computed by several faiss threads at once are rounded differently.
    """
    faiss = _faiss()
    return ThreadPoolExecutor(
        n_threads or faiss.omp_get_max_threads(), initializer=faiss.omp_set_num_threads, initargs=(1,)
    )


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError("faiss", "graph") from error
    return faiss
