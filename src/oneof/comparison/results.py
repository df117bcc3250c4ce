"""What a comparison found: numbers by fold and by method, as text and as JSON."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone


@dataclass(frozen=True)
class FoldResult:
    """One method on one fold: NaN where the method failed or gives no scores.

    Attributes
    ----------
    covering_rate, approximated_accuracy : float
        In [0, 1], of the fold's test part.
    fit_seconds : float
    accuracy : float or None
        None without a truth.
    error : str or None
        What the method raised.

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
    """One method over all folds: means, and standard deviations between folds.

    A method that failed in any fold has NaN for every number.

    Attributes
    ----------
    method : str
    covering_rate, covering_rate_std : float
    approximated_accuracy, approximated_accuracy_std : float
    fit_seconds : float
        The median, since a first fit may compile.
    accuracy, accuracy_std : float or None
        None where no truth is known.
    error : str or None
        What happened first, of a method that failed.
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
    """What `compare` found; ``print`` shows it as a table.

    Attributes
    ----------
    results : tuple of MethodResult
        The best method first.
    winner : str
        Its name.
    n_folds, n_rows, n_classes : int
    estimators : mapping of str to estimator
        What was compared, not fitted.

    Examples
    --------
    >>> from oneof import AvgPerceptron, compare
    >>> X, y = [[2.0, 0.1], [1.9, 0.2], [0.2, 2.0], [0.1, 1.8]], ["finch", "finch", "owl", "owl"]
    >>> found = compare(X, y, {"average": AvgPerceptron()}, cv=2)
    >>> found.winner, found.n_folds, found.n_rows, found.n_classes
    ('average', 2, 4, 2)
    """

    results: tuple[MethodResult, ...]
    winner: str
    n_folds: int
    n_rows: int
    n_classes: int
    estimators: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def best_estimator(self) -> Any:
        """The winning estimator, not fitted."""
        return clone(self.estimators[self.winner])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the estimators in the types of JSON; a number that is not known is None.

        Returns
        -------
        dict
        """
        return plain({f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "estimators"})

    def __str__(self) -> str:
        judged = any(r.accuracy is not None for r in self.results)
        table = [["", "method", "covering rate", "approx. accuracy", *["accuracy"] * judged, "fit time"]]
        for r in self.results:
            cells = [
                _spread(r.covering_rate, r.covering_rate_std),
                _spread(r.approximated_accuracy, r.approximated_accuracy_std),
                *[_spread(r.accuracy, r.accuracy_std)] * judged,
                f"{r.fit_seconds:.3g} s" if r.error is None else "",
            ]
            table.append(["*" if r.method == self.winner else "", r.method, *cells])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for row, error in zip(table, [None, *(r.error for r in self.results)], strict=True):
            start = f"{row[0]:1} {row[1]:{widths[1]}}"
            cells = [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
            lines.append("  ".join([start, *cells] if error is None else [start, f"failed: {error}"]))
        return "\n".join(lines)


def summarize(name: str, folds: tuple[FoldResult, ...]) -> MethodResult:
    """Return the means and spreads of one method."""
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


def plain(value: Any) -> Any:
    """Return the value in the types of JSON."""
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _mean_and_std(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _spread(mean: float | None, std: float | None) -> str:
    return "-" if mean is None or std is None or math.isnan(mean) else f"{mean:.3f} ± {std:.3f}"
