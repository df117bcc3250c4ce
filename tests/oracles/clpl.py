"""The CLPL objective, by level sets."""

import numpy as np

from tests.oracles.levels import stacked


def psi(u):
    """Return the squared hinge."""
    return np.maximum(0.0, 1.0 - u) ** 2


def objective(W, b, X, weights, C, sample_weight):
    """Return 1/2 ||W||^2 + C sum_i c_i sum_j m_ij [psi(mean over set j) + sum outside psi(-s)], over level sets j."""
    rows, masses, masks = stacked(weights)
    s = (X @ W.T + b)[rows]
    losses = psi((masks * s).sum(axis=1) / masks.sum(axis=1)) + (~masks * psi(-s)).sum(axis=1)
    return 0.5 * (W**2).sum() + C * sample_weight[rows] @ (masses * losses)
