"""Tests of the comparison of methods."""

import importlib
import json
import math
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

import oneof.comparison
from oneof.comparison import compare
from oneof.comparison.criterion import expected_accuracies
from oneof.errors import InputError
from oneof.metrics import covering_rate
from oneof.model_selection import CandidateKFold, get_proba
from tests.blobs import Frequencies, draw
from tests.comparison.panel import METHODS, Checking, rates


class Constant(ClassifierMixin, BaseEstimator):
    """Classifier that predicts one class and has no scores."""

    def __init__(self, label="a"):
        self.label = label

    def fit(self, X, y):
        self.n_features_in_, self.classes_ = X.shape[1], y.classes
        return self

    def predict(self, X):
        return np.repeat(self.label, X.shape[0])


def test_each_number_equals_an_explicit_loop():
    """Fold by fold, every method is fitted on the training part and scored on the test part of CandidateKFold."""
    X, y, truth = draw()
    comparison = compare(X, y, METHODS, cv=3, truth=truth, random_state=4)
    for result in comparison.results:
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
    assert (comparison.n_folds, comparison.n_rows, comparison.n_classes) == (3, 60, 3)


def test_the_best_method_has_the_highest_expected_accuracy_and_is_first():
    """Results are sorted by expected accuracy and the best method is first, for any order of the methods."""
    X, y, _ = draw()
    for methods in (METHODS, dict(reversed(METHODS.items()))):
        comparison = compare(X, y, methods)
        order = [result.expected_accuracy for result in comparison.results]
        assert order == sorted(order, reverse=True)
        assert comparison.best_method == comparison.results[0].method != "frequencies"


def test_the_expected_accuracy_equals_the_criterion_on_an_explicit_loop():
    """The criterion gets the held-out predictions and probabilities of all folds, without the unlabeled rows."""
    X, y, _ = draw()
    masks, predictions, probabilities = [], {name: [] for name in METHODS}, {name: [] for name in METHODS}
    for train, test in CandidateKFold(3, random_state=4).split(X, y):
        masks.append(y.mask[test])
        for name, method in METHODS.items():
            model = clone(method).fit(X[train], y[train])
            predictions[name].append(np.searchsorted(y.classes, model.predict(X[test])))
            probabilities[name].append(get_proba(model, X[test]).proba.astype(np.float32))
    scores = expected_accuracies(
        np.concatenate(masks), *([np.concatenate(v) for v in d.values()] for d in (probabilities, predictions))
    )
    comparison = compare(X, y, METHODS, cv=3, random_state=4)
    for name, expected in zip(METHODS, scores, strict=True):
        result = next(result for result in comparison.results if result.method == name)
        assert result.expected_accuracy == pytest.approx(expected, abs=1e-9)
        assert all(fold.held_out is None for fold in result.folds)


def test_labels_outside_the_classes_and_missing_probabilities_are_valid():
    """A method that predicts a label of no set has expected accuracy 0; a method without scores has one vote a row."""
    X, y, _ = draw()
    with pytest.warns(UserWarning, match="Constant predicts 'zebra', which is not a class of `y`"):
        comparison = compare(X, y, {"other": Constant("zebra"), "a": Constant("a"), **METHODS})
    rates_by_name = {result.method: result for result in comparison.results}
    assert rates_by_name["other"].expected_accuracy == 0.0
    assert 0.0 < rates_by_name["a"].expected_accuracy <= rates_by_name["a"].covering_rate


def test_ties_are_broken_by_the_order_of_the_methods():
    """Methods with equal expected accuracies stay in the given order."""
    X, y, _ = draw()
    for names in (("one", "two", "three"), ("three", "one", "two")):
        comparison = compare(X, y, {name: Frequencies() for name in names})
        assert tuple(result.method for result in comparison.results) == names


def test_the_truth_changes_only_the_accuracy():
    """A permutation of the truth, or no truth, changes neither the best method, nor the order, nor another number."""
    X, y, truth = draw()
    without_truth = compare(X, y, METHODS, truth=None)
    assert all(result.accuracy is None and result.accuracy_std is None for result in without_truth.results)
    accuracies = []
    for seed in range(3):
        shuffled = truth.copy()
        some = np.arange(seed, len(truth), 3)
        shuffled[some] = np.random.default_rng(seed).permutation(truth[some])
        comparison = compare(X, y, METHODS, truth=shuffled)
        assert comparison.best_method == without_truth.best_method
        assert rates(comparison) == rates(without_truth)
        accuracies.append(tuple(result.accuracy for result in comparison.results))
    assert len(set(accuracies)) == 3


def test_a_truth_in_other_numbers_has_a_warning():
    """Codes in another order are valid labels; their share among the labels shows that they are not the truth."""
    X, y, truth = draw()
    names = np.unique(truth)
    turned = dict(zip(names.tolist(), np.roll(names, 1).tolist(), strict=True))
    with pytest.warns(UserWarning, match="% of the true labels are among the labels of their rows"):
        compare(X, y, {"a": Constant("a")}, truth=[turned[label] for label in truth.tolist()], cv=2)


