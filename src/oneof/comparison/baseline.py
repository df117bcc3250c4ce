"""A simple classifier on the most probable labels, to recognize methods that have failed on the data."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from oneof.candidates import CandidateSets
from oneof.comparison.folds import Task
from oneof.comparison.results import FoldResult
from oneof.typing import Floats, Ints
from oneof.validation import check_random_state

MAX_ROWS = 5_000
"""Maximum number of training rows of the baseline, drawn at random."""
MAX_FEATURES = 20_000
_N_STEPS = 50
"""Maximum number of steps of the iterative solver, for many features."""
_MAX_DIRECT_FEATURES = 500
_MIN_GAP = 0.03
"""Difference of the rates below which a method is not called worse than the baseline."""


class BaselineCheck(NamedTuple):
    """Rates of held-out predictions that are a label of largest weight, or a candidate of a set without weights.

    Attributes
    ----------
    rate : float
        Of ridge regression on the labels of largest weight; candidates of equal weight count in equal parts.
    best_rate : float
        Of the best method of the comparison.
    error : float
        Standard error of the difference over the held-out rows.
    label : str
        What is predicted, in words: a label of largest weight, or a candidate in sets without weights.
    """

    rate: float
    best_rate: float
    error: float
    label: str

    @property
    def is_above(self) -> bool:
        """Whether the best method is clearly worse: by three points, and by two standard errors."""
        return self.rate - self.best_rate > max(_MIN_GAP, 2 * self.error)

    def warning(self, method: str) -> str:
        """Return a sentence if the best method is clearly worse; otherwise ""."""
        if not self.is_above:
            return ""
        return (
            f"{method} predicts {self.label} in {self.best_rate:.0%} of the held-out rows, and a simple baseline "
            f"(ridge regression on these labels) in {self.rate:.0%}. Compare other methods, or other parameters of "
            f"{method}."
        )


def measure_baseline(
    task: Task, splits: Sequence[tuple[Ints, Ints]], folds: Sequence[FoldResult], estimator: Any, random_state: Any
) -> BaselineCheck | None:
    """Compare the best method with the baseline on its own folds and features.

    The features are those of the last step of `estimator`; None if they are not finite numbers.
    """
    if any(fold.held_out is None for fold in folds):
        return None
    steps = estimator[:-1] if isinstance(estimator, Pipeline) and len(estimator) > 1 else None
    hits, best_hits = [], []
    rng = check_random_state(random_state)
    for (train, test), fold in zip(splits, folds, strict=True):
        assert fold.held_out is not None
        known = train[~task.candidates.is_unlabeled[train]]
        known = known if len(known) <= MAX_ROWS else rng.permutation(known)[:MAX_ROWS]
        scored = np.flatnonzero(~task.candidates.is_unlabeled[test])
        if not len(known) or not len(scored):
            continue
        rows = np.asarray(test)[scored]
        sets = task.candidates[known]
        old, new = _safe_indexing(task.X, known), _safe_indexing(task.X, rows)
        if steps is not None:
            try:
                fitted = clone(steps).fit(old, sets)
                old, new = fitted.transform(old), fitted.transform(new)
            except Exception:  # such as a category that the sample lacks: a baseline must not end a comparison
                return None
        old, new = _as_floats(old), _as_floats(new)
        if not (_are_numbers(old) and _are_numbers(new)):
            return None
        scores = _ridge_scores(old, top_shares(sets), new)
        tops = top_shares(task.candidates[rows]) > 0
        at = np.arange(len(rows))
        columns = fold.held_out.predicted[scored]
        hits.append(tops[at, scores.argmax(axis=1)])
        best_hits.append(tops[at, columns] & (columns >= 0))
    if not hits:
        return None
    first, second = np.concatenate(hits).astype(float), np.concatenate(best_hits).astype(float)
    error = float(np.std(first - second)) / math.sqrt(len(first))
    label = "a label of largest weight" if task.candidates.is_weighted.any() else "a candidate"
    return BaselineCheck(float(first.mean()), float(second.mean()), error, label)


def top_shares(candidates: CandidateSets) -> Floats:
    """Return 1 for the label of largest weight of each row, in equal parts if there are several; 0 if unlabeled."""
    weights = np.asarray(candidates.weights, dtype=np.float64)
    largest = weights.max(axis=1, keepdims=True, initial=0.0)
    tops = (weights == largest) & (weights > 0) & ~candidates.is_unlabeled[:, None]
    return np.asarray(tops / np.maximum(tops.sum(axis=1, keepdims=True), 1))


def _as_floats(X: Any) -> Any:
    """Return a table as an array if it has only numbers; other rows are returned unchanged."""
    if hasattr(X, "dtype"):
        return X
    array = np.asarray(X)
    if array.dtype.kind == "O" and hasattr(X, "dtypes"):  # columns of several types, which may all be numbers
        kinds = {getattr(dtype, "kind", "O") for dtype in X.dtypes}
        return array.astype(np.float64) if kinds <= set("fiub") else X
    return array.astype(np.float64) if array.dtype.kind in "fiub" else X


def _are_numbers(X: Any) -> bool:
    """Return whether rows are finite numbers of at most `MAX_FEATURES` columns."""
    if getattr(getattr(X, "dtype", None), "kind", "O") not in "fiub" or X.ndim != 2 or X.shape[1] > MAX_FEATURES:
        return False
    return bool(np.isfinite(X.data if sp.issparse(X) else X).all())


def _ridge_scores(X: Any, targets: Floats, new: Any) -> Floats:
    """Return the scores of ridge regression on scaled features."""
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    scaler = MaxAbsScaler() if sp.issparse(X) else StandardScaler()
    is_direct = X.shape[1] <= _MAX_DIRECT_FEATURES and not sp.issparse(X)
    model = Ridge(solver="cholesky") if is_direct else Ridge(solver="lsqr", max_iter=_N_STEPS)
    scaled = scaler.fit_transform(X.astype(np.float64))
    model.fit(scaled, targets)
    scores = np.asarray(model.predict(scaler.transform(new.astype(np.float64))))
    return scores.reshape(len(scores), -1)
