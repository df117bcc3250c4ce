"""Laws of the comparison of methods."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

import oneof.comparison
from oneof import AvgPerceptron, CandidateSets, MaxPerceptron
from oneof.comparison import compare
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.metrics import covering_rate
from oneof.model_selection import CandidateKFold
from tests.blobs import Frequencies, draw


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts one class and has no scores."""

    def __init__(self, label="a"):
        self.label = label

    def fit(self, X, y):
        self.n_features_in_, self.classes_ = X.shape[1], y.classes
        return self

    def predict(self, X):
        return np.repeat(self.label, X.shape[0])


class Picky(Frequencies):
    """Raises unless the rows and the sets that it is given to learn from pass its checks."""

    def __init__(self, rows=None, sets=None):
        self.rows = rows
        self.sets = sets

    def fit(self, X, y):
        if (self.rows and not self.rows(X)) or (self.sets and not self.sets(y)):
            raise RuntimeError("not what was expected")
        return super().fit(X, y)


METHODS = {
    "average": make_pipeline(StandardScaler(), AvgPerceptron(n_epochs=3)),
    "maximum": make_pipeline(StandardScaler(), MaxPerceptron(n_epochs=3)),
    "frequencies": Frequencies(),
}


def rates(comparison):
    """Return what must not depend on clocks: names and held-out rates, best first."""
    return [
        (r.method, r.covering_rate, r.approximated_accuracy, [fold.covering_rate for fold in r.folds])
        for r in comparison.results
    ]


def test_each_number_is_the_loop_by_hand():
    """Fold by fold, every method is fitted on the training part and scored on the test part of CandidateKFold."""
    X, y, truth = draw()
    found = compare(X, y, METHODS, cv=3, truth=truth, random_state=4)
    for result in found.results:
        folds = CandidateKFold(3, random_state=4).split(X, y)
        for fold, (train, test) in zip(result.folds, folds, strict=True):
            predicted = clone(METHODS[result.method]).fit(X[train], y[train]).predict(X[test])
            assert fold.covering_rate == covering_rate(y[test], predicted)
            assert fold.accuracy == pytest.approx((predicted == truth[test]).mean())
            assert fold.approximated_accuracy <= fold.covering_rate
            assert fold.fit_seconds > 0
        assert result.covering_rate == pytest.approx(np.mean([fold.covering_rate for fold in result.folds]))
        assert result.covering_rate_std == pytest.approx(np.std([f.covering_rate for f in result.folds], ddof=1))
        assert result.accuracy == pytest.approx(np.mean([fold.accuracy for fold in result.folds]))
        assert result.fit_seconds == np.median([fold.fit_seconds for fold in result.folds])
    assert (found.n_folds, found.n_rows, found.n_classes) == (3, 60, 3)


def test_the_winner_covers_most_and_comes_first():
    """Results fall in covering rate; the winner is the first, whatever the order in which the methods are named."""
    X, y, _ = draw()
    for methods in (METHODS, dict(reversed(METHODS.items()))):
        found = compare(X, y, methods)
        order = [result.covering_rate for result in found.results]
        assert order == sorted(order, reverse=True)
        assert found.winner == found.results[0].method != "frequencies"


def test_among_equals_the_first_named_wins():
    """Methods that cover alike stay in the order given."""
    X, y, _ = draw()
    for names in (("one", "two", "three"), ("three", "one", "two")):
        found = compare(X, y, {name: Frequencies() for name in names})
        assert tuple(result.method for result in found.results) == names


def test_the_truth_fills_its_column_and_nothing_else():
    """Any permutation of the truth, or none, leaves the winner, the order and every other number alone."""
    X, y, truth = draw()
    plain = compare(X, y, METHODS, truth=None)
    assert all(result.accuracy is None and result.accuracy_std is None for result in plain.results)
    accuracies = []
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(truth)
        found = compare(X, y, METHODS, truth=shuffled)
        assert found.winner == plain.winner
        assert rates(found) == rates(plain)
        accuracies.append(tuple(result.accuracy for result in found.results))
    assert len(set(accuracies)) == 3


