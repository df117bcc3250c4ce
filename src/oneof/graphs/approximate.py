"""Nearest neighbors some of which may be missed, by cells of rows."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from oneof.errors import MissingExtraError
from oneof.typing import Floats, Ints

_FEW_ROWS = 5_000  # all pairs of which are looked at as fast
FEW_FEATURES = 5  # in which a tree finds all neighbors in less time
_CELLS = 0.125  # by the root of the number of rows: few large cells, for products of matrices are fast where large
_VISITED = 5  # cells whose rows are compared with a row
_TRAINED_ON = 64  # rows for each cell, from which its center is found
_BLOCK = 1 << 22  # neighbors, by all cells visited, that stand in memory at once


def cells_are_faster(points: Floats) -> bool:
    """Return whether there are enough rows and features for cells to take less time than exact neighbors.

    Raises
    ------
    MissingExtraError
        If faiss is not installed, whatever the rows are.
    """
    _faiss()
    n, d = points.shape
    return n >= _FEW_ROWS and d > FEW_FEATURES


class ApproximateIndex:
    """Rows by cells around the centers of k-means, of which those nearest to a row are searched in full.

    There are sqrt(n) / 8 cells, of which 5 are visited. Cells are taken in turn: all rows that visit one are compared
    with its own by one matrix product, in single precision around its center. It finds the same neighbors every time,
    for any number of threads. How many it misses depends on the rows: 1 % of 10 among 20,000 in blobs of 50 features,
    34 % where the features are nothing but noise; see `oneof.graphs.NeighborGraph`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    exact : callable
        Makes the index, from the points, that finds the neighbors of rows whose cells hold too few. It is called when
        there is such a row.

    Raises
    ------
    MissingExtraError
        If faiss is not installed.
    """

    def __init__(self, points: Floats, exact: Callable[[Floats], Any]) -> None:
        self._points, self._make_exact = points, exact
        self._origin = np.median(points, axis=0).astype(np.float64)
        # faiss knows single precision only, whose squares end at features of 1e19.
        self._power = int(np.frexp(np.abs(points - self._origin).max())[1])
        self._rows = self._single(points)
        with _workers(1) as worker:
            self._centers = worker.submit(_centers, self._rows, int(_CELLS * np.sqrt(len(points)))).result()
            cells = worker.submit(self._visits, self._rows, 1).result().ravel()
        self._members = _by_cell(cells, len(self._centers))

    def nearest(self, points: Floats | None, k: int) -> Ints:
        """Return the numbers of k rows near to each of others, (t, k), or of these without themselves."""
        own = points is None
        rows = self._rows if points is None else self._single(points)
        found = np.empty((len(rows), k + own), dtype=np.int64)
        step = max(1, _BLOCK // (_VISITED * (k + own)))
        with _workers() as workers:
            for start in range(0, len(rows), step):
                found[start : start + step] = self._search(rows[start : start + step], k + own, workers)
        if own:
            found = _without_themselves(found, np.arange(len(found)))
        short = np.flatnonzero((found < 0).any(axis=1))
        if short.size:
            found[short] = self._searched(points, short, k)
        return found

    def _search(self, rows: Floats, k: int, workers: ThreadPoolExecutor) -> Ints:
        """Return the numbers of the k nearest in the visited cells, the nearest first; -1 where there are fewer."""
        visits = workers.submit(self._visits, rows, _VISITED).result()
        distances = np.full((visits.size, k), np.inf, dtype=np.float32)
        numbers = np.full((visits.size, k), -1, dtype=np.int64)

        def visit(cell: int, visitors: Ints) -> None:
            members = self._members[cell]
            if not len(members) or not len(visitors):
                return
            center, few = self._centers[cell], min(k, len(members))
            # Around the center of the cell, rows are no larger than distances, and products lose no digits of these.
            there, here = rows[visitors // visits.shape[1]] - center, self._rows[members] - center
            distances[visitors, :few], nearest = _faiss().knn(there, here, few)
            numbers[visitors, :few] = members[nearest]

        visitors = _by_cell(visits.ravel(), len(self._centers))
        list(workers.map(visit, range(len(self._centers)), visitors))
        distances, numbers = distances.reshape(len(rows), -1), numbers.reshape(len(rows), -1)
        nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1)
        return np.take_along_axis(numbers, np.take_along_axis(nearest, order, axis=1), axis=1)

    def _visits(self, rows: Floats, n_cells: int) -> Ints:
        """Return the cells nearest to each row, (t, n_cells)."""
        _, cells = _faiss().knn(rows, self._centers, min(n_cells, len(self._centers)))
        return cells

    def _searched(self, points: Floats | None, rows: Ints, k: int) -> Ints:
        if points is not None:
            return self._exact.nearest(points[rows], k)
        return _without_themselves(self._exact.nearest(self._points[rows], k + 1), rows)

    @cached_property
    def _exact(self) -> Any:
        return self._make_exact(self._points)

    def _single(self, points: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            single = np.ldexp(points - self._origin, -self._power).astype(np.float32)
        # Rows far beyond those of fit are near the same of them from as far as single precision reaches.
        return np.ascontiguousarray(np.clip(single, -1e15, 1e15))


def _centers(rows: Floats, n_cells: int) -> Floats:
    means = _faiss().Kmeans(rows.shape[1], n_cells, niter=10, max_points_per_centroid=_TRAINED_ON)
    means.train(rows)
    return np.asarray(means.centroids)


def _by_cell(cells: Ints, n_cells: int) -> list[Ints]:
    """Return the places at which each cell stands."""
    order = np.argsort(cells, kind="stable")
    return np.split(order, np.searchsorted(cells[order], np.arange(1, n_cells)))


def _without_themselves(found: Ints, rows: Ints) -> Ints:
    """Drop each row from those found for it, (t, k + 1); where duplicates crowd it out, the last of them instead."""
    itself = found == rows[:, None]
    return np.take_along_axis(found, np.argsort(itself, axis=1, kind="stable"), axis=1)[:, :-1]


def _workers(number: int | None = None) -> ThreadPoolExecutor:
    """Return as many threads as faiss would take, in each of which it takes one: products by more round otherwise."""
    faiss = _faiss()
    return ThreadPoolExecutor(
        number or faiss.omp_get_max_threads(), initializer=faiss.omp_set_num_threads, initargs=(1,)
    )


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError("faiss", "graph") from error
    return faiss
