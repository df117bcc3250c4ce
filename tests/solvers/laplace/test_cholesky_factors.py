"""Cholesky factors of the reference form: equal to dense algebra without the inverse of W, which is singular."""

import numpy as np
import pytest

from oneof.likelihoods import softmax
from oneof.solvers.laplace.cholesky_factors import CholeskyFactors, inverse_and_log_det, lower_root, solve_lower
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import GramPrior
from tests.oracles import laplace as oracle
from tests.solvers.laplace.problems import exact, problem


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


def test_the_determinant_of_the_book_lacks_a_factor():
    """|I + W^1/2 K W^1/2| = prod_c |B_c| |sum_c E_c|: Algorithm 3.3 omits the last factor, which is not 1."""
    y, _ = exact()
    K = problem("rbf", n=30)[0]
    book = oracle.exactly_labeled(K, y, 3)
    W, _ = oracle.hessians(book.mode, np.eye(3, dtype=bool)[y], np.inf)
    values, vectors = np.linalg.eigh(W)
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    dense = np.linalg.slogdet(np.eye(90) + root @ oracle.covariance(K, 3) @ root)[1]
    np.testing.assert_allclose(book.log_det, dense, rtol=1e-10)
    assert abs(2 * np.log(np.diag(book.M)).sum()) > 0.1


def test_evidence_and_predictions_equal_those_of_the_book():
    """With exact rows, Psi - 1/2 log |I + K W| is the evidence, and (K + W^-1)^-1 gives the covariance of a new row."""
    y, mask = exact()
    K = 4.0 * problem("rbf", n=36)[0]
    variances, cross, K = K[30:, 30:].diagonal(), K[30:, :30], K[:30, :30]
    book = oracle.exactly_labeled(K, y, 3)
    prior = GramPrior(K)
    mode = find_mode(prior, mask, np.inf, tol=1e-10)
    factors = CholeskyFactors.from_proba(prior, mode.derivatives.proba)
    np.testing.assert_allclose(factors.log_det, book.log_det, rtol=1e-8)
    np.testing.assert_allclose(mode.objective_path[-1] - 0.5 * factors.log_det, book.evidence, rtol=1e-9)
    for k, variance in zip(cross, variances, strict=True):
        mean, cov = oracle.predict(book, y, [k] * 3, [variance] * 3)
        np.testing.assert_allclose(k @ mode.coefficients, mean, atol=1e-7)
        images = [factors.matvec(np.outer(k, np.eye(3)[c])) for c in range(3)]
        np.testing.assert_allclose(variance * np.eye(3) - [k @ image for image in images], cov, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inverse_and_determinant(dtype):
    """The inverse is symmetric, and the log determinant correct, in the precision of the matrix."""
    A = np.random.default_rng(0).normal(size=(9, 9))
    B = (A @ A.T + np.eye(9)).astype(dtype)
    inverse, log_det = inverse_and_log_det(B.copy())
    assert inverse.dtype == dtype
    np.testing.assert_array_equal(inverse, inverse.T)
    precision = 1e3 * np.finfo(dtype).eps
    np.testing.assert_allclose(inverse @ B, np.eye(9), atol=precision)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(B)[1], rtol=precision)


def test_indefinite_matrices_raise():
    """The error is NumPy's LinAlgError."""
    for function in (inverse_and_log_det, lower_root):
        with pytest.raises(np.linalg.LinAlgError):
            function(np.diag([1.0, -1.0]))


def test_triangular_systems():
    """`solve_lower` gives root^-1 v and root^-T v for the Cholesky factor of `lower_root`."""
    rng = np.random.default_rng(0)
    A, V = rng.normal(size=(9, 9)), rng.normal(size=(9, 2))
    root = lower_root(A @ A.T)
    np.testing.assert_allclose(root @ root.T, A @ A.T)
    np.testing.assert_array_equal(root, np.tril(root))
    np.testing.assert_allclose(root @ solve_lower(root, V), V)
    np.testing.assert_allclose(root.T @ solve_lower(root, V, transposed=True), V)
