"""Training on a table: `start`, `evaluate`, `fit_final`, `assess` and `write`, the steps of `oneof fit`.

Each step is a function of the records of the earlier ones and returns one, with its sentences for the user.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from oneof.audit import LabelIssues
from oneof.candidates import CandidateSets
from oneof.cli.answers.annotators import ANNOTATORS_FILE, summarize_annotators
from oneof.cli.auditing import issues as auditing
from oneof.cli.options import FitOptions
from oneof.cli.output import terminal
from oneof.cli.output.files import check_outputs, input_files
from oneof.cli.output.progress import Progress, step
from oneof.cli.tables.facts import describe_prepared
from oneof.cli.tables.inputs import check_unchecked_rows, prepare
from oneof.cli.tables.methods import describe_comparison, resolve_methods
from oneof.cli.tables.read_options import ReadOptions
from oneof.cli.training.assessment import add_notes, assess, calibrate, check_calibration
from oneof.cli.training.files import OUTPUTS, summarize, write
from oneof.cli.training.records import Evaluation, Fit, Fitted, TrainingResult
from oneof.comparison import Comparison, compare, learning_curve
from oneof.comparison.folds import check_task, fit_with_class_weights, make_folds
from oneof.comparison.methods import DEFAULT_METHOD
from oneof.crowd import CrowdClassifier
from oneof.crowd.learners import calibration_labels
from oneof.errors import InputError
from oneof.estimators.base import Disambiguation
from oneof.estimators.loo_ridge import LOORidge
from oneof.model_selection import get_proba
from oneof.typing import Ints

CURVE_FRACTIONS = (0.1, 0.2, 0.4, 0.7)
MAX_CURVE_ROWS = 4_000
"""The sizes of the learning curve are these fractions of the training rows, of at most this number, and all rows."""
MIN_LOSS = 0.01
"""Difference of the rates from which a fit to corrected weights is reported as worse."""


def train(path: Path, read_options: ReadOptions, options: FitOptions, *, command: str) -> TrainingResult:
    """Select a method, fit it on all rows of a table, and write model, labels, report and summary into a folder.

    The scores in the summary are computed on held-out rows, even if one method is requested by name. `command` is the
    command for the report. The facts of the table are printed before the first fit, and the sentences of each step
    after it.
    """
    folder = options.folder(path)
    check_outputs({"--out": [folder / name for name in (*OUTPUTS, ANNOTATORS_FILE)]}, input_files(path, read_options))
    fit = start(path, read_options, options)
    terminal.print_notes(fit.notes)
    terminal.print_facts(describe_prepared(fit.prepared, read_options))
    if len(fit.methods) > 1:
        terminal.print_note(describe_comparison(len(fit.methods), options.limit))
    evaluation = evaluate(fit)
    terminal.print_notes(evaluation.notes)
    fitted = fit_final(fit, evaluation)
    terminal.print_notes(fitted.notes)
    assessment = assess(fit, evaluation, fitted)
    terminal.print_notes(assessment.notes)
    notes = [*fit.notes, *evaluation.notes, *fitted.notes, *assessment.notes]
    summary = summarize(fit, evaluation, fitted, assessment) | {"notes": notes}
    with step("Writing the model and the report"):
        files = write(fit, evaluation, fitted, assessment, summary, command)
    return TrainingResult(summary | {"files": files}, evaluation.comparison, assessment.headline, fitted.annotators)


def start(path: Path, read_options: ReadOptions, options: FitOptions) -> Fit:
    """Read a table, and select the methods and the folds."""
    rate, named = options.rate, options.method.lower() != "auto"
    prepared = prepare(path, read_options)
    candidates, has_shared_lists = prepared.candidates, auditing.share_lists(prepared)
    of_rest = auditing.describe_rest(read_options, prepared) if options.corrects else []
    if options.corrects:
        check_unchecked_rows(candidates, prepared.is_checked, "remove --noise-rate")
    if prepared.has_rest and rate is not None:
        raise InputError(
            f"--noise-rate {rate:g} cannot be used with --rest: lists with a rest exclude no label, so that the "
            "fraction of wrong ones is estimated. Use --noise-rate auto."
        )
    method = options.method if named else DEFAULT_METHOD
    methods, of_methods = resolve_methods(prepared, method, options.seed, options.weights_of_classes)
    notes = [*prepared.notes, *of_methods, *of_rest]
    n_unlabeled = int(candidates.is_unlabeled.sum())
    if not named and 2 * n_unlabeled > len(candidates):
        notes.append(
            f"{DEFAULT_METHOD} ignores the {n_unlabeled:,} unlabeled rows; --method best compares methods that use "
            "them."
        )
    task = check_task(prepared.frame, candidates, prepared.truth, options.weights_of_classes)
    folder, splits = options.folder(path), make_folds(task, options.folds or "auto", options.seed, prepared.groups)
    fit = Fit(folder, read_options, options, prepared, methods, task, splits, has_shared_lists, tuple(notes))
    if options.calibrate:
        check_calibration(fit)
    return fit


def evaluate(fit: Fit) -> Evaluation:
    """Compare the methods on held-out rows; with a noise rate, the rates are those of fits to corrected weights."""
    several = len(fit.methods) > 1
    with step("Comparing methods" if several else "Estimating the rates on held-out rows", each_name=several) as bar:
        comparison = compare_methods(fit, bar)
    if comparison.is_interrupted:
        sentence = (
            f"the comparison was interrupted; the best method so far, {comparison.best_method}, is fitted without a "
            "learning curve. A second Ctrl-C ends without a model."
        )
        evaluation = Evaluation(comparison, None, notes=(sentence,))
    else:
        with step("Measuring the learning curve") as bar:
            curve = learning_curve(
                fit.methods[comparison.best_method],
                fit.prepared.frame,
                fit.prepared.candidates,
                **_evaluation_options(fit),
                train_sizes=CURVE_FRACTIONS,
                max_rows=MAX_CURVE_ROWS,
                last=comparison.results[0],
                progress=bar,
            )
        evaluation = Evaluation(comparison, curve)
    is_corrected = fit.options.corrects and fit.prepared.answers is None
    return correct(fit, evaluation) if is_corrected else evaluation


def _evaluation_options(fit: Fit) -> dict[str, Any]:
    """Return the arguments that all fits to parts of the rows have in common."""
    prepared, weights = fit.prepared, fit.task.class_weight
    options = {"cv": fit.splits, "groups": prepared.groups, "truth": prepared.truth, "class_weight": weights}
    return options | {"random_state": fit.options.seed}


def compare_methods(fit: Fit, bar: Progress, methods: Mapping[str, Any] | None = None, **options: Any) -> Comparison:
    """Return the comparison of the methods of a fit, or of others, on held-out rows."""
    return compare(
        fit.prepared.frame,
        fit.prepared.candidates,
        methods or fit.methods,
        **_evaluation_options(fit),
        refit=False,
        keep_predictions="labeled",
        progress=bar,
        **({"budget": fit.options.limit} | options),
    )


def correct(fit: Fit, evaluation: Evaluation) -> Evaluation:
    """Return the evaluation of the best method fitted to weights that an audit has corrected, with a note."""
    with step("Looking for wrong labels") as bar:
        name, issues = _audit(fit, noise_rate=fit.options.rate, progress=bar)
    comparison, notes = evaluation.comparison, [*evaluation.notes, auditing.describe_correction(issues, name)]
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
        options = {"budget": None, "correct": lambda rows: corrected_sets(fit, rows)}
        result = compare_methods(fit, bar, best, **options).results[0]
    except Exception as error:  # as for the methods of a comparison, an error of a fold must not stop the fit
        reason = f"the audit or the fit of a fold failed ({type(error).__name__}: {str(error).rstrip('.')})"
        return comparison, f"the held-out estimate is that of the fit without the correction, because {reason}."
    before, several = comparison.results[0], len(comparison.results) > 1
    name, old, new = "covering rate", before.covering_rate, result.covering_rate
    if before.accuracy is not None and result.accuracy is not None:
        name, old, new = "accuracy", before.accuracy, result.accuracy
    worse = "The correction does not help on these rows: leave out --noise-rate, or check some suspected rows. "
    others = "The other methods, and the learning curve, are" if several else "The learning curve is"
    note = (
        f"the held-out estimate is that of the corrected fit: its {name} is {100 * new:.1f} %, and {100 * old:.1f} % "
        f"without the correction. {worse * (new < old - MIN_LOSS)}{others} without the correction."
    )
    # Its expected accuracy, by which it was chosen among several methods, is that of the labels as they are.
    first = replace(result, expected_accuracy=before.expected_accuracy)
    return replace(comparison, results=(first, *comparison.results[1:])), note


def corrected_sets(fit: Fit, rows: Ints) -> CandidateSets:
    """Return the sets of the training rows of a fold, corrected by an audit of these rows."""
    if not auditing.can_audit(fit.prepared, rows):
        return fit.prepared.candidates[rows]  # the few rows that are not checked are held out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a fold; those of all rows are given elsewhere
        return _audit(fit, noise_rate=fit.options.rate, rows=rows)[1].corrected()


def _audit(fit: Fit, **options: Any) -> tuple[str, LabelIssues]:
    """Return the name of the method that predicts the rows of an audit, and its issues."""
    return auditing.find_issues(fit.prepared, fit.auditor, folds=fit.audit_folds, seed=fit.options.seed, **options)


def fit_final(fit: Fit, evaluation: Evaluation) -> Fitted:
    """Fit the best method to all rows, look for wrong labels, and scale the probabilities if requested."""
    fitted = (_fit_labels if fit.prepared.answers is None else _fit_answers)(fit, evaluation)
    return calibrate(fit, evaluation.comparison, fitted)


def _fit_labels(fit: Fit, evaluation: Evaluation) -> Fitted:
    """Fit the best method to the labels, or to the weights that an audit has corrected."""
    prepared, comparison, issues = fit.prepared, evaluation.comparison, evaluation.issues
    sets = prepared.candidates if issues is None or not issues.n_changed else issues.corrected()
    with step("Fitting all rows"):
        model = fit_with_class_weights(comparison.best_estimator, prepared.frame, sets, fit.task.class_weight)
    # Neighbor methods exclude the row itself from the prediction of a training row.
    fitted = Fitted(model, model[-1].disambiguate(), issues, proba=comparison.results[0].probabilities)
    if fit.has_shared_lists and comparison.results[0].accuracy is None:
        groups = "" if comparison.n_groups is not None else ", and hold out entire recordings or documents (--groups)"
        fitted = add_notes(fitted, [f"{auditing.SHARED_LISTS}. {_NO_ACCURACY}{groups}."])
    if issues is not None:
        return replace(fitted, posterior=issues.posterior)
    if not isinstance(model[-1], LOORidge):
        return fitted
    if not auditing.has_predictions_of_all_rows(comparison, prepared.candidates):
        sentence = "wrong labels are not searched for, since one split is held out: run `oneof audit`."
        return add_notes(fitted, [sentence])
    with step("Looking for wrong labels") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that some rows are not audited
        if auditing.can_audit(prepared):
            issues = _audit(fit, progress=bar)[1]
    return replace(fitted, issues=issues)


_NO_ACCURACY = (
    "An accuracy estimated without true labels would be too high, and is not shown; a noise rate tends to be too low. "
    "Give the true labels of some rows (--truth)"
)


def _fit_answers(fit: Fit, evaluation: Evaluation) -> Fitted:
    """Fit the accuracies of the annotators and the best method in turn."""
    prepared, comparison, answers = fit.prepared, evaluation.comparison, fit.prepared.answers
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
    return Fitted(crowd.estimator_, decisions, None, crowd, annotators, proba, posterior, notes=notes)
