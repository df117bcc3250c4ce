"""Markov walks: the definition, EM that only climbs, what no walk reaches."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion import solve_walk, walk
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import blocks, graph, problem


@pytest.fixture(params=["formed", "walked"])
def either_way(request, monkeypatch):
    """Hold the labeled columns of P^t in memory, or walk in every pass."""
    monkeypatch.setattr(walk, "_worth_forming", lambda *_: request.param == "formed")
    monkeypatch.setattr(walk, "BLOCK_COLUMNS", 5)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("kind", ["exact", "partial"])
@pytest.mark.parametrize("n_steps", [1, 3, 8])
def test_posteriors_are_those_of_the_definition(kind, n_steps):
    """Start posteriors, likelihoods and predictions equal EM on the dense power of P, iteration for iteration."""
    W, mask = problem(kind)
    Q = oracle.start_probabilities(W.toarray(), n_steps, 0.7)
    found = solve_walk(W, mask, n_steps=n_steps, self_weight=0.7, max_iter=12, tol=0.0)
    assert found.n_iter == 12
    theta, trace = oracle.walk_em(Q, mask, 12)
    np.testing.assert_allclose(found.start_posteriors, theta, atol=1e-10)
    np.testing.assert_allclose(found.log_likelihood, trace, rtol=1e-10)
    p = Q.T @ theta
    sizes = mask.sum(axis=1)
    p = np.where(mask | (sizes == 1)[:, None], p, 0.0)
    np.testing.assert_allclose(found.distributions, p / p.sum(axis=1, keepdims=True), atol=1e-10)


@pytest.mark.parametrize("kind", ["exact", "partial"])
def test_the_likelihood_never_falls_and_ends_at_a_maximum(kind):
    """EM climbs in every iteration, and where it stops no class of a start node would gain by more than a trifle."""
    W, mask = problem(kind)
    found = solve_walk(W, mask, n_steps=3, tol=1e-12, max_iter=20_000)
    assert found.converged
    assert (np.diff(found.log_likelihood) >= -1e-10).all()
    # Concave in theta on simplices: at the maximum the slope in each class is at most the mean slope of its node.
    Q = oracle.start_probabilities(W.toarray(), 3)
    told = ~mask.all(axis=1)
    inside = np.where(mask, Q.T @ found.start_posteriors, 0.0).sum(axis=1)
    slopes = Q[:, told] @ (mask[told] / inside[told, None])
    mean = (found.start_posteriors * slopes).sum(axis=1, keepdims=True)
    assert (slopes - mean).max() < 1e-3 * slopes.max()


def test_full_sets_say_nothing():
    """A full set adds log 1: the likelihood is that of the other rows, and a node no walk links to them is uniform."""
    first, lonely = problem(), (graph(np.random.default_rng(3).normal(size=(7, 2))), np.ones((7, 3), dtype=bool))
    W, mask = blocks(lonely, first, (sp.csr_array((1, 1)), np.ones((1, 3), dtype=bool)))
    found, alone = solve_walk(W, mask), solve_walk(*first)
    np.testing.assert_allclose(found.log_likelihood, alone.log_likelihood, rtol=1e-10)
    np.testing.assert_array_equal(found.unreached, [*range(7), 67])
    np.testing.assert_allclose(found.distributions[found.unreached], 1 / 3)
    np.testing.assert_allclose(found.distributions[7:67], alone.distributions, atol=1e-10)


def test_one_step_explains_a_row_by_its_neighbors():
    """After one step a row knows itself and its neighbors: further than two edges from a label, nothing."""
    W = sp.csr_array(sp.diags_array([np.ones(9), np.ones(9)], offsets=[-1, 1], shape=(10, 10)))
    mask = np.ones((10, 2), dtype=bool)
    mask[0] = [True, False]
    F = solve_walk(W, mask, n_steps=1).distributions
    assert (F[:3, 0] > 0.5).all()
    np.testing.assert_allclose(F[3:], 0.5)


@pytest.mark.parametrize("kind", ["exact", "partial"])
def test_rows_and_classes_have_no_order(kind):
    """Permuting rows or classes permutes the posteriors."""
    W, mask = problem(kind)
    F = solve_walk(W, mask).distributions
    rows, classes = np.random.default_rng(0).permutation(60), [2, 0, 1]
    shuffled = solve_walk(W[rows][:, rows], mask[rows][:, classes]).distributions
    np.testing.assert_allclose(shuffled, F[rows][:, classes], atol=1e-9)


@pytest.fixture
def formed(monkeypatch):
    """Return the numbers of the columns that are formed, one for each time; what follows walks in every pass."""
    counts = []

    def record(operator, labeled, n):
        counts.append(len(labeled))
        return walk._Walked(operator, labeled, n)

    monkeypatch.setattr(walk, "_Formed", record)
    return counts


@pytest.mark.parametrize("n_steps", [1, 8, 1000])
@pytest.mark.parametrize("k", [6, 59])
def test_columns_of_every_row_are_never_formed(formed, n_steps, k):
    """Where all rows tell something the columns would be an n x n array: every pass walks, on full graphs too."""
    _, mask = problem("partial")
    mask[mask.all(axis=1), 0] = False
    W = graph(np.random.default_rng(0).normal(size=(60, 2)), k)
    assert np.isfinite(solve_walk(W, mask, n_steps=n_steps).distributions).all()
    assert formed == []


def test_columns_of_few_rows_are_formed_once_unless_memory_is_short(formed, monkeypatch):
    """A few labeled columns are formed, all of them and no other, but not beyond the memory that they may take."""
    W, mask = problem()
    n_labeled = int((~mask.all(axis=1)).sum())
    solve_walk(W, mask)
    assert formed == [n_labeled]
    monkeypatch.setattr(walk, "COLUMN_BYTES", 8 * 60 * n_labeled - 1)
    solve_walk(W, mask)
    assert formed == [n_labeled]


def test_rows_beyond_two_walks_of_a_label_are_named():
    """On a chain, t steps lead from a start to the label and t others to a row: beyond, nothing is known."""
    n, t = 60, 5
    W = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    mask = np.ones((n, 2), dtype=bool)
    mask[0], mask[-1] = [True, False], [False, True]
    found = solve_walk(W, mask, n_steps=t)
    np.testing.assert_array_equal(found.unreached, np.arange(2 * t + 1, n - 2 * t - 1))
    np.testing.assert_allclose(found.distributions[found.unreached], 0.5)
