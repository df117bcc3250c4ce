"""Linear systems of diffusion, above the size up to which they are factorized."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from sklearn.neighbors import kneighbors_graph

from oneof.solvers.diffusion.label_propagation import solve_harmonic, solve_local_global_consistency
from oneof.solvers.diffusion.linear_solve import MAX_DIRECT_ROWS, LinearSystem
from tests.solvers.diffusion.problems import balance_mass

N = 2 * MAX_DIRECT_ROWS


def edges(n=N, seed=0):
    """Return a connected neighbor graph of rows in a plane."""
    directed = kneighbors_graph(np.random.default_rng(seed).normal(size=(n, 2)), 8)
    return sp.csr_array(directed.maximum(directed.T))


def system(W, ridge):
    """Return D - W with a ridge on the diagonal."""
    return sp.csr_array(sp.diags_array(W.sum(axis=1) + ridge) - W)


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 10.0])
def test_solutions_are_those_of_a_factorization(ridge):
    """Solutions are equal for columns of very different sizes, including 0, with and without a warm start."""
    rng = np.random.default_rng(1)
    M = system(edges(), ridge)
    B = rng.random((N, 4)) * [1.0, 1e-6, 0.0, 1e3]
    expected = splu(sp.csc_array(M)).solve(B)
    for initial in (None, rng.random((N, 4))):
        before = None if initial is None else initial.copy()
        solution = LinearSystem(M).solve(B, initial=initial, tol=1e-9, max_iter=10_000)
        assert solution.converged
        assert np.abs(solution.values - expected).max() <= 1e-7 * np.abs(expected).max()
        assert (solution.values[:, 2] == 0).all() or initial is not None
        if initial is not None:
            np.testing.assert_array_equal(initial, before)


@pytest.mark.parametrize("weak", [1e-2, 1e-5, 1e-8, 1e-11])
def test_levels_between_weak_edges_are_weighted_means(weak):
    """A component connected to two others by edges of 1 and 3 times a weak weight has their labels as 1 to 3."""
    W = sp.lil_array(sp.block_diag([edges(seed=k) for k in range(3)]))
    W[0, N] = W[N, 0] = weak
    W[N + 1, 2 * N] = W[2 * N, N + 1] = 3 * weak
    mask = np.ones((3 * N, 2), dtype=bool)
    mask[5:10], mask[2 * N + 5 : 2 * N + 10] = [True, False], [False, True]
    solution = solve_harmonic(sp.csr_array(W), mask)
    assert solution.converged
    np.testing.assert_allclose(solution.distributions[N : 2 * N, 1].mean(), 0.75, atol=weak + 1e-6)


def test_weak_edges_within_weak_edges():
    """Pairs of rows are connected by weaker edges, and the halves of the graph by the weakest of all."""
    half = sp.kron(1e-4 * edges(MAX_DIRECT_ROWS, 2), sp.csr_array([[1.0, 0], [0, 0]])) + sp.kron(
        sp.eye_array(MAX_DIRECT_ROWS), sp.csr_array([[0, 1.0], [1.0, 0]])
    )
    W = sp.lil_array(sp.block_diag([half, half]))
    W[0, N] = W[N, 0] = 1e-9
    mask = np.ones((2 * N, 2), dtype=bool)
    mask[100], mask[200] = [True, False], [False, True]
    solution = solve_harmonic(sp.csr_array(W), mask)
    assert solution.converged
    np.testing.assert_allclose(solution.distributions[N:], solution.distributions[[0]].repeat(N, axis=0), atol=1e-5)


@pytest.mark.parametrize("n", [40, N])
def test_a_class_without_label_has_probability_0_across_weak_edges(n):
    """Weak edges do not amplify rounding errors, by factorization or iterations, with and without class mass."""
    W = sp.lil_array(sp.block_diag([edges(n, seed=k) for k in range(2)]))
    W[0, n] = W[n, 0] = 1e-10
    mask = np.ones((2 * n, 3), dtype=bool)
    mask[[7, 8]] = np.eye(3, dtype=bool)[:2]
    F = solve_harmonic(sp.csr_array(W), mask).distributions
    assert (F[:, 2] == 0).all()
    assert (balance_mass(F, mask)[:, 2] == 0).all()


def test_max_iter_bounds_all_iterations():
    """The bound includes the systems of rows far from the labels, which are solved again."""
    mask = np.ones((N, 2), dtype=bool)
    mask[:2] = np.eye(2, dtype=bool)
    for limit in (1, 5):
        solution = solve_local_global_consistency(edges(), mask, alpha=0.1, max_iter=limit)
        assert solution.n_iter <= limit
        assert not solution.converged
