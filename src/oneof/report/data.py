"""Data of a report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oneof.audit import LabelIssues
from oneof.candidates import CandidateSets
from oneof.candidates.labels import label_vector
from oneof.comparison import Comparison, LearningCurve
from oneof.crowd import ClassAccuracies, PairAgreements
from oneof.errors import InputError
from oneof.estimators.base import Disambiguation
from oneof.report.assessment import Assessment
from oneof.typing import Floats, Ints

MIN_SHARED_ROWS = 10
"""Minimum number of common rows of a listed pair of annotators, if there are many pairs."""
Preview = Sequence[Mapping[str, str]] | Callable[[int], Mapping[str, str]]
"""Table cells to show for a row (counted from 0), by column name."""
MAX_COLUMNS = 5
"""Maximum number of columns that a page shows of a row."""
_MIN_WHOLE = 1e4
_MAX_WHOLE = 1e15
"""Numbers from the first to the second are shown without decimals."""


def table_preview(frame: Any, columns: Sequence[str], matrix: Any = None) -> Preview:
    """Return the cells of the first columns of a polars table as texts, computed for each row on request.

    For a CSR matrix, which has no columns, they are the number of features that are not 0.
    """
    shown = frame.select(columns[:MAX_COLUMNS])

    def preview(row: int) -> Mapping[str, str]:
        if matrix is not None:
            n_nonzero = matrix.indptr[row + 1] - matrix.indptr[row]
            return {"features that are not 0": f"{n_nonzero:,} of {matrix.shape[1]:,}"}
        return {name: _to_text(cell) for name, cell in shown.row(row, named=True).items()}

    return preview


def _to_text(cell: Any) -> str:
    """Return a cell as text; a number has four significant digits, or all digits before the decimal point."""
    if not isinstance(cell, float) or not np.isfinite(cell):
        return "" if cell is None else str(cell)
    is_whole = cell == round(cell) or abs(cell) >= _MIN_WHOLE
    return f"{cell:.0f}" if is_whole and abs(cell) < _MAX_WHOLE else f"{cell:.4g}"


class DisputedRow(NamedTuple):
    """A row with an uncertain label, of those with several answers.

    Attributes
    ----------
    row : int
        Counted from 0.
    name : str
    label, runner_up : str
        The most probable and the second most probable class.
    disagreement : float
        The fraction of pairs of answers that have no class in common.
    answers : str
        Each answer with its annotators, the most frequent first.
    """

    row: int
    name: str
    label: str
    runner_up: str
    disagreement: float
    answers: str


@dataclass(frozen=True)
class AnnotatorSummary:
    """The annotators whose answers were fitted.

    Attributes
    ----------
    names : sequence of str
    n_answers : ndarray of shape (n_annotators,)
    accuracy : ndarray of shape (n_annotators,)
        Probability that an answer contains the true class; NaN if the answers do not identify it.
    interval : ndarray of shape (n_annotators, 2)
        Intervals of the accuracies, of probability `coverage`.
    coverage : float
    copies : sequence of two names
        Pairs of annotators of whom one may copy the other.
    no_better_than_chance, few_answers : sequence of str
    notes : sequence of str
        Sentences on the annotators; see `AnnotatorModel.notes_`.
    by_class : ClassAccuracies
        The accuracy of each annotator in each class.
    pairs : PairAgreements
        The agreement of each pair of annotators with common rows.
    alpha : float
        Krippendorff's alpha, for which answers are equal or different; NaN if no row has two answers.
    masi_alpha : float or None
        The alpha with the MASI distance, by which sets that overlap differ less; None if no answer is a set.
    disputed : sequence of DisputedRow
    """

    names: Sequence[str]
    n_answers: Ints
    accuracy: Floats
    interval: Floats
    coverage: float
    copies: Sequence[tuple[str, str]]
    no_better_than_chance: Sequence[str]
    few_answers: Sequence[str]
    notes: Sequence[str]
    by_class: ClassAccuracies
    pairs: PairAgreements
    alpha: float
    masi_alpha: float | None
    disputed: Sequence[DisputedRow]

    @property
    def agreement(self) -> str:
        """Krippendorff's alpha in a sentence."""
        if np.isnan(self.alpha):
            return "Krippendorff's alpha is unknown, since no row has two answers, or all answers are equal."
        of_sets = "" if self.masi_alpha is None else f", and {self.masi_alpha:.2f} with the MASI distance of sets"
        return f"Krippendorff's alpha is {self.alpha:.2f}{of_sets}; 1 is equal answers, 0 is chance."

    def remark(self, j: int) -> str:
        """Return a note on annotator j, empty for most."""
        name = self.names[j]
        remarks = [f"may copy {other}" for other in self.copies_of(name)[:1]]
        remarks += ["accuracy unknown"] * bool(np.isnan(self.accuracy[j]))
        remarks += ["few answers"] * (name in self.few_answers)
        remarks += ["no better than chance"] * (name in self.no_better_than_chance)
        return "; ".join([*remarks, *["differs by class"] * bool(self.by_class.differs[j].any())])

    def copies_of(self, name: str) -> list[str]:
        """Return the annotators who may be copies of an annotator."""
        return [other for pair in self.copies if name in pair for other in pair if other != name]

    def least_agreeing_pairs(self, n_pairs: int) -> list[int]:
        """Return the pairs of the lowest kappa; with more than `n_pairs`, only those with at least 10 common rows."""
        kappa, n_shared = self.pairs.kappa, self.pairs.n_shared
        order = np.argsort(kappa, kind="stable").tolist()
        if len(order) > n_pairs:
            order = [i for i in order if n_shared[i] >= MIN_SHARED_ROWS]
        return order[:n_pairs]


