"""Tests of the forms of labels, rows, folds and predictions that a comparison accepts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from oneof import PLEM, AvgPerceptron, CandidateSets
from oneof.candidates import as_candidates
from oneof.comparison import compare
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.metrics import covering_rate
from oneof.model_selection import CandidateKFold, cross_val_predict
from tests.blobs import Frequencies, draw
from tests.comparison.panel import METHODS, Checking, rates


def test_tables_and_sparse_rows_keep_their_type():
    """A DataFrame stays a DataFrame and a sparse matrix becomes CSR; both give the numbers of the array."""
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
        comparison = compare(rows, y, {"perceptron": AvgPerceptron(), "check": Checking(check)})
        assert [result.error for result in comparison.results] == [None, None], name
        assert [line for line in rates(comparison) if line[0] == "perceptron"] == expected, name


def test_every_form_of_y_gives_the_same_comparison():
    """Sets of labels and an indicator give the numbers of the CandidateSets."""
    X, y, _ = draw()
    expected = [line[1:] for line in rates(compare(X, y, METHODS))]
    for form in (y.to_sets(), y.to_indicator(), y.to_indicator(sparse=True)):
        assert [line[1:] for line in rates(compare(X, form, METHODS))] == expected


def test_cv_may_be_an_iterable_of_splits():
    """An iterable of row indices or of boolean masks replaces the folds."""
    X, y, _ = draw()
    halves = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    comparison = compare(X, y, METHODS, cv=halves)
    model = clone(METHODS["average"]).fit(X[:30], y[:30])
    average = next(result for result in comparison.results if result.method == "average")
    assert average.folds[0].covering_rate == covering_rate(y[30:], model.predict(X[30:]))
    masks = [tuple(np.isin(np.arange(60), rows) for rows in half) for half in halves]
    assert rates(compare(X, y, METHODS, cv=masks)) == rates(comparison)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"methods": {}}, InputError, "`methods` must name at least one method"),
        ({"methods": {"x": AvgPerceptron}}, InputTypeError, r"or a dict of estimators, .*; got <class .* for 'x'"),
        ({"y": ["a"] * 10}, InputError, "X has 60 rows, but y has 10"),
        ({"y": ["a"] * 60}, LabelError, "only one class"),
        ({"truth": ["a"] * 10}, InputError, r"`truth` must have one label per row of `y` \(60\); got 10"),
        ({"truth": [["a", "b"]] * 60}, LabelError, "got several labels in row 0"),
        ({"cv": 61}, InputError, "fewer than the 61 folds"),
        ({"cv": 0}, InputError, "`cv` must be .* an integer of at least 1 .*; got 0"),
        ({"cv": True}, InputError, "`cv` must be .* an integer of at least 1 .*; got True"),
    ],
)
def test_invalid_input_is_an_error(change, error, message):
    """Errors in the input are raised at once and do not count as failures of a method."""
    X, y, _ = draw()
    with pytest.raises(error, match=message):
        compare(**{"X": X, "y": y, "methods": METHODS, **change})


ROWS, NO_ROWS = np.arange(60), np.empty(0, dtype=int)


@pytest.mark.parametrize(
    ("fold", "message"),
    [
        ((ROWS, NO_ROWS), "there are no test rows of fold 1. Leave out this fold"),
        (([], ROWS), "there are no training rows of fold 1"),
        ((ROWS < 0, ROWS >= 0), "there are no training rows of fold 1"),
        ((ROWS, ROWS[:-1] > 30), r"masks of shape \(60,\); the test rows of fold 1 have type bool and shape \(59,\)"),
        ((ROWS / 1.0, ROWS), "the training rows of fold 1 have type float64"),
        ((ROWS, ROWS[:, None]), r"the test rows of fold 1 have .* shape \(60, 1\)"),
        ((ROWS, ROWS + 1), "row indices from 0 to 59; the test rows of fold 1 have 60"),
    ],
)
def test_a_fold_without_rows_is_an_error(fold, message):
    """The error names the fold, its subset and the remedy, in a comparison and in held-out predictions."""
    X, y, _ = draw()
    cv = [(ROWS[:30], ROWS[30:]), fold]
    with pytest.raises(InputError, match=message):
        compare(X, y, METHODS, cv=cv)
    with pytest.raises(InputError, match=message):
        cross_val_predict(AvgPerceptron(), X, y, cv=cv)


class Outputs(Frequencies):
    """Frequencies with other predictions and probabilities."""

    def __init__(self, predict=lambda values: values, proba=lambda values: values):
        self.change_labels, self.change_proba = predict, proba

    def __sklearn_clone__(self):
        return Outputs(self.change_labels, self.change_proba)

    def predict(self, X):
        return self.change_labels(np.repeat("a", len(X)))

    def predict_proba(self, X):
        return self.change_proba(np.full((len(X), 3), 1 / 3))


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"predict": lambda values: values[:-1]}, "must return an array of shape (12,); got shape (11,)"),
        ({"predict": lambda values: np.append(values, "a")}, "an array of shape (12,); got shape (13,)"),
        ({"predict": lambda _: None}, "predict of Outputs must return an array of shape (12,); got shape ()"),
        ({"proba": lambda values: values[:-1]}, "predict_proba of Outputs must return an array of shape (12, 3)"),
        ({"proba": lambda values: values[:, :2]}, "an array of shape (12, 3); got shape (12, 2)"),
        ({"proba": lambda values: values[:, 0]}, "got shape (12,)"),
        ({"proba": lambda values: np.full(values.shape, "x", object)}, "`predict_proba` must contain real numbers"),
        ({"proba": lambda values: np.nan * values}, "finite probabilities of at least 0; got "),
        ({"proba": lambda values: -values}, "finite probabilities of at least 0; got "),
    ],
)
def test_outputs_of_another_shape_are_the_error_of_the_method(outputs, message):
    """A method whose predictions are not one for each row has an error that names it and the expected shape."""
    X, y, _ = draw()
    comparison = compare(X, y, {"own": Outputs(**outputs), "average": AvgPerceptron()})
    assert comparison.best_method == "average"
    assert comparison.results[-1].error.startswith("InputError: ")
    assert message in comparison.results[-1].error


class Scores(Frequencies):
    """Frequencies with scores instead of probabilities, of which one is given."""

    predict_proba = property()

    def __init__(self, score=0.0):
        self.score = score

    def __sklearn_clone__(self):
        return Scores(self.score)

    def predict(self, X):
        return np.repeat("b", len(X))

    def decision_function(self, X):
        scores = np.tile([-3.0, 2.0, -1.0], (len(X), 1))
        scores[0] = self.score  # of the first row, row 6 in the first fold
        return scores


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_scores_without_probabilities_are_the_error_of_the_method(score):
    """Scores whose softmax is not finite are an error that names the row of X."""
    X, y, _ = draw()
    error = compare(X, y, {"own": Scores(score), "average": AvgPerceptron()}).results[-1].error
    assert error == (
        "InputError: row 6: decision_function of Scores must return finite scores, or finite probabilities of at least "
        "0; got nan for the class 'a'."
    )


def test_kept_predictions_of_labeled_rows():
    """With "labeled", unlabeled rows are not predicted, and the labeled ones have the same probabilities."""
    X, y, _ = draw()
    y = as_candidates(y)
    evidence = y.mask.copy()
    evidence[::5] = True
    y = CandidateSets(evidence, y.classes)
    every = compare(X, y, {"proba": PLEM()}, cv=3, keep_predictions=True)
    labeled = compare(X, y, {"proba": PLEM()}, cv=3, keep_predictions="labeled")
    np.testing.assert_array_equal(labeled.held_out_rows, np.flatnonzero(~y.is_unlabeled))
    position = np.searchsorted(every.held_out_rows, labeled.held_out_rows)
    np.testing.assert_array_equal(labeled.results[0].probabilities, every.results[0].probabilities[position])
    with pytest.raises(InputError, match=r'`keep_predictions` must be "labeled", True or False; got .all.'):
        compare(X, y, {"proba": PLEM()}, cv=3, keep_predictions="all")


@pytest.mark.parametrize("cv", [1, 3])
def test_kept_predictions_are_those_of_the_folds(cv):
    """Predictions and probabilities of all rows are those of models of the other folds, and change no score."""
    X, y, truth = draw()
    methods = {"proba": PLEM(), "scores": METHODS["maximum"]}
    plain = compare(X, y, methods, cv=cv, truth=truth, random_state=4)
    kept = compare(X, y, methods, cv=cv, truth=truth, random_state=4, keep_predictions=True)
    assert kept.to_dict().keys() == plain.to_dict().keys()
    assert plain.held_out_rows is None
    assert all(result.predictions is None and result.probabilities is None for result in plain.results)
    for result, other in zip(kept.results, plain.results, strict=True):
        assert (result.method, result.covering_rate, result.accuracy) == (
            other.method,
            other.covering_rate,
            other.accuracy,
        )
        assert result.expected_accuracy == other.expected_accuracy
    by_name = {result.method: result for result in kept.results}
    assert by_name["scores"].probabilities is None
    if cv == 3:
        assert kept.held_out_rows.tolist() == list(range(len(X)))
        folds = CandidateKFold(3, random_state=4)
        np.testing.assert_array_equal(by_name["proba"].predictions, cross_val_predict(PLEM(), X, y, cv=folds))
        np.testing.assert_allclose(
            by_name["proba"].probabilities, cross_val_predict(PLEM(), X, y, cv=folds, method="predict_proba"), rtol=1e-6
        )
    else:
        assert set(np.flatnonzero(y.is_unlabeled)) < set(kept.held_out_rows) < set(range(len(X)))
        assert by_name["proba"].probabilities.shape == (len(kept.held_out_rows), 3)
    np.testing.assert_array_equal(
        by_name["proba"].predictions, kept.classes[by_name["proba"].probabilities.argmax(axis=1)]
    )


class Reversed(Frequencies):
    """Frequencies with the columns in another order."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_probabilities_in_another_order_have_a_warning():
    """Predictions that are not the class of the largest probability are probably those of mixed-up columns."""
    X, y, _ = draw()
    with pytest.warns(UserWarning, match="of the predictions of Reversed are the class of its largest probability"):
        compare(X, y, {"reversed": Reversed()})


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame, pl.DataFrame])
def test_features_whose_squares_overflow_are_an_error(form):
    """The error names the row and the column of a value without a finite variance, for any form of rows."""
    X, y, _ = draw()
    X[7, 1] = -1e155
    rows, column = form(X), "column 1: `X`"
    if not isinstance(rows, np.ndarray) and not sp.issparse(rows):
        rows = form({"a": ["text"] * len(X)} | {f"x{j}": values for j, values in enumerate(X.T)})
        column = "column 'x1'"
    with pytest.raises(InputError, match=rf"^row 7[:,] {column} contains -1e\+155: sums of such squares overflow"):
        compare(rows, y, {"frequencies": Frequencies()})


def test_a_truth_in_another_spelling_than_the_classes_is_named():
    """True labels that are no classes, such as those in another case, are an error if all are, otherwise a warning."""
    X, y, truth = draw()
    names = np.array(["finch", "Sea Eagle", "wren"])
    y = CandidateSets(y.mask, names)
    true = names[np.searchsorted(["a", "b", "c"], truth)]
    with pytest.raises(LabelError, match=r"`truth` has '[A-Z ]+' in row 0, which is not a class of `y`"):
        compare(X, y, METHODS, truth=np.char.upper(true))
    mixed = true.astype(object)
    mixed[3] = "sea_eagle"
    with pytest.warns(UserWarning, match="has 'sea_eagle' in row 3, which is not a class of `y`: no prediction of"):
        compare(X, y, METHODS, truth=mixed)
