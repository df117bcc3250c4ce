"""Harmonic functions, and local and global consistency: definitions, limits, constrained rows and linear systems."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from sklearn.neighbors import kneighbors_graph

from oneof.solvers.diffusion.label_propagation import solve_harmonic, solve_local_global_consistency
from oneof.solvers.diffusion.linear_solve import MAX_DIRECT_ROWS, LinearSystem
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import balance_mass, blocks, chain, graph, problem
from tests.weights import evidences

# -- Harmonic functions of sets and weights ---------------------------------------------------------------------------


TIGHT = {"tol": 1e-13, "max_iter": 20_000}


@pytest.mark.parametrize(("penalty", "ridge"), [(0.3, 0.0), (2.0, 0.05), (1e-3, 1.0)])
def test_soft_distributions_minimize_their_criterion(penalty, ridge):
    """Scaled to sum 1, they solve the normal equations, and every perturbation has a higher criterion."""
    W, mask = problem()
    labeled, Y = mask.sum(axis=1) == 1, mask.astype(float)
    F = oracle.soft_harmonic(W.toarray(), labeled, Y, penalty, ridge)
    solution = solve_harmonic(W, mask, label_penalty=penalty, ridge=ridge).distributions
    np.testing.assert_allclose(solution, F / F.sum(axis=1, keepdims=True), atol=1e-10)
    minimum = oracle.criterion(W.toarray(), labeled, Y, penalty, ridge, F)
    rng = np.random.default_rng(0)
    for _ in range(5):
        perturbed = F + 1e-3 * rng.normal(size=F.shape)
        assert oracle.criterion(W.toarray(), labeled, Y, penalty, ridge, perturbed) > minimum


SWEPT = [
    *((solve_harmonic, options) for options in ({}, {"ridge": 0.2}, {"label_penalty": 0.5})),
    (solve_harmonic, {"label_penalty": 0.5, "ridge": 0.1}),
    *((solve_local_global_consistency, {"alpha": alpha}) for alpha in (0.3, 0.95)),
]


@pytest.mark.parametrize(("solve", "options"), SWEPT)
@pytest.mark.parametrize("seed", range(3))
@evidences
def test_rows_of_several_candidates_converge_to_the_fixed_point_of_plain_sweeps(seed, solve, options, evidence_of):
    """Many sweeps, which multiply the mean of the neighbors by the weights, converge to the same distributions.

    For local and global consistency, weights multiply the labels of the neighbors, and not the mass of a row.
    """
    W, mask = problem("partial", n=30, K=4, seed=seed)
    evidence = evidence_of(mask)
    solution = solve(W, evidence, **options, **TIGHT)
    assert solution.converged
    distributions, tol = solution.distributions, 1e-10
    if solve is solve_harmonic:
        renamed = {"c": options.get("label_penalty"), "ridge": options.get("ridge", 0.0)}
        expected = oracle.sweep_harmonic(W.toarray(), evidence, 3000, **renamed)
    else:
        F = oracle.sweep_consistency(W.toarray(), evidence, options["alpha"], 1500)
        np.testing.assert_allclose(distributions * solution.mass[:, None], F, rtol=0, atol=tol)
        expected, tol = F / F.sum(axis=1, keepdims=True), 1e-8
    np.testing.assert_allclose(distributions, expected, rtol=0, atol=tol)
    np.testing.assert_allclose(distributions.sum(axis=1), 1)
    assert not distributions[~mask & (mask.sum(axis=1) > 1)[:, None]].any()


def test_an_isolated_row_is_uniform_on_its_candidates():
    """An isolated row of several candidates is uniform on them, and an isolated exact row keeps its label."""
    mask = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    W = sp.csr_array(np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], dtype=float))
    expected = [[0.5, 0.5, 0], [1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]]
    for options in ({}, {"label_penalty": 1.0}, {"ridge": 0.03}):
        np.testing.assert_allclose(solve_harmonic(W, mask, **options).distributions, expected, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"label_penalty": 0.3}, {"label_penalty": 0.3, "ridge": 0.5}])
@evidences
def test_class_mass_is_the_formula_of_the_paper(options, evidence_of):
    """Unlabeled rows that a label reaches are scaled to the mass of the labeled ones plus 1; exact rows count as 1."""
    unlabeled = (graph(np.random.default_rng(3).normal(size=(7, 2))), np.ones((7, 3), dtype=bool))
    W, mask = blocks(problem("partial"), unlabeled)
    evidence = evidence_of(mask).astype(float)
    solution = solve_harmonic(W, evidence, **options)
    F, full, exact = solution.distributions, (evidence == 1).all(axis=1), (evidence > 0).sum(axis=1) == 1
    q = 1.0 + np.where(exact[:, None], evidence, F)[~full].sum(axis=0)
    full[solution.unreachable] = False
    expected = F.copy()
    expected[full] *= q / F[full].sum(axis=0)
    expected /= expected.sum(axis=1, keepdims=True)
    balanced = balance_mass(F, evidence, solution.unreachable)
    np.testing.assert_allclose(balanced, expected, rtol=1e-10)
    np.testing.assert_array_equal(balanced[~full], F[~full])


@pytest.mark.parametrize("remainder", [0.0, 1e-9, 1e-189, 1e-310, 5e-324])
def test_class_mass_does_not_scale_up_a_vanishing_class(remainder):
    """The remaining mass of a class that decays with every sweep is not scaled up."""
    W, mask = problem()
    F = solve_harmonic(W, mask).distributions
    wide = np.column_stack([mask, mask.all(axis=1)])
    vanishing = balance_mass(np.column_stack([F, np.full(len(F), remainder)]), wide)
    np.testing.assert_allclose(vanishing, np.column_stack([balance_mass(F, mask), np.zeros(len(F))]), atol=2e-9)


def test_iterations_do_not_stop_too_early_on_long_chains():
    """Between two labels at the ends of a chain of 3,000 rows, the probabilities are linear."""
    n, W = 3000, chain(3000)
    mask = np.ones((n, 2), dtype=bool)
    mask[[0, -1]] = np.eye(2, dtype=bool)
    solution = solve_harmonic(W, mask, max_iter=5000)
    assert solution.converged
    np.testing.assert_allclose(solution.distributions[:, 1], np.linspace(0, 1, n), atol=1e-5)
    assert not solve_harmonic(W, mask, max_iter=1000).converged


@pytest.mark.parametrize("size", [1e-6, 1e-12, 1e-25, 1e-200])
def test_rows_connected_by_one_edge_have_the_distribution_of_its_end(size):
    """However weak the only edge to the rest is, a long walk takes it."""
    first, mask = problem()
    W = sp.lil_array((64, 64))
    W[:60, :60] = first
    W[60, 61] = W[61, 60] = W[62, 63] = W[63, 62] = 1.0
    W[61, 0] = W[0, 61] = W[62, 1] = W[1, 62] = size
    wide = np.vstack([mask, np.ones((4, 3), dtype=bool)])
    F = solve_harmonic(sp.csr_array(W), wide).distributions
    np.testing.assert_allclose(F[:60], solve_harmonic(first, mask).distributions, atol=1e-8)
    np.testing.assert_allclose(F[60:], F[[0, 0, 1, 1]], atol=1e-6)


def test_a_row_of_nearly_equal_weights_is_nearly_unlabeled():
    """For harmonic functions the result is continuous at equal weights."""
    W, mask = problem("exact")
    near = mask.astype(float)
    near[np.flatnonzero(mask.all(axis=1))[::2], 0] = 1 - 1e-9
    solution = solve_harmonic(W, near, **TIGHT)
    assert solution.converged
    expected = solve_harmonic(W, mask, **TIGHT).distributions
    np.testing.assert_allclose(solution.distributions, expected, rtol=0, atol=1e-6)


# -- Local and global consistency -------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.2, 0.9, 0.99])
def test_rows_far_from_the_labels_have_accurate_distributions(alpha):
    """On a strip of 1,500 rows with labels at one end, each mass, however small, is that of a sweep."""
    W = sp.kron(chain(750), sp.eye_array(2)) + sp.kron(sp.eye_array(750), sp.csr_array([[0.0, 0.1], [0.1, 0.0]]))
    mask = np.ones((1500, 2), dtype=bool)
    mask[:2] = np.eye(2, dtype=bool)
    solution = solve_local_global_consistency(sp.csr_array(W), mask, alpha=alpha, tol=1e-10)
    assert solution.converged
    assert np.isfinite(solution.distributions).all()
    F, root = solution.distributions * solution.mass[:, None], np.sqrt(W.sum(axis=1))[:, None]
    reached = (F > 1e-250) & mask.all(axis=1)[:, None]
    np.testing.assert_allclose((alpha * (W @ (F / root)) / root)[reached], F[reached], rtol=1e-6)


def test_rows_whose_mass_underflows_are_unreachable():
    """At alpha = .5 on a chain, the mass of a label underflows after about 500 edges."""
    n, W = 1500, chain(1500)
    mask = np.ones((n, 2), dtype=bool)
    mask[0] = [True, False]
    solution = solve_local_global_consistency(W, mask, alpha=0.5, max_iter=10_000)
    first = solution.unreachable[0]
    assert 400 < first < 700
    np.testing.assert_array_equal(solution.unreachable, np.arange(first, n))
    np.testing.assert_array_equal(solution.distributions[first:], 0.5)
    np.testing.assert_allclose(solution.distributions[:first], np.tile([1.0, 0.0], (first, 1)), atol=1e-12)


# -- Constrained rows that plain sweeps hardly move -------------------------------------------------------------------


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


# -- Linear systems above the size up to which they are factorized ----------------------------------------------------


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
