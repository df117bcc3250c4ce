"""Synthetic blobs with candidate sets."""

import numpy as np

from oneof.datasets import make_partial_labels


def blobs(n=60, K=4, d=3, seed=0, frequencies=None, spread=2.0):
    """Return rows around K centers, and their classes."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(K, n, p=frequencies)
    truth[:K] = np.arange(K)
    return rng.normal(size=(K, d))[truth] * spread + rng.normal(size=(n, d)), truth


def gram_of(X, Y=None):
    """Return the Gram matrix of an RBF kernel."""
    Y = X if Y is None else Y
    return np.exp(-0.3 * ((X[:, None] - Y[None]) ** 2).sum(axis=2) / X.shape[1])


def sets_of(truth, distractors="uniform", n_distractors=1, seed=0):
    """Return the mask of candidate sets; a scene has n_distractors + 1 rows."""
    return make_partial_labels(
        truth, n_distractors=n_distractors, distractors=distractors, random_state=seed
    ).mask.copy()
