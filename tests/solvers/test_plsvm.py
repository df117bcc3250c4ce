"""The partial-label SVM: both solvers, the dual ascent, the annealed start, and spaces of features and kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from oneof.errors import InputError
from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace
from oneof.solvers.plsvm import PLSVMProblem, cccp, solve_cccp, solve_pegasos
from oneof.solvers.plsvm.cccp import SmoothedHinge, anneal
from oneof.solvers.plsvm.dual_ascent import ascend, face_step, restrict_duals
from oneof.solvers.plsvm.problem import best_scores
from oneof.solvers.stacked_sets import StackedSets
from tests.estimators.panel import table
from tests.oracles import plsvm as oracle
from tests.oracles.levels import stacked
from tests.weights import draw_weights, informative

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["sets", "weights"])
SPACES = ("dense", "sparse", "constant", "kernel")


def problem(space="dense", *, lam=0.01, n=60, K=4, seed=0, X=None, mask=None, is_weighted=False):
    """Return a problem with exact and partial rows, or with weights of which a third of the rows have none."""
    if X is None:
        X, mask = table(n, K=K, seed=seed)
    evidence = draw_weights(mask, seed) if is_weighted else mask
    labeled = informative(evidence)
    X, evidence = X[labeled], evidence[labeled]
    spaces = {
        "dense": lambda: FeatureSpace(X),
        "sparse": lambda: FeatureSpace(sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))),
        "constant": lambda: FeatureSpace(X, has_constant=True),
        "kernel": lambda: KernelSpace((1.0 + X @ X.T) ** 2),
    }
    return PLSVMProblem(spaces[space](), evidence, lam)


def random_weights(problem, seed=0):
    """Return weights with scores of mean absolute value 1."""
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=problem.evidence.shape)
    weights = problem.space.rmatvec(coefficients)
    return weights / np.abs(problem.space.matvec(weights)).mean()


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
    history = oracle.pegasos(gram, p.evidence, lam, 12)
    for t in range(1, 13):
        solution = solve_pegasos(p, max_iter=t)
        expected = gram @ history[t]
        np.testing.assert_allclose(p.space.matvec(solution.weights), expected, rtol=1e-9, atol=1e-9)
        objective = oracle.objective(expected, (history[t] * expected).sum(), p.evidence, lam)
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


def test_steps_of_the_start_decrease_the_smoothed_objective():
    """Within one temperature the smoothed objective decreases at every step."""
    p = problem(lam=1e-3, n=150)
    for temperature in (1.0, 0.1):
        values = [iterate.smoothed for iterate in anneal(p, (temperature,), p.space.zeros(p.n_classes))]
        assert len(values) > 2
        assert np.all(np.diff(values) < 0)


@weighted
def test_rows_of_zeros_and_duplicate_rows(is_weighted):
    """Rows of zeros have the loss 1; neither they nor duplicates prevent convergence."""
    X, mask = table(30)
    X[::3] = 0.0
    both = {"X": np.vstack([X, X]), "mask": np.vstack([mask, mask]), "is_weighted": is_weighted}
    solution = solve(problem(**both), tol=1e-9)
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


def dual_value(p, coefficients):
    weights = p.weights(coefficients)
    return np.maximum(coefficients, 0).sum() / p.space.n_rows - p.penalty(weights)


@weighted
@pytest.mark.parametrize("space", SPACES)
def test_ascent_closes_the_gap(space, is_weighted):
    """The gap closes; the dual variables are feasible and give the weights; no other weights are better."""
    p = problem(space, is_weighted=is_weighted)
    chosen = best_scores(p.sets.take(p.space.matvec(random_weights(p))), p.sets.mask).chosen
    coefficients = restrict_duals(np.zeros(p.sets.mask.shape), p.sets.mask, p.sets.mass, chosen)
    rng = np.random.default_rng(0)
    for _ in range(30):
        solution = ascend(p, chosen, coefficients, tol=1e-10, value=0.0, rng=rng)
    assert 0 <= solution.gap + 1e-12 <= 1e-9 * solution.primal + 2e-12
    assert solution.dual == pytest.approx(dual_value(p, coefficients), rel=1e-12)
    taus = coefficients[np.arange(len(chosen)), chosen]
    assert (taus <= p.sets.mass + 1e-12).all()
    outside = np.where(p.sets.mask, 0.0, coefficients)
    assert (outside <= 0).all()
    np.testing.assert_allclose(taus, -outside.sum(axis=1), atol=1e-12)
    assert p.majorant(solution.weights, solution.scores, chosen) == pytest.approx(solution.primal, rel=1e-12)
    for seed in range(5):
        perturbed = solution.weights + 1e-3 * random_weights(p, seed)
        assert p.majorant(perturbed, p.space.matvec(perturbed), chosen) >= solution.dual


@weighted
@pytest.mark.parametrize("space", SPACES)
def test_a_face_step_raises_the_dual(space, is_weighted):
    """A step over the free variables increases the dual, up to rounding, and stays feasible.

    From some starts a step is declined; the rounding of the ascent decides which starts these are.
    """
    p = problem(space, lam=1e-3, is_weighted=is_weighted)
    chosen = best_scores(p.sets.take(p.space.matvec(random_weights(p))), p.sets.mask).chosen
    gains = []
    for seed in range(6):
        coefficients = restrict_duals(np.zeros(p.sets.mask.shape), p.sets.mask, p.sets.mass, chosen)
        ascend(p, chosen, coefficients, tol=0.3, value=0.0, rng=np.random.default_rng(seed))
        coefficients /= 2  # feasible, and below the maximum, which the ascent may have reached
        start = dual_value(p, coefficients)
        for _ in range(5):
            before = dual_value(p, coefficients)
            weights = p.weights(coefficients)
            increased = face_step(p, chosen, coefficients, p.space.matvec(weights))
            after = dual_value(p, coefficients)
            # Near the maximum a step may gain less than the last digit of the value.
            assert after >= before - 2 * np.spacing(abs(before)) if increased else after == before
            taus = coefficients[np.arange(len(chosen)), chosen]
            assert (taus <= p.sets.mass + 1e-12).all()
            assert (np.where(p.sets.mask, 0.0, coefficients) <= 1e-15).all()
        gains.append(dual_value(p, coefficients) / start - 1)
    assert max(gains) > 1e-6


def draw(n=300, K=7, seed=0, spread=3.0):
    rng = np.random.default_rng(seed)
    mask = rng.random((n, K)) < 0.4
    mask[np.arange(n), rng.integers(0, K, n)] = True
    mask[mask.all(axis=1), 0] = False
    return rng.normal(size=(n, K)) * spread, mask


def smoothed(scores, sets, T):
    """Return the sums over level sets of T log(sum_in e^(s/T) + sum_out e^((1+s)/T)) - T log sum_in e^(s/T)."""
    rows, masses, masks = sets
    inside = np.where(masks, scores[rows], -np.inf)
    gaps = T * (logsumexp((scores[rows] + ~masks) / T, axis=1) - logsumexp(inside / T, axis=1))
    return np.bincount(rows, masses * gaps, len(scores))


@weighted
@pytest.mark.parametrize("T", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("n", [1, 255, 256, 600])
def test_value_and_gradient(T, n, is_weighted):
    """Value and gradient equal the formula to single precision; the gradient is a feasible dual solution."""
    scores, mask = draw(n)
    weights = draw_weights(mask) if is_weighted else mask
    levels = stacked(weights)
    sets, single = StackedSets.from_evidence(weights), np.asfortranarray(scores, dtype=np.float32)
    gradient = np.empty(sets.mask.shape, dtype=np.float32, order="F")
    value, hinge = SmoothedHinge(sets)(single, T, gradient)
    assert value == pytest.approx(smoothed(scores, levels, T).mean(), rel=1e-5)
    assert hinge == pytest.approx(oracle.objective(scores, 0.0, weights, 0.0), rel=1e-6)
    step = 1e-5 * T
    for k in range(mask.shape[1]):
        shift = step * (np.arange(mask.shape[1]) == k)
        numerical = (smoothed(scores + shift, levels, T) - smoothed(scores - shift, levels, T)) / (2 * step)
        np.testing.assert_allclose(sets.sum_by_row(gradient)[:, k], numerical, atol=2e-3 if T < 0.1 else 2e-4)
    assert (gradient[~sets.mask] >= 0).all()
    assert (gradient[sets.mask] <= 0).all()
    assert (np.where(sets.mask, 0.0, gradient).sum(axis=1) <= sets.mass + 1e-5).all()
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-5)


# -- Spaces of features and of kernels --------------------------------------------------------------------------------


@pytest.mark.parametrize("space", SPACES)
def test_subset_and_float32_have_the_same_scores(space):
    """A subset has the scores of its rows, and single precision those of all rows to its rounding."""
    p = problem(space)
    coefficients = np.random.default_rng(1).normal(size=p.evidence.shape)
    weights = p.space.rmatvec(coefficients)
    single = p.space.as_float32()
    np.testing.assert_allclose(single.matvec(weights), p.space.matvec(weights), rtol=1e-4, atol=1e-3)
    rows = np.array([5, 2, 9])
    sparse_coefficients = np.zeros_like(coefficients)
    sparse_coefficients[rows] = coefficients[rows]
    subset = p.space.subset(rows)
    expected = p.space.matvec(p.space.rmatvec(sparse_coefficients))[rows]
    np.testing.assert_allclose(subset.matvec(subset.rmatvec(coefficients[rows])), expected, rtol=1e-10, atol=1e-10)


def test_rows_out_of_range():
    """Squares that overflow float64 raise, and those out of the range of float32 stay in float64."""
    X, _ = table()
    with pytest.raises(InputError, match=r"[Ss]cale the features"), np.errstate(over="ignore"):
        FeatureSpace(X * 1e200)
    assert FeatureSpace(X * 1e30).as_float32().X.dtype == np.float64
    assert FeatureSpace(X * 1e-30).as_float32().X.dtype == np.float64
    assert FeatureSpace(X).as_float32().X.dtype == np.float32
