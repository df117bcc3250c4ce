"""Transduction by its definition, minimizers on spheres, and the spectrum of graphs."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers import transducer
from oneof.solvers.transducer import (
    Spectrum,
    SpherePoint,
    graph_components,
    minimize_on_constrained_sphere,
    minimize_on_sphere,
    nearest_distributions,
    smallest_eigenvectors,
    solve_transduction,
)
from tests.oracles import transducer as oracle
from tests.weights import draw_weights


def graph(n=40, seed=0, density=0.3, n_components=1):
    """Return a random affinity with some components; a ring connects the rows of each."""
    rng = np.random.default_rng(seed)
    W = np.where(rng.random((n, n)) < density, rng.random((n, n)), 0.0)
    component = np.arange(n) % n_components
    W[component[:, None] != component] = 0.0
    for i in range(n - n_components):
        W[i, i + n_components] = 0.5 + rng.random()
    W = np.triu(W, 1)
    return sp.csr_array(W + W.T)


def known(n, K=2, n_known=8, seed=0):
    """Return candidate sets with some exact rows, every class among them, and all others full."""
    rng = np.random.default_rng(seed)
    mask = np.ones((n, K), dtype=bool)
    rows = rng.choice(n, n_known, replace=False)
    mask[rows] = np.eye(K, dtype=bool)[np.arange(n_known) % K]
    return mask


@pytest.mark.parametrize("d", [5, 38, 80])
@pytest.mark.parametrize("c", [1.0, 3200.0])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_those_of_the_paper(d, c, seed):
    """Scores are the z of the published algorithm on the scale of its targets, with its threshold."""
    W, mask = graph(seed=seed), known(40, seed=seed)
    labels = np.where(mask.all(axis=1), 0, np.where(mask[:, 1], 1, -1))
    z, threshold = oracle.scores(W.toarray(), labels, d, c)
    solution = solve_transduction(W, mask, n_eigenvectors=d, C=c)
    gamma = np.sqrt((labels < 0).sum() / (labels > 0).sum())
    np.testing.assert_allclose(solution.relative_scores[:, 1] * (gamma + 1 / gamma) - 1 / gamma, z, atol=1e-5)
    labeled = labels != 0
    np.testing.assert_array_equal((solution.distributions[:, 1] > 0.5)[~labeled], (z > threshold)[~labeled])
    np.testing.assert_array_equal(solution.distributions[labeled], mask[labeled])
    assert len(solution.unreachable) == 0


@pytest.mark.parametrize("K", [3, 5])
def test_more_classes_are_one_against_the_others(K):
    """The relative score of a class is that of the two-class problem in which all others are one class."""
    W, mask = graph(), known(40, K, n_known=3 * K)
    solution = solve_transduction(W, mask, n_eigenvectors=20)
    for k in range(K):
        pair = np.column_stack([np.delete(mask, k, axis=1).any(axis=1), mask[:, k]])
        alone = solve_transduction(W, pair, n_eigenvectors=20)
        np.testing.assert_allclose(solution.relative_scores[:, k], alone.relative_scores[:, 1], atol=1e-9)
    inside = np.where(mask, solution.relative_scores, -np.inf)
    np.testing.assert_array_equal(solution.distributions.argmax(axis=1), inside.argmax(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_distribution_by_weights_is_a_minimum(seed):
    """It minimizes sum_k (p_k - w_k s_k)^2 / w_k among distributions, with the optimality conditions at 1e-10."""
    rng = np.random.default_rng(seed)
    mask = rng.random((50, 6)) < 0.6
    mask[:, 0] = True
    weights, scores = draw_weights(mask, seed), rng.normal(0.3, 0.7, (50, 6))
    P = nearest_distributions(scores, weights)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    for p, w, s in zip(P, weights, scores, strict=True):
        assert not p[w == 0].any()
        tau = (s - np.divide(p, w, out=np.zeros(6), where=w > 0))[p > 0]  # the multiplier of the sum
        np.testing.assert_allclose(tau, tau[0], rtol=0, atol=1e-10)
        assert (s[(p == 0) & (w > 0)] <= tau[0] + 1e-10).all()
    ones = nearest_distributions(scores, mask.astype(float))
    np.testing.assert_allclose(ones, nearest_distributions(scores, mask), rtol=0, atol=1e-12)
    near = np.where(mask, 1.0, 1e-9)
    np.testing.assert_allclose(nearest_distributions(scores, near), ones, rtol=0, atol=1e-8)
    pair = np.array([[0.3, 0.7], [-0.4, 1.4]])
    np.testing.assert_allclose(nearest_distributions(pair * 1e300, np.ones((2, 2), bool)), [[0, 1], [0, 1]])


def literal_iteration(W, members, labeled, k, d, c):
    """Return (z - gamma_-) / (gamma_+ - gamma_-) with every row twice, once as the class and once as another."""
    V = oracle.eigenvectors(W, d)
    n, d = V.shape
    rows = np.concatenate([np.flatnonzero(labeled)] * 2)
    weight = np.concatenate([members[labeled, k], 1 - members[labeled, k]])
    l_pos, l_neg = members[labeled, k].sum(), (1 - members[labeled, k]).sum()
    high, low = np.sqrt(l_neg / l_pos), -np.sqrt(l_pos / l_neg)
    gamma = np.repeat([high, low], labeled.sum())
    C = np.diag(weight * (l_pos + l_neg) / 2 / np.repeat([l_pos, l_neg], labeled.sum()))
    D = np.diag(np.arange(1.0, d + 1) ** 2)
    w = oracle.minimizer(D + c * V[rows].T @ C @ V[rows], c * V[rows].T @ C @ gamma, n)
    return (V @ w - low) / (high - low)


def partly_known(n=40, K=4, seed=0):
    """Return some exact sets, some of two or three candidates, and mostly full sets."""
    mask = known(n, K, n_known=4 * K, seed=seed)
    rows = np.flatnonzero(~mask.all(axis=1))
    mask[rows[::2], (mask[rows[::2]].argmax(axis=1) + 1) % K] = True
    mask[rows[::4], (mask[rows[::4]].argmax(axis=1) + 2) % K] = True
    mask[rows[:2]] = np.eye(K, dtype=bool)[:2]
    return mask


@pytest.mark.parametrize("is_weighted", [False, True], ids=["sets", "weights"])
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_a_row_with_several_candidates_counts_for_and_against_each(max_iter, is_weighted):
    """Rows count by their shares of the weights in the first iteration, and then by those of the previous one."""
    W, mask = graph(), partly_known()
    evidence = draw_weights(mask) if is_weighted else mask
    labeled = ~(evidence == 1).all(axis=1)
    members = evidence / evidence.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        proba = np.column_stack([literal_iteration(W.toarray(), members, labeled, k, 15, 3200.0) for k in range(4)])
        members = nearest_distributions(proba, evidence)
    solution = solve_transduction(W, evidence, n_eigenvectors=15, max_iter=max_iter, tol=0.0)
    np.testing.assert_allclose(solution.relative_scores, proba, atol=1e-6)
    np.testing.assert_allclose(solution.distributions, members, atol=1e-6)
    assert solution.n_iter == max_iter


def test_iterations_stop_when_changes_are_below_the_tolerance():
    """A loose tolerance takes fewer iterations; one more iteration changes no value by more than the tolerance."""
    W, mask = graph(), partly_known()
    loose, tight = (solve_transduction(W, mask, n_eigenvectors=15, max_iter=500, tol=tol) for tol in (0.1, 1e-6))
    assert loose.n_iter < tight.n_iter < 500
    assert tight.converged
    further = solve_transduction(W, mask, n_eigenvectors=15, max_iter=tight.n_iter + 1, tol=0.0)
    assert np.abs(further.distributions - tight.distributions)[~mask.all(axis=1)].max() <= 1e-6


def test_classes_in_no_set_or_in_all_sets_have_constant_scores():
    """A class in no labeled set has relative score 0, a class in all labeled sets 1; none is NaN."""
    W = graph()
    mask = np.ones((40, 3), dtype=bool)
    mask[:4] = [True, False, False]
    solution = solve_transduction(W, mask)
    np.testing.assert_array_equal(solution.relative_scores, np.tile([1.0, 0.0, 0.0], (40, 1)))
    mask[4:8] = [True, True, False]
    solution = solve_transduction(W, mask)
    np.testing.assert_array_equal(solution.relative_scores[:, 2], 0.0)
    assert np.isfinite(solution.distributions).all()
    two = np.ones((40, 2), dtype=bool)
    two[0] = [True, False]
    np.testing.assert_array_equal(solve_transduction(W, two).distributions, np.tile([1.0, 0.0], (40, 1)))


def test_isolated_rows_keep_their_sets():
    """A labeled row without edges does not affect others: it is uniform over its set, and nothing is NaN."""
    W, mask = graph(40), known(40, 3, n_known=9)
    both = sp.csr_array(sp.block_diag([W, sp.csr_array((2, 2))], format="csr"))
    wide = np.vstack([mask, [[True, True, False], [True, False, False]]])
    solution = solve_transduction(both, wide)
    np.testing.assert_allclose(solution.distributions[40:], [[0.5, 0.5, 0], [1, 0, 0]])
    np.testing.assert_allclose(solution.distributions[:40], solve_transduction(W, mask).distributions, atol=1e-9)
    without_edges = solve_transduction(sp.csr_array((42, 42)), wide)
    np.testing.assert_allclose(without_edges.distributions, wide / wide.sum(axis=1, keepdims=True))


def test_several_labeled_components_do_not_depend_on_the_basis_of_their_indicators():
    """With eigenvalue 0 several times, permuting the rows permutes the distributions."""
    W, mask = graph(60, n_components=4), known(60, 3, n_known=24)
    order = np.random.default_rng(3).permutation(60)
    solution = solve_transduction(W, mask, n_eigenvectors=20)
    permuted = solve_transduction(sp.csr_array(W[order][:, order]), mask[order], n_eigenvectors=20)
    np.testing.assert_allclose(permuted.distributions, solution.distributions[order], atol=1e-7)


def quadratic(d=12, seed=0, spread=100.0):
    """Return a symmetric G and a b."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    G = Q @ np.diag(rng.random(d) * spread) @ Q.T
    return (G + G.T) / 2, rng.normal(size=d) * spread


