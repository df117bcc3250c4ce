"""Links from rows to those near them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from oneof.errors import InputError
from oneof.graphs.approximate import FEW_FEATURES, ApproximateIndex, cells_are_faster
from oneof.graphs.points import distances, normalized, products, scale_of, scaled
from oneof.parallel import limit_openmp_after_fork, single_threaded_blas
from oneof.typing import FeatureMatrix, Floats, Ints

_ROUNDING = 1e-7  # of squared distances that are worked out from products, as a distance between points of norm 1
_DROWNED = 1e-4  # nearer than this, between points of norm 1, neighbors are not told apart by products
_BLOCK = 1 << 22  # distances from differences that are held at a time


@dataclass(frozen=True)
class Links:
    """From rows to those among which their neighbors were sought.

    Attributes
    ----------
    source, target : ndarray of shape (n_links,)
        Numbers of rows; the sources ascend.
    values : ndarray of shape (n_links,)
        Euclidean distances, or cosine similarities.
    """

    source: Ints
    target: Ints
    values: Floats

    def by_row(self, n_rows: int) -> tuple[Floats, Ints]:
        """Return the values and the targets of `n_rows` rows, (n_rows, k) each, where all have k links, as nearest do.

        By cosine they need not: rows of zeros have none.
        """
        shape = (n_rows, len(self.values) // max(n_rows, 1))
        return self.values.reshape(shape), self.target.reshape(shape)


class Neighborhood:
    """Rows among which neighbors are sought.

    The index is made when it is first needed and is no part of the state: its tree holds offsets for compiled code,
    which a forged model file could misuse.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        They are referred to. A copy is made with the index where distances need one: of dense rows around their mean,
        of rows of norm 1 for cosines, and of extreme features in another unit.
    cosine : bool
        Whether near means a large cosine similarity, or a short Euclidean distance. A row of zeros is then near none.
    approximate : bool
        Whether nearest neighbors may be missed, for speed.

    Attributes
    ----------
    unit : int
        Distances are in multiples of 2^unit, which is 1 but for extreme features.

    Raises
    ------
    InputError
        If a value is not finite.
    """

    def __init__(self, rows: FeatureMatrix, *, cosine: bool = False, approximate: bool = False) -> None:
        self.rows, self.cosine, self.approximate = rows, cosine, approximate
        scale = scale_of(rows)
        self.unit = 0 if cosine else scale
        self._prepared: _Prepared | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def nearest(self, n_neighbors: int, rows: FeatureMatrix | None = None) -> Links:
        """Link each row to its nearest neighbors, where there are fewer to all.

        Parameters
        ----------
        n_neighbors : int
        rows : ndarray or CSR matrix of shape (t, d), optional
            Without it these rows, none of which is its own neighbor. Of several at the same distance, any are taken,
            but always the same.

        Returns
        -------
        Links
        """
        here = self._points()
        there, members = (here.points, here.members) if rows is None else self._like(rows)
        k = min(n_neighbors, len(here.members) - (rows is None))
        if k <= 0 or len(members) == 0:
            return Links(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        targets = here.index.nearest(None if rows is None else there, k)
        source = np.repeat(np.arange(len(members)), k)
        return self._measured(there, members, source, np.asarray(targets, dtype=np.int64).ravel())

    def within(self, radius: float, rows: FeatureMatrix | None = None) -> Links:
        """Link each row to all within a distance, or by cosine a distance 1 - cos; parameters as those of `nearest`."""
        here = self._points()
        there, members = (here.points, here.members) if rows is None else self._like(rows)
        if len(here.members) == 0 or len(members) == 0:
            return Links(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        limit = radius if self.cosine else self.in_units(radius)
        reach = np.sqrt(2.0 * limit) if self.cosine else limit
        found = here.index.within(None if rows is None else there, reach)
        source = np.repeat(np.arange(len(members)), [len(near) for near in found])
        links = self._measured(there, members, source, np.concatenate(found).astype(np.int64))
        kept = (links.values >= 1.0 - limit) if self.cosine else (links.values <= limit)
        return Links(links.source[kept], links.target[kept], links.values[kept])

    def points(self, rows: FeatureMatrix | None = None) -> FeatureMatrix:
        """Return these rows, or others in the form of these, in the unit of the distances; by cosine, of norm 1."""
        return self._points().points if rows is None else self._like(rows)[0]

    def in_units(self, length: float) -> float:
        """Return a length in the multiples that distances are in."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(length, -self.unit))

    def _measured(self, there: FeatureMatrix, members: Ints, source: Ints, target: Ints) -> Links:
        here = self._points()
        measure = products if self.cosine else distances
        values = measure(there, source, here.points, target)
        return Links(members[source], here.members[target], values)

    def _points(self) -> "_Prepared":
        if self._prepared is None:
            points, members = normalized(self.rows) if self.cosine else self._scaled(self.rows)
            self._prepared = _Prepared(points, members, _index(points, self.approximate))
        return self._prepared

    def _like(self, rows: FeatureMatrix) -> tuple[FeatureMatrix, Ints]:
        """Return other rows in the form of these: neither trees nor products mix dense and CSR."""
        if sp.issparse(rows) != sp.issparse(self.rows):
            rows = sp.csr_array(rows) if sp.issparse(self.rows) else rows.toarray()
        scale_of(rows)  # refuses what is not finite
        return normalized(rows) if self.cosine else self._scaled(rows)

    def _scaled(self, rows: FeatureMatrix) -> tuple[FeatureMatrix, Ints]:
        return scaled(rows, self.unit), np.arange(rows.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "cosine": self.cosine, "approximate": self.approximate, "unit": self.unit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepared = None


@dataclass(frozen=True)
class _Prepared:
    points: FeatureMatrix
    members: Ints  # the numbers of their rows
    index: Any


class _ExactIndex:
    """A tree in few dimensions, and all pairs in more, where a tree hardly leaves any out."""

    def __init__(self, points: FeatureMatrix) -> None:
        # Distances are worked out from products, which lose digits where points lie far from the origin. No one row
        # moves a median far from all the others.
        self._origin = None if sp.issparse(points) else np.median(points, axis=0)
        few = not sp.issparse(points) and points.shape[1] <= FEW_FEATURES
        self._by_products = not few and not sp.issparse(points)
        self._index = NearestNeighbors(algorithm="kd_tree" if few else "brute").fit(self._centered(points))
        self._size = _largest_norm(self._index._fit_X)

    def nearest(self, points: FeatureMatrix | None, k: int) -> Ints:
        limit_openmp_after_fork()
        centered = self._centered(points)
        with single_threaded_blas():  # as scikit-learn does, of whose calls two that overlap would leave it so for good
            found = self._index.kneighbors(centered, k, return_distance=False)
        if self._by_products:
            self._settle(centered, found)
        return found

    def _settle(self, points: Floats | None, found: Ints) -> None:
        """Seek anew, by differences, where neighbors are so near beside the norms that products lose them.

        So it is between clouds far apart, of which but one can be where the origin is.
        """
        others = self._index._fit_X
        own = others if points is None else points
        norms = np.sqrt(np.einsum("ij,ij->i", own, own, dtype=np.float64))
        source = np.repeat(np.arange(len(own)), found.shape[1])
        last = distances(own, source, others, found.ravel()).reshape(found.shape).max(axis=1)
        drowned = np.flatnonzero((last > 0) & (last < _DROWNED * norms))
        step = max(1, _BLOCK // len(others))
        for rows in (drowned[start : start + step] for start in range(0, len(drowned), step)):
            apart = cdist(own[rows], others)
            if points is None:  # no row is its own neighbor
                apart[np.arange(len(rows)), rows] = np.inf
            near = np.argpartition(apart, found.shape[1] - 1, axis=1)[:, : found.shape[1]]
            order = np.take_along_axis(apart, near, axis=1).argsort(axis=1, kind="stable")
            found[rows] = np.take_along_axis(near, order, axis=1)

    def within(self, points: FeatureMatrix | None, radius: float) -> list[Ints]:
        points = self._centered(points)
        size = self._size if points is None else max(self._size, _largest_norm(points))
        limit_openmp_after_fork()
        with single_threaded_blas():
            return list(self._index.radius_neighbors(points, radius + _ROUNDING * size, return_distance=False))

    def _centered(self, points: FeatureMatrix | None) -> FeatureMatrix | None:
        return points if points is None or self._origin is None else points - self._origin


def _index(points: FeatureMatrix, approximate: bool) -> Any:
    if points.shape[0] == 0:
        return None
    if approximate:
        if sp.issparse(points):
            raise InputError(
                'algorithm="approximate" takes dense rows: pass algorithm="exact", or reduce the features first, for '
                "example with TruncatedSVD."
            )
        if cells_are_faster(points):
            return ApproximateIndex(points, _ExactIndex)
    return _ExactIndex(points)


def _largest_norm(points: FeatureMatrix) -> float:
    squares = points.multiply(points) if sp.issparse(points) else points.astype(np.float64) ** 2
    return float(np.sqrt(np.asarray(squares.sum(axis=1)).max(initial=0.0)))
