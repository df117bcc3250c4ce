"""Quality of a fitted model on new rows: its first number, its confidences, and its prediction sets.

Reading order: `calibrate` (confidences are compared with known labels, and scaled for `--calibrate`), `assess` with
`estimate_held_out`, `make_headline`, `calibration_rows` and `evaluate_sets`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from oneof.audit import LabelIssues
from oneof.audit.accuracy import AccuracyEstimate, estimate_accuracy
from oneof.audit.label_issues import MIN_CORRECTION
from oneof.candidates import CandidateSets
from oneof.cli.auditing import SHARED_LISTS, describe_rest, measure_first_labels, named_classes
from oneof.cli.prediction import MIN_CHECKED_ROWS
from oneof.cli.training.train import Fit, Fitted
from oneof.comparison import Comparison
from oneof.conformal import evaluate_sets
from oneof.errors import InputError
from oneof.io.findings import describe_columns, drop_option
from oneof.model_selection import temperature
from oneof.model_selection.temperature import CalibrationResult
from oneof.persistence.prediction_sets import CoverageOptions, calibrate_rows, guarantee, predict_mask
from oneof.report import Assessment, Headline, choose_headline
from oneof.report.statistics import MIN_NOISE
from oneof.typing import Floats, Ints

MIN_ANSWERS_PER_ROW = 1.9
"""Mean number of answers to a row with answers below which the accuracies of annotators are too uncertain."""
REPORT_COVERAGE = 0.9
"""Nominal coverage of the prediction sets of the report."""
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


def check_calibration(fit: Fit) -> None:
    """Raise if --calibrate has too few held-out rows with a known label, or a method without probabilities."""
    if not fit.options.calibrate:
        return
    held_out = np.unique(np.concatenate([test for _, test in fit.splits]))
    n_rows = int((fit.known_codes[held_out] >= 0).sum())
    if n_rows < temperature.MIN_CHECKED_ROWS:
        raise InputError(
            f"--calibrate needs at least {temperature.MIN_CHECKED_ROWS} held-out rows with a true label (--truth) or a "
            f"checked one (--gold); got {n_rows:,} labeled ones. Rows without labels, and those in no test subset of a "
            "fold, do not count. Check more rows, or remove --calibrate."
        )
    if not any(hasattr(estimator, "predict_proba") for estimator in fit.methods.values()):
        name = next(iter(fit.methods))
        raise InputError(f"--calibrate needs probabilities; {name} has scores only. Fit another method.")


def calibrate(fitted: Fitted) -> Fitted:
    """Return the fit with its confidences compared with known labels, and scaled if this is requested and helps."""
    fit, comparison = fitted.fit, fitted.comparison
    confidences = measure_confidences(comparison, fit.known_codes, fitted.proba, fit.options.seed)
    name, calibrates = comparison.best_method, fit.options.calibrate
    notes = [f"the probabilities of {name} are not scaled (--calibrate), since {name} has none for enough known rows."]
    notes = (
        notes * calibrates if confidences is None else describe_confidences(confidences, name, calibrates=calibrates)
    )
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


def describe_confidences(result: CalibrationResult, method: str, *, calibrates: bool) -> list[str]:
    """Return a note on the temperature of the probabilities, or that confidences differ from the accuracy."""
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


def assess(fitted: Fitted) -> Assessment:
    """Return the headline, and the prediction sets by held-out rows."""
    fit, annotators = fitted.fit, fitted.annotators
    # Without the accuracy of any source, the answers do not determine that of the predictions either.
    is_vote = annotators is not None and bool(np.isnan(annotators.accuracy).all())
    accuracy = None if is_vote else estimate_held_out(fit, fitted.comparison)
    headline = make_headline(fit, fitted.comparison, accuracy, is_vote=is_vote)
    assessment = Assessment(headline, accuracy, measure_first_labels(fit.prepared), set_coverage=REPORT_COVERAGE)
    assessment = replace(assessment, calibration=calibration_rows(fitted))
    if assessment.calibration is not None:
        assessment = evaluate_rows(fitted, assessment)
    return replace(assessment, notes=tuple(_describe_assessment(fitted, assessment)))


def estimate_held_out(fit: Fit, comparison: Comparison) -> AccuracyEstimate | None:
    """Return the estimated accuracy of the best method; None if it has no probabilities, or would be too high.

    Its noise rate is that of its own predictions, and not printed: an audit has that of others.

    With about one answer per row it is None, since the accuracies of the annotators then depend on the features: 15 of
    20 intervals held in simulations. It is None for folds by groups as well: the model of noise assumes independent
    rows and counts common errors as wrong labels, so that the estimate is too high. The same holds if rows share lists.
    """
    prepared, result, rows = fit.prepared, comparison.results[0], comparison.held_out_rows
    candidates, given = prepared.candidates, prepared.answers
    if given is None and fit.has_shared_lists:
        return None
    if comparison.n_groups is not None or result.probabilities is None or result.predictions is None or rows is None:
        return None
    labeled = ~candidates.is_unlabeled
    if given is not None and given.answers.n_answers < MIN_ANSWERS_PER_ROW * labeled.sum():
        return None
    shown, named, checked = labeled[rows], named_classes(prepared), prepared.is_checked
    return estimate_accuracy(
        result.probabilities[shown],
        result.predictions[shown],
        candidates[rows[shown]],
        None if checked is None else checked[rows[shown]],
        None if named is None else named[rows[shown]],
    )


def make_headline(fit: Fit, comparison: Comparison, accuracy: AccuracyEstimate | None, *, is_vote: bool) -> Headline:
    """Return the headline of the best method, with the conditions under which it is the rate of new rows.

    `is_vote` says that the labels are votes of unknown accuracy: agreement with them is not an accuracy.
    """
    result, candidates, leaks = comparison.results[0], fit.prepared.candidates, fit.prepared.leaks
    if accuracy is None and (is_vote or fit.has_shared_lists):
        result = replace(result, expected_accuracy=None)
    headline = choose_headline(result, accuracy, candidates, is_grouped=comparison.n_groups is not None)
    if headline.measure == "accuracy" and comparison.truth_note:
        meaning = f"of the held-out predictions of {comparison.n_true:,} rows with a true label equal it."
        headline = headline._replace(meaning=meaning)
    if headline.measure == "accuracy" and comparison.n_true_unlabeled:
        meaning = f"{headline.meaning} This excludes rows without a label: {comparison.n_true_unlabeled:,} true labels."
        headline = headline._replace(meaning=meaning)
    elif is_vote and headline.measure == "covering rate":
        headline = headline._replace(
            meaning="of the held-out predictions agree with the answers to their row. This is not the accuracy, which "
            "is unknown, since model and answers may have the same errors: add some known labels by --truth or --gold."
        )
    if leaks:
        first, _, rest = headline.meaning.partition(".")
        condition = f"only if {describe_columns(leaks)} {'are' if len(leaks) > 1 else 'is'} known for new rows"
        remedy = f"which reveal{'s' * (len(leaks) == 1)} the labels; otherwise add {drop_option(leaks)}"
        headline = headline._replace(meaning=f"{first}, {condition}, {remedy}.{rest}")
    return headline


def calibration_rows(fitted: Fitted) -> dict[str, Any] | None:
    """Return the held-out rows that calibrate the prediction sets of the model, with probabilities and candidates.

    None if the method has no probabilities, or there are no such rows. A random sample of many rows is kept. If enough
    labeled rows have a true label, only these are used, with this label. Otherwise, the evidence is such that the
    posterior of an audit or of annotators results: sets that lack the true class would make the prediction sets far too
    large.

    If all held-out predictions are one class, a true label counts by the worse of the held-out probability and that of
    the final model of answers, so that its sets contain the nominal fraction of these labels. The probabilities of a
    constant change with the number of rows, and this alone would exclude the true labels of the other classes.
    """
    fit, rows, proba = fitted.fit, fitted.comparison.held_out_rows, fitted.proba
    candidates = fit.prepared.candidates
    if proba is None or rows is None:
        return None
    checked = np.flatnonzero(fit.true_codes[rows] >= 0)
    by_truth = len(checked) >= MIN_CHECKED_ROWS
    kept = checked if by_truth else np.flatnonzero(~candidates.is_unlabeled[rows])
    limit = min(_MAX_ROWS, max(_MIN_ROWS, _MAX_ENTRIES // candidates.shape[1]))
    if len(kept) > limit:
        kept = np.sort(np.random.default_rng(fit.options.seed).permutation(kept)[:limit])
    if not len(kept):
        return None
    values, used = proba[kept], rows[kept]
    evidence = candidates[used].evidence
    if by_truth:
        evidence = fit.true_codes[used][:, None] == np.arange(candidates.shape[1])
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


def evaluate_rows(fitted: Fitted, assessment: Assessment) -> Assessment:
    """Return the assessment with coverage and size of the sets of the calibration rows, each half by the other one.

    Without true labels the coverage is that of the rows with a single candidate, and the expected coverage is that by
    the posterior of the labels, if there is one.
    """
    fit, calibration, options = fitted.fit, assessment.calibration, CoverageOptions(REPORT_COVERAGE)
    assert calibration is not None
    rows, candidates = calibration["rows"], fit.prepared.candidates
    order = np.random.default_rng(0).permutation(len(rows))
    halves, mask = (order[::2], order[1::2]), np.ones(calibration["evidence"].shape, dtype=bool)
    for part, other in (halves, halves[::-1]):
        if len(other):
            calibrated = calibrate_rows({name: values[other] for name, values in calibration.items()}, options)
            mask[part] = predict_mask(calibrated, calibration["proba"][part], options)
    has_truth, expected = bool((fit.true_codes[rows] >= 0).any()), None
    if fitted.posterior is not None and not has_truth:
        expected = float((fitted.posterior[rows] * mask).sum(axis=1).mean())
    known = fit.prepared.truth[rows] if has_truth else candidates[rows]
    return replace(
        assessment,
        sets=evaluate_sets(CandidateSets(mask, candidates.classes), known),
        expected_coverage=expected,
        guarantee=guarantee(calibration, options, of_groups=fitted.comparison.n_groups is not None),
    )


def _describe_assessment(fitted: Fitted, assessment: Assessment) -> list[str]:
    """Return notes on the estimated accuracy and on prediction sets; few if an audit has corrected the labels."""
    fit, comparison, accuracy = fitted.fit, fitted.comparison, assessment.accuracy
    prepared, notes = fit.prepared, []
    if prepared.answers is None and fit.has_shared_lists and comparison.results[0].accuracy is None:
        groups = "" if comparison.n_groups is not None else ", and hold out entire recordings or documents (--groups)"
        notes.append(f"{SHARED_LISTS}. {_NO_ACCURACY}{groups}.")
    if fitted.evaluation.issues is not None:
        return notes
    if accuracy is not None:
        has_known = prepared.truth is not None or prepared.is_checked is not None or prepared.answers is not None
        notes += describe_rest(fit.read_options, prepared)
        notes += [_WEIGHTS] * (bool(prepared.candidates.is_weighted.any()) and not has_known)
    rows = comparison.held_out_rows
    n_true = 0 if rows is None else int((fit.true_codes[rows] >= 0).sum())
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
