"""Small problems for the tests of Laplace's approximation."""

import numpy as np

from tests.estimators.panel import table

SHARPNESSES = (0.5, 1.0, 3.0, np.inf)


def problem(kernel="rbf", *, variance=1.0, n=40, K=4, seed=0, fraction=None):
    """Return a Gram matrix, and the sets of exact and partial rows, without unlabeled rows.

    With a fraction, each distractor is drawn with that probability.
    """
    X, mask = table(n, K=K, seed=seed)
    rng = np.random.default_rng(seed)
    truth = mask.argmax(axis=1)
    if fraction is not None:
        mask = rng.random((n, K)) < fraction
        mask[np.arange(n), truth] = True
    full = np.flatnonzero(mask.all(axis=1))
    mask[full, (truth[full] + 1) % K] = False
    return variance * gram(kernel, X), mask


def gram(kernel, X):
    """Return the Gram matrix of an RBF, exponential or linear kernel; the last has the rank of the features."""
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return {"rbf": np.exp(-0.1 * squares), "exponential": np.exp(-0.5 * np.sqrt(squares)), "linear": X @ X.T}[kernel]


def exact(n=30, K=3, seed=0):
    """Return the classes of rows, and their exact sets."""
    y = np.arange(n) % K
    np.random.default_rng(seed).shuffle(y)
    return y, np.eye(K, dtype=bool)[y]
