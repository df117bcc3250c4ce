"""Laws of the learning curve."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import AvgPerceptron
from oneof.comparison import compare, learning_curve
from oneof.errors import InputError
from tests.blobs import Frequencies, draw


def test_the_curve_ends_where_the_comparison_stands():
    """With all labeled rows, and folds of one size, the curve's point is the comparison's mean over the same folds."""
    X, y, truth = draw()
    told = np.flatnonzero(~y.is_unlabeled)[:50]
    X, y, truth = X[told], y[told], truth[told]
    estimator = make_pipeline(StandardScaler(), Frequencies())
    curve = learning_curve(estimator, X, y, truth=truth, cv=5, random_state=3)
    result = compare(X, y, {"it": estimator}, truth=truth, cv=5, random_state=3).results[0]
    assert curve.n_rows == (4, 8, 16, 28, 40)
    assert curve.covering_rate[-1] == pytest.approx(result.covering_rate)
    assert curve.covering_rate_std[-1] == pytest.approx(result.covering_rate_std)
    assert curve.accuracy[-1] == pytest.approx(result.accuracy)
    assert learning_curve(estimator, X, y).accuracy is None
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False))["n_rows"] == [4, 8, 16, 28, 40]


def test_the_samples_of_the_curve_are_nested():
    """In each fold a smaller sample is part of a larger one, and unlabeled rows are always there."""
    X, y, _ = draw()
    X[:, 0] = np.arange(len(X))
    seen = []

    class Watch(Frequencies):
        def fit(self, X, y):
            seen.append((set(X[:, 0]), int(y.is_unlabeled.sum()), len(y)))
            return super().fit(X, y)

    calls = []
    curve = learning_curve(Watch(), X, y, shares=(0.2, 0.6, 1.0), cv=2, progress=lambda *call: calls.append(call[:2]))
    silent = int(y.is_unlabeled.sum())
    assert silent > 0
    assert [size - silent for _, _, size in seen] == [n for n in curve.n_rows for _ in range(2)]
    assert {unlabeled for _, unlabeled, _ in seen} == {silent}
    for fold in range(2):
        small, middle, large = (rows for rows, _, _ in seen[fold::2])
        assert small < middle < large
    assert calls == [(done, 6) for done in range(1, 7)]


def test_more_labels_help_a_learner_that_learns():
    """On separated blobs the perceptron covers more with all rows than with one in twenty."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 400)
    X = 3 * np.eye(4)[truth] + rng.normal(size=(400, 4))
    curve = learning_curve(AvgPerceptron(average=True), X, truth, shares=(0.02, 1.0), truth=truth)
    assert curve.covering_rate[0] < curve.covering_rate[1]
    assert curve.accuracy == pytest.approx(curve.covering_rate)


@pytest.mark.parametrize("shares", [(), (0.0, 1.0), (0.5, 1.5)])
def test_shares_beyond_the_rows_are_an_error(shares):
    """A share lies in (0, 1]."""
    X, y, _ = draw()
    with pytest.raises(InputError, match="shares="):
        learning_curve(Frequencies(), X, y, shares=shares)


def test_no_folds_are_an_error():
    X, y, _ = draw()
    with pytest.raises(InputError, match="cv holds no folds"):
        learning_curve(Frequencies(), X, y, cv=[])


class Particular(AvgPerceptron):
    """Refuses to learn from fewer than 20 rows."""

    def fit(self, X, y):
        if len(X) < 20:
            raise InputError("too few rows")
        return super().fit(X, y)


def test_a_curve_survives_rows_too_few_for_the_method():
    """Where the estimator raises on few rows, those entries are NaN and the others stand."""
    random = np.random.default_rng(0)
    X, mask = random.normal(size=(60, 3)), np.eye(3, dtype=bool)[random.integers(0, 3, 60)]
    curve = learning_curve(Particular(), X, mask, shares=(0.1, 1.0), cv=2)
    assert np.isnan(curve.covering_rate[0])
    assert 0 <= curve.covering_rate[1] <= 1
