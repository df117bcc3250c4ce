"""Cholesky factors of the reference form: equal to dense algebra without the inverse of W, which is singular."""

import numpy as np
import pytest

from oneof.likelihoods import softmax
from oneof.solvers.laplace.covariance import CholeskyFactors, inverse_and_log_det, lower_root
from oneof.solvers.laplace.model import GramPrior
from tests.oracles import laplace as oracle
from tests.solvers.laplace.problems import problem


@pytest.fixture(params=["shared", "own"])
def K(request):
    """Return a Gram matrix for all classes, or one for each."""
    shared = problem("exponential", n=12, variance=3.0)[0]
    return shared if request.param == "shared" else np.stack([shared, 5.0 * shared, np.eye(12), shared**2])


def test_products_and_determinants_equal_dense_algebra(K):
    """The factors give (K + W^-1)^-1 = W (I + K W)^-1, and log |I + K W|."""
    rng = np.random.default_rng(0)
    F, V = rng.normal(size=(2, 12, 4))
    W, _ = oracle.hessians(F, np.ones((12, 4), dtype=bool), np.inf)
    system = np.eye(48) + oracle.covariance(K, 4) @ W
    factors = CholeskyFactors.from_proba(GramPrior(K), softmax(F))
    np.testing.assert_allclose(factors.matvec(V).T.ravel(), W @ np.linalg.solve(system, V.T.ravel()), atol=1e-12)
    np.testing.assert_allclose(factors.log_det, np.linalg.slogdet(system)[1], rtol=1e-12)


def test_indefinite_matrices_raise():
    """The error is NumPy's LinAlgError."""
    for function in (inverse_and_log_det, lower_root):
        with pytest.raises(np.linalg.LinAlgError):
            function(np.diag([1.0, -1.0]))
