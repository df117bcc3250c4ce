"""Result of a comparison, as a table of text, as a DataFrame, and as messages of the logger."""

import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.comparison.results import MethodResult, to_builtin
from oneof.errors import MissingExtraError
from oneof.typing import Ints, Labels

if TYPE_CHECKING:
    import pandas as pd

LOGGER = logging.getLogger("oneof")


def to_frame(results: Sequence[MethodResult]) -> "pd.DataFrame":
    """Return a DataFrame with a row for each method, as documented in `Comparison.to_frame`."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas") from None
    measures = [*(name for _, *names in _rates(results) for name in names), "fit_seconds"]
    columns = {name: np.array([getattr(r, name) for r in results], dtype=float) for name in measures}  # None is NaN
    return pd.DataFrame(
        {
            "method": [r.method for r in results],
            **columns,
            "folds": [sum(fold.error is None for fold in r.folds) for r in results],
            "note": [r.error or r.incomplete or "" for r in results],
        }
    )


def format_lines(results: Sequence[MethodResult], best_method: str) -> list[str]:
    """Return the lines of a table of text: the names of its columns, and a line for each method."""
    rates = _rates(results)
    table = [["", "method", *(title for title, *_ in rates), "fit time"]]
    for r in results:
        cells = [_format_mean_std(*(getattr(r, name) for name in names)) for _, *names in rates]
        seconds = "" if math.isnan(r.fit_seconds) else f"{r.fit_seconds:.3g} s"
        table.append(["*" if r.method == best_method else "", r.method, *cells, seconds])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row, result in zip(table, [None, *results], strict=True):
        start = f"{row[0]:1} {row[1]:{widths[1]}}"
        cells = [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
        if result is not None and result.error is not None:
            cells = [f"failed: {result.error}"]
        elif result is not None and result.incomplete is not None:
            cells = [*cells, result.incomplete] if result.folds else [result.incomplete]
        lines.append("  ".join([start, *cells]))
    return lines


def log_method(result: MethodResult, n_done: int, n_total: int) -> None:
    """Log the scores of a method with all its folds, and the number of finished folds of all methods."""
    scores = f"covering rate {_format_mean_std(result.covering_rate, result.covering_rate_std)}"
    seconds = sum(fold.seconds for fold in result.folds)
    LOGGER.info(
        "%s: %s, %d folds in %.3g s (%d of %d folds of all methods)",
        *(result.method, f"failed: {result.error}" if result.error is not None else scores),
        *(len(result.folds), seconds, n_done, n_total),
    )


def _rates(results: Sequence[MethodResult]) -> list[tuple[str, ...]]:
    """Return the title of each rate of a table, and its fields: the mean and, if there is one, the deviation."""
    rates: list[tuple[str, ...]] = [
        ("covering rate", "covering_rate", "covering_rate_std"),
        ("approx. accuracy", "approximated_accuracy", "approximated_accuracy_std"),
    ]
    if len(results) > 1:
        rates.insert(0, ("exp. accuracy", "expected_accuracy"))
    if any(r.accuracy is not None for r in results):
        rates.append(("accuracy", "accuracy", "accuracy_std"))
    return rates


def _format_mean_std(mean: float | None, std: float | None = None) -> str:
    if mean is None or math.isnan(mean):
        return "-"
    return f"{mean:.3f}" if std is None else f"{mean:.3f} ± {std:.3f}"


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
        NaN if the features are not numbers. Without weights, these are the candidates, and the rate is covering.
    baseline_warning : str
        A sentence if the best method is clearly below this rate; otherwise empty.
    n_groups : int or None
        Number of groups of rows, if no group is in the training and in the test subset of a fold; otherwise None.
    n_tests : tuple of int
        The smallest and the largest number of folds that test a held-out row; above 1 for repeated cross-validation.
    n_true_unlabeled : int
        Number of rows with a truth that no fold tests, since all classes are their candidates. The accuracy
        excludes them; pass a list of splits as `cv` to hold them out as well.
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
    def evaluation(self) -> str:
        """The folds in words, such as "one split, 8,000 training rows, 2,000 held-out rows"."""
        folds = "one split" if self.n_folds == 1 else f"{self.n_folds} folds"
        if self.n_groups is not None:
            folds += f" by {self.n_groups:,} group{'s' * (self.n_groups != 1)}"
        if self.n_folds == 1:
            folds += f", {self.n_train:,} training rows"
        least, most = self.n_tests
        repeats = "" if most == 1 else f", each in {most} folds" if least == most else f", in up to {most} folds"
        excluded = self.n_true_unlabeled
        rows = f" (not {excluded:,} unlabeled row{'s' * (excluded != 1)} with a truth)" if excluded else ""
        return f"{folds}, {self.n_held_out:,} held-out row{'s' * (self.n_held_out != 1)}{repeats}{rows}"

    @property
    def n_true(self) -> int:
        """The number of held-out rows with a truth, over all folds of the best method; 0 without a truth."""
        return sum(fold.n_true for fold in self.results[0].folds)

    @property
    def truth_note(self) -> str:
        """The accuracy of the best method and the number of rows behind it; empty if none or all have one."""
        accuracy = self.results[0].pooled_accuracy
        if accuracy is None or math.isnan(accuracy) or self.n_true >= self.n_held_out:
            return ""
        rows = f"{self.n_true:,} held-out row{'s' * (self.n_true != 1)} with a truth"
        return f"{self.best_method} has an accuracy of {100 * accuracy:.1f} % on {rows}."

    def to_dict(self) -> dict[str, Any]:
        """Return `evaluation` and all fields except estimators as a dict of JSON types; missing numbers are None.

        Returns
        -------
        dict
        """
        names = [f.name for f in dataclasses.fields(self) if f.repr]
        return to_builtin({name: getattr(self, name) for name in (*names, "evaluation")})

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of methods as a DataFrame of pandas, for example for a paper.

        It needs pandas (``pip install pandas``). ``to_frame().to_csv("methods.csv", index=False)`` writes a CSV file.
        ``to_frame().to_latex(index=False, escape=True)`` returns a LaTeX table, and needs jinja2
        (``pip install jinja2``). Without `escape`, the underscores of the names are errors in LaTeX.

        Returns
        -------
        pandas.DataFrame
            A row for each method, the best one first. The columns are `method`; the means and standard deviations
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
        return to_frame(self.results)

    def __str__(self) -> str:
        lines = format_lines(self.results, self.best_method)
        return "\n".join([*lines, *filter(None, [self.truth_note, self.baseline_warning])])
