"""Harmonic functions of sets and weights: definition, maximum principle, limits, class mass normalization."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion.label_propagation import solve_harmonic
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import balance_mass, blocks, graph, problem
from tests.weights import evidences

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


@pytest.mark.parametrize("options", [{}, {"label_penalty": 0.5}, {"label_penalty": 0.5, "ridge": 0.1}, {"ridge": 0.2}])
@pytest.mark.parametrize("seed", range(2))
@evidences
def test_rows_of_several_candidates_converge_to_the_fixed_point_of_plain_sweeps(seed, options, evidence_of):
    """Many sweeps, each of which multiplies the mean of the neighbors by the weights, have the same distributions."""
    W, mask = problem("partial", n=30, K=4, seed=seed)
    evidence = evidence_of(mask)
    solution = solve_harmonic(W, evidence, **options, **TIGHT)
    renamed = {"c": options.get("label_penalty"), "ridge": options.get("ridge", 0.0)}
    expected = oracle.sweep_harmonic(W.toarray(), evidence, 3000, **renamed)
    np.testing.assert_allclose(solution.distributions, expected, rtol=0, atol=1e-10)
    assert solution.converged
    sizes = mask.sum(axis=1)
    assert not solution.distributions[~mask & (sizes > 1)[:, None]].any()
    np.testing.assert_allclose(solution.distributions.sum(axis=1), 1)


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
    n = 3000
    W = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
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
