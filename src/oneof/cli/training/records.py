"""Records of `oneof fit`: the result of each of its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oneof.audit import LabelIssues
from oneof.cli.auditing.issues import N_FOLDS
from oneof.cli.options import FitOptions
from oneof.cli.tables.inputs import PreparedTable
from oneof.cli.tables.methods import is_default_method
from oneof.cli.tables.read_options import ReadOptions
from oneof.comparison import Comparison, LearningCurve
from oneof.comparison.folds import Task, columns_of
from oneof.crowd import CrowdClassifier
from oneof.estimators.base import Disambiguation
from oneof.model_selection.temperature import CalibrationResult
from oneof.report import AnnotatorSummary, Headline
from oneof.typing import Floats, Ints


@dataclass(frozen=True)
class Fit:
    """A table and the methods that are fitted to it: the result of `start`.

    Attributes
    ----------
    folder : Path
        The folder of the files that a fit writes.
    read_options : ReadOptions
    options : FitOptions
    prepared : PreparedTable
    methods : mapping of str to Pipeline
        The compared methods by name, not fitted.
    task : Task
        The rows, labels and true labels of the comparison.
    splits : sequence of (train, test)
        The folds of the held-out estimate.
    has_shared_lists : bool
        Whether rows share lists, such as those of a recording.
    notes : tuple of str
        Sentences for the user.
    """

    folder: Path
    read_options: ReadOptions
    options: FitOptions
    prepared: PreparedTable
    methods: Mapping[str, Any]
    task: Task
    splits: Sequence[Any]
    has_shared_lists: bool
    notes: tuple[str, ...]

    @cached_property
    def true_codes(self) -> Ints:
        """The class of each labeled row with a true label, (n,); -1 for another row."""
        candidates, truth = self.prepared.candidates, self.prepared.truth
        known = np.full(len(candidates), -1) if truth is None else columns_of(truth, candidates)
        return np.where(candidates.is_unlabeled, -1, known)

    @cached_property
    def known_codes(self) -> Ints:
        """The class of each labeled row with a true or else a checked label, (n,); -1 for another row."""
        checked, candidates = self.prepared.is_checked, self.prepared.candidates
        if checked is None:
            return self.true_codes
        label = candidates.mask.argmax(axis=1)  # the checked label is the only candidate
        return np.where(checked & (self.true_codes < 0) & ~candidates.is_unlabeled, label, self.true_codes)

    @property
    def auditor(self) -> str:
        """The method that predicts the rows of an audit: the fitted one if it is the default one."""
        return self.options.method if is_default_method(self.options.method) else "auto"

    @property
    def audit_folds(self) -> int | None:
        """The number of folds of an audit: None for the default, or --folds with fewer labeled rows than this."""
        has_default = np.count_nonzero(~self.prepared.candidates.is_unlabeled) >= N_FOLDS
        return None if has_default or self.options.folds == 1 else self.options.folds


@dataclass(frozen=True)
class Evaluation:
    """Held-out rates: the comparison, and the learning curve of the best method, None after an interruption.

    With a noise rate, `issues` are the suspected rows of the audit whose corrected weights are fitted.
    """

    comparison: Comparison
    curve: LearningCurve | None
    issues: LabelIssues | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """The model of all rows, the labels of the training rows, and the suspected ones.

    Attributes
    ----------
    model : Pipeline
    decisions : Disambiguation
    issues : LabelIssues or None
        The suspected rows; None if they are not searched for.
    crowd, annotators : CrowdClassifier and AnnotatorSummary, or None
        The fit of annotators and method in turn, and the annotators' accuracies.
    proba : ndarray of shape (n_held_out, n_classes) or None
        Held-out probabilities; None without probabilities of all folds.
    posterior : ndarray of shape (n_rows, n_classes) or None
        Label distributions of the rows, given their labels.
    confidences : CalibrationResult or None
        The temperature of the probabilities by rows with a true or checked label.
    is_calibrated : bool
        Whether the model has this temperature.
    notes : tuple of str
    """

    model: Any
    decisions: Disambiguation
    issues: LabelIssues | None = None
    crowd: CrowdClassifier | None = None
    annotators: AnnotatorSummary | None = None
    proba: Floats | None = None
    posterior: Floats | None = None
    confidences: CalibrationResult | None = None
    is_calibrated: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingResult:
    """Result of `train`: the summary for JSON, the comparison of methods, the first number, and the annotators."""

    summary: dict[str, Any]
    comparison: Comparison
    headline: Headline
    annotators: AnnotatorSummary | None = None
