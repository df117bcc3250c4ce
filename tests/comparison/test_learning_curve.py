"""Tests of the learning curve."""

import json

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import AvgPerceptron
from oneof.comparison import compare, learning_curve
from oneof.errors import InputError
from tests.blobs import Frequencies, draw
from tests.comparison.panel import Watched


def test_the_last_point_is_the_comparison():
    """With all labeled rows and folds of one size, the point equals the mean of `compare` over the same folds."""
    X, y, truth = draw()
    labeled = np.flatnonzero(~y.is_unlabeled)[:50]
    X, y, truth = X[labeled], y[labeled], truth[labeled]
    estimator = make_pipeline(StandardScaler(), Frequencies())
    curve = learning_curve(estimator, X, y, truth=truth, cv=5, random_state=3)
    result = compare(X, y, {"it": estimator}, truth=truth, cv=5, random_state=3).results[0]
    assert curve.train_sizes == (4, 8, 16, 28, 40)
    assert curve.covering_rate[-1] == pytest.approx(result.covering_rate)
    assert curve.covering_rate_std[-1] == pytest.approx(result.covering_rate_std)
    assert curve.accuracy[-1] == pytest.approx(result.accuracy)
    assert learning_curve(estimator, X, y).accuracy is None
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False))["train_sizes"] == [4, 8, 16, 28, 40]


def test_the_samples_of_the_curve_are_nested():
    """In each fold a smaller training set is a subset of a larger one and has all unlabeled rows."""
    X, y, _ = draw()
    X[:, 0] = np.arange(len(X))
    fits, calls = [], []
    options = {"cv": 2, "progress": lambda *call: calls.append(call[:2])}
    curve = learning_curve(Watched(fits), X, y, train_sizes=(0.2, 0.6, 1.0), **options)
    n_unlabeled = int(y.is_unlabeled.sum())
    assert n_unlabeled > 0
    assert [len(sets) - n_unlabeled for _, sets in fits] == [n for n in curve.train_sizes for _ in range(2)]
    assert {int(sets.is_unlabeled.sum()) for _, sets in fits} == {n_unlabeled}
    for fold in range(2):
        small, middle, large = (set(rows[:, 0]) for rows, _ in fits[fold::2])
        assert small < middle < large
    assert calls == [(done, 6) for done in range(1, 7)]


def test_the_estimate_is_the_last_point():
    """With the result of the same folds, the last point is that result, and only the smaller sizes are fitted."""
    X, y, truth = draw()
    for cv in (1, 5):
        options, fits = {"truth": truth, "cv": cv}, []
        last = compare(X, y, {"it": Frequencies()}, refit=False, **options).results[0]
        reference = learning_curve(Frequencies(), X, y, train_sizes=(0.25, 0.5), **options)
        curve = learning_curve(Watched(fits), X, y, train_sizes=(0.25, 0.5, 1.0), last=last, **options)
        assert len(fits) == 2 * cv
        assert curve.train_sizes[:2] == reference.train_sizes
        assert curve.covering_rate == (*reference.covering_rate, last.covering_rate)
        assert curve.accuracy_std == (*reference.accuracy_std, last.accuracy_std)


def test_the_fractions_are_of_the_maximum():
    """With a maximum number of rows, the sizes are fractions of it; a maximum above all rows changes nothing."""
    X, y, _ = draw()
    sizes = [learning_curve(Frequencies(), X, y, cv=2, max_rows=rows).train_sizes for rows in (10, 1000, None)]
    assert sizes[0] == (1, 2, 4, 7, 10)
    assert sizes[1] == sizes[2]
    with pytest.raises(InputError, match="`max_rows` must be an integer above 0 or None"):
        learning_curve(Frequencies(), X, y, max_rows=0)


@pytest.mark.parametrize("fractions", [(), (0.0, 1.0), (0.5, 1.5)])
def test_invalid_fractions_are_an_error(fractions):
    """Each fraction must be in (0, 1]."""
    X, y, _ = draw()
    with pytest.raises(InputError, match="`train_sizes` must be"):
        learning_curve(Frequencies(), X, y, train_sizes=fractions)


class NeedsTwentyRows(AvgPerceptron):
    """Perceptron that raises with fewer than 20 rows."""

    def fit(self, X, y):
        if len(X) < 20:
            raise InputError("too few rows")
        return super().fit(X, y)


def test_a_failed_point_is_nan():
    """If the estimator raises on few rows, those entries are NaN and the others are numbers."""
    rng = np.random.default_rng(0)
    X, mask = rng.normal(size=(60, 3)), np.eye(3, dtype=bool)[rng.integers(0, 3, 60)]
    curve = learning_curve(NeedsTwentyRows(), X, mask, train_sizes=(0.1, 1.0), cv=2)
    assert np.isnan(curve.covering_rate[0])
    assert 0 <= curve.covering_rate[1] <= 1
    assert curve.errors[1] is None
    assert "too few rows" in str(curve.errors[0])


def test_a_curve_without_a_fit_has_a_warning():
    """If no fold is fitted, a warning has the first error, and the accuracies are NaN, not absent."""
    X, y = np.arange(12.0)[:, None], [0, 1] * 6
    with pytest.warns(FitFailedWarning, match="too few rows"):
        curve = learning_curve(NeedsTwentyRows(), X, y, truth=y, train_sizes=(0.5, 1.0), cv=2)
    assert curve.accuracy is not None
    assert np.isnan(curve.accuracy).all()
