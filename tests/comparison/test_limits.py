"""Tests of the estimates of time, the budget, the time limit and interruptions of a comparison, with a fake clock."""

import math
from typing import ClassVar

import joblib
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from oneof import PLKNN, AvgPerceptron
from oneof.comparison import compare, folds
from oneof.comparison.cost import MIN_SAMPLE_ROWS, estimate_seconds
from oneof.comparison.folds import check_task, make_folds
from oneof.comparison.results import format_duration
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


@pytest.mark.parametrize("exponent", [1.0, 1.7, 3.0])
def test_the_time_of_a_power_law_is_extrapolated_exactly(exponent):
    """If the time is a power of the number of rows, the estimate is the time of all rows."""
    seconds = estimate_seconds(lambda n: 1e-6 * n**exponent, 50_000, enough=1e9, patience=1e9)
    assert seconds == pytest.approx(1e-6 * 50_000**exponent)


def test_growth_is_at_least_linear_and_at_most_cubic():
    """A constant time is extrapolated linearly, and a time that grows faster than the cube as the cube."""
    n = 2 * MIN_SAMPLE_ROWS
    assert estimate_seconds(lambda _: 1.0, 8 * n, enough=1e9, patience=0.0) == pytest.approx(8)
    assert estimate_seconds(lambda size: size**5.0, 8 * n, enough=0.0, patience=0.0) == pytest.approx(n**5 * 8**3)


def test_samples_grow_until_the_estimate_is_low_or_a_sample_is_long():
    """The first run is repeated; sizes double up to half of the rows, or until a sample exceeds the patience."""

    def sizes(exponent, **options):
        calls = []
        estimate_seconds(lambda n: calls.append(n) or (n / 1000) ** exponent, 100_000, **options)
        return calls

    assert sizes(1, enough=1e9, patience=1e9) == [250, 250, 500, 1000, 2000]
    assert sizes(1, enough=0.0, patience=1e9)[-1] == 32_000
    assert sizes(2, enough=0.0, patience=3.0) == [250, 250, 500, 1000, 2000]


def test_landmarks_do_not_raise_the_estimate():
    """A time that is cubic up to 1,000 landmarks and then linear is recognized as linear if that decides."""

    def run(n):
        return min(n / 1000, 1) ** 3 * max(n / 1000, 1)

    assert estimate_seconds(run, 1_000_000, enough=3600, patience=60) == pytest.approx(1000)


def test_unknown_times_are_nan():
    """Few rows need no estimate, and failed samples give none; a single failed sample does not matter."""
    assert math.isnan(estimate_seconds(lambda _: pytest.fail("no run"), 999, enough=1, patience=1))
    assert math.isnan(estimate_seconds(lambda _: math.nan, 9999, enough=1, patience=1))
    seconds = estimate_seconds(lambda n: math.nan if n < 500 else n / 1000, 16_000, enough=100, patience=1)
    assert seconds == pytest.approx(16)


def test_cheap_methods_are_fitted_first_and_the_table_keeps_its_order(clock):
    """With a budget the order of the fits is the order of the costs; equal rates keep the order of `methods`."""
    X, y, _ = draw(3000)
    calls = []
    methods = {"slow": timed(clock, 20.0), "fast": timed(clock, 0.1), "middle": timed(clock, 2.0)}
    comparison = compare(X, y, methods, budget=60, cv=2, progress=lambda *call: calls.append(call), refit=False)
    assert [name for done, _, name, _ in calls if done and name in methods] == [
        "fast",
        "fast",
        "middle",
        "middle",
        "slow",
        "slow",
    ]
    assert names(comparison) == ["slow", "fast", "middle"]
    assert set(reasons(comparison).values()) == {None}


def test_slow_methods_are_estimated_last(clock):
    """Samples of a slow method come after those of the others, whose times are then known if the samples are long."""
    X, y, _ = draw(3000)
    calls = []
    methods = {"PLGP": timed(clock, 40.0), "CandidateEM": timed(clock, 40.0), "fast": timed(clock, 0.1)}
    progress = lambda *call: calls.append(call)  # noqa: E731
    comparison = compare(X, y, methods, budget=1, cv=2, progress=progress, refit=False)
    assert [name for *_, name, _ in calls if name.startswith("time of")] == ["time of fast", "time of PLGP"]
    results = {result.method: result for result in comparison.results}
    n_train = sum(len(train) for train, _ in make_folds(check_task(X, y, None), 2, 0)) / 1000
    assert results["fast"].estimated_seconds == pytest.approx(0.1 * n_train, rel=0.01)
    assert results["fast"].incomplete is None
    assert results["PLGP"].folds == ()


