"""Rows and labels of a comparison, checked, its folds, and one method on one fold: fit, predictions and scores."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from oneof.candidates import CandidateSets, as_candidates, expand_to_predicted
from oneof.comparison.results import FoldResult, HeldOut
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.estimators.base import check_informative, check_lengths, last_step
from oneof.estimators.soft_labels import weight_parameter
from oneof.messages import enumerate_items, warn
from oneof.metrics import approximated_accuracy, covering_rate
from oneof.model_selection import compute_sample_weight, get_proba
from oneof.model_selection.folds import Split, count_groups, encode_groups, fold_of_rows, resolve_folds, select_fold
from oneof.model_selection.prediction import as_rows, as_targets
from oneof.typing import Ints
from oneof.validation import as_float_array, check_choice, check_random_state, check_squares, is_integer

Progress = Callable[[int, int, str, float | None], None]
"""Callback ``(n_done, n_total, name, seconds_left)`` called after every fold; the time is None if unknown."""
MAX_ROWS_CROSS_VALIDATION = 2_000
"""Maximum number of labeled rows for which cv="auto" is cross-validation; with more, one split has a small error."""
MIN_GROUPS_ONE_SPLIT = 100
"""Number of groups below which cv="auto" is cross-validated: one split would hold out few groups."""
N_FOLDS = 5
"""Number of folds of cv="auto" with few rows; of more rows a fifth is held out."""
MAX_HELD_OUT_ROWS = 10_000
"""Maximum number of labeled rows held out by one split; the standard error of a rate is then at most 0.005."""
MAX_TRAIN_ROWS = 100_000
"""Maximum number of training rows of one split, labeled or not; the final model is fitted on all rows."""
MIN_TRUE_RATE, MIN_JUDGED_ROWS = 0.5, 10
"""Fraction of true labels among the labels of their rows, of this number of rows, below which a warning is given."""
clock = time.perf_counter
"""Clock of all times of a comparison, in seconds."""


class Task(NamedTuple):
    """Rows that can be indexed, their candidate sets, true labels if some are known, and the weights of the classes."""

    X: Any
    candidates: CandidateSets
    truth: CandidateSets | None
    class_weight: Any = None


def check_progress(progress: Any) -> Progress:
    """Return a callback, for None one that reports nothing; raise unless it is a function."""
    if progress is not None and not callable(progress):
        raise InputTypeError(f"`progress` must be a function or None; got {progress!r}.")
    return progress or (lambda *_: None)


def check_task(X: Any, y: Any, truth: Any, class_weight: Any = None) -> Task:
    """Check `X`, `y` and `truth`, and the consistency of their lengths and classes."""
    X, candidates = as_rows(X), as_candidates(y)
    check_lengths(X, candidates)
    check_informative(candidates)
    # The scalers of the pipelines compute variances, whose squares may overflow. Columns of texts are not converted.
    is_table = hasattr(X, "columns")
    names = [name for name in X.columns if "float" in str(getattr(X[name], "dtype", "")).lower()] if is_table else []
    for place, values in ((f"column {name!r}", np.asarray(X[name])) for name in names) if is_table else [("`X`", X)]:
        check_squares(values, place)
    return Task(X, candidates, None if truth is None else _check_truth(truth, candidates), class_weight)


def _check_truth(truth: Any, candidates: CandidateSets) -> CandidateSets | None:
    """Return the true labels, None if all are missing; raise or warn if they cannot be those of the sets."""
    try:
        known = expand_to_predicted(truth, [], candidates.classes)
    except LabelError as error:
        hint = " For class indices, pass `y.classes[truth]`, where `y` is a CandidateSets." * (error.cause == "types")
        raise error.because(error.reason + hint).at("`truth`") from None
    if len(known) != len(candidates):
        raise InputError(f"`truth` must have one label per row of `y` ({len(candidates)}); got {len(known)} labels.")
    if len(several := np.flatnonzero(~(known.is_exact | known.is_unlabeled))):
        row = several[0]
        raise LabelError(f"`truth` must have one label or a missing value per row; got several labels in row {row}.")
    rows = np.flatnonzero(known.is_exact)
    labels = known.classes[known.mask[rows].argmax(axis=1)].tolist()
    codes = columns_of(labels, candidates)
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        message = (
            f"`truth` has {labels[unknown[0]]!r} in row {rows[unknown[0]]}, which is not a class of `y`: no prediction "
            "of such a row is right. If it is a class, pass CandidateSets with `classes`; otherwise correct its name."
        )
        if len(unknown) == len(rows):
            raise LabelError(message)
        warn(message)
    is_covered = (candidates.mask[rows, codes] & (codes >= 0))[~candidates.is_unlabeled[rows]]
    if len(is_covered) >= MIN_JUDGED_ROWS and is_covered.mean() < MIN_TRUE_RATE:
        warn(
            f"only {100 * is_covered.mean():.0f} % of the true labels are among the labels of their rows. Check that "
            "`truth` has the names of the classes, and not numbers in another order.",
        )
    return known if len(rows) else None


def columns_of(labels: Any, candidates: CandidateSets) -> Ints:
    """Return the columns of labels in the classes of the sets; -1 for a label that is not a class."""
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    return np.array([column.get(label, -1) for label in np.asarray(labels).tolist()], dtype=np.int64)


def make_folds(task: Task, cv: Any, random_state: Any, groups: Any = None) -> list[Split]:
    """Return the row indices of the training and the test subset of each fold; see `compare` for `cv` and `groups`."""
    candidates = task.candidates
    if isinstance(cv, str):
        check_choice("cv", cv, ("auto",), ", a number of folds or a splitter")
        n_groups = math.inf if groups is None else count_groups(groups, candidates)
        is_large = (~candidates.is_unlabeled).sum() > MAX_ROWS_CROSS_VALIDATION and n_groups >= MIN_GROUPS_ONE_SPLIT
        cv = 1 if is_large else max(2, int(min(N_FOLDS, n_groups)))
    if isinstance(cv, bool) or (is_integer(cv) and cv < 1):
        raise InputError(f'`cv` must be "auto", an integer of at least 1 or a splitter; got {cv!r}.')
    if is_integer(cv) and cv == 1:
        splits = [_split_once(task, random_state, groups)]
    else:
        splits = resolve_folds(cv, task.X, as_targets(candidates, candidates), candidates, groups, random_state)
    _warn_of_lost_classes(candidates, splits)
    return splits


def _warn_of_lost_classes(candidates: CandidateSets, splits: list[Split]) -> None:
    """Warn if more held-out rows than a standard error of the rates have only classes without labels in training."""
    labeled, n_held_out, n_lost = ~candidates.is_unlabeled, 0, 0
    for train, test in splits:
        present = candidates.mask[train[labeled[train]]].any(axis=0)
        held_out = candidates.mask[test[labeled[test]]]
        n_held_out += len(held_out)
        n_lost += int((~held_out[:, present].any(axis=1)).sum())
    if n_lost > 0.5 * math.sqrt(n_held_out):  # the largest standard error of a number of correct rows
        warn(
            f"{n_lost} of {n_held_out} held-out rows have classes without a label in the training rows of their fold, "
            "which no method can predict: rates are too low, and do not rank methods. Label several rows of each class."
        )


def _split_once(task: Task, random_state: Any, groups: Any) -> Split:
    """Hold out one of many stratified folds: a fifth of the labeled rows, or `MAX_HELD_OUT_ROWS`.

    Labeled rows with a truth are held out as well if they are at most half as many, unless there are groups: the
    accuracy is then that of all of them. The training rows are the other rows, or `MAX_TRAIN_ROWS` of them. Of folds by
    groups, which differ in size, the one whose size is closest to the mean is held out.
    """
    candidates, truth = task.candidates, task.truth
    n_labeled = int((~candidates.is_unlabeled).sum())
    group = None if groups is None else encode_groups(groups, len(candidates))
    n_folds = max(min(N_FOLDS, n_labeled), -(-n_labeled // MAX_HELD_OUT_ROWS))
    if group is not None:
        n_folds = max(2, min(n_folds, count_groups(groups, candidates)))
    fold = fold_of_rows(candidates, n_folds, group, random_state=random_state)
    if group is None and truth is not None:
        known = ~truth.is_unlabeled & ~candidates.is_unlabeled
        if 2 * known.sum() <= (fold == 0).sum():
            fold[known] = 0
    sizes = np.bincount(fold[fold >= 0], minlength=n_folds)
    train, test = select_fold(fold, 0 if group is None else int(np.abs(sizes - n_labeled / n_folds).argmin()), group)
    if len(train) > MAX_TRAIN_ROWS:
        train = np.sort(check_random_state(random_state).permutation(train)[:MAX_TRAIN_ROWS])
    return train, test


def has_class_weights(estimator: Any) -> bool:
    """Return whether a method, or the last step of a pipeline, has weights of rows in `fit`, or of classes."""
    return weight_parameter(estimator) is not None or hasattr(last_step(estimator), "class_weight")


def check_class_weights(class_weight: Any, estimators: Mapping[str, Any], candidates: CandidateSets) -> None:
    """Raise if the weights are invalid, or a method has none; None is valid."""
    if class_weight is None:
        return
    compute_sample_weight(class_weight, candidates)
    without = [name for name, estimator in estimators.items() if not has_class_weights(estimator)]
    if without:
        raise InputError(
            f"`class_weight` must be None for methods without weights of rows or classes: {enumerate_items(without)}; "
            f'got {class_weight!r}. Compare other methods, such as methods="auto", which selects those with weights.'
        )


def fit_with_class_weights(estimator: Any, X: Any, candidates: CandidateSets, class_weight: Any) -> Any:
    """Fit an estimator, whose last step gets weights of the rows; without such weights its `class_weight` is set."""
    if class_weight is None:
        return estimator.fit(X, candidates)
    if (parameter := weight_parameter(estimator)) is not None:
        return estimator.fit(X, candidates, **{parameter: compute_sample_weight(class_weight, candidates)})
    last_step(estimator).set_params(class_weight=class_weight)
    return estimator.fit(X, candidates)


def try_fit_and_score(estimator: Any, task: Task, split: Split, sets: CandidateSets | None = None) -> FoldResult:
    """Fit a clone on the training rows and score it on the test rows; the result has the error message if it raises.

    All candidate sets are over all classes. Unlabeled test rows are predicted, and scored by their true labels alone.
    `sets` are fitted in place of those of the training rows.
    """
    start, (rows, test) = clock(), split
    try:
        model, X, sets = clone(estimator), _safe_indexing(task.X, rows), task.candidates[rows] if sets is None else sets
        fit_start = clock()
        fit_with_class_weights(model, X, sets, task.class_weight)
        fit_seconds = clock() - fit_start
        rows, known, truth = test, task.candidates[test], None if task.truth is None else task.truth[test]
        predicted, held_out = _predict(model, _safe_indexing(task.X, rows), known)
        n_labeled = int((~known.is_unlabeled).sum())
        n_true = 0 if truth is None else int((~truth.is_unlabeled).sum())
        has_scores = held_out.method != "predict" and n_labeled > 0
        result = FoldResult(
            covering_rate=covering_rate(known, predicted) if n_labeled else math.nan,
            approximated_accuracy=approximated_accuracy(known, held_out.proba) if has_scores else math.nan,
            fit_seconds=fit_seconds,
            accuracy=covering_rate(truth, predicted) if n_true else None,
            n_labeled=n_labeled,
            n_true=n_true,
            held_out=held_out,
        )
    except Exception as error:  # an error of one method must not stop the others
        result = FoldResult(error=_describe(error, rows))
    return replace(result, seconds=clock() - start)


def _describe(error: Exception, rows: Ints) -> str:
    """Return the type and the message of an error of some rows, with their numbers in X."""
    if isinstance(error, InputError) and error.row is not None and 0 <= error.row < len(rows):
        error = error.at(first_row=int(rows[error.row]) - error.row)
    return f"{type(error).__name__}: {error}"


def _predict(model: Any, rows: Any, sets: CandidateSets) -> tuple[Any, HeldOut]:
    """Return the predictions of some rows, and the same with probabilities in the order of the classes of their sets.

    Warn if a prediction is not a class, or if most are not the class of the largest probability: a sign of columns in
    another order.
    """
    if isinstance(model, Pipeline) and len(model) > 1:  # transform the rows once for both calls below
        rows, model = model[:-1].transform(rows), model[-1]
    name, (n_rows, n_classes) = type(model).__name__, sets.shape
    predicted = _check_shape(f"predict of {name}", model.predict(rows), (n_rows,))
    codes = columns_of(predicted, sets)
    unknown = np.asarray(predicted)[codes < 0].tolist()
    if unknown:
        warn(
            f"{name} predicts {unknown[0]!r}, which is not a class of `y`; {len(unknown)} of {n_rows} predictions are "
            "not. `predict` must return members of `classes_`, not their numbers.",
        )
    method = next(name for name in ("predict_proba", "decision_function", "predict") if hasattr(model, name))
    if method == "predict":
        return predicted, HeldOut(codes, (codes[:, None] == np.arange(n_classes)).astype(np.float32), method)
    columns = columns_of(model.classes_, sets)
    with np.errstate(invalid="ignore"):  # the softmax of infinite scores, which the approximated accuracy rejects
        proba = _check_shape(f"{method} of {name}", get_proba(model, rows).proba, (n_rows, len(columns)))
    if proba.dtype.kind not in "fiub":  # objects, as a table with mixed columns has them
        proba = as_float_array(proba, method)
    if not (np.isfinite(proba) & (proba >= 0)).all():
        row, column = np.argwhere(~(np.isfinite(proba) & (proba >= 0)))[0].tolist()
        raise InputError(
            f"{method} of {name} must return finite scores, or finite probabilities of at least 0; got "
            f"{proba[row, column]} for the class {np.asarray(model.classes_).tolist()[column]!r}.",
            row=row,
        )
    rate = np.mean(np.asarray(model.classes_)[proba.argmax(axis=1)] == np.asarray(predicted))
    if n_rows >= MIN_JUDGED_ROWS and rate < MIN_TRUE_RATE:
        warn(
            f"only {100 * rate:.0f} % of the predictions of {name} are the class of its largest probability. The "
            "columns of `predict_proba` must be in the order of `classes_`.",
        )
    aligned = np.zeros((n_rows, n_classes), dtype=proba.dtype)
    aligned[:, columns[columns >= 0]] = proba[:, columns >= 0]
    return predicted, HeldOut(codes, aligned, method)


def _check_shape(name: str, output: Any, shape: tuple[int, ...]) -> Any:
    """Return the output of a method for some rows; raise unless it has a shape."""
    if np.shape(output) != shape:
        raise InputError(f"{name} must return an array of shape {shape}; got shape {np.shape(output)}.")
    return output
