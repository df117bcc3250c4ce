"""The Laplace posterior against dense matrices formed by kron, whichever coordinates it is worked out in."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.graph_logistic import LaplacePosterior, Term, curvature
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.solvers.graph_logistic.spaces import DirectSpace, RowSpace
from tests.oracles import graph_logistic as oracle
from tests.solvers.graph_logistic.problems import problem, soften, some_precisions, terms_of

sizes = pytest.mark.parametrize(("m", "space"), [(40, DirectSpace), (6, RowSpace)])
priors = pytest.mark.parametrize("prior", ["graph", "ridge", "graph+ridge", "graph+ard per class"])


def covariances(H, left, right, n_vectors):
    """Return (I kron l)^T H^+ (I kron r) of all pairs."""
    D = left.shape[1]
    inverse = np.linalg.pinv(H, rcond=1e-11, hermitian=True).reshape(n_vectors, D, n_vectors, D)
    return np.einsum("tr,crks,us->tuck", left, inverse, right)


def setting(m, prior, K=4, d=9):
    X, _, A, ridge = problem(m, d, K)
    terms = terms_of(prior, A, ridge)
    W = np.random.default_rng(1).normal(size=(K - 1, d + 1)) * 0.3
    return X, W, terms, some_precisions(terms, K - 1), np.random.default_rng(2).normal(size=(7, d + 1))


@sizes
@priors
def test_covariance_and_determinant(m, space, prior):
    """They are those of the dense H, outside what neither prior nor rows see."""
    X, W, terms, precisions, new = setting(m, prior)
    H = oracle.precision_matrix(terms, precisions, 3) + oracle.data_hessian(X, W)
    expected = covariances(H, new, new, 3)
    for rows, asked in ((X, new), (sp.csr_array(X), sp.csr_array(new))):
        posterior = LaplacePosterior.of(rows, W, terms, precisions)
        assert isinstance(posterior.space, space)
        pairs, other = posterior.covariance(asked), posterior.covariance(asked[:3], asked[3:6])
        np.testing.assert_allclose(pairs, np.einsum("ttck->tck", expected), atol=1e-6 * expected.max())
        np.testing.assert_allclose(other, expected[[0, 1, 2], [3, 4, 5]], atol=1e-6 * expected.max())
        np.testing.assert_allclose(posterior.cross_covariance(asked, asked), expected, atol=1e-6 * expected.max())
        assert posterior.log_determinant == pytest.approx(oracle.log_determinant(H), abs=1e-5)


@pytest.mark.parametrize("m", [40, 2])
def test_directions_that_nothing_sees_are_left_out(m):
    """Where the graph's matrix and the rows leave directions open, inverse and determinant are those of the rest."""
    X, W, terms, precisions, new = setting(m, "graph")
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(10, 4)))[0]
    across = np.eye(10) - turn @ turn.T
    terms = [Term("graph", across @ terms[0].matrix @ across)]
    H = oracle.precision_matrix(terms, precisions, 3) + oracle.data_hessian(X, W)
    expected = covariances(H, new, new, 3)
    posterior = LaplacePosterior.of(X, W, terms, precisions)
    np.testing.assert_allclose(posterior.cross_covariance(new, new), expected, atol=1e-5 * np.abs(expected).max())
    assert posterior.log_determinant == pytest.approx(oracle.log_determinant(H), abs=1e-5)


def test_large_problems_have_the_block_of_each_class(monkeypatch):
    """Beyond the size that is worked out whole, it is the inverse of each class's block of H, and nothing between."""
    monkeypatch.setattr(curvature, "MOST_COORDINATES", 0)
    X, W, terms, precisions, new = setting(40, "graph+ridge")
    H = oracle.precision_matrix(terms, precisions, 3) + oracle.data_hessian(X, W)
    found = LaplacePosterior.of(X, W, terms, precisions).covariance(new)
    for c in range(3):
        own = np.linalg.inv(H[c * 10 : c * 10 + 10, c * 10 : c * 10 + 10])
        np.testing.assert_allclose(found[:, c, c], np.einsum("tr,rs,ts->t", new, own, new), rtol=1e-6)
    assert not found[:, ~np.eye(3, dtype=bool)].any()


def test_curvature_of_candidate_sets():
    """A full set has none, an exact label diag p - p p^T, others are positive semi-definite and no more than that."""
    X, mask, _, _ = problem(30, 5, 4)
    wider = soften(mask)
    told = Likelihood.of(X, wider, None)
    at = told.point(np.random.default_rng(0).normal(size=(len(told.mask), 3)))
    exact = Likelihood.of(X, mask, None)
    curved = told.curvatures(at, convex=True)
    p = at.shares[:, :-1]
    whole = np.eye(3) * p[:, None, :] - p[:, :, None] * p[:, None, :]
    single = told.mask.sum(axis=1) == 1
    np.testing.assert_allclose(curved[single], whole[single], atol=1e-12)
    assert np.linalg.eigvalsh(curved).min() >= -1e-12
    assert len(told.mask) < len(exact.mask)
    posterior = LaplacePosterior.of(X, np.zeros((3, 6)), [Term("r", np.eye(6))], {"r": np.array(1.0)}, mask=wider)
    firmer = LaplacePosterior.of(X, np.zeros((3, 6)), [Term("r", np.eye(6))], {"r": np.array(1.0)})
    assert posterior.log_determinant < firmer.log_determinant


def test_without_labeled_rows_it_is_the_prior():
    """No rows leave the prior."""
    X, W, terms, precisions, new = setting(40, "ridge")
    inside = new * np.append(np.ones(9), 0.0)
    found = LaplacePosterior.of(X[:0], W, terms, precisions).covariance(inside)
    expected = (inside**2).sum(axis=1) / precisions["ridge"]
    np.testing.assert_allclose(found, expected[:, None, None] * np.eye(3), atol=1e-12)
