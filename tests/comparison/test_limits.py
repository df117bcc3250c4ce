"""Tests of the budget, the time limit and interruptions of a comparison, with a fake clock."""

import math
from typing import ClassVar

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import PLKNN, AvgPerceptron
from oneof.comparison import compare, folds
from oneof.errors import InputError
from tests.blobs import Frequencies, draw


class Clock:
    """Clock that only estimators advance."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(folds, "clock", clock)
    return clock


class Timed(Frequencies):
    """Classifier whose fit takes ``seconds * (n / 1000) ** exponent`` of a fake clock; it counts its fits."""

    def __init__(self, clock=None, seconds=1.0, exponent=1.0, rows=None, interrupt_at=None):
        self.clock = clock
        self.seconds = seconds
        self.exponent = exponent
        self.rows = rows
        self.interrupt_at = interrupt_at

    def __sklearn_clone__(self):
        return self  # the clock and the record of fits are shared

    def fit(self, X, y):
        self.rows.append(len(X))
        if len(self.rows) == self.interrupt_at:
            raise KeyboardInterrupt
        self.clock.now += self.seconds * (len(X) / 1000) ** self.exponent
        return super().fit(X, y)


def timed(clock, seconds, exponent=1.0, **options):
    return Timed(clock, seconds, exponent, rows=[], **options)


def names(comparison):
    return [result.method for result in comparison.results]


def reasons(comparison):
    return {result.method: result.incomplete for result in comparison.results}


def test_fast_kinds_of_methods_are_fitted_first_within_a_budget():
    """Without a limit the order of the fits is that of `methods`; with one, online and linear methods come first."""
    X, y, _ = draw()
    for budget, order in ((None, ["PLKNN", "CLPL", "AvgPerceptron"]), (60, ["AvgPerceptron", "CLPL", "PLKNN"])):
        calls = []
        options = {"budget": budget, "cv": 2, "refit": False, "progress": lambda *call, calls=calls: calls.append(call)}
        compare(X, y, ["PLKNN", "CLPL", "AvgPerceptron"], **options)
        assert [call[2].removeprefix("fitting ") for call in calls if call[2].startswith("fitting")] == order


class CountedScaler(StandardScaler):
    """Scaler that counts its fits in a list that clones share."""

    counts: ClassVar[list[int]] = []

    def fit(self, X, y=None, sample_weight=None):
        self.counts.append(len(X))
        return super().fit(X, y, sample_weight)


def test_a_shared_first_step_is_fitted_once_and_changes_no_rate():
    """Pipelines of one scaler have the rates of pipelines of equal scalers, with one fit of the scaler in all."""
    X, y, truth = draw(200)
    methods = {"a": PLKNN(), "b": AvgPerceptron()}
    CountedScaler.counts.clear()
    scaler = CountedScaler()
    options = {"cv": 1, "truth": truth, "refit": False, "keep_predictions": True}
    shared = compare(X, y, {name: make_pipeline(scaler, method) for name, method in methods.items()}, **options)
    n_train = shared.n_train
    assert CountedScaler.counts.count(n_train) == 1
    alone = compare(X, y, {name: make_pipeline(CountedScaler(), method) for name, method in methods.items()}, **options)
    assert CountedScaler.counts.count(n_train) == 3
    for one, other in zip(shared.results, alone.results, strict=True):
        assert (one.method, one.covering_rate, one.accuracy) == (other.method, other.covering_rate, other.accuracy)
        np.testing.assert_array_equal(one.predictions, other.predictions)


def test_the_time_left_is_within_the_budget(clock):
    """Folds of unknown time count by the mean of the finished ones; the time left is at most the rest of the budget."""
    X, y, _ = draw(60)
    calls = []
    methods = {name: timed(clock, 1000.0) for name in "abcdef"}
    compare(X, y, methods, budget=10, cv=2, progress=lambda *call: calls.append((*call, clock())), refit=False)
    fits = [(done, total, left, now) for done, total, name, left, now in calls if done and name in methods]
    expected = [min((total - done) * fits[0][3], 600 - now) for done, total, _, now in fits]
    assert [left for *_, left, _ in fits] == pytest.approx(expected, rel=0.05)
    calls.clear()
    start = clock()
    compare(X, y, methods, budget=3, cv=2, progress=lambda *call: calls.append((*call, clock())), refit=False)
    left, now = next((left, now) for done, _, _, left, now in calls if done)
    assert left == pytest.approx(180 - (now - start))


def test_methods_after_the_end_of_the_budget_are_left_out(clock):
    """No fit begins after the end of the budget; the table has the reason, and the finished methods are ranked."""
    X, y, _ = draw(60)
    methods = {"first": timed(clock, 500.0), "second": timed(clock, 1.0)}
    comparison = compare(X, y, methods, budget=0.2, cv=1, refit=False)
    assert names(comparison) == ["first", "second"]
    second = comparison.results[1]
    assert (second.incomplete, second.folds, methods["second"].rows) == ("left out: the budget is used", (), [])
    assert math.isnan(second.covering_rate)
    assert second.incomplete in str(comparison)
    assert comparison.to_dict()["results"][1]["covering_rate"] is None


def test_the_time_limit_is_for_each_method(clock):
    """Methods above the limit are stopped; several methods together may exceed it."""
    X, y, _ = draw(3000)
    methods = {"a": timed(clock, 2.0), "b": timed(clock, 2.0), "slow": timed(clock, 200.0)}
    comparison = compare(X, y, methods, time_limit=7, cv=2, refit=False)
    assert reasons(comparison)["a"] is reasons(comparison)["b"] is None
    assert reasons(comparison)["slow"] == "stopped after 1 of 2 folds: time limit 7 s"


@pytest.mark.parametrize("limits", [{"time_limit": 5.0}, {"budget": 5 / 60}])
def test_a_method_is_stopped_between_folds(clock, limits):
    """Without an estimate, a method whose next fold would exceed the limit keeps its finished folds, unranked."""
    X, y, _ = draw(60)
    methods = {"fast": timed(clock, 0.0), "slow": timed(clock, 2000 / 48)}
    comparison = compare(X, y, methods, cv=5, refit=False, **limits)
    slow = comparison.results[1]
    assert slow.method == "slow"
    assert 1 <= len(slow.folds) == len(methods["slow"].rows) < 5
    assert slow.incomplete.startswith(f"stopped after {len(slow.folds)} of 5 folds")
    assert slow.covering_rate == pytest.approx(np.mean([fold.covering_rate for fold in slow.folds]))
    assert comparison.best_method == "fast"


def test_a_budget_for_no_method_is_an_error(clock):
    """If no method has all its folds, the error names the method closest to it, the limit and the remedy."""
    X, y, _ = draw(60)
    message = (
        r"no method has finished; a: stopped after 1 of 5 folds: the budget .* Raise `budget` or `time_limit`, use"
    )
    with pytest.raises(InputError, match=message):
        compare(X, y, {"a": timed(clock, 3600.0)}, budget=1)
    with pytest.raises(InputError, match=r"of 5 folds: time limit 1 s. Raise `budget` or `time_limit`, use"):
        compare(X, y, {"slow": timed(clock, 7200.0), "fast": timed(clock, 3600.0)}, time_limit=1)


@pytest.mark.parametrize("fold", [1, 2])
def test_an_interruption_gives_the_best_so_far(clock, fold):
    """Ctrl-C in a fold of the second method: the first one is the best, and later ones have no fold."""
    X, y, _ = draw()
    methods = {
        "first": timed(clock, 1.0), "second": timed(clock, 1.0, interrupt_at=fold), "third": timed(clock, 1.0),
    }  # fmt: skip
    comparison = compare(X, y, methods, cv=2)
    assert comparison.is_interrupted
    assert comparison.best_method == "first"
    finished = "interrupted" if fold == 1 else "interrupted after 1 of 2 folds"
    assert reasons(comparison) == {"first": None, "second": finished, "third": "interrupted"}
    assert methods["first"].rows[2:] == [len(X)]
    assert methods["third"].rows == []


def test_an_interruption_without_a_result_is_raised(clock):
    """Ctrl-C before a method has all its folds, or in the final fit, ends the call; so does a request to end."""
    X, y, _ = draw()
    for fold in (2, 3):
        with pytest.raises(KeyboardInterrupt):
            compare(X, y, {"only": timed(clock, 1.0, interrupt_at=fold)}, cv=2)

    class Terminated(KeyboardInterrupt):
        pass

    class Ends(Frequencies):
        def fit(self, *_):
            raise Terminated

    with pytest.raises(Terminated):
        compare(X, y, {"first": timed(clock, 1.0), "ends": Ends()}, cv=2)
