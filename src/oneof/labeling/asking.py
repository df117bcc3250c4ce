"""Which row to ask whom: rows that are wanted, rows that another window has before it, and how one is picked."""

import secrets
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.labeling.learner import Learned, Learner
from oneof.labeling.ledger import Ledger
from oneof.labeling.votes import members
from oneof.typing import Floats, Ints, Mask

LEASE = 600.0
"""Seconds for which a row that one window shows is not asked in another."""
_REMEMBERED = 1_000
"""Questions that can still be answered after they were asked."""


@dataclass(frozen=True, eq=False)
class Question:
    """A row to be labeled, and what there was to say of it when it was asked.

    Attributes
    ----------
    id : str
        Chosen at random.
    row : int
    annotator : str
    window : str
    purpose : {"query", "check", "free"}
        Asked since it would tell most; drawn at random, to judge the model; chosen by the annotator.
    score : float or None
        By the session's strategy; None where there is no model yet.
    shares : ndarray of shape (n_classes,) or None
        What the model guesses.
    n_told : int
        Rows that the model had learned from.
    seen : int
        Number of the annotator's last entry for the row.
    """

    id: str
    row: int
    annotator: str
    window: str
    purpose: str
    score: float | None
    shares: Floats | None
    n_told: int
    seen: int

    @property
    def guess(self) -> int | None:
        """Code of the class that the model holds most probable."""
        return None if self.shares is None else int(np.argmax(self.shares))


class Asker:
    """Picks questions.

    Parameters
    ----------
    start : ndarray of shape (n_samples, n_classes), bool
        Rows with one candidate are never asked.
    ledger : Ledger
    learner : Learner
    overlap : int
        From how many annotators an answer to each row is wanted.
    check_every : int
        Each how many-th question is drawn at random, to judge the model; 0 for none.
    random_state : RandomState
    """

    def __init__(
        self, start: Mask, ledger: Ledger, learner: Learner, overlap: int, check_every: int, random_state: Any
    ) -> None:
        self._ledger, self._learner, self._overlap = ledger, learner, overlap
        self._check_every, self._random = check_every, random_state
        self._n_classes = start.shape[1]
        self._exact = start.sum(axis=1) == 1
        self._wanted = ~self._exact
        self._n_asked = 0
        self._leases: dict[tuple[str, str], tuple[float, Question]] = {}
        self._asked: dict[str, Question] = {}

    def note(self, row: int) -> None:
        """Take notice of a new entry for a row."""
        given = self._ledger.answers(row).values()
        enough = sum(bool(members(entry, self._n_classes)) for entry in given) >= self._overlap
        self._wanted[row] = not (enough or self._exact[row])

    def wanted(self) -> Ints:
        """Return the rows that somebody is still to answer."""
        return np.flatnonzero(self._wanted)

    def ask(self, annotator: str, window: str, learned: Learned | None) -> Question | None:
        """Return the next question of a window: the one before it, until it is answered; None where none is left."""
        held = self._leases.get((annotator, window))
        if held is not None and held[1].seen == self._ledger.version(held[1].row, annotator):
            return held[1]
        pool = self._pool(annotator)
        if not pool.any():
            return None
        row, purpose, score = self._pick(pool, learned)
        return self._lease(row, annotator, window, purpose, score, learned)

    def look(self, row: int, annotator: str, window: str, learned: Learned | None) -> Question:
        """Put a row of the annotator's choice before a window."""
        return self._lease(row, annotator, window, "free", None, learned)

    def find(self, question: str) -> Question | None:
        """Return a question that was asked, also if it is no longer kept for its window."""
        return self._asked.get(question)

    def release(self, question: Question) -> None:
        """Take a question away from its window."""
        place = question.annotator, question.window
        if place in self._leases and self._leases[place][1].id == question.id:
            del self._leases[place]

    def _lease(
        self, row: int, annotator: str, window: str, purpose: str, score: float | None, learned: Learned | None
    ) -> Question:
        question = Question(
            id=secrets.token_urlsafe(12),
            row=row,
            annotator=annotator,
            window=window,
            purpose=purpose,
            score=score,
            shares=None if learned is None else learned.shares[row],
            n_told=0 if learned is None else learned.n_told,
            seen=self._ledger.version(row, annotator),
        )
        self._leases[annotator, window] = time.monotonic(), question
        self._asked[question.id] = question
        if len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]
        return question

    def _pool(self, annotator: str) -> Mask:
        """Return which rows may be asked; those that were put off only where there are no others."""
        now = time.monotonic()
        pool = self._wanted.copy()
        self._leases = {place: held for place, held in self._leases.items() if now - held[0] < LEASE}
        pool[[held.row for _, held in self._leases.values()]] = False
        pool[self._ledger.answered_by(annotator)] = False
        put_off = self._ledger.skipped(annotator)
        others = pool.copy()
        others[put_off] = False
        return others if others.any() else pool

    def _pick(self, pool: Mask, learned: Learned | None) -> tuple[int, str, float | None]:
        self._n_asked += 1
        if learned is None:
            return int(self._random.choice(np.flatnonzero(pool))), "query", None
        if self._check_every and self._n_asked % self._check_every == 0:
            row = int(self._random.choice(np.flatnonzero(pool)))
            return row, "check", self._learner.score(learned, row)
        ahead = np.flatnonzero(pool[learned.rows])
        if len(ahead):
            return int(learned.rows[ahead[0]]), "query", float(learned.scores[ahead[0]])
        row = int(self._random.choice(np.flatnonzero(pool)))  # more answers than questions were chosen ahead
        return row, "query", self._learner.score(learned, row)
