"""Calibration of probabilities by the inverse temperature."""

import numpy as np
import pytest

from oneof.likelihoods import softmax
from oneof.solvers.loo_ridge import fit_inverse_temperature
from oneof.solvers.loo_ridge.calibration import MAX_INVERSE_TEMPERATURE, MIN_INVERSE_TEMPERATURE


def drawn(b, n=4000, K=5, seed=0):
    """Return scores, and labels drawn from the softmax of b times the scores."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(K), n)
    labels = (softmax(b * scores).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return scores, labels, rng


@pytest.mark.parametrize("b", [2.0, 10.0])
def test_the_inverse_temperature_of_drawn_labels_is_recovered(b):
    """Exact labels and uniform sets drawn with a given b recover it up to sampling error."""
    scores, labels, rng = drawn(b)
    exact = np.eye(5, dtype=bool)[labels]
    uniform = exact | (rng.random(exact.shape) < 0.3)
    assert fit_inverse_temperature(scores, exact, np.ones(5)) == pytest.approx(b, rel=0.08)
    assert fit_inverse_temperature(scores, uniform, np.ones(5)) == pytest.approx(b, rel=0.15)


def test_the_result_is_optimal():
    """No other b has a larger likelihood of the sets of labeled rows, with one error in n + 2 rows."""
    scores, labels, rng = drawn(5.0, 300)
    mask, odds = np.eye(5, dtype=bool)[labels] | (rng.random((300, 5)) < 0.3), np.array([1.0, 2.0, 0.5, 1.0, 3.0])

    def value(b):
        labeled = ~mask.all(axis=1)
        p, e = softmax(b * scores)[labeled], 1 / (labeled.sum() + 2)
        inside, outside = (p * odds * mask[labeled]).sum(axis=1), (p * ~mask[labeled]).sum(axis=1)
        return ((1 - e) * np.log(inside) + e * np.log(outside)).sum()

    best = fit_inverse_temperature(scores, mask, odds)
    grid = np.geomspace(MIN_INVERSE_TEMPERATURE, 0.3 * MAX_INVERSE_TEMPERATURE, 500)
    assert value(best) >= max(value(b) for b in grid) - 1e-9


def test_perfect_scores_have_probabilities_below_one():
    """If the truth always has the best score, its probability for n rows is (n + 1) / (n + 2)."""
    mask = np.eye(3, dtype=bool)
    b = fit_inverse_temperature(np.eye(3), mask, np.ones(3))
    assert softmax(b * np.eye(3))[0, 0] == pytest.approx(4 / 5)
    assert fit_inverse_temperature(-np.eye(3), mask, np.ones(3)) == pytest.approx(MIN_INVERSE_TEMPERATURE)
    assert fit_inverse_temperature(np.eye(3), np.ones((3, 3), dtype=bool), np.ones(3)) == 1.0


@pytest.mark.parametrize("gap", [0.3, 3.0])
def test_the_order_of_rows_does_not_matter_for_separable_rows(gap):
    """If all predictions are in the sets, b is the same for any order and rounding of the scores."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 80)
    scores = gap * np.eye(4)[truth] + 0.01 * rng.normal(size=(80, 4))
    mask = np.eye(4, dtype=bool)[truth]
    b = fit_inverse_temperature(scores, mask, np.ones(4))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(80)
        noise = 1e-15 * rng.normal(size=scores.shape)
        assert fit_inverse_temperature((scores + noise)[order], mask[order], np.ones(4)) == pytest.approx(b, rel=1e-9)