def optimal(G, b, r, solution, tol=1e-12):
    """Assert the necessary and sufficient conditions of a minimizer: length, stationarity, curvature."""
    values = np.linalg.eigvalsh(G)
    scale = np.abs(values).max() * np.sqrt(r) + np.linalg.norm(b)
    assert solution.w @ solution.w == pytest.approx(r, rel=1e-12)
    np.testing.assert_allclose(G @ solution.w - solution.multiplier * solution.w, b, atol=tol * scale)
    assert solution.multiplier <= values[0] + 1e-13 * np.abs(values).max()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
def test_minimizer_meets_the_conditions_of_optimality(seed, r):
    """||w||^2 = r, (G - lam I) w = b, and G - lam I has no negative eigenvalue."""
    G, b = quadratic(seed=seed)
    solution = minimize_on_sphere(G, b, r)
    optimal(G, b, r, solution)


@pytest.mark.parametrize("multiplicity", [1, 2])
@pytest.mark.parametrize("rotated", [False, True])
def test_the_hard_case(multiplicity, rotated):
    """If b has no component along the lowest eigenvectors and the solution is too short, these add the length."""
    d = 6
    values = np.array([1.0] * multiplicity + list(np.arange(2.0, 2.0 + d - multiplicity)))
    b = np.where(np.arange(d) < multiplicity, 0.0, 0.3)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0] if rotated else np.eye(d)
    G = Q @ np.diag(values) @ Q.T
    solution = minimize_on_sphere((G + G.T) / 2, Q @ b, 10.0)
    assert solution.multiplier == pytest.approx(1.0)
    optimal(G, Q @ b, 10.0, solution)
    # A length that the other eigenvectors suffice for is not a hard case.
    short = minimize_on_sphere((G + G.T) / 2, Q @ b, 0.01)
    assert short.multiplier < 0
    optimal(G, Q @ b, 0.01, short)