def test_evaluation_counts_the_rows_without_a_part_in_the_accuracy():
    """Rows of all classes are held out by a list of splits only; otherwise `evaluation` has their number."""
    X, y, truth = draw()
    n_full = int(y.is_unlabeled.sum())
    assert n_full
    usual = compare(X, y, {"a": Constant("a")}, truth=truth, cv=3)
    assert usual.evaluation.endswith(f"(not {n_full} unlabeled rows with a truth)")
    assert (usual.n_held_out, usual.n_true_unlabeled) == (len(X) - n_full, n_full)
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    every = compare(X, y, {"a": Constant("a")}, truth=truth, cv=splits)
    assert every.evaluation == f"3 folds, {len(X)} held-out rows"
    assert (every.n_held_out, every.n_true, every.n_true_unlabeled) == (len(X), len(X), 0)


def test_the_truth_may_have_gaps_and_labels_of_its_own():
    """Rows without a truth do not enter the accuracy; a label that is in no set is never predicted."""
    X, y, truth = draw()
    holes = truth.astype(object)
    holes[::3] = None
    holes[1] = "zebra"
    with pytest.warns(UserWarning, match="`truth` has 'zebra' in row 1, which is not a class of `y`"):
        comparison = compare(X, y, {"a": Constant("a")}, truth=holes, cv=3)
    expected = [
        np.mean([holes[i] == "a" for i in test if holes[i] is not None])
        for _, test in CandidateKFold(3, random_state=0).split(X, y)
    ]
    assert [fold.accuracy for fold in comparison.results[0].folds] == pytest.approx(expected)
    without_truth = compare(X, y, {"a": Constant("a")}, truth=[None] * len(X))
    assert without_truth.results[0].accuracy is None


def test_a_failed_method_is_the_last_row():
    """A method with one failed fold is the last row, with its error; the other rows do not change."""
    X, y, truth = draw()
    row = np.flatnonzero(~y.is_unlabeled)[0]
    X[row, 0] = 99.0
    fails_once = Checking(rows=lambda X: 99.0 in X[:, 0])  # fails where that row is held out
    always = Checking(rows=lambda X: X is None)
    comparison = compare(X, y, {"always": always, **METHODS, "once": fails_once}, truth=truth)
    assert {result.method for result in comparison.results[-2:]} == {"always", "once"}
    for result in comparison.results[-2:]:
        assert result.error == "RuntimeError: unexpected rows"
        assert sum(fold.error is not None for fold in result.folds) == {"once": 1, "always": 5}[result.method]
        assert math.isnan(result.covering_rate)
        assert result.accuracy is None
    assert rates(comparison)[:-2] == rates(compare(X, y, METHODS))
    assert "failed: RuntimeError: unexpected rows" in str(comparison)
    with pytest.raises(InputError, match="every method failed; always raised RuntimeError"):
        compare(X, y, {"always": always})


def test_progress_is_reported_after_every_fold_in_order():
    """The callback gets the number of finished folds, the number of folds and the name of the method."""
    X, y, _ = draw()
    calls = []
    compare(X, y, METHODS, cv=3, refit=False, progress=lambda *call: calls.append(call))
    calls = [call for call in calls if call[2] in METHODS]
    assert [done for done, _, _, _ in calls] == list(range(1, 10))
    assert {total for _, total, _, _ in calls} == {9}
    assert [name for _, _, name, _ in calls] == [name for name in METHODS for _ in range(3)]


def test_the_best_estimator_is_fitted_on_all_rows():
    """It predicts as a clone of the best method fitted on all rows; the given estimators stay unfitted."""
    X, y, _ = draw()
    comparison = compare(X, y, METHODS)
    expected = clone(METHODS[comparison.best_method]).fit(X, y)
    np.testing.assert_array_equal(comparison.best_estimator.predict(X), expected.predict(X))
    unfitted = compare(X, y, METHODS, refit=False).best_estimator
    assert str(unfitted) == str(METHODS[comparison.best_method])
    for estimator in (unfitted[-1], METHODS[comparison.best_method][-1]):
        with pytest.raises(NotFittedError):
            check_is_fitted(estimator)


def test_the_table_is_aligned_and_to_dict_is_json():
    """The table has one line per method, marks the best one and is aligned; to_dict survives JSON."""
    X, y, truth = draw()
    comparison = compare(X, y, METHODS, truth=truth)
    lines = str(comparison).splitlines()
    assert len(lines) == 1 + len(METHODS)
    assert [line[0] for line in lines] == [" ", "*", " ", " "]
    assert {len(line) for line in lines} == {len(lines[0])}
    assert all(word in lines[0] for word in ("method", "covering rate", "approx. accuracy", "accuracy", "fit time"))
    assert f"{comparison.results[0].covering_rate:.3f}" in lines[1]
    again = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert again["best_method"] == comparison.best_method
    assert [row["method"] for row in again["results"]] == [result.method for result in comparison.results]
    assert again["results"][0]["folds"][0]["covering_rate"] == comparison.results[0].folds[0].covering_rate


def test_oneof_compare_remains_the_function():
    """Importing `oneof.comparison` leaves `oneof.compare` the function, and the package is an ordinary module."""
    assert importlib.import_module("oneof.comparison") is oneof.comparison
    assert oneof.compare is compare
    assert type(oneof.comparison) is ModuleType
    assert not callable(oneof.comparison)