def test_the_truth_may_have_gaps_and_labels_of_its_own():
    """Rows without a truth are left out of the accuracy; a label that no set names is never right."""
    X, y, truth = draw()
    holes = truth.astype(object)
    holes[::3] = None
    holes[1] = "zebra"
    found = compare(X, y, {"a": Constant("a")}, truth=holes, cv=3)
    expected = [
        np.mean([holes[i] == "a" for i in test if holes[i] is not None])
        for _, test in CandidateKFold(3, random_state=0).split(X, y)
    ]
    assert [fold.accuracy for fold in found.results[0].folds] == pytest.approx(expected)
    nothing = compare(X, y, {"a": Constant("a")}, truth=[None] * len(X))
    assert nothing.results[0].accuracy is None


def test_a_method_that_fails_keeps_its_row_and_cannot_win():
    """One failing fold takes a method out of the running; its row says why, and the others are as without it."""
    X, y, truth = draw()
    row = np.flatnonzero(~y.is_unlabeled)[0]
    X[row, 0] = 99.0
    fails_once = Picky(rows=lambda X: 99.0 in X[:, 0])  # fails where that row is held out
    always = Picky(rows=lambda X: X is None)
    found = compare(X, y, {"always": always, **METHODS, "once": fails_once}, truth=truth)
    assert {result.method for result in found.results[-2:]} == {"always", "once"}
    for result in found.results[-2:]:
        assert result.error == "RuntimeError: not what was expected"
        assert sum(fold.error is not None for fold in result.folds) == {"once": 1, "always": 5}[result.method]
        assert math.isnan(result.covering_rate)
        assert result.accuracy is None
    assert rates(found)[:-2] == rates(compare(X, y, METHODS))
    assert "failed: RuntimeError: not what was expected" in str(found)
    with pytest.raises(InputError, match="every method failed; always said: RuntimeError"):
        compare(X, y, {"always": always})


def test_a_method_without_scores_has_no_approximated_accuracy():
    """Predictions suffice for the covering rate; the other number is unknown, and null in JSON."""
    X, y, _ = draw()
    found = compare(X, y, {"constant": Constant("b")})
    assert math.isnan(found.results[0].approximated_accuracy)
    assert found.to_dict()["results"][0]["approximated_accuracy"] is None


def test_every_fold_knows_all_classes_and_all_unlabeled_rows():
    """A class that a single row names is still a class of every fold, and no unlabeled row is ever held out."""
    X, y, _ = draw(n=40)
    sets = [*y.to_sets(), {"rare"}, None, None]
    X = np.vstack([X, X[:3]])
    silent = CandidateSets.from_sets(sets).is_unlabeled.sum()
    checks = {
        "classes": Picky(sets=lambda y: y.classes.tolist() == ["a", "b", "c", "rare"]),
        "unlabeled": Picky(sets=lambda y: y.is_unlabeled.sum() == silent),
    }
    assert silent == 2
    assert all(result.error is None for result in compare(X, sets, checks).results)


def test_tables_and_sparse_rows_reach_the_methods_as_they_are():
    """A DataFrame is cut by rows and stays one, a sparse matrix stays CSR; both give the numbers of the array."""
    X, y, _ = draw()
    expected = rates(compare(X, y, {"perceptron": AvgPerceptron()}))
    names = ["f0", "f1", "f2"]
    given = {
        "pandas": (pd.DataFrame(X, columns=names, index=np.arange(60)[::-1]), lambda X: isinstance(X, pd.DataFrame)),
        "polars": (pl.DataFrame(X, schema=names), lambda X: isinstance(X, pl.DataFrame)),
        "csr": (sp.csr_array(X), lambda X: X.format == "csr"),
        "csc": (sp.csc_matrix(X), lambda X: X.format == "csr"),
        "lists": (X.tolist(), lambda X: isinstance(X, np.ndarray)),
    }
    for name, (rows, check) in given.items():
        found = compare(rows, y, {"perceptron": AvgPerceptron(), "check": Picky(check)})
        assert [result.error for result in found.results] == [None, None], name
        assert [line for line in rates(found) if line[0] == "perceptron"] == expected, name


def test_a_pipeline_may_begin_with_a_table_encoder():
    """Columns of text reach the encoder by name."""
    X, y, _ = draw()
    frame = pd.DataFrame({"text": [f"{row[0]:.3f}" for row in X], "number": X[:, 1]})
    encoder = FunctionTransformer(lambda table: np.c_[table["text"].astype(float), table["number"]])
    found = compare(frame, y, {"encoded": make_pipeline(encoder, AvgPerceptron())})
    assert found.results[0].error is None


