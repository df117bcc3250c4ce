"""Tests of the PLEM solver: objective, derivatives and stationary point."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.likelihoods import log_likelihoods, masked_softmax, softmax
from oneof.solvers import lbfgs
from oneof.solvers.plem import PLEMProblem, solve_plem
from tests.estimators.panel import table
from tests.oracles import plem as oracle
from tests.weights import evidences

both = pytest.mark.parametrize("entropy_weight", [0.0, 0.5])
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])


def problem(X, mask, weight, entropy_weight, fit_intercept):
    return PLEMProblem.from_evidence(X, mask, 0.7, entropy_weight, weight, fit_intercept=fit_intercept)


def solved(X, mask, **options):
    return solve_plem(X, mask, **{"lam": 1.0, "sample_weight": np.ones(len(mask)), **options})


@both
@intercepts
@pytest.mark.parametrize("lam", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1.0, np.array([1e4, 1.0, 1e-3, 10.0])], ids=["even", "ill-scaled"])
@pytest.mark.parametrize("offset", [0.0, 100.0], ids=["centered", "far off"])
def test_the_solution_is_stationary(lam, entropy_weight, fit_intercept, scale, offset):
    """The gradient at the solution is 0 to rounding, relative to the size of its terms."""
    X, mask = table(80)
    X = (X + offset) * scale
    solution = solved(X, mask, lam=lam, entropy_weight=entropy_weight, fit_intercept=fit_intercept, tol=1e-9)
    assert solution.converged
    p = PLEMProblem.from_evidence(X, mask, lam, entropy_weight, np.ones(80), fit_intercept=fit_intercept)
    terms = np.abs(p.penalized(solution.weights)) + p.rmatvec(np.broadcast_to(p.cost, p.evidence.shape), np.abs(p.X))
    assert np.all(np.abs(solution.gradient) <= 1e-6 * terms)


@both
@intercepts
@evidences
def test_the_objective_never_decreases(entropy_weight, fit_intercept, evidence_of):
    """F never increases by more than the rounding of single precision, from its value at W = 0 to the oracle's."""
    X, mask = table(200, K=6, seed=3)
    mask = evidence_of(mask)
    solution = solved(X, mask, lam=0.01, entropy_weight=entropy_weight, fit_intercept=fit_intercept)
    W, b = solution.weights[:, :4], solution.weights[:, 4] if fit_intercept else np.zeros(6)
    for path, weights, intercept in zip(solution.objective_path[[0, -1]], (0 * W, W), (0 * b, b), strict=True):
        assert -0.01 * path == pytest.approx(
            oracle.objective(weights, intercept, X, mask, 0.01, entropy_weight, np.ones(200)), rel=1e-10
        )
    assert np.all(np.diff(solution.objective_path) <= 1e-6 * solution.objective_path[1:])


@pytest.mark.parametrize("is_member", [False, True], ids=["in no set", "in every set"])
def test_an_optimum_at_infinity_converges(is_member):
    """The intercept of a class in no set, or in every one, has no finite optimum; the solver stops near its limit."""
    X, mask = table(80)
    mask[mask.all(axis=1)] = [True, False, False]
    solution = solved(X, np.column_stack([mask, np.full(80, is_member)]), fit_intercept=True)
    assert solution.converged
    p = softmax(X @ solution.weights[:, :4].T + solution.weights[:, 4])[:, 3]
    assert p.min() > 1 - 1e-5 if is_member else p.max() < 1e-5


def exact(n=80, K=3):
    """Return rows of clusters and a mask of exact labels."""
    X, mask = table(n, K=K)
    return X, np.eye(K, dtype=bool)[mask.argmax(axis=1)]


@intercepts
@pytest.mark.parametrize("exact_labels", [False, True], ids=["sets", "exact"])
def test_rows_of_few_nonzero_numbers_are_converted(fit_intercept, exact_labels):
    """Dense rows of few nonzero numbers, which are converted, and CSR rows have the solution of dense products."""
    rng = np.random.default_rng(0)
    mask = exact()[1] if exact_labels else table(80)[1]
    X = np.where(rng.random((80, 60)) < 0.03, rng.normal(size=(80, 60)), 0.0)
    options = {"lam": 0.1, "fit_intercept": fit_intercept, "tol": 1e-9}
    converted, sparse = solved(X, mask, **options), solved(sp.csr_array(X), mask, **options)
    np.testing.assert_array_equal(converted.weights, sparse.weights)
    dense = PLEMProblem.from_evidence(
        X + 1e-300, mask, 0.1, 0.0, np.ones(80), fit_intercept=fit_intercept
    )  # no number is 0
    gradient = dense.gradient(dense.point(converted.weights, dense.matvec(converted.weights)))
    assert not sp.issparse(dense.X)
    assert np.abs(gradient).max() < 1e-7


