"""Results of a comparison by fold and by method, as text and as JSON."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone


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


@dataclass(frozen=True)
class MethodResult:
    """Scores of one method over all folds: means, and standard deviations between folds.

    Every number is NaN if the method failed in any fold.

    Attributes
    ----------
    method : str
    covering_rate, covering_rate_std : float
    approximated_accuracy, approximated_accuracy_std : float
    fit_seconds : float
        The median over the folds, since a first fit may include compilation.
    accuracy, accuracy_std : float or None
        None without a truth.
    error : str or None
        The first error, if the method failed.
    folds : tuple of FoldResult

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


@dataclass(frozen=True)
class Comparison:
    """Result of `compare`; ``print`` shows it as a table.

    Attributes
    ----------
    results : tuple of MethodResult
        The best method first.
    best_method : str
        The name of the first result.
    n_folds, n_rows, n_classes : int
    estimators : mapping of str to estimator
        The compared estimators, not fitted.

    Examples
    --------
    >>> from oneof import AvgPerceptron, compare
    >>> X, y = [[2.0, 0.1], [1.9, 0.2], [0.2, 2.0], [0.1, 1.8]], ["finch", "finch", "owl", "owl"]
    >>> comparison = compare(X, y, {"average": AvgPerceptron()}, cv=2)
    >>> comparison.best_method, comparison.n_folds, comparison.n_rows, comparison.n_classes
    ('average', 2, 4, 2)
    """

    results: tuple[MethodResult, ...]
    best_method: str
    n_folds: int
    n_rows: int
    n_classes: int
    estimators: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def best_estimator(self) -> Any:
        """Unfitted clone of the estimator of the best method."""
        return clone(self.estimators[self.best_method])

    def to_dict(self) -> dict[str, Any]:
        """Return all fields except the estimators as a dict of JSON types; missing numbers are None.

        Returns
        -------
        dict
        """
        return to_builtin({f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "estimators"})

    def __str__(self) -> str:
        has_truth = any(r.accuracy is not None for r in self.results)
        table = [["", "method", "covering rate", "approx. accuracy", *["accuracy"] * has_truth, "fit time"]]
        for r in self.results:
            cells = [
                _format_mean_std(r.covering_rate, r.covering_rate_std),
                _format_mean_std(r.approximated_accuracy, r.approximated_accuracy_std),
                *[_format_mean_std(r.accuracy, r.accuracy_std)] * has_truth,
                f"{r.fit_seconds:.3g} s" if r.error is None else "",
            ]
            table.append(["*" if r.method == self.best_method else "", r.method, *cells])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for row, error in zip(table, [None, *(r.error for r in self.results)], strict=True):
            start = f"{row[0]:1} {row[1]:{widths[1]}}"
            cells = [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
            lines.append("  ".join([start, *cells] if error is None else [start, f"failed: {error}"]))
        return "\n".join(lines)


def summarize(name: str, folds: tuple[FoldResult, ...]) -> MethodResult:
    """Return the means and standard deviations of one method."""
    error = next((fold.error for fold in folds if fold.error is not None), None)
    if error is not None:
        nan = math.nan
        return MethodResult(name, nan, nan, nan, nan, nan, None, None, error, folds)
    accuracies = [fold.accuracy for fold in folds if fold.accuracy is not None]
    accuracy, accuracy_std = _mean_and_std(accuracies) if accuracies else (None, None)
    return MethodResult(
        name,
        *_mean_and_std([fold.covering_rate for fold in folds]),
        *_mean_and_std([fold.approximated_accuracy for fold in folds]),
        float(np.median([fold.fit_seconds for fold in folds])),
        accuracy,
        accuracy_std,
        None,
        folds,
    )


def to_builtin(value: Any) -> Any:
    """Convert dataclasses, mappings and sequences to JSON types, and NaN to None."""
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_builtin(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_builtin(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _mean_and_std(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _format_mean_std(mean: float | None, std: float | None) -> str:
    return "-" if mean is None or std is None or math.isnan(mean) else f"{mean:.3f} ± {std:.3f}"
