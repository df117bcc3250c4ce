"""Oracle of IPAL, with loops over rows. The candidate sets of the rows are weights: 0 and 1 for sets."""

import math

import numpy as np
from scipy.optimize import nnls


def nearest(X, x, n_neighbors, leave_out=None):
    """Return the indices of the rows nearest to x, and their distances."""
    near = sorted((math.dist(row, x), i) for i, row in enumerate(X) if i != leave_out)[:n_neighbors]
    return [i for _, i in near], [distance for distance, _ in near]


def reconstruct(X, x, near):
    """Return the non-negative weights of the rows `near` with the smallest reconstruction error of x."""
    return nnls(np.array([X[j] for j in near], dtype=float).T, x)[0] if len(near) else np.zeros(0)


def propagate(X, candidates, n_neighbors, alpha, n_iter):
    """Return F after some iterations, without unlabeled rows."""
    n = len(X)
    W = np.zeros((n, n))
    for i in range(n):
        near, _ = nearest(X, X[i], n_neighbors, leave_out=i)
        weights = reconstruct(X, X[i], near)
        if weights.sum() > 0:
            W[i, near] = weights / weights.sum()
    start = candidates / candidates.sum(axis=1, keepdims=True)
    F = start
    for _ in range(n_iter):
        F = alpha * candidates * (W @ F) + (1 - alpha) * start
        F = F / F.sum(axis=1, keepdims=True)
    return F


def normalize_class_mass(F, candidates):
    """Return F with every class scaled to its initial fraction, and rows that sum to 1."""
    start = candidates / candidates.sum(axis=1, keepdims=True)
    F = F * start.sum(axis=0) / F.sum(axis=0)
    return F / F.sum(axis=1, keepdims=True)


def label_distribution(X, F, x, n_neighbors):
    """Return the distribution of an unlabeled row: the weighted mean of its neighbors'."""
    near, _ = nearest(X, x, n_neighbors)
    weights = reconstruct(X, x, near)
    return weights @ F[near] / weights.sum() if weights.sum() > 0 else np.full(F.shape[1], 1 / F.shape[1])


def errors(X, labels, n_classes, x, n_neighbors):
    """Return ||x - sum_{j of class k} w_j x_j||^2 / ||x||^2 for each class k."""
    near, _ = nearest(X, x, n_neighbors)
    weights = reconstruct(X, x, near)
    parts = [weights * (labels[near] == k) @ X[near] for k in range(n_classes)]
    return [(x - part) @ (x - part) / (x @ x) for part in parts]
