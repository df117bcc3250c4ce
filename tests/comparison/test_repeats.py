"""Tests of repeated cross-validation, and of folds that need exact labels."""

import numpy as np
import pytest
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold

from oneof import compare
from oneof.errors import InputError
from oneof.model_selection import CandidateKFold, cross_val_predict
from tests.blobs import Frequencies, draw


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
