"""Linear systems of diffusion, beyond the size at which they are factorized."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from sklearn.neighbors import kneighbors_graph

from oneof.solvers.diffusion import solve_consistency, solve_harmonic
from oneof.solvers.diffusion.linear import DIRECT_ROWS, LinearSystem

N = 2 * DIRECT_ROWS


def links(n=N, seed=0):
    """Return a graph that hangs together, of rows in a plane."""
    directed = kneighbors_graph(np.random.default_rng(seed).normal(size=(n, 2)), 8)
    return sp.csr_array(directed.maximum(directed.T))


def system(W, pull):
    """Return D - W with a pull on the diagonal."""
    return sp.csr_array(sp.diags_array(W.sum(axis=1) + pull) - W)


@pytest.mark.parametrize("pull", [1e-6, 1e-2, 10.0])
def test_solutions_are_those_of_a_factorization(pull):
    """Columns of very different sizes, one of them 0, a warm start or none."""
    random = np.random.default_rng(1)
    M = system(links(), pull)
    B = random.random((N, 4)) * [1.0, 1e-6, 0.0, 1e3]
    expected = splu(sp.csc_array(M)).solve(B)
    for initial in (None, random.random((N, 4))):
        before = None if initial is None else initial.copy()
        found = LinearSystem(M).solve(B, initial=initial, tol=1e-9, max_iter=10_000)
        assert found.converged
        assert np.abs(found.values - expected).max() <= 1e-7 * np.abs(expected).max()
        assert (found.values[:, 2] == 0).all() or initial is not None
        if initial is not None:
            np.testing.assert_array_equal(initial, before)


@pytest.mark.parametrize("faint", [1e-2, 1e-5, 1e-8, 1e-11])
def test_levels_between_faint_links_are_those_of_the_flows(faint):
    """A part that hangs on two others, by links of 1 and 3 times a faint weight, has their labels as 1 to 3."""
    W = sp.lil_array(sp.block_diag([links(seed=k) for k in range(3)]))
    W[0, N] = W[N, 0] = faint
    W[N + 1, 2 * N] = W[2 * N, N + 1] = 3 * faint
    mask = np.ones((3 * N, 2), dtype=bool)
    mask[5:10], mask[2 * N + 5 : 2 * N + 10] = [True, False], [False, True]
    found = solve_harmonic(sp.csr_array(W), mask)
    assert found.converged
    np.testing.assert_allclose(found.distributions[N : 2 * N, 1].mean(), 0.75, atol=faint + 1e-6)


def test_faint_links_within_faint_links():
    """Pairs of rows that hang together by fainter links, in halves that hang together by the faintest of all."""
    half = sp.kron(1e-4 * links(DIRECT_ROWS, 2), sp.csr_array([[1.0, 0], [0, 0]])) + sp.kron(
        sp.eye_array(DIRECT_ROWS), sp.csr_array([[0, 1.0], [1.0, 0]])
    )
    W = sp.lil_array(sp.block_diag([half, half]))
    W[0, N] = W[N, 0] = 1e-9
    mask = np.ones((2 * N, 2), dtype=bool)
    mask[100], mask[200] = [True, False], [False, True]
    found = solve_harmonic(sp.csr_array(W), mask)
    assert found.converged
    np.testing.assert_allclose(found.distributions[N:], found.distributions[[0]].repeat(N, axis=0), atol=1e-5)


def test_a_class_without_label_is_nowhere_across_faint_links():
    """Not by rounding either, which a faint link would make much of."""
    W = sp.lil_array(sp.block_diag([links(seed=k) for k in range(2)]))
    W[0, N] = W[N, 0] = 1e-10
    mask = np.ones((2 * N, 2), dtype=bool)
    mask[7] = [True, False]
    F = solve_harmonic(sp.csr_array(W), mask).distributions
    np.testing.assert_array_equal(F, np.tile([1.0, 0.0], (2 * N, 1)))


def test_max_iter_bounds_all_iterations():
    """Also where rows far from the labels are solved for once more."""
    mask = np.ones((N, 2), dtype=bool)
    mask[:2] = np.eye(2, dtype=bool)
    for limit in (1, 5):
        found = solve_consistency(links(), mask, alpha=0.1, max_iter=limit)
        assert found.n_iter <= limit
        assert not found.converged
