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
    """No other sharpness makes the sets likelier of rows that have a label, or some."""
    scores, labels, random = drawn(5.0, 300)
    mask, odds = np.eye(5, dtype=bool)[labels] | (random.random((300, 5)) < 0.3), np.array([1.0, 2.0, 0.5, 1.0, 3.0])

    def value(b):
        return np.log((softmax(b * scores) * odds * mask).sum(axis=1))[~mask.all(axis=1)].sum()

    best = best_sharpness(scores, mask, odds)
    assert value(best) >= max(value(b) for b in np.geomspace(LEAST, MOST, 500)) - 1e-9


def test_scores_without_a_flaw_or_without_sense_end_at_a_bound():
    """Where no wrong class ever scores best, sharper is better; where the wrong ones do, flatter."""
    mask = np.eye(3, dtype=bool)
    assert best_sharpness(np.eye(3), mask, np.ones(3)) > 30  # from where on probabilities are 0 and 1 to rounding
    assert best_sharpness(-np.eye(3), mask, np.ones(3)) == pytest.approx(LEAST)
    assert best_sharpness(np.eye(3), np.ones((3, 3), dtype=bool), np.ones(3)) == 1.0
