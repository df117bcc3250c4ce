"""Weights of edges, computed from their lengths or cosine similarities."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from oneof.graphs.affinity import edges_to_csr
from oneof.graphs.neighbors import EdgeList, NeighborIndex
from oneof.typing import FeatureMatrix, Floats

_MIN_LENGTH = float(np.finfo(np.float64).tiny)
_MAX_EXPONENT = 690.0  # exp(-690) is the smallest power that is neither 0 nor denormal


@dataclass(frozen=True)
class EdgeWeighting:
    """The validated parameters of `NeighborGraph` that define neighbors and edge weights."""

    kind: Literal["gaussian", "cosine", "binary"]
    n_neighbors: int
    radius: float | None
    bandwidth: float | Literal["local"]

    def directed_weights(self, index: NeighborIndex) -> tuple[sp.csr_array, Floats | None]:
        """Return the weights (n, n) of the edges from each row to its neighbors, and the local bandwidths (n,)."""
        n = index.rows.shape[0]
        edges = self._edges(index)
        bandwidths = self.bandwidths(index, edges)
        return self._weights(edges, (n, n), index, bandwidths, bandwidths), bandwidths

    def cross_weights(self, index: NeighborIndex, bandwidths: Floats | None, queries: FeatureMatrix) -> sp.csr_array:
        """Return the weights (t, n) of the edges from queries to the indexed rows with these local bandwidths."""
        t = queries.shape[0]
        edges = self._edges(index, queries)
        query_bandwidths = None
        if bandwidths is not None:
            nearest = edges if self.radius is None else index.nearest(self.n_neighbors, queries)
            # The typical bandwidth is that of the training rows, so that queries do not influence each other.
            query_bandwidths = local_bandwidths(nearest, t, typical=float(bandwidths.mean()))
        return self._weights(
            edges, (t, index.rows.shape[0]), index, query_bandwidths, bandwidths, rescale_underflow=True
        )

    def bandwidths(self, index: NeighborIndex, edges: EdgeList | None = None) -> Floats | None:
        """Return the local bandwidths of the indexed rows; None if the weights do not use them."""
        if self.kind != "gaussian" or self.bandwidth != "local":
            return None
        if edges is None or self.radius is not None:
            edges = index.nearest(self.n_neighbors)
        return local_bandwidths(edges, index.rows.shape[0])

    def _edges(self, index: NeighborIndex, queries: FeatureMatrix | None = None) -> EdgeList:
        if self.radius is None:
            return index.nearest(self.n_neighbors, queries)
        return index.within(self.radius, queries)

    def _weights(
        self,
        edges: EdgeList,
        shape: tuple[int, int],
        index: NeighborIndex,
        source_bandwidths: Floats | None,
        target_bandwidths: Floats | None,
        *,
        rescale_underflow: bool = False,
    ) -> sp.csr_array:
        if self.kind == "cosine":
            return cosine(edges, shape)
        if self.kind == "binary":
            return binary(edges, shape)
        bandwidth = self.bandwidth if self.bandwidth == "local" else index.rescale(self.bandwidth)
        return gaussian(
            edges, shape, bandwidth, source_bandwidths, target_bandwidths, rescale_underflow=rescale_underflow
        )


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


def gaussian(
    edges: EdgeList,
    shape: tuple[int, int],
    bandwidth: float | Literal["local"],
    source_bandwidths: Floats | None = None,
    target_bandwidths: Floats | None = None,
    *,
    rescale_underflow: bool = False,
) -> sp.csr_array:
    """Return exp(-d^2 / (2 bandwidth^2)), or with the local bandwidths of both ends exp(-d^2 / (s_i s_j)).

    With `rescale_underflow`, the weights of a source row that would all underflow are scaled up by one factor.
    """
    d = edges.values
    with np.errstate(over="ignore", under="ignore"):
        if bandwidth == "local":
            assert source_bandwidths is not None
            assert target_bandwidths is not None
            exponents = (d / source_bandwidths[edges.source]) * (d / target_bandwidths[edges.target])
        else:
            t = d / max(float(bandwidth), _MIN_LENGTH)
            exponents = 0.5 * t * t
        if rescale_underflow:
            smallest = np.full(shape[0], np.inf)
            np.minimum.at(smallest, edges.source, exponents)
            excess = np.where(np.isfinite(smallest), np.maximum(smallest - _MAX_EXPONENT, 0.0), 0.0)
            exponents = exponents - excess[edges.source]
            # If even the exponent is infinite, only the nearest rows get a weight.
            overflowed = ~np.isfinite(smallest)[edges.source]
            nearest = np.full(shape[0], np.inf)
            np.minimum.at(nearest, edges.source, d)
            exponents[overflowed & (d == nearest[edges.source])] = _MAX_EXPONENT
        return edges_to_csr(edges.source, edges.target, np.exp(-exponents), shape)


def cosine(edges: EdgeList, shape: tuple[int, int]) -> sp.csr_array:
    """Return the cosine similarities, with negative ones set to 0."""
    return edges_to_csr(edges.source, edges.target, np.clip(edges.values, 0.0, 1.0), shape)


def binary(edges: EdgeList, shape: tuple[int, int]) -> sp.csr_array:
    """Return the weight 1 for every edge."""
    return edges_to_csr(edges.source, edges.target, np.ones(len(edges.source)), shape)
