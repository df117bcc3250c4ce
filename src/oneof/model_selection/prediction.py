"""Held-out predictions of all rows by cross-validation."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.parallel import Parallel, delayed

from oneof.candidates import CandidateSets, as_candidates
from oneof.errors import InputError, reraise_as_input_error
from oneof.model_selection.folds import Split, resolve_folds
from oneof.typing import Floats, Labels
from oneof.validation import as_array, check_choice, check_estimator, check_n_jobs

MISSING_CLASS = {"predict": None, "predict_proba": 0.0, "predict_log_proba": -np.inf, "decision_function": -np.inf}
"""Value of a class that is not in a training set, for each method that `cross_val_predict` calls."""


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    method: Literal["predict", "predict_proba", "predict_log_proba", "decision_function"] = "predict",
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Any:
    """Predict each row by a model that was not fitted to its label.

    Parameters
    ----------
    estimator : estimator or Pipeline
        An estimator of oneof or, for exact labels, any classifier. It is cloned; the original is not fitted.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Passed to the estimator unchanged, by rows.
    y : array-like or CandidateSets of length n_samples
        Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights.
    cv : int, splitter or iterable of (train, test), default=5
        The number of folds of a `CandidateKFold`, with groups of a `CandidateGroupKFold`, or another way to split.
    method : {"predict", "predict_proba", "predict_log_proba", "decision_function"}, default="predict"
        Method of the estimator.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient or a recording. No group is in the training and in the test subset of a
        fold.
    n_jobs : int, optional
        The number of folds fitted in parallel (joblib).
    random_state : int, RandomState instance or None, default=0
        Seed of the folds if `cv` is an integer.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_classes)
        One prediction for each row. The columns are the sorted classes of `y`, or those of a `CandidateSets` in their
        order. A class that is not in the training rows of a fold has probability 0, and score -inf. For two classes a
        decision function has shape (n_samples,).

    Raises
    ------
    InputError
        If a labeled row is not in exactly one test subset, a group is in both subsets of a fold, a parameter is
        invalid, or X, y and groups differ in length.

    See Also
    --------
    sklearn.model_selection.cross_val_predict : The same for exact labels.

    Notes
    -----
    `CandidateKFold` has unlabeled rows in every training subset and in no test subset. They are predicted too: row i
    by the model of fold i modulo the number of folds. Its label is unknown, but a semi-supervised method was fitted to
    its features. With groups, an unlabeled row of a group that is tested by a fold is predicted by this fold.

    Decision functions of different folds have different scales. Compare them within a row only.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.model_selection import cross_val_predict
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> y = [["finch"], ["finch", "wren"], ["finch"], ["wren"], ["wren"], None]
    >>> cross_val_predict(PLKNN(n_neighbors=1), X, y, cv=2).tolist()
    ['finch', 'finch', 'finch', 'wren', 'wren', 'wren']
    """
    check_choice("method", method, tuple(MISSING_CLASS))
    return predict_held_out(estimator, X, y, method, FoldOptions(cv, groups, n_jobs, random_state))


class FoldOptions(NamedTuple):
    """Options of `cross_val_predict` that determine the folds, and how many of them are fitted in parallel."""

    cv: Any
    groups: Any = None
    n_jobs: int | None = None
    random_state: Any = 0


def predict_held_out(
    estimator: Any,
    X: Any,
    y: Any,
    method: str,
    options: FoldOptions,
    after_fold: Callable[[int, int], None] = lambda n_done, n_folds: None,  # noqa: ARG005 - a callback that does nothing
) -> Any:
    """Predict as `cross_val_predict`, and call ``after_fold(n_done, n_folds)`` after each fold."""
    check_estimator(estimator)
    check_n_jobs(options.n_jobs)
    if not hasattr(estimator, method):
        raise InputError(f"`estimator` must have {method}; {type(estimator).__name__} does not have it.")
    X, candidates = as_rows(X), as_candidates(y)
    with reraise_as_input_error():
        check_consistent_length(X, candidates)
    targets = as_targets(y, candidates)
    folds = predicted_folds(X, targets, candidates, options.cv, options.groups, options.random_state)
    with reraise_as_input_error():
        subsets = [(_safe_indexing(X, train), targets[train], _safe_indexing(X, test)) for train, test in folds]
    values: list[Any] = []
    for of_fold in Parallel(n_jobs=options.n_jobs, return_as="generator")(
        delayed(_fit_and_call)(estimator, *subset, method, candidates.classes) for subset in subsets
    ):
        values.append(of_fold)
        after_fold(len(values), len(folds))
    order = np.argsort(np.concatenate([test for _, test in folds]), kind="stable")
    predictions = np.concatenate(values)[order]
    if method == "decision_function" and candidates.shape[1] == 2:
        return predictions[:, 1] - predictions[:, 0]
    return predictions


def as_rows(X: Any) -> Any:
    """Return features whose rows can be indexed."""
    is_array = hasattr(X, "shape") and not isinstance(X, memoryview)
    return X.tocsr() if sp.issparse(X) else X if is_array else as_array(X, "X")


def as_targets(y: Any, candidates: CandidateSets) -> Labels | CandidateSets:
    """Return labels if all rows are exact, since any classifier accepts them; otherwise the candidate sets.

    Estimators of oneof would read a label -1 as a missing one, unless it is given as a vector of -1 and +1.
    """
    is_safe = -1 not in candidates.classes.tolist() or (
        not isinstance(y, CandidateSets) and not sp.issparse(y) and np.ndim(y) == 1
    )
    if candidates.is_exact.all() and is_safe:
        return candidates.classes[candidates.mask.argmax(axis=1)]
    return candidates


def predicted_folds(
    X: Any, targets: Any, candidates: CandidateSets, cv: Any, groups: Any, random_state: Any
) -> list[Split]:
    """Return the training rows of each fold and the rows that it predicts: each row once, and unlabeled rows too."""
    folds = resolve_folds(cv, X, targets, candidates, groups, random_state, once=True)
    return add_unlabeled_rows(candidates, folds)


def add_unlabeled_rows(candidates: CandidateSets, folds: Sequence[Split]) -> list[Split]:
    """Add the unlabeled rows that no fold tests to the test subsets: row i to fold i modulo their number.

    A row in the training subset of this fold is predicted by the first fold without it, if there is one.
    """
    is_left, is_trained = candidates.is_unlabeled, np.zeros((len(folds), len(candidates)), dtype=bool)
    for k, (train, test) in enumerate(folds):
        is_left[test], is_trained[k, train] = False, True
    left = np.flatnonzero(is_left)
    fold, is_trained = left % len(folds), is_trained[:, left]
    is_moved = is_trained[fold, np.arange(len(left))] & ~is_trained.all(axis=0)
    fold[is_moved] = is_trained[:, is_moved].argmin(axis=0)
    return [(train, np.concatenate([test, left[fold == k]])) for k, (train, test) in enumerate(folds)]


def _fit_and_call(estimator: Any, rows: Any, targets: Any, test_rows: Any, method: str, classes: Labels) -> Any:
    """Fit a clone, and return its values of the test rows, with a column for each of the classes.

    The classifier reads the rows and the labels, so its errors are those of the input.
    """
    # The check for infinity of another library may warn of an overflow before it raises.
    with reraise_as_input_error(), np.errstate(over="ignore", invalid="ignore"):
        model = clone(estimator).fit(rows, targets)
        if not test_rows.shape[0]:
            return np.empty(0, dtype=classes.dtype) if method == "predict" else np.empty((0, len(classes)))
        with np.errstate(divide="ignore"):  # the logarithm of 0 is -inf
            values = np.asarray(getattr(model, method)(test_rows))
    if method == "predict":
        return values
    return align_class_columns(values, method, np.asarray(model.classes_), classes)


def align_class_columns(values: Any, method: str, known: Labels, classes: Labels) -> Floats:
    """Return values with a column for each of the classes; those of one score are half of it, with either sign."""
    if values.ndim == 1:
        values = np.stack([-0.5 * values, 0.5 * values], axis=1)
    if values.shape[1] != len(known):
        raise InputError(
            f"`{method}` must return one column for each of the {len(known)} classes; got {values.shape[1]}."
        )
    column = {label: k for k, label in enumerate(classes.tolist())}
    aligned = np.full((len(values), len(classes)), MISSING_CLASS[method], dtype=values.dtype)
    aligned[:, [column[label] for label in known.tolist()]] = values
    return aligned
