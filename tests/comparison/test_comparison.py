"""Tests of the comparison of methods."""

import importlib
import io
import json
import math
import sys
from types import ModuleType
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

import oneof.comparison
from oneof import CLPL, PLEM, PLKNN, CandidateSets, LOORidge
from oneof.comparison import compare
from oneof.comparison import comparison as comparison_module
from oneof.comparison.criterion import expected_accuracies
from oneof.comparison.folds import check_task, make_folds
from oneof.datasets import make_partial_labels
from oneof.errors import InputError, MissingExtraError
from oneof.metrics import covering_rate
from oneof.model_selection import CandidateKFold, get_proba
from oneof.typing import Floats, Ints
from tests.blobs import Constant, Frequencies, draw
from tests.comparison.panel import METHODS, Checking, rates
from tests.oracles import criterion as oracle


def test_each_number_equals_an_explicit_loop():
    """Rates, predictions and the criterion are those of fits to the training parts of CandidateKFold, best first."""
    X, y, truth = draw()
    methods = {**METHODS, "proba": PLEM()}
    comparison = compare(X, y, methods, cv=3, truth=truth, random_state=4, keep_predictions=True)
    splits = list(CandidateKFold(3, random_state=4).split(X, y))
    tested = np.concatenate([test for _, test in splits])
    probabilities, codes = [], []
    for result in comparison.results:
        predictions, proba = [], []
        for fold, (train, test) in zip(result.folds, splits, strict=True):
            model = clone(methods[result.method]).fit(X[train], y[train])
            predicted = model.predict(X[test])
            assert fold.covering_rate == covering_rate(y[test], predicted)
            assert fold.accuracy == pytest.approx((predicted == truth[test]).mean())
            assert fold.approximated_accuracy <= fold.covering_rate
            assert fold.fit_seconds > 0
            assert fold.held_out is None
            predictions.append(predicted)
            proba.append(get_proba(model, X[test]).proba)
        assert result.covering_rate == pytest.approx(np.mean([fold.covering_rate for fold in result.folds]))
        assert result.covering_rate_std == pytest.approx(np.std([f.covering_rate for f in result.folds], ddof=1))
        assert result.accuracy == pytest.approx(np.mean([fold.accuracy for fold in result.folds]))
        assert result.fit_seconds == np.median([fold.fit_seconds for fold in result.folds])
        np.testing.assert_array_equal(result.predictions[tested], np.concatenate(predictions))
        if hasattr(methods[result.method], "predict_proba"):
            np.testing.assert_allclose(result.probabilities[tested], np.concatenate(proba), rtol=1e-6)
        else:
            assert result.probabilities is None
        codes.append(np.searchsorted(y.classes, result.predictions[tested]))
        probabilities.append(np.concatenate(proba).astype(np.float32))
    order = [result.expected_accuracy for result in comparison.results]
    np.testing.assert_allclose(order, expected_accuracies(y.mask[tested], probabilities, codes), atol=1e-9)
    assert order == sorted(order, reverse=True)
    assert comparison.best_method == comparison.results[0].method
    assert (comparison.n_folds, comparison.n_rows, comparison.n_classes) == (3, 60, 3)


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
    """Rows without a truth do not enter the accuracy; a label that is in no set is never predicted, with a warning."""
    X, y, truth = draw()
    holes = truth.astype(object)
    holes[::3] = None
    holes[1] = "zebra"
    with pytest.warns(UserWarning, match="`truth` has 'zebra' in row 1, which is not a class of `y`: no prediction of"):
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


def test_progress_is_reported_before_each_phase_and_after_every_fold():
    """The callback gets the finished and all folds, and the method whose fit begins or ended; then the last steps."""
    X, y, _ = draw()
    calls = []
    best = compare(X, y, METHODS, cv=3, progress=lambda *call: calls.append(call)).best_method
    assert [call[0] for call in calls if call[2] in METHODS] == list(range(1, 10))
    assert {call[1] for call in calls} == {9}
    folds = [name for method in METHODS for name in (f"fitting {method}", *[method] * 3)]
    assert [call[2] for call in calls] == [*folds, "simple baseline", f"{best} on all rows"]


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


# -- Tests of the expected accuracy ----------------------------------------------------------------------------------


