"""Tests of the forms of labels, rows, folds and predictions that a comparison accepts."""

import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import CLPL, PLEM, PLKNN, AvgPerceptron, CandidateSets
from oneof.candidates import as_candidates
from oneof.comparison import compare, default_estimators
from oneof.comparison.methods import MAX_FEATURES_CUBIC, SLOW_METHODS, auto_methods, excluded_from_auto, has_unit_rows
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.metrics import covering_rate
from oneof.model_selection import cross_val_predict
from oneof.text import make_vectorizer
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


def test_duplicate_entries_of_sparse_rows_stay():
    """They are summed in copies only: the rows of the caller do not change."""
    X, y, _ = draw()
    rows = sp.csr_array((np.repeat(X.ravel() / 2, 2), np.repeat(np.tile([0, 1, 2], 60), 2), np.arange(0, 361, 6)))
    compare(rows, y, ["PLEM"], cv=2)
    assert rows.nnz == 360


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
        ({"cv": 61}, InputError, "at least 61 labeled rows, one for each fold; got 57"),
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
        ({"predict": lambda values: values[:, None]}, "an array of shape (12,); got shape (12, 1)"),
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
    for invalid in ("all", np.zeros(0)):
        with pytest.raises(InputError, match=r'`keep_predictions` must be "labeled", True or False; got'):
            compare(X, y, {"proba": PLEM()}, cv=3, keep_predictions=invalid)


@pytest.mark.parametrize("cv", [1, 3])
def test_kept_predictions_change_no_number(cv):
    """Predictions are kept of all rows of the folds, and of the unlabeled rows, on request only."""
    X, y, truth = draw()
    plain, kept = (compare(X, y, METHODS, cv=cv, truth=truth, keep_predictions=keep) for keep in (False, True))
    assert kept.to_dict().keys() == plain.to_dict().keys()
    assert plain.held_out_rows is None
    assert all(result.predictions is None and result.probabilities is None for result in plain.results)
    assert rates(kept) == rates(plain)
    held_out = set(kept.held_out_rows.tolist())
    assert set(np.flatnonzero(y.is_unlabeled)) < held_out
    assert (held_out == set(range(len(X)))) == (cv == 3)
    assert {len(result.predictions) for result in kept.results} == {len(held_out)}


def test_probabilities_in_another_order_have_a_warning():
    """Predictions that are not the class of the largest probability are probably those of mixed-up columns."""
    X, y, _ = draw()
    last = Outputs(proba=lambda values: np.tile([0.2, 0.3, 0.5], (len(values), 1)))
    with pytest.warns(UserWarning, match="of the predictions of Outputs are the class of its largest probability"):
        compare(X, y, {"last": last})


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
    """True labels of which none is a class, such as those in another case, are an error with the first of them."""
    X, y, truth = draw()
    names = np.array(["finch", "Sea Eagle", "wren"])
    y = CandidateSets(y.mask, names)
    true = names[np.searchsorted(["a", "b", "c"], truth)]
    with pytest.raises(LabelError, match=r"`truth` has '[A-Z ]+' in row 0, which is not a class of `y`"):
        compare(X, y, METHODS, truth=np.char.upper(true))


# -- Warnings and errors about the methods of a comparison: labels that are not classes, orders of classes, bad rows


NAMES = np.array([str(k) for k in range(12)])  # sorted as text, 10 and 11 are before 2


class NearestMean(ClassifierMixin, BaseEstimator):
    """Nearest mean, with its classes in the order of the sets, or sorted."""

    def __init__(self, is_sorted: bool = False) -> None:
        self.is_sorted = is_sorted

    def fit(self, X: Any, y: CandidateSets) -> Self:
        order = np.argsort(y.classes) if self.is_sorted else np.arange(len(y.classes))
        self.classes_, self.means_ = y.classes[order], (y.weights / y.weights.sum(axis=0)).T[order] @ X
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


def simulate() -> tuple[Any, CandidateSets]:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(12), 20)
    return 5 * np.eye(12)[truth] + rng.normal(size=(240, 12)), CandidateSets(np.eye(12, dtype=bool)[truth], NAMES)


