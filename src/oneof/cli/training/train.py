"""Training on a table: `start`, `evaluate`, `fit_final`, `assess` and `write`, the steps of `oneof fit`.

Each step is a function of the records of the earlier ones and returns one, with its sentences for the user.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.answers.annotators import ANNOTATORS_FILE, summarize_annotators
from oneof.cli.auditing.issues import (
    describe_correction,
    describe_rest,
    find_issues,
    find_suspects,
    has_predictions_of_all_rows,
)
from oneof.cli.output import terminal
from oneof.cli.output.progress import Progress, Steps
from oneof.cli.prediction.sets import (
    MIN_CHECKED_ROWS,
    REPORT_COVERAGE,
    evaluate_calibration,
    find_checked_rows,
    held_out_calibration,
)
from oneof.cli.tables.facts import describe_prepared
from oneof.cli.tables.first_labels import measure_first_labels, named_classes
from oneof.cli.tables.gold import check_unchecked_rows
from oneof.cli.training import calibration as calibration_steps
from oneof.cli.training.corrected import Audit, compare_corrected
from oneof.cli.training.files import OUTPUTS, summarize, write
from oneof.cli.training.headline import (
    describe_lists,
    describe_noise,
    describe_weights,
    held_out_accuracy,
    make_headline,
    share_lists,
)
from oneof.cli.training.records import (
    AUDIT,
    COMPARING,
    CURVE,
    FINAL,
    HELD_OUT,
    RATES,
    WRITING,
    Evaluation,
    Fit,
    Fitted,
    TrainingResult,
)
from oneof.report import Assessment

if TYPE_CHECKING:
    from oneof.cli.options import FitOptions
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.comparison import Comparison

CURVE_FRACTIONS = (0.1, 0.2, 0.4, 0.7)
MAX_CURVE_ROWS = 4_000
"""The sizes of the learning curve are these fractions of the training rows, of at most this number, and all rows."""


def train(
    path: Path, read_options: "ReadOptions", options: "FitOptions", *, command: str, reports: bool = False
) -> TrainingResult:
    """Select a method, fit it on all rows of a table, and write model, labels, report and summary into a folder.

    The scores in the summary are computed on held-out rows, even if one method is requested by name. `command` is the
    command for the report. With `reports`, the facts of the table are printed before the first fit, and the sentences
    of each step after it.
    """
    from oneof.cli.tables.methods import describe_comparison
    from oneof.files import check_not_input, check_writable

    folder = options.folder(path)
    check_writable(folder)
    inputs = [path] if read_options.answers is None else [path, read_options.answers.path]
    check_not_input((folder / name for name in (*OUTPUTS, ANNOTATORS_FILE)), inputs)
    notes: list[str] = []

    def collect(step: Any) -> Any:
        if reports:
            terminal.print_notes(step.notes)
        notes.extend(step.notes)
        return step

    fit: Fit = collect(start(path, read_options, options))
    if reports:
        terminal.print_facts(describe_prepared(fit.prepared, read_options))
        if len(fit.methods) > 1:
            terminal.print_note(describe_comparison(len(fit.methods), options.limit))
    steps = Steps(fit.titles())
    evaluation: Evaluation = collect(evaluate(fit, steps))
    fitted: Fitted = collect(fit_final(fit, evaluation, steps))
    assessment: Assessment = collect(assess(fit, evaluation, fitted))
    summary = summarize(fit, evaluation, fitted, assessment) | {"notes": notes}
    with steps.step(WRITING):
        files = write(folder, fit, evaluation, fitted, assessment, summary, command)
    summary |= {"files": files}
    return TrainingResult(summary, evaluation.comparison, assessment.headline, fitted.annotators)


def start(path: Path, read_options: "ReadOptions", options: "FitOptions") -> Fit:
    """Read a table, and select the methods and the folds."""
    from oneof.cli.tables.inputs import prepare
    from oneof.cli.tables.methods import resolve_methods
    from oneof.comparison.folds import check_task, make_folds
    from oneof.comparison.methods import DEFAULT_METHOD
    from oneof.errors import InputError

    prepared, rate, named = prepare(path, read_options), options.rate, options.method.lower() != "auto"
    candidates, truth = prepared.candidates, prepared.truth
    if options.corrects:
        check_unchecked_rows(candidates, prepared.is_checked, "remove --noise-rate")
    if prepared.has_rest and rate is not None:
        raise InputError(
            f"--noise-rate {rate:g} cannot be used with --rest: lists with a rest exclude no label, so that the "
            "fraction of wrong ones is estimated. Use --noise-rate auto."
        )
    shared, codes = share_lists(prepared), calibration_steps.checked_codes(candidates, truth, prepared.is_checked)
    of_rest = describe_rest(read_options, prepared) if options.corrects else []
    method = options.method if named else DEFAULT_METHOD
    methods, of_methods = resolve_methods(prepared, method, options.seed, options.weights_of_classes)
    notes = [*prepared.notes, *of_methods, *of_rest]
    n_unlabeled = int(candidates.is_unlabeled.sum())
    if not named and 2 * n_unlabeled > len(candidates):
        notes.append(
            f"{DEFAULT_METHOD} ignores the {n_unlabeled:,} unlabeled rows; --method best compares methods that use "
            "them."
        )
    task = check_task(prepared.frame, candidates, truth, options.weights_of_classes)
    splits = make_folds(task, options.folds or "auto", options.seed, prepared.groups)
    if options.calibrate:
        calibration_steps.check_enough(codes, splits, methods)
    return Fit(read_options, options, prepared, methods, task, splits, codes, shared, tuple(notes))


def evaluate(fit: Fit, steps: Steps) -> Evaluation:
    """Compare the methods on held-out rows; with a noise rate, the rates are those of fits to corrected weights."""
    evaluation = _compare(fit, steps)
    options, prepared = fit.options, fit.prepared
    if not options.corrects or prepared.answers is not None:
        return evaluation
    rate = options.rate
    with steps.step(AUDIT) as bar:
        name, issues = find_issues(prepared, fit.auditor, seed=options.seed, noise_rate=rate, progress=bar)
    notes = [*evaluation.notes, describe_correction(issues, name)]
    comparison = evaluation.comparison
    if issues.n_changed:
        audit = Audit(prepared, fit.auditor, rate, options.seed)
        with steps.step(RATES) as bar:
            comparison, sentence = compare_corrected(comparison, fit.task, fit.splits, audit, progress=bar)
        notes.append(sentence)
    else:
        steps.skip(RATES)
    return replace(evaluation, comparison=comparison, issues=issues, notes=tuple(notes))


def compare_methods(fit: Fit, bar: Progress) -> "Comparison":
    """Return the comparison of the methods on held-out rows."""
    from oneof.comparison import compare

    return compare(
        fit.prepared.frame,
        fit.prepared.candidates,
        fit.methods,
        **fit.evaluation_options,
        budget=fit.options.limit,
        refit=False,
        keep_predictions="labeled",
        progress=bar,
    )


def _compare(fit: Fit, steps: Steps) -> Evaluation:
    """Return the comparison of the methods, and the learning curve of the best one."""
    from oneof.comparison import learning_curve

    prepared, several = fit.prepared, len(fit.methods) > 1
    with steps.step(COMPARING if several else HELD_OUT, each_name=several) as bar:
        comparison = compare_methods(fit, bar)
    if comparison.is_interrupted:
        steps.skip(CURVE)
        n_compared = sum(result.error is None and result.incomplete is None for result in comparison.results)
        sentence = (
            f"the comparison was interrupted; {comparison.best_method} is the best of {n_compared} "
            f"method{'s' * (n_compared != 1)} and is fitted without a learning curve. A second Ctrl-C ends without a "
            "model."
        )
        return Evaluation(comparison, None, notes=(sentence,))
    with steps.step(CURVE) as bar:
        curve = learning_curve(
            fit.methods[comparison.best_method],
            prepared.frame,
            prepared.candidates,
            **fit.evaluation_options,
            train_sizes=CURVE_FRACTIONS,
            max_rows=MAX_CURVE_ROWS,
            last=comparison.results[0],
            progress=bar,
        )
    return Evaluation(comparison, curve)


def fit_final(fit: Fit, evaluation: Evaluation, steps: Steps) -> Fitted:
    """Fit the best method to all rows, scale its probabilities if requested, and look for wrong labels."""
    from oneof.model_selection.temperature import scale_proba

    fitted = (_fit_labels if fit.prepared.answers is None else _fit_answers)(fit, evaluation, steps)
    comparison, options = evaluation.comparison, fit.options
    confidences = calibration_steps.evaluate(comparison, fit.checked_codes, fitted.proba, options.seed)
    if confidences is None:
        notes = [calibration_steps.describe_failure(comparison)] if options.calibrate else []
        return replace(fitted, notes=(*fitted.notes, *notes))
    notes = calibration_steps.describe(confidences, comparison.best_method, calibrates=options.calibrate)
    fitted = replace(fitted, confidences=confidences, notes=(*fitted.notes, *notes))
    if not (options.calibrate and confidences.lowers_loss):
        return fitted
    measured = comparison.results[0].probabilities if fitted.proba is None else fitted.proba
    return replace(
        fitted,
        model=calibration_steps.scale_model(fitted.model, confidences.temperature),
        proba=None if measured is None else scale_proba(measured, confidences.temperature),
        is_calibrated=True,
    )


def _fit_labels(fit: Fit, evaluation: Evaluation, steps: Steps) -> Fitted:
    """Fit the best method to the labels, or to the weights that an audit has corrected."""
    from oneof.comparison.folds import fit_with_class_weights
    from oneof.estimators.loo_ridge import LOORidge

    prepared, comparison, issues = fit.prepared, evaluation.comparison, evaluation.issues
    candidates = prepared.candidates
    notes = describe_lists(comparison, has_shared_lists=fit.has_shared_lists)
    sets = candidates if issues is None or not issues.n_changed else issues.corrected()
    with steps.step(FINAL):
        model = fit_with_class_weights(comparison.best_estimator, prepared.frame, sets, fit.task.class_weight)
    if issues is None and isinstance(model[-1], LOORidge):
        if has_predictions_of_all_rows(comparison, candidates):
            with steps.step(AUDIT) as bar:
                issues = find_suspects(prepared, fit.auditor, seed=fit.options.seed, progress=bar)
        else:
            steps.skip(AUDIT)
            notes.append("wrong labels are not searched for, since one split is held out: run `oneof audit`.")
    decisions = model[-1].disambiguate()  # training rows: neighbor methods exclude the row itself
    posterior = evaluation.issues.posterior if evaluation.issues is not None else None
    return Fitted(model, decisions, issues, posterior=posterior, notes=tuple(notes))


def _fit_answers(fit: Fit, evaluation: Evaluation, steps: Steps) -> Fitted:
    """Fit the accuracies of the annotators and the best method in turn."""
    from oneof.crowd import CrowdClassifier
    from oneof.crowd.learners import calibration_labels
    from oneof.estimators.base import Disambiguation
    from oneof.model_selection import get_proba

    prepared, comparison = fit.prepared, evaluation.comparison
    answers = prepared.answers
    assert answers is not None
    notes = (
        f"the held-out estimate is approximate: it is that of {comparison.best_method} fitted to weights by the "
        "answers of all rows. The model is fitted with the accuracies of the annotators in turn.",
        "in training_labels.csv, the candidates have weights by the answers alone; label and confidence are "
        "estimated from the answers and the features, and are those of the model in rows without an answer.",
    )
    with steps.step(FINAL) as bar:
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


def assess(fit: Fit, evaluation: Evaluation, fitted: Fitted) -> Assessment:
    """Return the headline, and the prediction sets by held-out rows."""
    import numpy as np

    prepared, comparison = fit.prepared, evaluation.comparison
    candidates, truth, annotators = prepared.candidates, prepared.truth, fitted.annotators
    given = None if prepared.answers is None else prepared.answers.answers
    # Without the accuracy of any source, the answers do not determine that of the predictions either.
    is_unknown = annotators is not None and bool(np.isnan(annotators.accuracy).all())
    accuracy = None
    if not is_unknown:
        accuracy = held_out_accuracy(
            comparison,
            candidates,
            given,
            prepared.is_checked,
            named_classes(prepared),
            has_shared_lists=fit.has_shared_lists,
        )
    is_unknown = is_unknown or fit.has_shared_lists
    headline = make_headline(comparison, candidates, accuracy, is_unknown=is_unknown, leaks=prepared.leaks)
    assessment = Assessment(headline, accuracy, measure_first_labels(prepared), set_coverage=REPORT_COVERAGE)
    proba = fitted.proba
    has_both = fitted.crowd is not None and proba is not None
    known = fitted.model.predict_proba(prepared.frame)[comparison.held_out_rows] if has_both else None
    seed = fit.options.seed
    calibration = held_out_calibration(comparison, candidates, seed, fitted.posterior, truth, proba, known)
    if calibration is not None:
        of_groups = comparison.n_groups is not None
        sets, expected, guarantee = evaluate_calibration(
            calibration, candidates, truth, fitted.posterior, of_groups=of_groups
        )
        assessment = replace(
            assessment, calibration=calibration, sets=sets, expected_coverage=expected, guarantee=guarantee
        )
    return replace(assessment, notes=tuple(_describe_assessment(fit, evaluation, fitted, assessment)))


def _describe_assessment(fit: Fit, evaluation: Evaluation, fitted: Fitted, assessment: Assessment) -> list[str]:
    """Return notes on the estimated accuracy and on prediction sets; none if an audit has corrected the labels."""
    if evaluation.issues is not None:
        return []
    prepared, notes = fit.prepared, []
    if assessment.accuracy is not None:
        notes += [*describe_rest(fit.read_options, prepared), *describe_weights(prepared, assessment.accuracy)]
    n_checked = len(find_checked_rows(evaluation.comparison, prepared.candidates, prepared.truth))
    has_sets = prepared.answers is None and assessment.calibration is not None and not prepared.has_rest
    if has_sets and n_checked < MIN_CHECKED_ROWS:
        estimate = fitted.issues or assessment.accuracy
        notes += describe_noise(estimate, has_checked=prepared.is_checked is not None)
    return notes
