"""Selection of the next question for each window: which row, and for which purpose.

**Number of answers.** Every row needs `minimum` answers, and a fraction of the rows, drawn at random, one more: without
these, disagreement would not be visible, and the accuracies of the annotators could not be estimated. A row gets
another answer, up to `maximum` in all, as long as two of its answers have no class in common, or the probability of its
most probable class is below `confidence`. With the accuracy r_j of annotator j, an answer of s of K classes adds

    log(r_j / (1 - r_j)) + log((K - s) / s)

to the log probability of each of these classes (the model of sets of `oneof.crowd.AnnotatorModel`, with equal class
frequencies). Until the accuracies are estimated, only answers that exclude each other count.

**Gold rows** have known labels, and measure the accuracy of each annotator. An annotator gets one gold row among every
`interval` questions, at a position and in an order drawn at random. The page shows a gold row as any other row.

**Leases.** A row that is open in a window is not asked in another one for ten minutes.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.labeling.answers.log import INFORMED
from oneof.labeling.answers.state import AnswerState, have_conflict, informative_sets
from oneof.labeling.learner import Learner, ModelSnapshot
from oneof.likelihoods import softmax
from oneof.typing import Floats, Ints, Mask

LEASE_SECONDS = 600.0
"""Time during which a row that is open in one window is not asked in another."""
PURPOSES = ("free", "review", INFORMED)
"""Purposes of a question about a given row."""
MAX_OPEN_QUESTIONS = 1_000
"""Maximum number of asked questions that can still be answered."""
GOLD_INTERVAL = 20
"""One question among this many is a gold row, by default."""
DOUBLE_ANNOTATED = 0.2
"""Fraction of the rows with one more answer, if the number of answers is adaptive."""
CONFIDENCE = 0.9
"""Probability of the most probable class from which on a row needs no more answers."""
MIN_ACCURACY = 1e-3
"""Accuracies are at least this, and at most 1 minus this."""
_SEED = 0
"""Seed of the double-annotated rows: every process that opens the same answers selects the same ones."""


@dataclass(frozen=True, eq=False)
class Question:
    """A row to be labeled, with the prediction of the model at the time of the question.

    Attributes
    ----------
    id : str
        Random identifier.
    row : int
    annotator : str
    window : str
    purpose : {"query", "check", "gold", "free", "review", "informed review"}
        "query": selected by the strategy; "check": drawn at random to evaluate the model; "gold": a row with a known
        label; "free": opened by the annotator; "review": a row in dispute, opened again; "informed review": a row whose
        answers of other annotators are shown, now or before.
    score : float or None
        Utility by the session's strategy; None without a model.
    proba : ndarray of shape (n_classes,) or None
        Predicted class probabilities; None without a model. None, too, if the model may be fitted to the answers of
        others to this row, so that the answer is independent.
    n_labeled : int
        Number of rows that the model was fitted on.
    seen : int
        Number of the annotator's last entry for the row.
    """

    id: str
    row: int
    annotator: str
    window: str
    purpose: str
    score: float | None
    proba: Floats | None
    n_labeled: int
    seen: int

    @property
    def guess(self) -> int | None:
        """Code of the most probable class; None without a model."""
        return None if self.proba is None else int(np.argmax(self.proba))


class Assignment:
    """Decides whether a row needs another answer.

    Parameters
    ----------
    state : AnswerState
    n_rows, n_classes : int
    minimum, maximum : int
        Numbers of informative answers of a row.
    double_annotated : float
        Fraction of the rows that need one answer more than `minimum`, in [0, 1].
    confidence : float
        In (0, 1).

    Attributes
    ----------
    n_required : ndarray of shape (n_rows,)
        Number of answers that a row needs in any case.
    accuracies : dict of str to float, or None
        The estimated accuracy of each annotator.
    """

    def __init__(
        self,
        state: AnswerState,
        n_rows: int,
        n_classes: int,
        *,
        minimum: int,
        maximum: int,
        double_annotated: float,
        confidence: float = CONFIDENCE,
    ) -> None:
        self._state, self._n_classes = state, n_classes
        self._maximum, self._confidence = maximum, confidence
        self.accuracies: dict[str, float] | None = None
        self.n_required: Ints = np.full(n_rows, minimum)
        doubled = np.random.default_rng(_SEED).permutation(n_rows)[: round(double_annotated * n_rows)]
        self.n_required[doubled] += 1
        self.is_adaptive = maximum > minimum
        self.asks_first = self.is_adaptive or bool(len(doubled))
        """Whether rows with an answer that need another one are asked first."""
        self.asks_twice = self.is_adaptive or bool((self.n_required > 1).any())
        """Whether rows are asked of several annotators."""

    def sets(self, row: int) -> dict[str, tuple[int, ...]]:
        """Return the classes that each informative answer to a row allows, by annotator."""
        return informative_sets(self._state.answers(row), self._n_classes)

    def is_complete(self, row: int) -> bool:
        """Return whether a row needs no more answers."""
        sets = self.sets(row)
        if len(sets) < self.n_required[row]:
            return False
        if not self.is_adaptive or len(sets) >= self._maximum:
            return True
        if have_conflict(sets.values()):
            return False
        if self.accuracies is None:
            return True
        return bool(answer_posterior(sets, self.accuracies, self._n_classes).max() >= self._confidence)


def answer_posterior(sets: Mapping[str, Sequence[int]], accuracies: Mapping[str, float], n_classes: int) -> Floats:
    """Return the probabilities of the classes of a row, (n_classes,), given its answers.

    Parameters
    ----------
    sets : dict of annotator to sequence of int
        The classes that each answer allows; at least one, and not all of them.
    accuracies : dict of annotator to float
        Annotators that are missing have the mean of the others.
    n_classes : int
    """
    mean = float(np.mean(list(accuracies.values())))
    scores = np.zeros(n_classes)
    for name, allowed in sets.items():
        rate = min(max(accuracies.get(name, mean), MIN_ACCURACY), 1.0 - MIN_ACCURACY)
        scores[list(allowed)] += np.log(rate / (1.0 - rate)) + np.log((n_classes - len(allowed)) / len(allowed))
    return softmax(scores[None])[0]


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


class QuestionScheduler:
    """Selects the questions of all windows.

    Parameters
    ----------
    start : ndarray of shape (n_samples, n_classes), bool
        Initial candidate sets. Exact rows are never asked.
    state : AnswerState
    learner : Learner
    assignment : Assignment
        Decides whether a row needs another answer.
    gold : GoldQuestions
        Decides which questions are gold rows; these do not need answers.
    check_interval : int
        Every question of this interval is a random row, to evaluate the model; 0 for none.
    rng : RandomState
    queue : ndarray of int, optional
        Rows that are asked first, in this order, even if they are exact.
    """

    def __init__(
        self,
        start: Mask,
        state: AnswerState,
        learner: Learner,
        assignment: Assignment,
        gold: GoldQuestions,
        check_interval: int,
        rng: Any,
        queue: Ints | None = None,
    ) -> None:
        self._state, self._learner, self._assignment, self._gold = state, learner, assignment, gold
        self._check_interval, self._rng = check_interval, rng
        self._known = start.sum(axis=1) == 1
        self._queue: Ints = np.empty(0, dtype=np.int64) if queue is None else queue
        self._known[self._queue] = False
        self._is_queued = np.zeros(len(start), dtype=bool)
        self._is_queued[self._queue] = True
        self._known[gold.rows] = True
        self._remaining = ~self._known
        self._is_answered = np.zeros(len(start), dtype=bool)
        self._informed: set[tuple[int, str]] = set()
        self._n_asked = 0
        self._leases: dict[tuple[str, str], tuple[float, Question]] = {}
        self._open: dict[str, Question] = {}

    def is_queued(self, row: int) -> bool:
        """Return whether a row was given to be asked first."""
        return bool(self._is_queued[row])

    def update(self, row: int) -> None:
        """Update whether a row remains to be answered, after a new entry."""
        self._is_answered[row] = bool(self._assignment.sets(row))
        self._remaining[row] = not (self._known[row] or self._assignment.is_complete(row))

    def set_accuracies(self, accuracies: dict[str, float] | None) -> None:
        """Set the estimated accuracies of the annotators, which decide whether rows need more answers."""
        self._assignment.accuracies = accuracies
        for row in np.flatnonzero(self._is_answered).tolist():
            self.update(row)

    def remaining(self) -> Ints:
        """Return the indices of the rows that remain to be answered."""
        return np.flatnonzero(self._remaining)

    def ask(self, annotator: str, window: str, snapshot: ModelSnapshot | None) -> Question | None:
        """Return the open question of a window, or the next one; None if no row remains."""
        lease = self._leases.get((annotator, window))
        if lease is not None and lease[1].seen == self._state.version(lease[1].row, annotator):
            return lease[1]
        pool = self._pool(annotator)
        if not pool.any():
            return None
        row, purpose, score = self._pick(annotator, pool, snapshot)
        if score is None and snapshot is not None:
            score = self._learner.score(snapshot, row)
        return self._lease(row, (annotator, window), purpose, snapshot, score)

    def question_for(
        self, row: int, annotator: str, window: str, snapshot: ModelSnapshot | None, purpose: str = "free"
    ) -> Question:
        """Open a row of the annotator's choice in a window."""
        if purpose == INFORMED:
            self._informed.add((row, annotator))
        elif (row, annotator) in self._informed:
            purpose = INFORMED
        return self._lease(row, (annotator, window), purpose, snapshot)

    def get_question(self, question_id: str) -> Question | None:
        """Return an asked question by its id, even if its lease has expired."""
        return self._open.get(question_id)

    def release(self, question: Question) -> None:
        """End the lease of a question."""
        pair = question.annotator, question.window
        if pair in self._leases and self._leases[pair][1].id == question.id:
            del self._leases[pair]

    def _lease(
        self, row: int, pair: tuple[str, str], purpose: str, snapshot: ModelSnapshot | None, score: float | None = None
    ) -> Question:
        annotator, window = pair
        is_asked_once = purpose == "gold" and not self._assignment.asks_twice
        is_shown = purpose == INFORMED or is_asked_once or not set(self._assignment.sets(row)) - {annotator}
        question = Question(
            id=secrets.token_urlsafe(12),
            row=row,
            annotator=annotator,
            window=window,
            purpose=purpose,
            score=score,
            proba=snapshot.proba[row].copy() if snapshot is not None and is_shown else None,  # a view keeps all rows
            n_labeled=0 if snapshot is None else snapshot.n_labeled,
            seen=self._state.version(row, annotator),
        )
        self._leases[pair] = time.monotonic(), question
        self._open[question.id] = question
        if len(self._open) > MAX_OPEN_QUESTIONS:
            del self._open[next(iter(self._open))]
        return question

    def _pool(self, annotator: str) -> Mask:
        """Return the mask of rows that may be asked; skipped rows are included only if no others remain."""
        pool = self._remaining & ~self._leased()
        pool[self._state.answered_by(annotator)] = False
        not_skipped = pool.copy()
        not_skipped[self._state.skipped(annotator)] = False
        return not_skipped if not_skipped.any() else pool

    def _leased(self) -> Mask:
        """Return the mask of the rows that are open in a window."""
        now = time.monotonic()
        self._leases = {pair: lease for pair, lease in self._leases.items() if now - lease[0] < LEASE_SECONDS}
        leased = np.zeros(len(self._remaining), dtype=bool)
        leased[[question.row for _, question in self._leases.values()]] = True
        return leased

    def _pick(self, annotator: str, pool: Mask, snapshot: ModelSnapshot | None) -> tuple[int, str, float | None]:
        """Return a row of the pool, or a gold row, the purpose of the question, and the score of a prefetched one."""
        queued = self._queue[pool[self._queue]]
        # A gold row is displayed as the question that it replaces: both are rows of the queue, or both are not.
        other_kind = self._is_queued != bool(len(queued))
        gold = self._gold.pick(annotator, self._state, self._leased() | other_kind)
        if gold is not None:
            return gold, "gold", None
        if len(queued):
            return int(queued[0]), "query", None
        self._n_asked += 1
        unanswered = np.flatnonzero(pool & ~self._is_answered)  # the model may be fitted to the answers to a row
        is_check = self._check_interval and self._n_asked % self._check_interval == 0
        if snapshot is not None and is_check and len(unanswered):
            return int(self._rng.choice(unanswered)), "check", None
        pending = np.flatnonzero(pool & self._is_answered)
        if self._assignment.asks_first and len(pending):
            return int(self._rng.choice(pending)), "query", None
        if snapshot is not None and pool[snapshot.rows].any():
            first = int(pool[snapshot.rows].argmax())
            return int(snapshot.rows[first]), "query", float(snapshot.scores[first])
        return int(self._rng.choice(np.flatnonzero(pool))), "query", None  # all prefetched questions are answered
