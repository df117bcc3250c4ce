"""SVM with a cost for each row: optimality, equality with peers, warm starts, Newton steps."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from oneof.solvers.transductive import weighted_svm
from oneof.solvers.transductive.weighted_svm import newton_proximal, solve_weighted_svm
from tests.oracles import transductive as oracle
from tests.solvers.transductive.problems import SPACES, generator, problem, rows


def solved(p, signs, costs, tol=1e-8, **options):
    return solve_weighted_svm(p, signs, costs, initial=p.zero_solution(), tol=tol, rng=generator(), **options)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_optimality_conditions_hold_and_the_duality_gap_is_closed(space, C):
    """Dual variables are within their bounds and balanced, margins agree with them, and primal equals dual."""
    X, signs = rows()
    costs = C * np.random.default_rng(1).random(60)
    costs[5:9] = 0.0
    p = problem(X, space)
    m = solved(p, signs, costs)
    assert m.converged
    assert m.violation <= 1e-8
    alphas, margins = signs * m.coefficients, signs * m.scores
    assert (alphas >= 0).all()
    assert (alphas <= costs).all()
    assert abs(m.coefficients.sum()) <= 1e-7
    np.testing.assert_allclose(m.products, X @ (X.T @ m.coefficients), atol=1e-9)
    inside = (alphas > 1e-6 * costs) & (alphas < (1 - 1e-6) * costs)
    np.testing.assert_allclose(margins[inside], 1.0, atol=1e-7)
    assert (margins[(alphas <= 1e-9) & (costs > 0)] >= 1 - 1e-7).all()
    assert (margins[(alphas >= (1 - 1e-9) * costs) & (costs > 0)] <= 1 + 1e-7).all()
    w = X.T @ m.coefficients
    primal, dual = p.objective(m, signs, costs), alphas.sum() - 0.5 * w @ w
    assert primal == pytest.approx(oracle.objective(w @ w, m.scores, signs, costs), rel=1e-12)
    assert abs(primal - dual) <= 1e-6 * costs.sum()


@pytest.mark.parametrize("space", SPACES)
def test_without_an_intercept_it_equals_liblinear(space):
    """Without b, the weights are those of LinearSVC with the hinge loss."""
    X, signs = rows()
    peer = LinearSVC(C=0.3, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6).fit(X, signs)
    m = solved(problem(X, space, has_intercept=False), signs, np.full(60, 0.3))
    assert m.intercept == 0.0
    np.testing.assert_allclose(m.scores, X @ peer.coef_[0], atol=1e-4)


@pytest.mark.parametrize("n", [60, 1500], ids=["all rows", "means of the rows far from the margins"])
def test_warm_and_cold_starts_have_the_same_minimum(n, monkeypatch):
    """A start from the SVM of other signs and costs reaches the same minimum, and never increases the objective."""
    monkeypatch.setattr(weighted_svm, "MIN_ROWS", 300)
    X, signs = rows(n, 4, apart=1.0 if n == 60 else 0.7)
    p, costs = problem(X), np.full(n, 0.4)
    start = solved(p, -signs, np.full(n, 5.0), tol=1e-2)
    warm = solve_weighted_svm(p, signs, costs, initial=start, tol=1e-9, rng=generator())
    cold = solved(p, signs, costs, tol=1e-9)
    np.testing.assert_allclose(warm.scores, cold.scores, atol=1e-6)
    loose = solve_weighted_svm(p, signs, costs, initial=cold, tol=0.5, rng=generator())
    assert p.objective(loose, signs, costs) <= p.objective(cold, signs, costs) * (1 + 1e-11)


def test_many_rows_of_few_features_are_solved_to_rounding():
    """The Newton method converges where coordinate ascent does not."""
    X, signs = rows(1000, 5, seed=2, apart=0.5)
    costs = np.full(1000, 15.0)
    m = solved(problem(X), signs, costs, tol=1e-9)
    assert m.converged
    peer = SVC(C=15.0, kernel="linear", tol=1e-8).fit(X, signs)
    np.testing.assert_allclose(m.scores, peer.decision_function(X), atol=2e-3)


def test_rows_of_zeros_and_rows_of_one_sign():
    """Rows of zeros have the loss of the intercept; with one sign only, w = 0 and b is that sign."""
    p = problem(np.zeros((6, 2)))
    signs = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    m = solved(p, signs, np.ones(6))
    assert m.converged
    np.testing.assert_allclose(m.scores, 1.0)
    p = problem(np.zeros((6, 2)), has_intercept=False)
    assert solved(p, signs, np.ones(6)).converged
    X, _ = rows(20)
    m = solved(problem(X), -np.ones(20), np.ones(20))
    np.testing.assert_allclose(m.scores, -1.0, atol=1e-6)


@pytest.mark.parametrize("has_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_means_of_the_rows_far_from_the_margins_do_not_change_the_solution(C, has_intercept, monkeypatch):
    """Cold and warm starts satisfy the optimality conditions on all rows, and have the objective without means."""
    X, signs = rows(1500, 3, apart=0.7)
    rng = np.random.default_rng(0)
    costs, switched = C * rng.choice([0.0, 1.0, 2.0], size=1500), np.where(rng.random(1500) < 0.003, -signs, signs)
    p = problem(X, has_intercept=has_intercept)
    direct = [solved(p, signs, costs), solved(p, switched, 1.05 * costs)]
    monkeypatch.setattr(weighted_svm, "MIN_ROWS", 300)
    monkeypatch.setattr(weighted_svm, "NEAR_FRACTION", 0.2)
    used = []
    original = weighted_svm._solve_near_rows
    monkeypatch.setattr(weighted_svm, "_solve_near_rows", lambda *a, **k: used.append(original(*a, **k)) or used[-1])
    first = solved(p, signs, costs)
    options = {"initial": first, "tol": 1e-8, "rng": generator()}
    second = solve_weighted_svm(p, switched, 1.05 * costs, **options)
    for m, expected, y, c in ((first, direct[0], signs, costs), (second, direct[1], switched, 1.05 * costs)):
        assert m.converged
        assert m.violation <= 1e-8
        assert abs(m.coefficients.sum()) <= 1e-7 * max(1.0, c.sum()) or not has_intercept
        assert (y * m.coefficients >= 0.0).all()
        assert (y * m.coefficients <= c * (1.0 + 1e-12)).all()
        assert p.objective(m, y, c) == pytest.approx(p.objective(expected, y, c), rel=1e-7)
        np.testing.assert_allclose(m.scores, expected.scores, atol=1e-5)
    assert any(solution is not None for solution in used)


def gap(X, signs, costs, coefficients, intercept):
    """Return the duality gap, relative to the sum of the costs."""
    w = X.T @ coefficients
    losses = costs @ np.maximum(0.0, 1.0 - signs * (X @ w + intercept))
    return (w @ w + losses - signs @ coefficients) / costs.sum()


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("has_intercept", [True, False])
@pytest.mark.parametrize(("n", "d", "C"), [(300, 5, 20.0), (40, 90, 20.0), (200, 4, 1e6), (60, 4, 1e-3)])
def test_the_duality_gap_closes_from_any_start(space, has_intercept, n, d, C):
    """From any coefficients and intercept the result is optimal, inside the bounds, and balanced."""
    X, signs = rows(n, d, seed=1, apart=0.5)
    p, rng = problem(X, space), np.random.default_rng(0)
    for costs in (np.full(n, C), np.where(rng.random(n) < 0.2, C, 1e-5 * C)):
        for start in (np.zeros(n), signs * costs * rng.random(n)):
            before = start.copy()
            result = newton_proximal(
                p.space, signs, costs, start, 3.0 * has_intercept, has_intercept=has_intercept, tol=1e-7
            )
            assert result.converged
            assert (result.coefficients * signs >= 0.0).all()
            assert (result.coefficients * signs <= costs).all()
            assert has_intercept or result.intercept == 0.0
            assert not has_intercept or abs(result.coefficients.sum()) <= 1e-7 * costs.min() + 1e-14 * costs.sum()
            assert abs(gap(X, signs, costs, result.coefficients, result.intercept)) <= 1e-6
            np.testing.assert_array_equal(start, before)


def test_low_costs_do_not_prevent_convergence_of_the_intercept():
    """With costs of very different sizes, b converges even if rows of low cost determine it."""
    X = np.array([[-0.57, 0.25], [0.61, -0.86], [-3.03, 1.41], [-1.05, 2.52], [-0.17, 0.28], [-1.66, 1.39]])
    signs, costs = np.array([-1.0, 1, -1, 1, 1, -1]), np.array([1.0, 1, 1e-6, 1e-6, 1e-6, 1e-6])
    p = problem(X)
    m = solve_weighted_svm(p, signs, costs, initial=p.zero_solution(), tol=1e-6, rng=generator(), max_epochs=200)
    assert m.converged
    assert abs(gap(X, signs, costs, m.coefficients, m.intercept)) <= 1e-6


def test_systems_that_are_too_large_are_not_solved(monkeypatch):
    """Above the limit, the start is returned unchanged."""
    monkeypatch.setattr(weighted_svm, "MAX_UNKNOWNS", 2)
    X, signs = rows(50, 4)
    start = 0.5 * signs
    result = newton_proximal(problem(X).space, signs, np.ones(50), start, 0.2, has_intercept=True, tol=1e-6)
    assert not result.converged
    np.testing.assert_array_equal(result.coefficients, start)
    assert result.intercept == 0.2
