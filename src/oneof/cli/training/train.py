"""Training on a table: `start`, `evaluate` and `fit_final`, the first steps of `oneof fit`, and their records.

Each step is a function of the record of the step before and returns one, with its sentences for the user. The steps
after them are `calibrate` and `assess` of `assessment` and `write` of `files`.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oneof.audit import LabelIssues
from oneof.candidates import CandidateSets
from oneof.cli import auditing
from oneof.cli.answers import summarize_annotators
from oneof.cli.options import FitOptions, ReadOptions
from oneof.cli.output import terminal
from oneof.cli.output.progress import Progress, step
from oneof.cli.tables.inputs import PreparedTable, check_unchecked_rows, prepare
from oneof.cli.tables.methods import describe_comparison, is_default_method, resolve_methods
from oneof.comparison import Comparison, LearningCurve, compare, learning_curve
from oneof.comparison.folds import check_task, columns_of, fit_with_class_weights, make_folds
from oneof.comparison.methods import DEFAULT_METHOD
from oneof.crowd import CrowdClassifier
from oneof.crowd.learners import calibration_labels
from oneof.errors import InputError
from oneof.estimators.base import Disambiguation
from oneof.estimators.loo_ridge import LOORidge
from oneof.model_selection import get_proba
from oneof.model_selection.temperature import CalibrationResult
from oneof.report import AnnotatorSummary
from oneof.typing import Floats, Ints

CURVE_FRACTIONS = (0.1, 0.2, 0.4, 0.7)
MAX_CURVE_ROWS = 4_000
"""The sizes of the learning curve are these fractions of the training rows, of at most this number, and all rows."""
MIN_LOSS = 0.01
"""Difference of the rates from which a fit to corrected weights is reported as worse."""


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
    splits : sequence of (train, test)
        The folds of the held-out estimate.
    notes : tuple of str
        Sentences for the user.
    """

    read_options: ReadOptions
    options: FitOptions
    prepared: PreparedTable
    methods: Mapping[str, Any]
    splits: Sequence[Any]
    notes: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The folder of the files that a fit writes."""
        return self.options.folder(self.prepared.table.path)

    @cached_property
    def has_shared_lists(self) -> bool:
        """Whether rows share lists, such as those of a recording."""
        return auditing.share_lists(self.prepared)

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


@dataclass(frozen=True)
class Evaluation:
    """Held-out rates: the comparison, and the learning curve of the best method, None after an interruption.

    With a noise rate, `issues` are the suspected rows of the audit whose corrected weights are fitted.
    """

    fit: Fit
    comparison: Comparison
    curve: LearningCurve | None = None
    issues: LabelIssues | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """The model of all rows, the labels of the training rows, and the suspected ones.

    Attributes
    ----------
    evaluation : Evaluation
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

    evaluation: Evaluation
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

    @property
    def fit(self) -> Fit:
        """The table and the methods."""
        return self.evaluation.fit

    @property
    def comparison(self) -> Comparison:
        """The comparison of the methods."""
        return self.evaluation.comparison


def start(path: Path, read_options: ReadOptions, options: FitOptions) -> Fit:
    """Read a table, and select the methods and the folds."""
    rate, corrects, named = options.rate, options.noise_rate is not None, options.method.lower() != "auto"
    prepared = prepare(path, read_options)
    candidates, notes = prepared.candidates, list(prepared.notes)
    if corrects:
        check_unchecked_rows(candidates, prepared.is_checked, "remove --noise-rate")
    if prepared.has_rest and rate is not None:
        raise InputError(
            f"--noise-rate {rate:g} cannot be used with --rest: lists with a rest exclude no label, so that the "
            "fraction of wrong ones is estimated. Use --noise-rate auto."
        )
    method = options.method if named else DEFAULT_METHOD
    methods, of_methods = resolve_methods(prepared, method, options.seed, options.weights_of_classes)
    notes += [*of_methods, *(auditing.describe_rest(read_options, prepared) if corrects else [])]
    n_unlabeled = int(candidates.is_unlabeled.sum())
    if not named and 2 * n_unlabeled > len(candidates):
        notes.append(
            f"{DEFAULT_METHOD} ignores the {n_unlabeled:,} unlabeled rows; --method best compares methods that use "
            "them."
        )
    task = check_task(prepared.frame, candidates, prepared.truth)
    splits = make_folds(task, options.folds or "auto", options.seed, prepared.groups)
    return Fit(read_options, options, prepared, methods, splits, tuple(notes))


