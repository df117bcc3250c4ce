"""Calibration of the confidences by rows with a checked label: its notes, and `oneof fit --calibrate`.

Held-out predictions are compared with the true label (--truth) or the checked one (--gold) of a row.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oneof.errors import InputError

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.comparison import Comparison
    from oneof.model_selection.temperature import CalibrationResult
    from oneof.typing import Floats, Ints, Labels, Mask


def checked_codes(candidates: "CandidateSets", truth: "Labels | None", is_checked: "Mask | None") -> "Ints":
    """Return the column of the true, or else the checked, label of each labeled row; -1 without any."""
    import numpy as np

    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    codes = np.full(len(candidates), -1, dtype=np.int64)
    if is_checked is not None:
        codes[is_checked] = candidates.mask[is_checked].argmax(axis=1)  # the checked label is the only candidate
    if truth is not None:
        known = np.array([column.get(label, -1) for label in truth.tolist()], dtype=np.int64)
        codes = np.where(known >= 0, known, codes)
    return np.where(candidates.is_unlabeled, -1, codes)


def check_enough(codes: "Ints", splits: Sequence[Any], methods: Any) -> None:
    """Raise if the held-out rows with a checked label are too few to calibrate, or the method has no probabilities."""
    import numpy as np

    from oneof.model_selection.temperature import MIN_CHECKED_ROWS

    n_rows = int((codes[np.unique(np.concatenate([test for _, test in splits]))] >= 0).sum())
    if n_rows < MIN_CHECKED_ROWS:
        raise InputError(
            f"--calibrate needs at least {MIN_CHECKED_ROWS} held-out rows with a true label (--truth) or a checked one "
            f"(--gold); got {n_rows:,} labeled ones. Rows without labels, and those in no test subset of a fold, do "
            "not count. Check more rows, or remove --calibrate."
        )
    if not any(hasattr(estimator, "predict_proba") for estimator in methods.values()):
        raise InputError(f"--calibrate needs probabilities; {next(iter(methods))} has scores only. Fit another method.")


def evaluate(comparison: "Comparison", codes: "Ints", proba: "Floats | None", seed: int) -> "CalibrationResult | None":
    """Return the calibration of the best method; None without probabilities of all folds, or with too few checked rows.

    `proba` are held-out probabilities in place of those of the comparison.
    """
    import numpy as np

    from oneof.model_selection.temperature import MIN_CHECKED_ROWS, evaluate_temperature

    result, rows = comparison.results[0], comparison.held_out_rows
    proba = result.probabilities if proba is None else proba
    if rows is None or proba is None or result.predictions is None:
        return None
    known = np.flatnonzero(codes[rows] >= 0)
    if len(known) < MIN_CHECKED_ROWS:
        return None
    column = {label: k for k, label in enumerate(comparison.classes.tolist())}
    predictions = np.array([column[label] for label in result.predictions[known].tolist()], dtype=np.int64)
    return evaluate_temperature(np.asarray(proba[known], dtype=np.float64), predictions, codes[rows[known]], seed=seed)


def describe(result: "CalibrationResult", method: str, *, calibrates: bool) -> list[str]:
    """Return a note on the temperature of the probabilities, or that confidences differ from the accuracy."""
    from oneof.model_selection.temperature import differs_from_accuracy

    rows = f"{result.n_rows:,} labeled held-out rows with a true label"
    of_rows = f"On {rows}, {_percent(result.accuracy)} are predicted correctly,"
    before = f"the mean confidence is {_percent(result.confidence)} and the log loss {result.log_loss:.3f}"
    after = f"{_percent(result.scaled_confidence)} and {result.scaled_log_loss:.3f}"
    if calibrates and not result.lowers_loss:
        return [
            f"the probabilities of {method} are not scaled (--calibrate), since no temperature lowers their log loss. "
            f"{of_rows} {before}; with a temperature that is fitted to other rows, they are {after}."
        ]
    if calibrates:
        return [
            f"the probabilities of {method} are scaled by a temperature of {result.temperature:.3g} (--calibrate), but "
            f"not the confidences of training_labels.csv and of the report. {of_rows} {before} without it, and {after} "
            "with it."
        ]
    if not differs_from_accuracy(result.confidence, result.accuracy, result.n_rows):
        return []
    size = "low" if result.confidence < result.accuracy else "high"
    remedy = " --calibrate scales them." * result.helps
    return [f"the confidences of {method} are too {size}. {of_rows} and {before}.{remedy}"]


def describe_failure(comparison: "Comparison") -> str:
    """Return a note with the reason why the probabilities of the best method cannot be scaled."""
    result = comparison.results[0]
    if not hasattr(comparison.estimators[result.method], "predict_proba"):
        return f"{result.method} has scores only, and no probabilities that --calibrate could scale."
    reason = "too few held-out rows are checked"
    if result.predictions is None:
        cause = f" ({result.incomplete})" if result.incomplete else ""
        reason = (
            f"{len(result.folds)} of {comparison.n_folds} folds are finished{cause}. Fit again with a larger --budget "
            "or fewer --folds"
        )
    return f"the probabilities of {result.method} are not scaled (--calibrate): {reason}."


def scale_model(model: Any, temperature: float) -> Any:
    """Return a fitted pipeline whose last step has scaled probabilities."""
    from sklearn.pipeline import Pipeline

    from oneof.model_selection.temperature import TemperatureScaledClassifier

    *steps, (name, last) = model.steps
    return Pipeline([*steps, (name, TemperatureScaledClassifier(last, temperature))])


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f} %"
