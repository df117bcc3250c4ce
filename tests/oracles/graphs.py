"""Graphs of rows, by the definition and slowly: dense, one link at a time."""

import math

import numpy as np


def distance(x, y, metric):
    """Return the Euclidean distance of two rows, or 1 - cos; a row of zeros has no direction, and none is near it."""
    if metric == "euclidean":
        return math.dist(x, y)
    norms = math.hypot(*x) * math.hypot(*y)
    return 1.0 - float(np.dot(x, y)) / norms if norms else math.inf


def neighbors(X, x, n_neighbors, radius, metric, leave_out=None):
    """Return the numbers of the rows near x and their distances, the nearest first."""
    near = sorted((distance(row, x, metric), i) for i, row in enumerate(X) if i != leave_out)
    near = [(d, i) for d, i in near if d < math.inf]
    return near[:n_neighbors] if radius is None else [(d, i) for d, i in near if d <= radius]


def local_width(X, x, n_neighbors, leave_out=None):
    """Return the distance of x to its k-th neighbor."""
    return neighbors(X, x, n_neighbors, None, "euclidean", leave_out)[-1][0]


def weight(d, affinity, bandwidth, own, other):
    """Return the weight of a link of length d."""
    if affinity == "binary":
        return 1.0
    if affinity == "cosine":
        return max(0.0, 1.0 - d)
    return math.exp(-(d**2) / (own * other)) if bandwidth == "local" else math.exp(-(d**2) / (2 * bandwidth**2))


def directed(X, others, affinity="gaussian", n_neighbors=5, radius=None, bandwidth="local"):
    """Return the weights (t, n) of the links of other rows to those near them; without others, of X to itself."""
    own = others is None
    rows = X if own else others
    metric = "cosine" if affinity == "cosine" else "euclidean"
    widths = [local_width(X, x, n_neighbors, i) for i, x in enumerate(X)]
    W = np.zeros((len(rows), len(X)))
    for i, x in enumerate(rows):
        here = widths[i] if own else local_width(X, x, n_neighbors)
        for d, j in neighbors(X, x, n_neighbors, radius, metric, i if own else None):
            W[i, j] = weight(d, affinity, bandwidth, here, widths[j])
    return W


def undirected(X, symmetrize="union", **rule):
    """Return the affinity (n, n)."""
    W = directed(X, None, **rule)
    return np.maximum(W, W.T) if symmetrize == "union" else np.minimum(W, W.T)


def laplacian(W, kind):
    """Return a Laplacian, where every row has a link."""
    degrees = W.sum(axis=1)
    if kind == "plain":
        return np.diag(degrees) - W
    if kind == "random_walk":
        return np.eye(len(W)) - np.diag(1 / degrees) @ W
    return np.eye(len(W)) - np.diag(degrees**-0.5) @ W @ np.diag(degrees**-0.5)