def test_samples_end_after_a_quarter_of_the_budget(clock):
    """No sample begins after a quarter of the budget, and a method without an estimate is not fitted to a fold."""
    X, y, _ = draw(3000)
    methods = {name: timed(clock, 10.0) for name in "abcdefgh"}
    comparison = compare(X, y, methods, budget=1, cv=1, refit=False)
    n_samples = [len(method.rows) for method in methods.values()]
    assert comparison.best_method == "a"
    assert n_samples[-1] == 0
    assert reasons(comparison)["h"].startswith("left out: not estimated")
    assert clock() <= 60


def test_a_sample_above_the_budget_is_the_last_one(clock):
    """A method whose linear extrapolation of the first sample exceeds the budget has no larger sample."""
    X, y, _ = draw(3000)
    methods = {"slow": timed(clock, 26.0), "fast": timed(clock, 0.1)}
    comparison = compare(X, y, methods, budget=1, cv=1, refit=False)
    assert set(methods["slow"].rows) == {MIN_SAMPLE_ROWS}
    assert reasons(comparison)["slow"].startswith("left out: about")


def test_online_methods_are_estimated_first():
    """The times of the fastest kinds of methods are estimated before those of kernel and graph methods."""
    X, y, _ = draw(1300)
    calls = []
    names = ["LOORidge", "PLKNN", "AvgPerceptron"]
    compare(X, y, names, budget=60, cv=1, refit=False, progress=lambda *call: calls.append(call[2]))
    timed_names = [name.removeprefix("time of ") for name in calls if name.startswith("time of ")]
    assert timed_names == ["AvgPerceptron", "LOORidge", "PLKNN"]


def test_each_phase_is_announced_before_it_begins(clock):
    """The progress names the method before its fit, then the baseline and the final fit."""
    X, y, _ = draw(60)
    calls = []
    compare(X, y, {"it": timed(clock, 1.0)}, cv=2, progress=lambda *call: calls.append(call[2]))
    assert calls == ["fitting it", "it", "it", "simple baseline", "it on all rows"]


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


def test_the_progress_has_the_time_left(clock):
    """After each fold the callback gets the time of the remaining folds, which is exact for a power law."""
    X, y, _ = draw(3000)
    calls = []
    methods = {"slow": timed(clock, 20.0), "fast": timed(clock, 1.0)}
    compare(X, y, methods, budget=60, cv=2, progress=lambda *call: calls.append(call), refit=False)
    n_train = np.mean([len(train) for train, _ in make_folds(check_task(X, y, None), 2, 0)]) / 1000
    left = [seconds for done, _, name, seconds in calls if done and name in methods]
    assert left == pytest.approx([41 * n_train, 40 * n_train, 20 * n_train, 0], rel=0.01)


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


def test_ctrl_c_in_the_estimates_says_that_nothing_was_compared(clock):
    """An interruption while times are estimated is raised with a sentence; one without a result has another."""
    X, y, _ = draw(3000)
    with pytest.raises(KeyboardInterrupt, match="no method was compared"):
        compare(X, y, {"a": timed(clock, 1.0, interrupt_at=2)}, budget=1)
    with pytest.raises(KeyboardInterrupt, match="before a method was compared on all folds"):
        compare(X, y, {"a": timed(clock, 1.0, interrupt_at=2)}, cv=2)


