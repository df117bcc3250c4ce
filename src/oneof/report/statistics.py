"""Statistics of a report: functions from the data to numbers, table rows or text."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oneof.audit import LabelIssues
from oneof.candidates import CandidateSets
from oneof.candidates.labels import is_missing
from oneof.comparison.folds import columns_of
from oneof.conformal import SetEvaluation
from oneof.plots import counts
from oneof.plots.figures import encode_decisions
from oneof.plots.style import clean, shorten
from oneof.report.data import MAX_COLUMNS, Preview, ReportData
from oneof.typing import Floats, Ints, Labels, Mask

MAX_LEAST_CONFIDENT = 20
MAX_UNCERTAIN = 0.995
"""Maximum confidence of an uncertain row; a higher one is displayed as 100 %."""
MAX_PAIRS = 12
MAX_NAMED = 6
MAX_SET_CLASSES = 30
MIN_NOISE = 0.02
"""Noise rate from which prediction sets of uncorrected labels are clearly too large."""
MAX_BOUNDS_WIDTH = 0.5
"""Maximum width of the bounds of a coverage that are reported."""
CELL_WIDTH = 90
LABEL_WIDTH = 60


class LabelSummary(NamedTuple):
    """Numbers of exact, partial and unlabeled rows."""

    rows: int
    classes: int
    exact: int
    partial: int
    unlabeled: int
    mean_size: float
    """Mean effective number of candidates of the partial rows, for a set its size; NaN without any."""
    weighted: int
    """Number of partial rows with weights."""


class Baseline(NamedTuple):
    """Covering rates without a model."""

    random_rate: float
    """Covering rate of a random class."""
    majority_rate: float
    """Covering rate of always predicting the class in most sets."""
    majority_label: str


class TruthComparison(NamedTuple):
    """Comparison of the disambiguated labels of the training rows with the true labels."""

    n_partial: int
    right_partial: float
    chance_partial: float
    """Expected accuracy of a random candidate of each set, drawn by the weights if there are any."""
    n_weighted: int
    top_weighted: float
    """Accuracy of the class of largest weight in the rows with weights; ties count in equal parts."""
    n_unlabeled: int
    right_unlabeled: float
    n_known: int
    outside: int
    """Number of rows whose set does not contain the true label."""


class ListedRow(NamedTuple):
    """A row of a table with its candidates; `number` counts from 0."""

    number: int
    candidates: str
    cells: list[str]


def label_summary(candidates: CandidateSets) -> LabelSummary:
    """Count exact, partial and unlabeled rows."""
    evidence, (n_rows, n_classes) = candidates.evidence, candidates.shape
    partial = counts.partial_rows(evidence)
    exact, unlabeled = int(candidates.is_exact.sum()), int(candidates.is_unlabeled.sum())
    sizes = counts.effective_sizes(evidence)
    mean_size = float(sizes[partial].mean()) if partial.any() else float("nan")
    weighted = int(candidates.is_weighted.sum())
    return LabelSummary(n_rows, n_classes, exact, int(partial.sum()), unlabeled, mean_size, weighted)


def baseline(candidates: CandidateSets) -> Baseline | None:
    """Return the covering rates of random and constant predictions on the labeled rows; None without any."""
    labeled = candidates.evidence[~candidates.is_unlabeled]
    if not len(labeled):
        return None
    rates = labeled.mean(axis=0)
    best = int(rates.argmax())
    return Baseline(float(rates.mean()), float(rates[best]), shorten(candidates.classes.tolist()[best], LABEL_WIDTH))


def compare_with_truth(candidates: CandidateSets, decided: Labels, truth: Labels) -> TruthComparison | None:
    """Compare disambiguated labels with the known true labels; None if none is known."""
    known = np.array([not is_missing(label) for label in truth], dtype=bool)
    if not known.any():
        return None
    columns = columns_of(truth, candidates)
    right = np.array([known[i] and bool(decided[i] == truth[i]) for i in range(len(truth))])
    # Index -1 is the last class, which the second factor excludes again.
    inside = candidates.mask[np.arange(len(columns)), columns] & (columns >= 0)
    evidence = candidates.evidence
    share = np.where(inside, counts.shares(evidence)[np.arange(len(columns)), columns], 0.0)
    partial = known & counts.partial_rows(evidence)
    unlabeled = known & candidates.is_unlabeled
    weighted = known & candidates.is_weighted
    is_top = evidence == 1
    top = np.where(inside, is_top[np.arange(len(columns)), columns] / is_top.sum(axis=1), 0.0)
    return TruthComparison(
        n_partial=int(partial.sum()),
        right_partial=_mean(right, partial),
        chance_partial=_mean(share, partial),
        n_weighted=int(weighted.sum()),
        top_weighted=_mean(top, weighted),
        n_unlabeled=int(unlabeled.sum()),
        right_unlabeled=_mean(right, unlabeled),
        n_known=int(known.sum()),
        outside=int((known & ~inside).sum()),
    )


def least_confident(
    candidates: CandidateSets, confidence: Floats, limit: int = MAX_LEAST_CONFIDENT
) -> tuple[Ints, Ints]:
    """Return the partial and the unlabeled rows of lowest confidence, ascending, `limit` in total.

    Each kind gets half of the rows if there are enough of both. Confidences among two candidates and among all classes
    are not comparable, so unlabeled rows would otherwise fill the list.
    """
    confidence = np.asarray(confidence)
    partial, unlabeled = (
        rows[np.argsort(confidence[rows], kind="stable")]
        for rows in map(np.flatnonzero, (counts.partial_rows(candidates.evidence), candidates.is_unlabeled))
    )
    n_unlabeled = min(len(unlabeled), max(limit // 2, limit - len(partial)))
    return partial[: limit - n_unlabeled], unlabeled[:n_unlabeled]


def list_rows(candidates: CandidateSets, preview: Preview, numbers: Sequence[int]) -> tuple[list[str], list[ListedRow]]:
    """Return the columns of the preview, and rows with their candidates and the cells of these columns."""
    previews = [preview(number) if callable(preview) else preview[number] for number in numbers]
    columns = list(dict.fromkeys(name for cells in previews for name in cells))[:MAX_COLUMNS]
    listed = [
        ListedRow(number, name_candidates(candidates, number), [truncate(cells.get(name, "")) for name in columns])
        for number, cells in zip(numbers, previews, strict=True)
    ]
    return columns, listed


def uncertain_rows(data: ReportData) -> tuple[list[str], list[tuple[str, list[ListedRow]]]]:
    """Return the preview columns, and the partial and unlabeled rows of lowest confidence, each with a heading.

    Rows with a confidence above 0.995 are omitted.
    """
    confidence = np.asarray(data.decisions.confidence)
    partial, unlabeled = (
        rows[~(confidence[rows] > MAX_UNCERTAIN)] for rows in least_confident(data.candidates, confidence)
    )
    columns, listed = list_rows(data.candidates, data.preview, [*partial.tolist(), *unlabeled.tolist()])
    groups = [("several candidates", listed[: len(partial)]), ("no label", listed[len(partial) :])]
    return columns, [group for group in groups if group[1]]


def suspected_rows(
    issues: LabelIssues, preview: Preview, max_rows: int
) -> tuple[list[str], list[tuple[ListedRow, Any]]]:
    """Return the preview columns, and the most probably wrong rows, each with its issue."""
    listed = issues.top()[:max_rows]
    columns, rows = list_rows(issues.candidates, preview, [issue.row for issue in listed])
    return columns, list(zip(rows, listed, strict=True))


def name_candidates(candidates: CandidateSets, row: int) -> str:
    """Format the set of a row; long sets are truncated, and a full set is "any".

    Weights are divided by their sum, and the largest come first: "finch 0.70, wren 0.30".
    """
    own = candidates[row : row + 1]
    columns = np.flatnonzero(own.mask[0])
    if own.is_unlabeled[0]:
        return "any"
    if own.is_weighted[0]:
        share = counts.shares(own.weights)[0]
        columns = columns[np.argsort(-share[columns], kind="stable")]
        names = [f"{shorten(own.classes[k], LABEL_WIDTH)} {_format_share(share[k])}" for k in columns[:MAX_NAMED]]
    else:
        names = [shorten(own.classes[k], LABEL_WIDTH) for k in columns[:MAX_NAMED].tolist()]
    more = len(columns) - len(names)
    return ", ".join(names) + (f", … ({more} more)" if more else "")


def pair_outcomes(data: ReportData) -> list[counts.PairOutcome]:
    """Return the pairs of labels that cooccur most, and their disambiguated labels."""
    evidence = data.candidates.evidence
    decided = encode_decisions(data.candidates, data.decisions.labels)
    return counts.pair_outcomes(evidence, decided, counts.top_pairs(counts.cooccurrence(evidence), MAX_PAIRS))


def class_rows(candidates: CandidateSets) -> list[tuple[str, float, int]]:
    """Return the name, the rows with the candidate (by weight), and the exact rows of every class in order."""
    candidate, exact = counts.class_frequencies(candidates.evidence)
    names = [shorten(label, LABEL_WIDTH) for label in candidates.classes.tolist()]
    return list(zip(names, candidate.tolist(), exact.tolist(), strict=True))


def size_rows(candidates: CandidateSets) -> list[tuple[str, int, int]]:
    """Return the number of rows of each set size that occurs, as sets and with weights; unlabeled rows last.

    The size of a row with weights is the effective number of its candidates, rounded.
    """
    sets, weighted, n_unlabeled = counts.set_sizes(candidates.evidence, candidates.is_weighted)
    both = zip(sets.tolist(), weighted.tolist(), strict=True)
    rows = [(str(size), n, m) for size, (n, m) in enumerate(both) if n or m]
    return [*rows, ("no label", n_unlabeled, 0)] if n_unlabeled else rows


def _format_share(share: float) -> str:
    return f"{share:.2f}" if share >= 0.005 else "<0.01"


def truncate(cell: Any) -> str:
    """Format a cell of the table; a long one is shortened."""
    text = clean(cell)
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 1].rstrip() + "…"


def _mean(values: Any, mask: Mask) -> float:
    return float(np.mean(values[mask])) if mask.any() else float("nan")


def has_narrow_bounds(bounds: Sequence[float]) -> bool:
    """Return whether the lower and the upper bound of a coverage are close enough to be reported."""
    return bounds[1] - bounds[0] <= MAX_BOUNDS_WIDTH


def worst_classes(sets: SetEvaluation) -> list[Any]:
    """Return the classes of the lowest coverage by prediction sets."""
    return sorted(sets.by_class, key=lambda group: (group.coverage, -group.n_rows))[:MAX_SET_CLASSES]


def has_noisy_sets(data: ReportData) -> bool:
    """Return whether sets are too large: a part of the labels is probably wrong, and they were not corrected."""
    issues = data.issues
    return issues is not None and data.n_corrected is None and issues.noise_rate_interval[0] >= MIN_NOISE