def draw_methods(truth, K, accuracies, seed=0):
    """Return probabilities and predictions of methods with independent errors of the given rates."""
    rng = np.random.default_rng(seed)
    probabilities = []
    for accuracy in accuracies:
        target = np.where(rng.random(len(truth)) < accuracy, truth, (truth + rng.integers(1, K, len(truth))) % K)
        proba = rng.dirichlet(np.full(K, 2.0), size=len(truth))
        proba[np.arange(len(truth)), target] += 1.0
        probabilities.append(proba / proba.sum(axis=1, keepdims=True))
    return probabilities, [proba.argmax(axis=1) for proba in probabilities]


def draw_task(n=200, K=5, accuracies=(0.9, 0.8, 0.6, 0.7, 0.5, 0.3), seed=0, **options):
    """Return truth, sets, probabilities and predictions; the default sets have a confusable partner and noise."""
    truth = np.random.default_rng(seed).integers(0, K, n)
    options = options or {"distractors": "confusable", "epsilon": 0.7}
    mask = make_partial_labels(truth, classes=np.arange(K), random_state=seed, **options).mask
    return truth, mask, *draw_methods(truth, K, accuracies, seed)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "K", "n_methods", "seed"), [(40, 3, 2, 0), (30, 5, 4, 1), (30, 4, 1, 2)])
def test_scores_equal_loops_over_rows_and_classes(n, K, n_methods, seed, weighted):
    """Scores equal the definition, also with unlabeled, exact and weighted rows."""
    _, mask, probabilities, predictions = draw_task(n, K, (0.9, 0.8, 0.6, 0.7, 0.5, 0.3)[:n_methods], seed)
    mask = mask.copy()
    mask[::7] = True
    mask[1::5] = np.eye(K, dtype=bool)[predictions[0][1::5]]
    evidence = mask
    if weighted:
        W = mask * np.random.default_rng(seed).choice([0.1, 0.5, 1.0], mask.shape)
        evidence = CandidateSets.from_weights(np.where(np.arange(n)[:, None] % 3 == 0, mask, W)).evidence
        assert evidence.dtype == float
    scores = oracle.expected_accuracies(evidence, probabilities, predictions)
    np.testing.assert_allclose(expected_accuracies(evidence, probabilities, predictions), scores, atol=1e-3)


def test_small_weights_give_the_scores_of_the_sets():
    """As the weights outside the sets go to 0, the scores go to those of the sets."""
    _, mask, probabilities, predictions = draw_task(n=80)
    limit = expected_accuracies(mask, probabilities, predictions)
    weighted = expected_accuracies(np.maximum(mask, 1e-12), probabilities, predictions)
    np.testing.assert_allclose(weighted, limit, atol=1e-8)


def test_a_frequent_distractor_does_not_earn_a_high_score():
    """If class 0 is in 95 % of the sets, the covering rate prefers its constant prediction; the score does not."""
    rng = np.random.default_rng(0)
    n, K = 600, 5
    truth = rng.integers(0, K, n)
    mask = np.eye(K, dtype=bool)[truth]
    mask[:, 0] |= rng.random(n) < 0.95
    probabilities, predictions = draw_methods(truth, K, (0.8, 0.75))
    constant = np.zeros(n, dtype=int)
    scores = expected_accuracies(mask, [np.eye(K)[constant], *probabilities], [constant, *predictions])
    covering = [mask[np.arange(n), codes].mean() for codes in (constant, *predictions)]
    assert np.argmax(covering) == 0
    assert np.argmin(scores) == 0
    assert scores[0] < 0.5


def test_extreme_input_gives_finite_scores():
    """One row, probabilities of 0 and 1, predictions of other labels, and only unlabeled rows."""
    mask = np.array([[True, True, False]])
    assert 0.5 < expected_accuracies(mask, [np.array([[1.0, 0.0, 0.0]])], [np.array([0])])[0] <= 1.0
    assert expected_accuracies(mask, [np.array([[0.0, 0.0, 1.0]])], [np.array([-1])])[0] == 0.0
    assert expected_accuracies(mask, [np.zeros((1, 3))], [np.array([1])])[0] == pytest.approx(0.5)
    assert np.isnan(expected_accuracies(np.ones((2, 3), bool), [np.ones((2, 3))], [np.zeros(2, int)])[0])


