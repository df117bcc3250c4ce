"""Neighbor graphs by their definition, from all distances."""

import numpy as np
from scipy.spatial.distance import cdist


def distances(X, Y, affinity):
    """Return the Euclidean distances of all pairs, or 1 - cos; infinity for a row of zeros, which has no direction."""
    if affinity != "cosine":
        return cdist(X, Y)
    norms = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1))
    return np.where(norms > 0, 1.0 - X @ Y.T / np.where(norms > 0, norms, 1.0), np.inf)


def directed(X, queries, affinity="gaussian", n_neighbors=5, radius=None, bandwidth="local"):
    """Return the weights (t, n) of the edges from queries to their neighbors; without queries, from X to itself."""
    rows, itself = (X, np.where(np.eye(len(X)), np.inf, 0.0)) if queries is None else (queries, 0.0)
    D = distances(rows, X, affinity) + itself
    near = (np.sort(D, axis=1)[:, [n_neighbors - 1]] if radius is None else radius) >= D
    if affinity == "binary":
        weights = np.ones(D.shape)
    elif affinity == "cosine":
        weights = np.maximum(0.0, 1.0 - D)
    elif bandwidth == "local":  # the distance to the k-th neighbor
        others = cdist(X, X) + np.where(np.eye(len(X)), np.inf, 0.0)
        own, other = (np.sort(A, axis=1)[:, n_neighbors - 1] for A in (D, others))
        weights = np.exp(-(D**2) / np.outer(own, other))
    else:
        weights = np.exp(-(D**2) / (2 * bandwidth**2))
    return np.where(near & (np.inf > D), weights, 0.0)


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
