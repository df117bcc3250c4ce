"""The sharpness of probabilities."""

import numpy as np
import pytest

from oneof.likelihoods import softmax
from oneof.solvers.loo_ridge import best_sharpness
from oneof.solvers.loo_ridge.calibration import LEAST, MOST


def drawn(b, n=4000, K=5, seed=0):
    """Return scores and labels that are drawn from the softmax of b times the scores."""
    random = np.random.default_rng(seed)
    scores = random.dirichlet(np.ones(K), n)
    labels = (softmax(b * scores).cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    return scores, labels, random


@pytest.mark.parametrize("b", [2.0, 10.0])
def test_the_sharpness_of_drawn_labels_is_found(b):
    """Labels and even sets drawn at some sharpness give it back, but for chance."""
    scores, labels, random = drawn(b)
    exact = np.eye(5, dtype=bool)[labels]
    even = exact | (random.random(exact.shape) < 0.3)
    assert best_sharpness(scores, exact, np.ones(5)) == pytest.approx(b, rel=0.08)
    assert best_sharpness(scores, even, np.ones(5)) == pytest.approx(b, rel=0.15)


def test_it_is_the_best_of_all():
    """No other sharpness makes the sets likelier of rows that have a label, or some, one of n + 2 taken for missed."""
    scores, labels, random = drawn(5.0, 300)
    mask, odds = np.eye(5, dtype=bool)[labels] | (random.random((300, 5)) < 0.3), np.array([1.0, 2.0, 0.5, 1.0, 3.0])

    def value(b):
        told = ~mask.all(axis=1)
        p, e = softmax(b * scores)[told], 1 / (told.sum() + 2)
        within, beside = (p * odds * mask[told]).sum(axis=1), (p * ~mask[told]).sum(axis=1)
        return ((1 - e) * np.log(within) + e * np.log(beside)).sum()

    best = best_sharpness(scores, mask, odds)
    assert value(best) >= max(value(b) for b in np.geomspace(LEAST, 0.3 * MOST, 500)) - 1e-9


def test_scores_without_a_flaw_leave_a_doubt():
    """Where no wrong class ever scores best, n rows are believed as (n + 1) / (n + 2)."""
    mask = np.eye(3, dtype=bool)
    b = best_sharpness(np.eye(3), mask, np.ones(3))
    assert softmax(b * np.eye(3))[0, 0] == pytest.approx(4 / 5)
    assert best_sharpness(-np.eye(3), mask, np.ones(3)) == pytest.approx(LEAST)
    assert best_sharpness(np.eye(3), np.ones((3, 3), dtype=bool), np.ones(3)) == 1.0


@pytest.mark.parametrize("gap", [0.3, 3.0])
def test_the_order_of_rows_is_immaterial_to_easy_ones(gap):
    """Rows whose sets hold every prediction have the same sharpness in any order, but for rounding of the scores."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 4, 80)
    scores = gap * np.eye(4)[truth] + 0.01 * random.normal(size=(80, 4))
    mask = np.eye(4, dtype=bool)[truth]
    b = best_sharpness(scores, mask, np.ones(4))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(80)
        noise = 1e-15 * random.normal(size=scores.shape)
        assert best_sharpness((scores + noise)[order], mask[order], np.ones(4)) == pytest.approx(b, rel=1e-9)
