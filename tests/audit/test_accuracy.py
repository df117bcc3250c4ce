"""Estimated accuracy of held-out predictions, given the labels as they are."""

import numpy as np
import pytest

from oneof import CandidateSets
from oneof.audit.accuracy import estimate_accuracy


def draw(noise_rate, n_distractors, *, n=2_000, K=5, seed=0):
    """Return calibrated probabilities, the labels as sets, a fraction of which excludes the truth, and the truth."""
    rng = np.random.default_rng(seed)
    scores = 3.0 * rng.normal(size=(n, K))
    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(K, p=row) for row in proba])
    is_wrong = rng.random(n) < noise_rate
    label = np.where(is_wrong, (truth + rng.integers(1, K, n)) % K, truth)
    mask = np.eye(K, dtype=bool)[label]
    for i in np.flatnonzero(rng.random(n) < 0.5):
        others = [k for k in range(K) if k not in (label[i], truth[i])]
        mask[i, rng.choice(others, n_distractors, replace=False)] = True
    return proba, CandidateSets(mask, np.arange(K)), truth


@pytest.mark.long
@pytest.mark.parametrize("noise_rate", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("n_distractors", [0, 1, 2])
def test_interval_contains_the_accuracy(noise_rate, n_distractors):
    """The accuracy is in the interval, also if the covering rate is far from it."""
    proba, y, truth = draw(noise_rate, n_distractors)
    predictions = proba.argmax(axis=1)
    accuracy = (predictions == truth).mean()
    estimate = estimate_accuracy(proba, predictions, y)
    assert estimate.interval[0] <= accuracy <= estimate.interval[1]
    assert estimate.n_rows == 2_000
    assert estimate.noise_rate_interval[0] <= estimate.noise_rate <= estimate.noise_rate_interval[1]
    covering_rate = y.mask[np.arange(len(truth)), predictions].mean()
    if noise_rate == 0.2 or (noise_rate == 0 and n_distractors):
        assert abs(estimate.accuracy - accuracy) < 0.7 * abs(covering_rate - accuracy)


def test_predictions_other_than_the_most_probable_class():
    """The estimate is that of the predictions given: of wrong ones, and of labels that are not a class, it is low."""
    proba, y, truth = draw(0.1, 1)
    right, wrong = (estimate_accuracy(proba, one, y).accuracy for one in (truth, (truth + 1) % 5))
    assert right > 0.8
    assert wrong < 0.1
    assert estimate_accuracy(proba, np.full(2_000, 9), y).accuracy == 0.0


def test_uninformative_predictions_are_right_by_chance():
    """Probabilities that are unrelated to the labels are right in 1 of 5 rows, and any noise rate is possible."""
    _, y, truth = draw(0.1, 1)
    proba = np.random.default_rng(1).dirichlet(np.ones(5), 2_000)
    predictions = proba.argmax(axis=1)
    estimate = estimate_accuracy(proba, predictions, y)
    assert estimate.interval[0] < (predictions == truth).mean() < estimate.interval[1]
    low, high = estimate.noise_rate_interval
    assert low == 0.0
    assert high > 0.5


def test_checked_rows_are_judged_by_their_labels():
    """The labels of checked rows are right: the noise rate is that of the others, the accuracy that of all rows."""
    proba, noisy, truth = draw(0.2, 1)
    checked = np.random.default_rng(1).random(2_000) < 0.5
    mask = np.where(checked[:, None], np.eye(5, dtype=bool)[truth], noisy.mask)
    predictions = proba.argmax(axis=1)
    estimate = estimate_accuracy(proba, predictions, CandidateSets(mask, np.arange(5)), checked)
    assert (estimate.n_rows, estimate.n_checked) == (2_000, checked.sum())
    assert estimate.noise_rate_interval[0] <= 0.2 <= estimate.noise_rate_interval[1]
    assert estimate.interval[0] <= (predictions == truth).mean() <= estimate.interval[1]
    others = estimate_accuracy(proba[~checked], predictions[~checked], noisy[~checked])
    expected = checked.mean() * (predictions == truth)[checked].mean() + (~checked).mean() * others.accuracy
    assert estimate.accuracy == pytest.approx(expected, abs=1e-3)


def test_checked_rows_alone_give_the_accuracy():
    """If all labels are checked, no noise is estimated, and the accuracy is the fraction of right predictions."""
    proba, _, truth = draw(0.0, 0)
    predictions = proba.argmax(axis=1)
    estimate = estimate_accuracy(proba, predictions, CandidateSets.from_labels(truth), np.ones(2_000, dtype=bool))
    assert estimate.accuracy == (predictions == truth).mean()
    assert (estimate.noise_rate, estimate.noise_rate_interval, estimate.n_checked) == (0.0, (0.0, 0.0), 2_000)
