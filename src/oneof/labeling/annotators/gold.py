"""Gold rows: rows with known labels among the questions, which measure the accuracy of each annotator.

An annotator gets one gold row among every `interval` questions, at a position and in an order drawn at random. The page
shows a gold row as any other row: the model of the page is fitted without the known labels, and answers to gold rows
are no labels.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates import CandidateSets, as_classes
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import AnswerState, allowed_classes, from_evidence
from oneof.labeling.quality import wilson
from oneof.typing import Evidence, Ints, Labels, Mask

GOLD_INTERVAL = 20
"""One question among this many is a gold row, by default."""


class GoldAccuracy(NamedTuple):
    """Accuracy of an annotator on gold rows.

    Attributes
    ----------
    n_rows : int
        Number of answered gold rows, without "don't know" answers.
    n_correct : int
        Number of these whose first answer contains the known label.
    low, high : float
        Bounds of Wilson's 95 % interval of the accuracy; 0 and 1 without answers.
    """

    n_rows: int
    n_correct: int
    low: float
    high: float

    @property
    def rate(self) -> float | None:
        """Fraction of correct answers; None without answers."""
        return self.n_correct / self.n_rows if self.n_rows else None


def check_gold(gold: Any, classes: Labels, n_rows: int) -> dict[int, int]:
    """Return the code of the known label of each gold row.

    Parameters
    ----------
    gold : dict of int to label, or None
    classes : ndarray of shape (n_classes,)
    n_rows : int

    Raises
    ------
    InputError, InputTypeError, LabelError
        If `gold` is not a mapping, has a row out of range, or a label that is not one class.
    """
    if gold is None:
        return {}
    if not isinstance(gold, Mapping):
        raise InputTypeError(f"`gold` must be a dict of row to label, or None; got {type(gold).__name__}.")
    codes = {str(name): k for k, name in enumerate(as_classes(classes).tolist())}
    known = {}
    for row, label in gold.items():
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_rows:
            raise InputError(f"`gold` must have row indices from 0 to {n_rows - 1} as keys; got {row!r}.")
        if str(label) not in codes:
            listed = ", ".join(list(codes)[:8])
            raise LabelError(f"`gold` must have one of the classes {listed} for row {row}; got {label!r}.")
        known[int(row)] = codes[str(label)]
    return known


def hide_labels(evidence: Evidence, gold: Mapping[int, int], queue: Ints | None = None) -> Evidence:
    """Return the initial evidence with unlabeled rows instead of exact gold rows, so that they may be asked.

    Rows of `queue` are displayed with their initial labels, so gold rows among them keep these.
    """
    rows = np.array(sorted({*gold} - {*([] if queue is None else queue.tolist())}), dtype=np.int64)
    if not len(rows):
        return evidence
    exact = rows[(evidence[rows] > 0).sum(axis=1) == 1]
    hidden = evidence.copy()
    hidden[exact] = 1
    return hidden


def set_labels(candidates: CandidateSets, gold: Mapping[int, int]) -> CandidateSets:
    """Return candidate sets with the known labels of the gold rows."""
    if not gold:
        return candidates
    evidence = candidates.evidence.copy()
    evidence[list(gold)] = 0
    evidence[list(gold), list(gold.values())] = 1
    return from_evidence(evidence, candidates.classes)


def measure_accuracy(
    first: Mapping[int, Mapping[str, Entry]], gold: Mapping[int, int], n_classes: int
) -> dict[str, GoldAccuracy]:
    """Return the accuracy of each annotator with an informative answer to a gold row.

    Parameters
    ----------
    first : dict of row to dict of annotator to Entry
        The first independent answers.
    gold : dict of row to code of the known label
    n_classes : int
    """
    counts: dict[str, list[bool]] = {}
    for row, code in gold.items():
        for name, entry in first.get(row, {}).items():
            allowed = allowed_classes(entry, n_classes)
            if allowed:
                counts.setdefault(name, []).append(code in allowed)
    return {name: GoldAccuracy(len(hits), sum(hits), *wilson(sum(hits), len(hits))) for name, hits in counts.items()}


class GoldQuestions:
    """Decides which questions are gold rows.

    Parameters
    ----------
    gold : collection of int
        Rows with known labels.
    interval : int
        One question among this many is a gold row.
    rng : RandomState
    """

    def __init__(self, gold: Any, interval: int, rng: Any) -> None:
        self.rows: Ints = np.array(sorted(gold), dtype=np.int64)
        self._interval, self._rng = interval, rng
        self._turns: dict[str, tuple[int, int]] = {}

    def pick(self, annotator: str, state: AnswerState, excluded: Mask) -> int | None:
        """Return the gold row of the next question of an annotator; None if the question is of another kind.

        Parameters
        ----------
        annotator : str
        state : AnswerState
        excluded : ndarray of shape (n_samples,), bool
            Rows that are open in a window, or that the page would display in another way than the question.
        """
        if not len(self.rows):
            return None
        position, turn = self._turns.get(annotator, (0, 0))
        if position == 0:
            turn = int(self._rng.randint(self._interval))
        self._turns[annotator] = (position + 1) % self._interval, turn
        if position != turn:
            return None
        past = {*state.answered_by(annotator), *state.skipped(annotator)}
        available = [row for row in self.rows.tolist() if row not in past and not excluded[row]]
        return int(self._rng.choice(available)) if available else None