@dataclass(frozen=True)
class ReportData:
    """All data of a report: rendering uses no clock, no other file and no random number.

    Parameters
    ----------
    title : str
        Heading of the page.
    source : str
        File name of the table.
    candidates : CandidateSets
        The candidate sets of the training rows.
    comparison : Comparison
        The compared methods, or the single one; the first is the fitted one.
    learning_curve : LearningCurve or None
    decisions : Disambiguation
        Disambiguated label and confidence of every training row.
    assessment : Assessment
        The headline, and the prediction sets.
    truth : array-like of shape (n_samples,) or None
        True labels, if known; a missing one is None or NaN.
    preview : sequence of mappings, or callable
        For row i (counted from 0) some table cells by column name, to identify the row.
    features : sequence of str
        Names of the columns that are features; empty for a sparse matrix.
    n_features : int
        Number of these columns, or of the features of a sparse matrix.
    findings : sequence of str
        Sentences about the file, its columns and its labels.
    command : str or None
        Command line that reproduces this report.
    version, date : str
        Version of oneof, and the date to print.
    is_named : bool, default=True
        Whether the user requested the method of a single one; otherwise it is the default method.
    annotators : AnnotatorSummary, optional
        The annotators, if the model was fitted to their answers.
    issues : LabelIssues, optional
        The rows whose sets probably exclude the true label.
    n_corrected : int, optional
        Number of rows whose weights differ from the labels given, if the model was fitted to corrected weights.

    Raises
    ------
    InputError
        If decisions or truth do not have one entry per row.
    """

    title: str
    source: str
    candidates: CandidateSets
    comparison: Comparison
    learning_curve: LearningCurve | None
    decisions: Disambiguation
    assessment: Assessment
    truth: Any
    preview: Preview
    features: Sequence[str]
    n_features: int
    findings: Sequence[str]
    command: str | None
    version: str
    date: str
    is_named: bool = True
    annotators: AnnotatorSummary | None = None
    issues: LabelIssues | None = None
    n_corrected: int | None = None

    def __post_init__(self) -> None:
        arrays = {"decisions.labels": self.decisions.labels, "decisions.confidence": self.decisions.confidence}
        if self.truth is not None:
            object.__setattr__(self, "truth", label_vector(self.truth))
            arrays["truth"] = self.truth
        for name, values in arrays.items():
            if len(values) != len(self.candidates):
                raise InputError(f"`{name}` must have one entry per row ({len(self.candidates)}); got {len(values)}.")