# -- Tests of the tables of a comparison -----------------------------------------------------------------------------


def test_the_frame_has_the_numbers_of_the_results():
    """Each row has the values of a `MethodResult`, in the order of the results, and survives CSV."""
    X, y, truth = draw()
    comparison = compare(X, y, METHODS, cv=3, truth=truth, random_state=4, refit=False)
    frame = comparison.to_frame()
    assert frame.columns.tolist() == [
        *["method", "expected_accuracy", "covering_rate", "covering_rate_std"],
        *["approximated_accuracy", "approximated_accuracy_std", "accuracy", "accuracy_std"],
        *["fit_seconds", "folds", "note"],
    ]
    for row, result in zip(frame.itertuples(), comparison.results, strict=True):
        for name in frame.columns[:-2]:
            assert getattr(row, name) == getattr(result, name), name
        assert (row.folds, row.note) == (3, "")
    read = pd.read_csv(io.StringIO(frame.to_csv(index=False)), keep_default_na=False)
    pd.testing.assert_frame_equal(read, frame)


def test_the_frame_has_the_reason_of_missing_numbers():
    """A failed method has NaN and its error; scores that no method has have no column."""
    X, y, _ = draw()
    methods = {"fails": Checking(rows=lambda _: False), "average": METHODS["average"]}
    frame = compare(X, y, methods, cv=3, refit=False).to_frame().set_index("method")
    assert "accuracy" not in frame.columns
    assert np.isnan(frame.loc["fails", ["covering_rate", "expected_accuracy", "fit_seconds"]].astype(float)).all()
    assert (frame.loc["fails", "folds"], frame.loc["fails", "note"]) == (0, "RuntimeError: unexpected rows")
    assert frame.loc["average", "note"] == ""
    assert "expected_accuracy" not in compare(X, y, {"one": METHODS["average"]}, cv=3, refit=False).to_frame()


def test_pandas_is_optional(monkeypatch):
    """Without pandas, one sentence says how to install it."""
    X, y, _ = draw()
    comparison = compare(X, y, {"average": METHODS["average"]}, cv=3, refit=False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"^This needs pandas, .*: run `pip install pandas`\.$"):
        comparison.to_frame()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_logger_has_a_line_for_each_method(caplog, n_jobs):
    """The messages have the rates of the results; without a level of the logger there are none."""
    X, y, _ = draw()
    methods = {**METHODS, "fails": Checking(rows=lambda _: False)} if n_jobs == 1 else METHODS
    compare(X, y, methods, cv=3, refit=False, n_jobs=n_jobs)
    assert not caplog.messages
    with caplog.at_level("INFO", "oneof"):
        comparison = compare(X, y, methods, cv=3, refit=False, n_jobs=n_jobs)
    assert sorted(message.split(":")[0] for message in caplog.messages) == sorted(methods)
    assert caplog.messages[-1].endswith(f"({3 * len(methods)} of {3 * len(methods)} folds of all methods)")
    text = "\n".join(caplog.messages)
    for result in comparison.results:
        score = f"failed: {result.error}" if result.error else f"covering rate {result.covering_rate:.3f} ± "
        assert f"{result.method}: {score}" in text


# -- The baseline of a comparison: ridge regression on the labels of largest weight ----------------------------------


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
    result = compare_one(Constant(0), X, CandidateSets.from_labels(y))
    assert result.results[0].covering_rate == pytest.approx(1 / 3)
    assert "method predicts a candidate in 33% of the held-out rows, and a simple baseline " in (
        result.baseline_warning
    )
    assert f"{result.baseline_rate:.0%}" in result.baseline_warning
    assert result.baseline_warning in str(result)
    assert result.to_dict()["baseline_warning"] == result.baseline_warning


def test_only_the_largest_weights_count(blobs):
    """Other weights below the largest do not change the rate; nor do unlabeled rows, and any form of numbers counts."""
    X, y = blobs
    rng = np.random.default_rng(1)
    rates = []
    for scale in (0.2, 0.9):
        weights = scale * rng.random((180, 3))
        weights[np.arange(180), y] = 1.0
        rates.append(compare_one(LOORidge(), X, CandidateSets.from_weights(weights)).baseline_rate)
    assert rates[0] == rates[1] > 0.9
    hidden = CandidateSets.from_labels([None if i % 5 == 0 else int(label) for i, label in enumerate(y)])
    expected = compare_one(LOORidge(), X, hidden).baseline_rate
    for form in (sp.csr_array, pd.DataFrame):
        assert compare_one(LOORidge(), form(X), hidden).baseline_rate == pytest.approx(expected, abs=0.03)


