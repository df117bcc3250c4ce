"""Results of a comparison by fold, by method and of all methods, with their table, and learning curves."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof.errors import InputError
from oneof.estimators.base import CandidateClassifier, last_step
from oneof.lazy import import_extra
from oneof.typing import Floats, Ints, Labels

if TYPE_CHECKING:
    import pandas as pd


class HeldOut(NamedTuple):
    """Output of one method for the test rows of a fold, in the order of the classes of the sets."""

    predicted: Ints
    """(n,): column of the prediction; -1 for a label that is not a class."""
    proba: Floats
    """(n, K): class probabilities, or a softmax of scores; 1 for the prediction without either."""
    method: str
    """Method of the estimator from which `proba` is: "predict_proba", "decision_function" or "predict"."""


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
    """Scores of one method: rates of the test rows of all folds together, and standard deviations between folds.

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


def summarize(name: str, folds: Sequence[FoldResult], *, incomplete: str | None = None) -> MethodResult:
    """Return the rates and standard deviations of one method."""
    error = next((fold.error for fold in folds if fold.error is not None), None)
    used = [] if error is not None else folds
    return MethodResult(
        name,
        *_rates_of(used, "covering_rate", "n_labeled"),
        *_rates_of(used, "approximated_accuracy", "n_labeled"),
        float(np.median([fold.fit_seconds for fold in used])) if used else math.nan,
        *_rates_of(used, "accuracy", "n_true", missing=None),
        error,
        tuple(dataclasses.replace(fold, held_out=None) for fold in folds),
        incomplete,
    )


def _rates_of(folds: Sequence[FoldResult], rate: str, number: str, missing: Any = math.nan) -> tuple[Any, Any]:
    """Return the rate of the rows of all folds together, and its standard deviation.

    The deviation is that between folds, or the binomial one of a single fold. `number` is the field of the rows that
    the rate is about; folds without these rows are left out, and without any both numbers are `missing`.
    """
    numbers = [getattr(fold, number) for fold in folds if getattr(fold, number)]
    rates = [getattr(fold, rate) for fold in folds if getattr(fold, number)]
    if not rates:
        return missing, missing
    mean = float(np.average(rates, weights=numbers))
    # A mean of values in [0, 1] varies at most as much as a proportion.
    binomial = math.sqrt(max(mean * (1 - mean), 0.0) / numbers[0])
    return mean, float(np.std(rates, ddof=1)) if len(rates) > 1 else binomial


