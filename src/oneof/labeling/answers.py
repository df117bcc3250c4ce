"""The answers of a session: those in its log, those that stand, and the candidate sets that they leave."""

import secrets
import threading
from collections.abc import Callable, Sequence

from oneof.candidates import CandidateSets
from oneof.errors import DataError
from oneof.labeling import quality
from oneof.labeling.ledger import Ledger
from oneof.labeling.log import AnswerLog, Entry
from oneof.labeling.votes import combine
from oneof.typing import Labels, Mask


class Answers:
    """A log to which other processes may write too, added up.

    Each method first takes in what was written since.

    Parameters
    ----------
    log : AnswerLog
    start : ndarray of shape (n_samples, n_classes), bool
        What is known of rows that nobody has said anything of.
    classes : ndarray of shape (n_classes,)
    min_votes, top
        See `oneof.labeling.votes.combine`.

    Attributes
    ----------
    lock : RLock
        To be held while several calls should see the same answers.
    ledger : Ledger
        As of the last `sync`.
    noted : callable or None
        Called with each row of which something new was taken in.
    """

    def __init__(self, log: AnswerLog, start: Mask, classes: Labels, *, min_votes: int, top: int | None) -> None:
        self.lock, self.ledger, self.start = threading.RLock(), Ledger(), start
        self.noted: Callable[[int], None] | None = None
        self._log, self._classes = log, classes
        self._min_votes, self._top = min_votes, top
        self._mask = start.copy()

    def sync(self) -> None:
        """Take in what this or another process has written since; all of it or, if something goes wrong, nothing."""
        with self.lock:
            entries = self._log.since(self.ledger.last)
            for entry in entries:
                self._check(entry)
            standing = self.ledger.after(entries)
            changed = sorted(standing)
            if changed:
                answers = {place: standing[row] for place, row in enumerate(changed)}
                told = combine(answers, self.start[changed], self._classes, min_votes=self._min_votes, top=self._top)
                self._mask[changed] = told.mask
            for entry in entries:
                self.ledger.add(entry)
            for row in changed:
                if self.noted is not None:
                    self.noted(row)

    def write(self, entry: Entry, seen: int) -> Entry:
        """Write an entry, unless there is one of its row and annotator after the number `seen`."""
        with self.lock:
            written = self._log.append(entry, seen=seen)
            self.sync()
        return written

    def take_over(self, entries: Sequence[Entry]) -> int:
        """Write all entries that are new, or none, and return how many they are."""
        with self.lock:
            n_new = len(self._log.append_all(entries))
            self.sync()
        return n_new

    def undo(self, annotator: str, number: int | None, key: str) -> Entry | None:
        """Write that an annotator takes back an answer or skip, the last or the one of a number, and return it.

        None where there is nothing. What was taken back with the same key already is returned once more, as when its
        acknowledgement was lost.
        """
        with self.lock:
            self.sync()
            done = self._log.find(key)
            if done is not None and done.undoes is not None:
                return self.ledger.entries[done.undoes]
            undone = self.ledger.undoable(annotator, number)
            if undone is not None:
                entry = Entry(key, annotator, undone.row, "undo", undoes=undone.number)
                self.write(entry, self.ledger.version(undone.row, annotator))
        return undone

    def candidates(self) -> CandidateSets:
        """Return the candidate sets of all rows: the answers combined, and elsewhere what was known beforehand."""
        with self.lock:
            self.sync()
            return CandidateSets(self._mask, self._classes)

    def standing(self, row: int, annotator: str) -> Entry | None:
        """Return the annotator's standing answer to a row."""
        with self.lock:
            self.sync()
            return self.ledger.answers(row).get(annotator)

    def history(self, annotator: str | None = None, n: int = 10) -> list[Entry]:
        """Return the last entries that stand, of one annotator or all, the latest first."""
        with self.lock:
            self.sync()
            return self.ledger.history(annotator, n)

    def log(self) -> list[Entry]:
        """Return every entry, undone ones and undos too."""
        return self._log.since(0)

    def checks(self) -> list[tuple[int, bool, bool]]:
        """Return of each row drawn at random: the number of answers before it, whether covered, whether exact."""
        with self.lock:
            self.sync()
            return quality.judged(self.ledger, len(self._classes))

    def _check(self, entry: Entry) -> None:
        """Raise if an entry is about a row or a class that there is not: the file was changed by another program."""
        n_rows, n_classes = self.start.shape
        if not 0 <= entry.row < n_rows or not all(0 <= code < n_classes for code in entry.labels):
            raise DataError(f"entry {entry.number} of the answers names a row or a class that there is not.")

    def close(self) -> None:
        """Close the file."""
        self._log.close()


def new_key() -> str:
    """Return a key for an entry."""
    return secrets.token_urlsafe(12)
