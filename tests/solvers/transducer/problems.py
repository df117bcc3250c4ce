"""Graphs and sets on which spectral transduction is tried."""

import numpy as np
import scipy.sparse as sp


def graph(n=40, seed=0, share=0.3, parts=1):
    """Return a random affinity of some components, each of which is connected through a ring."""
    random = np.random.default_rng(seed)
    W = np.where(random.random((n, n)) < share, random.random((n, n)), 0.0)
    part = np.arange(n) % parts
    W[part[:, None] != part] = 0.0
    for i in range(n - parts):
        W[i, i + parts] = 0.5 + random.random()
    W = np.triu(W, 1)
    return sp.csr_array(W + W.T)


def known(n, K=2, n_known=8, seed=0):
    """Return sets of which some are exact, every class among them, and all others full."""
    random = np.random.default_rng(seed)
    mask = np.ones((n, K), dtype=bool)
    rows = random.choice(n, n_known, replace=False)
    mask[rows] = np.eye(K, dtype=bool)[np.arange(n_known) % K]
    return mask
