"""Nearest neighbors of rows, as edges with their distances."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from oneof.errors import InputError
from oneof.graphs.cells import MAX_TREE_FEATURES, CellIndex, cells_are_faster
from oneof.graphs.distances import normalize_rows, paired_distances, paired_products, scale_exponent, scale_rows
from oneof.parallel import limit_openmp_after_fork, single_threaded_blas
from oneof.typing import FeatureMatrix, Floats, Ints

_RADIUS_TOL = 1e-7  # rounding error of distances computed from products, between points of norm 1
_PRODUCT_TOL = 1e-4  # products do not resolve smaller distances, between points of norm 1
_BLOCK_SIZE = 1 << 22  # distances computed from differences that are in memory at the same time


@dataclass(frozen=True)
class EdgeList:
    """Directed edges from rows to their neighbors.

    Attributes
    ----------
    source, target : ndarray of shape (n_edges,)
        Row indices; the sources ascend.
    values : ndarray of shape (n_edges,)
        Euclidean distances or cosine similarities.
    """

    source: Ints
    target: Ints
    values: Floats

    def reshape_by_row(self, n_rows: int) -> tuple[Floats, Ints]:
        """Return the values and the targets of `n_rows` rows, (n_rows, k) each.

        All rows must have k edges, as nearest neighbors have. By cosine this can fail: rows of zeros have no edge.
        """
        shape = (n_rows, len(self.values) // max(n_rows, 1))
        return self.values.reshape(shape), self.target.reshape(shape)


class NeighborIndex:
    """Index of rows for neighbor searches.

    The index is built when it is first needed, and is not part of the pickled state. Its tree contains offsets for
    compiled code, which a forged model file could misuse.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        They are stored by reference. A copy is made with the index if distances need one: dense rows around their mean,
        rows of norm 1 for cosines, and extreme features in another unit.
    cosine : bool
        Whether neighbors have a large cosine similarity instead of a short Euclidean distance. A row of zeros then
        has no neighbor.
    approximate : bool
        Whether nearest neighbors may be missed, for speed.

    Attributes
    ----------
    unit : int
        Distances are in multiples of 2^unit, which is 1 except for extreme features.

    Raises
    ------
    InputError
        If a value is not finite.
    """

    def __init__(self, rows: FeatureMatrix, *, cosine: bool = False, approximate: bool = False) -> None:
        self.rows, self.cosine, self.approximate = rows, cosine, approximate
        exponent = scale_exponent(rows)
        self.unit = 0 if cosine else exponent
        self._indexed: _IndexedPoints | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def nearest(self, n_neighbors: int, rows: FeatureMatrix | None = None) -> EdgeList:
        """Connect each query to its nearest neighbors, or to all rows if there are fewer.

        Parameters
        ----------
        n_neighbors : int
        rows : ndarray or CSR matrix of shape (t, d), optional
            Queries. By default the indexed rows; a row is then not its own neighbor. Ties are broken arbitrarily but
            reproducibly.

        Returns
        -------
        EdgeList
        """
        indexed = self._indexed_points()
        queries, members = (indexed.points, indexed.members) if rows is None else self._convert(rows)
        k = min(n_neighbors, len(indexed.members) - (rows is None))
        if k <= 0 or len(members) == 0:
            return EdgeList(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        targets = indexed.index.nearest(None if rows is None else queries, k)
        source = np.repeat(np.arange(len(members)), k)
        return self._measure(queries, members, source, np.asarray(targets, dtype=np.int64).ravel())

    def within(self, radius: float, rows: FeatureMatrix | None = None) -> EdgeList:
        """Connect each query to all rows within a distance, or within 1 - cos; parameters as in `nearest`."""
        indexed = self._indexed_points()
        queries, members = (indexed.points, indexed.members) if rows is None else self._convert(rows)
        if len(indexed.members) == 0 or len(members) == 0:
            return EdgeList(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        limit = radius if self.cosine else self.rescale(radius)
        euclidean_limit = np.sqrt(2.0 * limit) if self.cosine else limit
        neighbors = indexed.index.within(None if rows is None else queries, euclidean_limit)
        source = np.repeat(np.arange(len(members)), [len(row) for row in neighbors])
        edges = self._measure(queries, members, source, np.concatenate(neighbors).astype(np.int64))
        selected = (edges.values >= 1.0 - limit) if self.cosine else (edges.values <= limit)
        return EdgeList(edges.source[selected], edges.target[selected], edges.values[selected])

    def points(self, rows: FeatureMatrix | None = None) -> FeatureMatrix:
        """Return the indexed rows, or queries in the same form, in the unit of the distances; by cosine, of norm 1."""
        return self._indexed_points().points if rows is None else self._convert(rows)[0]

    def rescale(self, length: float) -> float:
        """Return a length in the unit of the distances."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(length, -self.unit))

    def _measure(self, queries: FeatureMatrix, members: Ints, source: Ints, target: Ints) -> EdgeList:
        indexed = self._indexed_points()
        measure = paired_products if self.cosine else paired_distances
        values = measure(queries, source, indexed.points, target)
        return EdgeList(members[source], indexed.members[target], values)

    def _indexed_points(self) -> "_IndexedPoints":
        if self._indexed is None:
            points, members = normalize_rows(self.rows) if self.cosine else self._scale(self.rows)
            self._indexed = _IndexedPoints(points, members, _make_index(points, self.approximate))
        return self._indexed

    def _convert(self, rows: FeatureMatrix) -> tuple[FeatureMatrix, Ints]:
        """Return queries in the form of the indexed rows: neither trees nor products mix dense and CSR."""
        if sp.issparse(rows) != sp.issparse(self.rows):
            rows = sp.csr_array(rows) if sp.issparse(self.rows) else rows.toarray()
        scale_exponent(rows)  # raises if a value is not finite
        return normalize_rows(rows) if self.cosine else self._scale(rows)

    def _scale(self, rows: FeatureMatrix) -> tuple[FeatureMatrix, Ints]:
        return scale_rows(rows, self.unit), np.arange(rows.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "cosine": self.cosine, "approximate": self.approximate, "unit": self.unit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._indexed = None


@dataclass(frozen=True)
class _IndexedPoints:
    """Points, their row indices, and their search index."""

    points: FeatureMatrix
    members: Ints
    index: Any


class _ExactIndex:
    """Exact index of few rows or features: a tree in few dimensions, else all pairs, since trees prune little."""

    def __init__(self, points: FeatureMatrix) -> None:
        # Distances are computed from products, which lose digits if points are far from the origin. A single outlier
        # does not move the median.
        self._origin = None if sp.issparse(points) else np.median(points, axis=0)
        use_tree = not sp.issparse(points) and points.shape[1] <= MAX_TREE_FEATURES
        self._uses_products = not use_tree and not sp.issparse(points)
        self._index = NearestNeighbors(algorithm="kd_tree" if use_tree else "brute").fit(self._center(points))
        self._max_norm = _max_norm(self._index._fit_X)

    def nearest(self, points: FeatureMatrix | None, k: int) -> Ints:
        limit_openmp_after_fork()
        centered = self._center(points)
        # scikit-learn does the same, but two overlapping calls would leave the limit set permanently.
        with single_threaded_blas():
            neighbors = self._index.kneighbors(centered, k, return_distance=False)
        if self._uses_products:
            self._refine(centered, neighbors)
        return neighbors

    def _refine(self, points: Floats | None, neighbors: Ints) -> None:
        """Search again, by differences, if neighbors are closer than products can resolve, relative to the norms.

        This occurs between clusters far apart, only one of which can contain the origin.
        """
        indexed = self._index._fit_X
        queries = indexed if points is None else points
        norms = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
        source = np.repeat(np.arange(len(queries)), neighbors.shape[1])
        last = paired_distances(queries, source, indexed, neighbors.ravel()).reshape(neighbors.shape).max(axis=1)
        unresolved = np.flatnonzero((last > 0) & (last < _PRODUCT_TOL * norms))
        step = max(1, _BLOCK_SIZE // len(indexed))
        for rows in (unresolved[start : start + step] for start in range(0, len(unresolved), step)):
            distances = cdist(queries[rows], indexed)
            if points is None:  # no row is its own neighbor
                distances[np.arange(len(rows)), rows] = np.inf
            near = np.argpartition(distances, neighbors.shape[1] - 1, axis=1)[:, : neighbors.shape[1]]
            order = np.take_along_axis(distances, near, axis=1).argsort(axis=1, kind="stable")
            neighbors[rows] = np.take_along_axis(near, order, axis=1)

    def within(self, points: FeatureMatrix | None, radius: float) -> list[Ints]:
        points = self._center(points)
        max_norm = self._max_norm if points is None else max(self._max_norm, _max_norm(points))
        limit_openmp_after_fork()
        with single_threaded_blas():
            return list(self._index.radius_neighbors(points, radius + _RADIUS_TOL * max_norm, return_distance=False))

    def _center(self, points: FeatureMatrix | None) -> FeatureMatrix | None:
        return points if points is None or self._origin is None else points - self._origin


def _make_index(points: FeatureMatrix, approximate: bool) -> Any:
    if points.shape[0] == 0:
        return None
    if approximate and sp.issparse(points):
        raise InputError(
            'algorithm="approximate" requires dense rows. Pass algorithm="exact", or reduce the features first, '
            "for example with TruncatedSVD."
        )
    if not sp.issparse(points) and cells_are_faster(points):
        return CellIndex(points, _ExactIndex, approximate=approximate)
    return _ExactIndex(points)


def _max_norm(points: FeatureMatrix) -> float:
    squares = points.multiply(points) if sp.issparse(points) else points.astype(np.float64) ** 2
    return float(np.sqrt(np.asarray(squares.sum(axis=1)).max(initial=0.0)))
