"""Spectral graph transduction as published, with dense matrices."""

import numpy as np


def eigenvectors(W, d):
    """Return eigenvectors 2 to d + 1 of I - D^-1/2 W D^-1/2."""
    root = np.sqrt(W.sum(axis=1))
    return np.linalg.eigh(np.eye(len(W)) - W / root[:, None] / root)[1][:, 1 : d + 1]


def multiplier(G, b, square_radius):
    """Return the smallest eigenvalue of [[G, -I], [-b b^T / r, G]], which is real."""
    d = len(b)
    return np.linalg.eigvals(np.block([[G, -np.eye(d)], [-np.outer(b, b) / square_radius, G]])).real.min()


def minimizer(G, b, square_radius):
    """Return the w of length sqrt(r) that minimizes w^T G w - 2 b^T w, outside the hard case."""
    return np.linalg.solve(G - multiplier(G, b, square_radius) * np.eye(len(b)), b)


def scores(W, labels, d, c):
    """Return z and the threshold for labels +1, -1 and 0 (unlabeled)."""
    V = eigenvectors(W, d)
    n, d = V.shape
    D = np.diag([float(j * j) for j in range(1, d + 1)])
    positive, negative = labels > 0, labels < 0
    l_pos, l_neg = positive.sum(), negative.sum()
    gamma_pos, gamma_neg = np.sqrt(l_neg / l_pos), -np.sqrt(l_pos / l_neg)
    gamma = np.where(positive, gamma_pos, np.where(negative, gamma_neg, 0.0))
    total = l_pos + l_neg
    C = np.diag(np.where(positive, total / (2 * l_pos), np.where(negative, total / (2 * l_neg), 0.0)))
    w = minimizer(D + c * V.T @ C @ V, c * V.T @ C @ gamma, n)
    return V @ w, (gamma_pos + gamma_neg) / 2