def test_every_form_of_y_compares_alike():
    """Sets of names and an indicator give the numbers of the CandidateSets."""
    X, y, _ = draw()
    expected = [line[1:] for line in rates(compare(X, y, METHODS))]
    for form in (y.to_sets(), y.to_indicator(), y.to_indicator(sparse=True)):
        assert [line[1:] for line in rates(compare(X, form, METHODS))] == expected


def test_progress_comes_after_every_fold_in_order():
    """The call tells how many folds are done, of how many, and of which method."""
    X, y, _ = draw()
    calls = []
    compare(X, y, METHODS, cv=3, progress=lambda *call: calls.append(call))
    assert [done for done, _, _ in calls] == list(range(1, 10))
    assert {total for _, total, _ in calls} == {9}
    assert [name for _, _, name in calls] == [name for name in METHODS for _ in range(3)]


def test_jobs_change_nothing_but_the_time():
    """Two processes give the numbers of one, and progress in the same order."""
    X, y, truth = draw()
    methods, calls = {name: METHODS[name] for name in ("average", "maximum")}, []
    both = compare(X, y, methods, cv=2, truth=truth, n_jobs=2, progress=lambda *call: calls.append(call[0]))
    assert rates(both) == rates(compare(X, y, methods, cv=2, truth=truth))
    assert calls == [1, 2, 3, 4]


def test_the_best_estimator_is_the_winner_not_fitted():
    """A fresh clone at every access, with the winner's parameters; the methods given stay unfitted too."""
    X, y, _ = draw()
    found = compare(X, y, METHODS)
    best = found.best_estimator
    assert best is not found.best_estimator
    assert str(best) == str(METHODS[found.winner])
    for estimator in (best[-1], METHODS[found.winner][-1]):
        with pytest.raises(NotFittedError):
            check_is_fitted(estimator)
    assert best.fit(X, y).score(X, y) > 0.5


def test_the_table_is_aligned_and_json_holds_it_all():
    """One line a method with the winner marked, columns of one width; to_dict survives JSON."""
    X, y, truth = draw()
    found = compare(X, y, METHODS, truth=truth)
    lines = str(found).splitlines()
    assert len(lines) == 1 + len(METHODS)
    assert [line[0] for line in lines] == [" ", "*", " ", " "]
    assert {len(line) for line in lines} == {len(lines[0])}
    assert all(word in lines[0] for word in ("method", "covering rate", "approx. accuracy", "accuracy", "fit time"))
    assert f"{found.results[0].covering_rate:.3f}" in lines[1]
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["winner"] == found.winner
    assert [row["method"] for row in again["results"]] == [result.method for result in found.results]
    assert again["results"][0]["folds"][0]["covering_rate"] == found.results[0].folds[0].covering_rate


def test_other_splitters_serve():
    """An iterable of row numbers takes the place of the folds."""
    X, y, _ = draw()
    halves = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    found = compare(X, y, METHODS, cv=halves)
    model = clone(METHODS["average"]).fit(X[:30], y[:30])
    average = next(result for result in found.results if result.method == "average")
    assert average.folds[0].covering_rate == covering_rate(y[30:], model.predict(X[30:]))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"methods": {}}, InputError, "methods is empty"),
        ({"methods": {"x": AvgPerceptron}}, InputTypeError, r"methods\['x'\] is no estimator"),
        ({"y": ["a"] * 10}, InputError, "X has 60 rows, but y has 10"),
        ({"y": ["a"] * 60}, LabelError, "only one class"),
        ({"truth": ["a"] * 10}, InputError, "truth has 10 labels, but y has 60"),
        ({"truth": [["a", "b"]] * 60}, LabelError, "row 0 of truth names several"),
        ({"cv": 61}, InputError, "fewer than the 61 folds"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_error(change, error, message):
    """Errors in the input are raised at once, and are not the failure of a method."""
    X, y, _ = draw()
    with pytest.raises(error, match=message):
        compare(**{"X": X, "y": y, "methods": METHODS, **change})


def test_the_module_can_be_called_like_its_function():
    """Python binds oneof.comparison to the module once it is imported; calling that compares all the same."""
    X, y, _ = draw()
    assert rates(oneof.compare(X, y, METHODS)) == rates(compare(X, y, METHODS))
