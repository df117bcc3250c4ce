"""Checks of a comparison task, its folds, and the scores of one method on one fold."""

import contextlib
import math
import numbers
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from oneof.candidates import CandidateSets, as_candidates, expand_to_predicted
from oneof.candidates.spellings import find_spellings
from oneof.comparison.class_weights import fit_with_class_weights
from oneof.comparison.outputs import (
    MIN_JUDGED_ROWS,
    MIN_TRUE_RATE,
    as_columns,
    check_predicted,
    check_proba,
    predict_labels,
    predict_proba,
)
from oneof.comparison.results import FoldResult
from oneof.errors import InputError, LabelError, reraise_as_input_error
from oneof.estimators.base import check_informative, check_lengths
from oneof.messages import warn
from oneof.metrics import approximated_accuracy, covering_rate
from oneof.model_selection import CandidateGroupKFold, CandidateKFold
from oneof.model_selection.folds import (
    check_disjoint,
    check_stratification,
    encode_groups,
    fold_of_groups,
    fold_of_rows,
    group_split,
    read_folds,
    warn_of_common_rows,
)
from oneof.model_selection.prediction import as_targets
from oneof.typing import Ints
from oneof.validation import as_array, check_choice, check_random_state, check_squares

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
clock = time.perf_counter
"""Clock of all times of a comparison, in seconds."""


class Task(NamedTuple):
    """Rows that can be indexed, their candidate sets, true labels if some are known, and the weights of the classes."""

    X: Any
    candidates: CandidateSets
    truth: CandidateSets | None
    class_weight: Any = None


def check_task(X: Any, y: Any, truth: Any, class_weight: Any = None) -> Task:
    """Check `X`, `y` and `truth`, and the consistency of their lengths and classes."""
    X = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else as_array(X, "X")
    candidates = as_candidates(y)
    check_lengths(X, candidates)
    check_informative(candidates)
    _check_squares(X)
    if truth is None:
        return Task(X, candidates, None, class_weight)
    try:
        known = expand_to_predicted(truth, [], candidates.classes)
    except LabelError as error:
        if error.cause != "types":
            raise error.at("`truth`") from None
        raise LabelError(
            f"`truth` must use the class names of `y`, such as {candidates.classes.tolist()[0]!r}; {error.reason} For "
            "class indices, pass `y.classes[truth]`, where `y` is a CandidateSets.",
            cause="types",
        ) from None
    if len(known) != len(candidates):
        raise InputError(f"`truth` must have one label per row of `y` ({len(candidates)}); got {len(known)} labels.")
    named = known.mask[known.is_exact].any(axis=0)
    if named.any() and not set(known.classes[named].tolist()) & set(candidates.classes.tolist()):
        label = known.classes[named].tolist()[0]
        other = find_spellings([label], candidates.classes.tolist())[0]
        remedy = "" if other is None else f" {_describe_spelling(other)}"
        raise LabelError(
            f"`truth` must use the class names of `y`; got {label!r}, which is not a class of `y`.{remedy}"
        )
    if not (known.is_exact | known.is_unlabeled).all():
        row = int(np.flatnonzero(~(known.is_exact | known.is_unlabeled))[0])
        raise LabelError(f"`truth` must have one label or a missing value per row; got several labels in row {row}.")
    _warn_of_other_labels(known, candidates)
    return Task(X, candidates, None if known.is_unlabeled.all() else known, class_weight)


def _check_squares(X: Any) -> None:
    """Raise if the squares of a feature overflow, since the scalers of the pipelines compute its variance."""
    if not hasattr(X, "columns"):
        check_squares(X, "`X`")
        return
    for name in X.columns:
        dtype: Any = getattr(X[name], "dtype", None)
        if getattr(dtype, "kind", None) == "f" or (hasattr(dtype, "is_float") and dtype.is_float()):  # or polars
            check_squares(np.asarray(X[name]), f"column {name!r}")


