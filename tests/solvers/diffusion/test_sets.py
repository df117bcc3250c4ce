"""Rows with sets in which plain sweeps hardly move: where the leaps over many sweeps come to rest."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from oneof.solvers.diffusion import solve_consistency, solve_harmonic
from tests.oracles import diffusion as oracle


def linked(n, *links):
    """Return an affinity from links (row, row, weight)."""
    W = np.zeros((n, n))
    for i, j, weight in links:
        W[i, j] = W[j, i] = weight
    return sp.csr_array(W)


def members(K, *sets):
    """Return the mask of some sets."""
    return np.array([[k in one for k in range(K)] for one in sets])


def mutual(seed, n=60, K=4):
    """Return a graph of mutual nearest neighbors, two each, and sets of which one in ten at most is a label."""
    random = np.random.default_rng(seed)
    near = kneighbors_graph(random.normal(size=(n, 2)), 2).toarray()
    mask = np.zeros((n, K), dtype=bool)
    for i, size in enumerate(random.integers(2, K, size=n)):
        mask[i, random.permutation(K)[: 1 if seed % 2 and random.random() < 0.1 else size]] = True
    return sp.csr_array(near * near.T), mask


def test_a_share_that_falls_as_one_over_the_number_of_sweeps_is_followed_to_its_end():
    """Two rows share a class that no label names, which sweeps take from them as 1/t: it goes, to the tolerance."""
    W, mask = linked(4, (0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)), members(4, {1}, {0, 1}, {0, 2}, {2})
    slow = oracle.sweep_harmonic(W.toarray(), mask, 1000)
    assert 0.9e-3 < slow[1, 0] < 1.1e-3
    for tol in (1e-3, 1e-4, 1e-6):
        found = solve_harmonic(W, mask, tol=tol)
        assert found.converged
        assert 0 < found.distributions[1, 0] < 3 * tol
        assert found.n_iter < 1000


@pytest.mark.parametrize("weight", [1e-2, 1e-4, 1e-6])
def test_an_island_on_weak_links_rests_at_the_harmonic_function(weight):
    """Where all that flows into a set lies within it, nothing is cut: shares are linear in the labels."""
    mask = members(3, {0}, {1}, {0, 1}, {0, 1}, {0, 1})
    W = linked(5, (0, 2, weight), (1, 4, 3 * weight), (2, 3, 1.0), (3, 4, 1.0)).toarray()
    found = solve_harmonic(sp.csr_array(W), mask, tol=1e-8, max_iter=10_000)
    labeled = mask.sum(axis=1) == 1
    assert found.converged
    np.testing.assert_allclose(found.distributions, oracle.harmonic(W, labeled, mask), atol=1e-6)


@pytest.mark.parametrize("winner", [0, 1])
def test_leaps_do_not_rest_where_sweeps_only_pass_by(winner):
    """Two classes are all but equal in a row, and the one whose neighbor knows less of a third wins in the end."""
    leaks = (1.0, 1.05) if winner == 0 else (1.05, 1.0)
    # Without the leaks' difference equal shares would be a fixed point, and Newton's method would go there.
    W = linked(4, (0, 1, 1.0), (0, 2, 1.0), (1, 3, leaks[0]), (2, 3, leaks[1]))
    mask = members(4, {0, 1}, {0, 2}, {1, 2}, {2})
    plain = oracle.sweep_harmonic(W.toarray(), mask, 8000)
    found = solve_harmonic(W, mask, tol=1e-9)
    assert found.converged
    assert found.distributions[0].argmax() == plain[0].argmax() == winner
    np.testing.assert_allclose(found.distributions, plain, atol=1e-5)


@pytest.mark.parametrize("solve", [solve_harmonic, solve_consistency])
@pytest.mark.parametrize("seed", range(8))
def test_every_graph_of_mutual_neighbors_comes_to_rest(seed, solve):
    """Shares are shares within the sets, finite, and found in far fewer sweeps than plain ones take."""
    W, mask = mutual(seed)
    found = solve(W, mask, max_iter=2000)
    assert found.converged
    assert found.n_iter < 1000
    several = mask.sum(axis=1) > 1
    assert not found.distributions[several][~mask[several]].any()
    assert (found.distributions >= 0).all()
    np.testing.assert_allclose(found.distributions.sum(axis=1), 1)


@pytest.mark.parametrize("seed", [1, 3])
def test_leaps_rest_where_plain_sweeps_rest(seed):
    """Where few labels are known, many plain sweeps end at the same shares."""
    W, mask = mutual(seed, n=30)
    plain = oracle.sweep_harmonic(W.toarray(), mask, 2000)
    np.testing.assert_allclose(solve_harmonic(W, mask, tol=1e-8, max_iter=5000).distributions, plain, atol=1e-3)


@pytest.mark.parametrize("max_iter", [1, 20, 31, 32, 33, 60])
def test_sweeps_and_leaps_are_counted_and_end_in_time(max_iter):
    """No more is done than was allowed, and what is not at rest is not said to be."""
    W, mask = linked(4, (0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)), members(4, {1}, {0, 1}, {0, 2}, {2})
    found = solve_harmonic(W, mask, tol=1e-10, max_iter=max_iter)
    assert not found.converged
    assert found.n_iter == max_iter
