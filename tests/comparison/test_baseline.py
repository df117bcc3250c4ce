"""The baseline of a comparison: ridge regression on the labels of largest weight."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from oneof import CandidateSets, LOORidge, compare
from oneof.comparison import comparison as comparison_module


class Constant(DummyClassifier):
    """A classifier that ignores the features."""

    def fit(self, X, y):
        return super().fit(X, np.argmax(y.mask, axis=1))


@pytest.fixture(scope="module")
def blobs():
    """Return three classes of 60 rows each, with their labels."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 60)
    return rng.normal(size=(180, 4)) + 3 * np.eye(3, 4)[y], y


SPLIT = [(np.arange(0, 180, 2), np.arange(1, 180, 2))]


def compare_one(method, X, sets):
    return compare(X, sets, {"method": method}, cv=SPLIT, refit=False)


def test_exact_labels_equal_ridge_regression(blobs):
    """On exact labels the rate is the accuracy of scikit-learn's ridge regression on indicators."""
    X, y = blobs
    train, test = SPLIT[0]
    scaler = StandardScaler().fit(X[train])
    scores = Ridge().fit(scaler.transform(X[train]), np.eye(3)[y[train]]).predict(scaler.transform(X[test]))
    result = compare_one(LOORidge(), X, CandidateSets.from_labels(y))
    assert result.baseline_rate == np.mean(scores.argmax(axis=1) == y[test])
    assert result.baseline_warning == ""


def test_a_method_without_use_of_the_features_is_named(blobs):
    """A constant prediction is below the baseline: the warning has both rates, and is in the printed table."""
    X, y = blobs
    result = compare_one(Constant(), X, CandidateSets.from_labels(y))
    assert result.results[0].covering_rate == pytest.approx(1 / 3)
    assert "method predicts a candidate in 33% of the held-out rows, and a simple baseline " in (
        result.baseline_warning
    )
    assert f"{result.baseline_rate:.0%}" in result.baseline_warning
    assert result.baseline_warning in str(result)
    assert result.to_dict()["baseline_warning"] == result.baseline_warning


def test_only_the_largest_weights_count(blobs):
    """Other weights below the largest do not change the rate; sparse rows are accepted, and unlabeled rows ignored."""
    X, y = blobs
    rng = np.random.default_rng(1)
    rates = []
    for scale in (0.2, 0.9):
        weights = scale * rng.random((180, 3))
        weights[np.arange(180), y] = 1.0
        rates.append(compare_one(LOORidge(), X, CandidateSets.from_weights(weights)).baseline_rate)
    assert rates[0] == rates[1] > 0.9
    hidden = [None if i % 5 == 0 else int(label) for i, label in enumerate(y)]
    assert compare_one(LOORidge(), sp.csr_array(X), CandidateSets.from_labels(hidden)).baseline_rate > 0.8


def test_a_baseline_that_cannot_be_fitted_does_not_end_the_comparison(blobs, monkeypatch):
    """If the sample of the baseline lacks a category of other rows, the comparison has no baseline."""
    _, y = blobs
    monkeypatch.setattr(comparison_module, "MAX_BASELINE_ROWS", 6)
    numbers = np.arange(180)[:, None] // 2
    result = compare_one(make_pipeline(OneHotEncoder(), LOORidge()), numbers, CandidateSets.from_labels(y))
    assert result.results[0].error is None
    assert math.isnan(result.baseline_rate)


def test_a_table_of_numbers_has_the_baseline_of_its_array(blobs):
    """A pandas table without an encoder has the rate of its values."""
    X, y = blobs
    sets = CandidateSets.from_labels(y)
    expected = compare_one(Constant(), X, sets).baseline_rate
    assert compare_one(Constant(), pd.DataFrame(X), sets).baseline_rate == pytest.approx(expected)


def test_features_that_are_not_numbers_have_no_baseline(blobs):
    """Missing values, and rows of texts, give NaN and no warning."""
    X, y = blobs
    missing = X.copy()
    missing[3, 0] = np.nan
    for rows in (missing, np.where(X > 1, "high", "low")):
        result = compare_one(Constant(), rows, CandidateSets.from_labels(y))
        assert math.isnan(result.baseline_rate)
        assert result.baseline_warning == ""