def _warn_of_other_labels(known: CandidateSets, candidates: CandidateSets) -> None:
    """Warn if a true label is not a class, or if most true labels are not among the labels of their rows."""
    columns = np.flatnonzero(~np.isin(known.classes, candidates.classes))
    other = np.flatnonzero(known.is_exact & known.mask[:, columns].any(axis=1))
    if len(other):
        spellings = find_spellings(known.classes[columns].tolist(), candidates.classes.tolist())
        names = dict(zip(columns.tolist(), spellings, strict=True))
        misspelled = [k for k, name in names.items() if name is not None]
        rows = np.flatnonzero(known.is_exact & known.mask[:, misspelled].any(axis=1))
        row = int(rows[0] if len(rows) else other[0])
        k = int(known.mask[row].argmax())
        remedy = "If it is a class, pass CandidateSets with `classes`; otherwise correct its name."
        if len(rows):
            remedy = _describe_spelling(names[k])
        warn(
            f"`truth` has {known.classes.tolist()[k]!r} in row {row}, which is not a class of `y`: every prediction of "
            f"such a row is wrong. {remedy}",
        )
    judged = np.flatnonzero(known.is_exact & ~candidates.is_unlabeled)
    if len(judged) < MIN_JUDGED_ROWS:
        return
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    true = known.classes[known.mask[judged].argmax(axis=1)].tolist()
    rate = np.mean(
        [label in column and candidates.mask[i, column[label]] for i, label in zip(judged, true, strict=True)]
    )
    if rate < MIN_TRUE_RATE:
        warn(
            f"only {100 * rate:.0f} % of the true labels are among the labels of their rows. Check that `truth` has "
            "the names of the classes, and not numbers in another order.",
        )


def _describe_spelling(name: str | None) -> str:
    return f"It differs from the class {name!r} only in case, spaces, underscores or hyphens: use one spelling in both."


def make_folds(task: Task, cv: Any, random_state: Any, groups: Any = None) -> list[tuple[Ints, Ints]]:
    """Return the row indices of the training and the test subset of each fold; see `compare` for `cv` and `groups`."""
    candidates = task.candidates
    n_labeled = int((~candidates.is_unlabeled).sum())
    group = None if groups is None else encode_groups(groups, len(candidates))
    n_groups = math.inf if group is None else count_groups(groups, candidates)
    if isinstance(cv, str):
        check_choice("cv", cv, ("auto",), ", a number of folds or a splitter")
        is_large = n_labeled > MAX_ROWS_CROSS_VALIDATION and n_groups >= MIN_GROUPS_ONE_SPLIT
        cv = 1 if is_large else max(2, int(min(N_FOLDS, n_groups)))
    if isinstance(cv, numbers.Integral):
        if isinstance(cv, bool) or cv < 1:
            raise InputError(f'`cv` must be "auto", an integer of at least 1 or a splitter; got {cv!r}.')
        if cv == 1:
            return [_split_once(candidates, n_labeled, random_state, group, task.truth)]
        cv = (CandidateKFold if group is None else CandidateGroupKFold)(int(cv), random_state=random_state)
    check_stratification(cv, candidates)
    try:
        with reraise_as_input_error():
            targets = candidates if isinstance(cv, CandidateKFold) else as_targets(candidates, candidates)
            folds = read_folds(check_cv(cv).split(task.X, targets, groups), len(candidates))
    except InputError as error:
        if "'groups' parameter" not in str(error):
            raise
        splitter = f"{type(cv).__name__}({getattr(cv, 'n_splits', '')})"
        raise InputError(
            f"`groups` must be the group of each row, since the folds of cv={splitter} are by groups; got None."
        ) from None
    if group is not None:
        check_disjoint(folds, group, groups)
    warn_of_common_rows(folds, ~candidates.is_unlabeled)
    return folds


def count_groups(groups: Any, candidates: CandidateSets) -> int:
    """Return the number of groups with a labeled row."""
    return len(np.unique(encode_groups(groups, len(candidates))[~candidates.is_unlabeled]))


