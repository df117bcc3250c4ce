"""Rows of two classes in feature and kernel spaces."""

import numpy as np
import scipy.sparse as sp

from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace
from oneof.solvers.transductive.weighted_svm import SVMProblem

SPACES = ("dense", "sparse", "gram")


def rows(n=60, d=4, seed=0, apart=1.0):
    """Return rows of two clusters and their signs; the first two rows have different signs."""
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return rng.normal(size=(n, d)) + apart * signs[:, None] * (np.arange(d) < 2), signs


def problem(X, space="dense", has_intercept=True):
    """Return the problem of the rows in a space; the Gram matrix is that of the linear kernel."""
    spaces = {
        "dense": lambda: FeatureSpace(X),
        "sparse": lambda: FeatureSpace(sp.csr_array(X)),
        "gram": lambda: KernelSpace(X @ X.T),
    }
    return SVMProblem(spaces[space](), has_intercept)


def generator():
    """Return the generator for the order of the rows."""
    return np.random.default_rng(0)
