"""Made-up rows of blobs with scenes or even distractors."""

import numpy as np

from oneof.datasets import make_partial_labels


def blobs(n=60, K=4, d=3, seed=0, frequencies=None, spread=2.0):
    """Return rows around K centers, and their classes."""
    random = np.random.default_rng(seed)
    truth = random.choice(K, n, p=frequencies)
    truth[:K] = np.arange(K)
    return random.normal(size=(K, d))[truth] * spread + random.normal(size=(n, d)), truth


def gram_of(X, Y=None):
    """Return an RBF kernel's matrix."""
    Y = X if Y is None else Y
    return np.exp(-0.3 * ((X[:, None] - Y[None]) ** 2).sum(axis=2) / X.shape[1])


def sets_of(truth, kind="uniform", extra=1, seed=0):
    """Return a mask; a scene shows the labels of extra + 1 rows."""
    return make_partial_labels(truth, n_distractors=extra, distractors=kind, random_state=seed).mask.copy()
