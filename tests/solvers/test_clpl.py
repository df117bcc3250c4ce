"""Tests of the CLPL solver: objective, gradient, Hessian product and minimum."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.clpl import CLPLProblem, ascend, minimize, solve_clpl
from tests.estimators.panel import table
from tests.oracles.levels import stacked
from tests.weights import draw_weights

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["sets", "weights"])


def problem(seed=0, *, is_weighted=False, **options):
    X, mask = table(40, seed=seed)
    mask = draw_weights(mask) if is_weighted else mask
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 2.0], size=40)
    return X, mask, weight, CLPLProblem.from_evidence(X, mask, 0.7, weight, **{"fit_intercept": True, **options})


@weighted
def test_curvature_is_the_derivative_of_the_gradient(is_weighted):
    """Away from kinks, the Hessian product is the numerical derivative of the gradient along a direction."""
    _, _, _, p = problem(is_weighted=is_weighted)
    rng = np.random.default_rng(2)
    W, v = rng.normal(size=(2, *p.shape))
    bent = p.hvp(p.loss_curvatures(p.matvec(W)), v)
    ahead, behind = (W + sign * 1e-6 * v for sign in (1, -1))
    slopes = [p.gradient(p.point(V, p.matvec(V))) for V in (ahead, behind)]
    numerical = (slopes[0] - slopes[1]) / 2e-6
    np.testing.assert_allclose(bent, numerical, rtol=1e-5, atol=1e-5 * np.abs(bent).max())


@pytest.mark.parametrize("case", ["dense", "intercept", "dual ascent"])
def test_weights_are_rows_for_each_level_set(case):
    """The minimum for weights is that of the level sets as rows, with their masses as sample weights."""
    rng = np.random.default_rng(3)
    X, mask = table(80)
    weights, weight = draw_weights(mask), rng.choice([0.5, 1.0, 2.0], size=80)
    if case == "dual ascent":
        X = sp.random_array((80, 20_000), density=0.003, rng=rng).tocsr()
    options = {"C": 0.3, "fit_intercept": case == "intercept"}
    solution = solve_clpl(X, weights, sample_weight=weight, **options)
    rows, masses, sets = stacked(weights)
    expected = solve_clpl(X[rows], sets, sample_weight=weight[rows] * masses, **options)
    assert solution.converged
    assert solution.objective == pytest.approx(expected.objective, rel=1e-12)
    np.testing.assert_allclose(solution.weights, expected.weights, atol=1e-7 * np.abs(expected.weights).max())


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1.0, np.array([1e4, 1.0, 1e-3, 10.0])], ids=["even", "ill-scaled"])
def test_the_gradient_vanishes_at_the_minimum(C, fit_intercept, scale):
    """Optimality: the gradient is 0 to rounding, relative to the size of its terms."""
    X, mask = table(80)
    X = X * scale
    options = {"sample_weight": np.ones(80), "fit_intercept": fit_intercept, "max_iter": 500, "tol": 1e-9}
    solution = solve_clpl(X, mask, C=C, **options)
    assert solution.converged
    p = CLPLProblem.from_evidence(X, mask, C, np.ones(80), fit_intercept=fit_intercept)
    slopes = np.abs(p.point(solution.weights, p.matvec(solution.weights)).by_score)
    terms = np.abs(solution.weights) + p.rmatvec(slopes, np.abs(p.X))
    assert np.all(np.abs(solution.gradient) <= 1e-6 * terms + 1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_dual_ascent_bounds_the_distance_from_the_minimum(C):
    """The gap is at least f - min f for any `tol`; if the ascent converges, it reaches the minimum."""
    X, mask = table(80)
    p = CLPLProblem.from_evidence(X, mask, C, np.random.default_rng(0).choice([0.5, 2.0], size=80), fit_intercept=False)
    least = minimize(p, max_iter=1000, tol=1e-10).objective
    for tol in (1e-1, 1e-4, 1e-15):
        weights, gap = ascend(p, tol=tol, rng=np.random.default_rng(0))
        value = p.objective(weights, p.matvec(weights))
        assert value - least <= gap * value + 1e-12 * value
        assert value >= least * (1.0 - 1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_sparse_rows_of_many_features_have_the_minimum_of_newton_steps(C, fit_intercept):
    """The result equals that of Newton steps if dual ascent reaches the minimum, stops early or is not used."""
    rng = np.random.default_rng(3)
    X = sp.random_array((200, 3000), density=0.01, format="csr", rng=rng)
    X = sp.vstack([X, sp.csr_array((1, 3000))]).tocsr()  # including a row of zeros
    mask = rng.random((201, 4)) < 0.3
    mask[np.arange(201), rng.integers(4, size=201)] = True
    weight = rng.choice([0.0, 1.0, 3.0], size=201)
    solution = solve_clpl(X, mask, C=C, sample_weight=weight, fit_intercept=fit_intercept)
    p = CLPLProblem.from_evidence(X, mask, C, weight, fit_intercept=fit_intercept)
    assert p.block_cost == np.inf
    alone = minimize(p, max_iter=1000, tol=1e-8)
    assert solution.converged
    assert solution.objective == pytest.approx(alone.objective, rel=1e-12)
    np.testing.assert_allclose(solution.weights, alone.weights, atol=1e-6 * np.abs(alone.weights).max())
    assert fit_intercept or solution.n_iter == 1


def test_dense_rows_with_few_nonzeros_are_solved_as_sparse_rows():
    """Dense rows with few nonzeros have the same minimum as CSR rows, and become CSR rows in the solver."""
    rng = np.random.default_rng(0)
    X = sp.random_array((100, 60), density=0.05, rng=rng).tocsr()
    mask = rng.random((100, 4)) < 0.4
    mask[np.arange(100), rng.integers(4, size=100)] = True
    assert sp.issparse(CLPLProblem.from_evidence(X.toarray(), mask, 1.0, np.ones(100), fit_intercept=False).X)
    dense, sparse = (solve_clpl(rows, mask, C=1.0, sample_weight=np.ones(100)) for rows in (X.toarray(), X))
    np.testing.assert_allclose(dense.weights, sparse.weights, rtol=1e-10, atol=1e-12)
