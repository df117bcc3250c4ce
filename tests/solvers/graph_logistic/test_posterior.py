"""Equality of the Laplace posterior with dense matrices formed by kron, in both coordinate systems; leave-one-out."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.graph_logistic import PriorTerm, solve_graph_logistic
from oneof.solvers.graph_logistic import posterior as posterior_module
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.posterior import leave_one_out_scores, predictive_gain
from tests.estimators.panel import table
from tests.oracles import graph_logistic as oracle
from tests.solvers.graph_logistic.problems import draw_precisions, make_posterior, make_problem, make_terms, soften
from tests.weights import evidences, informative

priors = pytest.mark.parametrize("prior", ["graph", "ridge", "graph+ridge", "graph+ard"])


def covariances(H, left, right, n_vectors):
    """Return (I kron l)^T H^+ (I kron r) of all pairs."""
    D = left.shape[1]
    inverse = np.linalg.pinv(H, rcond=1e-11, hermitian=True).reshape(n_vectors, D, n_vectors, D)
    return np.einsum("tr,crks,us->tuck", left, inverse, right)


def make_posterior_problem(m, prior, K=4, d=9):
    X, _, A, ridge = make_problem(m, d, K)
    terms = make_terms(prior, A, ridge)
    W = np.random.default_rng(1).normal(size=(K - 1, d + 1)) * 0.3
    return X, W, terms, draw_precisions(terms), np.random.default_rng(2).normal(size=(7, d + 1))


@pytest.mark.parametrize("m", [40, 6])
@priors
def test_covariance_and_determinant(m, prior):
    """Covariances and determinant equal those of the dense H, for more and for fewer rows than weights."""
    X, W, terms, precisions, new = make_posterior_problem(m, prior)
    Lambda = oracle.precision_matrix(terms, precisions, 3)
    H = Lambda + oracle.data_hessian(X, W)
    expected = covariances(H, new, new, 3)
    for rows, instances in ((X, new), (sp.csr_array(X), sp.csr_array(new))):
        posterior = make_posterior(rows, W, terms, precisions)
        assert (posterior.coordinates.basis is None) == (m > 10)
        pairs, other = posterior.covariance(instances), posterior.covariance(instances[:3], instances[3:6])
        np.testing.assert_allclose(pairs, np.einsum("ttck->tck", expected), atol=1e-6 * expected.max())
        np.testing.assert_allclose(other, expected[[0, 1, 2], [3, 4, 5]], atol=1e-6 * expected.max())
        cross = posterior.cross_covariance(instances, instances)
        np.testing.assert_allclose(cross, expected, atol=1e-6 * expected.max())
        log_ratio = posterior.log_determinant - posterior.coordinates.log_prior
        assert log_ratio == pytest.approx(oracle.log_determinant(H) - oracle.log_determinant(Lambda), abs=1e-5)


@pytest.mark.parametrize("m", [40, 2])
def test_unobserved_directions_are_excluded(m):
    """In a common null space of prior and rows, inverse and determinant are those of the other directions."""
    X, W, terms, precisions, new = make_posterior_problem(m, "graph")
    directions = np.linalg.qr(np.random.default_rng(3).normal(size=(10, 4)))[0]
    across = np.eye(10) - directions @ directions.T
    terms = [PriorTerm("graph", across @ terms[0].matrix @ across)]
    Lambda = oracle.precision_matrix(terms, precisions, 3)
    H = Lambda + oracle.data_hessian(X, W)
    expected = covariances(H, new, new, 3)
    posterior = make_posterior(X, W, terms, precisions)
    np.testing.assert_allclose(posterior.cross_covariance(new, new), expected, atol=1e-5 * np.abs(expected).max())
    log_ratio = posterior.log_determinant - posterior.coordinates.log_prior
    assert log_ratio == pytest.approx(oracle.log_determinant(H) - oracle.log_determinant(Lambda), abs=1e-5)


def test_large_problems_use_the_block_of_each_class(monkeypatch):
    """Above the size limit the covariance is the inverse of each class's block of H, and 0 between classes."""
    monkeypatch.setattr(posterior_module, "MAX_COORDINATES", 0)
    X, W, terms, precisions, new = make_posterior_problem(40, "graph+ridge")
    H = oracle.precision_matrix(terms, precisions, 3) + oracle.data_hessian(X, W)
    covariance = make_posterior(X, W, terms, precisions).covariance(new)
    for c in range(3):
        block_inverse = np.linalg.inv(H[c * 10 : c * 10 + 10, c * 10 : c * 10 + 10])
        np.testing.assert_allclose(covariance[:, c, c], np.einsum("tr,rs,ts->t", new, block_inverse, new), rtol=1e-6)
    assert not covariance[:, ~np.eye(3, dtype=bool)].any()


