"""Spectral graph transduction against its definition: eigenvectors, the sphere, classes, sets."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.transducer import spectrum as spectra
from oneof.solvers.transducer import transduce
from oneof.solvers.transducer.parts import parts
from oneof.solvers.transducer.plane import minimise_in_plane
from oneof.solvers.transducer.spectrum import Spectrum, smoothest
from oneof.solvers.transducer.sphere import SpherePoint, minimise_on_sphere
from oneof.solvers.transducer.transduction import nearest_distributions
from tests.oracles import transducer as oracle


def graph(n=40, seed=0, share=0.3, parts=1):
    """Return a random affinity of some components, each of which is connected through a ring."""
    random = np.random.default_rng(seed)
    W = np.where(random.random((n, n)) < share, random.random((n, n)), 0.0)
    part = np.arange(n) % parts
    W[part[:, None] != part] = 0.0
    for i in range(n - parts):
        W[i, i + parts] = 0.5 + random.random()
    W = np.triu(W, 1)
    return sp.csr_array(W + W.T)


def known(n, K=2, n_known=8, seed=0):
    """Return sets of which some are exact, every class among them, and all others full."""
    random = np.random.default_rng(seed)
    mask = np.ones((n, K), dtype=bool)
    rows = random.choice(n, n_known, replace=False)
    mask[rows] = np.eye(K, dtype=bool)[np.arange(n_known) % K]
    return mask


def quadratic(d=12, seed=0, spread=100.0):
    """Return a symmetric G and a b."""
    random = np.random.default_rng(seed)
    Q = np.linalg.qr(random.normal(size=(d, d)))[0]
    G = Q @ np.diag(random.random(d) * spread) @ Q.T
    return (G + G.T) / 2, random.normal(size=d) * spread


# -- the sphere ---------------------------------------------------------------------------------------------------


def optimal(G, b, r, found, tol=1e-12):
    """Assert the conditions that hold of a least point and of no other: length, stationarity, curvature."""
    values = np.linalg.eigvalsh(G)
    scale = np.abs(values).max() * np.sqrt(r) + np.linalg.norm(b)
    assert found.w @ found.w == pytest.approx(r, rel=1e-12)
    np.testing.assert_allclose(G @ found.w - found.multiplier * found.w, b, atol=tol * scale)
    assert found.multiplier <= values[0] + 1e-13 * np.abs(values).max()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
def test_minimiser_meets_the_conditions_of_optimality(seed, r):
    """||w||^2 = r, (G - lam I) w = b, and G - lam I has no negative eigenvalue."""
    G, b = quadratic(seed=seed)
    found = minimise_on_sphere(G, b, r)
    optimal(G, b, r, found)


@pytest.mark.parametrize("seed", range(5))
def test_multiplier_is_the_smallest_eigenvalue_of_the_doubled_matrix(seed):
    """The root of the secular equation is the eigenvalue that the paper names."""
    G, b = quadratic(seed=seed)
    r = float(b @ b) / 1e4
    found = minimise_on_sphere(G, b, r)
    assert found.multiplier == pytest.approx(oracle.multiplier(G, b, r), rel=1e-6)
    np.testing.assert_allclose(found.w, oracle.minimiser(G, b, r), rtol=1e-5, atol=1e-5 * np.sqrt(r))


@pytest.mark.parametrize("seed", range(3))
def test_no_point_of_the_sphere_is_better(seed):
    """Of many random points of the sphere, and many close to the minimiser, none has a lower value."""
    random = np.random.default_rng(seed)
    G, b = quadratic(4, seed=seed)
    r = 3.0
    w = minimise_on_sphere(G, b, r).w
    others = np.vstack([random.normal(size=(3000, 4)), w + 0.1 * random.normal(size=(3000, 4))])
    others *= np.sqrt(r) / np.linalg.norm(others, axis=1, keepdims=True)

    def value(points):
        return np.einsum("ij,jk,ik->i", points, G, points) - 2 * points @ b

    assert value(others).min() >= value(w[None])[0] - 1e-10


@pytest.mark.parametrize("multiplicity", [1, 2])
@pytest.mark.parametrize("rotated", [False, True])
def test_the_hard_case(multiplicity, rotated):
    """Where b has no part along the lowest eigenvectors and too short a solution, these fill its length."""
    d = 6
    values = np.array([1.0] * multiplicity + list(np.arange(2.0, 2.0 + d - multiplicity)))
    b = np.where(np.arange(d) < multiplicity, 0.0, 0.3)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0] if rotated else np.eye(d)
    G = Q @ np.diag(values) @ Q.T
    found = minimise_on_sphere((G + G.T) / 2, Q @ b, 10.0)
    assert found.multiplier == pytest.approx(1.0)
    optimal(G, Q @ b, 10.0, found)
    # A length that the other eigenvectors can fill makes the case an easy one.
    short = minimise_on_sphere((G + G.T) / 2, Q @ b, 0.01)
    assert short.multiplier < 0
    optimal(G, Q @ b, 0.01, short)


@pytest.mark.parametrize("part", [1e-3, 1e-6, 1e-9, 1e-12])
def test_close_to_the_hard_case(part):
    """However small the part of b along the lowest eigenvector, the point on its side of the sphere is found."""
    G, b = np.diag([1.0, 2.0, 3.0]), np.array([-part, 0.3, 0.3])
    found = minimise_on_sphere(G, b, 10.0)
    optimal(G, b, 10.0, found)
    assert found.w[0] < -3


# -- the plane ----------------------------------------------------------------------------------------------------


def optimal_in_plane(g, b, a, r, found, tol=1e-12):
    """Assert that x lies in the plane, and that in a basis of it the conditions of a least point hold."""
    a = a / np.linalg.norm(a)
    assert a @ found.w == pytest.approx(0.0, abs=1e-13 * np.sqrt(r))
    Q = scipy.linalg.null_space(a[None])
    optimal(Q.T @ (g[:, None] * Q), Q.T @ b, r, SpherePoint(Q.T @ found.w, found.multiplier), tol)


@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("m", [2, 3, 30])
@pytest.mark.parametrize("n_values", [1, 2, 3, None])
def test_minimiser_in_the_plane_is_that_of_the_sphere_within_it(m, n_values, r):
    """With few different values, or all different, the least point is that of the quadratic in a basis of the plane."""
    random = np.random.default_rng(0)
    g = random.random(m) * 10 if n_values is None else random.integers(1, n_values + 1, m).astype(float)
    b, a = random.normal(size=m), random.random(m) + 0.1
    found = minimise_in_plane(g, b, a, r)
    optimal_in_plane(g, b, a, r, found)
    Q = scipy.linalg.null_space(a[None])
    expected = Q @ minimise_on_sphere(Q.T @ (g[:, None] * Q), Q.T @ b, r).w
    np.testing.assert_allclose(found.w, expected, atol=1e-9 * np.sqrt(r))


@pytest.mark.parametrize("part", [0.0, 1e-14, 1e-12, 1e-6])
@pytest.mark.parametrize("n_tied", [1, 2, 3])
def test_the_hard_case_in_the_plane(n_tied, part):
    """However small the part of b along the least direction of the plane, the point has its length and is least."""
    g = np.concatenate([np.ones(n_tied), np.arange(2.0, 6.0)])
    a = np.random.default_rng(1).random(len(g)) + 0.5
    Q = scipy.linalg.null_space(a[None])
    values, turned = np.linalg.eigh(Q.T @ (g[:, None] * Q))
    b = Q @ turned @ np.where(values < values[0] + 1e-9, part, 0.3)
    for r in (1e-4, 10.0):
        optimal_in_plane(g, b, a, r, minimise_in_plane(g, b, a, r), tol=1e-7)


def test_values_and_normals_of_any_size_in_the_plane():
    """Where the normal is almost that of one coordinate, or values differ by orders, the point is in the plane."""
    for a in ([1e-300, 1.0, 1e300], [1e300, 1.0, 1e-300], [1.0, 1e-12, 1.0]):
        for g in ([0.0, 1.0, 2.0], [1e-9, 1e9, 1.0], [2.0, 2.0, 2.0 + 1e-9]):
            for b in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
                found = minimise_in_plane(np.array(g), np.array(b), np.array(a), 3.0)
                assert found.w @ found.w == pytest.approx(3.0)
                assert np.array(a) / max(a) @ found.w == pytest.approx(0.0, abs=1e-12)


# -- eigenvectors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("parts", [1, 3])
def test_eigenvectors_are_those_of_the_laplacian(monkeypatch, parts, dense):
    """Columns are orthonormal eigenvectors of the lowest eigenvalues but one, and orthogonal to D^1/2 1."""
    monkeypatch.setattr(spectra, "DENSE_ROWS", 500 if dense else 0)
    W = graph(200, share=0.05, parts=parts)
    found = smoothest(W, 20)
    root = np.sqrt(W.sum(axis=1))
    L = np.eye(200) - W.toarray() / root[:, None] / root
    V = found.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(20), atol=1e-10)
    np.testing.assert_allclose(root @ V, 0, atol=1e-9)
    np.testing.assert_allclose(L @ V, V * found.values, atol=1e-9)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(L)[1:21], atol=1e-10)
    assert (found.values[: parts - 1] < 1e-12).all()
    assert found.values[parts - 1] > 1e-3


def test_lanczos_is_reproducible_and_finds_what_the_dense_solver_finds(monkeypatch):
    """The same graph gives the same eigenvectors to the last bit; but for signs, both ways give the same."""
    W = graph(300, share=0.05)
    dense = smoothest(W, 10)
    monkeypatch.setattr(spectra, "DENSE_ROWS", 0)
    first, second = smoothest(W, 10), smoothest(W, 10)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    overlap = np.abs(np.einsum("ij,ij->j", first.vectors, dense.vectors))
    np.testing.assert_allclose(overlap, 1, atol=1e-9)


def test_there_are_no_more_eigenvectors_than_rows():
    """Asked for more, all but the constant one are given."""
    assert smoothest(graph(10), 80).vectors.shape == (10, 9)
    assert smoothest(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), 80).values.tolist() == [pytest.approx(2.0)]


@pytest.mark.parametrize("n_vectors", [1, 7])
def test_more_parts_than_eigenvectors_are_taken_whole(n_vectors):
    """Of eigenvectors of eigenvalue 0 all count, and the scores are those that any basis of their space gives."""
    W = graph(40, parts=8)
    found = smoothest(W, n_vectors)
    assert len(found) == 8
    root = np.sqrt(W.sum(axis=1))
    indicators = np.eye(8)[np.arange(40) % 8] * root[:, None]
    flat = scipy.linalg.null_space(np.vstack([root, scipy.linalg.null_space(indicators.T).T]))
    dense = Spectrum(flat, np.zeros(7))
    random = np.random.default_rng(0)
    for weights in (np.where(random.random(40) < 0.7, random.random(40), 0.0), (np.arange(40) < 16) * 1.0):
        pull = weights * random.normal(size=40)
        np.testing.assert_allclose(found.scores(weights, pull), dense.scores(weights, pull), atol=1e-8)


def test_thousands_of_parts_take_no_dense_basis():
    """A graph of 60,000 pairs, each with a label, takes the label of each pair for both of its rows."""
    n = 120_000
    random = np.random.default_rng(0)
    W = sp.csr_array(sp.diags_array([np.where(np.arange(n - 1) % 2, 0.0, 1 + random.random(n - 1))], offsets=[1]))
    W = sp.csr_array(W + W.T)
    W.eliminate_zeros()
    label = random.integers(0, 3, n // 2)
    mask = np.ones((n, 3), dtype=bool)
    mask[::2] = np.eye(3, dtype=bool)[label]
    found = transduce(W, mask)
    np.testing.assert_array_equal(found.distributions.argmax(axis=1), np.repeat(label, 2))


def test_parts_are_right_for_weights_of_any_size():
    """Indicators have length 1 and no overlap, where one part has the least weights that there are, one the largest."""
    W = sp.csr_array(sp.block_diag([graph(6) * 1e-300, graph(5), graph(4) * 1e300], format="csr"))
    found = parts(W)
    np.testing.assert_allclose((found.indicators.T @ found.indicators).toarray(), np.eye(3), atol=1e-14)
    assert (found.constant >= 0).all()
    weights = (np.arange(15) % 3 == 0) * 1.0
    assert np.isfinite(found.scores(weights, weights * (1.0 - np.arange(15) % 2))).all()


def test_eigenvectors_beyond_memory_are_refused():
    """Of a large graph, a third of all eigenvectors or more would take dense arrays of n x n, and is refused."""
    ring = sp.diags_array([1.0], offsets=[1], shape=(10**6, 10**6))
    with pytest.raises(InputError, match=r"500000 eigenvectors of a graph of 1000000 rows .*: lower n_eigenvectors"):
        smoothest(sp.csr_array(ring + ring.T), 500_000)


def test_equal_eigenvalues_have_the_lowest_of_their_ranks():
    """Ranks are 1, 2, 3, ... where eigenvalues differ, and shared where the basis of their space is arbitrary."""
    vectors = np.zeros((9, 6))
    assert Spectrum(vectors, np.arange(6.0)).ranks().tolist() == [1, 2, 3, 4, 5, 6]
    assert Spectrum(vectors, np.array([0, 0, 0.2, 0.5, 0.5 + 1e-12, 0.7])).ranks().tolist() == [1, 1, 3, 4, 4, 6]


# -- classes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [5, 38, 80])
@pytest.mark.parametrize("c", [1.0, 3200.0])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_those_of_the_paper(d, c, seed):
    """Scores are the z of the printed algorithm on the scale of its targets; the threshold is its threshold."""
    W, mask = graph(seed=seed), known(40, seed=seed)
    labels = np.where(mask.all(axis=1), 0, np.where(mask[:, 1], 1, -1))
    z, threshold, _ = oracle.scores(W.toarray(), labels, d, c)
    found = transduce(W, mask, n_eigenvectors=d, c=c)
    gamma = np.sqrt((labels < 0).sum() / (labels > 0).sum())
    np.testing.assert_allclose(found.shares[:, 1] * (gamma + 1 / gamma) - 1 / gamma, z, atol=1e-5)
    told = labels != 0
    np.testing.assert_array_equal((found.distributions[:, 1] > 0.5)[~told], (z > threshold)[~told])
    np.testing.assert_array_equal(found.distributions[told], mask[told])
    assert len(found.unreached) == 0


def test_no_feasible_score_is_better():
    """Random z = V w of length sqrt(n) have no lower z^T L z + c (z - gamma)^T C (z - gamma)."""
    W, mask = graph(), known(40)
    labels = np.where(mask.all(axis=1), 0, np.where(mask[:, 1], 1, -1))
    _, _, objective = oracle.scores(W.toarray(), labels, 5, 10.0)
    found = transduce(W, mask, n_eigenvectors=5, c=10.0)
    z = 2.0 * found.shares[:, 1] - 1.0  # as many rows of one class as of the other: targets are +1 and -1
    assert z @ z == pytest.approx(40)
    assert z @ np.sqrt(W.sum(axis=1)) == pytest.approx(0, abs=1e-9)
    random = np.random.default_rng(0)
    _, V = oracle.eigenvectors(W.toarray(), 5)
    w = V.T @ z
    np.testing.assert_allclose(V @ w, z, atol=1e-9)
    for other in np.vstack([random.normal(size=(500, 5)), w + 0.3 * random.normal(size=(500, 5))]):
        assert objective(V @ other * np.sqrt(40) / np.linalg.norm(other)) >= objective(z) - 1e-9


@pytest.mark.parametrize("K", [3, 5])
def test_more_classes_are_one_against_the_others(K):
    """The share of a class is that of the problem of two classes in which all others are one."""
    W, mask = graph(), known(40, K, n_known=3 * K)
    found = transduce(W, mask, n_eigenvectors=20)
    for k in range(K):
        pair = np.column_stack([np.delete(mask, k, axis=1).any(axis=1), mask[:, k]])
        alone = transduce(W, pair, n_eigenvectors=20)
        np.testing.assert_allclose(found.shares[:, k], alone.shares[:, 1], atol=1e-9)
    inside = np.where(mask, found.shares, -np.inf)
    np.testing.assert_array_equal(found.distributions.argmax(axis=1), inside.argmax(axis=1))


def test_classes_have_no_order():
    """Permuting the classes permutes shares and distributions, for two classes as for three."""
    for K, order in ((2, [1, 0]), (3, [2, 0, 1])):
        W, mask = graph(), known(40, K, n_known=9)
        mask[:5, 0] = True
        found, permuted = transduce(W, mask), transduce(W, mask[:, order])
        np.testing.assert_allclose(permuted.shares, found.shares[:, order], atol=1e-9)
        np.testing.assert_allclose(permuted.distributions, found.distributions[:, order], atol=1e-9)


# -- sets ---------------------------------------------------------------------------------------------------------


def test_distributions_are_the_nearest_to_the_shares():
    """They are at least 0, 0 outside the set, sum to 1, keep the order of the shares, and no other is nearer."""
    random = np.random.default_rng(0)
    shares = random.normal(size=(200, 4))
    mask = random.random((200, 4)) < 0.6
    mask[np.arange(200), random.integers(0, 4, 200)] = True
    q = nearest_distributions(shares, mask)
    assert (q >= 0).all()
    assert not q[~mask].any()
    np.testing.assert_allclose(q.sum(axis=1), 1)
    np.testing.assert_array_equal(q.argmax(axis=1), np.where(mask, shares, -np.inf).argmax(axis=1))
    distance = ((q - shares) ** 2).sum(axis=1)
    for _ in range(200):
        other = random.dirichlet(np.full(4, 0.5), 200) * mask + 1e-12 * mask
        other = other / other.sum(axis=1, keepdims=True)
        assert (((other - shares) ** 2).sum(axis=1) >= distance - 1e-9).all()
    pair = np.array([[0.3, 0.7], [-0.4, 1.4]])
    np.testing.assert_allclose(nearest_distributions(pair, np.ones((2, 2), bool)), [[0.3, 0.7], [0, 1]], atol=1e-15)
    np.testing.assert_allclose(nearest_distributions(pair * 1e300, np.ones((2, 2), bool)), [[0, 1], [0, 1]])


def literal_round(W, members, told, k, d, c):
    """Return (z - gamma_-) / (gamma_+ - gamma_-) where every row stands there twice, once for and once against."""
    _, V = oracle.eigenvectors(W, d)
    n, d = V.shape
    rows = np.concatenate([np.flatnonzero(told)] * 2)
    weight = np.concatenate([members[told, k], 1 - members[told, k]])
    l_pos, l_neg = members[told, k].sum(), (1 - members[told, k]).sum()
    high, low = np.sqrt(l_neg / l_pos), -np.sqrt(l_pos / l_neg)
    gamma = np.repeat([high, low], told.sum())
    C = np.diag(weight * (l_pos + l_neg) / 2 / np.repeat([l_pos, l_neg], told.sum()))
    D = np.diag(np.arange(1.0, d + 1) ** 2)
    w = oracle.minimiser(D + c * V[rows].T @ C @ V[rows], c * V[rows].T @ C @ gamma, n)
    return (V @ w - low) / (high - low)


def partly_known(n=40, K=4, seed=0):
    """Return sets of which some are exact, some have two or three members, and most are full."""
    mask = known(n, K, n_known=4 * K, seed=seed)
    rows = np.flatnonzero(~mask.all(axis=1))
    mask[rows[::2], (mask[rows[::2]].argmax(axis=1) + 1) % K] = True
    mask[rows[::4], (mask[rows[::4]].argmax(axis=1) + 2) % K] = True
    mask[rows[:2]] = np.eye(K, dtype=bool)[:2]
    return mask


@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_a_row_with_several_candidates_counts_for_and_against_each(max_iter):
    """Rounds are those of rows that stand there as 1/|S| of one, and then as the part that the round before gave."""
    W, mask = graph(), partly_known()
    told = ~mask.all(axis=1)
    members = mask / mask.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        shares = np.column_stack([literal_round(W.toarray(), members, told, k, 15, 3200.0) for k in range(4)])
        members = nearest_distributions(shares, mask)
    found = transduce(W, mask, n_eigenvectors=15, max_iter=max_iter, tol=0.0)
    np.testing.assert_allclose(found.shares, shares, atol=1e-6)
    np.testing.assert_allclose(found.distributions, members, atol=1e-6)
    assert found.n_iter == max_iter


def test_exact_rows_need_one_round():
    """Without rows of several candidates the first round is the published method, and the last."""
    W, mask = graph(), known(40, 3, n_known=9)
    found = transduce(W, mask, tol=0.0)
    assert (found.n_iter, found.converged) == (1, True)


def test_rounds_end_where_nothing_changes():
    """A loose tolerance takes fewer rounds; at the end one more changes nothing beyond it."""
    W, mask = graph(), partly_known()
    loose, tight = (transduce(W, mask, n_eigenvectors=15, max_iter=500, tol=tol) for tol in (0.1, 1e-6))
    assert loose.n_iter < tight.n_iter < 500
    assert tight.converged
    further = transduce(W, mask, n_eigenvectors=15, max_iter=tight.n_iter + 1, tol=0.0)
    assert np.abs(further.distributions - tight.distributions)[~mask.all(axis=1)].max() <= 1e-6


def test_wider_sets_are_no_labels():
    """Where every set is everything nothing is learnt; such rows count for the graph only."""
    W = graph()
    found = transduce(W, np.ones((40, 3), dtype=bool))
    np.testing.assert_allclose(found.distributions, 1 / 3)
    assert len(found.unreached) == 40


def test_classes_without_rows_or_without_others_have_plain_shares():
    """A class that no labelled row can be has share 0, a class that all of them can be has share 1; none is NaN."""
    W = graph()
    mask = np.ones((40, 3), dtype=bool)
    mask[:4] = [True, False, False]
    found = transduce(W, mask)
    np.testing.assert_array_equal(found.shares, np.tile([1.0, 0.0, 0.0], (40, 1)))
    mask[4:8] = [True, True, False]
    found = transduce(W, mask)
    np.testing.assert_array_equal(found.shares[:, 2], 0.0)
    assert np.isfinite(found.distributions).all()
    two = np.ones((40, 2), dtype=bool)
    two[0] = [True, False]
    np.testing.assert_array_equal(transduce(W, two).distributions, np.tile([1.0, 0.0], (40, 1)))


def test_parts_of_the_graph_without_labels_are_uniform_and_change_nothing():
    """They have uniform distributions, and the others are what they are in a graph of their own."""
    W, mask = graph(40), known(40, 3, n_known=9)
    both = sp.block_diag([W, graph(25, seed=1), sp.csr_array((1, 1))], format="csr")
    wide = np.vstack([mask, np.ones((26, 3), dtype=bool)])
    found, alone = transduce(sp.csr_array(both), wide), transduce(W, mask)
    np.testing.assert_allclose(found.distributions[:40], alone.distributions, atol=1e-9)
    np.testing.assert_allclose(found.distributions[40:], 1 / 3)
    np.testing.assert_array_equal(found.unreached, np.arange(40, 66))


def test_rows_without_a_link_keep_their_sets():
    """A labelled row without links says nothing of others: it is uniform over its set, and nothing is NaN."""
    W, mask = graph(40), known(40, 3, n_known=9)
    both = sp.csr_array(sp.block_diag([W, sp.csr_array((2, 2))], format="csr"))
    wide = np.vstack([mask, [[True, True, False], [True, False, False]]])
    found = transduce(both, wide)
    np.testing.assert_allclose(found.distributions[40:], [[0.5, 0.5, 0], [1, 0, 0]])
    np.testing.assert_allclose(found.distributions[:40], transduce(W, mask).distributions, atol=1e-9)
    nothing = transduce(sp.csr_array((42, 42)), wide)
    np.testing.assert_allclose(nothing.distributions, wide / wide.sum(axis=1, keepdims=True))


def test_several_labelled_parts_do_not_depend_on_the_basis_of_their_indicators():
    """With eigenvalue 0 several times, permuting the rows permutes the distributions."""
    W, mask = graph(60, parts=4), known(60, 3, n_known=24)
    order = np.random.default_rng(3).permutation(60)
    found = transduce(W, mask, n_eigenvectors=20)
    permuted = transduce(sp.csr_array(W[order][:, order]), mask[order], n_eigenvectors=20)
    np.testing.assert_allclose(permuted.distributions, found.distributions[order], atol=1e-7)
