"""Leave-one-out values of both forms of the ridge, against fits without the row."""

import numpy as np
import pytest

from oneof.errors import InputError
from oneof.solvers.loo_ridge import ExactRidge, NystroemRidge
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of


def problem(n=40, K=4, seed=0):
    """Return rows and targets that sum to 1."""
    X, _ = blobs(n, K, seed=seed)
    return X, np.random.default_rng(seed).dirichlet(np.ones(K), n)


@pytest.mark.parametrize("lam", [1e-3, 0.05, 10.0])
def test_exact_values_are_those_of_fits_without_the_row(lam):
    """Each row's value is what the other rows' machine predicts, the targets centered by the means of all."""
    X, P = problem()
    gram = gram_of(X)
    found = ExactRidge.of(gram.copy(), lam).left_out(P)
    np.testing.assert_allclose(found, oracle.left_out(gram, P, lam), rtol=0, atol=1e-8)


@pytest.mark.parametrize("lam", [1e-3, 0.05, 10.0])
@pytest.mark.parametrize("m", [1, 7, 40])
def test_nystroem_values_are_those_of_fits_without_the_row(lam, m):
    """Landmarks stay, though the row may be one of them; its term of the sum of squares is left out."""
    X, P = problem()
    Z = X[:m]
    found = NystroemRidge.of(gram_of(X, Z), gram_of(Z), lam).left_out(P)
    features = gram_of(X, Z) @ np.linalg.inv(np.linalg.cholesky(gram_of(Z))).T
    np.testing.assert_allclose(found, oracle.left_out_of_features(features, P, lam), rtol=0, atol=1e-8)


def test_all_rows_as_landmarks_are_the_exact_form():
    """With every row a landmark nothing is approximated: neither what is left out nor the function."""
    X, P = problem()
    new = problem(10, seed=1)[0]
    exact = ExactRidge.of(gram_of(X), 0.05)
    landmarks = NystroemRidge.of(gram_of(X), gram_of(X), 0.05)
    np.testing.assert_allclose(landmarks.left_out(P), exact.left_out(P), rtol=0, atol=1e-8)
    one, other = exact.fitted(P), landmarks.fitted(P)
    cross = gram_of(new, X)
    np.testing.assert_allclose(
        cross @ other.coefficients + other.means, cross @ one.coefficients + one.means, rtol=0, atol=1e-8
    )


def test_blocks_of_features_are_one_matrix(monkeypatch):
    """How many rows are worked out at a time does not matter."""
    X, P = problem()
    whole = NystroemRidge.of(gram_of(X, X[:9]), gram_of(X[:9]), 0.05).left_out(P)
    monkeypatch.setattr("oneof.solvers.loo_ridge.left_out.BLOCK", 7)
    parts = NystroemRidge.of(gram_of(X, X[:9]), gram_of(X[:9]), 0.05).left_out(P)
    np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-12)


def test_the_function_solves_the_normal_equations():
    """The coefficients satisfy (K + lam I) a = P - m."""
    X, P = problem()
    dual = ExactRidge.of(gram_of(X), 0.05).fitted(P)
    np.testing.assert_allclose(dual.means, P.mean(axis=0))
    np.testing.assert_allclose((gram_of(X) + 0.05 * np.eye(len(X))) @ dual.coefficients, P - dual.means, atol=1e-10)


def test_values_sum_to_one():
    """Targets that sum to 1 are predicted by values that do."""
    X, P = problem()
    for ridge in (ExactRidge.of(gram_of(X), 0.05), NystroemRidge.of(gram_of(X, X[:9]), gram_of(X[:9]), 0.05)):
        np.testing.assert_allclose(ridge.left_out(P).sum(axis=1), 1.0, rtol=1e-9)


def test_what_is_no_kernel_is_refused():
    """A matrix with a negative eigenvalue beyond lam has no inverse that is one."""
    wrong = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(InputError, match="not positive definite"):
        ExactRidge.of(wrong.copy(), 0.05)
    with pytest.raises(InputError, match="not positive semi-definite"):
        NystroemRidge.of(wrong, wrong, 0.05)


def test_a_ridge_that_rounding_swallows_is_refused():
    """Where lam is nothing beside the kernel, what would be left out of a row is rounding."""
    X, _ = problem(6)
    with pytest.raises(InputError, match="larger lam"):
        NystroemRidge.of(gram_of(X), gram_of(X), 1e-14)
    with pytest.raises(InputError, match="larger lam"):
        ExactRidge.of(gram_of(np.repeat(X, 2, axis=0)), 1e-18)
    with pytest.raises(InputError, match="scale the features"):
        ExactRidge.of(1e14 * X @ X.T, 0.05)
