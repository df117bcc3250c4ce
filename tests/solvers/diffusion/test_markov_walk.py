"""Markov walks: the definition, the likelihood of EM, unreachable rows."""

import numpy as np
import pytest

from oneof.solvers.diffusion import markov_walk
from oneof.solvers.diffusion.markov_walk import solve_markov_walk
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import chain, graph, problem
from tests.weights import draw_weights


@pytest.fixture(params=["dense", "matrix-free"])
def either_way(request, monkeypatch):
    """Store the labeled columns of P^t, or compute the walks in every pass."""
    monkeypatch.setattr(markov_walk, "_dense_is_faster", lambda *_: request.param == "dense")
    monkeypatch.setattr(markov_walk, "BLOCK_COLUMNS", 5)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("kind", ["exact", "partial", "weights"])
@pytest.mark.parametrize("n_steps", [1, 3, 8])
def test_posteriors_are_those_of_the_definition(kind, n_steps):
    """Start posteriors, likelihoods and predictions equal EM on the dense power of P, iteration for iteration."""
    W, mask = problem("exact" if kind == "exact" else "partial")
    mask = np.maximum(draw_weights(mask), 0.01 * mask) if kind == "weights" else mask
    Q = oracle.start_probabilities(W.toarray(), n_steps, 0.7)
    solution = solve_markov_walk(W, mask, n_steps=n_steps, self_weight=0.7, max_iter=12, tol=0.0)
    assert solution.n_iter == 12
    theta, trace = oracle.walk_em(Q, mask, 12)
    np.testing.assert_allclose(solution.start_posteriors, theta, atol=1e-10)
    np.testing.assert_allclose(solution.log_likelihood, trace, rtol=1e-10)
    p = Q.T @ theta
    p *= np.where(((mask > 0).sum(axis=1) == 1)[:, None], 1.0, mask)
    np.testing.assert_allclose(solution.distributions, p / p.sum(axis=1, keepdims=True), atol=1e-10)


@pytest.mark.parametrize("kind", ["exact", "partial"])
def test_the_likelihood_never_decreases_and_converges_to_a_maximum(kind):
    """EM increases it in every iteration, and at the end no class of a start node has a larger gradient."""
    W, mask = problem(kind)
    solution = solve_markov_walk(W, mask, n_steps=3, tol=1e-12, max_iter=20_000)
    assert solution.converged
    assert (np.diff(solution.log_likelihood) >= -1e-10).all()
    # Concave in theta on simplices: at the maximum each partial derivative is at most the mean of its node.
    Q = oracle.start_probabilities(W.toarray(), 3)
    labeled = ~mask.all(axis=1)
    inside = np.where(mask, Q.T @ solution.start_posteriors, 0.0).sum(axis=1)
    gradient = Q[:, labeled] @ (mask[labeled] / inside[labeled, None])
    mean = (solution.start_posteriors * gradient).sum(axis=1, keepdims=True)
    assert (gradient - mean).max() < 1e-3 * gradient.max()


@pytest.fixture
def n_stored(monkeypatch):
    """Return a list that records the number of columns whenever they are stored."""
    counts, columns = [], markov_walk._WalkOperator.columns

    def record(operator, labeled, *, dense):
        counts.extend([len(labeled)] * dense)
        return columns(operator, labeled, dense=False)

    monkeypatch.setattr(markov_walk._WalkOperator, "columns", record)
    return counts


@pytest.mark.parametrize("n_steps", [1, 8, 1000])
@pytest.mark.parametrize("k", [6, 59])
def test_columns_of_every_row_are_never_stored(n_stored, n_steps, k):
    """If all rows are labeled, the columns would be an n x n array: every pass is matrix-free, on full graphs too."""
    _, mask = problem("partial")
    mask[mask.all(axis=1), 0] = False
    W = graph(np.random.default_rng(0).normal(size=(60, 2)), k)
    assert np.isfinite(solve_markov_walk(W, mask, n_steps=n_steps).distributions).all()
    assert n_stored == []


def test_columns_of_few_rows_are_stored_once_within_the_memory_limit(n_stored, monkeypatch):
    """The columns of a few labeled rows are stored, and no other columns, unless they exceed the memory limit."""
    W, mask = problem()
    n_labeled = int((~mask.all(axis=1)).sum())
    solve_markov_walk(W, mask)
    assert n_stored == [n_labeled]
    monkeypatch.setattr(markov_walk, "MAX_COLUMN_BYTES", 8 * 60 * n_labeled - 1)
    solve_markov_walk(W, mask)
    assert n_stored == [n_labeled]


def test_rows_beyond_two_walks_of_a_label_are_unreachable():
    """On a chain, t steps lead from a start to the label and t others to a row: more distant rows are uniform."""
    n, t, W = 60, 5, chain(60)
    mask = np.ones((n, 2), dtype=bool)
    mask[0], mask[-1] = [True, False], [False, True]
    solution = solve_markov_walk(W, mask, n_steps=t)
    np.testing.assert_array_equal(solution.unreachable, np.arange(2 * t + 1, n - 2 * t - 1))
    np.testing.assert_allclose(solution.distributions[solution.unreachable], 0.5)
