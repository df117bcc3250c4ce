"""Temperature scaling of probabilities by held-out predictions of checked rows."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.validation import check_is_fitted

from oneof import CandidateSets, persistence
from oneof.errors import InputError
from oneof.model_selection.temperature import (
    TemperatureScaledClassifier,
    calibrate_posteriors,
    evaluate_temperature,
    fit_temperature,
    scale_proba,
)


def draw(n: int, sharpness: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities that are too sharp by a factor, and classes drawn by the right ones."""
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, 4))
    codes = (logits + rng.gumbel(size=(n, 4))).argmax(axis=1)
    return softmax(sharpness * logits, axis=1), codes


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
def test_the_temperature_is_the_sharpness_of_the_probabilities(sharpness: float) -> None:
    """With 20,000 rows, the temperature is the factor of the logits up to sampling error."""
    proba, codes = draw(20_000, sharpness, 0)
    assert fit_temperature(proba, codes) == pytest.approx(sharpness, rel=0.05)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("n", [50, 500])
def test_the_number_of_rows_limits_the_sharpness(n: int, n_classes: int) -> None:
    """If all rows are right, equal confidences become (n + 1) / (n + 2), and different ones have at most this mean."""
    codes, limit = np.zeros(n, dtype=np.int64), (n + 1) / (n + 2)
    for confidence, is_equal in ((np.full(n, 0.95), True), (np.linspace(0.55, 0.95, n), False)):
        proba = np.repeat(((1.0 - confidence) / (n_classes - 1))[:, None], n_classes, axis=1)
        proba[:, 0] = confidence
        temperature = fit_temperature(proba, codes)
        scaled = scale_proba(proba, temperature)[:, 0]
        assert 0.1 < temperature < 1.0
        assert 0.94 < scaled.mean() <= limit + 1e-6
        if is_equal:
            np.testing.assert_allclose(scaled, limit, atol=1e-5)


def test_one_class_has_no_temperature() -> None:
    """With one class, every probability is 1 at any temperature."""
    assert fit_temperature(np.ones((50, 1)), np.zeros(50, dtype=np.int64)) == 1.0


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("n", [50, 500])
def test_scaling_does_not_increase_the_log_loss_of_other_rows(sharpness: float, n: int) -> None:
    """The log loss of new rows is not above that without scaling, beyond the sampling error of few checked rows."""
    gains = []
    for seed in range(20):
        proba, codes = draw(n, sharpness, seed)
        test, true = draw(2_000, sharpness, 100 + seed)
        scaled = scale_proba(test, fit_temperature(proba, codes))
        labels = np.arange(4)
        gains.append(log_loss(true, test, labels=labels) - log_loss(true, scaled, labels=labels))
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) > -3.0 * error - 1.0 / n  # one parameter costs 1 / (2 n) on average
    if sharpness != 1.0:
        assert np.mean(gains) > 0.1


def test_the_order_of_the_probabilities_is_unchanged() -> None:
    """A temperature ranks the classes of a row as before; 1 leaves the probabilities as they are."""
    proba, _ = draw(300, 2.0, 1)
    np.testing.assert_allclose(scale_proba(proba, 1.0), proba, rtol=1e-12)
    for temperature in (0.2, 3.0):
        scaled = scale_proba(proba, temperature)
        np.testing.assert_allclose(scaled.sum(axis=1), 1.0)
        np.testing.assert_array_equal(scaled.argsort(axis=1), proba.argsort(axis=1))


def test_cross_fitted_losses_detect_miscalibration() -> None:
    """Scaling is said to help if the probabilities are too sharp, and not if they are right."""
    for sharpness, helps in ((1.0, False), (4.0, True)):
        proba, codes = draw(400, sharpness, 2)
        result = evaluate_temperature(proba, proba.argmax(axis=1), codes)
        assert result.helps == helps
        assert result.n_rows == 400
        if helps:
            assert abs(result.scaled_confidence - result.accuracy) < abs(result.confidence - result.accuracy)


def test_a_fitted_classifier_has_the_probabilities_of_scikit_learn(tmp_path: Path) -> None:
    """With many rows, it equals `CalibratedClassifierCV`, whose targets are not smoothed; saving keeps the model."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2_400)
    X = rng.normal(size=(2_400, 5)) + 1.2 * np.eye(5)[y]
    model = LogisticRegression(C=1e4).fit(X[:40], y[:40])  # overconfident
    held_out = model.predict_proba(X[40:2_000])
    ours = TemperatureScaledClassifier(model, fit_temperature(held_out, y[40:2_000]))
    np.testing.assert_array_equal(ours.predict(X[2_000:]), model.predict(X[2_000:]))
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="temperature").fit(X[40:2_000], y[40:2_000])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    persistence.save(tmp_path / "model.skops", ours)
    loaded = persistence.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X), ours.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), ours.predict(X))


def test_a_scaled_classifier_is_fitted_if_its_estimator_is() -> None:
    """`fit` accepts a fitted estimator and a positive temperature, and says that it does not fit a clone."""
    X, y = np.arange(6.0)[:, None], np.arange(6) // 3
    model = TemperatureScaledClassifier(LogisticRegression().fit(X, y), 2.0)
    check_is_fitted(model)
    assert model.fit(X, y) is model
    copy = clone(model)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        check_is_fitted(copy)
    with pytest.raises(NotFittedError, match="fit the estimator before it is scaled"):
        copy.fit(X, y)
    for temperature in (0.0, -1.0, np.nan, "2"):
        with pytest.raises(InputError, match="temperature"):
            model.set_params(temperature=temperature).fit(X, y)


@pytest.mark.parametrize("sharpness", [0.2, 1.0, 5.0])
def test_calibrated_lists_do_not_depend_on_their_sharpness(sharpness: float) -> None:
    """Lists of any sharpness become the weights of the calibrated lists, from the true labels of a part of the rows."""
    proba, codes = draw(4_000, 1.0, 3)
    prior = (proba.mean(axis=0) + 0.25) / 2
    expected = CandidateSets.from_weights(proba, kind="posterior", prior=prior)
    labels = np.where(np.arange(4_000) % 2 == 0, codes, None)
    y = CandidateSets.from_weights(proba**sharpness)
    for options in ({}, {"prior": prior}):
        np.testing.assert_allclose(calibrate_posteriors(y, labels, **options).weights, expected.weights, atol=0.05)


def test_excluded_classes_exact_rows_and_unlabeled_rows_stay() -> None:
    """Classes outside a list have the weight 0; exact rows and unlabeled rows are the same afterwards."""
    y = CandidateSets.from_weights([[0.5, 0.3, 0.0], [0.1, 0.2, 0.6], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]] * 10)
    calibrated = calibrate_posteriors(y, [0, 2, 1, None] * 10)
    np.testing.assert_array_equal(calibrated.mask, y.mask)
    np.testing.assert_array_equal(calibrated.is_unlabeled, y.is_unlabeled)


def test_labels_for_the_calibration_of_lists_are_checked() -> None:
    """Labels of another number of rows, or of unlabeled rows only, are errors."""
    y = CandidateSets.from_weights([[0.5, 0.3], [1.0, 1.0]])
    with pytest.raises(InputError, match="for each of the 2 rows; got 3"):
        calibrate_posteriors(y, [0, 1, 1])
    with pytest.raises(InputError, match="the label of a row with a list"):
        calibrate_posteriors(y, [None, 1])
