"""Construction of weighted neighbor graphs from rows."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs.affinity import check_affinity, edges_to_csr, symmetrize_edges
from oneof.graphs.neighbors import EdgeList, NeighborIndex
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_choice, check_positive

AFFINITIES = ("gaussian", "cosine", "binary")
_MIN_LENGTH = float(np.finfo(np.float64).tiny)
_MAX_EXPONENT = 690.0  # exp(-690) is the smallest power that is neither 0 nor denormal


@dataclass(frozen=True, eq=False)
class Graph:
    """Weighted graph of the training rows, to which new rows can be connected.

    Attributes
    ----------
    affinity : csr_array of shape (n, n)
        float64, symmetric to the last bit, at least 0, without diagonal, stored zeros or unsorted indices.
    index : NeighborIndex
        The training rows.
    rule : NeighborGraph
        Definition of the neighbors and edge weights of new rows.
    bandwidths : ndarray of shape (n,) or None
        Local bandwidths of the training rows, if they are needed and already computed.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.graphs import NeighborGraph
    >>> graph = NeighborGraph("binary", n_neighbors=1).graph(np.array([[0.0], [1.0], [5.0]]))
    >>> graph.transform(np.array([[4.0]])).toarray()
    array([[0., 0., 1.]])
    """

    affinity: sp.csr_array
    index: NeighborIndex = field(repr=False)
    rule: "NeighborGraph"
    bandwidths: Floats | None = field(repr=False)

    def transform(self, X: FeatureMatrix) -> sp.csr_array:
        """Return the edge weights from new rows to the training rows, by the definition used in fit.

        The neighbors of a new row are searched among the training rows, in one direction only, so that nothing is
        symmetrized. A training row that is passed again is its own neighbor. If the graph was made from a precomputed
        affinity, the weights are self-tuning Gaussian weights of the nearest neighbors.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (t, d)

        Returns
        -------
        csr_array of shape (t, n)
            At least 0, not normalized. Gaussian weights of a row that would all underflow are scaled up by one
            factor. A row without neighbors, for example within a radius, has no weights.

        Raises
        ------
        InputError
            If a value is not finite, or distances overflow float64.
        """
        return self.rule._weights(self.index, X, self.bandwidths)[0]


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Builder of weighted neighbor graphs.

    Parameters
    ----------
    affinity : {"gaussian", "cosine", "binary"}, callable, array or sparse matrix, default="gaussian"
        Edge weights. "gaussian": Gaussian weights with the given `bandwidth`. "cosine": the cosine similarity, by
        which neighbors are selected too, with negative values set to 0. "binary": 1. An array or sparse matrix is the
        (n, n) affinity of the training rows itself; a callable returns it from the rows. With these two, no other
        parameter changes the graph.
    n_neighbors : int, default=5
        Number of nearest neighbors to which each row is connected; duplicates are neighbors like any other. If there
        are fewer rows, all are connected.
    radius : float, optional
        Connect all rows within this Euclidean distance (for "cosine", within the distance 1 - cos) instead of the
        nearest neighbors. Memory is proportional to the number of edges.
    bandwidth : "local" or float, default="local"
        Gaussian bandwidth. A number: exp(-d^2 / (2 bandwidth^2)). "local": exp(-d^2 / (s_i s_j)), with s_i the
        distance of row i to its `n_neighbors`-th neighbor, replaced by the mean over the other rows if it is 0.
    symmetrize : {"union", "mutual", "sum"}, default="union"
        "union": two rows are connected if either is a neighbor of the other. "mutual": only if each is. "sum":
        A + A^T, like "union" but with twice the weight for mutual neighbors, as in Joachims' transducer.
    algorithm : {"exact", "approximate"}, default="exact"
        "approximate" is faster for more than about 3,000 rows of more than 5 features, and misses neighbors: it finds
        97 % of those of a sample of the rows, whatever their distribution, so that the time depends on it. New rows
        from another distribution may miss more. Smaller inputs are searched exactly. It requires dense rows, and does
        not support `radius`.

    Raises
    ------
    InputError
        If a parameter is invalid.

    References
    ----------
    Zelnik-Manor & Perona (2004), Self-tuning spectral clustering, NeurIPS, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> builder = NeighborGraph("binary", n_neighbors=1)
    >>> builder.graph(np.array([[0.0], [1.0], [5.0]])).affinity.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    affinity: Any = "gaussian"
    n_neighbors: int = 5
    radius: float | None = None
    bandwidth: float | Literal["local"] = "local"
    symmetrize: Literal["union", "mutual", "sum"] = "union"
    algorithm: Literal["exact", "approximate"] = "exact"

    def __post_init__(self) -> None:
        if isinstance(self.affinity, str):
            check_choice("affinity", self.affinity, AFFINITIES, ", a function of the rows or a matrix")
        check_positive("n_neighbors", self.n_neighbors, integer=True)
        check_positive("radius", self.radius, or_none=True)
        if not (isinstance(self.bandwidth, str) and self.bandwidth == "local"):
            check_positive("bandwidth", self.bandwidth, alternatives=' or "local"')
        check_choice("symmetrize", self.symmetrize, ("union", "mutual", "sum"))
        check_choice("algorithm", self.algorithm, ("exact", "approximate"))
        if self.algorithm == "approximate" and self.radius is not None:
            raise InputError(
                f'`radius` must be None with algorithm="approximate"; got {self.radius!r}. Pass algorithm="exact".'
            )

    def graph(self, X: FeatureMatrix) -> Graph:
        """Build the graph of rows.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d)
            Finite; float32 or float64.

        Returns
        -------
        Graph

        Raises
        ------
        InputError
            If there are no rows, a value is not finite, distances overflow float64, or a precomputed affinity is
            invalid.
        """
        if X.shape[0] == 0:
            raise InputError("`X` must have at least one row; got 0 rows.")
        is_named = isinstance(self.affinity, str)
        index = NeighborIndex(
            X, cosine=is_named and self.affinity == "cosine", approximate=is_named and self.algorithm == "approximate"
        )
        if is_named:
            directed, bandwidths = self._weights(index)
            return Graph(symmetrize_edges(directed, self.symmetrize), index, self, bandwidths)
        affinity = self.affinity(X) if callable(self.affinity) else self.affinity
        # It does not cover new rows: they get self-tuning weights of their nearest neighbors.
        rule = NeighborGraph(n_neighbors=self.n_neighbors)
        return Graph(check_affinity(affinity, X.shape[0]), index, rule, None)

    def _weights(
        self, index: NeighborIndex, queries: FeatureMatrix | None = None, bandwidths: Floats | None = None
    ) -> tuple[sp.csr_array, Floats | None]:
        """Return the weights of the edges from queries, by default from the indexed rows, and their local bandwidths.

        Parameters
        ----------
        index : NeighborIndex
            n rows.
        queries : ndarray or CSR matrix of shape (t, d), optional
            Their weights are scaled up by one factor for each query if they would all underflow.
        bandwidths : ndarray of shape (n,), optional
            Local bandwidths of the indexed rows, if already computed.
        """
        if self.radius is None:
            edges = index.nearest(self.n_neighbors, queries)
        else:
            edges = index.within(float(self.radius), queries)
        weights, own = edges.values, None
        if self.affinity == "gaussian":
            weights, own = self._gaussian_weights(index, edges, queries, bandwidths)
        else:
            weights = np.ones(len(weights)) if self.affinity == "binary" else np.clip(weights, 0.0, 1.0)
        shape = (len(index) if queries is None else queries.shape[0], len(index))
        return edges_to_csr(edges.source, edges.target, weights, shape), own

    def _gaussian_weights(
        self, index: NeighborIndex, edges: EdgeList, queries: FeatureMatrix | None, bandwidths: Floats | None
    ) -> tuple[Floats, Floats | None]:
        """Return the Gaussian weights of edges, and the local bandwidths of their sources; arguments as above."""
        own, d = None, edges.values
        with np.errstate(over="ignore", under="ignore"):
            if self.bandwidth == "local":
                nearest = edges if self.radius is None else index.nearest(self.n_neighbors, queries)
                if bandwidths is None:
                    among = nearest if queries is None else index.nearest(self.n_neighbors)
                    bandwidths = local_bandwidths(among, len(index))
                own = bandwidths
                if queries is not None:
                    # That of the training rows is typical, so that queries do not influence each other.
                    own = local_bandwidths(nearest, queries.shape[0], typical=float(bandwidths.mean()))
                exponents: Floats = (d / own[edges.source]) * (d / bandwidths[edges.target])
            else:
                scaled = d / max(index.rescale(float(self.bandwidth)), _MIN_LENGTH)
                exponents = 0.5 * scaled * scaled
            if queries is not None:
                exponents = _limit_exponents(exponents, edges, queries.shape[0])
            return np.exp(-exponents), own


def local_bandwidths(edges: EdgeList, n: int, typical: float | None = None) -> Floats:
    """Return the distance of each row to the last of its nearest neighbors, (n,).

    This distance is 0 if all nearest neighbors are duplicates. The row then gets a typical bandwidth, by default the
    mean of the other rows, and is connected to near rows like an ordinary row.
    """
    bandwidths = np.zeros(n)
    np.maximum.at(bandwidths, edges.source, edges.values)
    positive = bandwidths > 0
    if typical is None:
        typical = float(bandwidths[positive].mean()) if positive.any() else 1.0
    bandwidths[~positive] = typical
    return bandwidths


def _limit_exponents(exponents: Floats, edges: EdgeList, n: int) -> Floats:
    """Reduce the exponents of each row whose weights would all underflow so that the smallest is `_MAX_EXPONENT`."""
    smallest, nearest = np.full((2, n), np.inf)
    np.minimum.at(smallest, edges.source, exponents)
    np.minimum.at(nearest, edges.source, edges.values)
    is_infinite = np.isinf(smallest)
    excess = np.where(is_infinite, 0.0, np.maximum(smallest - _MAX_EXPONENT, 0.0))
    # If even the smallest exponent is infinite, only the nearest rows get a weight.
    only = is_infinite[edges.source] & (edges.values == nearest[edges.source])
    return np.where(only, _MAX_EXPONENT, exponents - excess[edges.source])
