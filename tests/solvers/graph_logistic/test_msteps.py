"""The three M-steps: one optimum, monotone steps, equality of sparse and dense rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.graph_logistic import PriorTerm, newton, solve, solve_graph_logistic
from oneof.solvers.graph_logistic.bohning import STEPS
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.prior import Prior
from tests.oracles import graph_logistic as oracle
from tests.solvers.graph_logistic.problems import draw_precisions, make_problem, make_terms, soften
from tests.weights import draw_weights, evidences, informative

MSTEPS = ("newton", "block", "sequential")
msteps = pytest.mark.parametrize("solver", MSTEPS)
priors = pytest.mark.parametrize("prior", ["graph", "ridge", "graph+ridge", "graph+ard"])


def solve_fixed(X, mask, terms, precisions, **options):
    return solve_graph_logistic(X, mask, terms, precision="fixed", precisions=precisions, **options)


def penalized(X, mask, W, terms, precisions):
    w = W.ravel()
    return oracle.likelihood(X, mask, W) - 0.5 * w @ oracle.precision_matrix(terms, precisions, len(W)) @ w


@msteps
@priors
@pytest.mark.parametrize(("m", "d", "K"), [(60, 6, 3), (60, 4, 2), (9, 15, 4)])
def test_the_optimum_is_that_of_scipy(solver, prior, m, d, K):
    """Each M-step converges to the optimum of scipy, on dense and on sparse rows."""
    X, mask, A, ridge = make_problem(m, d, K)
    terms = make_terms(prior, A, ridge)
    precisions = draw_precisions(terms)
    Lambda = oracle.precision_matrix(terms, precisions, K - 1)
    expected = oracle.mode(X, mask, Lambda, np.zeros((K - 1, d + 1)))
    for rows in (X, sp.csr_array(X)):
        weights = solve_fixed(rows, mask, terms, precisions, solver=solver).weights
        np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))
        gradient = oracle.gradient(X, mask, weights).ravel() - Lambda @ weights.ravel()
        assert np.abs(gradient).max() <= 1e-5


@msteps
@evidences
def test_candidate_sets_converge_to_a_stationary_point(solver, evidence_of):
    """With candidate sets the gradient of the penalized likelihood vanishes, and full sets have no effect."""
    X, mask, A, ridge = make_problem(80, 5, 4, seed=3)
    sets, terms = evidence_of(soften(mask)), make_terms("graph+ridge", A, ridge)
    precisions = draw_precisions(terms)
    weights = solve_fixed(X, sets, terms, precisions, solver=solver).weights
    Lambda = oracle.precision_matrix(terms, precisions, 3)
    assert np.abs(oracle.gradient(X, sets, weights).ravel() - Lambda @ weights.ravel()).max() <= 1e-5
    labeled = informative(sets)
    selected = solve_fixed(X[labeled], sets[labeled], terms, precisions, solver=solver).weights
    np.testing.assert_array_equal(selected, weights)


@pytest.mark.parametrize("solver", list(STEPS))
@pytest.mark.parametrize("kind", ["exact", "sets", "weights"])
def test_each_step_of_the_bound_increases_the_objective(solver, kind):
    """A step of the bound, in one block or one sweep, never decreases the penalized likelihood, from any start."""
    X, mask, A, ridge = make_problem(50, 5, 4, seed=1)
    mask = {"exact": mask, "sets": soften(mask), "weights": draw_weights(soften(mask))}[kind]
    terms = make_terms("graph+ridge", A, ridge)
    precisions = draw_precisions(terms)
    likelihood = CandidateLikelihood.from_evidence(X, mask, None)
    prior = Prior.from_terms(tuple(terms), likelihood)
    step = STEPS[solver](likelihood, prior, prior.matrix(prior.from_names(precisions)))
    W = np.random.default_rng(2).normal(size=(3, 6)) * 3
    values = [penalized(X, mask, W, terms, precisions)]
    for _ in range(60):
        W = step(W)
        values.append(penalized(X, mask, W, terms, precisions))
    assert np.all(np.diff(values) >= -1e-10)
    assert values[-1] > values[0]


@evidences
def test_derivatives_are_those_of_the_likelihood(evidence_of):
    """Value and gradient equal the oracle; the Hessian product and the curvatures are derivatives of the gradient."""
    X, mask, _, _ = make_problem(40, 5, 4, seed=3)
    sets, rng = evidence_of(soften(mask)), np.random.default_rng(0)
    likelihood = CandidateLikelihood.from_evidence(X, sets, None)
    W = rng.normal(size=(3, 6))
    scores = likelihood.features @ W.T
    at, direction = likelihood.evaluate(scores), rng.normal(size=scores.shape)
    assert at.log_likelihood == pytest.approx(oracle.likelihood(X, sets, W), rel=1e-12)
    gradient = likelihood.features.T @ likelihood.gradient(at)
    np.testing.assert_allclose(gradient.T, oracle.gradient(X, sets, W), atol=1e-12)
    ahead, behind = (likelihood.gradient(likelihood.evaluate(scores + step * direction)) for step in (1e-6, -1e-6))
    hvp = likelihood.hvp(at, direction)
    np.testing.assert_allclose(hvp, (behind - ahead) / 2e-6, atol=1e-8)
    curvatures = likelihood.curvatures(at, convex=False)
    np.testing.assert_allclose(np.einsum("ick,ik->ic", curvatures, direction), hvp, atol=1e-12)


def test_conjugate_gradients_and_factorized_steps_agree(monkeypatch):
    """Both kinds of Newton steps reach the same optimum, in coordinates of weights and of rows."""
    for m, d in ((60, 6), (8, 20)):
        X, mask, A, ridge = make_problem(m, d, 4)
        for prior in ("graph+ridge", "graph+ard"):
            terms = make_terms(prior, A, ridge)
            precisions = draw_precisions(terms)
            monkeypatch.setattr(newton, "MAX_FACTORIZED", 10_000)
            expected = solve_fixed(X, mask, terms, precisions).weights
            monkeypatch.setattr(newton, "MAX_FACTORIZED", 0)
            np.testing.assert_allclose(solve_fixed(X, mask, terms, precisions).weights, expected, rtol=1e-6, atol=1e-7)


@msteps
def test_separable_rows_and_a_class_without_rows_have_a_finite_optimum(solver, monkeypatch):
    """With separable classes or an empty class the weights are finite and fit the labels; bounds converge slowly."""
    monkeypatch.setattr(solve, "MAX_STEPS", {"newton": 200, "block": 500, "sequential": 500})
    X, mask, _, ridge = make_problem(12, 3, 3)
    mask = np.eye(3, dtype=bool)[(X[:, 0] > 0).astype(int)]
    solution = solve_fixed(X, mask, [PriorTerm("ridge", ridge)], {"ridge": np.array(1e-2)}, solver=solver)
    assert solution.converged == (solver == "newton")
    weights = solution.weights
    assert np.isfinite(weights).all()
    assert np.array_equal(oracle.probabilities(X, weights).argmax(axis=1), mask.argmax(axis=1))
    assert oracle.probabilities(X, weights)[:, 2].max() < 1e-2
