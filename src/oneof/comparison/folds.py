"""One task cut into folds, and one method judged on one of them."""

import math
import numbers
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from oneof.candidates import CandidateSets, as_candidates, expand_to_predicted
from oneof.comparison.results import FoldResult
from oneof.errors import InputError, LabelError, reraise_as_input_error
from oneof.estimators.base import check_informative, check_lengths
from oneof.metrics import approximated_accuracy, covering_rate
from oneof.model_selection import CandidateKFold, get_proba
from oneof.typing import Ints
from oneof.validation import as_array

Progress = Callable[[int, int, str], None]
"""Called after every fold with how many are done, how many there are, and what was done."""


class Task(NamedTuple):
    """Rows that can be indexed, their sets, and their true labels where one is known."""

    X: Any
    candidates: CandidateSets
    truth: CandidateSets | None


def read_task(X: Any, y: Any, truth: Any) -> Task:
    """Read what the user gave, and check that it fits together."""
    X = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else as_array(X, "X")
    candidates = as_candidates(y)
    check_lengths(X, candidates)
    check_informative(candidates)
    if truth is None:
        return Task(X, candidates, None)
    known = expand_to_predicted(truth, [], candidates.classes)
    if len(known) != len(candidates):
        raise InputError(f"truth has {len(known)} labels, but y has {len(candidates)} rows: give one for each row.")
    named = known.mask[known.is_exact].any(axis=0)
    if named.any() and not set(known.classes[named].tolist()) & set(candidates.classes.tolist()):
        raise LabelError(
            f"truth names {known.classes[named].tolist()[0]!r} and no class of y: write true labels as y does."
        )
    if not (known.is_exact | known.is_unlabeled).all():
        row = int(np.flatnonzero(~(known.is_exact | known.is_unlabeled))[0])
        raise LabelError(f"row {row} of truth names several labels: give one true label a row, or a missing value.")
    return Task(X, candidates, None if known.is_unlabeled.all() else known)


def folds_of(task: Task, cv: Any, random_state: Any) -> list[tuple[Ints, Ints]]:
    """Return the rows of the training and the test part of each fold."""
    if isinstance(cv, numbers.Integral):
        cv = CandidateKFold(int(cv), random_state=random_state)
    with reraise_as_input_error():
        splits = check_cv(cv).split(task.X, task.candidates)
        folds = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    if not folds:
        raise InputError("cv holds no folds: give at least one pair of training and test rows.")
    n_rows = len(task.candidates)
    for part in (part for fold in folds for part in fold if part.dtype.kind in "iu" and part.size):
        beyond = part[(part >= n_rows) | (part < -n_rows)]
        if beyond.size:
            raise InputError(f"cv names row {int(beyond.flat[0])}, but the rows are 0 to {n_rows - 1}.")
    return folds


def attempt(estimator: Any, task: Task, train: Ints, test: Ints) -> FoldResult:
    """Do as `fit_and_judge`, or say what went wrong."""
    try:
        return fit_and_judge(estimator, task, train, test)
    except Exception as error:  # whatever a method raises on some rows, the rest goes on
        return FoldResult(error=f"{type(error).__name__}: {error}")


def fit_and_judge(estimator: Any, task: Task, train: Ints, test: Ints) -> FoldResult:
    """Fit a clone on some rows and score it on others; all sets are over all classes, whatever the rows name."""
    X, candidates, truth = task
    model, rows = clone(estimator), _safe_indexing(X, train)
    start = time.perf_counter()
    model.fit(rows, candidates[train])
    seconds = time.perf_counter() - start
    rows, sets = _safe_indexing(X, test), candidates[test]
    if isinstance(model, Pipeline) and len(model) > 1:  # texts need be counted once for both questions below
        rows, model = model[:-1].transform(rows), model[-1]
    predicted, approximated = model.predict(rows), math.nan
    if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
        approximated = approximated_accuracy(sets, get_proba(model, rows).proba, classes=model.classes_)
    accuracy = None
    if truth is not None and not truth.is_unlabeled[test].all():
        accuracy = covering_rate(truth[test], predicted)
    return FoldResult(covering_rate(sets, predicted), approximated, seconds, accuracy)
