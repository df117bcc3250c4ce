"""Small partially labeled graphs."""

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from oneof.solvers.class_sizes import balance_classes
from tests.estimators.panel import table


def graph(X, k=6):
    """Return a connected graph with Gaussian weights, of nearest neighbors and a chain through all rows."""
    n = len(X)
    near = kneighbors_graph(X, min(k, n - 1)).toarray() > 0
    near |= near.T
    chain = np.arange(n - 1)
    near[chain, chain + 1] = near[chain + 1, chain] = True
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    W = np.where(near, np.exp(-squares / (2 * np.median(squares[near]))), 0.0)
    W = (W + W.T) / 2
    np.fill_diagonal(W, 0.0)
    return sp.csr_array(W)


def problem(kind="exact", n=60, K=3, fraction=0.2, seed=0):
    """Return a graph with exact and full sets; with "partial", a third of the others have several candidates."""
    X, _ = table(n, 4, K, seed)
    rng = np.random.default_rng(seed + 1)
    centers = np.array([X[k] for k in range(K)])
    truth = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    mask = np.ones((n, K), dtype=bool)
    labeled = rng.random(n) < fraction
    labeled[:K] = True
    mask[labeled] = np.eye(K, dtype=bool)[truth[labeled]]
    if kind == "partial":
        some = ~labeled & (rng.random(n) < 1 / 3)
        mask[some, (truth[some] + 1) % K] = False
    return graph(X), mask


def blocks(*components):
    """Return the graph of several unconnected components, and their sets."""
    return sp.csr_array(sp.block_diag([W for W, _ in components], format="csr")), np.vstack(
        [mask for _, mask in components]
    )


def chain(n):
    """Return a chain of n rows with edge weights of 1."""
    return sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))


def grid(side):
    """Return a square grid with edge weights of 1, large enough for conjugate gradients."""
    line = chain(side)
    return sp.csr_array(sp.kron(line, sp.eye_array(side)) + sp.kron(sp.eye_array(side), line))


def balance_mass(F, evidence, unreachable=(), tol=1e-6):
    """Return the distributions after class mass normalization as published, without a constraint of the sizes."""
    rows = np.asarray(unreachable, dtype=int)
    return balance_classes(F, evidence, rows, None, class_mass=True, tol=tol)
