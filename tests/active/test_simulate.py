"""Laws of learning with queries."""

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oneof
from oneof.active import query, simulate
from oneof.errors import InputError, InputTypeError, LabelError
from tests.active.dense import RidgeLogistic


class Recording:
    """A column of labels that keeps what was read of it."""

    def __init__(self, labels):
        self.labels, self.read = list(labels), []

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, row):
        self.read.append(row)
        return self.labels[row]


def task(n=60, seed=0, names="ab"):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(names), n)
    X = rng.normal(size=(n, 3)) + 2 * np.eye(3)[codes]
    return X, np.array(list(names))[codes]


ESTIMATORS = [
    LogisticRegression(),
    RidgeLogistic(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    oneof.PLEM(),
    oneof.HarmonicField(),
    make_pipeline(StandardScaler(), oneof.HarmonicField()),
]


@pytest.mark.parametrize(
    ("estimator", "strategy"),
    [*itertools.product(ESTIMATORS, ["entropy", "margin", "random"]), (RidgeLogistic(), "information")],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else value,
)
def test_no_label_is_read_that_was_not_queried(estimator, strategy):
    X, y = task(names="abc")
    start = [int(np.flatnonzero(y == name)[0]) for name in "abc"]
    oracle = Recording(y)
    run = simulate(
        estimator, X, oracle, start=start, n_queries=7, batch=3, strategy=strategy, X_test=X, y_test=y, random_state=0
    )
    assert oracle.read == [*start, *run.indices.tolist()]
    assert run.start.tolist() == start
    assert len(set(oracle.read)) == len(oracle.read)
    assert run.n_labeled.tolist() == [3, 6, 9, 10]
    assert len(run.scores) == 7
    for point, size in enumerate(run.n_labeled):
        shown = y[oracle.read[:size]]
        assert run.found[point].tolist() == [np.count_nonzero(shown == name) for name in run.classes]


def test_without_test_rows_the_others_are_read_after_the_last_query():
    X, y = task()
    oracle = Recording(y)
    run = simulate(LogisticRegression(), X, oracle, start=5, n_queries=10, strategy="entropy", random_state=1)
    assert oracle.read[:15] == [*run.start.tolist(), *run.indices.tolist()]
    labeled = oracle.read[:10]
    rest = np.setdiff1d(np.arange(60), labeled)
    model = LogisticRegression().fit(X[np.sort(labeled)], y[np.sort(labeled)])
    assert run.accuracy[5] == pytest.approx(model.score(X[rest], y[rest]))


def test_every_round_is_a_query_of_the_model_that_was_fitted_so_far():
    X, y = task(names="abc")
    run = simulate(RidgeLogistic(), X, y, start=[*range(12)], n_queries=8, batch=4, X_test=X, y_test=y)
    known = list(range(12))
    for point in range(2):
        rest = np.setdiff1d(np.arange(60), known)
        model = RidgeLogistic().fit(X[np.sort(known)], y[np.sort(known)])
        asked = query(model, X[rest], 4)
        assert run.indices[4 * point : 4 * point + 4].tolist() == rest[asked.indices].tolist()
        np.testing.assert_allclose(run.scores[4 * point : 4 * point + 4], asked.scores)
        assert run.accuracy[point] == model.score(X, y)
        known += rest[asked.indices].tolist()


def test_estimators_of_the_library_learn_from_all_rows_and_others_from_those_labeled():
    seen = []

    class Watching(oneof.HarmonicField):
        def fit(self, X, y):
            seen.append((X.shape[0], int(y.is_exact.sum()), int(y.is_unlabeled.sum())))
            return super().fit(X, y)

    class Supervised(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            seen.append((X.shape[0], len(y)))
            self.label_ = y[0]
            return self

        def predict(self, X):
            return np.full(len(X), self.label_)

    X, y = task()
    run = simulate(Watching(), X, y, start=4, n_queries=2, strategy="random", random_state=1)
    rest = np.setdiff1d(np.arange(60), run.start)
    labels = np.full(60, None, dtype=object)
    labels[run.start] = y[run.start]
    assert run.accuracy[0] == np.mean(oneof.HarmonicField().fit(X, labels).transduction_[rest] == y[rest])
    assert seen == [(60, 4, 56), (60, 5, 55), (60, 6, 54)]
    seen.clear()
    simulate(Supervised(), X, y, start=4, n_queries=2, strategy="random", random_state=1)
    assert seen == [(4, 4), (5, 5), (6, 6)]


def test_a_number_of_rows_grows_until_two_classes_are_shown():
    X = np.arange(50.0)[:, None]
    y = np.array(["b"] * 48 + ["a"] * 2)
    options = {"start": 2, "n_queries": 1, "strategy": "random"}
    runs = [simulate(LogisticRegression(), X, y, **options, random_state=seed) for seed in (0, 0, 1)]
    for run in runs:
        assert run.n_labeled[0] >= 2
        assert set(y[run.start]) == {"a", "b"}
        assert len(run.start) == 2 or set(y[run.start[:-1]]) == {"b"}
    assert runs[0].start.tolist() == runs[1].start.tolist() != runs[2].start.tolist()
    assert runs[0].indices.tolist() == runs[1].indices.tolist()


def test_classes_may_be_met_late_and_a_pool_may_be_used_up():
    X, y = task(n=30, names="abc")
    y[y == "c"], y[-1] = "a", "c"
    start = [int(np.flatnonzero(y == name)[0]) for name in "ab"]
    run = simulate(oneof.PLEM(fit_intercept=True), X, y, start=start, n_queries=28, batch=9, strategy="entropy")
    assert run.classes.tolist() == ["a", "b", "c"]
    assert run.found[0].tolist() == [1, 1, 0]
    assert run.found[-1].sum() == 30
    assert np.isnan(run.accuracy[-1])
    assert np.isfinite(run.accuracy[:-1]).all()


@pytest.mark.parametrize("labels", [[-1, 1], [0, 1], [True, False]], ids=str)
def test_labels_may_be_signs_numbers_or_truth_values(labels):
    X, y = task(names="ab")
    y = np.array(labels)[(y == "a").astype(int)]
    for estimator in (oneof.PLEM(fit_intercept=True), LogisticRegression()):
        run = simulate(estimator, X, y, start=6, n_queries=4, strategy="entropy", random_state=0)
        assert set(run.classes.tolist()) == set(labels)
        assert run.accuracy[-1] > 0.7


def test_rows_and_labels_may_come_in_any_form():
    X, y = task()
    expected = simulate(LogisticRegression(), X, y, start=6, n_queries=4, strategy="margin", random_state=0)
    frame, column = pd.DataFrame(X, index=range(100, 160)), pd.Series(y, index=range(100, 160))
    for rows, labels in ((frame, column), (X.tolist(), y.tolist()), (sp.coo_matrix(X), y)):
        run = simulate(LogisticRegression(), rows, labels, start=6, n_queries=4, strategy="margin", random_state=0)
        assert run.indices.tolist() == expected.indices.tolist()
        np.testing.assert_array_equal(run.accuracy, expected.accuracy)
    mask = np.zeros(60, dtype=bool)
    mask[expected.start] = True
    again = simulate(LogisticRegression(), X, y, start=mask, n_queries=4, strategy="margin")
    assert again.indices.tolist() == expected.indices.tolist()


def test_the_result_is_frozen_and_the_estimator_is_left_alone():
    X, y = task()
    estimator = LogisticRegression()
    run = simulate(estimator, X, y, start=6, n_queries=0)
    assert not hasattr(estimator, "coef_")
    assert run.indices.shape == (0,)
    assert run.accuracy.shape == (1,)
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.accuracy = None


def test_what_cannot_be_simulated_is_said_in_one_sentence():
    X, y = task()
    a = np.flatnonzero(y == "a")

    def run(match, error=InputError, *, estimator=ESTIMATORS[0], X=X, y=y, **options):
        with pytest.raises(error, match=match):
            simulate(estimator, X, y, **{"start": 6, "n_queries": 2, "strategy": "random", **options})

    run("of 60 rows, 54 have no label at the start", n_queries=55, start=[*range(6)])
    run("X has 60 rows, but y has 59 labels", y=y[:59])
    run("y should be a column", y=np.zeros((60, 2)))
    run("y should be a column", y=5)
    run("y should be a column", y=oneof.CandidateSets.from_labels(y))
    run("X_test and y_test belong together", X_test=X)
    run("X_test has 60 rows, but y_test has 3", X_test=X, y_test=y[:3])
    run("all 3 rows labeled at the start are of class 'a'", start=a[:3])
    run("start is empty", start=np.zeros(0, dtype=int))
    run("start names row 60, but X has rows 0 to 59", start=[0, 60])
    run("start names row -1", start=[0, -1])
    run("every row once", start=[0, 0, 1])
    run("start should be a number, or the rows", start=["a"])
    run("start should be a number, or the rows", start=[[0], [1, 2]])
    run("start=61 is not possible", start=61)
    run("start=0 is not possible", start=0)
    run("estimator=None is no estimator", InputTypeError, estimator=None)
    run("give an object with get_params", InputTypeError, estimator=LogisticRegression)
    run("batch=0 is not possible", batch=0)
    run("n_queries=-1 is not possible", n_queries=-1)
    run("strategy='best' is not possible", strategy="best")
    run("has no posterior", strategy="information")
    run("all 60 rows labeled at the start are of class 'a'", y=np.full(60, "a"))
    run("row [0-9]+ was queried, but y has no label for it", LabelError, y=np.full(60, None))
    run(r"y\[[0-9]+\] is \[1\], which is no label", LabelError, y=[[1]] * 60)


def test_what_cannot_be_used_is_said_before_the_first_fit():
    """An unknown strategy, or labels of the test rows that are too few, do not wait for the end of the run."""

    class NeverFitted(LogisticRegression):
        def fit(self, *_):
            raise AssertionError("this was to be refused first")

    X, y = np.arange(12.0)[:, None], np.repeat([0, 1], 6)
    for options, words in (
        ({"strategy": "best"}, "strategy"),
        ({"X_test": X, "y_test": y[:5]}, "y_test"),
        ({"start": []}, "start is empty"),
    ):
        with pytest.raises(InputError, match=words):
            simulate(NeverFitted(), X, y, **{"start": [0, 11], "n_queries": 2, "strategy": "random"} | options)
