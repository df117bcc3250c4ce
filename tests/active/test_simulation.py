"""Properties of simulated active learning."""

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
from tests.solvers.active.dense import RidgeLogistic


class Recording:
    """Column of labels that records the rows that were read."""

    def __init__(self, labels):
        self.labels, self.read = list(labels), []

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, row):
        self.read.append(row)
        return self.labels[row]


def make_task(n=60, seed=0, names="ab"):
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
    [*itertools.product(ESTIMATORS, ["entropy", "margin", "random"]), (RidgeLogistic(), "mutual_information")],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else value,
)
def test_only_queried_labels_are_read(estimator, strategy):
    """The oracle is read in the order of the queries, each label once."""
    X, y = make_task(names="abc")
    start = [int(np.flatnonzero(y == name)[0]) for name in "abc"]
    oracle = Recording(y)
    run = simulate(
        estimator,
        X,
        oracle,
        start=start,
        n_queries=7,
        batch_size=3,
        strategy=strategy,
        X_test=X,
        y_test=y,
        random_state=0,
    )
    assert oracle.read == [*start, *run.indices.tolist()]
    assert run.initial_indices.tolist() == start
    assert len(set(oracle.read)) == len(oracle.read)
    assert run.n_labeled.tolist() == [3, 6, 9, 10]
    assert len(run.utilities) == 7
    for point, size in enumerate(run.n_labeled):
        revealed = y[oracle.read[:size]]
        assert run.class_counts[point].tolist() == [np.count_nonzero(revealed == name) for name in run.classes]


def test_without_test_rows_other_labels_are_read_after_the_last_query():
    """Without test rows, the accuracy is that on the unlabeled rows, whose labels are read at the end."""
    X, y = make_task()
    oracle = Recording(y)
    run = simulate(LogisticRegression(), X, oracle, start=5, n_queries=10, strategy="entropy", random_state=1)
    assert oracle.read[:15] == [*run.initial_indices.tolist(), *run.indices.tolist()]
    labeled = oracle.read[:10]
    unlabeled = np.setdiff1d(np.arange(60), labeled)
    model = LogisticRegression().fit(X[np.sort(labeled)], y[np.sort(labeled)])
    assert run.accuracy[5] == pytest.approx(model.score(X[unlabeled], y[unlabeled]))


def test_every_batch_is_a_query_of_the_current_model():
    """A batch equals a query of the model that is fitted to the labels so far."""
    X, y = make_task(names="abc")
    run = simulate(RidgeLogistic(), X, y, start=[*range(12)], n_queries=8, batch_size=4, X_test=X, y_test=y)
    labeled = list(range(12))
    for point in range(2):
        unlabeled = np.setdiff1d(np.arange(60), labeled)
        model = RidgeLogistic().fit(X[np.sort(labeled)], y[np.sort(labeled)])
        result = query(model, X[unlabeled], 4)
        assert run.indices[4 * point : 4 * point + 4].tolist() == unlabeled[result.indices].tolist()
        np.testing.assert_allclose(run.utilities[4 * point : 4 * point + 4], result.utilities)
        assert run.accuracy[point] == model.score(X, y)
        labeled += unlabeled[result.indices].tolist()