def evaluate(fit: Fit) -> Evaluation:
    """Compare the methods on held-out rows; with a noise rate, the rates are those of fits to corrected weights."""
    comparison = compare_methods(fit)
    if comparison.is_interrupted:
        sentence = (
            f"the comparison was interrupted; the best method so far, {comparison.best_method}, is fitted without a "
            "learning curve. A second Ctrl-C ends without a model."
        )
        evaluation = Evaluation(fit, comparison, notes=(sentence,))
    else:
        with step("Measuring the learning curve") as bar:
            curve = learning_curve(
                fit.methods[comparison.best_method],
                **_evaluation_options(fit, bar),
                train_sizes=CURVE_FRACTIONS,
                max_rows=MAX_CURVE_ROWS,
                last=comparison.results[0],
            )
        evaluation = Evaluation(fit, comparison, curve)
    return evaluation if fit.options.noise_rate is None else correct(evaluation)


def compare_methods(fit: Fit) -> Comparison:
    """Return the comparison of the methods on held-out rows."""
    several = len(fit.methods) > 1
    if several:
        terminal.print_note(describe_comparison(len(fit.methods), fit.options.limit))
    with step("Comparing methods" if several else "Estimating the rates on held-out rows", each_name=several) as bar:
        return _compare(fit, fit.methods, bar, budget=fit.options.limit)


def _compare(fit: Fit, methods: Mapping[str, Any], bar: Progress, **options: Any) -> Comparison:
    options |= _evaluation_options(fit, bar)
    return compare(methods=methods, refit=False, keep_predictions="labeled", **options)


def _evaluation_options(fit: Fit, bar: Progress) -> dict[str, Any]:
    """Return the arguments that all fits to parts of the rows have in common."""
    prepared, options = fit.prepared, fit.options
    rows = {"X": prepared.frame, "y": prepared.candidates, "truth": prepared.truth, "groups": prepared.groups}
    more = {"cv": fit.splits, "class_weight": options.weights_of_classes, "random_state": options.seed}
    return rows | more | {"progress": bar}


