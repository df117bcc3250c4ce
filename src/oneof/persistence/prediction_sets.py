"""Calibration of prediction sets by the rows that `oneof fit` has held out.

The final model is fitted to all rows, and the calibration scores are those of models fitted to a part of the rows. The
coverage is therefore about the nominal one, without the bound of `oneof.conformal.ConformalClassifier`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.solvers.conformal import (
    CALIBRATIONS,
    METHODS,
    Calibration,
    calibrate,
    class_scores,
    describe_guarantee,
    p_values,
    prediction_sets,
)
from oneof.typing import Mask
from oneof.validation import check_bool, check_choice, check_coverage


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


def guarantee(calibration: dict[str, Any], options: CoverageOptions, *, n_groups: int | None) -> str:
    """Return the coverage of the sets, the rows to which it applies, and its conditions."""
    return describe_guarantee(
        options.coverage,
        calibration=options.calibration,
        class_conditional=options.class_conditional,
        n_partial=n_partial(calibration),
        is_bound=False,
        n_groups=n_groups,
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
