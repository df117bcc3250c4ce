"""Soft labels of any classifier: updates, pairs of rows and labels, and copies instead of weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneof.solvers.soft_label_em import (
    MIN_LABEL_WEIGHT,
    MIN_PROBABILITY,
    label_pairs,
    posterior,
    repeat_pairs,
    solve_soft_labels,
)

seeds = st.integers(0, 2**32 - 1)


def draw_labels(seed, n=20, K=5):
    """Return label distributions with zeros, exact rows and equal labels."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.3, 1.0, 1e-7], (n, K)) * rng.choice([1.0, rng.random()], (n, K))
    weights[np.arange(n), rng.integers(0, K, n)] = 1.0
    return weights / weights.sum(axis=1, keepdims=True)


def test_rows_of_one_candidate_need_no_prediction():
    """If all rows are exact, nothing is predicted, and the only round changes nothing."""
    solution = solve_soft_labels(np.eye(3, dtype=bool), lambda _: pytest.fail("predicted"), max_iter=5, tol=0.1)
    np.testing.assert_array_equal(solution.distributions, np.eye(3))
    assert solution.changes.tolist() == [0.0]


def test_labels_that_alternate_converge_to_their_mean():
    """If predictions alternate between two distributions, the labels become their mean by the decreasing steps."""
    answers = iter([[[0.9, 0.1]], [[0.1, 0.9]]] * 100)
    solution = solve_soft_labels(np.array([[True, True]]), lambda _: np.array(next(answers)), max_iter=200, tol=0.003)
    assert solution.converged
    np.testing.assert_allclose(solution.distributions, [[0.5, 0.5]], atol=0.01)


@given(seed=seeds)
@settings(deadline=None)
def test_pairs_are_the_labels_that_are_not_negligible(seed):
    """Pairs are ordered, weights sum to 1 for each row and differ from the labels by at most the negligible ones."""
    labels = draw_labels(seed)
    pairs = label_pairs(labels)
    dense = np.zeros(labels.shape)
    dense[pairs.row, pairs.label] = pairs.weight
    np.testing.assert_allclose(dense.sum(axis=1), 1.0)
    np.testing.assert_array_equal(dense > 0, labels >= MIN_LABEL_WEIGHT * labels.max(axis=1, keepdims=True))
    np.testing.assert_allclose(dense, labels, atol=labels.shape[1] * MIN_LABEL_WEIGHT)
    assert (np.diff(pairs.row * labels.shape[1] + pairs.label) > 0).all()


@given(seed=seeds, n_copies=st.integers(1, 30))
@settings(deadline=None)
def test_copies_are_those_of_the_largest_remainders(seed, n_copies):
    """Each row has the number of copies; each label has its share rounded down or up, those of large remainders up."""
    pairs = label_pairs(draw_labels(seed))
    copies = repeat_pairs(pairs, n_copies)
    assert (copies.weight == 1).all()
    np.testing.assert_array_equal(np.bincount(copies.row), n_copies)
    for row in range(20):
        mine = pairs.row == row
        share = pairs.weight[mine] * n_copies
        count = np.array([((copies.row == row) & (copies.label == k)).sum() for k in pairs.label[mine]])
        assert (np.abs(count - share) < 1 + 1e-6).all()
        up, down = (
            (share - np.floor(share + 1e-9))[count > share + 1e-6],
            (share - np.floor(share + 1e-9))[count < share - 1e-6],
        )
        assert not len(up) or not len(down) or up.min() >= down.max() - 1e-6


def test_the_posterior_is_continuous_at_probabilities_of_0():
    """A probability of 0 is raised to a small one: weights of 1e-12 outside the set do not change its labels."""
    proba = np.array([[0.0, 0.0, 1.0]])
    np.testing.assert_allclose(posterior(np.array([[1.0, 1.0, 0.0]]), proba), [[0.5, 0.5, 0.0]])
    np.testing.assert_allclose(
        posterior(np.array([[1.0, 1.0, 1e-12]]), proba), [[0.5, 0.5, 0.0]], atol=1e-12 / MIN_PROBABILITY
    )
