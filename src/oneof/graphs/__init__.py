"""Graphs whose vertices are rows: neighbors, affinities, Laplacians and graph kernels.

Reading order: `affinity` (the symmetric weight matrix), `distances` and `neighbors` (nearest neighbors, with
`cells` as the index of many rows), `builder` (`NeighborGraph` and `Graph`: the edges and their weights),
`kernels` (Laplacians and kernels).
"""

from oneof.graphs.affinity import check_affinity
from oneof.graphs.builder import Graph, NeighborGraph
from oneof.graphs.kernels import PrecomputedKernel, diffusion_kernel, laplacian, regularized_laplacian_kernel

__all__ = [
    "Graph",
    "NeighborGraph",
    "PrecomputedKernel",
    "check_affinity",
    "diffusion_kernel",
    "laplacian",
    "regularized_laplacian_kernel",
]
