"""The three M-steps: one optimum, every step upwards, sparse as dense."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from oneof.solvers.graph_logistic import Term, newton, sequential, solve, solve_graph_logistic
from oneof.solvers.graph_logistic.block import block
from oneof.solvers.graph_logistic.openings import Openings
from oneof.solvers.graph_logistic.prior import Prior
from oneof.solvers.graph_logistic.problem import Likelihood
from tests.oracles import graph_logistic as oracle
from tests.solvers.graph_logistic.problems import problem, soften, some_precisions, terms_of

MSTEPS = ("newton", "block", "sequential")
msteps = pytest.mark.parametrize("solver", MSTEPS)
priors = pytest.mark.parametrize("prior", ["graph", "ridge", "graph+ridge", "graph+ard", "graph+ard per class"])


def fixed(X, mask, terms, precisions, **options):
    return solve_graph_logistic(X, mask, terms, precision="fixed", precisions=precisions, **options)


def penalized(X, mask, W, terms, precisions):
    w = W.ravel()
    return oracle.likelihood(X, mask, W) - 0.5 * w @ oracle.precision_matrix(terms, precisions, len(W)) @ w


@msteps
@priors
@pytest.mark.parametrize(("m", "d", "K"), [(60, 6, 3), (60, 4, 2), (9, 15, 4)])
def test_the_optimum_is_that_of_scipy(solver, prior, m, d, K):
    """Each M-step ends at the optimum that scipy finds, on dense rows and on sparse ones."""
    X, mask, A, ridge = problem(m, d, K)
    terms = terms_of(prior, A, ridge)
    precisions = some_precisions(terms, K - 1)
    Lambda = oracle.precision_matrix(terms, precisions, K - 1)
    expected = oracle.mode(X, mask, Lambda, np.zeros((K - 1, d + 1)))
    for rows in (X, sp.csr_array(X)):
        found = fixed(rows, mask, terms, precisions, solver=solver).weights
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))
        gradient = oracle.gradient(X, mask, found).ravel() - Lambda @ found.ravel()
        assert np.abs(gradient).max() <= 1e-5


@msteps
def test_candidate_sets_end_at_a_stationary_point(solver):
    """With candidate sets the gradient of the penalized likelihood vanishes, and full rows change nothing."""
    X, mask, A, ridge = problem(80, 5, 4, seed=3)
    wider, terms = soften(mask), terms_of("graph+ridge", A, ridge)
    precisions = some_precisions(terms, 3)
    found = fixed(X, wider, terms, precisions, solver=solver).weights
    Lambda = oracle.precision_matrix(terms, precisions, 3)
    assert np.abs(oracle.gradient(X, wider, found).ravel() - Lambda @ found.ravel()).max() <= 1e-5
    told = ~wider.all(axis=1)
    np.testing.assert_array_equal(fixed(X[told], wider[told], terms, precisions, solver=solver).weights, found)


@pytest.mark.parametrize("solver", [block, sequential.sequential])
@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("prior", ["graph+ridge", "graph+ridge per class"])
def test_each_step_of_the_bound_raises_q(solver, sets, prior):
    """A step of the bound, in one block or one sweep, never lowers the penalized likelihood, from any start."""
    X, mask, A, ridge = problem(50, 5, 4, seed=1)
    mask = soften(mask) if sets else mask
    terms = terms_of(prior, A, ridge)
    precisions = some_precisions(terms, 3)
    likelihood = Likelihood.of(X, mask, None)
    own = Prior(tuple(terms), 3, Openings.of(tuple(terms), likelihood.features, likelihood.row_weight))
    W = np.random.default_rng(2).normal(size=(3, 6)) * 3
    values = [penalized(X, mask, W, terms, precisions)]
    for _ in range(60):
        W = solver(likelihood, own, precisions, W, tol=0.0, max_iter=1)[0]
        values.append(penalized(X, mask, W, terms, precisions))
    assert np.all(np.diff(values) >= -1e-10)
    assert values[-1] > values[0]


def test_conjugate_gradients_and_factorized_steps_agree(monkeypatch):
    """Both ways of a Newton step end at the same optimum, in the weights' space and in the rows'."""
    for m, d in ((60, 6), (8, 20)):
        X, mask, A, ridge = problem(m, d, 4)
        for prior in ("graph+ridge", "graph+ard per class"):
            terms = terms_of(prior, A, ridge)
            precisions = some_precisions(terms, 3)
            monkeypatch.setattr(newton, "FACTORizED", 10_000)
            expected = fixed(X, mask, terms, precisions).weights
            monkeypatch.setattr(newton, "FACTORizED", 0)
            np.testing.assert_allclose(fixed(X, mask, terms, precisions).weights, expected, rtol=1e-6, atol=1e-7)


@msteps
def test_two_classes_are_scikit_learns(solver):
    """With two classes and a ridge it is scikit-learn's logistic regression, intercept included."""
    X, mask, _, ridge = problem(60, 5, 2)
    found = fixed(X, mask, [Term("ridge", ridge)], {"ridge": np.array(0.7)}, solver=solver).weights
    model = LogisticRegression(C=1 / 0.7, tol=1e-12, max_iter=10_000).fit(X[:, :-1], mask[:, 0])
    np.testing.assert_allclose(found[0], np.append(model.coef_, model.intercept_), atol=1e-6)


