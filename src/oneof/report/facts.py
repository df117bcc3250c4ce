"""What a report tells, as plain values: each function takes data and returns numbers, rows of tables or text."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.labels import is_missing
from oneof.plots import counts
from oneof.plots.figures import decided_columns
from oneof.plots.style import clean, shorten
from oneof.report.data import ReportData
from oneof.report.words import is_known
from oneof.typing import Floats, Ints, Mask

MAX_LEAST_SURE = 20
MAX_PAIRS = 12
MAX_COLUMNS = 5
MAX_NAMED = 6
CELL_WIDTH = 90
LABEL_WIDTH = 60


class Supervision(NamedTuple):
    """How the rows divide into exact, partial and unlabeled ones."""

    rows: int
    classes: int
    exact: int
    partial: int
    unlabeled: int
    mean_size: float
    """Mean number of candidates of the partial rows; NaN without any."""
    never_partial: int
    """Classes that stand in no partial set."""


class Baseline(NamedTuple):
    """The covering rates that need no learning."""

    guess: float
    """Of an answer drawn at random from all classes."""
    constant: float
    """Of always giving the best single answer."""
    answer: str


class TruthFacts(NamedTuple):
    """How the decisions on the training rows compare with the true labels."""

    n_partial: int
    right_partial: float
    chance_partial: float
    """What drawing at random from each set would get right."""
    n_unlabeled: int
    right_unlabeled: float
    n_known: int
    outside: int
    """Rows whose set does not hold the true label."""


class UnsureRow(NamedTuple):
    """One of the rows that the model is least sure of; `number` counts from 0."""

    number: int
    candidates: str
    label: str
    confidence: float
    truth: str | None
    cells: list[str]


def supervision(candidates: CandidateSets) -> Supervision:
    """Count exact, partial and unlabeled rows."""
    sizes, (n_rows, n_classes) = candidates.sizes, candidates.shape
    partial = counts.partial_rows(candidates.mask)
    exact, unlabeled = int((sizes == 1).sum()), int((sizes == n_classes).sum())
    mean_size = float(sizes[partial].mean()) if partial.any() else float("nan")
    never = n_classes - int(np.count_nonzero(candidates.mask[partial].any(axis=0)))
    return Supervision(n_rows, n_classes, exact, int(partial.sum()), unlabeled, mean_size, never)


def baseline(candidates: CandidateSets) -> Baseline | None:
    """Return what a guess and a constant answer would reach on the labeled rows; None without any."""
    labeled = candidates.mask[~candidates.is_unlabeled]
    if not len(labeled):
        return None
    rates = labeled.mean(axis=0)
    best = int(rates.argmax())
    return Baseline(float(rates.mean()), float(rates[best]), shorten(candidates.classes.tolist()[best], LABEL_WIDTH))


def compare_with_truth(candidates: CandidateSets, decided: Sequence[Any], truth: Sequence[Any]) -> TruthFacts | None:
    """Compare decisions with the true labels that are known; None if none is."""
    known = np.array([not is_missing(label) for label in truth], dtype=bool)
    if not known.any():
        return None
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    columns = np.array([column.get(label, -1) if here else -1 for label, here in zip(truth, known, strict=True)])
    right = np.array([known[i] and bool(decided[i] == truth[i]) for i in range(len(truth))])
    # Column -1 is the last class, which the second factor takes out again.
    inside = candidates.mask[np.arange(len(columns)), columns] & (columns >= 0)
    partial = known & counts.partial_rows(candidates.mask)
    unlabeled = known & candidates.is_unlabeled
    return TruthFacts(
        n_partial=int(partial.sum()),
        right_partial=_mean(right, partial),
        chance_partial=_mean(inside / candidates.sizes, partial),
        n_unlabeled=int(unlabeled.sum()),
        right_unlabeled=_mean(right, unlabeled),
        n_known=int(known.sum()),
        outside=int((known & ~inside).sum()),
    )


def least_sure(candidates: CandidateSets, confidence: Floats, limit: int = MAX_LEAST_SURE) -> tuple[Ints, Ints]:
    """Return the partial and the unlabeled rows of lowest confidence, each in its order, `limit` in all.

    The kinds are kept apart, half the places each where there are enough of both: shares among two candidates and among
    all classes do not compare, and the latter would take all places.
    """
    confidence = np.asarray(confidence)
    partial, unlabeled = (
        rows[np.argsort(confidence[rows], kind="stable")]
        for rows in map(np.flatnonzero, (counts.partial_rows(candidates.mask), candidates.is_unlabeled))
    )
    n_unlabeled = min(len(unlabeled), max(limit // 2, limit - len(partial)))
    return partial[: limit - n_unlabeled], unlabeled[:n_unlabeled]


def unsure_rows(data: ReportData) -> tuple[list[str], list[tuple[str, list[UnsureRow]]]]:
    """Return the columns previewed and, under a heading each, the partial and unlabeled rows of lowest confidence."""
    partial, unlabeled = least_sure(data.candidates, data.decisions.confidence)
    rows = [*partial.tolist(), *unlabeled.tolist()]
    cells = [data.cells(row) for row in rows]
    columns = list(dict.fromkeys(name for found in cells for name in found))[:MAX_COLUMNS]
    listed = [
        UnsureRow(
            number=row,
            candidates=name_candidates(data.candidates, row),
            label=shorten(data.decisions.labels[row], LABEL_WIDTH),
            confidence=float(data.decisions.confidence[row]),
            truth=None if data.truth is None else name_truth(data.truth[row]),
            cells=[_start(found.get(name, "")) for name in columns],
        )
        for row, found in zip(rows, cells, strict=True)
    ]
    groups = [("several candidates", listed[: len(partial)]), ("no label", listed[len(partial) :])]
    return [shorten(name, LABEL_WIDTH) for name in columns], [group for group in groups if group[1]]


def name_candidates(candidates: CandidateSets, row: int) -> str:
    """Write the set of a row; long sets are cut, and a full one is "any"."""
    columns = np.flatnonzero(candidates.mask[row])
    if len(columns) == candidates.shape[1]:
        return "any"
    names = [shorten(candidates.classes[k], LABEL_WIDTH) for k in columns[:MAX_NAMED].tolist()]
    more = len(columns) - len(names)
    return ", ".join(names) + (f", … ({more} more)" if more else "")


def name_truth(label: Any) -> str:
    """Write a true label, or nothing where it is missing."""
    return "" if is_missing(label) else shorten(label, LABEL_WIDTH)


def pair_rows(data: ReportData) -> list[dict[str, Any]]:
    """Return the pairs of labels that share a set most often, and how the model decided between them."""
    mask = data.candidates.mask
    decided = decided_columns(data.candidates, data.decisions.labels)
    names = [shorten(label, LABEL_WIDTH) for label in data.candidates.classes.tolist()]
    outcomes = counts.pair_outcomes(mask, decided, counts.top_pairs(counts.cooccurrence(mask), MAX_PAIRS))
    return [
        {
            "first": names[found.first],
            "second": names[found.second],
            "n_sets": found.n_sets,
            "decided_first": found.decided_first,
            "decided_second": found.decided_second,
            "other": found.n_sets - found.decided_first - found.decided_second,
        }
        for found in outcomes
    ]


def class_rows(candidates: CandidateSets) -> list[tuple[str, int, int]]:
    """Return name, rows as a candidate, and rows as the only one, of every class in order."""
    found = counts.class_frequencies(candidates.mask)
    names = [shorten(label, LABEL_WIDTH) for label in candidates.classes.tolist()]
    return list(zip(names, found.candidate.tolist(), found.sole.tolist(), strict=True))


def size_rows(candidates: CandidateSets) -> list[tuple[str, int]]:
    """Return the number of rows of each set size that occurs; unlabeled rows last."""
    sizes = counts.set_sizes(candidates.mask)
    rows = [(str(size), int(n)) for size, n in enumerate(sizes.rows) if n]
    return [*rows, ("no label", sizes.n_unlabeled)] if sizes.n_unlabeled else rows


def method_rows(data: ReportData) -> list[dict[str, Any]]:
    """Return the methods tried, or the one that was named, with what is known of each."""
    results = [data.estimate] if data.comparison is None else list(data.comparison.results)
    return [
        {
            "result": result,
            "name": clean(result.method),
            "chosen": result.method == data.method,
            "error": None if result.error is None else clean(result.error),
        }
        for result in results
    ]


def accuracy_known(data: ReportData) -> bool:
    """Tell whether any method's accuracy was measured."""
    results = [data.estimate, *(() if data.comparison is None else data.comparison.results)]
    return any(is_known(result.accuracy) for result in results)


def _start(cell: Any) -> str:
    text = clean(cell)
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 1].rstrip() + "…"


def _mean(values: Any, where: Mask) -> float:
    return float(np.mean(values[where])) if where.any() else float("nan")
