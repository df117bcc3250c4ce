"""Neighbor graphs by their definition: dense, one edge at a time."""

import math

import numpy as np


def distance(x, y, metric):
    """Return the Euclidean distance of two rows, or 1 - cos; infinity for a row of zeros, which has no direction."""
    if metric == "euclidean":
        return math.dist(x, y)
    norms = math.hypot(*x) * math.hypot(*y)
    return 1.0 - float(np.dot(x, y)) / norms if norms else math.inf


def neighbors(X, x, n_neighbors, radius, metric, excluded=None):
    """Return the distances and row numbers of the neighbors of x, the nearest first."""
    near = sorted((distance(row, x, metric), i) for i, row in enumerate(X) if i != excluded)
    near = [(d, i) for d, i in near if d < math.inf]
    return near[:n_neighbors] if radius is None else [(d, i) for d, i in near if d <= radius]


def local_bandwidth(X, x, n_neighbors, excluded=None):
    """Return the distance of x to its k-th neighbor."""
    return neighbors(X, x, n_neighbors, None, "euclidean", excluded)[-1][0]


def weight(d, affinity, bandwidth, is_self, other):
    """Return the weight of an edge of length d."""
    if affinity == "binary":
        return 1.0
    if affinity == "cosine":
        return max(0.0, 1.0 - d)
    return math.exp(-(d**2) / (is_self * other)) if bandwidth == "local" else math.exp(-(d**2) / (2 * bandwidth**2))


def directed(X, queries, affinity="gaussian", n_neighbors=5, radius=None, bandwidth="local"):
    """Return the weights (t, n) of the edges from queries to their neighbors; without queries, from X to itself."""
    is_self = queries is None
    rows = X if is_self else queries
    metric = "cosine" if affinity == "cosine" else "euclidean"
    bandwidths = [local_bandwidth(X, x, n_neighbors, i) for i, x in enumerate(X)]
    W = np.zeros((len(rows), len(X)))
    for i, x in enumerate(rows):
        bandwidth_i = bandwidths[i] if is_self else local_bandwidth(X, x, n_neighbors)
        for d, j in neighbors(X, x, n_neighbors, radius, metric, i if is_self else None):
            W[i, j] = weight(d, affinity, bandwidth, bandwidth_i, bandwidths[j])
    return W


def undirected(X, symmetrize="union", **rule):
    """Return the affinity (n, n)."""
    W = directed(X, None, **rule)
    return np.maximum(W, W.T) if symmetrize == "union" else np.minimum(W, W.T)


def laplacian(W, kind):
    """Return a Laplacian of a graph without isolated rows."""
    degrees = W.sum(axis=1)
    if kind == "plain":
        return np.diag(degrees) - W
    if kind == "random_walk":
        return np.eye(len(W)) - np.diag(1 / degrees) @ W
    return np.eye(len(W)) - np.diag(degrees**-0.5) @ W @ np.diag(degrees**-0.5)
