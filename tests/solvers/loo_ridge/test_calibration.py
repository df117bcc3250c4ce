"""Calibration of probabilities by the inverse temperature."""

import numpy as np
import pytest

from oneof.likelihoods import softmax
from oneof.solvers.loo_ridge.solve import MAX_INVERSE_TEMPERATURE, MIN_INVERSE_TEMPERATURE, fit_inverse_temperature


def drawn(b, n=4000, K=5, seed=0):
    """Return scores, and labels drawn from the softmax of b times the scores."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(K), n)
    labels = (softmax(b * scores).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return scores, labels, rng


@pytest.mark.parametrize("b", [2.0, 10.0])
def test_the_inverse_temperature_of_drawn_labels_is_recovered(b):
    """Exact labels drawn with a given b, and their probabilities themselves, recover it."""
    scores, labels, _ = drawn(b)
    assert fit_inverse_temperature(scores, np.eye(5)[labels]) == pytest.approx(b, rel=0.08)
    assert fit_inverse_temperature(scores, softmax(b * scores)) == pytest.approx(b, rel=0.01)


def test_the_result_is_optimal():
    """No other b has a larger expected likelihood of the labels, with one error in n + 2 rows."""
    scores, _, rng = drawn(5.0, 300)
    P = rng.dirichlet(np.full(5, 0.3), 300)

    def value(b):
        p, e = softmax(b * scores), 1 / 302
        return (((1 - e) * P + e * (1 - P) / 4) * np.log(p)).sum()

    best = fit_inverse_temperature(scores, P)
    grid = np.geomspace(MIN_INVERSE_TEMPERATURE, 0.3 * MAX_INVERSE_TEMPERATURE, 500)
    assert value(best) >= max(value(b) for b in grid) - 1e-9


def test_perfect_scores_have_probabilities_below_one():
    """If the truth always has the best score, its probability for n rows is (n + 1) / (n + 2)."""
    b = fit_inverse_temperature(np.eye(3), np.eye(3))
    assert softmax(b * np.eye(3))[0, 0] == pytest.approx(4 / 5)
    assert fit_inverse_temperature(-np.eye(3), np.eye(3)) == pytest.approx(MIN_INVERSE_TEMPERATURE)
    assert fit_inverse_temperature(np.empty((0, 3)), np.empty((0, 3))) == 1.0
    assert fit_inverse_temperature(np.ones((4, 1)), np.ones((4, 1))) == 1.0


@pytest.mark.parametrize("gap", [0.3, 3.0])
def test_the_order_of_rows_does_not_matter_for_separable_rows(gap):
    """If all predictions are correct, b is the same for any order and rounding of the scores."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 80)
    scores, P = gap * np.eye(4)[truth] + 0.01 * rng.normal(size=(80, 4)), np.eye(4)[truth]
    b = fit_inverse_temperature(scores, P)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(80)
        noise = 1e-15 * rng.normal(size=scores.shape)
        assert fit_inverse_temperature((scores + noise)[order], P[order]) == pytest.approx(b, rel=1e-9)
