"""Nearest neighbors in many features: cells of near rows, compared pair by pair by matrix products.

Rows are grouped into cells of about `ROWS_PER_CELL` by k-means. The queries of a cell are compared with the rows of one
cell after the other, the nearest cells first. A product in single precision around the center of the searched cell
gives the squared distances, and a compiled scan collects those below the distance of the k-th neighbor so far.

A cell is skipped for a query at distance r from its k-th neighbor if a lower bound of the distance to the rows of the
cell, all of which are at least as near to its center b as to the center a of the query's cell, is above r:

    max( (||q - b||^2 - ||q - a||^2) / (2 ||a - b||),   ||q - b|| - radius of the cell ).

The exact search skips no other cell, and retains more rows than neighbors, so that rounding in single precision cannot
hide a neighbor: distances of the retained rows are computed in double precision. The approximate search skips cells
whose bound is above a fraction of r. The fraction is that at which a sample of the rows finds `RECALL` of its
neighbors, so that the recall does not depend on the kind of data: the more isotropic the rows, the more cells are
searched. Results do not depend on the number of threads.

Bounds of this kind: Elkan (2003), Using the triangle inequality to accelerate k-means, ICML.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oneof.jit import compiled
from oneof.parallel import parallel_map
from oneof.typing import Floats, Ints, Mask

MIN_ROWS = 3_000
"""Minimum number of rows for cells. With fewer rows, the comparison of all pairs is as fast."""
MAX_TREE_FEATURES = 5
"""Maximum number of features with which a tree is faster."""
RECALL = 0.97
"""Fraction of the neighbors of sampled rows that the approximate search must find: a margin above 0.95."""
ROWS_PER_CELL = 1_000
"""Mean number of rows in a cell: large enough for fast products."""
TRAINING_ROWS_PER_CELL, TRAINING_SWEEPS = 64, 8
"""Rows per cell from which k-means computes the centers, and its number of iterations."""
MIN_ROWS_PER_QUERY = 20
"""Ratio of rows to queries above which the exact search compares all pairs, since cells would take longer to make."""
SAMPLE = 256
"""Number of sampled rows that determine the recall."""
MIN_SPARE, SPARE_RATIO = 8, 0.1
"""Retained rows beyond the neighbors: so many, or this fraction of the neighbors."""
ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
"""Rounding error of a squared distance in single precision, per feature, relative to the squared sum of the norms."""
BLOCK_QUERIES = 2_000
"""Queries that are compared with a cell at a time."""
BLOCK_PRODUCTS, CHUNK = 128, 32
"""Queries in one product, which stays in the cache, and distances that are tested together."""


def cells_are_faster(points: Floats) -> bool:
    """Return whether cells take less time than a tree or all pairs, by the number of rows and features."""
    n, d = points.shape
    return n >= MIN_ROWS and d > MAX_TREE_FEATURES


@dataclass(frozen=True)
class _Cells:
    """Rows in the order of their cells, around the centers of these."""

    centers: Floats
    """(c, d): float64."""
    order: Ints
    """(n,): row indices, cell by cell."""
    starts: Ints
    """(c + 1,): start of each cell in that order."""
    columns: list[Floats]
    """For each cell -2 (x - center) of its rows as columns, and their squared norms as the last row; float32.

    Their number is a multiple of `CHUNK`.
    """
    radii: Floats
    """(c,): largest distance of a row from its center."""
    assignment_error: float
    """Bound of the rounding error in the comparison of squared distances from two centers."""

    def __len__(self) -> int:
        return len(self.centers)


class CellIndex:
    """Index of dense rows by cells.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Finite; squared distances must not overflow float64.
    exact : callable
        Builds another exact index of the points, on its first use: for radius searches, for few queries, and for
        queries with more ties than rows are retained.
    approximate : bool
        Whether neighbors may be missed: at most 1 - `RECALL` of those of a sample of the rows.
    """

    def __init__(self, points: Floats, exact: Callable[[Floats], Any], *, approximate: bool = False) -> None:
        self._points, self._make_exact, self._approximate = points, exact, approximate
        self._origin = np.median(points, axis=0).astype(np.float64)
        # Single precision, in which squares overflow from features of 1e19 on.
        largest = max(float(np.abs(points - self._origin).max()), float(np.finfo(np.float64).tiny))
        self._exponent = int(np.frexp(largest)[1])
        self._fractions: dict[int, float] = {}

    def nearest(self, points: Floats | None, k: int) -> Ints:
        """Return the row indices of the k nearest rows of each query, (t, k), the nearest first.

        Without queries, those of each indexed row, which is not its own neighbor.
        """
        if points is not None and len(points) * MIN_ROWS_PER_QUERY < len(self._points) and not self._approximate:
            return self._exact.nearest(points, k)  # whether or not the cells exist, so that ties are broken alike
        neighbors, incomplete = self._search(points, k, self._fraction(k) if self._approximate else 1.0)
        if len(incomplete):
            neighbors[incomplete] = self._search_exactly(points, incomplete, k)
        return neighbors

    def within(self, points: Floats | None, radius: float) -> list[Ints]:
        """Return the indices of all rows within a distance of each query."""
        return list(self._exact.within(points, radius))

    def _search(self, points: Floats | None, k: int, fraction: float) -> tuple[Ints, Ints]:
        """Return the neighbors, and the indices of queries whose neighbors are not certain, or too few."""
        exclude_self, cells = points is None, self._cells
        source: Floats = self._points if points is None else points
        if exclude_self:
            order, starts = cells.order, cells.starts
        else:
            home = _nearest_center(self._scale(source), cells.centers)
            order = np.argsort(home, kind="stable")
            starts = np.searchsorted(home[order], np.arange(len(cells) + 1))
        groups = [
            (cell, start, min(start + BLOCK_QUERIES, int(starts[cell + 1])))
            for cell in range(len(cells))
            for start in range(int(starts[cell]), int(starts[cell + 1]), BLOCK_QUERIES)
        ]
        neighbors = np.empty((len(order), k), dtype=np.int64)

        def search_group(group: tuple[int, int, int]) -> Ints:
            cell, start, end = group
            members = order[start:end]
            queries = self._scale(source[members])
            retained = _Retained.empty(end - start, k, spare=not self._approximate)
            own = np.arange(start, end) if exclude_self else np.full(end - start, -1)
            nearest_first = np.argsort(((cells.centers - cells.centers[cell]) ** 2).sum(axis=1), kind="stable")
            bounds = _lower_bounds(cells, queries, cell)
            _search_cells(cells, queries, own, nearest_first, bounds, fraction, retained)
            certain = retained.counts >= k
            if self._approximate:
                places = retained.nearest(retained.distances[:, :k], k, certain)
            else:
                distances = np.full(retained.distances.shape, np.inf)
                _measure(source, members, self._points, cells.order, retained.positions, retained.counts, distances)
                places = retained.nearest(distances, k, certain)
                last = np.ldexp(np.take_along_axis(distances, places[:, -1:], axis=1)[:, 0], -2 * self._exponent)
                certain &= last <= retained.limits - retained.errors
            neighbors[members] = cells.order[np.take_along_axis(retained.positions, places, axis=1)]
            return members[~certain]

        return neighbors, np.concatenate([np.zeros(0, dtype=np.int64), *parallel_map(search_group, groups)])

    def _fraction(self, k: int) -> float:
        """Return the fraction of the distance to the k-th neighbor above which lower bounds of cells are ignored."""
        if k not in self._fractions:
            cells, n = self._cells, len(self._points)
            sample = np.random.default_rng(0).choice(n, min(SAMPLE, n), replace=False)
            queries, t = self._scale(self._points[sample]), len(sample)
            position = np.empty(n, dtype=np.int64)
            position[cells.order] = np.arange(n)
            retained = _Retained.empty(t, k, spare=False)
            everywhere = np.zeros((t, len(cells)))
            _search_cells(cells, queries, position[sample], np.arange(len(cells)), everywhere, 1.0, retained)
            cell = np.searchsorted(cells.starts, retained.positions[:, :k], side="right") - 1
            home = np.searchsorted(cells.starts, position[sample], side="right") - 1
            bounds = np.vstack([_lower_bounds(cells, queries[i : i + 1], home[i]) for i in range(t)])
            radius = np.sqrt(np.maximum(retained.limits.astype(np.float64), np.finfo(np.float32).tiny))
            needed = np.take_along_axis(bounds, cell, axis=1) / radius[:, None]
            # Above 0, so that cells are searched until there are k rows.
            self._fractions[k] = max(float(np.quantile(needed, RECALL, method="higher")), 1e-6)
        return self._fractions[k]

    def _search_exactly(self, points: Floats | None, rows: Ints, k: int) -> Ints:
        """Search all rows, whose distances from products order them less precisely than differences do."""
        source: Floats = self._points if points is None else points
        neighbors = np.asarray(self._exact.nearest(source[rows], k + (points is None)))
        if points is None:
            # The row itself, or the last one if duplicates have displaced it.
            is_self = neighbors == rows[:, None]
            neighbors = np.take_along_axis(neighbors, np.argsort(is_self, axis=1, kind="stable"), axis=1)[:, :-1]
        distances, all_rows = np.empty(neighbors.shape), np.arange(len(self._points))
        _measure(source, rows, self._points, all_rows, neighbors, np.full(len(rows), k), distances)
        return np.take_along_axis(neighbors, np.argsort(distances, axis=1, kind="stable"), axis=1)

    @cached_property
    def _cells(self) -> _Cells:
        return _make_cells(self._scale(self._points))

    @cached_property
    def _exact(self) -> Any:
        return self._make_exact(self._points)

    def _scale(self, points: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(points - self._origin, -self._exponent)
        # Queries far from the indexed rows have the same neighbors as at this limit.
        return np.clip(scaled, -1e15, 1e15) if np.abs(scaled).max(initial=0.0) > 1e15 else scaled


def _make_cells(rows: Floats) -> _Cells:
    n, d = rows.shape
    n_cells = max(1, n // ROWS_PER_CELL)
    centers = _fit_centers(rows, n_cells)
    home = _nearest_center(rows, centers)
    order = np.argsort(home, kind="stable")
    starts = np.searchsorted(home[order], np.arange(n_cells + 1))
    columns, radii = [], np.zeros(n_cells)
    for cell in range(n_cells):
        offsets = rows[order[starts[cell] : starts[cell + 1]]] - centers[cell]
        single = offsets.astype(np.float32)
        squares = np.einsum("ij,ij->i", single, single, dtype=np.float64)
        radii[cell] = np.sqrt(squares.max(initial=0.0)) * (1.0 + ROUNDING)
        own = np.zeros((d + 1, CHUNK * -(-len(single) // CHUNK)), dtype=np.float32)
        own[-1] = np.inf  # at the end, columns that are never near
        own[:-1, : len(single)], own[-1, : len(single)] = -2.0 * single.T, squares
        columns.append(own)
    largest = np.einsum("ij,ij->i", rows, rows).max() + np.einsum("ij,ij->i", centers, centers).max()
    return _Cells(centers, order, starts, columns, radii, 4.0 * (d + 4) * ROUNDING * float(largest))


def _fit_centers(rows: Floats, n_cells: int) -> Floats:
    """Return centers by k-means on a sample of the rows; a cell that becomes empty keeps its center."""
    rng = np.random.default_rng(0)
    sample = rows[rng.choice(len(rows), min(len(rows), TRAINING_ROWS_PER_CELL * n_cells), replace=False)]
    centers = sample[:n_cells].astype(np.float64)
    for _ in range(TRAINING_SWEEPS):
        home = _nearest_center(sample, centers)
        order = np.argsort(home, kind="stable")
        counts = np.bincount(home, minlength=n_cells)
        used = counts > 0
        sums = np.add.reduceat(sample[order], (np.cumsum(counts) - counts)[used], axis=0)
        centers[used] = sums / counts[used, None]
    return centers


def _nearest_center(rows: Floats, centers: Floats) -> Ints:
    """Return the index of the nearest center of each row, up to rounding in single precision, (n,)."""
    columns, squares = (-2.0 * centers.T).astype(np.float32), (centers**2).sum(axis=1).astype(np.float32)
    step = max(1, (1 << 22) // len(centers))

    def search(start: int) -> Ints:
        return (rows[start : start + step].astype(np.float32) @ columns + squares).argmin(axis=1)

    parts = parallel_map(search, range(0, len(rows), step))
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _lower_bounds(cells: _Cells, queries: Floats, home: int) -> Floats:
    """Return a lower bound of the distance from each query to the rows of each cell, (t, c)."""
    around = queries - cells.centers[home]
    centers = cells.centers - cells.centers[home]
    squares = (centers**2).sum(axis=1)
    own = np.einsum("ij,ij->i", around, around)[:, None]
    distances = np.maximum(own - 2.0 * (around @ centers.T) + squares, 0.0)
    gaps = np.sqrt(squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        plane = np.where(gaps > 0, (distances - own - cells.assignment_error) / (2.0 * gaps), 0.0)
    # The product around the home center has the rounding error of double precision.
    slack = 1e-12 * (own + squares)
    return np.maximum(np.maximum(plane, np.sqrt(np.maximum(distances - slack, 0.0)) - cells.radii), 0.0)


@dataclass(frozen=True)
class _Retained:
    """The nearest rows so far of each query, with room for more until the smallest are selected."""

    distances: Floats
    """(t, capacity): squared distances, float32."""
    positions: Ints
    """(t, capacity): positions in the order of the cells."""
    counts: Ints
    """(t,): number of entries."""
    limits: Floats
    """(t,): largest of the smallest `n_retained` entries; float32."""
    errors: Floats
    """(t,): bound of the rounding errors of the squared distances."""
    n_retained: int

    @classmethod
    def empty(cls, t: int, k: int, *, spare: bool) -> "_Retained":
        """Allocate, with `spare` for more rows than k."""
        n_retained = k + max(MIN_SPARE, int(SPARE_RATIO * k)) if spare else k
        shape = (t, 2 * n_retained + 2 * CHUNK)
        limits = np.full(t, np.inf, dtype=np.float32)
        return cls(
            np.empty(shape, np.float32),
            np.zeros(shape, np.int64),
            np.zeros(t, np.int64),
            limits,
            np.zeros(t),
            n_retained,
        )

    def nearest(self, distances: Floats, k: int, complete: Mask) -> Ints:
        """Return the places of the k smallest distances of each query, (t, k), ascending; any places if incomplete."""
        used = distances[:, : self.n_retained]
        used[~complete] = 0.0
        return np.argsort(used, axis=1, kind="stable")[:, :k]


def _search_cells(
    cells: _Cells, queries: Floats, own: Ints, order: Ints, bounds: Floats, fraction: float, retained: _Retained
) -> None:
    """Compare queries with the rows of the cells in the given order, and retain the nearest rows."""
    d, limits, errors = queries.shape[1], retained.limits, retained.errors
    smallest, largest_limit = bounds.min(axis=0), np.inf
    block = np.ones((len(queries), d + 1), dtype=np.float32)
    for cell in order:
        if cells.starts[cell] == cells.starts[cell + 1] or smallest[cell] > largest_limit:
            continue
        selected = np.flatnonzero(bounds[:, cell] <= fraction * np.sqrt(limits + errors))
        if not len(selected):
            continue
        around = (queries[selected] - cells.centers[cell]).astype(np.float32)
        squares = np.einsum("ij,ij->i", around, around)
        block[: len(selected), :-1] = around
        error = ROUNDING * (d + 4) * (np.sqrt(squares) + cells.radii[cell]) ** 2
        errors[selected] = np.maximum(errors[selected], error)
        _collect(
            block[: len(selected)], squares, cells.columns[cell], selected, own, cells.starts[cell],
            retained.n_retained, retained.distances, retained.positions, retained.counts, limits,
        )  # fmt: skip
        largest_limit = fraction * float(np.sqrt((limits + errors).max()))


@compiled
def _collect(queries, squares, columns, selected, own, first, n_retained, distances, positions, counts, limits):
    """Add the rows of a cell whose squared distance from a query is below its limit to the retained rows.

    When the buffer of a query is full, and at the end, the smallest `n_retained` remain, and the largest of them is
    the new limit.
    """
    n_columns, capacity = columns.shape[1], distances.shape[1]
    products = np.empty((BLOCK_PRODUCTS, n_columns), dtype=np.float32)
    for block in range(0, len(selected), BLOCK_PRODUCTS):
        stop = min(block + BLOCK_PRODUCTS, len(selected))
        np.dot(queries[block:stop], columns, products[: stop - block])
        for r in range(block, stop):
            i, square, product = selected[r], squares[r], products[r - block]
            count, limit = counts[i], limits[i] - square
            for start in range(0, n_columns, CHUNK):
                n_below = np.int32(0)
                for j in range(CHUNK):
                    n_below = np.int32(n_below + np.int32(product[start + j] < limit))
                if n_below == 0:
                    continue
                for j in range(start, start + CHUNK):
                    if product[j] < limit and first + j != own[i]:
                        distances[i, count] = product[j] + square
                        positions[i, count] = first + j
                        count += 1
                if count + CHUNK > capacity:
                    limits[i] = _select(distances[i], positions[i], count, n_retained)
                    count, limit = n_retained, limits[i] - square
            if count >= n_retained and count > counts[i]:
                limits[i] = _select(distances[i], positions[i], count, n_retained)
                count = n_retained
            counts[i] = count


@compiled
def _select(distances, positions, count, n_retained):
    """Move the smallest entries to the front, and return the largest of them."""
    limit = np.partition(distances[:count], n_retained - 1)[n_retained - 1]
    n_below = 0
    for at in range(count):
        n_below += distances[at] < limit
    n_equal, kept = n_retained - n_below, 0
    for at in range(count):
        if distances[at] < limit or (distances[at] == limit and n_equal > 0):
            if distances[at] == limit:
                n_equal -= 1
            distances[kept], positions[kept] = distances[at], positions[at]
            kept += 1
    return limit


@compiled
def _measure(queries, members, points, order, positions, counts, out):
    """Compute the squared distances of the retained rows from their queries, in double precision."""
    for r in range(len(members)):
        i = members[r]
        for c in range(counts[r]):
            j, square = order[positions[r, c]], 0.0
            for k in range(points.shape[1]):
                difference = np.float64(queries[i, k]) - np.float64(points[j, k])
                square += difference * difference
            out[r, c] = square
