"""What an outcome is judged by: the same arithmetic for every side, in NumPy."""

import numpy as np


def accuracy(scores, y):
    """Return the share of rows whose largest score is that of their class; classes are 0 .. K - 1."""
    return float((np.asarray(scores).argmax(axis=1) == y).mean())


def crammer_singer(X, y, weights, lam):
    """Return lam / 2 ||W||^2 + mean_i max(0, 1 - s_iy + max_k!=y s_ik), the objective of PLSVM on exact labels."""
    scores = np.asarray(X @ weights.T, dtype=np.float64)
    own = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    return 0.5 * lam * float((weights**2).sum()) + float(np.maximum(0, 1 - own + scores.max(axis=1)).mean())


def squared_hinge(X, y, weights, C):
    """Return 1/2 ||W||^2 + C sum_ik max(0, 1 -+ s_ik)^2, the objective of CLPL on exact labels."""
    scores = np.asarray(X @ weights.T, dtype=np.float64)
    signs = np.where(np.arange(len(weights)) == y[:, None], 1.0, -1.0)
    return 0.5 * float((weights**2).sum()) + C * float((np.maximum(0, 1 - signs * scores) ** 2).sum())
