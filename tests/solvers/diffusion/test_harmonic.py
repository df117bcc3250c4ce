"""Harmonic functions of sets and weights: definition, maximum principle, limits, class mass normalization."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion.label_propagation import solve_harmonic
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import balance_mass, blocks, graph, grid, problem, weighted

TIGHT = {"tol": 1e-13, "max_iter": 20_000}
evidences = pytest.mark.parametrize("evidence_of", [np.asarray, weighted], ids=["sets", "weights"])


@pytest.mark.parametrize("seed", range(4))
def test_clamped_distributions_are_those_of_the_paper(seed):
    """With exact labels F_U is L_UU^-1 W_UL Y_L, and labeled rows keep their labels."""
    W, mask = problem(seed=seed)
    labeled = mask.sum(axis=1) == 1
    solution = solve_harmonic(W, mask)
    np.testing.assert_allclose(solution.distributions, oracle.harmonic(W.toarray(), labeled, mask), atol=1e-10)
    assert solution.converged
    assert not len(solution.unreachable)


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


def test_a_large_penalty_clamps():
    """As the penalty grows, the soft criterion converges to the hard one."""
    W, mask = problem()
    hard = solve_harmonic(W, mask).distributions
    for penalty, within in ((1e3, 1e-2), (1e6, 1e-5)):
        assert np.abs(solve_harmonic(W, mask, label_penalty=penalty).distributions - hard).max() < within


def test_a_ridge_adds_no_class_mass():
    """Rows far from the labels keep the proportions of the small mass that reaches them."""
    W, mask = problem()
    labeled = mask.sum(axis=1) == 1
    far = solve_harmonic(W, mask, ridge=1e9).distributions
    reached = W.toarray() @ np.where(labeled[:, None], mask, 0)
    near = ~labeled & (reached.sum(axis=1) > 0)
    np.testing.assert_allclose(far[near], reached[near] / reached[near].sum(axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(far[labeled], mask[labeled])


@pytest.mark.parametrize("kind", ["exact", "partial"])
def test_the_maximum_principle(kind):
    """The value of a row that is not clamped or constrained is between the extremes of its neighbors."""
    W, mask = problem(kind)
    F = solve_harmonic(W, mask, **TIGHT).distributions
    dense = W.toarray()
    for i in np.flatnonzero(mask.all(axis=1)):
        near = F[dense[i] > 0]
        assert np.all(F[i] <= near.max(axis=0) + 1e-12)
        assert np.all(F[i] >= near.min(axis=0) - 1e-12)


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


def test_conjugate_gradients_reach_the_direct_solution():
    """On a graph large enough for iterations, the result is that of a factorization, to the tolerance."""
    W = grid(40)
    mask = np.ones((1600, 4), dtype=bool)
    corners = [0, 39, 1560, 1599]
    mask[corners] = np.eye(4, dtype=bool)
    exact = oracle.harmonic(W.toarray(), mask.sum(axis=1) == 1, mask)
    loose, tight = (solve_harmonic(W, mask, tol=tol) for tol in (1e-4, 1e-12))
    assert loose.converged
    assert loose.n_iter < tight.n_iter
    np.testing.assert_allclose(tight.distributions, exact, atol=1e-8)
    assert np.abs(loose.distributions - exact).max() < 1e-4
    assert not solve_harmonic(W, mask, max_iter=3).converged


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


@pytest.mark.parametrize("seed", [1, 4])
def test_many_classes_of_few_rows_ignore_classes_without_mass(seed):
    """With 30 classes and 40 rows, some lose all mass: class mass is that over the remaining classes."""
    rng = np.random.default_rng(seed)
    truth, is_labeled = rng.integers(30, size=40), rng.random(40) < 0.5
    mask = np.ones((40, 30), dtype=bool)
    mask[is_labeled] = rng.random((is_labeled.sum(), 30)) < 0.15
    mask[np.arange(40), truth] = True
    W = graph(rng.normal(size=(40, 3)))
    F = solve_harmonic(W, mask, tol=1e-15).distributions  # far below the mass that counts
    balanced, has_mass = balance_mass(F, mask, tol=1e-12), F[mask.all(axis=1)].sum(axis=0) > 1e-6
    labeled = ~mask.all(axis=1)
    q = (F[labeled].sum(axis=0) + 1.0) * has_mass
    proba = F[~labeled] * np.divide(q, F[~labeled].sum(axis=0), out=np.zeros(30), where=has_mass)
    np.testing.assert_allclose(balanced[~labeled], proba / proba.sum(axis=1, keepdims=True), atol=1e-6)


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


@pytest.mark.parametrize("size", [1e-280, 1e-3, 1e280])
def test_the_unit_of_the_weights_does_not_matter(size):
    """Weights, penalty and ridge scaled together do not change the distributions."""
    W, mask = problem("partial")
    options = {"label_penalty": 2.0, "ridge": 0.1}
    expected = solve_harmonic(W, mask, **options, **TIGHT).distributions
    scaled = {name: size * value for name, value in options.items()}
    np.testing.assert_allclose(solve_harmonic(size * W, mask, **scaled, **TIGHT).distributions, expected, atol=1e-9)


def test_a_class_without_label_has_probability_zero():
    """A class without a label has probability 0, with and without class mass, at any distance from the labels."""
    X = np.concatenate([np.linspace(0, 1, 40), np.linspace(9, 10, 40)])[:, None]
    W = graph(X) + sp.csr_array(([1e-9, 1e-9], ([39, 40], [40, 39])), shape=(80, 80))
    mask = np.ones((80, 3), dtype=bool)
    mask[[0, 30]] = np.eye(3, dtype=bool)[:2]
    F = solve_harmonic(W, mask).distributions
    assert (F[mask.all(axis=1), 2] == 0).all()
    assert (balance_mass(F, mask)[:, 2] == 0).all()


def test_a_row_of_nearly_equal_weights_is_nearly_unlabeled():
    """For harmonic functions the result is continuous at equal weights."""
    W, mask = problem("exact")
    near = mask.astype(float)
    near[np.flatnonzero(mask.all(axis=1))[::2], 0] = 1 - 1e-9
    solution = solve_harmonic(W, near, **TIGHT)
    assert solution.converged
    expected = solve_harmonic(W, mask, **TIGHT).distributions
    np.testing.assert_allclose(solution.distributions, expected, rtol=0, atol=1e-6)


def test_a_weak_component_converges_with_weights():
    """Two rows that are connected strongly to each other and weakly to labels converge to the fixed point of sweeps."""
    W = np.zeros((4, 4))
    for i, j, weight in ((0, 1, 1e-2), (1, 2, 1.0), (2, 3, 2e-2)):
        W[i, j] = W[j, i] = weight
    weights = np.array([[1, 0, 0], [0.9, 1, 0.8], [1, 0.95, 0.7], [0, 1.0, 0]])
    solution = solve_harmonic(sp.csr_array(W), weights, tol=1e-11)
    assert solution.converged
    assert solution.n_iter < 2000
    np.testing.assert_allclose(solution.distributions, oracle.sweep_harmonic(W, weights, 6000), rtol=0, atol=1e-8)
