"""The answers that stand, kept up with a log to which other processes may write too."""

from oneof.candidates import CandidateSets
from oneof.typing import Labels, Mask
from oneof.web.ledger import Ledger
from oneof.web.log import AnswerLog
from oneof.web.votes import combine


class Standing:
    """The ledger of a log, and the candidate sets that it leaves.

    Parameters
    ----------
    log : AnswerLog
    start : ndarray of shape (n_samples, n_classes), bool
        What is known of rows that nobody has said anything of.
    classes : ndarray of shape (n_classes,)
    min_votes, top
        See `oneof.web.votes.combine`.
    """

    def __init__(self, log: AnswerLog, start: Mask, classes: Labels, *, min_votes: int, top: int | None) -> None:
        self.ledger = Ledger()
        self.start, self._log, self._classes = start, log, classes
        self._min_votes, self._top = min_votes, top
        self._mask = start.copy()

    def sync(self) -> list[int]:
        """Take in what was written since, and return the rows that it is about."""
        entries = self._log.since(self.ledger.last)
        for entry in entries:
            self.ledger.add(entry)
        changed = sorted({entry.row for entry in entries})
        if changed:
            answers = {place: self.ledger.answers(row) for place, row in enumerate(changed)}
            told = combine(answers, self.start[changed], self._classes, min_votes=self._min_votes, top=self._top)
            self._mask[changed] = told.mask
        return changed

    def candidates(self) -> CandidateSets:
        """Return the candidate sets of all rows, as of the last `sync`."""
        return CandidateSets(self._mask, self._classes)
