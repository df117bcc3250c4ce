"""Learning curve: held-out scores by the number of labeled training rows."""

import dataclasses
import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from oneof.comparison.class_weights import check_class_weights
from oneof.comparison.fitting import try_fit_and_score
from oneof.comparison.folds import Progress, check_task, make_folds
from oneof.comparison.results import FoldResult, MethodResult, summarize, to_builtin
from oneof.errors import InputError, InputTypeError
from oneof.estimators.base import last_step
from oneof.messages import warn
from oneof.validation import check_positive, check_random_state


@dataclass(frozen=True)
class LearningCurve:
    """Held-out scores against the number of labeled training rows.

    Attributes
    ----------
    train_sizes : tuple of int
        Numbers of labeled training rows.
    covering_rate, covering_rate_std : tuple of float
        Mean and standard deviation over the folds, in [0, 1], see `MethodResult`; NaN if the method failed.
    accuracy, accuracy_std : tuple of float or None
        In [0, 1], NaN if the method failed; None without a truth.
    errors : tuple of (str or None)
        The first error of each number of rows; None if no fold failed.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.comparison import learning_curve
    >>> X, y = [[k] for k in range(8)], [0] * 4 + [1] * 4
    >>> curve = learning_curve(PLKNN(n_neighbors=1), X, y, train_sizes=[0.5, 1], cv=2)
    >>> curve.train_sizes
    (2, 4)
    """

    train_sizes: tuple[int, ...]
    covering_rate: tuple[float, ...]
    covering_rate_std: tuple[float, ...]
    accuracy: tuple[float, ...] | None
    accuracy_std: tuple[float, ...] | None
    errors: tuple[str | None, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as a dict of JSON types.

        Returns
        -------
        dict
        """
        return to_builtin(dataclasses.asdict(self))


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    truth: Any = None,
    train_sizes: Iterable[float] = (0.1, 0.2, 0.4, 0.7, 1.0),
    cv: Any = "auto",
    groups: Any = None,
    class_weight: Any = None,
    max_rows: int | None = None,
    last: MethodResult | None = None,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> LearningCurve:
    """Cross-validate an estimator with increasing numbers of labeled training rows.

    Each fold has one test set and one random order of its labeled training rows, so the training sets are nested. The
    other labeled rows are excluded; all unlabeled rows are always included.

    Parameters
    ----------
    estimator : estimator or Pipeline
        It is cloned; the original is not fitted.
    X, y, truth
        As in `compare`.
    train_sizes : iterable of float, default=(0.1, 0.2, 0.4, 0.7, 1.0)
        Fractions of the labeled training rows of the smallest fold, in (0, 1].
    cv, groups, class_weight
        As in `compare`.
    max_rows : int, optional
        The fractions are of at most this number of rows.
    last : MethodResult, optional
        Result of the estimator on the same folds, which becomes the last point: all labeled training rows. The points
        of `train_sizes` that have as many rows are omitted, so that nothing is fitted twice.
    random_state, progress
        As in `compare`. The time left is None.

    Returns
    -------
    LearningCurve
        One entry per fraction, in the given order; fractions that give the same number of rows share one entry. An
        entry is NaN if the estimator raises in a fold, for example on very few rows; `errors` has the first error. A
        FitFailedWarning is issued if this is true of every entry.

    Raises
    ------
    InputError
        If a fraction is not in (0, 1], if `max_rows` is not a positive integer, if class weights are given and the
        estimator has none, or if X, y and truth differ in length.
    InputTypeError
        If `estimator` is not an estimator.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.comparison import learning_curve
    >>> X, y = [[k / 10] for k in range(20)], [["finch"]] * 10 + [["wren", "owl"], ["wren"]] * 5
    >>> learning_curve(PLKNN(n_neighbors=1), X, y, train_sizes=[0.2, 1.0], cv=2).train_sizes
    (2, 10)
    """
    # scikit-learn's learning_curve would count unlabeled rows, computes one score per call and reports no progress.
    fractions = _check_arguments(estimator, train_sizes, max_rows)
    task = check_task(X, y, truth, class_weight)
    check_class_weights(class_weight, {type(last_step(estimator)).__name__: estimator}, task.candidates)
    unlabeled = task.candidates.is_unlabeled
    rng = check_random_state(random_state)
    splits = [
        (train[unlabeled[train]], rng.permutation(train[~unlabeled[train]]), test)
        for train, test in make_folds(task, cv, random_state, groups)
    ]
    n_labeled = min(len(labeled) for _, labeled, _ in splits)
    n_used = n_labeled if max_rows is None else min(n_labeled, max_rows)
    sizes = list(dict.fromkeys(max(1, round(fraction * n_used)) for fraction in fractions))
    if last is not None:
        sizes = [size for size in sizes if size < n_labeled]
    outcomes: list[list[FoldResult]] = []
    for size in sizes:
        outcomes.append([])
        for unlabeled_rows, labeled, test in splits:
            train = np.sort(np.concatenate([unlabeled_rows, labeled[:size]]))
            outcomes[-1].append(try_fit_and_score(estimator, task, train, test))
            if progress is not None:
                done = (len(outcomes) - 1) * len(splits) + len(outcomes[-1])
                progress(done, len(sizes) * len(splits), f"{size} rows", None)
    points = [summarize(f"{size} rows", tuple(folds)) for size, folds in zip(sizes, outcomes, strict=True)]
    if last is not None:
        sizes, points = [*sizes, n_labeled], [*points, last]
    if all(point.error is not None for point in points):
        warn(
            "`estimator` failed in a fold at every number of rows, so the learning curve has no values. First error: "
            f"{points[-1].error}",
            FitFailedWarning,
        )
    has_truth = truth is not None and any(point.accuracy is not None or point.error is not None for point in points)
    accuracy, accuracy_std = (
        tuple(math.nan if value is None else value for value in values) if has_truth else None
        for values in ([point.accuracy for point in points], [point.accuracy_std for point in points])
    )
    return LearningCurve(
        train_sizes=tuple(sizes),
        covering_rate=tuple(point.covering_rate for point in points),
        covering_rate_std=tuple(point.covering_rate_std for point in points),
        accuracy=accuracy,
        accuracy_std=accuracy_std,
        errors=tuple(point.error for point in points),
    )


def _check_arguments(estimator: Any, train_sizes: Iterable[float], max_rows: int | None) -> list[float]:
    """Return the fractions; raise if one is not in (0, 1], or another argument is invalid."""
    if not hasattr(estimator, "fit"):
        raise InputTypeError(
            f"`estimator` must be an estimator; got {estimator!r}. Those of `compare` are in `default_estimators()`."
        )
    fractions = list(train_sizes) if isinstance(train_sizes, Iterable) else []
    if not fractions or not all(isinstance(value, numbers.Real) and 0 < value <= 1 for value in fractions):
        raise InputError(f"`train_sizes` must be one or more fractions in (0, 1]; got {fractions or train_sizes!r}.")
    if max_rows is not None:
        check_positive("max_rows", max_rows, integer=True, alternatives=" or None")
    return fractions