def test_the_classes_of_a_method_may_be_in_any_order() -> None:
    """A classifier with sorted classes has the rates of one with the classes of the sets, and no warning."""
    X, y = simulate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates = [compare(X, y, {"m": NearestMean(s)}, cv=2, refit=False).results[0].covering_rate for s in (0, 1)]
    assert rates[0] == rates[1] > 0.9


def test_some_predictions_that_are_not_classes_have_a_warning() -> None:
    """The warning counts them."""
    X, y, _ = draw()
    some = Outputs(predict=lambda values: np.where(np.arange(len(values)) < 3, "none", values))
    with pytest.warns(UserWarning, match=r"predicts 'none', which is not a class of `y`; 3 of \d+ predictions are not"):
        compare(X, y, {"some": some}, cv=2, refit=False)


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


def test_probabilities_of_any_precision_and_scale() -> None:
    """A probability of 1e-12 beside one of nearly 1 is not rounded to 0; those of sum 3 have the rates of sum 1."""
    X, y, _ = draw()
    sure, one, three = (
        Outputs(proba=lambda values, row=row: np.tile(row, (len(values), 1)))
        for row in ([1.0 - 1e-12, 1e-12, 0.0], [0.5, 0.3, 0.2], [1.5, 0.9, 0.6])
    )
    result = compare(X, y, {"sure": sure}, cv=2, refit=False, keep_predictions=True).results[0]
    np.testing.assert_array_equal(result.probabilities, np.tile([1.0 - 1e-12, 1e-12, 0.0], (60, 1)))
    first, second = compare(X, y, {"one": one, "three": three}, cv=2, refit=False).results
    assert first.expected_accuracy == pytest.approx(second.expected_accuracy)
    assert first.approximated_accuracy == pytest.approx(second.approximated_accuracy)


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


# -- Tests of the default estimators of a comparison -----------------------------------------------------------------


def test_auto_excludes_cubic_methods_with_many_features():
    """With many features, methods of cubic cost in the features must be requested by name."""
    estimators = default_estimators(sparse=True)
    few, many = (set(auto_methods(estimators, n)) for n in (MAX_FEATURES_CUBIC, MAX_FEATURES_CUBIC + 1))
    assert few == set(estimators) - set(SLOW_METHODS)
    assert excluded_from_auto(MAX_FEATURES_CUBIC) == ()
    assert many == few - set(excluded_from_auto(MAX_FEATURES_CUBIC + 1))
    assert many < few


@pytest.mark.long
def test_auto_compares_the_default_estimators():
    """Auto compares all default estimators except slow ones; names select from all, for dense and sparse rows."""
    X, y, _ = draw()
    assert {result.method for result in compare(X, y, cv=2).results} == set(default_estimators()) - set(SLOW_METHODS)
    slow = compare(X, y, SLOW_METHODS, cv=2).results
    assert {result.method: result.error for result in slow} == dict.fromkeys(SLOW_METHODS)
    for rows in (X, sp.csr_array(np.abs(X))):
        comparison = compare(rows, y, ["PLKNN", "AvgPegasos"], cv=2)
        assert {result.method for result in comparison.results} == {"PLKNN", "AvgPegasos"}
        assert all(result.error is None for result in comparison.results)
    assert compare(X, y, "CLPL", cv=2).best_method == "CLPL"
    counts = sp.csr_array(np.abs(X))
    assert compare(counts, y, "MultinomialEM", cv=2).results[0].error is None
    with pytest.raises(InputError, match=r"for these rows and labels.*; got 'MultinomialEM'"):  # X has values below 0
        compare(sp.csr_array(X), y, "MultinomialEM", cv=2)
    with pytest.raises(InputError, match=r'must be "LOORidge", "CLPL", .*; got .Oracle.'):
        compare(X, y, ["Oracle"])


