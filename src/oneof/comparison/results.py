"""Results of a comparison by fold and by method."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from oneof.typing import Floats, Ints, Labels


class HeldOut(NamedTuple):
    """Output of one method for the test rows of a fold, in the order of the classes of the sets."""

    predicted: Ints
    """(n,): column of the prediction; -1 for a label that is not a class."""
    proba: Floats
    """(n, K): class probabilities, or a softmax of scores; 1 for the prediction without either."""
    has_proba: bool
    """Whether `proba` is from `predict_proba`."""


@dataclass(frozen=True)
class FoldResult:
    """Scores of one method on one fold; NaN if the method failed or has no scores.

    Attributes
    ----------
    covering_rate, approximated_accuracy : float
        In [0, 1], on the test rows of the fold.
    fit_seconds : float
    accuracy : float or None
        None without a truth.
    error : str or None
        The type and message of the error, if the method raised.
    n_labeled, n_true : int
        Number of test rows with a label and with a truth.
    seconds : float
        Time of fit, prediction and scores.
    held_out : HeldOut or None
        Predictions and probabilities of the test rows, which are not kept in a `Comparison`.

    Examples
    --------
    >>> from oneof import AvgPerceptron, compare
    >>> X, y = [[2.0, 0.1], [1.9, 0.2], [0.2, 2.0], [0.1, 1.8]], ["finch", "finch", "owl", "owl"]
    >>> compare(X, y, {"average": AvgPerceptron()}, cv=2).results[0].folds[0].covering_rate
    1.0
    """

    covering_rate: float = math.nan
    approximated_accuracy: float = math.nan
    fit_seconds: float = math.nan
    accuracy: float | None = None
    error: str | None = None
    n_labeled: int = 0
    n_true: int = 0
    seconds: float = math.nan
    held_out: HeldOut | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class MethodResult:
    """Scores of one method over its folds: means, and standard deviations between folds.

    The standard deviation of a rate p on one fold is the binomial standard error sqrt(p (1 - p) / n) of its n rows.
    Every number is NaN, and every accuracy None, if the method failed in any fold, or if no fold was fitted.

    Attributes
    ----------
    method : str
    covering_rate, covering_rate_std : float
    approximated_accuracy, approximated_accuracy_std : float
    fit_seconds : float
        The median over the folds, since a first fit may include compilation.
    accuracy, accuracy_std : float or None
        None without a truth.
    pooled_covering_rate : float
    pooled_accuracy : float or None
        The rates of the rows of all folds together. They differ from the means if the folds differ in size.
    error : str or None
        The first error, if the method failed.
    folds : tuple of FoldResult
        The finished folds.
    incomplete : str or None
        The reason if folds are missing: the budget, the time limit or an interruption.
    expected_accuracy : float or None
        The criterion of `compare`, in [0, 1], over the test rows of all folds; None if folds are missing, or
        for a single method.
    predictions : ndarray of shape (n_held_out_rows,) or None
        Held-out predictions of the rows `Comparison.held_out_rows`, by the last fold that tests a row; None without
        ``keep_predictions=True``, or if folds are missing.
    probabilities : ndarray of shape (n_held_out_rows, n_classes) or None
        Held-out probabilities of these rows, of the type that the method returns, such as float32 for features in
        float32; None if the method has no `predict_proba`.

    Examples
    --------
    >>> from oneof import AvgPerceptron, compare
    >>> X, y = [[2.0, 0.1], [1.9, 0.2], [0.2, 2.0], [0.1, 1.8]], ["finch", "finch", "owl", "owl"]
    >>> result = compare(X, y, {"average": AvgPerceptron()}, cv=2).results[0]
    >>> result.method, result.covering_rate, result.accuracy
    ('average', 1.0, None)
    """

    method: str
    covering_rate: float
    covering_rate_std: float
    approximated_accuracy: float
    approximated_accuracy_std: float
    fit_seconds: float
    accuracy: float | None
    accuracy_std: float | None
    error: str | None
    folds: tuple[FoldResult, ...]
    incomplete: str | None = None
    expected_accuracy: float | None = None
    predictions: Labels | None = field(default=None, repr=False, compare=False)
    probabilities: Floats | None = field(default=None, repr=False, compare=False)

    @property
    def pooled_covering_rate(self) -> float:
        """The covering rate of the rows of all folds together."""
        if self.error is not None:
            return self.covering_rate
        return _pool([(fold.covering_rate, fold.n_labeled) for fold in self.folds], self.covering_rate)

    @property
    def pooled_accuracy(self) -> float | None:
        """The accuracy of the rows of all folds together; None without a truth."""
        if self.accuracy is None or self.error is not None:
            return self.accuracy
        return _pool([(fold.accuracy or 0.0, fold.n_true) for fold in self.folds], self.accuracy)


def summarize(name: str, folds: tuple[FoldResult, ...], *, incomplete: str | None = None) -> MethodResult:
    """Return the means and standard deviations of one method."""
    nan = math.nan
    folds = tuple(dataclasses.replace(fold, held_out=None) for fold in folds)
    error = next((fold.error for fold in folds if fold.error is not None), None)
    if error is not None or not folds:
        return MethodResult(name, nan, nan, nan, nan, nan, None, None, error, folds, incomplete)
    n_labeled = folds[0].n_labeled
    accuracies = [fold.accuracy for fold in folds if fold.accuracy is not None]
    accuracy, accuracy_std = _mean_and_std(accuracies, folds[0].n_true) if accuracies else (None, None)
    return MethodResult(
        name,
        *_mean_and_std([fold.covering_rate for fold in folds], n_labeled),
        *_mean_and_std([fold.approximated_accuracy for fold in folds], n_labeled),
        float(np.median([fold.fit_seconds for fold in folds])),
        accuracy,
        accuracy_std,
        None,
        folds,
        incomplete,
    )


def to_builtin(value: Any) -> Any:
    """Convert dataclasses, mappings and sequences to JSON types, and NaN to None."""
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.repr}
    if isinstance(value, Mapping):
        return {key: to_builtin(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_builtin(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def format_duration(seconds: float) -> str:
    """Format a time with its unit: "0.2 s", "12 s", "3.4 min", "2.0 h"."""
    if seconds < 99.5:
        return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.1g} s"
    return f"{seconds / 60:.1f} min" if seconds < 5940 else f"{seconds / 3600:,.1f} h"


def _mean_and_std(values: list[float], n_rows: int) -> tuple[float, float]:
    """Return the mean rate and its standard deviation between folds, or the binomial one of a single fold.

    Folds without labeled rows, whose rate is NaN, are left out.
    """
    values = [value for value in values if not math.isnan(value)]
    if not values:
        return math.nan, math.nan
    mean = float(np.mean(values))
    if len(values) > 1:
        return mean, float(np.std(values, ddof=1))
    # A mean of values in [0, 1] varies at most as much as a proportion.
    return mean, math.sqrt(max(mean * (1 - mean), 0.0) / n_rows) if n_rows else math.nan


def _pool(rates: list[tuple[float, int]], mean: float) -> float:
    """Return the rate of all rows of folds with these rates and numbers of rows; the mean if folds have equal sizes."""
    n_rows = sum(n for _, n in rates)
    if len({n for _, n in rates}) < 2 or not n_rows:
        return mean
    return math.fsum(rate * n for rate, n in rates if n) / n_rows
