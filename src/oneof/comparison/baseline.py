"""A simple classifier on the most probable labels, to recognize methods that have failed on the data."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline

from oneof.candidates import CandidateSets
from oneof.comparison.fitting import fit_and_score
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


def measure_baseline(
    task: Task, splits: Sequence[tuple[Ints, Ints]], folds: Sequence[FoldResult], best: tuple[str, Any], seed: Any
) -> tuple[float, str]:
    """Compare the best method with the baseline on its own folds, and on the features of the last step of a pipeline.

    Return the fraction of the held-out predictions of the baseline that are a label of largest weight, and a sentence
    if that of the best method, given with its name, is lower by three points and two standard errors. The rate is NaN
    if the features are not finite numbers.
    """
    name, estimator = best
    steps = estimator.steps[:-1] if isinstance(estimator, Pipeline) else []
    baseline = Pipeline([*steps, ("baseline", RidgeOnTopLabels())])
    is_labeled, hits = ~task.candidates.is_unlabeled, []
    rng = check_random_state(seed)
    for (train, test), fold in zip(splits, folds, strict=True):
        known, is_scored = rng.permutation(train[is_labeled[train]])[:MAX_ROWS], is_labeled[test]
        if not len(known) or not is_scored.any():
            continue
        try:
            other = fit_and_score(baseline, Task(task.X, task.candidates, None), known, test[is_scored]).held_out
        except Exception:  # such as a category that the sample lacks: a baseline must not end a comparison
            return math.nan, ""
        assert fold.held_out is not None
        assert other is not None
        tops, codes = top_shares(task.candidates[test[is_scored]]) > 0, fold.held_out.predicted[: len(test)][is_scored]
        rows = np.arange(len(tops))
        hits.append([tops[rows, other.predicted], tops[rows, codes] & (codes >= 0)])
    if not hits:
        return math.nan, ""
    first, second = np.concatenate(hits, axis=1).astype(float)
    rate, gap = float(first.mean()), float(first.mean() - second.mean())
    if gap <= max(_MIN_GAP, 2.0 * float(np.std(first - second)) / math.sqrt(len(first))):
        return rate, ""
    label = "a label of largest weight" if task.candidates.is_weighted.any() else "a candidate"
    return rate, (
        f"{name} predicts {label} in {second.mean():.0%} of the held-out rows, and a simple baseline (ridge regression "
        f"on these labels) in {rate:.0%}. Compare other methods, or other parameters of {name}."
    )


class RidgeOnTopLabels(ClassifierMixin, BaseEstimator):
    """Ridge regression of the labels of largest weight on scaled features."""

    def fit(self, X: Any, y: CandidateSets) -> Self:
        """Fit the scaler and the regression; raise unless the rows are numbers of at most `MAX_FEATURES` columns."""
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MaxAbsScaler, StandardScaler

        X = _as_numbers(X)
        if X.shape[1] > MAX_FEATURES:
            raise ValueError("too many features")
        is_direct = X.shape[1] <= _MAX_DIRECT_FEATURES and not sp.issparse(X)
        ridge = Ridge(solver="cholesky") if is_direct else Ridge(solver="lsqr", max_iter=_N_STEPS)
        scaler = MaxAbsScaler() if sp.issparse(X) else StandardScaler()
        self.model_ = make_pipeline(scaler, ridge).fit(X, top_shares(y))
        self.classes_ = y.classes
        return self

    def predict(self, X: Any) -> Any:
        """Return the label of the highest score."""
        return self.classes_[self.model_.predict(_as_numbers(X)).reshape(X.shape[0], -1).argmax(axis=1)]


def top_shares(candidates: CandidateSets) -> Floats:
    """Return 1 for the label of largest weight of each row, in equal parts if there are several; 0 if unlabeled."""
    weights = np.asarray(candidates.weights, dtype=np.float64)
    largest = weights.max(axis=1, keepdims=True, initial=0.0)
    tops = (weights == largest) & (weights > 0) & ~candidates.is_unlabeled[:, None]
    return np.asarray(tops / np.maximum(tops.sum(axis=1, keepdims=True), 1))


def _as_numbers(X: Any) -> Any:
    """Return rows in float64; raise if they are objects or texts."""
    rows = X if sp.issparse(X) else np.asarray(X)
    if rows.dtype.kind not in "fiub":
        raise ValueError("not numbers")
    return rows.astype(np.float64)
