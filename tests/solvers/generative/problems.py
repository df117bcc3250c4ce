"""Random problems for EM: rows with exact, partial and full sets, and weights."""

import numpy as np
import scipy.sparse as sp


def sets(random, truth, K):
    """Return a mask with about a third exact, partial and full rows each; every class has an exact one."""
    n = len(truth)
    mask = random.random((n, K)) < 0.4
    mask[random.random(n) < 0.33] = False
    mask[np.arange(n), truth] = True
    mask[random.random(n) < 0.33] = True
    mask[:K] = np.eye(K, dtype=bool)[truth[:K]]
    return mask


def documents(seed=0, n=40, d=12, K=3, *, sparse=False, kind="counts"):
    """Return counts, or numbers such as TF-IDF has, and sets; one row is of zeros."""
    random = np.random.default_rng(seed)
    truth = np.arange(n) % K
    shares = random.dirichlet(np.full(d, 0.5), K)
    X = np.array([random.multinomial(random.integers(1, 60), shares[k]) for k in truth], dtype=np.float64)
    X[-1] = 0
    if kind == "tfidf":
        X *= random.random(d)
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return (sp.csr_array(X) if sparse else X), sets(random, truth, K)


def clouds(seed=0, n=50, d=3, K=3, apart=1.5):
    """Return rows of K Gaussian clouds of different shapes that overlap, and sets."""
    random = np.random.default_rng(seed)
    truth = np.arange(n) % K
    shapes = random.normal(size=(K, d, d)) * 0.7
    X = apart * random.normal(size=(K, d))[truth] + np.einsum("nij,nj->ni", shapes[truth], random.normal(size=(n, d)))
    return X * [1.0, 10.0, 0.1][:d] + 5.0, sets(random, truth, K)
