"""Random problems for EM: exact, partial and unlabeled rows, and weights."""

import numpy as np
import scipy.sparse as sp


def sets(rng, truth, K):
    """Return a mask with about a third exact, partial and unlabeled rows each; every class has an exact row."""
    n = len(truth)
    mask = rng.random((n, K)) < 0.4
    mask[rng.random(n) < 0.33] = False
    mask[np.arange(n), truth] = True
    mask[rng.random(n) < 0.33] = True
    mask[:K] = np.eye(K, dtype=bool)[truth[:K]]
    return mask


def documents(seed=0, n=40, d=12, K=3, *, sparse=False, kind="counts"):
    """Return counts, or TF-IDF values, and sets; one row is of zeros."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % K
    proba = rng.dirichlet(np.full(d, 0.5), K)
    X = np.array([rng.multinomial(rng.integers(1, 60), proba[k]) for k in truth], dtype=np.float64)
    X[-1] = 0
    if kind == "tfidf":
        X *= rng.random(d)
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return (sp.csr_array(X) if sparse else X), sets(rng, truth, K)


def clouds(seed=0, n=50, d=3, K=3, apart=1.5):
    """Return rows of K overlapping Gaussian clusters of different shapes, and sets."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % K
    shapes = rng.normal(size=(K, d, d)) * 0.7
    X = apart * rng.normal(size=(K, d))[truth] + np.einsum("nij,nj->ni", shapes[truth], rng.normal(size=(n, d)))
    return X * [1.0, 10.0, 0.1][:d] + 5.0, sets(rng, truth, K)
