"""Graphs whose vertices are rows: neighbors, affinities, Laplacians and the kernels that these make."""

from oneof.graphs.affinity import check_affinity
from oneof.graphs.gaussian_process import PrecomputedKernel
from oneof.graphs.graph import Graph
from oneof.graphs.kernels import diffusion_kernel, regularized_laplacian_kernel
from oneof.graphs.laplacian import laplacian
from oneof.graphs.rule import NeighborGraph

__all__ = [
    "Graph",
    "NeighborGraph",
    "PrecomputedKernel",
    "check_affinity",
    "diffusion_kernel",
    "laplacian",
    "regularized_laplacian_kernel",
]