def test_more_classes_are_scikit_learns_where_nothing_is_penalized():
    """Without a penalty to speak of the probabilities are scikit-learn's: how w^(K) = 0 is counted does not matter."""
    X, mask, _, ridge = problem(150, 3, 3)
    found = fixed(X, mask, [Term("ridge", ridge)], {"ridge": np.array(1e-7)}).weights
    model = LogisticRegression(C=1e7, tol=1e-12, max_iter=10_000).fit(X[:, :-1], mask.argmax(axis=1))
    np.testing.assert_allclose(oracle.probabilities(X, found), model.predict_proba(X[:, :-1]), atol=1e-5)


@msteps
def test_a_weight_is_a_repetition(solver):
    """A sample weight of 2 is the same as the row twice, of 0 as its absence."""
    X, mask, A, ridge = problem(40, 5, 3)
    terms = terms_of("graph+ridge", A, ridge)
    times = np.random.default_rng(0).integers(0, 4, size=40)
    precisions = some_precisions(terms, 2)
    weighted = fixed(X, mask, terms, precisions, solver=solver, sample_weight=times.astype(float)).weights
    repeated = fixed(np.repeat(X, times, axis=0), np.repeat(mask, times, axis=0), terms, precisions, solver=solver)
    np.testing.assert_allclose(weighted, repeated.weights, atol=2e-6)


@msteps
def test_separable_rows_and_a_class_without_rows_have_a_finite_optimum(solver, monkeypatch):
    """Where the intercept or the labels could run away, the weights stay finite and fit; bounds creep there."""
    monkeypatch.setattr(solve, "MOST_STEPS", {"newton": 200, "block": 500, "sequential": 500})
    X, mask, _, ridge = problem(12, 3, 3)
    mask = np.eye(3, dtype=bool)[(X[:, 0] > 0).astype(int)]
    solution = fixed(X, mask, [Term("ridge", ridge)], {"ridge": np.array(1e-2)}, solver=solver)
    assert solution.converged == (solver == "newton")
    found = solution.weights
    assert np.isfinite(found).all()
    assert np.array_equal(oracle.probabilities(X, found).argmax(axis=1), mask.argmax(axis=1))
    assert oracle.probabilities(X, found)[:, 2].max() < 1e-2


def test_many_sparse_columns_and_few_labels():
    """With 5,000 sparse columns and 60 labels, sweeps and Newton agree, without a matrix over the classes."""
    random = np.random.default_rng(0)
    X = sp.random_array((60, 5000), density=0.01, rng=random, format="csr")
    mask = np.eye(4, dtype=bool)[random.integers(4, size=60)]
    terms = [Term("ridge", sp.csr_array(sp.eye_array(5000)))]
    found = [fixed(X, mask, terms, {"ridge": np.array(0.1)}, solver=own).weights for own in ("newton", "sequential")]
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
