"""Newton's rounds: optimality from any start, where ascent row by row creeps or the intercept is held back."""

import numpy as np
import pytest

from oneof.solvers.transductive import newton, solve_machine
from oneof.solvers.transductive.newton import newton_rounds
from tests.solvers.transductive.problems import SPACES, generator, problem, rows


def gap(X, signs, costs, coefficients, intercept):
    """Return by how much the primal is above the dual, where all costs together are 1."""
    w = X.T @ coefficients
    losses = costs @ np.maximum(0.0, 1.0 - signs * (X @ w + intercept))
    return (w @ w + losses - signs @ coefficients) / costs.sum()


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize(("n", "d", "C"), [(300, 5, 20.0), (40, 90, 20.0), (200, 4, 1e6), (60, 4, 1e-3)])
def test_primal_and_dual_meet_from_any_start(space, moves, n, d, C):
    """Whatever the coefficients and the intercept to begin with, they end optimal, inside the bounds, and balanced."""
    X, signs = rows(n, d, seed=1, apart=0.5)
    p, random = problem(X, space), np.random.default_rng(0)
    for costs in (np.full(n, C), np.where(random.random(n) < 0.2, C, 1e-5 * C)):
        for start in (np.zeros(n), signs * costs * random.random(n)):
            before = start.copy()
            end = newton_rounds(p.space, signs, costs, start, 3.0 * moves, moves=moves, tol=1e-7)
            assert end.converged
            assert (end.coefficients * signs >= 0.0).all()
            assert (end.coefficients * signs <= costs).all()
            assert moves or end.intercept == 0.0
            assert not moves or abs(end.coefficients.sum()) <= 1e-7 * costs.min() + 1e-14 * costs.sum()
            assert abs(gap(X, signs, costs, end.coefficients, end.intercept)) <= 1e-6
            np.testing.assert_array_equal(start, before)


@pytest.mark.parametrize("C", [10.0, 200.0])
def test_rows_that_overlap_are_solved_in_few_passes(C):
    """1,000 rows of 20 features at a high cost: optimal long before the passes are used up."""
    X, signs = rows(1000, 20, seed=3, apart=0.3)
    p, costs = problem(X), np.full(1000, C)
    m = solve_machine(p, signs, costs, initial=p.start(), tol=1e-3, random=generator(), most_passes=200)
    assert m.converged
    assert abs(gap(X, signs, costs, m.coefficients, m.intercept)) <= 1e-3


def test_a_low_cost_does_not_hold_the_intercept_back():
    """Where costs are of very different sizes, b may have far to go for rows that can pull little: it gets there."""
    X = np.array([[-0.57, 0.25], [0.61, -0.86], [-3.03, 1.41], [-1.05, 2.52], [-0.17, 0.28], [-1.66, 1.39]])
    signs, costs = np.array([-1.0, 1, -1, 1, 1, -1]), np.array([1.0, 1, 1e-6, 1e-6, 1e-6, 1e-6])
    p = problem(X)
    m = solve_machine(p, signs, costs, initial=p.start(), tol=1e-6, random=generator(), most_passes=200)
    assert m.converged
    assert abs(gap(X, signs, costs, m.coefficients, m.intercept)) <= 1e-6


def test_systems_that_are_too_large_are_left(monkeypatch):
    """Above the limit nothing is solved, and the start is returned as it was."""
    monkeypatch.setattr(newton, "LARGEST", 2)
    X, signs = rows(50, 4)
    start = 0.5 * signs
    end = newton_rounds(problem(X).space, signs, np.ones(50), start, 0.2, moves=True, tol=1e-6)
    assert not end.converged
    np.testing.assert_array_equal(end.coefficients, start)
    assert end.intercept == 0.2