def test_rows_of_length_1_are_not_scaled():
    """Sparse rows that all have length 1, in single precision too, have no scaler; one other row restores it."""
    X, y, _ = draw()
    unit = sp.csr_array(np.abs(X) / np.linalg.norm(X, axis=1, keepdims=True))
    unit = sp.vstack([unit, sp.csr_array((1, X.shape[1]))], format="csr")  # an empty text
    y = [*y, y[0]]
    longer = unit.copy()
    longer[[0]] = 2 * longer[[0]]
    for rows, n_steps in ((unit, 1), (unit.astype(np.float32), 1), (longer, 2), (np.vstack([X, X[:1]]), 2)):
        compared = compare(rows, y, ["PLKNN", "CLPL"], cv=2)
        assert {len(pipeline) for pipeline in compared.estimators.values()} == {n_steps}
    assert not has_unit_rows(sp.csr_array((3, 2)))
    assert not has_unit_rows(sp.csr_array(np.full((2, 1), 16, dtype=np.uint8)))  # 16^2 is 0 in 8 bits
    assert not has_unit_rows(sp.csr_array([[1e200, 0.0], [0.0, 1.0]]))  # no overflow
    assert has_unit_rows(sp.csr_array((np.full(2, 0.5), [0, 0], [0, 2]), shape=(1, 1)))  # two halves of one entry
    scaled = default_estimators(sparse=True, scaled=True)
    assert set(scaled) == set(default_estimators(sparse=True))


def test_a_list_mixes_names_and_estimators():
    """An estimator in a list has the name of its class, also alone, and equals the same estimator in a dict."""
    X, y, _ = draw()
    mixed = compare(X, y, ["CLPL", Frequencies(), make_pipeline(StandardScaler(), PLKNN(n_neighbors=3))], cv=2)
    assert set(mixed.estimators) == {"CLPL", "Frequencies", "PLKNN"}
    named = compare(X, y, mixed.estimators, cv=2)
    assert [r.covering_rate for r in mixed.results] == [r.covering_rate for r in named.results]
    for method in (PLKNN(), make_pipeline(StandardScaler(), PLKNN())):
        assert set(compare(X, y, method, cv=2).estimators) == {"PLKNN"}
    texts = np.array(["oil", "corn"])[(X[:, 0] > 0).astype(int)]
    assert compare(texts, y, [make_pipeline(make_vectorizer(), CLPL())], cv=2).best_method == "CLPL"


def test_names_of_a_list_are_unique():
    """Two estimators of one name are an error that has the expression of a dict; repeated names are one method."""
    X, y, _ = draw()
    expression = r"got PLKNN twice\..* dict, such as \{\*\*default_estimators\(\), 'mine': PLKNN\("
    for methods in (["PLKNN", PLKNN()], [PLKNN(), "PLKNN"], [PLKNN(), PLKNN(n_neighbors=3)]):
        with pytest.raises(InputError, match=expression):
            compare(X, y, methods, cv=2)
    assert set(compare(X, y, ["PLKNN", "PLKNN"], cv=2).estimators) == {"PLKNN"}
    for methods in (["PLKNN", CLPL], ["PLKNN", 3], 3, PLKNN):
        with pytest.raises(InputTypeError, match="names of default estimators and of estimators, or a dict"):
            compare(X, y, methods, cv=2)


def test_a_wrong_name_has_a_suggestion():
    """The names of sets of methods are suggested if the name is the only one."""
    X, y, _ = draw()
    for methods, close in (("fewlabels", "few_labels"), (["PLKN"], "PLKNN"), ("looridge", "LOORidge")):
        with pytest.raises(InputError, match=f'got .* Did you mean "{close}"'):
            compare(X, y, methods, cv=2)


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pl.Series, lambda texts: np.array(texts, dtype=object)])
@pytest.mark.parametrize("methods", ["auto", "CLPL"])
def test_texts_need_a_vectorizer(form, methods):
    """Texts are an error of the default estimators that names the remedy; a dict of pipelines accepts them."""
    texts, y = (
        ["corn, wheat", "oil", "an oil tanker", "wheat", "oil and corn"] * 2,
        ["w", "o", "o", "w", ["o", "w"]] * 2,
    )
    with pytest.raises(InputError, match=r"For texts, begin each method with `oneof\.text\.make_vectorizer`"):
        compare(form(texts), y, methods, cv=2)
    pipelines = {"linear": make_pipeline(make_vectorizer(), CLPL())}
    assert compare(form(texts), y, pipelines, cv=2).results[0].error is None
