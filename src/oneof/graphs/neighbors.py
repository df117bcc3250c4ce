"""Nearest neighbors of rows, as edges with their distances."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from oneof.errors import InputError
from oneof.graphs.cells import CellIndex
from oneof.graphs.distances import (
    normalize_rows,
    paired_distances,
    paired_products,
    scale_exponent,
    scale_rows,
    search_unresolved,
)
from oneof.parallel import limit_openmp_after_fork, single_threaded_blas
from oneof.typing import FeatureMatrix, Floats, Ints

MIN_ROWS = 3_000
"""Minimum number of rows for cells. With fewer rows, the comparison of all pairs is as fast."""
MAX_TREE_FEATURES = 5
"""Maximum number of features with which a tree is faster than products, since it prunes little in more."""
MIN_ROWS_PER_QUERY = 20
"""Ratio of rows to queries above which the exact search compares all pairs, since cells would take longer to make."""
_RADIUS_RTOL = 1e-7  # rounding error of distances computed from products, relative to the norms


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
        They are stored by reference. A copy is made with the index if distances need one: dense rows around the centers
        of cells, rows of norm 1 for cosines, and extreme features in another unit.
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
        exponent = scale_exponent(rows)
        self.rows, self.cosine, self.approximate, self.unit = rows, cosine, approximate, 0 if cosine else exponent
        self._cache: _Indexed | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def nearest(self, n_neighbors: int, rows: FeatureMatrix | None = None) -> EdgeList:
        """Connect each query to its nearest neighbors, the nearest first, or to all rows if there are fewer.

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
        indexed = self._index()
        queries, members = (indexed.points, indexed.members) if rows is None else self._convert(rows)
        k = min(n_neighbors, len(indexed.members) - (rows is None))
        if k <= 0:
            return self._measure(indexed, queries, members, [])
        near = indexed.nearest(queries, k + (rows is None))
        if rows is None:  # remove the row itself, or the first neighbor if duplicates have displaced it
            is_self = near == np.arange(len(near))[:, None]
            is_self[~is_self.any(axis=1), 0] = True
            near = near[~is_self].reshape(-1, k)
        edges = self._measure(indexed, queries, members, near)
        order = np.argsort((-edges.values if self.cosine else edges.values).reshape(-1, k), axis=1, kind="stable")
        order = (order + k * np.arange(len(near))[:, None]).ravel()
        return EdgeList(edges.source, edges.target[order], edges.values[order])

    def within(self, radius: float, rows: FeatureMatrix | None = None) -> EdgeList:
        """Connect each query to all rows within a distance, or within 1 - cos; parameters as in `nearest`."""
        indexed = self._index()
        queries, members = (indexed.points, indexed.members) if rows is None else self._convert(rows)
        limit = radius if self.cosine else self.rescale(radius)
        near = indexed.within(queries, float(np.sqrt(2.0 * limit)) if self.cosine else limit)
        edges = self._measure(indexed, queries, members, near)
        selected = (edges.values >= 1.0 - limit) if self.cosine else (edges.values <= limit)
        if rows is None:
            selected &= edges.source != edges.target
        return EdgeList(edges.source[selected], edges.target[selected], edges.values[selected])

    def points(self, rows: FeatureMatrix | None = None) -> FeatureMatrix:
        """Return the indexed rows, or queries in the same form, in the unit of the distances; by cosine, of norm 1."""
        return self._index().points if rows is None else self._convert(rows)[0]

    def rescale(self, length: float) -> float:
        """Return a length in the unit of the distances."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(length, -self.unit))

    def _measure(self, indexed: "_Indexed", queries: FeatureMatrix, members: Ints, near: Ints | list[Ints]) -> EdgeList:
        """Return the edges to the neighbors of each query, with their lengths."""
        source = np.repeat(np.arange(len(near)), [len(row) for row in near])
        target = np.concatenate([np.zeros(0, dtype=np.int64), *near])
        measure = paired_products if self.cosine else paired_distances
        return EdgeList(members[source], indexed.members[target], measure(queries, source, indexed.points, target))

    def _index(self) -> "_Indexed":
        if self._cache is None:
            self._cache = _Indexed(*self._convert(self.rows), self.approximate)
        return self._cache

    def _convert(self, rows: FeatureMatrix) -> tuple[FeatureMatrix, Ints]:
        """Return the points of rows, and their row indices."""
        if sp.issparse(rows) != sp.issparse(self.rows):  # neither trees nor products mix dense and CSR
            rows = sp.csr_array(rows) if sp.issparse(self.rows) else rows.toarray()
        scale_exponent(rows)  # raises if a value is not finite
        return normalize_rows(rows) if self.cosine else (scale_rows(rows, self.unit), np.arange(rows.shape[0]))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("rows", "cosine", "approximate", "unit")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "_cache": None})


class _Indexed:
    """Points with their row indices and search indexes, which are built when they are first needed."""

    def __init__(self, points: FeatureMatrix, members: Ints, approximate: bool) -> None:
        self.points, self.members, self._approximate = points, members, approximate
        self._is_dense = not sp.issparse(points)
        if approximate and not self._is_dense:
            raise InputError(
                'algorithm="approximate" requires dense rows. Pass algorithm="exact", or reduce the features first, '
                "for example with TruncatedSVD."
            )
        n, d = points.shape
        self._use_tree = self._is_dense and d <= MAX_TREE_FEATURES
        self._use_cells = self._is_dense and not self._use_tree and n >= MIN_ROWS

    def nearest(self, queries: FeatureMatrix, k: int) -> Ints:
        """Return the indices of the k nearest points of each query, (t, k), in any order."""
        if queries.shape[0] == 0:
            return np.zeros((0, k), dtype=np.int64)
        are_many = queries.shape[0] * MIN_ROWS_PER_QUERY >= len(self.members)
        if self._use_cells and (self._approximate or are_many):
            return self._cells.nearest(queries, k)
        centered = self._center(queries)
        limit_openmp_after_fork()
        # scikit-learn does the same, but two overlapping calls would leave the limit set permanently.
        with single_threaded_blas():
            distances, near = self._all_points.kneighbors(centered, k)
        if self._is_dense and not self._use_tree:
            search_unresolved(queries, self.points, near, distances[:, -1], row_norms(centered))
        return np.asarray(near, dtype=np.int64)

    def within(self, queries: FeatureMatrix, radius: float) -> list[Ints]:
        """Return the indices of all points within a distance of each query, up to rounding errors."""
        if len(self.members) == 0 or queries.shape[0] == 0:
            return []
        centered = self._center(queries)
        radius += _RADIUS_RTOL * float(max(row_norms(self._all_points._fit_X).max(), row_norms(centered).max()))
        radius = min(radius, float(np.sqrt(np.finfo(centered.dtype).max)))  # scikit-learn squares it
        limit_openmp_after_fork()
        with single_threaded_blas():
            return list(self._all_points.radius_neighbors(centered, radius, return_distance=False))

    @cached_property
    def _cells(self) -> CellIndex:
        return CellIndex(self.points, approximate=self._approximate)

    @cached_property
    def _all_points(self) -> NearestNeighbors:
        return NearestNeighbors(algorithm="kd_tree" if self._use_tree else "brute").fit(self._center(self.points))

    @cached_property
    def _origin(self) -> Floats:
        """Products lose digits if points are far from the origin. A single outlier does not move the median."""
        return np.median(self.points, axis=0)

    def _center(self, points: FeatureMatrix) -> FeatureMatrix:
        return points - self._origin if self._is_dense else points
