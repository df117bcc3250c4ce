"""Prediction sets of a saved model, calibrated by the rows that `oneof fit` has held out.

The final model is fitted to all rows, and the calibration scores are those of models fitted to a part of the rows. The
coverage is therefore close to the nominal one, without the guarantee of `oneof.conformal.ConformalClassifier`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.persistence.protocols import ModelLike
from oneof.solvers.conformal import (
    Calibration,
    aps_scores,
    calibrate,
    lac_scores,
    min_calibration_rows,
    never_excluded,
    p_values,
    prediction_sets,
)
from oneof.typing import Floats, Mask
from oneof.validation import check_bool, check_choice, check_coverage

METHODS, CALIBRATIONS = ("lac", "aps"), ("sampled", "conservative", "optimistic")


@dataclass(frozen=True)
class CoverageOptions:
    """Coverage of prediction sets, scores, and the use of calibration rows with several candidates."""

    coverage: float
    method: str = "lac"
    calibration: str = "sampled"
    class_conditional: bool = False


def check_set_options(options: CoverageOptions, method: str = "method") -> None:
    """Raise unless the options are valid; `method` is the name of the argument that has `options.method`."""
    check_coverage(options.coverage)
    check_choice(method, options.method, METHODS)
    check_choice("calibration", options.calibration, CALIBRATIONS)
    check_bool("class_conditional", options.class_conditional)


def check_calibrated(model: ModelLike, subject: str = "prediction sets need") -> None:
    """Raise unless a model has calibration rows; `subject` begins the sentence."""
    if model.calibration is not None:
        return
    if not hasattr(model.pipeline, "predict_proba"):
        raise InputError(f"{subject} probabilities; {model.method} has scores only. Fit another method.")
    raise InputError(
        f"{subject} a model with calibration rows; models of an earlier version have none. Fit the model again."
    )


def predict_sets(model: ModelLike, proba: Floats, options: CoverageOptions) -> tuple[CandidateSets, list[str]]:
    """Return the prediction sets of rows with these probabilities, and notes about sets that have all classes."""
    assert model.calibration is not None
    calibrated, n_classes = calibrate_rows(model.calibration, options), len(model.classes)
    notes = []
    n_full = int(never_excluded([calibrated], n_classes, options.coverage).sum())
    if n_full:
        least = min_calibration_rows(options.coverage)
        notes.append(
            f"{n_full} of {n_classes} classes are in every prediction set: a coverage of {options.coverage:g} "
            f"requires at least {least} calibration rows{' of each class' if options.class_conditional else ''}."
        )
    mask = predict_mask(calibrated, proba, options)
    if options.calibration == "conservative" and mask.all(axis=1).mean() > 0.5:
        notes.append(
            "most prediction sets have all classes, since the conservative calibration assumes the worst of the "
            "calibration rows with several candidates."
        )
    return CandidateSets(mask, model.pipeline.classes_), notes


def describe_calibration(model: ModelLike, options: CoverageOptions) -> dict[str, Any]:
    """Return the rule, the numbers of calibration rows, and the column of groups of the folds, in the types of JSON.

    The calibration rows are those that `oneof fit` has held out. With groups, a row was predicted by a model without
    the rows of its group. Models of an earlier version have no such entry.
    """
    assert model.calibration is not None
    evidence = model.calibration["evidence"]
    facts: dict[str, Any] = {
        "rule": options.calibration,
        "rows": len(evidence),
        "several_candidates": int(((evidence > 0).sum(axis=1) > 1).sum()),
    }
    return facts | ({"groups": model.summary["groups"]} if "groups" in model.summary else {})


def predict_mask(calibrated: Calibration, proba: Any, options: CoverageOptions) -> Mask:
    """Return the (n, K) prediction sets of rows with these probabilities."""
    proba = np.asarray(proba, dtype=np.float32).astype(np.float64)  # rounded as the calibration rows
    return prediction_sets(p_values([calibrated], [_scores(proba, options, seed=1)]), options.coverage, proba)


def calibrate_rows(calibration: dict[str, Any], options: CoverageOptions) -> Calibration:
    """Return the calibration by the rows of a saved model."""
    rule: Any = options.calibration
    proba, evidence = calibration["proba"].astype(np.float64), calibration["evidence"]
    scores = _scores(proba, options, seed=0)
    return calibrate(scores, proba, evidence, rule=rule, class_conditional=options.class_conditional)


def _scores(proba: Floats, options: CoverageOptions, *, seed: int) -> Floats:
    """Return the scores of the classes; the random numbers of APS have a fixed seed, so that calls repeat."""
    if options.method == "lac":
        return lac_scores(proba)
    return aps_scores(proba, np.random.default_rng(seed).random(len(proba)))