def to_builtin(value: Any) -> Any:
    """Convert dataclasses, without the fields that `repr` leaves out, and sequences to JSON types, and NaN to None."""
    if dataclasses.is_dataclass(value):
        return {f.name: to_builtin(getattr(value, f.name)) for f in dataclasses.fields(value) if f.repr}
    if isinstance(value, tuple | list):
        return [to_builtin(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def format_duration(seconds: float) -> str:
    """Format a time with its unit: "0.2 s", "12 s", "3.4 min", "2.0 h"."""
    if seconds < 99.5:
        return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.1g} s"
    return f"{seconds / 60:.1f} min" if seconds < 5940 else f"{seconds / 3600:,.1f} h"


def format_mean_std(mean: float | None, std: float | None = None) -> str:
    """Format a rate with its standard deviation, if there is one; "-" is a missing rate."""
    if mean is None or math.isnan(mean):
        return "-"
    return f"{mean:.3f}" if std is None else f"{mean:.3f} ± {std:.3f}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


@dataclass(frozen=True)
class Comparison:
    """Result of `compare`; ``print`` shows it as a table, and `to_frame` returns the table as a DataFrame.

    Attributes
    ----------
    results : tuple of MethodResult
        The best method first; methods with missing folds after those with all folds, failed methods last.
    best_method : str
        The name of the first result.
    n_folds, n_rows, n_classes : int
    n_train : int
        Mean number of training rows of a fold.
    n_held_out : int
        Number of rows in the test subsets of the folds that are labeled or have a truth.
    is_interrupted : bool
        Whether Ctrl-C ended the comparison before all folds were fitted.
    best_estimator : estimator
        Clone of the estimator of the best method, fitted on all rows unless ``refit=False``.
    estimators : mapping of str to estimator
        The compared estimators, not fitted.
    classes : ndarray of shape (n_classes,)
        The classes of the candidate sets, in the order of the columns of `MethodResult.probabilities`.
    held_out_rows : ndarray of int or None
        With ``keep_predictions=True`` the rows of `MethodResult.predictions`, ascending: the test rows of all folds,
        and the unlabeled rows. With several folds these are all rows.
    baseline_rate : float
        Fraction of the held-out predictions of ridge regression on the labels of largest weight that are such a label;
        NaN if the features are not numbers, or all held-out rows are unlabeled. Without weights, these are the
        candidates, and the rate is covering.
    baseline_warning : str
        A sentence if the best method is clearly below this rate; otherwise empty.
    n_groups : int or None
        Number of groups of rows, if no group is in the training and in the test subset of a fold; otherwise None.
    n_tests : tuple of int
        The smallest and the largest number of folds that test a held-out row; above 1 for repeated cross-validation.
    n_true_unlabeled : int
        Number of rows with a truth that no fold tests, since all classes are their candidates. The accuracy
        excludes them; pass a list of splits as `cv` to hold them out as well.
    transduction_ : ndarray of shape (n_rows,)
        The labels of all rows of fit by the best estimator, of unlabeled ones too; not with ``refit=False``.
    evaluation : str
        The folds in words, such as "5 folds, 150 held-out rows".
    n_true : int
        Number of held-out rows with a truth, over all folds of the best method; 0 without a truth.
    truth_note : str
        The accuracy of the best method with the number of its rows, if only some held-out rows have a truth; otherwise
        empty.

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
    n_train: int
    n_held_out: int
    is_interrupted: bool
    best_estimator: Any = field(repr=False, compare=False)
    estimators: Mapping[str, Any] = field(repr=False, compare=False)
    classes: Labels = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    held_out_rows: Ints | None = field(default=None, repr=False, compare=False)
    baseline_rate: float = math.nan
    baseline_warning: str = ""
    n_groups: int | None = None
    n_tests: tuple[int, int] = (1, 1)
    n_true_unlabeled: int = 0

    @property
    def transduction_(self) -> Labels:
        """The labels of all rows of fit, unlabeled ones too, by the best estimator: a candidate in each row.

        Raises
        ------
        InputError
            If the best estimator is not one of oneof, or was not fitted to all rows.
        """
        best = last_step(self.best_estimator)
        if not (isinstance(best, CandidateClassifier) and hasattr(best, "classes_")):
            raise InputError(
                f"`transduction_` requires a fitted estimator of oneof; the best one is {best!r}. Pass refit=True, and "
                "wrap other estimators in oneof.CandidateEM."
            )
        return best.disambiguate().labels

    @property
    def evaluation(self) -> str:
        """The folds in words, such as "one split, 8,000 training rows, 2,000 held-out rows"."""
        folds = "one split" if self.n_folds == 1 else f"{self.n_folds} folds"
        groups = "" if self.n_groups is None else f" by {_count(self.n_groups, 'group')}"
        train = f", {self.n_train:,} training rows" * (self.n_folds == 1)
        least, most = self.n_tests
        repeats = f", {'each in' if least == most else 'in up to'} {most} folds" * (most > 1)
        excluded = f" (not {_count(self.n_true_unlabeled, 'unlabeled row')} with a truth)" * (self.n_true_unlabeled > 0)
        return f"{folds}{groups}{train}, {_count(self.n_held_out, 'held-out row')}{repeats}{excluded}"

    @property
    def n_true(self) -> int:
        """The number of held-out rows with a truth, over all folds of the best method; 0 without a truth."""
        return sum(fold.n_true for fold in self.results[0].folds)

    @property
    def truth_note(self) -> str:
        """The accuracy of the best method and the number of rows behind it; empty if none or all have one."""
        accuracy = self.results[0].accuracy
        if accuracy is None or math.isnan(accuracy) or self.n_true >= self.n_held_out:
            return ""
        rows = _count(self.n_true, "held-out row")
        return f"{self.best_method} has an accuracy of {100 * accuracy:.1f} % on {rows} with a truth."

    def to_dict(self) -> dict[str, Any]:
        """Return `evaluation` and all fields except estimators as a dict of JSON types; missing numbers are None.

        Returns
        -------
        dict
        """
        return {**to_builtin(self), "evaluation": self.evaluation}

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of methods as a DataFrame of pandas, for example for a paper.

        It needs pandas (``pip install pandas``). ``to_frame().to_csv("methods.csv", index=False)`` writes a CSV file.
        ``to_frame().to_latex(index=False, escape=True)`` returns a LaTeX table, and needs jinja2
        (``pip install jinja2``). Without `escape`, the underscores of the names are errors in LaTeX.

        Returns
        -------
        pandas.DataFrame
            A row for each method, the best one first. The columns are `method`; the rates and standard deviations
            `expected_accuracy` (if there are several methods), `covering_rate`, `covering_rate_std`,
            `approximated_accuracy`, `approximated_accuracy_std`, and, with a truth, `accuracy` and `accuracy_std`;
            `fit_seconds`; `folds`, the number of finished folds; and `note`, the error or the reason for missing folds,
            otherwise empty. See `MethodResult`. Numbers of a failed method are NaN.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from oneof import AvgPerceptron, compare
        >>> X, y = [[2.0, 0.1], [1.9, 0.2], [0.2, 2.0], [0.1, 1.8]], ["finch", "finch", "owl", "owl"]
        >>> frame = compare(X, y, {"average": AvgPerceptron()}, cv=2).to_frame()
        >>> frame[["method", "covering_rate", "covering_rate_std"]].to_csv(index=False).split()
        ['method,covering_rate,covering_rate_std', 'average,1.0,0.0']
        """
        measures = [*(name for _, *names in self._rates() for name in names), "fit_seconds"]
        columns = {name: np.array([getattr(r, name) for r in self.results], dtype=float) for name in measures}
        folds = [sum(fold.error is None for fold in r.folds) for r in self.results]
        notes = [r.error or r.incomplete or "" for r in self.results]
        table = {"method": [r.method for r in self.results], **columns, "folds": folds, "note": notes}
        frame: pd.DataFrame = import_extra("pandas").DataFrame(table)
        return frame

    def __str__(self) -> str:
        rates = self._rates()
        table = [["  method", *(title for title, *_ in rates), "fit time", ""]]
        for r in self.results:
            cells = [format_mean_std(*(getattr(r, name) for name in names)) for _, *names in rates]
            seconds = "-" if math.isnan(r.fit_seconds) else f"{r.fit_seconds:.3g} s"
            note = r.incomplete or "" if r.error is None else f"failed: {r.error}"
            table.append([f"{'*' if r.method == self.best_method else ' '} {r.method}", *cells, seconds, note])
        width, *widths, _ = (max(map(len, column)) for column in zip(*table, strict=True))
        lines = ["  ".join([name.ljust(width), *map(str.rjust, cells, widths), note]) for name, *cells, note in table]
        return "\n".join([*map(str.rstrip, lines), *filter(None, [self.truth_note, self.baseline_warning])])

    def _rates(self) -> list[tuple[str, ...]]:
        """Return the title of each rate of the table, and its fields: the mean and, if there is one, the deviation."""
        return [
            *[("exp. accuracy", "expected_accuracy")] * (len(self.results) > 1),
            ("covering rate", "covering_rate", "covering_rate_std"),
            ("approx. accuracy", "approximated_accuracy", "approximated_accuracy_std"),
            *[("accuracy", "accuracy", "accuracy_std")] * any(r.accuracy is not None for r in self.results),
        ]


@dataclass(frozen=True)
class LearningCurve:
    """Held-out scores against the number of labeled training rows.

    Attributes
    ----------
    train_sizes : tuple of int
        Numbers of labeled training rows.
    covering_rate, covering_rate_std : tuple of float
        Rate of all rows and standard deviation over the folds, see `MethodResult`; NaN if the method failed.
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
    accuracy: tuple[float, ...] | None = None
    accuracy_std: tuple[float, ...] | None = None
    errors: tuple[str | None, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as a dict of JSON types.

        Returns
        -------
        dict
        """
        return to_builtin(self)
