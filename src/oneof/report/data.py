"""What a report is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from oneof.candidates import CandidateSets
from oneof.candidates.labels import label_vector
from oneof.errors import InputError
from oneof.plots import LearningCurveLike
from oneof.typing import Floats, Labels

Preview = Sequence[Mapping[str, str]] | Callable[[int], Mapping[str, str]]
"""The cells of the table to show for a row (counted from 0), by column name."""


class MethodResultLike(Protocol):
    """What the report reads of one method's result; rates in [0, 1], None or NaN where they are not known."""

    @property
    def method(self) -> str:
        """Name of the method."""

    @property
    def covering_rate(self) -> float | None:
        """Mean over the held-out folds."""

    @property
    def covering_rate_std(self) -> float | None:
        """Standard deviation over the folds."""

    @property
    def approximated_accuracy(self) -> float | None:
        """Mean over the held-out folds."""

    @property
    def approximated_accuracy_std(self) -> float | None:
        """Standard deviation over the folds."""

    @property
    def fit_seconds(self) -> float | None:
        """Time of one fit."""

    @property
    def accuracy(self) -> float | None:
        """Mean over the held-out folds, where the true labels are known."""

    @property
    def accuracy_std(self) -> float | None:
        """Standard deviation over the folds."""

    @property
    def error(self) -> str | None:
        """Why the method failed, if it did."""


class ComparisonLike(Protocol):
    """What the report reads of a comparison of methods."""

    @property
    def results(self) -> Sequence[MethodResultLike]:
        """One result a method, the best first."""

    @property
    def best_method(self) -> str:
        """Name of the method that was chosen."""

    @property
    def n_folds(self) -> int:
        """Number of folds."""


class DisambiguationLike(Protocol):
    """What the report reads of `disambiguate`."""

    @property
    def labels(self) -> Labels:
        """(n_samples,): the decided label of each row."""

    @property
    def confidence(self) -> Floats:
        """(n_samples,): its share among the row's candidates."""


@dataclass(frozen=True)
class ReportData:
    """Everything that a report says, as values: rendering reads no clock, no file and no random number.

    Parameters
    ----------
    title : str
        Heading of the page.
    source : str
        File name of the table.
    candidates : CandidateSets
        The candidate sets of the training rows.
    comparison : Comparison or None
        All methods that were tried; None where there was one alone.
    method : str
        The method in use.
    estimate : MethodResult
        Out-of-sample result of that method.
    learning_curve : LearningCurve or None
    decisions : Disambiguation
        Decided label and confidence of every training row.
    truth : array-like of shape (n_samples,) or None
        True labels, where a column of them was named; a missing one is None or NaN.
    preview : sequence of mappings, or callable
        For row i (counted from 0) some of the table's cells by column name, to recognize the row by.
    command : str or None
        Command line that makes this report again.
    version, date : str
        Version of oneof, and the date to print.
    named : bool, default=True
        Without a comparison, whether the user named the method; otherwise it was the first choice for the table.

    Raises
    ------
    InputError
        If decisions or truth have not one entry for each row.
    """

    title: str
    source: str
    candidates: CandidateSets
    comparison: ComparisonLike | None
    method: str
    estimate: MethodResultLike
    learning_curve: LearningCurveLike | None
    decisions: DisambiguationLike
    truth: Any
    preview: Preview
    command: str | None
    version: str
    date: str
    named: bool = True

    def __post_init__(self) -> None:
        given = {"decisions.labels": self.decisions.labels, "decisions.confidence": self.decisions.confidence}
        if self.truth is not None:
            object.__setattr__(self, "truth", label_vector(self.truth))
            given["truth"] = self.truth
        for name, values in given.items():
            if len(values) != len(self.candidates):
                raise InputError(
                    f"{name} has {len(values)} entries for {len(self.candidates)} rows: give one for each row."
                )

    def cells(self, row: int) -> Mapping[str, str]:
        """Return the previewed cells of a row, counted from 0."""
        return self.preview(row) if callable(self.preview) else self.preview[row]
