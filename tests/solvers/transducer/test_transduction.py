"""Transduction by its definition: two and more classes, candidate sets, components without labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.transducer import nearest_distributions, solve_transduction
from tests.oracles import transducer as oracle
from tests.solvers.transducer.problems import graph, known


@pytest.mark.parametrize("d", [5, 38, 80])
@pytest.mark.parametrize("c", [1.0, 3200.0])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_those_of_the_paper(d, c, seed):
    """Scores are the z of the published algorithm on the scale of its targets, with its threshold."""
    W, mask = graph(seed=seed), known(40, seed=seed)
    labels = np.where(mask.all(axis=1), 0, np.where(mask[:, 1], 1, -1))
    z, threshold, _ = oracle.scores(W.toarray(), labels, d, c)
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


def test_distributions_are_the_nearest_to_the_scores():
    """Distributions are the nearest ones to the scores: nonnegative, 0 outside the set, of sum 1, in the same order."""
    rng = np.random.default_rng(0)
    proba = rng.normal(size=(200, 4))
    mask = rng.random((200, 4)) < 0.6
    mask[np.arange(200), rng.integers(0, 4, 200)] = True
    q = nearest_distributions(proba, mask)
    assert (q >= 0).all()
    assert not q[~mask].any()
    np.testing.assert_allclose(q.sum(axis=1), 1)
    np.testing.assert_array_equal(q.argmax(axis=1), np.where(mask, proba, -np.inf).argmax(axis=1))
    distance = ((q - proba) ** 2).sum(axis=1)
    for _ in range(200):
        random_distributions = rng.dirichlet(np.full(4, 0.5), 200) * mask + 1e-12 * mask
        random_distributions = random_distributions / random_distributions.sum(axis=1, keepdims=True)
        assert (((random_distributions - proba) ** 2).sum(axis=1) >= distance - 1e-9).all()
    pair = np.array([[0.3, 0.7], [-0.4, 1.4]])
    np.testing.assert_allclose(nearest_distributions(pair, np.ones((2, 2), bool)), [[0.3, 0.7], [0, 1]], atol=1e-15)
    np.testing.assert_allclose(nearest_distributions(pair * 1e300, np.ones((2, 2), bool)), [[0, 1], [0, 1]])


def literal_iteration(W, members, labeled, k, d, c):
    """Return (z - gamma_-) / (gamma_+ - gamma_-) with every row twice, once as the class and once as another."""
    _, V = oracle.eigenvectors(W, d)
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


@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_a_row_with_several_candidates_counts_for_and_against_each(max_iter):
    """Rows count as 1/|S| of a row in the first iteration, and then with the probability of the previous one."""
    W, mask = graph(), partly_known()
    labeled = ~mask.all(axis=1)
    members = mask / mask.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        proba = np.column_stack([literal_iteration(W.toarray(), members, labeled, k, 15, 3200.0) for k in range(4)])
        members = nearest_distributions(proba, mask)
    solution = solve_transduction(W, mask, n_eigenvectors=15, max_iter=max_iter, tol=0.0)
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


def weighted(mask, seed=0):
    """Return weights: between 0 and 1 for the candidates of half of the rows that are not exact."""
    rng = np.random.default_rng(seed)
    weights = np.where(mask, rng.uniform(0.05, 1.0, mask.shape), 0.0)
    weights /= weights.max(axis=1, keepdims=True)
    return np.where((rng.random(len(mask)) < 0.5)[:, None], mask, weights)


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_distribution_by_weights_is_a_minimum(seed):
    """It minimizes sum_k (p_k - w_k s_k)^2 / w_k among distributions, with the optimality conditions at 1e-10."""
    rng = np.random.default_rng(seed)
    mask = rng.random((50, 6)) < 0.6
    mask[:, 0] = True
    weights, scores = weighted(mask, seed), rng.normal(0.3, 0.7, (50, 6))
    P = nearest_distributions(scores, weights)
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


def test_distributions_of_rows_with_weights_are_a_fixed_point():
    """Q of every row that is not unlabeled is the nearest distribution to the scores that it leads to."""
    W, mask = graph(), known(40, 4, n_known=12)
    mask[np.flatnonzero(mask.all(axis=1))[:10], 0] = False
    weights = weighted(mask)
    solution = solve_transduction(W, weights, n_eigenvectors=20, tol=1e-12, max_iter=3000)
    assert solution.converged
    q = solution.distributions
    labeled = ~(weights == 1).all(axis=1)
    _, V = oracle.eigenvectors(W.toarray(), 20)
    for k in range(4):
        positive, negative = np.where(labeled, q[:, k], 0), np.where(labeled, 1 - q[:, k], 0)
        high, low = np.sqrt(negative.sum() / positive.sum()), -np.sqrt(positive.sum() / negative.sum())
        C = labeled.sum() / 2 * (positive / positive.sum() + negative / negative.sum())
        target = labeled.sum() / 2 * (positive / positive.sum() * high + negative / negative.sum() * low)
        D = np.diag(np.arange(1.0, V.shape[1] + 1) ** 2)
        w = oracle.minimizer(D + 3200 * V.T @ np.diag(C) @ V, 3200 * V.T @ target, 40)
        np.testing.assert_allclose(solution.relative_scores[:, k], (V @ w - low) / (high - low), atol=1e-6)
