"""Transduction against its definition: two classes as printed, more of them, candidate sets, parts without labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.transducer import transduce
from oneof.solvers.transducer.transduction import nearest_distributions
from tests.oracles import transducer as oracle
from tests.solvers.transducer.problems import graph, known


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
    w = oracle.minimizer(D + c * V[rows].T @ C @ V[rows], c * V[rows].T @ C @ gamma, n)
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
    """Where every set is everything nothing is learned; such rows count for the graph only."""
    W = graph()
    found = transduce(W, np.ones((40, 3), dtype=bool))
    np.testing.assert_allclose(found.distributions, 1 / 3)
    assert len(found.unreached) == 40


def test_classes_without_rows_or_without_others_have_plain_shares():
    """A class that no labeled row can be has share 0, a class that all of them can be has share 1; none is NaN."""
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
    """A labeled row without links says nothing of others: it is uniform over its set, and nothing is NaN."""
    W, mask = graph(40), known(40, 3, n_known=9)
    both = sp.csr_array(sp.block_diag([W, sp.csr_array((2, 2))], format="csr"))
    wide = np.vstack([mask, [[True, True, False], [True, False, False]]])
    found = transduce(both, wide)
    np.testing.assert_allclose(found.distributions[40:], [[0.5, 0.5, 0], [1, 0, 0]])
    np.testing.assert_allclose(found.distributions[:40], transduce(W, mask).distributions, atol=1e-9)
    nothing = transduce(sp.csr_array((42, 42)), wide)
    np.testing.assert_allclose(nothing.distributions, wide / wide.sum(axis=1, keepdims=True))


def test_several_labeled_parts_do_not_depend_on_the_basis_of_their_indicators():
    """With eigenvalue 0 several times, permuting the rows permutes the distributions."""
    W, mask = graph(60, parts=4), known(60, 3, n_known=24)
    order = np.random.default_rng(3).permutation(60)
    found = transduce(W, mask, n_eigenvectors=20)
    permuted = transduce(sp.csr_array(W[order][:, order]), mask[order], n_eigenvectors=20)
    np.testing.assert_allclose(permuted.distributions, found.distributions[order], atol=1e-7)