@pytest.mark.parametrize("component", [1e-3, 1e-6, 1e-9, 1e-12])
def test_close_to_the_hard_case(component):
    """However small the component of b along the lowest eigenvector, the minimizer is on its side of the sphere."""
    G, b = np.diag([1.0, 2.0, 3.0]), np.array([-component, 0.3, 0.3])
    solution = minimize_on_sphere(G, b, 10.0)
    optimal(G, b, 10.0, solution)
    assert solution.w[0] < -3


def optimal_in_plane(g, b, a, r, solution, tol=1e-12):
    """Assert that x is in the plane, and satisfies the optimality conditions in a basis of it."""
    a = a / np.linalg.norm(a)
    assert a @ solution.w == pytest.approx(0.0, abs=1e-13 * np.sqrt(r))
    Q = scipy.linalg.null_space(a[None])
    optimal(Q.T @ (g[:, None] * Q), Q.T @ b, r, SpherePoint(Q.T @ solution.w, solution.multiplier), tol)


@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("m", [2, 3, 30])
@pytest.mark.parametrize("n_values", [1, 2, 3, None])
def test_minimizer_in_the_plane_is_that_of_the_sphere_within_it(m, n_values, r):
    """With few different values, or all different, it equals the minimizer in a basis of the plane."""
    rng = np.random.default_rng(0)
    g = rng.random(m) * 10 if n_values is None else rng.integers(1, n_values + 1, m).astype(float)
    b, a = rng.normal(size=m), rng.random(m) + 0.1
    solution = minimize_on_constrained_sphere(g, b, a, r)
    optimal_in_plane(g, b, a, r, solution)
    Q = scipy.linalg.null_space(a[None])
    expected = Q @ minimize_on_sphere(Q.T @ (g[:, None] * Q), Q.T @ b, r).w
    np.testing.assert_allclose(solution.w, expected, atol=1e-9 * np.sqrt(r))