def test_estimators_of_this_library_are_fitted_to_all_rows_and_others_to_labeled_ones():
    """Estimators of this library get full sets for unlabeled rows; others get the labeled rows only."""
    calls = []

    class Watching(oneof.HarmonicField):
        def fit(self, X, y):
            calls.append((X.shape[0], int(y.is_exact.sum()), int(y.is_unlabeled.sum())))
            return super().fit(X, y)

    class Supervised(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            calls.append((X.shape[0], len(y)))
            self.label_ = y[0]
            return self

        def predict(self, X):
            return np.full(len(X), self.label_)

    X, y = make_task()
    run = simulate(Watching(), X, y, start=4, n_queries=2, strategy="random", random_state=1)
    unlabeled = np.setdiff1d(np.arange(60), run.initial_indices)
    labels = np.full(60, None, dtype=object)
    labels[run.initial_indices] = y[run.initial_indices]
    assert run.accuracy[0] == np.mean(oneof.HarmonicField().fit(X, labels).transduction_[unlabeled] == y[unlabeled])
    assert calls == [(60, 4, 56), (60, 5, 55), (60, 6, 54)]
    calls.clear()
    simulate(Supervised(), X, y, start=4, n_queries=2, strategy="random", random_state=1)
    assert calls == [(4, 4), (5, 5), (6, 6)]


def test_a_number_of_initial_rows_grows_until_there_are_two_classes():
    """With a number as `start`, rows are drawn until two classes are revealed; one seed gives one simulation."""
    X = np.arange(50.0)[:, None]
    y = np.array(["b"] * 48 + ["a"] * 2)
    options = {"start": 2, "n_queries": 1, "strategy": "random"}
    runs = [simulate(LogisticRegression(), X, y, **options, random_state=seed) for seed in (0, 0, 1)]
    for run in runs:
        assert run.n_labeled[0] >= 2
        assert set(y[run.initial_indices]) == {"a", "b"}
        assert len(run.initial_indices) == 2 or set(y[run.initial_indices[:-1]]) == {"b"}
    assert runs[0].initial_indices.tolist() == runs[1].initial_indices.tolist() != runs[2].initial_indices.tolist()
    assert runs[0].indices.tolist() == runs[1].indices.tolist()


def test_late_classes_and_an_exhausted_pool():
    """A class may be revealed after the start; with all rows labeled the accuracy is NaN."""
    X, y = make_task(n=30, names="abc")
    y[y == "c"], y[-1] = "a", "c"
    start = [int(np.flatnonzero(y == name)[0]) for name in "ab"]
    run = simulate(oneof.PLEM(fit_intercept=True), X, y, start=start, n_queries=28, batch_size=9, strategy="entropy")
    assert run.classes.tolist() == ["a", "b", "c"]
    assert run.class_counts[0].tolist() == [1, 1, 0]
    assert run.class_counts[-1].sum() == 30
    assert np.isnan(run.accuracy[-1])
    assert np.isfinite(run.accuracy[:-1]).all()


def test_rows_and_labels_in_any_form():
    """Tables, lists and sparse rows, and a mask as `start`, give the simulation of arrays."""
    X, y = make_task()
    expected = simulate(LogisticRegression(), X, y, start=6, n_queries=4, strategy="margin", random_state=0)
    frame, column = pd.DataFrame(X, index=range(100, 160)), pd.Series(y, index=range(100, 160))
    for rows, labels in ((frame, column), (X.tolist(), y.tolist()), (sp.coo_matrix(X), y)):
        run = simulate(LogisticRegression(), rows, labels, start=6, n_queries=4, strategy="margin", random_state=0)
        assert run.indices.tolist() == expected.indices.tolist()
        np.testing.assert_array_equal(run.accuracy, expected.accuracy)
    mask = np.zeros(60, dtype=bool)
    mask[expected.initial_indices] = True
    again = simulate(LogisticRegression(), X, y, start=mask, n_queries=4, strategy="margin")
    assert again.indices.tolist() == expected.indices.tolist()


def test_errors_name_the_argument():
    """An error names the argument that is not valid, and its value."""
    X, y = make_task()
    a = np.flatnonzero(y == "a")

    def run(match, error=InputError, *, estimator=ESTIMATORS[0], X=X, y=y, **options):
        with pytest.raises(error, match=match):
            simulate(estimator, X, y, **{"start": 6, "n_queries": 2, "strategy": "random", **options})

    run(r"`n_queries` must be at most 54, .* 60 rows .* got 55", n_queries=55, start=[*range(6)])
    run("`y` must have one label for each of the 60 rows of `X`; got 59", y=y[:59])
    run("`y` must be a column", y=np.zeros((60, 2)))
    run("`y` must be a column", y=5)
    run("`y` must be a column", y=oneof.CandidateSets.from_labels(y))
    run("`X_test` and `y_test` must be passed together", X_test=X)
    run("`y_test` must have one label for each of the 60 rows of `X_test`; got 3", X_test=X, y_test=y[:3])
    run("got 3 rows, all of class 'a'", start=a[:3])
    run(r"`start` .* got no rows", start=np.zeros(0, dtype=int))
    for start in ([0, 60], [0, -1], [0, 0, 1], ["a"]):
        run("`start` must be a number of rows, or distinct indices from 0 to 59; got ", start=start)
    run("`start` must be an array", start=[[0], [1, 2]])
    run(r"`start` must be at most 60, .* got 61", start=61)
    run(r"estimator.*None", InputTypeError, estimator=None)
    run("get_params and fit", InputTypeError, estimator=LogisticRegression)
    run("require a posterior", strategy="mutual_information")
    run("got 60 rows, all of class 'a'", y=np.full(60, "a"))
    run("row [0-9]+ was queried, but `y` has no label for it", LabelError, y=np.full(60, None))
    run(r"`y\[[0-9]+\]` must be the one true label of the row; got \[1\]", LabelError, y=[[1]] * 60)
