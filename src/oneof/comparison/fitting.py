"""One method on one fold: its fit, its held-out predictions, their checks and their scores."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from oneof.candidates import CandidateSets
from oneof.comparison import folds
from oneof.comparison.class_weights import fit_with_class_weights
from oneof.comparison.folds import MIN_JUDGED_ROWS, MIN_TRUE_RATE, Task
from oneof.comparison.results import FoldResult, HeldOut
from oneof.errors import InputError
from oneof.likelihoods import softmax
from oneof.messages import warn
from oneof.metrics import approximated_accuracy, covering_rate
from oneof.model_selection import get_proba, get_scores
from oneof.typing import Floats, Ints

MAX_SUM_ERROR = 0.01
"""Largest difference of the sum of the probabilities of a row from 1 that rounding explains."""
MIN_ORDER_GAIN = 0.1
"""Gain of the covering rate from which the classes of a method seem to be in another order."""


def try_fit_and_score(
    estimator: Any, task: Task, train: Ints, test: Ints, sets: CandidateSets | None = None
) -> FoldResult:
    """Run `fit_and_score` and return a result with the error message if it raises."""
    start = folds.clock()
    try:
        result = fit_and_score(estimator, task, train, test, sets)
    except Exception as error:  # an error of one method must not stop the others
        hint = ""
        if str(error).startswith("Unknown label type"):  # of a classifier of scikit-learn
            hint = " Wrap the classifier in oneof.CandidateEM, which fits it to candidate sets."
        result = FoldResult(error=f"{type(error).__name__}: {error}{hint}")
    return replace(result, seconds=folds.clock() - start)


def fit_and_score(estimator: Any, task: Task, train: Ints, test: Ints, sets: CandidateSets | None = None) -> FoldResult:
    """Fit a clone on the training rows and score it on the test rows; all candidate sets are over all classes.

    Unlabeled test rows are predicted, and scored by their true labels alone. `sets` are fitted in place of those of the
    training rows.
    """
    X, candidates, truth, class_weight = task
    model, rows = clone(estimator), _safe_indexing(X, train)
    start = folds.clock()
    with _rows_numbered_by(train):
        fit_with_class_weights(model, rows, candidates[train] if sets is None else sets, class_weight)
    seconds = folds.clock() - start
    rows, known = _safe_indexing(X, test), candidates[test]
    n_labeled = int((~known.is_unlabeled).sum())
    n_true = 0 if truth is None else int((~truth.is_unlabeled[test]).sum())
    proba, has_proba = None, False
    with _rows_numbered_by(test):
        if isinstance(model, Pipeline) and len(model) > 1:  # transform the rows once for both calls below
            rows, model = model[:-1].transform(rows), model[-1]
        predicted = _predict_labels(model, rows, len(test))
        if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
            proba, has_proba = predict_proba(model, rows, len(test))
    _check_predicted(model, predicted, known)
    if proba is not None:
        _check_proba(model, predicted, proba, has_proba=has_proba)
    has_approximated = proba is not None and n_labeled > 0
    return FoldResult(
        covering_rate=covering_rate(known, predicted) if n_labeled else math.nan,
        approximated_accuracy=(
            approximated_accuracy(known, proba, classes=model.classes_) if has_approximated else math.nan
        ),
        fit_seconds=seconds,
        accuracy=covering_rate(truth[test], predicted) if truth is not None and n_true else None,
        n_labeled=n_labeled,
        n_true=n_true,
        held_out=_as_columns(candidates, model, predicted, proba, has_proba),
    )


@contextlib.contextmanager
def _rows_numbered_by(rows: Ints) -> Iterator[None]:
    """Replace the row of an error of a fold by the row of `X`."""
    try:
        yield
    except InputError as error:
        if error.row is None or not 0 <= error.row < len(rows):
            raise
        raise error.at(first_row=int(rows[error.row]) - error.row) from None


def _predict_labels(model: Any, rows: Any, n_rows: int) -> Any:
    """Return the predictions of a method; raise unless they are one label for each row."""
    predicted = model.predict(rows)
    if np.shape(predicted) != (n_rows,):
        result = "None" if predicted is None else f"shape {np.shape(predicted)}"
        raise InputError(
            f"predict of {type(model).__name__} must return a vector with one label for each of the {n_rows:,} rows of "
            f"X; got {result}."
        )
    return predicted


def predict_proba(model: Any, rows: Any, n_rows: int) -> tuple[Floats, bool]:
    """Return the probabilities of a method, or the softmax of its scores, and whether they are probabilities.

    They must have a row for each row of X and a column for each class of the method. Probabilities must be finite and
    nonnegative. Scores must be finite, or -inf for some classes, whose probability is 0.
    """
    has_proba = hasattr(model, "predict_proba")
    name = f"{'predict_proba' if has_proba else 'decision_function'} of {type(model).__name__}"
    if not hasattr(model, "classes_"):
        raise InputError(
            f"{type(model).__name__} must have the attribute `classes_` after `fit`: the class of each column of "
            f"{name}. Set `self.classes_ = y.classes` in `fit`."
        )
    values = get_proba(model, rows).proba if has_proba else get_scores(model, rows)
    n_classes = len(model.classes_)
    if values.shape != (n_rows, n_classes):
        scores = "" if has_proba or values.shape[-1] != 2 else " A 1-D array has the scores of two classes."
        raise InputError(
            f"{name} must return an array of shape ({n_rows}, {n_classes}), a row for each row of X and a column for "
            f"each class in `classes_`; got shape {values.shape}.{scores}"
        )
    if values.dtype.kind == "O":  # as a table with mixed columns has them
        with contextlib.suppress(TypeError, ValueError):
            values = values.astype(np.float64)
    if values.dtype.kind not in "fiub":
        raise InputError(f"{name} must return numbers; got values of type {values.dtype}.")
    if has_proba:
        wrong, expected = ~(np.isfinite(values) & (values >= 0)), "finite, nonnegative numbers"
    else:
        is_lowest = np.isneginf(values)
        wrong = ~(np.isfinite(values) | is_lowest) | is_lowest.all(axis=1, keepdims=True)
        expected = "scores that are finite, or -inf for some of the classes"
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        label = np.asarray(model.classes_).tolist()[column]
        raise InputError(f"{name} must return {expected}; got {values[row, column]} for the class {label!r}.", row=row)
    return values if has_proba else softmax(values), has_proba


def _check_predicted(model: Any, predicted: Any, sets: CandidateSets) -> None:
    """Warn if a prediction is not a class, or if the classes of a method seem to be in another order than its columns.

    A method with sorted ``classes_`` and columns in the order of ``y.classes`` predicts wrong names of right columns.
    """
    labels, classes = np.asarray(predicted).tolist(), sets.classes.tolist()
    unknown = [label for label in labels if label not in set(classes)]
    if unknown:
        warn(
            f"{type(model).__name__} predicts {unknown[0]!r}, which is not a class of `y`; {len(unknown)} of "
            f"{len(labels)} predictions are not. `predict` must return members of `classes_`, not their numbers.",
        )
        return
    own = np.asarray(model.classes_).tolist() if hasattr(model, "classes_") else classes
    if own == classes or set(own) != set(classes) or len(labels) < MIN_JUDGED_ROWS or sets.is_unlabeled.all():
        return
    renamed = dict(zip(own, classes, strict=True))
    rate = covering_rate(sets, [renamed[label] for label in labels])
    min_gain = max(MIN_ORDER_GAIN, 3.0 * math.sqrt(0.5 / len(labels)))  # of three standard errors, at a rate of 1/2
    if rate > MIN_TRUE_RATE and rate > covering_rate(sets, labels) + min_gain:
        warn(
            f"the columns of {type(model).__name__} seem to be in the order of `y.classes`, unlike its `classes_`. "
            "Store `y.classes` as `classes_`; they are not always sorted.",
        )


def _check_proba(model: Any, predicted: Any, proba: Floats, *, has_proba: bool) -> None:
    """Warn if probabilities do not sum to 1, or most predictions are not the class of the largest probability.

    The second is a sign of columns in another order.
    """
    if has_proba and (np.abs(proba.sum(axis=1) - 1.0) > MAX_SUM_ERROR).any():
        warn(f"the probabilities of {type(model).__name__} do not sum to 1 in each row. Divide them by their sum.")
    rate = np.mean(np.asarray(model.classes_)[proba.argmax(axis=1)] == np.asarray(predicted))
    if len(proba) >= MIN_JUDGED_ROWS and rate < MIN_TRUE_RATE:
        warn(
            f"only {100 * rate:.0f} % of the predictions of {type(model).__name__} are the class of its largest "
            "probability. The columns of `predict_proba` must be in the order of `classes_`.",
        )


def _as_columns(
    candidates: CandidateSets, model: Any, predicted: Any, proba: Floats | None, has_proba: bool
) -> HeldOut:
    """Return predictions and probabilities in the order of the classes of the sets; -1 for other labels."""
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    codes = np.array([column.get(label, -1) for label in np.asarray(predicted).tolist()], dtype=np.int64)
    aligned = np.zeros((len(codes), len(column)), dtype=np.float32 if proba is None else proba.dtype)
    if proba is None:
        aligned[codes >= 0, codes[codes >= 0]] = 1.0
    else:
        columns = np.array([column.get(label, -1) for label in np.asarray(model.classes_).tolist()], dtype=np.int64)
        aligned[:, columns[columns >= 0]] = proba[:, columns >= 0]
    return HeldOut(codes, aligned, has_proba)