@pytest.mark.parametrize("component", [0.0, 1e-14, 1e-12, 1e-6])
@pytest.mark.parametrize("n_tied", [1, 2, 3])
def test_the_hard_case_in_the_plane(n_tied, component):
    """However small the component of b along the lowest direction of the plane, the conditions hold."""
    g = np.concatenate([np.ones(n_tied), np.arange(2.0, 6.0)])
    a = np.random.default_rng(1).random(len(g)) + 0.5
    Q = scipy.linalg.null_space(a[None])
    values, rotation = np.linalg.eigh(Q.T @ (g[:, None] * Q))
    b = Q @ rotation @ np.where(values < values[0] + 1e-9, component, 0.3)
    for r in (1e-4, 10.0):
        optimal_in_plane(g, b, a, r, minimize_on_constrained_sphere(g, b, a, r), tol=1e-7)


def test_values_and_normals_of_any_size_in_the_plane():
    """If the normal is almost along one coordinate, or values differ by orders, the point is in the plane."""
    for a in ([1e-300, 1.0, 1e300], [1e300, 1.0, 1e-300], [1.0, 1e-12, 1.0]):
        for g in ([0.0, 1.0, 2.0], [1e-9, 1e9, 1.0], [2.0, 2.0, 2.0 + 1e-9]):
            for b in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
                solution = minimize_on_constrained_sphere(np.array(g), np.array(b), np.array(a), 3.0)
                assert solution.w @ solution.w == pytest.approx(3.0)
                assert np.array(a) / max(a) @ solution.w == pytest.approx(0.0, abs=1e-12)


def test_the_point_does_not_depend_on_units():
    """Powers of two change no digit of the point, even if squares of the numbers would overflow."""
    rng = np.random.default_rng(0)
    G, b = rng.normal(size=(6, 6)), rng.normal(size=6)
    G = G + G.T
    solution = minimize_on_sphere(G, b, 4.0)
    for unit in (2.0**-40, 2.0**700, 2.0**1000):
        scaled = minimize_on_sphere(G * unit, b * unit, 4.0)
        np.testing.assert_array_equal(scaled.w, solution.w)
        assert scaled.multiplier == solution.multiplier * unit


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("n_components", [1, 3])
def test_eigenvectors_are_those_of_the_laplacian(monkeypatch, n_components, dense):
    """Columns are orthonormal eigenvectors with the lowest eigenvalues except the first, orthogonal to D^1/2 1."""
    monkeypatch.setattr(transducer, "MAX_DENSE_ROWS", 500 if dense else 0)
    W = graph(200, density=0.05, n_components=n_components)
    solution = smallest_eigenvectors(W, 20)
    root = np.sqrt(W.sum(axis=1))
    L = np.eye(200) - W.toarray() / root[:, None] / root
    V = solution.vectors
    np.testing.assert_array_equal(smallest_eigenvectors(W, 20).vectors, V)
    np.testing.assert_allclose(V.T @ V, np.eye(20), atol=1e-10)
    np.testing.assert_allclose(root @ V, 0, atol=1e-9)
    np.testing.assert_allclose(L @ V, V * solution.values, atol=1e-9)
    np.testing.assert_allclose(solution.values, np.linalg.eigvalsh(L)[1:21], atol=1e-10)
    assert (solution.values[: n_components - 1] < 1e-12).all()
    assert solution.values[n_components - 1] > 1e-3


