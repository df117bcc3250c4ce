"""Answers of a session in memory, synchronized with the log, and the resulting candidate sets."""

import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from oneof.candidates import CandidateSets
from oneof.errors import DataError
from oneof.labeling import quality
from oneof.labeling.answers.log import AnswerLog, Entry
from oneof.labeling.answers.state import AnswerState, combine, from_evidence
from oneof.typing import Evidence, Labels


class AnswerStore:
    """Answers of a log that other processes may write to as well.

    Each method first reads the entries written since the last call.

    Parameters
    ----------
    log : AnswerLog
    start : ndarray of shape (n_samples, n_classes)
        Evidence of rows without an answer: a mask of the candidates, or weights.
    classes : ndarray of shape (n_classes,)
    min_votes, top_k
        See `oneof.labeling.answers.state.combine`.
    gold : collection of int
        Rows with known labels, whose answers are not combined.
    excluded : collection of str
        Annotators whose entries are ignored; the log keeps them.

    Attributes
    ----------
    lock : RLock
        Lock to be held while several calls must see the same answers.
    state : AnswerState
        State at the last `sync`.
    min_votes : int
    on_change : callable or None
        Callback ``(row)`` for each row with new entries.
    """

    def __init__(
        self,
        log: AnswerLog,
        start: Evidence,
        classes: Labels,
        *,
        min_votes: int,
        top_k: int | None,
        gold: Collection[int] = (),
        excluded: Collection[str] = (),
    ) -> None:
        self.lock, self.state, self.start = threading.RLock(), AnswerState(excluded), start
        self.on_change: Callable[[int], None] | None = None
        self._log, self._classes = log, classes
        self.min_votes, self._top_k, self._gold = min_votes, top_k, gold
        self._evidence, self._changed = start.copy(), set[int]()

    def sync(self) -> None:
        """Read all entries that this or another process has written since; if one is invalid, read none of them."""
        with self.lock:
            entries = self._log.since(self.state.last)
            for entry in entries:
                self._check(entry)
            for entry in entries:
                self.state.add(entry)
                self._changed.add(entry.row)
                if self.on_change is not None:
                    self.on_change(entry.row)

    @contextmanager
    def reading(self) -> Iterator[AnswerState]:
        """Hold the lock, and yield the state after the last entry of the log."""
        with self.lock:
            self.sync()
            yield self.state

    def write(self, entry: Entry, seen: int) -> Entry:
        """Write an entry unless its row and annotator have an entry with a number above `seen`."""
        with self.lock:
            written = self._log.append(entry, seen=seen)
            self.sync()
        return written

    def import_entries(self, entries: Sequence[Entry]) -> int:
        """Write all new entries, or none after an error, and return their number."""
        with self.lock:
            n_new = len(self._log.append_all(entries))
            self.sync()
        return n_new

    def undo(self, annotator: str, number: int | None, key: str) -> Entry | None:
        """Undo an answer or skip, the annotator's last one or the one of a number, and return it.

        Return None if there is nothing to undo. A repeated request with the same key, for example after a lost
        response, returns the same entry again.
        """
        with self.reading() as state:
            existing = self._log.find(key)
            if existing is not None and existing.undoes is not None:
                return state.entries.get(existing.undoes)  # None of an excluded annotator
            undone = state.last_undoable(annotator, number)
            if undone is not None:
                entry = Entry(key, annotator, undone.row, "undo", undoes=undone.number)
                self.write(entry, state.version(undone.row, annotator))
        return undone

    def candidates(self) -> CandidateSets:
        """Return the candidate sets of all rows: the combined answers, or the initial set of a row without answers."""
        with self.lock:
            return from_evidence(self.evidence(), self._classes)

    def evidence(self) -> Evidence:
        """Return the evidence of all rows, for reading; it changes with the next answer."""
        with self.reading() as state:
            if rows := sorted(self._changed.difference(self._gold)):
                answers = {index: state.answers(row) for index, row in enumerate(rows)}
                combined = combine(
                    answers, self.start[rows], self._classes, min_votes=self.min_votes, top_k=self._top_k
                )
                self._evidence[rows] = combined.evidence
            self._changed.clear()  # after an error they are combined again
            return self._evidence

    def current_answer(self, row: int, annotator: str) -> Entry | None:
        """Return the annotator's current answer to a row."""
        with self.reading() as state:
            return state.answers(row).get(annotator)

    def current_answers(self) -> dict[int, dict[str, Entry]]:
        """Return the current answers by row and annotator."""
        with self.reading() as state:
            return state.all_answers()

    def history(self, annotator: str | None = None, n: int = 10) -> list[Entry]:
        """Return the last `n` entries that are not undone, of one annotator or all, latest first."""
        with self.reading() as state:
            return state.history(annotator, n)

    def log(self) -> list[Entry]:
        """Return every entry, including undone entries and undos."""
        return self._log.since(0)

    def checks(self) -> list[quality.Check]:
        """Return the random rows by which the model is evaluated, in order."""
        with self.reading() as state:
            return quality.collect_checks(state, len(self._classes))

    def _check(self, entry: Entry) -> None:
        """Raise if the row or a class of an entry is out of range: another program has changed the file."""
        n_rows, n_classes = self.start.shape
        if not 0 <= entry.row < n_rows or not all(0 <= code < n_classes for code in entry.labels):
            raise DataError(
                f"entry {entry.number} of the answers has a row or a class out of range. If another session of this "
                "file has added a class, start this one again; otherwise use a copy of the file, or another file "
                "(--session)."
            )

    def close(self) -> None:
        """Close the file."""
        self._log.close()


def new_key() -> str:
    """Return a random key for an entry."""
    return secrets.token_urlsafe(12)