def correct(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation of the best method fitted to weights that an audit has corrected, with a note."""
    fit, comparison = evaluation.fit, evaluation.comparison
    with step("Looking for wrong labels") as bar:
        name, issues = _audit(fit, noise_rate=fit.options.rate, progress=bar)
    notes = [*evaluation.notes, auditing.describe_correction(issues, name)]
    if issues.n_changed:
        with step("Estimating the rates of the corrected fit") as bar:
            comparison, sentence = compare_corrected(fit, comparison, bar)
        notes.append(sentence)
    return replace(evaluation, comparison=comparison, issues=issues, notes=tuple(notes))


def compare_corrected(fit: Fit, comparison: Comparison, bar: Progress) -> tuple[Comparison, str]:
    """Return the comparison with the result of the best method fitted to corrected weights in its place, and a note.

    In each fold, the audit has the training rows alone: weights that were corrected with the labels of the test rows
    would help to predict them, and the rates would be too high. The test rows are compared with their labels as they
    are. If the audit or the fit fails in a fold, such as one without some class, the comparison is returned as it was.
    """
    best = {comparison.best_method: comparison.best_estimator}
    try:
        result = _compare(fit, best, bar, correct=lambda rows: corrected_sets(fit, rows)).results[0]
    except Exception as error:  # as for the methods of a comparison, an error of a fold must not stop the fit
        reason = f"the audit or the fit of a fold failed ({type(error).__name__}: {str(error).rstrip('.')})"
        return comparison, f"the held-out estimate is that of the fit without the correction, because {reason}."
    before = comparison.results[0]
    name, old, new = "covering rate", before.covering_rate, result.covering_rate
    if before.accuracy is not None and result.accuracy is not None:
        name, old, new = "accuracy", before.accuracy, result.accuracy
    worse = " The correction does not help on these rows: leave out --noise-rate, or check some suspected rows."
    note = (
        f"the held-out estimate is that of the corrected fit: its {name} is {100 * new:.1f} %, and {100 * old:.1f} % "
        f"without the correction.{worse * (new < old - MIN_LOSS)}"
    )
    # Its expected accuracy, by which it was chosen among several methods, is that of the labels as they are.
    first = replace(result, expected_accuracy=before.expected_accuracy)
    return replace(comparison, results=(first, *comparison.results[1:])), note


def corrected_sets(fit: Fit, rows: Ints) -> CandidateSets:
    """Return the sets of the training rows of a fold, corrected by an audit of these rows."""
    issues = _search(fit, rows=rows, noise_rate=fit.options.rate)
    return fit.prepared.candidates[rows] if issues is None else issues.corrected()


def _search(fit: Fit, rows: Ints | None = None, **options: Any) -> LabelIssues | None:
    """Return the issues of some rows without warnings about rows that are not audited; None if no row is."""
    if not auditing.can_audit(fit.prepared, slice(None) if rows is None else rows):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return _audit(fit, rows=rows, **options)[1]


def _audit(fit: Fit, **options: Any) -> tuple[str, LabelIssues]:
    """Return the name of the method that predicts the rows of an audit, the fitted one if it is the default, and it."""
    method = fit.options.method if is_default_method(fit.options.method) else "auto"
    return auditing.find_issues(fit.prepared, method, seed=fit.options.seed, **options)


def fit_final(evaluation: Evaluation) -> Fitted:
    """Fit the best method to all rows, and look for wrong labels."""
    return (_fit_labels if evaluation.fit.prepared.answers is None else _fit_answers)(evaluation)


def _fit_labels(evaluation: Evaluation) -> Fitted:
    """Fit the best method to the labels, or to the weights that an audit has corrected."""
    fit, comparison, issues = evaluation.fit, evaluation.comparison, evaluation.issues
    prepared, weights = fit.prepared, fit.options.weights_of_classes
    sets = prepared.candidates if issues is None or not issues.n_changed else issues.corrected()
    with step("Fitting all rows"):
        model = fit_with_class_weights(comparison.best_estimator, prepared.frame, sets, weights)
    # Neighbor methods exclude the row itself from the prediction of a training row.
    fitted = Fitted(evaluation, model, model[-1].disambiguate(), issues, proba=comparison.results[0].probabilities)
    if issues is not None:
        return replace(fitted, posterior=issues.posterior)
    if not isinstance(model[-1], LOORidge):
        return fitted
    if not auditing.has_predictions_of_all_rows(comparison, prepared.candidates):
        sentence = "wrong labels are not searched for, since one split is held out: run `oneof audit`."
        return replace(fitted, notes=(sentence,))
    with step("Looking for wrong labels") as bar:
        return replace(fitted, issues=_search(fit, progress=bar))


def _fit_answers(evaluation: Evaluation) -> Fitted:
    """Fit the accuracies of the annotators and the best method in turn."""
    fit, comparison = evaluation.fit, evaluation.comparison
    prepared, answers = fit.prepared, fit.prepared.answers
    assert answers is not None
    notes = (
        f"the held-out estimate is approximate: it is that of {comparison.best_method} fitted to weights by the "
        "answers of all rows. The model is fitted with the accuracies of the annotators in turn.",
        "in training_labels.csv, the candidates have weights by the answers alone; label and confidence are "
        "estimated from the answers and the features, and are those of the model in rows without an answer.",
    )
    with step("Fitting all rows") as bar:
        crowd = CrowdClassifier(comparison.best_estimator, random_state=fit.options.seed)
        crowd.fit(prepared.frame, answers.answers, answers.gold, progress=bar)
        prior = comparison.results[0].probabilities, comparison.held_out_rows
        proba, posterior = calibration_labels(crowd, prepared.frame, prepared.candidates, *prior, fit.splits)
    confidence, unlabeled = crowd.label_distributions_.max(axis=1), prepared.candidates.is_unlabeled
    if unlabeled.any():
        confidence[unlabeled] = get_proba(crowd.estimator_, prepared.frame).proba[unlabeled].max(axis=1)
    decisions = Disambiguation(crowd.transduction_, confidence)
    annotators = summarize_annotators(crowd, answers)
    return Fitted(evaluation, crowd.estimator_, decisions, None, crowd, annotators, proba, posterior, notes=notes)
