"""Records of `oneof fit`: what each of its steps returns, and the titles of the steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.cli.options import FitOptions
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.comparison import Comparison, LearningCurve
    from oneof.comparison.folds import Task
    from oneof.crowd import CrowdClassifier
    from oneof.estimators.base import Disambiguation
    from oneof.model_selection.temperature import CalibrationResult
    from oneof.report import AnnotatorSummary, Headline
    from oneof.typing import Floats, Ints

HELD_OUT = "estimating the rates on held-out rows"
COMPARING = "comparing methods"
CURVE = "measuring the learning curve"
AUDIT = "looking for wrong labels"
RATES = "estimating the rates of the corrected fit"
FINAL = "fitting all rows"
WRITING = "writing the model and the report"
"""The steps of a fit, with `HELD_OUT` of one method, or `COMPARING` of several."""


@dataclass(frozen=True)
class Fit:
    """A table and the methods that are fitted to it: the result of `start`.

    Attributes
    ----------
    read_options : ReadOptions
    options : FitOptions
    prepared : PreparedTable
    methods : mapping of str to Pipeline
        The compared methods by name, not fitted.
    task : Task
        The rows, labels and true labels of the comparison.
    splits : sequence of (train, test)
        The folds of the held-out estimate.
    checked_codes : ndarray of int of shape (n_rows,)
        The class of each row with a true or checked label, -1 for another row.
    has_shared_lists : bool
        Whether rows share lists, such as those of a recording.
    notes : tuple of str
        Sentences for the user.
    """

    read_options: "ReadOptions"
    options: "FitOptions"
    prepared: "PreparedTable"
    methods: Mapping[str, Any]
    task: "Task"
    splits: Sequence[Any]
    checked_codes: "Ints"
    has_shared_lists: bool
    notes: tuple[str, ...]

    @property
    def evaluation_options(self) -> dict[str, Any]:
        """The arguments that all fits to parts of the rows have in common."""
        return {
            "cv": self.splits,
            "groups": self.prepared.groups,
            "truth": self.prepared.truth,
            "class_weight": self.task.class_weight,
            "random_state": self.options.seed,
        }

    @property
    def auditor(self) -> str:
        """The method that predicts the rows of an audit: the fitted one if it is the default one."""
        from oneof.cli.tables.methods import is_default_method

        return self.options.method if is_default_method(self.options.method) else "auto"

    def titles(self) -> list[str]:
        """Return the titles of the steps."""
        from oneof.comparison.methods import DEFAULT_METHOD

        corrects = self.options.corrects
        audits = DEFAULT_METHOD in self.methods and self.prepared.answers is None and not corrects
        first = COMPARING if len(self.methods) > 1 else HELD_OUT
        return [first, CURVE, *[AUDIT, RATES] * corrects, FINAL, *[AUDIT] * audits, WRITING]


@dataclass(frozen=True)
class Evaluation:
    """Held-out rates: the comparison, and the learning curve of the best method, None after an interruption.

    With a noise rate, `issues` are the suspected rows of the audit whose corrected weights are fitted.
    """

    comparison: "Comparison"
    curve: "LearningCurve | None"
    issues: "LabelIssues | None" = None
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
        Held-out label distributions in place of the probabilities of the comparison.
    posterior : ndarray of shape (n_rows, n_classes) or None
        Label distributions of the rows, given their labels.
    confidences : CalibrationResult or None
        The temperature of the probabilities by rows with a true or checked label.
    is_calibrated : bool
        Whether the model has this temperature.
    notes : tuple of str
    """

    model: Any
    decisions: "Disambiguation"
    issues: "LabelIssues | None" = None
    crowd: "CrowdClassifier | None" = None
    annotators: "AnnotatorSummary | None" = None
    proba: "Floats | None" = None
    posterior: "Floats | None" = None
    confidences: "CalibrationResult | None" = None
    is_calibrated: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingResult:
    """Result of `train`: the summary for JSON, the comparison of methods, the first number, and the annotators."""

    summary: dict[str, Any]
    comparison: "Comparison"
    headline: "Headline"
    annotators: "AnnotatorSummary | None" = None

    @property
    def is_headline_pooled(self) -> bool:
        """Whether the headline is a rate of all held-out rows whose mean over the folds is printed differently."""
        result, name = self.comparison.results[0], self.headline.measure
        mean = {"accuracy": result.accuracy, "covering rate": result.covering_rate}.get(name)
        return mean is not None and f"{mean:.1%}" != f"{self.headline.value:.1%}"
