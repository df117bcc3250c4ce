"""Prediction sets of a saved model, calibrated by the rows that `oneof fit` has held out.

The final model is fitted to all rows, and the calibration scores are those of models fitted to a part of the rows. The
coverage is therefore about the nominal one, without the bound of `oneof.conformal.ConformalClassifier`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.solvers.conformal import (
    CALIBRATIONS,
    METHODS,
    Calibration,
    calibrate,
    class_scores,
    describe_few_rows,
    describe_guarantee,
    p_values,
    prediction_sets,
)
from oneof.typing import Floats, Mask
from oneof.validation import check_bool, check_choice, check_coverage

if TYPE_CHECKING:
    from oneof.persistence.saved_model import SavedModel


@dataclass(frozen=True)
class CoverageOptions:
    """Coverage of prediction sets, scores, and the use of calibration rows with several candidates."""

    coverage: float
    method: str = "lac"
    calibration: str = "conservative"
    class_conditional: bool = False


def check_set_options(options: CoverageOptions, method: str = "method") -> None:
    """Raise unless the options are valid; `method` is the name of the argument that has `options.method`."""
    check_coverage(options.coverage)
    check_choice(method, options.method, METHODS)
    check_choice("calibration", options.calibration, CALIBRATIONS)
    check_bool("class_conditional", options.class_conditional)


def check_calibrated(model: "SavedModel", subject: str = "prediction sets need") -> None:
    """Raise unless a model has calibration rows; `subject` begins the sentence."""
    if model.calibration is not None:
        return
    if not hasattr(model.pipeline, "predict_proba"):
        raise InputError(f"{subject} probabilities; {model.method} has scores only. Fit another method.")
    raise InputError(
        f"{subject} a model with calibration rows; models of an earlier version have none. Fit the model again."
    )


def predict_sets(model: "SavedModel", proba: Floats, options: CoverageOptions) -> tuple[CandidateSets, list[str]]:
    """Return the prediction sets of rows with these probabilities, and notes about sets that have all classes."""
    assert model.calibration is not None
    calibrated = calibrate_rows(model.calibration, options)
    few = describe_few_rows([calibrated], len(model.classes), options.coverage, options.class_conditional)
    notes = [few] if few else []
    mask = predict_mask(calibrated, proba, options)
    is_worst = options.calibration == "conservative" and n_partial(model.calibration) > 0
    if is_worst and not few and 2 * mask.all(axis=1).sum() > len(mask):
        notes.append(
            "most prediction sets have all classes, since the conservative calibration assumes the worst of the "
            "calibration rows with several candidates. Fit with --truth, or use the calibration 'sampled', without a "
            "guarantee."
        )
    return CandidateSets(mask, model.pipeline.classes_), notes


def describe_calibration(model: "SavedModel", options: CoverageOptions) -> dict[str, Any]:
    """Return the calibration, its guarantee, the numbers of its rows, and the column of groups, in the types of JSON.

    The calibration rows are those that `oneof fit` has held out. With groups, a row was predicted by a model without
    the rows of its group. Models of an earlier version have no such entry.
    """
    assert model.calibration is not None
    groups = model.summary.get("groups")
    facts: dict[str, Any] = {
        "rule": options.calibration,
        "guarantee": guarantee(model.calibration, options, of_groups=groups is not None),
        "rows": len(model.calibration["evidence"]),
        "several_candidates": n_partial(model.calibration),
    }
    return facts | ({"groups": groups} if "groups" in model.summary else {})


def guarantee(calibration: dict[str, Any], options: CoverageOptions, *, of_groups: bool) -> str:
    """Return one sentence: the coverage of the sets, the rows to which it applies, and its conditions."""
    return describe_guarantee(
        options.coverage,
        calibration=options.calibration,
        class_conditional=options.class_conditional,
        n_partial=n_partial(calibration),
        is_bound=False,
        of_groups=of_groups,
    )


def n_partial(calibration: dict[str, Any]) -> int:
    """Return the number of calibration rows with several candidates."""
    return int(((calibration["evidence"] > 0).sum(axis=1) > 1).sum())


def predict_mask(calibrated: Calibration, proba: Any, options: CoverageOptions) -> Mask:
    """Return the (n, K) prediction sets of rows with these probabilities."""
    return prediction_sets(p_values([calibrated], [class_scores(proba, options.method)]), options.coverage, proba)


def calibrate_rows(calibration: dict[str, Any], options: CoverageOptions) -> Calibration:
    """Return the calibration by the rows of a saved model."""
    proba, evidence = calibration["proba"].astype(np.float64), calibration["evidence"]
    scores = class_scores(proba, options.method)
    conditional = options.class_conditional
    return calibrate(scores, proba, evidence, calibration=options.calibration, class_conditional=conditional)
