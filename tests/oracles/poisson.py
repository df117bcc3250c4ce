"""Poisson learning by the definitions of Calder, Cook, Thorpe & Slepčev (2020), with dense matrices."""

import numpy as np

from tests.oracles.diffusion import laplacian


def scores(W, labeled, y):
    """Return the u with L u_i = sum_j (y_j - y_bar) delta_ij and sum_i d_i u_i = 0; y has a row per labeled row."""
    n, d = len(W), W.sum(axis=1)
    right = np.zeros((n, y.shape[1]))
    for j, label in zip(labeled, y, strict=True):
        right[j] += label - y.mean(axis=0)
    bordered = np.block([[laplacian(W), d[:, None]], [d[None], np.zeros((1, 1))]])
    return np.linalg.solve(bordered, np.vstack([right, np.zeros((1, y.shape[1]))]))[:n]


def cuts_of_two(W, labeled, y, n_first, n_outer=20, n_inner=40, mu=1.0):
    """Return the labels of algorithm 2 for two classes, the first of which has `n_first` rows: by sorting the rows."""
    n, d = len(W), W.sum(axis=1)
    right = np.zeros((n, 2))
    right[labeled] = y - y.mean(axis=0)
    labels, dt = scores(W, labeled, y).argmax(axis=1), 1 / d.max()
    for _ in range(n_outer):
        U = np.eye(2)[labels]
        for _ in range(n_inner):
            U = U - dt * (laplacian(W) @ U - mu * right)
        labels = np.ones(n, dtype=int)
        labels[np.argsort(U[:, 1] - U[:, 0], kind="stable")[:n_first]] = 0
    return labels
