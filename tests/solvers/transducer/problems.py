"""Random graphs and candidate sets for spectral transduction."""

import numpy as np
import scipy.sparse as sp


def graph(n=40, seed=0, density=0.3, n_components=1):
    """Return a random affinity with some components; a ring connects the rows of each."""
    rng = np.random.default_rng(seed)
    W = np.where(rng.random((n, n)) < density, rng.random((n, n)), 0.0)
    component = np.arange(n) % n_components
    W[component[:, None] != component] = 0.0
    for i in range(n - n_components):
        W[i, i + n_components] = 0.5 + rng.random()
    W = np.triu(W, 1)
    return sp.csr_array(W + W.T)


def known(n, K=2, n_known=8, seed=0):
    """Return candidate sets with some exact rows, every class among them, and all others full."""
    rng = np.random.default_rng(seed)
    mask = np.ones((n, K), dtype=bool)
    rows = rng.choice(n, n_known, replace=False)
    mask[rows] = np.eye(K, dtype=bool)[np.arange(n_known) % K]
    return mask
