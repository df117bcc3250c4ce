"""Prediction sets of the command line: the columns of `predict`, their coverage and size, and their guarantee.

`oneof.persistence.prediction_sets` computes the sets.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from oneof.candidates import CandidateSets
from oneof.cli.output import terminal
from oneof.errors import LabelError
from oneof.persistence.prediction_sets import CoverageOptions

if TYPE_CHECKING:
    from oneof.conformal import SetEvaluation

MIN_CHECKED_ROWS = 100
"""Number of held-out rows with a true label from which they calibrate alone."""


def to_columns(sets: CandidateSets, separator: str) -> list[pl.Series]:
    """Return the columns `set`, which `oneof fit` reads as labels, and `set_size`."""
    texts = sets.to_strings(separator=separator, write_full=True)
    return [pl.Series("set", texts, dtype=pl.String), pl.Series("set_size", sets.sizes)]


def describe_sets(sets: CandidateSets, known: Any, options: CoverageOptions) -> dict[str, Any]:
    """Return the nominal coverage and the mean size for JSON, and the coverage if some labels are known."""
    from oneof.conformal import evaluate_sets  # heavy for predictions without sets

    reference = "labels" if isinstance(known, CandidateSets) else "truth"
    if reference == "truth" and known is not None and sets.classes.dtype.kind in "iuf":
        labels = [label for label in known.tolist() if label is not None]
        if any(isinstance(label, str) for label in labels):  # new labels that are not numbers
            known = np.array([label if label is None else str(label) for label in known.tolist()], dtype=object)
            sets = CandidateSets(sets.mask, [str(label) for label in sets.classes.tolist()])
    mean_size = float(sets.sizes.mean()) if len(sets) else None
    summary: dict[str, Any] = {"nominal_coverage": options.coverage, "mean_size": mean_size}
    summary |= {} if known is None else {"reference": reference}
    try:
        return summary if known is None else summary | to_dict(evaluate_sets(sets, known))
    except LabelError:  # all rows are unlabeled
        return summary


def to_dict(evaluation: "SetEvaluation") -> dict[str, Any]:
    """Return an evaluation in the types of JSON."""
    return asdict(evaluation) | {
        "coverage": evaluation.coverage if evaluation.n_exact else None,
        "coverage_bounds": list(evaluation.coverage_bounds),
    }


def describe_validity(calibration: dict[str, Any]) -> list[str]:
    """Return sentences on the guarantee, the rows to which it applies, and calibration rows with several candidates.

    Parameters
    ----------
    calibration : dict
        Result of `oneof.persistence.saved_model.describe_calibration`.
    """
    n_rows, n_several = calibration["rows"], calibration["several_candidates"]
    several = f", {n_several:,} of them with several candidates" * bool(n_several)
    sentences = [
        calibration["guarantee"],
        f"The sets are calibrated by {n_rows:,} held-out row{'s' * (n_rows != 1)}{several}.",
    ]
    if calibration.get("groups"):
        sentences.append(f"Each of them was predicted without its group ({calibration['groups']!r}).")
    elif "groups" in calibration:
        sentences.append(
            "The coverage may be lower for rows of new groups, such as other recordings or patients (fit --groups)."
        )
    if n_several:
        sentences.append(
            f"With fit --truth, {MIN_CHECKED_ROWS} held-out rows or more with a true label calibrate the sets instead."
        )
    return sentences


def print_sets(summary: dict[str, Any]) -> None:
    """Print the mean size of the sets, the coverage if there are labels, and the rows to which it applies."""
    from oneof.report.statistics import has_narrow_bounds  # heavy for predictions without sets

    nominal = terminal.format_percent(summary["nominal_coverage"])
    terminal.print_line(f"Prediction sets (nominal coverage {nominal}): {summary['mean_size']:.2f} classes on average")
    if summary.get("coverage") is not None:
        terminal.print_line(
            f"Coverage: {terminal.format_percent(summary['coverage'])} of the {summary['n_exact']:,} rows with a "
            f"single label{'; wrong labels lower it' * (summary['reference'] == 'labels')}"
        )
    elif "coverage_bounds" in summary:
        if has_narrow_bounds(summary["coverage_bounds"]):
            low, high = map(terminal.format_percent, summary["coverage_bounds"])
            terminal.print_line(f"Coverage: between {low} and {high}, by rows with several candidates")
        else:
            terminal.print_line(
                "Coverage: not measurable, since no row has a single label; --truth names a column of true labels"
            )
    if "calibration" in summary:
        for sentence in describe_validity(summary["calibration"]):
            terminal.print_line(sentence)
