"""Small problems for the tests of the solvers of the partial-label SVM."""

import numpy as np
import scipy.sparse as sp

from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace
from oneof.solvers.plsvm import PLSVMProblem
from tests.estimators.panel import table

SPACES = ("dense", "sparse", "constant", "kernel")


def problem(space="dense", *, lam=0.01, n=60, K=4, seed=0, X=None, mask=None):
    """Return a problem with exact and partial rows."""
    if X is None:
        X, mask = table(n, K=K, seed=seed)
    X, mask = X[~mask.all(axis=1)], mask[~mask.all(axis=1)]
    spaces = {
        "dense": lambda: FeatureSpace(X),
        "sparse": lambda: FeatureSpace(sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))),
        "constant": lambda: FeatureSpace(X, has_constant=True),
        "kernel": lambda: KernelSpace((1.0 + X @ X.T) ** 2),
    }
    return PLSVMProblem(spaces[space](), mask, lam)


def random_weights(problem, seed=0):
    """Return weights with scores of mean absolute value 1."""
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=problem.mask.shape)
    weights = problem.space.rmatvec(coefficients)
    return weights / np.abs(problem.space.matvec(weights)).mean()
