"""Small problems for the tests of the solvers of the partial-label SVM."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace
from oneof.solvers.plsvm import PLSVMProblem
from tests.estimators.panel import table
from tests.weights import draw_weights, informative

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["sets", "weights"])
SPACES = ("dense", "sparse", "constant", "kernel")


def problem(space="dense", *, lam=0.01, n=60, K=4, seed=0, X=None, mask=None, is_weighted=False):
    """Return a problem with exact and partial rows, or with weights of which a third of the rows have none."""
    if X is None:
        X, mask = table(n, K=K, seed=seed)
    evidence = draw_weights(mask, seed) if is_weighted else mask
    labeled = informative(evidence)
    X, evidence = X[labeled], evidence[labeled]
    spaces = {
        "dense": lambda: FeatureSpace(X),
        "sparse": lambda: FeatureSpace(sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))),
        "constant": lambda: FeatureSpace(X, has_constant=True),
        "kernel": lambda: KernelSpace((1.0 + X @ X.T) ** 2),
    }
    return PLSVMProblem(spaces[space](), evidence, lam)


def random_weights(problem, seed=0):
    """Return weights with scores of mean absolute value 1."""
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=problem.evidence.shape)
    weights = problem.space.rmatvec(coefficients)
    return weights / np.abs(problem.space.matvec(weights)).mean()
