"""Tests of the folds: one split of many rows, groups, and the error of its rates."""

import contextlib
import math

import numpy as np
import pytest
from sklearn.model_selection import (
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

from oneof import CandidateSets
from oneof.comparison import compare, folds
from oneof.comparison.folds import MAX_HELD_OUT_ROWS, MAX_ROWS_CROSS_VALIDATION, check_task, make_folds
from oneof.errors import InputError
from oneof.metrics import covering_rate
from oneof.model_selection import CandidateKFold, cross_val_predict
from tests.blobs import Frequencies, draw


@pytest.mark.filterwarnings("ignore:.* held-out rows have classes without a label")
@pytest.mark.parametrize("n_labeled", [2, 3, 4])
def test_one_split_of_few_labeled_rows(n_labeled):
    """With `cv=1` and fewer than five labeled rows, one of them is held out."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = [["a", "b"][i % 2] if i < n_labeled else None for i in range(20)]
    comparison = compare(X, y, ["AvgPerceptron"], cv=1)
    assert comparison.n_held_out >= 1
    assert comparison.results[0].error is None


@pytest.mark.parametrize(("n_each", "warns"), [(1, True), (5, False)])
def test_a_warning_says_that_folds_lose_classes(n_each, warns):
    """With one label a class, no method can predict a held-out row."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.repeat([0, 1, 2, -1], [n_each, n_each, n_each, 20 - 3 * n_each])
    expectation = pytest.warns(UserWarning, match="3 of 3 held-out rows") if warns else contextlib.nullcontext()
    with expectation:
        make_folds(check_task(X, y, None), 3, 0)


def test_few_rows_are_cross_validated_and_many_are_split_once():
    """Up to the limit "auto" is 5 folds; above it one split holds out a fifth, and at most the maximum."""
    for n, n_folds, n_test in (
        (MAX_ROWS_CROSS_VALIDATION, 5, MAX_ROWS_CROSS_VALIDATION // 5),
        (MAX_ROWS_CROSS_VALIDATION + 5, 1, MAX_ROWS_CROSS_VALIDATION // 5 + 1),
        (5 * MAX_HELD_OUT_ROWS, 1, MAX_HELD_OUT_ROWS),
    ):
        labels = np.random.default_rng(0).integers(0, 3, n).astype(float)
        task = check_task(np.zeros((n + 9, 1)), np.concatenate([labels, np.full(9, np.nan)]), None)
        splits = make_folds(task, "auto", 0)
        assert len(splits) == n_folds
        for train, test in splits:
            assert len(test) == n_test
            np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n + 9))
            assert task.candidates.is_unlabeled[train].sum() == 9
            frequencies = task.candidates.mask[test].mean(axis=0)
            np.testing.assert_allclose(frequencies, task.candidates.mask[:n].mean(axis=0), atol=2 / n_test)
    with pytest.raises(InputError, match='`cv` must be "auto", a number of folds or a splitter'):
        make_folds(task, "all", 0)


def test_one_split_trains_on_a_sample_of_many_rows(monkeypatch):
    """Above the maximum the training rows are a random sample of the other rows, labeled or not."""
    X, y, _ = draw(500)
    [(train, test)] = make_folds(check_task(X, y, None), 1, 0)
    monkeypatch.setattr(folds, "MAX_TRAIN_ROWS", 200)
    [(sample, same_test)] = make_folds(check_task(X, y, None), 1, 0)
    np.testing.assert_array_equal(test, same_test)
    assert len(sample) == 200
    assert set(sample) < set(train)
    assert y.is_unlabeled[sample].mean() == pytest.approx(y.is_unlabeled[train].mean(), abs=0.05)
    comparison = compare(X, y, {"it": Frequencies()}, cv=1)
    assert comparison.n_train == 200


def test_the_error_of_one_split_is_binomial():
    """With one fold the standard deviation of a rate p over n rows is sqrt(p (1 - p) / n), of the rows it is about."""
    X, y, truth = draw(200)
    known = truth.astype(object)
    known[::2] = None
    comparison = compare(X, y, {"it": Frequencies()}, cv=1, truth=known, refit=False)
    result, (_, test) = comparison.results[0], make_folds(check_task(X, y, None), 1, 0)[0]
    n_true = sum(known[row] is not None for row in test)
    assert comparison.n_held_out == len(test)
    rows = f"one split, {len(X) - len(test)} training rows, {len(test)} held-out rows"
    assert comparison.evaluation.startswith(rows)
    for rate, std, n in (
        (result.covering_rate, result.covering_rate_std, len(test)),
        (result.approximated_accuracy, result.approximated_accuracy_std, len(test)),
        (result.accuracy, result.accuracy_std, n_true),
    ):
        assert 0 < rate < 1
        assert std == pytest.approx(math.sqrt(rate * (1 - rate) / n))


def test_all_rows_with_a_truth_are_held_out_by_one_split():
    """If few rows have a truth, one split holds all of them out, and the result says how many they are."""
    X, y, truth = draw(200)
    known = truth.astype(object)
    labeled = np.flatnonzero(~y.is_unlabeled)
    known[np.setdiff1d(np.arange(200), labeled[:12])] = None
    [(train, test)] = make_folds(check_task(X, y, known), 1, 0)
    assert set(labeled[:12]) <= set(test)
    assert not set(train) & set(test)
    comparison = compare(X, y, {"it": Frequencies()}, cv=1, truth=known, refit=False)
    assert comparison.n_true == 12
    assert comparison.truth_note.endswith(
        f"{100 * comparison.results[0].accuracy:.1f} % on 12 held-out rows with a truth."
    )
    assert comparison.truth_note in str(comparison)
    without = compare(X, y, {"it": Frequencies()}, cv=1, refit=False)
    assert (without.n_true, without.truth_note) == (0, "")


def test_folds_without_labeled_rows_have_an_accuracy_only():
    """Test rows without labels but with a truth are counted, and the covering rate is that of the other folds."""
    X, y, truth = draw(60)
    y = CandidateSets(y.mask | (np.arange(60) >= 50)[:, None], y.classes)
    labeled = np.flatnonzero(~y.is_unlabeled)
    splits = [(labeled, np.arange(50, 60)), (labeled[20:], labeled[:20])]
    both = compare(X, y, {"it": Frequencies()}, cv=splits, truth=truth, refit=False).results[0]
    second = compare(X, y, {"it": Frequencies()}, cv=splits[1:], truth=truth, refit=False).results[0]
    assert both.error is None
    assert [fold.n_labeled for fold in both.folds] == [0, 20]
    assert both.covering_rate == second.covering_rate
    assert both.accuracy == pytest.approx((10 * both.folds[0].accuracy + 20 * second.accuracy) / 30)


def test_rates_are_the_fractions_of_rows():
    """If the folds have unequal numbers of rows, the rates and the note are fractions of rows; means differ."""
    X, y, truth = draw(200)
    known = truth.astype(object)
    known[np.random.default_rng(0).random(200) < 0.6] = None
    first, second = np.arange(60), np.arange(60, 200)
    splits = [(second, first), (first, second)]
    comparison = compare(X, y, {"it": Frequencies()}, cv=splits, truth=known, refit=False, keep_predictions=True)
    result, rows = comparison.results[0], comparison.held_out_rows
    is_known = np.array([label is not None for label in known[rows]])
    right = result.predictions[is_known] == known[rows][is_known]
    assert comparison.n_true == len(right)
    assert result.accuracy == pytest.approx(right.mean()) != np.mean([fold.accuracy for fold in result.folds])
    assert f"{100 * right.mean():.1f} % on {len(right)} held-out rows" in comparison.truth_note
    is_labeled = ~y.is_unlabeled[rows]
    expected = covering_rate(y[rows[is_labeled]], result.predictions[is_labeled])
    assert result.covering_rate == pytest.approx(expected)


# -- Tests of repeated cross-validation, and of folds that need exact labels -----------------------------------------


def test_repeats_are_in_the_description():
    """The description of the folds has the number of folds that test a row, if it is above 1."""
    X, y, _ = draw()
    n = len(X)

    def evaluation(cv):
        return compare(X, y, {"a": Frequencies()}, cv=cv, refit=False).evaluation

    n_labeled = int((~y.is_unlabeled).sum())
    repeated = [split for seed in range(2) for split in CandidateKFold(3, random_state=seed).split(X, y)]
    assert evaluation(3) == f"3 folds, {n_labeled} held-out rows"
    assert evaluation(repeated) == f"6 folds, {n_labeled} held-out rows, each in 2 folds"
    assert evaluation(RepeatedKFold(n_splits=3, n_repeats=2)).endswith("held-out rows, each in 2 folds")
    last = np.arange(n - 5, n)
    uneven = [(np.arange(n - 5), last), (np.arange(5, n - 5), last[:2]), (np.arange(n - 5), last[:1])]
    assert evaluation(uneven).endswith("held-out rows, in up to 3 folds")


def test_the_last_prediction_is_kept():
    """With repeats, all folds count in the rates, and the prediction of a row is that of the last fold."""
    X, y, _ = draw()
    first, second = (list(CandidateKFold(3, random_state=seed).split(X, y)) for seed in range(2))
    methods = {"a": Frequencies()}
    both = compare(X, y, methods, cv=first + second, keep_predictions="labeled")
    parts = [compare(X, y, methods, cv=folds, keep_predictions="labeled") for folds in (first, second)]
    np.testing.assert_array_equal(both.results[0].probabilities, parts[1].results[0].probabilities)
    rates = [part.results[0].covering_rate for part in parts]
    assert both.results[0].covering_rate == pytest.approx(np.mean(rates))


@pytest.mark.parametrize("cv", [StratifiedKFold(3), RepeatedStratifiedKFold(n_splits=3, n_repeats=2)])
def test_stratified_folds_need_exact_labels(cv):
    """A stratified splitter of scikit-learn is an error with sets that names the expression for repeats."""
    X, y, truth = draw()
    expression = r"split for seed in range\(5\) for split in CandidateKFold\(5, random"
    with pytest.raises(InputError, match=expression):
        compare(X, y, {"a": Frequencies()}, cv=cv)
    with pytest.raises(InputError, match=expression):
        cross_val_predict(Frequencies(), X, y, cv=cv)
    assert compare(X, truth, {"a": Frequencies()}, cv=cv).results[0].error is None
    assert compare(X, y, {"a": Frequencies()}, cv=ShuffleSplit(2, random_state=0)).n_folds == 2


def test_true_labels_by_index_are_an_error_of_truth():
    """Class indices as true labels of named classes are an error that names `truth` and the expression."""
    X, y, letters = draw()
    truth = np.searchsorted(y.classes, letters)
    with pytest.raises(InputError, match=r"^`truth`: labels must have one type; .* pass `y\.classes\["):
        compare(X, y, {"a": Frequencies()}, cv=2, truth=truth)
    assert compare(X, y, {"a": Frequencies()}, cv=2, truth=y.classes[truth]).results[0].accuracy is not None
    with pytest.raises(InputError, match=r"^`truth`"):
        compare(X, y, {"a": Frequencies()}, cv=2, truth=[["a"], [], *letters[2:]])