def test_curvature_of_candidate_sets():
    """The curvature is 0 for a full set, diag p - p p^T for an exact label, and in between for other sets."""
    X, mask, _, _ = make_problem(30, 5, 4)
    sets = soften(mask)
    likelihood = CandidateLikelihood.from_evidence(X, sets, None)
    at = likelihood.evaluate(np.random.default_rng(0).normal(size=(len(likelihood.evidence), 3)))
    exact = CandidateLikelihood.from_evidence(X, mask, None)
    curvature = likelihood.curvatures(at, convex=True)
    p = at.proba[:, :-1]
    expected = np.eye(3) * p[:, None, :] - p[:, :, None] * p[:, None, :]
    single = likelihood.evidence.sum(axis=1) == 1
    np.testing.assert_allclose(curvature[single], expected[single], atol=1e-12)
    assert np.linalg.eigvalsh(curvature).min() >= -1e-12
    assert len(likelihood.evidence) < len(exact.evidence)
    terms, precisions, W = [PriorTerm("r", np.eye(6))], {"r": np.array(1.0)}, np.zeros((3, 6))
    partial, labeled = (make_posterior(X, W, terms, precisions, evidence=evidence) for evidence in (sets, mask))
    assert partial.log_determinant < labeled.log_determinant


def solve_fixed(X, mask, weight, terms, precisions):
    """Return the weights at fixed precisions."""
    return solve_graph_logistic(
        X, mask, terms, precision="fixed", precisions=precisions, sample_weight=weight, tol=1e-10
    ).weights


@evidences
def test_leave_one_out_scores_are_close_to_those_of_a_fit_without_the_row(evidence_of):
    """One Newton step approximates the fit without the row ten times better than the fit with it."""
    X, mask = table(60)
    mask = evidence_of(mask)
    weight = np.ones(len(X))
    weight[:5] = 2.0
    labeled = informative(mask)
    X, mask, weight = X[labeled], mask[labeled], weight[labeled]
    terms, precisions = [PriorTerm("ridge", np.eye(4))], {"ridge": np.array(1.0)}
    W = solve_fixed(X, mask, weight, terms, precisions)
    posterior = make_posterior(X, W, terms, precisions, weight, mask)
    scores = leave_one_out_scores(posterior, X, mask, weight)
    exact = np.empty_like(scores)
    for i in range(len(X)):
        reduced = weight.copy()
        reduced[i] -= 1.0
        exact[i] = X[i] @ solve_fixed(X, mask, reduced, terms, precisions).T
    assert np.abs(scores - exact).mean() < 0.1 * np.abs(X @ W.T - exact).mean()


def test_predictive_gain_is_relative_to_class_frequencies():
    """Random scores have no gain, however large; correct ones have a gain of up to the entropy of the classes."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    mask = np.eye(3, dtype=bool)[y]
    correct = 40.0 * (mask[:, :2] * 1.0 - mask[:, 2:])
    assert predictive_gain(5.0 * rng.normal(size=(300, 2)), mask, np.ones(300)) < 0.02
    assert predictive_gain(correct, mask, np.ones(300)) == pytest.approx(np.log(3), abs=1e-3)
