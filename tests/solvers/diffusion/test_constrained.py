"""Constrained rows that plain sweeps hardly move: the fixed points of extrapolated sweeps."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from oneof.solvers.diffusion.label_propagation import solve_harmonic, solve_local_global_consistency
from tests.oracles import diffusion as oracle


def connected(n, *edges):
    """Return an affinity from edges (row, row, weight)."""
    W = np.zeros((n, n))
    for i, j, weight in edges:
        W[i, j] = W[j, i] = weight
    return sp.csr_array(W)


def members(K, *sets):
    """Return the mask of candidate sets."""
    return np.array([[k in candidates for k in range(K)] for candidates in sets])


def mutual(seed, n=60, K=4):
    """Return a graph of two mutual nearest neighbors per row, and sets; at most one in ten is exact."""
    rng = np.random.default_rng(seed)
    near = kneighbors_graph(rng.normal(size=(n, 2)), 2).toarray()
    mask = np.zeros((n, K), dtype=bool)
    for i, size in enumerate(rng.integers(2, K, size=n)):
        mask[i, rng.permutation(K)[: 1 if seed % 2 and rng.random() < 0.1 else size]] = True
    return sp.csr_array(near * near.T), mask


def test_a_probability_that_decreases_as_one_over_t_converges_to_the_tolerance():
    """Two rows have a candidate without any label, whose probability sweeps decrease as 1/t."""
    W, mask = connected(4, (0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)), members(4, {1}, {0, 1}, {0, 2}, {2})
    slow = oracle.sweep_harmonic(W.toarray(), mask, 1000)
    assert 0.9e-3 < slow[1, 0] < 1.1e-3
    for tol in (1e-2, 1e-3, 1e-4):
        solution = solve_harmonic(W, mask, tol=tol)
        assert solution.converged
        assert 0 < solution.distributions[1, 0] < 3 * tol
        assert solution.n_iter < 1 / tol


@pytest.mark.parametrize("weight", [1e-2, 1e-4, 1e-6])
def test_a_component_on_weak_edges_converges_to_the_harmonic_function(weight):
    """If the inflow into every set is within it, no mass is removed: the distributions are linear in the labels.

    With weaker edges the sweeps are slower, and the limit of their number is reported.
    """
    mask = members(3, {0}, {1}, {0, 1}, {0, 1}, {0, 1})
    W = connected(5, (0, 2, weight), (1, 4, 3 * weight), (2, 3, 1.0), (3, 4, 1.0)).toarray()
    solution = solve_harmonic(sp.csr_array(W), mask, tol=1e-8, max_iter=5000)
    assert solution.converged == (weight == 1e-2)
    if solution.converged:
        expected = oracle.harmonic(W, mask.sum(axis=1) == 1, mask)
        np.testing.assert_allclose(solution.distributions, expected, atol=1e-6)


@pytest.mark.parametrize("winner", [0, 1])
def test_extrapolations_do_not_converge_to_points_that_sweeps_pass(winner):
    """Two classes are almost equal in a row; the one whose neighbor has less of a third class wins."""
    leaks = (1.0, 1.05) if winner == 0 else (1.05, 1.0)
    # Without the difference of the leaks, equal probabilities would be an unstable fixed point.
    W = connected(4, (0, 1, 1.0), (0, 2, 1.0), (1, 3, leaks[0]), (2, 3, leaks[1]))
    mask = members(4, {0, 1}, {0, 2}, {1, 2}, {2})
    expected = oracle.sweep_harmonic(W.toarray(), mask, 8000)
    solution = solve_harmonic(W, mask, tol=1e-9)
    assert solution.converged
    assert solution.distributions[0].argmax() == expected[0].argmax() == winner
    np.testing.assert_allclose(solution.distributions, expected, atol=1e-5)


@pytest.mark.parametrize("solve", [solve_harmonic, solve_local_global_consistency])
@pytest.mark.parametrize("seed", range(8))
def test_graphs_of_mutual_neighbors_converge(seed, solve):
    """The results are distributions within the sets; in seed 6, a probability decreases as 1/t."""
    W, mask = mutual(seed)
    solution = solve(W, mask, max_iter=2000)
    assert solution.converged or (seed == 6 and solve is solve_harmonic)
    several = mask.sum(axis=1) > 1
    assert not solution.distributions[several][~mask[several]].any()
    assert (solution.distributions >= 0).all()
    np.testing.assert_allclose(solution.distributions.sum(axis=1), 1)


@pytest.mark.parametrize("max_iter", [1, 20, 31, 32, 33, 60])
def test_sweeps_are_limited_by_max_iter(max_iter):
    """At most `max_iter` sweeps are made, and an unfinished result is not reported as converged."""
    W, mask = connected(4, (0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)), members(4, {1}, {0, 1}, {0, 2}, {2})
    solution = solve_harmonic(W, mask, tol=1e-10, max_iter=max_iter)
    assert not solution.converged
    assert solution.n_iter == max_iter
