"""Rows of two classes, some unlabeled, in both spaces."""

import numpy as np
import scipy.sparse as sp

from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace
from oneof.solvers.transductive import MachineProblem

SPACES = ("dense", "sparse", "gram")


def rows(n=60, d=4, seed=0, apart=1.0):
    """Return rows of two clouds and their signs; the first two are of either sign."""
    random = np.random.default_rng(seed)
    signs = np.where(random.random(n) < 0.4, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return random.normal(size=(n, d)) + apart * signs[:, None] * (np.arange(d) < 2), signs


def problem(X, space="dense", has_intercept=True):
    """Return the problem of the rows in a space; that of the Gram matrix has the linear kernel."""
    spaces = {
        "dense": lambda: FeatureSpace(X),
        "sparse": lambda: FeatureSpace(sp.csr_array(X)),
        "gram": lambda: KernelSpace(X @ X.T),
    }
    return MachineProblem(spaces[space](), has_intercept)


def generator():
    """Return the generator that decides the order of the rows."""
    return np.random.default_rng(0)
