"""Tests of both solvers of the partial-label SVM."""

import numpy as np
import pytest

from oneof.solvers.plsvm import cccp, solve_cccp, solve_pegasos
from oneof.solvers.plsvm.cccp import anneal
from tests.estimators.panel import table
from tests.oracles import plsvm as oracle
from tests.solvers.plsvm.problems import SPACES, problem, random_weights, weighted


def solve(p, **options):
    return solve_cccp(p, rng=np.random.default_rng(0), **options)


@weighted
@pytest.mark.parametrize("lam", [1.0, 0.05, 1e-3])
@pytest.mark.parametrize("space", SPACES)
def test_pegasos_is_algorithm_1(space, lam, is_weighted):
    """Every iterate equals that of the published algorithm, with and without projection, linear and kernel."""
    p = problem(space, lam=lam, n=25, is_weighted=is_weighted)
    gram = p.space.gram if space == "kernel" else None
    if gram is None:
        X = p.space.X.toarray() if space == "sparse" else p.space.X
        X = np.column_stack([X, np.ones(len(X))]) if space == "constant" else X
        gram = X @ X.T
    history = oracle.pegasos(lambda i, j: gram[i, j], p.evidence, lam, 12)
    for t in range(1, 13):
        solution = solve_pegasos(p, max_iter=t)
        expected = gram @ np.array(history[t])
        np.testing.assert_allclose(p.space.matvec(solution.weights), expected, rtol=1e-9, atol=1e-9)
        square = float((np.array(history[t]) * expected).sum())
        objective = oracle.objective(expected, square, p.evidence, lam)
        assert solution.objective_path[-1] == pytest.approx(objective, rel=1e-9)
        assert len(solution.objective_path) == len(solution.times) == t + 1


def test_pegasos_stops_early_only_with_a_tolerance():
    """A tol of 0 takes every step; with a larger one it stops at a step that is short relative to the weights."""
    p = problem(lam=0.1)
    assert solve_pegasos(p, max_iter=300, tol=0.0).n_iter == 300
    solution = solve_pegasos(p, max_iter=300, tol=0.02)
    assert solution.converged
    assert solution.n_iter < 300


@weighted
@pytest.mark.parametrize("space", SPACES)
def test_no_outer_step_increases_the_objective(space, is_weighted, monkeypatch):
    """No outer step increases the objective; nor does the trace, whose last entry is that of the result."""
    objectives = []
    step = cccp._line_search

    def recorded(p, chosen, weights, scores, ascent):
        result = step(p, chosen, weights, scores, ascent)
        objectives.append((p.objective(weights, scores), p.objective(*result)))
        return result

    monkeypatch.setattr(cccp, "_line_search", recorded)
    tol = 1e-5 if is_weighted else 1e-8
    for seed in range(3):
        for temperatures in ((), None):
            p = problem(space, lam=1e-3, seed=seed, n=60 if is_weighted else 120, is_weighted=is_weighted)
            solution = solve(p, tol=tol, initial=random_weights(p, seed), temperatures=temperatures)
            assert np.all(np.diff(solution.objective_path) <= 1e-14)
            assert np.all(np.diff(solution.times) >= 0)
            value = p.objective(solution.weights, p.space.matvec(solution.weights))
            assert solution.objective_path[-1] == pytest.approx(value, rel=1e-12)
    assert len(objectives) > 6
    assert all(after <= before * (1 + 1e-14) for before, after in objectives)


@weighted
@pytest.mark.parametrize("space", SPACES)
def test_the_solution_is_stationary(space, is_weighted):
    """A restart from the solution returns the same objective."""
    p = problem(space, n=100, is_weighted=is_weighted)
    solution = solve(p, tol=1e-9)
    again = solve(p, tol=1e-9, initial=solution.weights)
    assert solution.converged
    assert again.objective_path[-1] == pytest.approx(solution.objective_path[-1], rel=1e-7)


@pytest.mark.slow
def test_an_annealed_start_is_better_than_random_starts():
    """With ambiguous sets the annealed start ends lower than most random ones."""
    wins = 0
    for seed in range(5):
        X, mask = table(200, d=6, K=6, seed=seed)
        mask |= np.random.default_rng(seed).random(mask.shape) < 0.3
        mask[:6] = np.eye(6, dtype=bool)
        p = problem(X=X, mask=mask, lam=1e-2)
        annealed = solve(p).objective_path[-1]
        random_starts = [solve(p, initial=5 * random_weights(p, s)).objective_path[-1] for s in range(5)]
        wins += annealed <= np.median(random_starts)
    assert wins >= 4


def test_steps_of_the_start_decrease_the_smoothed_objective():
    """Within one temperature the smoothed objective decreases at every step."""
    p = problem(lam=1e-3, n=150)
    for temperature in (1.0, 0.1):
        values = [iterate.smoothed for iterate in anneal(p, (temperature,), p.space.zeros(p.n_classes))]
        assert len(values) > 2
        assert np.all(np.diff(values) < 0)


def test_rows_of_zeros_and_duplicate_rows():
    """Rows of zeros have the loss 1; neither they nor duplicates prevent convergence."""
    X, mask = table(30)
    X[::3] = 0.0
    solution = solve(problem(X=np.vstack([X, X]), mask=np.vstack([mask, mask])), tol=1e-9)
    assert solution.converged
    zeros = solve(problem(X=np.zeros_like(X), mask=mask), tol=1e-9)
    assert zeros.converged
    assert zeros.objective_path[-1] == pytest.approx(1.0)


def test_every_annealed_iterate_may_be_worse_than_zero():
    """If no iterate of the start is below J(0), the solver continues from its end, and returns the best weights."""
    rng = np.random.default_rng(0)
    mask = np.zeros((300, 60), dtype=bool)
    truth = rng.integers(0, 60, 300)
    mask[np.arange(300), truth] = mask[np.arange(300), rng.integers(0, 60, 300)] = True
    X = rng.normal(size=(60, 3))[truth] + 0.3 * rng.normal(size=(300, 3))
    for lam in (1 / 300, 1.0, 100.0):
        p = problem(X=X, mask=mask, lam=lam)
        solution = solve(p)
        value = p.objective(solution.weights, p.space.matvec(solution.weights))
        assert value == pytest.approx(solution.objective_path[-1], rel=1e-12)
        assert value <= solution.objective_path[0]
        assert np.all(np.diff(solution.objective_path[1:]) <= 0)
    assert solve(problem(X=X, mask=mask, lam=1 / 300)).objective_path[-1] < 1.0