@pytest.mark.parametrize("n_vectors", [1, 7])
def test_more_components_than_eigenvectors_are_all_used(n_vectors):
    """All eigenvectors with eigenvalue 0 count, and the scores do not depend on the basis of their space."""
    W = graph(40, n_components=8)
    solution = smallest_eigenvectors(W, n_vectors)
    assert len(solution) == 8
    root = np.sqrt(W.sum(axis=1))
    indicators = np.eye(8)[np.arange(40) % 8] * root[:, None]
    basis = scipy.linalg.null_space(np.vstack([root, scipy.linalg.null_space(indicators.T).T]))
    dense = Spectrum(basis, np.zeros(7))
    rng = np.random.default_rng(0)
    for weights in (np.where(rng.random(40) < 0.7, rng.random(40), 0.0), (np.arange(40) < 16) * 1.0):
        shift = weights * rng.normal(size=40)
        np.testing.assert_allclose(solution.scores(weights, shift), dense.scores(weights, shift), atol=1e-8)


def test_thousands_of_components_need_no_dense_basis():
    """In a graph of 60,000 pairs, each with a label, both rows of a pair get its label."""
    n = 120_000
    rng = np.random.default_rng(0)
    W = sp.csr_array(sp.diags_array([np.where(np.arange(n - 1) % 2, 0.0, 1 + rng.random(n - 1))], offsets=[1]))
    W = sp.csr_array(W + W.T)
    W.eliminate_zeros()
    label = rng.integers(0, 3, n // 2)
    mask = np.ones((n, 3), dtype=bool)
    mask[::2] = np.eye(3, dtype=bool)[label]
    solution = solve_transduction(W, mask)
    np.testing.assert_array_equal(solution.distributions.argmax(axis=1), np.repeat(label, 2))


def test_components_are_accurate_for_weights_of_any_size():
    """Indicators have length 1 and no overlap for extremely small and extremely large weights."""
    W = sp.csr_array(sp.block_diag([graph(6) * 1e-300, graph(5), graph(4) * 1e300], format="csr"))
    solution = graph_components(W)
    np.testing.assert_allclose((solution.indicators.T @ solution.indicators).toarray(), np.eye(3), atol=1e-14)
    assert (solution.constant >= 0).all()
    weights = (np.arange(15) % 3 == 0) * 1.0
    assert np.isfinite(solution.scores(weights, weights * (1.0 - np.arange(15) % 2))).all()


def test_eigenvectors_that_exceed_the_memory_raise():
    """For a large graph, a third of all eigenvectors or more would take dense arrays of n x n."""
    ring = sp.diags_array([1.0], offsets=[1], shape=(10**6, 10**6))
    with pytest.raises(InputError, match=r"500000 eigenvectors of a graph of 1000000 rows .*. Lower n_eigenvectors"):
        smallest_eigenvectors(sp.csr_array(ring + ring.T), 500_000)


def test_equal_eigenvalues_have_the_lowest_of_their_ranks():
    """Ranks are 1, 2, 3, ... if eigenvalues differ, and shared if the basis of their space is arbitrary."""
    vectors = np.zeros((9, 6))
    assert Spectrum(vectors, np.arange(6.0)).ranks().tolist() == [1, 2, 3, 4, 5, 6]
    assert Spectrum(vectors, np.array([0, 0, 0.2, 0.5, 0.5 + 1e-12, 0.7])).ranks().tolist() == [1, 1, 3, 4, 4, 6]
