"""Proximal Newton method: optimality from any start, and convergence where coordinate ascent is slow."""

import numpy as np
import pytest

from oneof.solvers.transductive import weighted_svm
from oneof.solvers.transductive.weighted_svm import newton_proximal, solve_weighted_svm
from tests.solvers.transductive.problems import SPACES, generator, problem, rows


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