def test_numbers_beyond_single_precision_are_fitted():
    """Features whose squares overflow single precision are fitted by steps in double precision."""
    X, mask = table(80)
    large, small = solved(X * 1e30, mask, lam=1e60, tol=1e-9), solved(X, mask, tol=1e-9)
    assert large.converged
    np.testing.assert_allclose(large.weights * 1e30, small.weights, rtol=1e-6, atol=1e-9)


@evidences
def test_a_set_of_vanishing_probability_is_evaluated(evidence_of):
    """Losses and q are exact if the scores of a set are far below the others."""
    mask = evidence_of(np.array([[True, True, False], [True, False, False], [False, True, True]]))
    p = problem(np.eye(3), mask, np.ones(3), 0.0, fit_intercept=False)
    scores = np.array([[-900.0, -901.0, 900.0], [-2000.0, 5.0, 0.0], [800.0, -3.0, -4.0]])
    at = p.point(np.zeros((3, 3)), scores)
    assert 0.7 * at.value == pytest.approx(-log_likelihoods(scores, mask).sum(), rel=1e-12)
    np.testing.assert_allclose(0.7 * at.by_score, softmax(scores) - masked_softmax(scores, mask), atol=1e-14)


def test_a_warm_start_at_the_solution_stops_at_once():
    """A start at the solution takes no step."""
    X, mask = table(80)
    cold = solved(X, mask)
    warm = solved(X, mask, initial=cold.weights)
    assert warm.n_iter <= 1
    np.testing.assert_allclose(warm.weights, cold.weights, rtol=1e-9, atol=1e-12)


@intercepts
def test_blocks_are_those_of_the_hessian(monkeypatch, fit_intercept):
    """With exact labels M is the block diagonal of the Hessian, between projections on weights whose sum is 0."""
    monkeypatch.setattr(lbfgs, "MIN_CURVATURE", 0.0)
    X, mask = exact()
    p = problem(X, mask, np.ones(80), 0.0, fit_intercept)
    W = np.random.default_rng(0).normal(size=p.shape)
    solve, K = p.preconditioner(p.point(W, p.matvec(W)), "blocks"), 3
    centering = np.kron(np.eye(K) - 1.0 / K, np.eye(p.shape[1]))
    units = np.eye(W.size).reshape(-1, *p.shape)
    inverse = np.array([solve((centering @ unit.ravel()).reshape(p.shape)).ravel() for unit in units])
    gradients = [p.gradient(p.point(W + d, p.matvec(W + d))) for d in np.concatenate([1e-5 * units, -1e-5 * units])]
    hessian = (np.array(gradients[: W.size]) - gradients[W.size :]).reshape(W.size, -1) / 2e-5
    same = np.kron(np.eye(K, dtype=bool), np.ones(2 * p.shape[1:], dtype=bool))
    expected = centering @ np.linalg.inv(np.where(same, hessian, 0.0)) @ centering
    np.testing.assert_allclose(inverse, expected, atol=1e-4 * np.abs(expected).max())


def test_the_default_tolerance_is_that_of_the_weights():
    """With the default tolerance of 1e-6 the weights have a relative error of at most 1e-5."""
    X, mask = exact(200, K=4)
    exactly = solved(X, mask, lam=0.01, fit_intercept=True, tol=1e-10).weights
    error = np.linalg.norm(solved(X, mask, lam=0.01, fit_intercept=True).weights - exactly)
    assert error <= 1e-5 * np.linalg.norm(exactly)


@evidences
def test_precision_and_preconditioner_do_not_change_the_solution(monkeypatch, evidence_of):
    """Products in single precision and blocks change the number of iterations, not the stationary point."""
    X, mask = table(200, K=4)
    mask = evidence_of(mask)
    expected = solved(X, mask, fit_intercept=True, tol=1e-9)
    for name, value in (("MAX_SINGLE", 0.0), ("MAX_BLOCK_ENTRIES", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(lbfgs, name, value)
            other = solved(X, mask, fit_intercept=True, tol=1e-9)
        assert other.converged
        np.testing.assert_allclose(other.weights, expected.weights, rtol=1e-6, atol=1e-8)