def test_a_baseline_that_cannot_be_fitted_does_not_end_the_comparison(blobs, monkeypatch):
    """If the sample of the baseline lacks a category of other rows, the comparison has no baseline."""
    _, y = blobs
    monkeypatch.setattr(comparison_module, "MAX_BASELINE_ROWS", 6)
    numbers = np.arange(180)[:, None] // 2
    result = compare_one(make_pipeline(OneHotEncoder(), LOORidge()), numbers, CandidateSets.from_labels(y))
    assert result.results[0].error is None
    assert math.isnan(result.baseline_rate)


def test_folds_without_labeled_test_rows_do_not_count_in_the_baseline(blobs):
    X, y = blobs
    is_tested, is_hidden = np.arange(180) % 3 == 0, np.arange(180) % 9 == 1
    labels = CandidateSets.from_labels(np.where(is_hidden, -1, y))
    folds = [
        (np.flatnonzero(~is_tested), np.flatnonzero(is_tested)),
        (np.flatnonzero(~is_hidden), np.flatnonzero(is_hidden)),
    ]
    rates = [compare(X, labels, [PLKNN()], cv=folds[:n], refit=False).baseline_rate for n in (1, 2)]
    assert rates[0] == rates[1] > 0.5
    assert math.isnan(compare(X, labels, [PLKNN()], cv=folds[1:], refit=False).baseline_rate)


def test_features_that_are_not_numbers_have_no_baseline(blobs):
    """Missing values, and rows of texts, give NaN and no warning."""
    X, y = blobs
    missing = X.copy()
    missing[3, 0] = np.nan
    for rows in (missing, np.where(X > 1, "high", "low")):
        result = compare_one(Constant(0), rows, CandidateSets.from_labels(y))
        assert math.isnan(result.baseline_rate)
        assert result.baseline_warning == ""


# -- Laws of fits to corrected training labels in a comparison -------------------------------------------------------


@pytest.fixture
def noisy() -> tuple[Floats, CandidateSets, Ints]:
    """Features, labels of three classes of which a sixth is wrong, and the true ones."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    X = 3 * np.eye(3)[truth] + rng.normal(size=(120, 3))
    y = np.where(rng.random(120) < 1 / 6, (truth + 1) % 3, truth)
    return X, CandidateSets.from_labels(y), truth


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_fold_is_corrected_once_from_its_training_rows(
    noisy: tuple[Floats, CandidateSets, Ints], n_jobs: int
) -> None:
    """The function gets the training rows of each fold once for all methods, and all rows before the last fit."""
    X, y, _ = noisy
    calls: list[list[int]] = []

    def correct(rows: Ints) -> CandidateSets:
        calls.append(rows.tolist())
        return y[rows]

    splits = make_folds(check_task(X, y, None), 3, 0)
    with joblib.parallel_config("threading"):
        compare(X, y, {"CLPL": CLPL(), "PLKNN": PLKNN()}, cv=splits, correct=correct, n_jobs=n_jobs)
    assert calls == [train.tolist() for train, _ in splits] + [list(range(120))]


@pytest.mark.parametrize(
    ("correct", "message"),
    [
        (lambda rows: [0] * len(rows), "must return a CandidateSets"),
        (lambda _: CandidateSets.from_labels([0, 1]), "each of its 60 rows, .*; got <CandidateSets of 2 rows"),
        (lambda rows: CandidateSets.from_labels(["a", "b"] * (len(rows) // 2)), "over the classes of `y`"),
        ("audit", "must be a function of the training rows, or None"),
    ],
)
def test_a_wrong_correction_is_an_error(noisy: tuple[Floats, CandidateSets, Ints], correct: Any, message: str) -> None:
    """Another type, number of rows or classes has a sentence of its own."""
    X, y, _ = noisy
    with pytest.raises(InputError, match=message):
        compare(X, y, ["CLPL"], cv=2, correct=correct)
