"""Training on a table: the steps of `oneof fit` and their records.

Each step is a function of the record of the step before and returns one, with its sentences for the user. Reading
order: `fit_table` with its steps `start`, `evaluate` and `fit_final`; `calibrate` (confidences are compared with known
labels, and scaled for `--calibrate`); `assess` with `estimate_held_out`, `make_headline`, `calibration_rows` and
`evaluate_rows`; and `write`.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline

import oneof
from oneof import io, report
from oneof.audit import LabelIssues
from oneof.audit.accuracy import AccuracyEstimate, estimate_accuracy
from oneof.audit.label_issues import MIN_CORRECTION
from oneof.candidates import CandidateSets
from oneof.cli import auditing, terminal
from oneof.cli.answers import describe_annotators, summarize_annotators, write_annotators
from oneof.cli.options import FitOptions, ReadOptions, options_to_dict
from oneof.cli.prediction import MIN_CHECKED_ROWS, evaluation_to_dict
from oneof.cli.tables.facts import describe_prepared
from oneof.cli.tables.inputs import PreparedTable, check_unchecked_rows, prepare
from oneof.cli.tables.methods import resolve_methods, split_method
from oneof.cli.terminal import Progress, check_outputs, step, today, write_json
from oneof.comparison import Comparison, LearningCurve, compare, learning_curve
from oneof.comparison.folds import check_task, fit_with_class_weights, make_folds
from oneof.comparison.methods import DEFAULT_METHOD
from oneof.conformal import evaluate_sets
from oneof.crowd import CrowdClassifier
from oneof.crowd.learners import calibration_labels
from oneof.errors import InputError
from oneof.estimators.base import Disambiguation
from oneof.estimators.loo_ridge import LOORidge
from oneof.files import atomic_directory, hash_file
from oneof.io.findings import describe_columns, drop_option
from oneof.io.vectors import used_vectors
from oneof.model_selection import get_proba, temperature
from oneof.model_selection.temperature import CalibrationResult
from oneof.persistence import SavedModel, save
from oneof.persistence.prediction_sets import CoverageOptions, calibrate_rows, guarantee, predict_mask
from oneof.report.statistics import MIN_NOISE
from oneof.typing import Floats, Ints

CURVE_FRACTIONS = (0.1, 0.2, 0.4, 0.7)
MAX_CURVE_ROWS = 4_000
"""The sizes of the learning curve are these fractions of the training rows, of at most this number, and all rows."""
MIN_LOSS = 0.01
"""Difference of the rates from which a fit to corrected weights is reported as worse."""
MIN_ANSWERS_PER_ROW = 1.9
"""Mean number of answers to a row with answers below which the accuracies of annotators are too uncertain."""
_MAX_ROWS, _MAX_ENTRIES = 5_000, 1_000_000
"""Maximum number of calibration rows in a model file, and of rows times classes; at least `_MIN_ROWS`."""
_MIN_ROWS = 500
_NO_ACCURACY = (
    "An accuracy estimated without true labels would be too high, and is not shown; a noise rate tends to be too low. "
    "Give the true labels of some rows (--truth)"
)
_WEIGHTS = (
    "the estimated accuracy is too high if the weights of the labels are too close to each other, and too low if they "
    "are too different. Give the true labels of 50 to 100 rows (--truth)."
)
OUTPUTS = ("model.skops", "training_labels.csv", "report.html", "summary.json", "annotators.csv")


@dataclass(frozen=True)
class Fit:
    """A table and the methods that are fitted to it: the result of `start`.

    Attributes
    ----------
    options : FitOptions
    prepared : PreparedTable
    methods : mapping of str to Pipeline
        The compared methods by name, not fitted.
    splits : sequence of (train, test)
        The folds of the held-out estimate.
    notes : tuple of str
        Sentences for the user.
    """

    options: FitOptions
    prepared: PreparedTable
    methods: Mapping[str, Any]
    splits: Sequence[Any]
    notes: tuple[str, ...]


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
    annotators: report.AnnotatorSummary | None = None
    proba: Floats | None = None
    posterior: Floats | None = None
    confidences: CalibrationResult | None = None
    is_calibrated: bool = False
    notes: tuple[str, ...] = ()


def fit_table(
    table: Path, read_options: ReadOptions, fit_options: FitOptions, command: str
) -> tuple[Fitted, report.Assessment, dict[str, Any]]:
    """Select a method, fit it on all rows of a table, and write model, labels, report and summary into a folder.

    The scores in the summary, which is the last result, are computed on held-out rows, even if one method is requested
    by name. `command` is the command for the report. The facts of the table are printed before the first fit, and the
    sentences of each step after it.
    """
    folder = fit_options.folder(table)
    check_outputs({"--out": [folder / name for name in OUTPUTS]}, read_options.input_files(table))
    fit = start(table, read_options, fit_options)
    check_calibration(fit)
    terminal.print_note(*fit.notes)
    terminal.print_line(*describe_prepared(fit.prepared).lines(), err=True)
    evaluation = evaluate(fit)
    terminal.print_note(*evaluation.notes)
    fitted = calibrate(fit_final(evaluation))
    terminal.print_note(*fitted.notes)
    assessment = assess(fitted)
    terminal.print_note(*assessment.notes)
    with step("Writing the model and the report"):
        return fitted, assessment, write(fitted, assessment, command)


def start(path: Path, read_options: ReadOptions, options: FitOptions) -> Fit:
    """Read a table, and select the methods and the folds."""
    rate, corrects, named = options.rate, options.noise_rate is not None, options.method.lower() != "auto"
    prepared = prepare(path, read_options)
    candidates, notes = prepared.candidates, list(prepared.notes)
    if corrects:
        check_unchecked_rows(prepared, "remove --noise-rate")
    if prepared.has_rest and rate is not None:
        raise InputError(
            f"--noise-rate {rate:g} cannot be used with --rest: lists with a rest exclude no label, so that the "
            "fraction of wrong ones is estimated. Use --noise-rate auto."
        )
    method = options.method if named else DEFAULT_METHOD
    methods, of_methods = resolve_methods(prepared, method, options.seed, options.weights_of_classes)
    notes += [*of_methods, *(auditing.describe_rest(prepared) if corrects else [])]
    n_unlabeled = int(candidates.is_unlabeled.sum())
    if not named and 2 * n_unlabeled > len(candidates):
        notes.append(
            f"{DEFAULT_METHOD} ignores the {n_unlabeled:,} unlabeled rows; --method best compares methods that use "
            "them."
        )
    task = check_task(prepared.frame, candidates, prepared.truth)
    splits = make_folds(task, options.folds or "auto", options.seed, prepared.groups)
    return Fit(options, prepared, methods, splits, tuple(notes))


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
    if several:  # only with a limit of time
        limit = f"for up to {fit.options.limit:g} min (--budget)"
        terminal.print_note(f"comparing {len(fit.methods)} methods {limit}; Ctrl-C ends with the best so far.")
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
    method = fit.options.method
    is_default = split_method(method)[0].lower() in ("auto", DEFAULT_METHOD.lower())
    return auditing.find_issues(fit.prepared, method if is_default else "auto", seed=fit.options.seed, **options)


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
    is_exact = bool((prepared.candidates.is_exact | prepared.candidates.is_unlabeled).all())
    if comparison.n_folds == 1 and (comparison.n_groups is not None or not is_exact):  # one split of a large table
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
        "estimated from the answers and the features, and are those of the model in rows without a label by answers.",
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


def check_calibration(fit: Fit) -> None:
    """Raise if --calibrate has a method without probabilities, or too few held-out rows with a known label."""
    if fit.options.calibrate and not any(hasattr(estimator, "predict_proba") for estimator in fit.methods.values()):
        name = next(iter(fit.methods))
        raise InputError(f"--calibrate needs probabilities; {name} has scores only. Fit another method.")
    held_out = np.unique(np.concatenate([test for _, test in fit.splits]))
    n_rows = int((fit.prepared.known_codes[held_out] >= 0).sum())
    if fit.options.calibrate and n_rows < temperature.MIN_CHECKED_ROWS:
        raise InputError(
            f"--calibrate needs at least {temperature.MIN_CHECKED_ROWS} held-out rows with a true label (--truth) or a "
            f"checked one (--gold); got {n_rows:,} labeled ones. Rows without labels, and those in no test subset of a "
            "fold, do not count. Check more rows, or remove --calibrate."
        )


def calibrate(fitted: Fitted) -> Fitted:
    """Return the fit with its confidences compared with known labels, and scaled if this is requested and helps."""
    fit, comparison = fitted.evaluation.fit, fitted.evaluation.comparison
    confidences = measure_confidences(comparison, fit.prepared.known_codes, fitted.proba, fit.options.seed)
    calibrates = fit.options.calibrate
    notes = describe_confidences(confidences, comparison.best_method, calibrates=calibrates)
    fitted = replace(fitted, confidences=confidences, notes=(*fitted.notes, *notes))
    if confidences is None or fitted.proba is None or not (calibrates and confidences.lowers_loss):
        return fitted
    *steps, (step, last) = fitted.model.steps
    scaled = temperature.TemperatureScaledClassifier(last, confidences.temperature)
    proba = temperature.scale_proba(fitted.proba, confidences.temperature)
    return replace(fitted, model=Pipeline([*steps, (step, scaled)]), proba=proba, is_calibrated=True)


def measure_confidences(
    comparison: Comparison, codes: Ints, proba: Floats | None, seed: int
) -> CalibrationResult | None:
    """Return the calibration of the best method; None without probabilities of all folds, or with too few known rows.

    `codes` are the known classes of all rows, and `proba` the probabilities of the held-out ones.
    """
    rows, predictions = comparison.held_out_rows, comparison.results[0].predictions
    if rows is None or proba is None or predictions is None:
        return None
    known = np.flatnonzero(codes[rows] >= 0)
    if len(known) < temperature.MIN_CHECKED_ROWS:
        return None
    column = {label: k for k, label in enumerate(comparison.classes.tolist())}
    predicted = np.array([column[label] for label in predictions[known].tolist()], dtype=np.int64)
    values = np.asarray(proba[known], dtype=np.float64)
    return temperature.evaluate_temperature(values, predicted, codes[rows[known]], seed=seed)


def describe_confidences(result: CalibrationResult | None, method: str, *, calibrates: bool) -> list[str]:
    """Return a note on the temperature of the probabilities, or that confidences differ from the accuracy."""
    if result is None:
        reason = f"since {method} has none for enough known rows"
        return [f"the probabilities of {method} are not scaled (--calibrate), {reason}."] * calibrates
    of_rows = (
        f"On {result.n_rows:,} labeled held-out rows with a true label, {_percent(result.accuracy)} are predicted "
        f"correctly, with a mean confidence of {_percent(result.confidence)} and a log loss of {result.log_loss:.3f}"
    )
    after = f"{_percent(result.scaled_confidence)} and {result.scaled_log_loss:.3f}"
    if calibrates and not result.lowers_loss:
        return [
            f"the probabilities of {method} are not scaled (--calibrate), since no temperature lowers their log loss. "
            f"{of_rows}; with a temperature that is fitted to other rows, they are {after}."
        ]
    if calibrates:
        return [
            f"the probabilities of {method} are scaled by a temperature of {result.temperature:.3g} (--calibrate), but "
            f"not the confidences of training_labels.csv and of the report. {of_rows} without it, and {after} with it."
        ]
    if not temperature.differs_from_accuracy(result.confidence, result.accuracy, result.n_rows):
        return []
    size = "low" if result.confidence < result.accuracy else "high"
    return [f"the confidences of {method} are too {size}. {of_rows}.{' --calibrate scales them.' * result.helps}"]


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f} %"


def assess(fitted: Fitted) -> report.Assessment:
    """Return the headline, and the prediction sets by held-out rows."""
    # Without the accuracy of any source, the answers do not determine that of the predictions either, nor do rules,
    # which are functions of the features as the predictions are.
    model = None if fitted.crowd is None else fitted.crowd.annotator_model_
    is_vote = model is not None and (model.are_rules_ or bool(np.isnan(model.accuracy_).all()))
    accuracy = None if is_vote else estimate_held_out(fitted)
    headline = make_headline(fitted, accuracy, is_vote=is_vote)
    first_labels, calibration = auditing.measure_first_labels(fitted.evaluation.fit.prepared), calibration_rows(fitted)
    sets = {} if calibration is None else evaluate_rows(fitted, calibration)
    assessment = report.Assessment(headline, accuracy, first_labels, calibration, **sets)
    return replace(assessment, notes=tuple(_describe_assessment(fitted, assessment)))


def estimate_held_out(fitted: Fitted) -> AccuracyEstimate | None:
    """Return the estimated accuracy of the best method; None if it has no probabilities, or would be too high.

    Its noise rate is that of its own predictions, and not printed: an audit has that of others.

    With about one answer per row it is None, since the accuracies of the annotators then depend on the features: 15 of
    20 intervals held in simulations. It is None for folds by groups as well: the model of noise assumes independent
    rows and counts common errors as wrong labels, so that the estimate is too high. The same holds if rows share lists.
    """
    prepared, comparison = fitted.evaluation.fit.prepared, fitted.evaluation.comparison
    result, rows = comparison.results[0], comparison.held_out_rows
    candidates, given = prepared.candidates, prepared.answers
    if given is None and prepared.has_shared_lists:
        return None
    if comparison.n_groups is not None or result.probabilities is None or result.predictions is None or rows is None:
        return None
    labeled = ~candidates.is_unlabeled
    if given is not None and given.answers.n_answers < MIN_ANSWERS_PER_ROW * labeled.sum():
        return None
    shown, named, checked = labeled[rows], auditing.named_classes(prepared), prepared.is_checked
    return estimate_accuracy(
        result.probabilities[shown],
        result.predictions[shown],
        candidates[rows[shown]],
        None if checked is None else checked[rows[shown]],
        None if named is None else named[rows[shown]],
    )


def make_headline(fitted: Fitted, accuracy: AccuracyEstimate | None, *, is_vote: bool) -> report.Headline:
    """Return the headline of the best method, with the conditions under which it is the rate of new rows.

    `is_vote` says that the labels are votes of unknown accuracy: agreement with them is not an accuracy.
    """
    comparison, prepared = fitted.evaluation.comparison, fitted.evaluation.fit.prepared
    result, leaks = comparison.results[0], prepared.leaks
    if accuracy is None and (is_vote or prepared.has_shared_lists):
        result = replace(result, expected_accuracy=None)
    headline = report.choose_headline(result, accuracy, prepared.candidates, is_grouped=comparison.n_groups is not None)
    meaning = headline.meaning
    if headline.measure == "accuracy" and comparison.truth_note:
        meaning = f"of the held-out predictions of {comparison.n_true:,} rows with a true label equal it."
    if headline.measure == "accuracy" and comparison.n_true_unlabeled:
        meaning += f" Rows without a label are excluded (with a true one: {comparison.n_true_unlabeled:,})."
    if headline.measure == "covering rate" and is_vote:
        meaning = (
            "of the held-out predictions agree with the answers to their row. This is not the accuracy, which is "
            "unknown, since model and answers may have the same errors: add true labels of some rows (--truth)."
        )
    if leaks:
        first, _, rest = meaning.partition(".")
        condition = f"only if {describe_columns(leaks)} {'are' if len(leaks) > 1 else 'is'} known for new rows"
        remedy = f"which reveal{'s' * (len(leaks) == 1)} the labels; otherwise add {drop_option(leaks)}"
        meaning = f"{first}, {condition}, {remedy}.{rest}"
    return headline._replace(meaning=meaning)


def calibration_rows(fitted: Fitted) -> dict[str, Any] | None:
    """Return the held-out rows that calibrate the prediction sets of the model, with probabilities and candidates.

    None if the method has no probabilities. A random sample of many rows is kept. If enough
    labeled rows have a true label, only these are used, with this label. Otherwise, the evidence is such that the
    posterior of an audit or of annotators results: sets that lack the true class would make the prediction sets far too
    large.

    If all held-out predictions are one class, a true label counts by the worse of the held-out probability and that of
    the final model of answers, so that its sets contain the nominal fraction of these labels. The probabilities of a
    constant change with the number of rows, and this alone would exclude the true labels of the other classes.
    """
    fit, rows, proba = fitted.evaluation.fit, fitted.evaluation.comparison.held_out_rows, fitted.proba
    candidates = fit.prepared.candidates
    if proba is None or rows is None:
        return None
    checked = np.flatnonzero(fit.prepared.true_codes[rows] >= 0)
    by_truth = len(checked) >= MIN_CHECKED_ROWS
    kept = checked if by_truth else np.flatnonzero(~candidates.is_unlabeled[rows])
    limit = min(_MAX_ROWS, max(_MIN_ROWS, _MAX_ENTRIES // candidates.shape[1]))
    if len(kept) > limit:
        kept = np.sort(np.random.default_rng(fit.options.seed).permutation(kept)[:limit])
    values, used = proba[kept], rows[kept]
    evidence = candidates[used].evidence
    if by_truth:
        evidence = fit.prepared.true_codes[used][:, None] == np.arange(candidates.shape[1])
        if fitted.crowd is not None and np.ptp(values.argmax(axis=1)) == 0:
            final = fitted.model.predict_proba(fit.prepared.frame)[used]
            is_worse = (final * evidence).sum(axis=1) < (values * evidence).sum(axis=1)
            values = np.where(is_worse[:, None], final, values)
    elif fitted.posterior is not None:
        posterior = fitted.posterior[used]
        shown = np.where(posterior >= MIN_CORRECTION * posterior.max(axis=1, keepdims=True), posterior, 0.0)
        weights = shown / np.maximum(values, np.finfo(np.float32).tiny)
        evidence = weights / weights.max(axis=1, keepdims=True)
    as_stored = evidence if evidence.dtype == bool else evidence.astype(np.float32)
    return {"rows": used, "proba": values.astype(np.float32), "evidence": as_stored}


def count_calibration_groups(fitted: Fitted, calibration: dict[str, Any] | None) -> int | None:
    """Return the number of groups of the calibration rows; None without groups or such rows."""
    groups = fitted.evaluation.fit.prepared.groups
    return None if groups is None or calibration is None else len({groups[row] for row in calibration["rows"].tolist()})


def evaluate_rows(fitted: Fitted, calibration: dict[str, Any]) -> dict[str, Any]:
    """Return coverage, size and guarantee of the sets of the calibration rows, each half calibrated by the other one.

    They are fields of an `Assessment`.

    Without true labels the coverage is that of the rows with a single candidate, and the expected coverage is that by
    the posterior of the labels, if there is one.
    """
    fit, options = fitted.evaluation.fit, CoverageOptions(report.Assessment.set_coverage)
    rows, candidates = calibration["rows"], fit.prepared.candidates
    order = np.random.default_rng(0).permutation(len(rows))
    halves, mask = (order[::2], order[1::2]), np.ones(calibration["evidence"].shape, dtype=bool)
    for part, other in (halves, halves[::-1]):
        if len(other):
            calibrated = calibrate_rows({name: values[other] for name, values in calibration.items()}, options)
            mask[part] = predict_mask(calibrated, calibration["proba"][part], options)
    has_truth, expected = bool((fit.prepared.true_codes[rows] >= 0).any()), None
    if fitted.posterior is not None and not has_truth:
        expected = float((fitted.posterior[rows] * mask).sum(axis=1).mean())
    known = fit.prepared.truth[rows] if has_truth else candidates[rows]
    return {
        "sets": evaluate_sets(CandidateSets(mask, candidates.classes), known),
        "expected_coverage": expected,
        "guarantee": guarantee(calibration, options, n_groups=count_calibration_groups(fitted, calibration)),
    }


def _describe_assessment(fitted: Fitted, assessment: report.Assessment) -> list[str]:
    """Return notes on the estimated accuracy and on prediction sets; few if an audit has corrected the labels."""
    fit, comparison, accuracy = fitted.evaluation.fit, fitted.evaluation.comparison, assessment.accuracy
    prepared, notes = fit.prepared, []
    if prepared.answers is None and fit.prepared.has_shared_lists and comparison.results[0].accuracy is None:
        groups = "" if comparison.n_groups is not None else ", and hold out entire recordings or documents (--groups)"
        notes.append(f"{auditing.SHARED_LISTS}. {_NO_ACCURACY}{groups}.")
    if fitted.evaluation.issues is not None:
        return notes
    if accuracy is not None:
        has_known = prepared.truth is not None or prepared.is_checked is not None or prepared.answers is not None
        notes += auditing.describe_rest(prepared)
        notes += [_WEIGHTS] * (bool(prepared.candidates.is_weighted.any()) and not has_known)
    rows = comparison.held_out_rows
    n_true = 0 if rows is None else int((fit.prepared.true_codes[rows] >= 0).sum())
    has_sets = prepared.answers is None and assessment.calibration is not None and not prepared.has_rest
    if has_sets and n_true < MIN_CHECKED_ROWS:
        notes += describe_noise(fitted.issues or accuracy, has_checked=prepared.is_checked is not None)
    return notes


def describe_noise(estimate: AccuracyEstimate | LabelIssues | None, *, has_checked: bool = False) -> list[str]:
    """Return a note if so many labels are wrong that prediction sets are too large without a correction.

    With checked labels, the noise rate is that of the other rows.
    """
    if estimate is None or not estimate.noise_rate_interval[0] >= MIN_NOISE:
        return []
    return [
        f"about {100 * estimate.noise_rate:.0f} % of the rows{' without a checked label' * has_checked} have labels "
        "without the true one. The prediction sets of `oneof predict --coverage` are too large for this reason; "
        "--noise-rate auto corrects the model and the sets."
    ]


def summarize(fitted: Fitted, assessment: report.Assessment) -> dict[str, Any]:
    """Return the summary in the types of JSON: the data, the rates, and the prediction sets."""
    fit, evaluation, comparison = fitted.evaluation.fit, fitted.evaluation, fitted.evaluation.comparison
    curve, first, confidences = evaluation.curve, assessment.first_labels, fitted.confidences
    prepared, read_options, results = fit.prepared, fit.prepared.read_options, comparison.to_dict()
    facts, has_text = describe_prepared(prepared), any(column.kind == "text" for column in prepared.columns)
    same = ("table", "rows", "exact", "partial", "unlabeled", "weighted", "sparse_features")
    summary = {name: getattr(facts, name) for name in same} | {
        "labels": list(read_options.label_columns),
        "truth": read_options.truth,
        "gold": read_options.gold,
        "groups": read_options.groups,
        "checked": 0 if prepared.is_checked is None else int(prepared.is_checked.sum()),
        "classes": prepared.candidates.classes.tolist(),
        "features": [{"column": column.name, "kind": column.kind} for column in prepared.columns],
        "findings": prepared.findings.to_dict(),
        "unreadable_labels": prepared.unreadable_labels.to_dict(),
        "separator": prepared.separator,
        "words": read_options.text_options.to_dict() if has_text else None,
        "options": options_to_dict(read_options, fit.options),
        "method": comparison.best_method,
        "parameters": split_method(fit.options.method)[1],
        "class_weight": fit.options.weights_of_classes,
        "evaluation": comparison.evaluation,
        "estimate": results["results"][0],
        "comparison": results,
        "learning_curve": None if curve is None else curve.to_dict(),
        "headline": assessment.headline._asdict(),
        "estimated_accuracy": None if assessment.accuracy is None else assessment.accuracy._asdict(),
        "first_labels": None if first is None else first._asdict(),
        "confidences": confidences and confidences._asdict() | {"is_calibrated": fitted.is_calibrated},
    }
    if fitted.crowd is not None and fitted.annotators is not None:
        summary |= {"answers": describe_annotators(fitted.annotators, fitted.crowd)}
    if assessment.sets is not None:
        nominal = {
            "nominal_coverage": assessment.set_coverage,
            "expected_coverage": assessment.expected_coverage,
            "guarantee": assessment.guarantee,
        }
        summary |= {"prediction_sets": nominal | evaluation_to_dict(assessment.sets)}
    if evaluation.issues is not None:
        summary |= {"audit": auditing.summarize(evaluation.issues, prepared)}
    return summary | {"notes": [*fit.notes, *evaluation.notes, *fitted.notes, *assessment.notes]}


def write(fitted: Fitted, assessment: report.Assessment, command: str) -> dict[str, Any]:
    """Write the model, the labels, the report and the summary into the folder; return the summary and the files."""
    prepared, summary = fitted.evaluation.fit.prepared, summarize(fitted, assessment)
    folder, read_options = fitted.evaluation.fit.options.folder(prepared.table.path), prepared.read_options
    with atomic_directory(folder) as stage:
        model_file, labels_file, report_file, summary_file, annotators_file = (stage / name for name in OUTPUTS)
        more = {
            "estimate": summary["estimate"],
            "confidences": summary["confidences"],
            "identifiers": list(dict.fromkeys([*prepared.answer_rows, *prepared.findings.identifiers])),
            "weights": asdict(read_options.weights),
            "quote": read_options.table.dialect.quote,
            "groups": read_options.groups,
            "n_groups": count_calibration_groups(fitted, assessment.calibration),
            "vectors": used_vectors(prepared.table.vectors, [column.name for column in prepared.columns]),
            "cells": io.describe_cells(prepared.columns, prepared.table.cell_format),
            "file_hash": hash_file(prepared.table.path),
        }
        save(model_file, model_of(fitted.model, prepared.columns, summary, more, assessment.calibration))
        write_labels(labels_file, prepared, fitted.decisions)
        report.write_report(report_file, _report_data(fitted, assessment, command))
        if fitted.annotators is not None:
            write_annotators(annotators_file, fitted.annotators)
        write_json(summary_file, summary)
        names = sorted(file.name for file in stage.iterdir())
    return summary | {"files": [str(folder / name) for name in names]}


def model_of(
    pipeline: Any,
    columns: Iterable[io.Column],
    summary: dict[str, Any],
    more: dict[str, Any],
    calibration: dict[str, Any] | None = None,
) -> SavedModel:
    """Return the model of a table or a stream with its columns, a part of its summary, and more facts about them."""
    names = ("rows", "exact", "partial", "unlabeled", "weighted", "words", "options", "separator")
    return SavedModel(
        pipeline=pipeline,
        classes=summary["classes"],
        columns=[(column.name, column.kind) for column in columns],
        label_columns=summary["labels"],
        method=summary["method"],
        summary={name: summary[name] for name in names} | more,
        calibration=calibration,
    )


def write_labels(path: Path, prepared: PreparedTable, decisions: Disambiguation) -> None:
    """Write the disambiguated labels of the training rows as CSV."""
    columns = {
        "row": list(range(len(prepared.candidates))),
        "candidates": prepared.candidates.to_strings(separator=prepared.separator),
        "label": decisions.labels.tolist(),
        "confidence": decisions.confidence.tolist(),
    }
    if prepared.is_checked is not None:
        columns["checked"] = prepared.is_checked.tolist()
    if prepared.truth is not None:
        columns["truth"] = prepared.truth.tolist()
    auditing.with_names(pl.DataFrame(columns), prepared, has_texts=False).write_csv(path)


def _report_data(fitted: Fitted, assessment: report.Assessment, command: str) -> report.ReportData:
    fit, evaluation, prepared = fitted.evaluation.fit, fitted.evaluation, fitted.evaluation.fit.prepared
    return report.ReportData(
        title=f"Training report: {prepared.table.path.name}",
        source=prepared.table.path.name,
        candidates=prepared.candidates,
        comparison=evaluation.comparison,
        learning_curve=evaluation.curve,
        decisions=fitted.decisions,
        assessment=assessment,
        truth=prepared.truth,
        preview=auditing.preview(prepared),
        features=[column.name for column in prepared.columns],
        n_features=prepared.frame.shape[1],
        findings=prepared.notes,
        command=command,
        version=oneof.__version__,
        date=today(),
        is_named=fit.options.method.lower() != "auto",
        annotators=fitted.annotators,
        issues=fitted.issues,
        n_corrected=None if evaluation.issues is None else evaluation.issues.n_changed,
    )
