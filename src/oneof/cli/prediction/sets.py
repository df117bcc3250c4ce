"""Prediction sets of the command line: the held-out rows of `oneof fit`, and the columns of `predict`.

`oneof.persistence.prediction_sets` computes the sets.
"""

from typing import TYPE_CHECKING, Any

from oneof.cli.output import terminal
from oneof.persistence import prediction_sets

if TYPE_CHECKING:
    import polars as pl

    from oneof.candidates import CandidateSets
    from oneof.comparison import Comparison
    from oneof.conformal import SetEvaluation
    from oneof.typing import Floats, Ints

MIN_CHECKED_ROWS = 100
"""Number of held-out rows with a true label from which they calibrate alone."""
REPORT_COVERAGE = 0.9
"""Nominal coverage of the report of `oneof fit`."""
_MAX_ROWS, _MAX_ENTRIES = 5_000, 1_000_000
"""Maximum number of calibration rows in a model file, and of rows times classes; at least `_MIN_ROWS`."""
_MIN_ROWS = 500


def held_out_calibration(
    comparison: "Comparison",
    candidates: "CandidateSets",
    seed: int,
    posterior: "Floats | None" = None,
    truth: Any = None,
    proba: "Floats | None" = None,
    fitted: "Floats | None" = None,
) -> dict[str, Any] | None:
    """Return the held-out rows that calibrate the model, with probabilities and candidates.

    None if the method has no probabilities, or there are no such rows. Of many rows, a random sample is kept. Enough
    labeled rows with a true label calibrate alone, by this label.

    Parameters
    ----------
    comparison : Comparison
    candidates : CandidateSets
    seed : int
    posterior : ndarray of shape (n_samples, n_classes), optional
        Probabilities of the classes of each row, such as those of an audit: sets that lack the true class would make
        the prediction sets far too large. The evidence of the calibration rows is such that it gives them.
    truth : ndarray of shape (n_samples,), optional
    proba : ndarray of shape (n_held_out_rows, n_classes), optional
        Held-out probabilities in place of those of the best method of the comparison.
    fitted : ndarray of shape (n_held_out_rows, n_classes), optional
        Probabilities of the same rows by the final model. If all held-out predictions are one class, a true label
        counts by the worse of the two predictions, so that the sets of the final model contain the nominal fraction of
        these labels. The probabilities of a constant change with the number of rows, and this difference alone would
        exclude the true labels of the other classes.
    """
    import numpy as np

    measured, rows = comparison.results[0].probabilities, comparison.held_out_rows
    if measured is None or rows is None:
        return None
    proba = measured if proba is None else proba
    checked = find_checked_rows(comparison, candidates, truth)
    by_truth = len(checked) >= MIN_CHECKED_ROWS
    kept = checked if by_truth else np.flatnonzero(~candidates.is_unlabeled[rows])
    limit = min(_MAX_ROWS, max(_MIN_ROWS, _MAX_ENTRIES // candidates.shape[1]))
    if len(kept) > limit:
        kept = np.sort(np.random.default_rng(seed).permutation(kept)[:limit])
    if not len(kept):
        return None
    values, evidence = proba[kept], candidates[rows[kept]].evidence
    if by_truth:
        evidence = truth[rows[kept]][:, None] == candidates.classes
        if fitted is not None and np.ptp(values.argmax(axis=1)) == 0:
            is_worse = (fitted[kept] * evidence).sum(axis=1) < (values * evidence).sum(axis=1)
            values = np.where(is_worse[:, None], fitted[kept], values)
    elif posterior is not None:
        evidence = _evidence_of(posterior[rows[kept]], values)
    as_stored = evidence if evidence.dtype == bool else evidence.astype(np.float32)
    return {"rows": rows[kept], "proba": values.astype(np.float32), "evidence": as_stored}


def find_checked_rows(comparison: "Comparison", candidates: "CandidateSets", truth: Any) -> "Ints":
    """Return the labeled rows with a true label, as positions among the held-out rows."""
    import numpy as np

    rows = comparison.held_out_rows
    if truth is None or rows is None:
        return np.zeros(0, dtype=np.int64)
    is_known = np.fromiter((label is not None for label in truth[rows].tolist()), dtype=bool, count=len(rows))
    return np.flatnonzero(is_known & ~candidates.is_unlabeled[rows])


def _evidence_of(posterior: "Floats", proba: "Floats") -> "Floats":
    """Return the weights, at most 1, by which probabilities are multiplied to be proportional to a posterior."""
    import numpy as np

    from oneof.audit.label_issues import MIN_CORRECTION

    kept = np.where(posterior >= MIN_CORRECTION * posterior.max(axis=1, keepdims=True), posterior, 0.0)
    weights = kept / np.maximum(proba, np.finfo(np.float32).tiny)
    return np.asarray(weights / weights.max(axis=1, keepdims=True))


def evaluate_calibration(
    calibration: dict[str, Any],
    candidates: "CandidateSets",
    truth: Any,
    posterior: "Floats | None" = None,
    *,
    of_groups: bool = False,
) -> "tuple[SetEvaluation, float | None, str]":
    """Return coverage and size of the sets of the calibration rows, each half calibrated by the other one.

    Without true labels the coverage is that of the rows with a single candidate. The second value is the expected
    coverage by the posterior of `held_out_calibration`; None without it, or with true labels. The third one is the
    guarantee of the sets of new rows.
    """
    import numpy as np

    from oneof.candidates import CandidateSets
    from oneof.conformal import evaluate_sets

    rows = calibration["rows"]
    order = np.random.default_rng(0).permutation(len(rows))
    halves = order[::2], order[1::2]
    mask = np.ones(calibration["evidence"].shape, dtype=bool)
    options = prediction_sets.CoverageOptions(REPORT_COVERAGE)
    for part, other in (halves, halves[::-1]):
        if len(other):
            calibrated = prediction_sets.calibrate_rows(
                {name: values[other] for name, values in calibration.items()}, options
            )
            mask[part] = prediction_sets.predict_mask(calibrated, calibration["proba"][part], options)
    known = None if truth is None else truth[rows]
    has_truth = known is not None and any(label is not None for label in known.tolist())
    sets = CandidateSets(mask, candidates.classes)
    expected = None
    if posterior is not None and not has_truth:
        expected = float((posterior[rows] * mask).sum(axis=1).mean())
    guarantee = prediction_sets.guarantee(calibration, options, of_groups=of_groups)
    return evaluate_sets(sets, known if has_truth else candidates[rows]), expected, guarantee


def to_columns(sets: "CandidateSets", separator: str) -> "list[pl.Series]":
    """Return the columns `set`, which `oneof fit` reads as labels, and `set_size`."""
    import polars as pl

    texts = sets.to_strings(separator=separator, write_full=True)
    return [pl.Series("set", texts, dtype=pl.String), pl.Series("set_size", sets.sizes)]


def describe_sets(sets: "CandidateSets", known: Any, options: prediction_sets.CoverageOptions) -> dict[str, Any]:
    """Return the nominal coverage and the mean size for JSON, and the coverage if some labels are known."""
    import numpy as np

    from oneof.candidates import CandidateSets
    from oneof.conformal import evaluate_sets
    from oneof.errors import LabelError

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
    from dataclasses import asdict

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
    nominal = terminal.format_percent(summary["nominal_coverage"])
    terminal.print_line(f"Prediction sets (nominal coverage {nominal}): {summary['mean_size']:.2f} classes on average")
    if summary.get("coverage") is not None:
        terminal.print_line(
            f"Coverage: {terminal.format_percent(summary['coverage'])} of the {summary['n_exact']:,} rows with a "
            f"single label{'; wrong labels lower it' * (summary['reference'] == 'labels')}"
        )
    elif "coverage_bounds" in summary:
        from oneof.report.statistics import has_narrow_bounds

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
