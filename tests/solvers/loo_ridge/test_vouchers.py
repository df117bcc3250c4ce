"""Who speaks for a decision."""

import numpy as np

from oneof.solvers.loo_ridge import CandidateGroups, ExactRidge, judged_labels, rivals, stacked, vouchers
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of


def solved(n=60, K=4):
    """Return grams, ridges, their average, and labels that it settled."""
    X, truth = blobs(n, K)
    mask = sets_of(truth)
    mask[::6] = np.eye(K, dtype=bool)[truth[::6]]
    grams, weights = (gram_of(X), gram_of(2.0 * X)), np.array([0.6, 0.4])
    ridge = stacked([ExactRidge.of(gram.copy(), 0.05) for gram in grams], weights)
    return grams, weights, ridge, judged_labels(ridge, CandidateGroups.of(mask), max_iter=25).shares, mask


def test_what_a_voucher_brings_is_lost_without_it():
    """Were a voucher's label the mean of all, the margin of fits without the row would be less by what it brought."""
    grams, weights, ridge, P, mask = solved()
    n, m = len(P), P.mean(axis=0)
    F = ridge.left_out(P)
    found, rival = vouchers(ridge, P, rivals(P, F, mask)), rivals(P, F, mask)

    def margin(i, P):
        rest = np.delete(np.arange(n), i)
        score = m.copy()
        for gram, weight in zip(grams, weights, strict=True):
            a = np.linalg.solve(gram[np.ix_(rest, rest)] + 0.05 * np.eye(n - 1), P[rest] - m)
            score += weight * (gram[i, rest] @ a)
        return score[P[i].argmax()] - score[rival[i]]

    for i in (0, 7, 33):
        for j, brought in zip(found.rows[i], found.brought[i], strict=True):
            without = P.copy()
            without[j] = m
            np.testing.assert_allclose(margin(i, P) - margin(i, without), brought, atol=1e-8)


def test_no_other_row_brings_more():
    """The named rows are the best of all others, the best first, and no row vouches for itself."""
    _, _, ridge, P, mask = solved()
    F = ridge.left_out(P)
    found, rival = vouchers(ridge, P, rivals(P, F, mask)), rivals(P, F, mask)
    n, R = len(P), P - P.mean(axis=0)
    a = ridge.influences(np.arange(n))
    for i in range(n):
        k = P[i].argmax()
        brought = np.delete(a[i] * (R[:, k] - R[:, rival[i]]), i)
        np.testing.assert_allclose(found.brought[i], np.sort(brought)[::-1][:5])
        assert i not in found.rows[i]
        assert rival[i] != k
        assert mask[i, rival[i]] or mask[i].sum() == 1


def test_two_rows_vouch_for_each_other():
    """Where there are fewer rows than are named, each has all the others; one row alone has none."""
    ridge = ExactRidge.of(np.eye(2) + 0.5, 0.05)
    mask = np.array([[True, False], [True, True]])
    found = vouchers(ridge, mask / mask.sum(axis=1, keepdims=True), np.array([1, 1]))
    assert found.rows.tolist() == [[1], [0]]
    alone = ExactRidge.of(np.ones((1, 1)), 0.05)
    assert vouchers(alone, np.array([[1.0, 0.0]]), np.array([1])).rows.shape == (1, 0)