def _split_once(
    candidates: CandidateSets, n_labeled: int, random_state: Any, group: Ints | None, truth: CandidateSets | None
) -> tuple[Ints, Ints]:
    """Hold out one of many stratified folds: a fifth of the labeled rows, or `MAX_HELD_OUT_ROWS`.

    Labeled rows with a truth are held out as well if they are at most half as many, unless there are groups: the
    accuracy is then that of all of them. The training rows are the other rows, or `MAX_TRAIN_ROWS` of them. Of folds by
    groups, which differ in size, the one whose size is closest to the mean is held out.
    """
    n_folds = max(min(N_FOLDS, n_labeled), -(-n_labeled // MAX_HELD_OUT_ROWS))
    if group is None:
        is_test = fold_of_rows(candidates, n_folds, random_state=random_state) == 0
        if truth is not None:
            known = ~truth.is_unlabeled & ~candidates.is_unlabeled
            if 2 * known.sum() <= is_test.sum():
                is_test |= known
        train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    else:
        n_groups = len(np.unique(group[~candidates.is_unlabeled]))
        n_folds = max(2, min(n_folds, n_groups))
        fold = fold_of_groups(candidates, group, n_folds, random_state=random_state)
        sizes = np.bincount(fold[fold >= 0], minlength=n_folds)
        train, test = group_split(group, fold, int(np.abs(sizes - n_labeled / n_folds).argmin()))
    if len(train) > MAX_TRAIN_ROWS:
        train = np.sort(check_random_state(random_state).permutation(train)[:MAX_TRAIN_ROWS])
    return train, test


def try_fit_and_score(
    estimator: Any,
    task: Task,
    train: Ints,
    test: Ints,
    further: Ints | None = None,
    sets: CandidateSets | None = None,
) -> FoldResult:
    """Run `fit_and_score` and return a result with the error message if it raises."""
    start = clock()
    try:
        result = fit_and_score(estimator, task, train, test, further, sets)
    except Exception as error:  # an error of one method must not stop the others
        hint = ""
        if str(error).startswith("Unknown label type"):  # of a classifier of scikit-learn
            hint = " Wrap the classifier in oneof.CandidateEM, which fits it to candidate sets."
        result = FoldResult(error=f"{type(error).__name__}: {error}{hint}")
    return replace(result, seconds=clock() - start)


def fit_and_score(
    estimator: Any,
    task: Task,
    train: Ints,
    test: Ints,
    further: Ints | None = None,
    sets: CandidateSets | None = None,
) -> FoldResult:
    """Fit a clone on the training rows and score it on the test rows; all candidate sets are over all classes.

    `further` rows are predicted too, but not scored; ``held_out`` has them after the test rows. `sets` are fitted in
    place of those of the training rows.
    """
    X, candidates, truth, class_weight = task
    model, rows = clone(estimator), _safe_indexing(X, train)
    start = clock()
    with _rows_numbered_by(train):
        fit_with_class_weights(model, rows, candidates[train] if sets is None else sets, class_weight)
    seconds = clock() - start
    n_test = len(test)
    predicted_rows = test if further is None else np.concatenate([test, further])
    rows, sets = _safe_indexing(X, predicted_rows), candidates[test]
    n_labeled = int((~sets.is_unlabeled).sum())
    approximated, proba, has_proba = math.nan, None, False
    with _rows_numbered_by(predicted_rows):
        if isinstance(model, Pipeline) and len(model) > 1:  # transform the rows once for both calls below
            rows, model = model[:-1].transform(rows), model[-1]
        all_predicted = predict_labels(model, rows, len(predicted_rows))
        if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
            proba, has_proba = predict_proba(model, rows, len(predicted_rows))
    predicted = all_predicted[:n_test]
    check_predicted(model, predicted, sets)
    if proba is not None:
        check_proba(model, predicted, proba[:n_test], has_proba=has_proba)
        if n_labeled:
            approximated = approximated_accuracy(sets, proba[:n_test], classes=model.classes_)
    n_true = 0 if truth is None else int((~truth.is_unlabeled[test]).sum())
    return FoldResult(
        covering_rate=covering_rate(sets, predicted) if n_labeled else math.nan,
        approximated_accuracy=approximated,
        fit_seconds=seconds,
        accuracy=covering_rate(truth[test], predicted) if truth is not None and n_true else None,
        n_labeled=n_labeled,
        n_true=n_true,
        held_out=as_columns(candidates, all_predicted, proba, has_proba, model),
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
