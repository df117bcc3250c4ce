"""The harmonic field: its definition, its principle, its limits."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion import balance_mass, solve_harmonic
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import blocks, graph, grid, problem

TIGHT = {"tol": 1e-13, "max_iter": 20_000}


@pytest.mark.parametrize("seed", range(4))
def test_clamped_shares_are_those_of_the_paper(seed):
    """With exact labels F_U is L_UU^-1 W_UL Y_L, and labeled rows keep their labels."""
    W, mask = problem(seed=seed)
    labeled = mask.sum(axis=1) == 1
    found = solve_harmonic(W, mask)
    np.testing.assert_allclose(found.distributions, oracle.harmonic(W.toarray(), labeled, mask), atol=1e-10)
    assert found.converged
    assert not len(found.unreached)


@pytest.mark.parametrize(("penalty", "ridge"), [(0.3, 0.0), (2.0, 0.05), (1e-3, 1.0)])
def test_soft_shares_minimize_their_criterion(penalty, ridge):
    """Scaled to sum 1, the shares are those of the normal equations, and every move away from these costs."""
    W, mask = problem()
    labeled, Y = mask.sum(axis=1) == 1, mask.astype(float)
    F = oracle.soft_harmonic(W.toarray(), labeled, Y, penalty, ridge)
    found = solve_harmonic(W, mask, label_penalty=penalty, ridge=ridge).distributions
    np.testing.assert_allclose(found, F / F.sum(axis=1, keepdims=True), atol=1e-10)
    least = oracle.criterion(W.toarray(), labeled, Y, penalty, ridge, F)
    random = np.random.default_rng(0)
    for _ in range(5):
        moved = F + 1e-3 * random.normal(size=F.shape)
        assert oracle.criterion(W.toarray(), labeled, Y, penalty, ridge, moved) > least


def test_a_large_penalty_clamps():
    """As the penalty grows the soft criterion becomes the hard one."""
    W, mask = problem()
    hard = solve_harmonic(W, mask).distributions
    for penalty, within in ((1e3, 1e-2), (1e6, 1e-5)):
        assert np.abs(solve_harmonic(W, mask, label_penalty=penalty).distributions - hard).max() < within


def test_a_ridge_leaves_class_mass_alone():
    """Far from the labels rows keep the shares of the little that reaches them, and no class gets mass for nothing."""
    W, mask = problem()
    labeled = mask.sum(axis=1) == 1
    far = solve_harmonic(W, mask, ridge=1e9).distributions
    reached = W.toarray() @ np.where(labeled[:, None], mask, 0)
    near = ~labeled & (reached.sum(axis=1) > 0)
    np.testing.assert_allclose(far[near], reached[near] / reached[near].sum(axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(far[labeled], mask[labeled])


@pytest.mark.parametrize("kind", ["exact", "partial"])
def test_the_maximum_principle(kind):
    """A row that is neither clamped nor cut to a set lies between the least and the largest of its neighbors."""
    W, mask = problem(kind)
    F = solve_harmonic(W, mask, **TIGHT).distributions
    dense = W.toarray()
    for i in np.flatnonzero(mask.all(axis=1)):
        near = F[dense[i] > 0]
        assert np.all(F[i] <= near.max(axis=0) + 1e-12)
        assert np.all(F[i] >= near.min(axis=0) - 1e-12)


@pytest.mark.parametrize("options", [{}, {"label_penalty": 0.5}, {"label_penalty": 0.5, "ridge": 0.1}, {"ridge": 0.2}])
@pytest.mark.parametrize("seed", range(2))
def test_rows_with_sets_rest_where_plain_sweeps_rest(seed, options):
    """With several candidates in some rows the literal sweeps, many of them, end at the same shares."""
    W, mask = problem("partial", n=30, seed=seed)
    found = solve_harmonic(W, mask, **options, **TIGHT)
    renamed = {"c": options.get("label_penalty"), "ridge": options.get("ridge", 0.0)}
    np.testing.assert_allclose(
        found.distributions, oracle.sweep_harmonic(W.toarray(), mask, 1500, **renamed), atol=1e-8
    )
    assert found.converged
    sizes = mask.sum(axis=1)
    assert not found.distributions[~mask & (sizes > 1)[:, None]].any()
    np.testing.assert_allclose(found.distributions.sum(axis=1), 1)


def test_conjugate_gradients_reach_the_direct_solution():
    """Large enough to iterate, the shares are those of one factorization, to the tolerance that was asked for."""
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


def test_parts_without_a_label_have_equal_shares_and_are_named():
    """Components and single rows that no label reaches are uniform, reported, and change nothing elsewhere."""
    first, lonely = problem(), (graph(np.random.default_rng(3).normal(size=(7, 2))), np.ones((7, 3), dtype=bool))
    W, mask = blocks(lonely, first, (sp.csr_array((1, 1)), np.ones((1, 3), dtype=bool)))
    found = solve_harmonic(W, mask)
    np.testing.assert_array_equal(found.unreached, [*range(7), 67])
    np.testing.assert_allclose(found.distributions[found.unreached], 1 / 3)
    np.testing.assert_allclose(found.distributions[7:67], solve_harmonic(*first).distributions, atol=1e-12)


def test_a_row_with_candidates_alone_keeps_them_equally():
    """An isolated row of several candidates has them in equal shares, and an isolated exact row its label."""
    mask = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    W = sp.csr_array(np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], dtype=float))
    expected = [[0.5, 0.5, 0], [1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]]
    for options in ({}, {"label_penalty": 1.0}, {"ridge": 0.03}):
        np.testing.assert_allclose(solve_harmonic(W, mask, **options).distributions, expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["exact", "partial"])
def test_rows_and_classes_have_no_order(kind):
    """Permuting rows or classes permutes the shares."""
    W, mask = problem(kind)
    F = solve_harmonic(W, mask, **TIGHT).distributions
    rows, classes = np.random.default_rng(0).permutation(60), [2, 0, 1]
    shuffled = solve_harmonic(W[rows][:, rows], mask[rows][:, classes], **TIGHT).distributions
    np.testing.assert_allclose(shuffled, F[rows][:, classes], atol=1e-9)


def test_class_mass_is_the_formula_of_the_paper():
    """Each class is scaled to its part of the exact rows; exact rows stay, and a class without mass is no NaN."""
    W, mask = problem()
    F = solve_harmonic(W, mask).distributions
    balanced = balance_mass(F, mask)
    np.testing.assert_allclose(balanced, oracle.class_mass(F, mask), atol=1e-12)
    exact = mask.sum(axis=1) == 1
    np.testing.assert_array_equal(balanced[exact], F[exact])
    wide = np.column_stack([mask, mask.all(axis=1)])
    empty = balance_mass(np.column_stack([F, 0 * F[:, 0]]), wide)
    assert np.isfinite(empty).all()
    np.testing.assert_allclose(empty[:, :3], balanced)


@pytest.mark.parametrize("left", [1e-9, 1e-189, 1e-310, 5e-324])
def test_class_mass_raises_no_class_that_died_out(left):
    """Of a class that sweeps leave ever less of, what is left at their end is not scaled to what it never had."""
    W, mask = problem()
    F = solve_harmonic(W, mask).distributions
    wide = np.column_stack([mask, mask.all(axis=1)])
    dying = balance_mass(np.column_stack([F, np.full(len(F), left)]), wide)
    np.testing.assert_allclose(dying, np.column_stack([balance_mass(F, mask), np.zeros(len(F))]), atol=2e-9)


@pytest.mark.parametrize("seed", [1, 4])
def test_many_classes_of_few_rows_are_not_all_one(seed):
    """Sets in which classes die out, of 30 classes and 40 rows: class mass is that over the classes that live."""
    random = np.random.default_rng(seed)
    truth, known = random.integers(30, size=40), random.random(40) < 0.5
    mask = np.ones((40, 30), dtype=bool)
    mask[known] = random.random((known.sum(), 30)) < 0.15
    mask[np.arange(40), truth] = True
    W = graph(random.normal(size=(40, 3)))
    F = solve_harmonic(W, mask, tol=1e-12).distributions
    balanced, living = balance_mass(F, mask, tol=1e-12), F[mask.all(axis=1)].sum(axis=0) > 1e-6
    told = ~mask.all(axis=1)
    q = (F[told].sum(axis=0) + 1.0) * living
    shares = F[~told] * np.divide(q, F[~told].sum(axis=0), out=np.zeros(30), where=living)
    np.testing.assert_allclose(balanced[~told], shares / shares.sum(axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("options", [{"label_penalty": 0.3}, {"label_penalty": 0.3, "ridge": 0.5}])
def test_class_mass_counts_exact_rows(options):
    """A class has one for each of its exact rows, also where a penalty in place of clamping moves their shares."""
    W, mask = problem("partial")
    F = solve_harmonic(W, mask, **options).distributions
    exact, full = mask.sum(axis=1) == 1, mask.all(axis=1)
    assert np.abs(F[exact] - mask[exact]).max() > 0.1
    q = mask[exact].sum(axis=0) + F[~exact & ~full].sum(axis=0) + 1.0
    shares = F[full] * q / F[full].sum(axis=0)
    balanced = balance_mass(F, mask)
    np.testing.assert_allclose(balanced[full], shares / shares.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(balanced[~full], F[~full])


def test_long_chains_are_no_end_of_iterations_too_early():
    """Between two labels at the ends of a chain of 3,000 rows, where sweeps hardly move, shares are a straight line."""
    n = 3000
    W = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    mask = np.ones((n, 2), dtype=bool)
    mask[[0, -1]] = np.eye(2, dtype=bool)
    found = solve_harmonic(W, mask, max_iter=5000)
    assert found.converged
    np.testing.assert_allclose(found.distributions[:, 1], np.linspace(0, 1, n), atol=1e-5)
    assert not solve_harmonic(W, mask, max_iter=1000).converged


@pytest.mark.parametrize("size", [1e-6, 1e-12, 1e-25, 1e-200])
def test_rows_that_hang_on_one_row_have_its_shares(size):
    """However faint the only link to the rest is, a walk that takes long enough goes on from where it leads."""
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
def test_the_unit_of_the_weights_is_immaterial(size):
    """Weights, penalty and ridge scaled together leave the shares."""
    W, mask = problem("partial")
    options = {"label_penalty": 2.0, "ridge": 0.1}
    expected = solve_harmonic(W, mask, **options, **TIGHT).distributions
    scaled = {name: size * value for name, value in options.items()}
    np.testing.assert_allclose(solve_harmonic(size * W, mask, **scaled, **TIGHT).distributions, expected, atol=1e-9)


def test_a_class_that_no_label_speaks_for_has_no_row():
    """Neither the shares nor class mass give it any, be its rows ever so far from the labels."""
    X = np.concatenate([np.linspace(0, 1, 40), np.linspace(9, 10, 40)])[:, None]
    W = graph(X) + sp.csr_array(([1e-9, 1e-9], ([39, 40], [40, 39])), shape=(80, 80))
    mask = np.ones((80, 3), dtype=bool)
    mask[[0, 30]] = np.eye(3, dtype=bool)[:2]
    F = solve_harmonic(W, mask).distributions
    assert (F[mask.all(axis=1), 2] == 0).all()
    assert (balance_mass(F, mask)[:, 2] == 0).all()


def test_class_mass_is_of_rows_that_nothing_else_speaks_of():
    """Rows with sets keep their shares and are counted among the told; rows that no label reaches stay uniform."""
    lonely = (graph(np.random.default_rng(3).normal(size=(7, 2))), np.ones((7, 3), dtype=bool))
    W, mask = blocks(problem("partial"), lonely)
    found = solve_harmonic(W, mask)
    F, told = found.distributions, ~mask.all(axis=1)
    balanced = balance_mass(F, mask, found.unreached)
    np.testing.assert_array_equal(balanced[told], F[told])
    np.testing.assert_allclose(balanced[found.unreached], 1 / 3)
    part = F[told].sum(axis=0) + 1
    free = np.flatnonzero(~told)[: -len(found.unreached)]
    ratio = balanced[free] / (F[free] * part / F[free].sum(axis=0))
    np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones(3), rtol=1e-9)
