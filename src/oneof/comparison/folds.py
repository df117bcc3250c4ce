"""Rows and labels of a comparison, checked, and its folds."""

import math
import numbers
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import check_cv

from oneof.candidates import CandidateSets, as_candidates, expand_to_predicted
from oneof.candidates.spellings import find_spellings
from oneof.errors import InputError, LabelError, reraise_as_input_error
from oneof.estimators.base import check_informative, check_lengths
from oneof.messages import warn
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


def check_task(X: Any, y: Any, truth: Any, class_weight: Any = None) -> Task:
    """Check `X`, `y` and `truth`, and the consistency of their lengths and classes."""
    X = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else as_array(X, "X")
    candidates = as_candidates(y)
    check_lengths(X, candidates)
    check_informative(candidates)
    _check_squares(X)
    return Task(X, candidates, None if truth is None else _check_truth(truth, candidates), class_weight)


def _check_squares(X: Any) -> None:
    """Raise if the squares of a feature overflow, since the scalers of the pipelines compute its variance."""
    if not hasattr(X, "columns"):
        check_squares(X, "`X`")
        return
    for name in X.columns:
        dtype: Any = getattr(X[name], "dtype", None)
        if getattr(dtype, "kind", None) == "f" or (hasattr(dtype, "is_float") and dtype.is_float()):  # or polars
            check_squares(np.asarray(X[name]), f"column {name!r}")


def _check_truth(truth: Any, candidates: CandidateSets) -> CandidateSets | None:
    """Return the true labels, None if all are missing; raise or warn if they cannot be those of the sets."""
    classes = candidates.classes.tolist()
    try:
        known = expand_to_predicted(truth, [], candidates.classes)
    except LabelError as error:
        if error.cause != "types":
            raise error.at("`truth`") from None
        raise LabelError(
            f"`truth` must use the class names of `y`, such as {classes[0]!r}; {error.reason} For class indices, pass "
            "`y.classes[truth]`, where `y` is a CandidateSets.",
            cause="types",
        ) from None
    if len(known) != len(candidates):
        raise InputError(f"`truth` must have one label per row of `y` ({len(candidates)}); got {len(known)} labels.")
    is_several = ~(known.is_exact | known.is_unlabeled)
    if is_several.any():
        row = int(np.flatnonzero(is_several)[0])
        raise LabelError(f"`truth` must have one label or a missing value per row; got several labels in row {row}.")
    rows = np.flatnonzero(known.is_exact)
    codes, names = known.mask[rows].argmax(axis=1), known.classes.tolist()
    position = {name: k for k, name in enumerate(classes)}
    column = np.array([position.get(name, -1) for name in names], dtype=np.int64)[codes]
    if (column < 0).any():
        _report_other_labels(rows[column < 0], [names[k] for k in codes[column < 0]], classes, all_rows=len(rows))
    is_judged = ~candidates.is_unlabeled[rows]
    rate = np.mean((candidates.mask[rows, column] & (column >= 0))[is_judged]) if is_judged.any() else 1.0
    if is_judged.sum() >= MIN_JUDGED_ROWS and rate < MIN_TRUE_RATE:
        warn(
            f"only {100 * rate:.0f} % of the true labels are among the labels of their rows. Check that `truth` has "
            "the names of the classes, and not numbers in another order.",
        )
    return known if len(rows) else None


def _report_other_labels(rows: Ints, labels: list[Any], classes: list[Any], *, all_rows: int) -> None:
    """Raise if no true label is a class, and warn if some are not; name one in another spelling if there is one."""
    spelling = dict(zip(distinct := list(dict.fromkeys(labels)), find_spellings(distinct, classes), strict=True))
    at = next((i for i, label in enumerate(labels) if spelling[label] is not None), 0)
    remedy = "If it is a class, pass CandidateSets with `classes`; otherwise correct its name."
    if spelling[labels[at]] is not None:
        remedy = (
            f"It differs from the class {spelling[labels[at]]!r} only in case, spaces, underscores or hyphens: use one "
            "spelling in both."
        )
    if len(rows) == all_rows:
        raise LabelError(
            f"`truth` must use the class names of `y`; got {labels[at]!r}, which is not a class of `y`. {remedy}"
        )
    warn(
        f"`truth` has {labels[at]!r} in row {rows[at]}, which is not a class of `y`: every prediction of such a row is "
        f"wrong. {remedy}",
    )


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