def test_methods_above_the_budget_are_left_out(clock):
    """A method whose folds do not fit into the remaining time is not fitted, and the table names the estimate."""
    X, y, _ = draw(3000)
    methods = {"slow": timed(clock, 60.0, 3.0), "fast": timed(clock, 1.0)}
    n_samples = len(methods["slow"].rows)
    comparison = compare(X, y, methods, budget=1, cv=1, refit=False)
    assert names(comparison) == ["fast", "slow"]
    n_train = len(make_folds(check_task(X, y, None), 1, 0)[0][0])
    assert max(methods["slow"].rows[n_samples:]) <= n_train / 2
    slow = comparison.results[1]
    assert slow.estimated_seconds == pytest.approx(60 * (n_train / 1000) ** 3)
    assert slow.incomplete.startswith(f"left out: about {format_duration(slow.estimated_seconds)} estimated")
    assert slow.folds == ()
    assert math.isnan(slow.covering_rate)
    assert slow.incomplete in str(comparison)
    assert comparison.to_dict()["results"][1]["covering_rate"] is None


def test_the_time_limit_is_for_each_method(clock):
    """Methods above the limit are left out; several methods together may exceed it."""
    X, y, _ = draw(3000)
    methods = {"a": timed(clock, 2.0), "b": timed(clock, 2.0), "slow": timed(clock, 200.0)}
    comparison = compare(X, y, methods, time_limit=7, cv=2, refit=False)
    assert reasons(comparison)["a"] is reasons(comparison)["b"] is None
    assert "time limit 7 s" in reasons(comparison)["slow"]


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
    """If no method has all its folds, the error names the method closest to it, its estimate and the remedy."""
    X, y, _ = draw(3000)
    with pytest.raises(InputError, match=r"no method has finished; a: left out: .* Raise `budget`, use one fold"):
        compare(X, y, {"a": timed(clock, 3600.0)}, budget=1)
    methods = {"slow": timed(clock, 7200.0), "fast": timed(clock, 3600.0)}
    with pytest.raises(
        InputError, match=r"; fast: left out: about .* estimated, time limit 1 s. Raise `time_limit`, use"
    ):
        compare(X, y, methods, time_limit=1)


def test_without_limits_nothing_is_estimated(clock):
    """Each method is fitted once for each fold, and once more if it is refitted."""
    X, y, _ = draw(3000)
    method = timed(clock, 1.0)
    compare(X, y, {"it": method}, cv=3, refit=False)
    assert len(method.rows) == 3
    compare(X, y, {"it": method}, cv=3)
    assert method.rows[6:] == [len(X)]


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


def test_limits_do_not_depend_on_the_number_of_jobs():
    """Two processes give the rates of one, with a budget that no method exceeds."""
    X, y, _ = draw()
    one, two = (compare(X, y, {"a": Frequencies()}, cv=3, n_jobs=n, budget=5, refit=False) for n in (1, 2))
    assert [f.covering_rate for f in one.results[0].folds] == [f.covering_rate for f in two.results[0].folds]


class OneThread(Frequencies):
    """Classifier that raises if BLAS may use several threads."""

    def fit(self, X, y):
        n_threads = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
        if n_threads != {1}:
            raise RuntimeError(f"BLAS has {n_threads} threads")
        return super().fit(X, y)


def test_parallel_folds_have_one_blas_thread():
    """Folds that run at the same time have one BLAS thread each; sequential folds use all threads."""
    X, y, _ = draw()
    with threadpool_limits(2, user_api="blas"), joblib.parallel_config(backend="threading"):
        assert compare(X, y, {"a": OneThread()}, cv=2, n_jobs=2, refit=False).results[0].error is None
        with pytest.raises(InputError, match="every method failed"):
            compare(X, y, {"a": OneThread()}, cv=2, n_jobs=1)


@pytest.mark.parametrize("name", ["budget", "time_limit"])
@pytest.mark.parametrize("limit", [0, -1.0, math.inf, "all day"])
def test_invalid_limits_are_an_error(name, limit):
    """A limit must be a finite number above 0."""
    X, y, _ = draw()
    with pytest.raises(InputError, match="must be a number above 0 or None"):
        compare(X, y, {"it": Frequencies()}, **{name: limit})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.21, "0.2 s"),
        (9.4, "9 s"),
        (12.2, "12 s"),
        (204, "3.4 min"),
        (7200, "2.0 h"),
        (1e7, "2,777.8 h"),
    ],
)
def test_durations_have_their_unit(seconds, text):
    """Times are in seconds, minutes or hours."""
    assert format_duration(seconds) == text
