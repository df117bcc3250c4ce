"""Warnings and errors about the methods of a comparison: labels that are not classes, orders of classes, bad rows."""

import warnings
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from oneof import PLKNN, CandidateSets, compare
from oneof.errors import InputError
from oneof.model_selection import cross_val_predict

NAMES = np.array([str(k) for k in range(12)])  # sorted as text, 10 and 11 are before 2


class NearestMean(ClassifierMixin, BaseEstimator):
    """Nearest mean, with its classes in the order of the sets, and some labels that are not classes."""

    def __init__(self, n_unknown: int = 0) -> None:
        self.n_unknown = n_unknown

    def fit(self, X: Any, y: CandidateSets) -> Self:
        self.classes_ = y.classes
        weights = y.weights / y.weights.sum(axis=0)
        self.means_ = weights.T @ X
        return self

    def predict(self, X: Any) -> Any:
        columns = ((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)
        predicted = self.classes_[columns].astype("<U4")
        predicted[: self.n_unknown] = "none"
        return predicted


class SortedMean(NearestMean):
    """The same with sorted classes, and its columns in their order."""

    def fit(self, X: Any, y: CandidateSets) -> Self:
        super().fit(X, y)
        order = np.argsort(y.classes)
        self.classes_, self.means_ = y.classes[order], self.means_[order]
        return self


def simulate() -> tuple[Any, CandidateSets]:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(12), 20)
    return 5 * np.eye(12)[truth] + rng.normal(size=(240, 12)), CandidateSets(np.eye(12, dtype=bool)[truth], NAMES)


def test_the_classes_of_a_method_may_be_in_any_order() -> None:
    """A classifier with sorted classes has the rates of one with the classes of the sets, and no warning."""
    X, y = simulate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates = [compare(X, y, {"mean": m}, cv=2, refit=False).results[0] for m in (NearestMean(), SortedMean())]
    assert rates[0].covering_rate == rates[1].covering_rate > 0.9


def test_some_predictions_that_are_not_classes_have_a_warning() -> None:
    """The warning counts them."""
    X, y = simulate()
    with pytest.warns(UserWarning, match="predicts 'none', which is not a class of `y`; 3 of 120 predictions are not"):
        compare(X, y, {"mean": NearestMean(n_unknown=3)}, cv=2, refit=False)


@pytest.mark.filterwarnings("ignore:.* held-out rows have classes without a label")
@pytest.mark.parametrize("fold", ["train", "test"])
def test_an_error_names_the_row_of_X(fold: str) -> None:
    """Rows of a fold have other numbers; those of an error are the ones of X."""
    X, y = simulate()
    X[137, 2] = np.nan
    others, first = np.setdiff1d(np.arange(240), np.arange(100, 140)), np.arange(100, 140)
    splits = [(others, first)] if fold == "test" else [(first, others)]
    with pytest.raises(InputError, match="row 137, column 2"):
        compare(X, y, {"PLKNN": PLKNN()}, cv=splits, refit=False)


class Fixed(NearestMean):
    """Fixed probabilities of the first two classes, and predictions of any shape."""

    def __init__(self, first: float = 0.5, second: float = 0.5, n_columns: int = 0) -> None:
        self.first = first
        self.second = second
        self.n_columns = n_columns

    def fit(self, X: Any, y: CandidateSets) -> Self:
        self.n_features_in_ = X.shape[1]
        self.classes_ = y.classes
        return self

    def predict(self, X: Any) -> Any:
        labels = np.repeat(self.classes_[:1], len(X))
        return np.tile(labels[:, None], self.n_columns) if self.n_columns else labels

    def predict_proba(self, X: Any) -> Any:
        return np.tile([self.first, self.second], (len(X), 1))


def test_kept_probabilities_have_the_precision_of_the_method() -> None:
    """A probability of 1e-12 beside one of nearly 1 is not rounded to 0."""
    X, y = np.zeros((40, 1)), ["a", "b"] * 20
    result = compare(X, y, {"sure": Fixed(1.0 - 1e-12, 1e-12)}, cv=2, refit=False, keep_predictions=True).results[0]
    np.testing.assert_array_equal(result.probabilities, np.tile([1.0 - 1e-12, 1e-12], (40, 1)))


def test_the_scale_of_probabilities_changes_no_number() -> None:
    """Probabilities that sum to 3 have the rates of those that sum to 1; a column of predictions is an error."""
    X, y = np.zeros((40, 1)), ["a", "b"] * 20
    methods = {"three": Fixed(2.0, 1.0), "one": Fixed(2 / 3, 1 / 3)}
    three, one = compare(X, y, methods, cv=2, refit=False).results
    assert three.expected_accuracy == pytest.approx(one.expected_accuracy)
    assert three.approximated_accuracy == pytest.approx(one.approximated_accuracy)
    with pytest.raises(InputError, match=r"predict of Fixed must return an array of shape \(20,\); got "):
        compare(X, y, {"column": Fixed(n_columns=1)}, cv=2, refit=False)


def test_rows_in_both_subsets_of_a_fold_have_a_warning() -> None:
    """Rates of rows that were fitted are too high; unlabeled rows may be in both."""
    X, y = np.arange(12.0)[:, None], ["a", "b", None] * 4
    rows = np.arange(12)
    message = "`cv` has 2 of 4 test rows of fold 0 in its training rows as well"
    with pytest.warns(UserWarning, match=message):
        compare(X, y, {"near": PLKNN(n_neighbors=1)}, cv=[(rows[:8], rows[6:10])], refit=False)
    with pytest.warns(UserWarning, match="`cv` has 1 of 6 test rows of fold 0"):
        cross_val_predict(PLKNN(n_neighbors=1), X, y, cv=[(rows[:7], rows[6:]), (rows[6:], rows[:6])])
    unlabeled = rows[2::3]
    folds = [(np.union1d(rows[:6], unlabeled), rows[6:]), (np.union1d(rows[6:], unlabeled), rows[:6])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(X, y, {"near": PLKNN(n_neighbors=1)}, cv=folds, refit=False)


def test_labels_of_all_rows_require_a_fitted_estimator_of_oneof() -> None:
    """`transduction_` is that of the best estimator, which other estimators and ``refit=False`` do not have."""
    X, y = simulate()
    assert len(compare(X, y, {"PLKNN": PLKNN()}, cv=2).transduction_) == len(X)
    for methods, refit in (({"PLKNN": PLKNN()}, False), ({"mean": NearestMean()}, True)):
        with pytest.raises(InputError, match="`transduction_` requires a fitted estimator of oneof"):
            _ = compare(X, y, methods, cv=2, refit=refit).transduction_
