"""The rate that a user may expect of a fitted model on new rows: its name, value, interval and meaning."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from oneof.io.findings import describe_columns, drop_option
from oneof.report import choose_headline

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.audit.accuracy import AccuracyEstimate
    from oneof.candidates import CandidateSets
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.comparison import Comparison
    from oneof.crowd import Answers
    from oneof.report import Headline
    from oneof.typing import Mask

MIN_SHARED_PAIRS, MIN_SHARED_FRACTION = 20, 0.5
"""Number and fraction of neighboring rows with the same partial set from which the accuracy is not estimated."""
LISTS_NOTE = (
    "many rows share one list of labels, such as the clips of a recording: the noise rate tends to be too "
    "low, and its interval too narrow."
)
MIN_ANSWERS_PER_ROW = 1.9
"""Mean number of answers to a row with answers below which the accuracies of annotators are too uncertain."""


def held_out_accuracy(
    comparison: "Comparison",
    candidates: "CandidateSets",
    answers: "Answers | None",
    checked: "Mask | None" = None,
    named: "Mask | None" = None,
    *,
    has_shared_lists: bool = False,
) -> "AccuracyEstimate | None":
    """Return the estimated accuracy of the best method; None without probabilities.

    Its noise rate is that of its own predictions, and not printed: an audit has that of others. The labels of the mask
    `checked` are right. `named` has the classes that lists with a rest name.

    With about one answer per row it is None, since the accuracies of the annotators then depend on the features: 15 of
    20 intervals held in simulations. It is None for folds by groups as well: the model of noise assumes independent
    rows and counts common errors as wrong labels, so that the estimate is too high. The same holds if rows share lists,
    see `share_lists`.
    """
    from oneof.audit.accuracy import estimate_accuracy

    result, rows = comparison.results[0], comparison.held_out_rows
    if answers is None and has_shared_lists:
        return None
    if comparison.n_groups is not None or result.probabilities is None or result.predictions is None or rows is None:
        return None
    if answers is not None and answers.n_answers < MIN_ANSWERS_PER_ROW * (~candidates.is_unlabeled).sum():
        return None
    labeled = ~candidates.is_unlabeled[rows]
    return estimate_accuracy(
        result.probabilities[labeled],
        result.predictions[labeled],
        candidates[rows[labeled]],
        None if checked is None else checked[rows[labeled]],
        None if named is None else named[rows[labeled]],
    )


def share_lists(prepared: "PreparedTable") -> bool:
    """Return whether rows share lists, such as those of a recording.

    This is the case if most neighboring rows with several candidates have the same ones, or if columns of the table
    identify the sets.
    """
    import numpy as np

    from oneof.solvers.loo_ridge.distractors import CandidateGroups

    if prepared.set_columns:
        return True
    main = CandidateGroups.from_evidence(
        prepared.candidates.evidence
    ).main  # without the small weights of softened sets
    pairs = main.partial[:-1] & main.partial[1:]
    n_same = int((pairs & (main.group[:-1] == main.group[1:])).sum())
    return bool(n_same >= MIN_SHARED_PAIRS and n_same >= MIN_SHARED_FRACTION * np.count_nonzero(pairs))


def describe_lists(comparison: "Comparison", *, has_shared_lists: bool) -> list[str]:
    """Return a note if rows share lists, so that the accuracy is not estimated; none if true labels are known."""
    if comparison.results[0].accuracy is not None or not has_shared_lists:
        return []
    groups = "" if comparison.n_groups is not None else ", and hold out entire recordings or documents (--groups)"
    return [
        "many rows share one list of labels, such as the clips of a recording. An accuracy estimated "
        "without true labels would be too high, and is not shown; a noise rate tends to be too low. Give the true "
        f"labels of some rows (--truth){groups}."
    ]


def make_headline(
    comparison: "Comparison",
    candidates: "CandidateSets",
    accuracy: "AccuracyEstimate | None",
    *,
    is_unknown: bool = False,
    leaks: "Sequence[str]" = (),
) -> "Headline":
    """Return the headline of the best method; `is_unknown` says that its labels do not determine an accuracy.

    `leaks` are features that reveal the labels: the rate holds only for rows with known values.
    """
    result = comparison.results[0]
    if accuracy is None and is_unknown:
        result = replace(result, expected_accuracy=None)
    headline = choose_headline(result, accuracy, candidates, is_grouped=comparison.n_groups is not None)
    if headline.measure == "accuracy" and comparison.truth_note:
        meaning = f"of the held-out predictions of {comparison.n_true:,} rows with a true label equal it."
        headline = headline._replace(meaning=meaning)
    if leaks:
        first, _, rest = headline.meaning.partition(".")
        condition = f"only if {describe_columns(leaks)} {'are' if len(leaks) > 1 else 'is'} known for new rows"
        remedy = f"which reveal{'s' * (len(leaks) == 1)} the labels; otherwise add {drop_option(leaks)}"
        headline = headline._replace(meaning=f"{first}, {condition}, {remedy}.{rest}")
    return headline


def describe_weights(prepared: "PreparedTable", accuracy: "AccuracyEstimate | None") -> list[str]:
    """Return a note that an accuracy estimated from labels with weights depends on them; none with checked rows."""
    has_checked = prepared.truth is not None or prepared.is_checked is not None
    if accuracy is None or has_checked or prepared.answers is not None or not prepared.candidates.is_weighted.any():
        return []
    return [
        "the estimated accuracy is too high if the weights of the labels are too close to each other, and too "
        "low if they are too different. Give the true labels of 50 to 100 rows (--truth)."
    ]


def describe_noise(estimate: "AccuracyEstimate | LabelIssues | None", *, has_checked: bool = False) -> list[str]:
    """Return a note if so many labels are wrong that prediction sets are too large without a correction.

    With checked labels, the noise rate is that of the other rows.
    """
    from oneof.report.statistics import MIN_NOISE

    if estimate is None or not estimate.noise_rate_interval[0] >= MIN_NOISE:
        return []
    return [
        f"about {100 * estimate.noise_rate:.0f} % of the rows{' without a checked label' * has_checked} have labels "
        "without the true one. The prediction sets of `oneof predict --coverage` are too large for this reason; "
        "--noise-rate auto corrects the model and the sets."
    ]
