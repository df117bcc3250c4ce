"""What may be said to a question: that the label is one of these, none of these, or that one cannot tell."""

from collections.abc import Collection
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import LabelError
from oneof.labeling.answers import Answers, new_key
from oneof.labeling.asking import Asker, Question
from oneof.labeling.given import check_name, check_question, check_text
from oneof.labeling.log import Entry, Kind
from oneof.labeling.training import Training
from oneof.typing import Labels


class Answering:
    """The half of a session that writes: its answers, and what takes them back.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    answers : Answers
    """

    classes: Labels
    answers: Answers
    _asker: Asker
    _training: Training

    def answer(self, question: Question, labels: Any, *, key: str | None = None) -> Entry:
        """Write down that the label is this one, or one of these.

        Parameters
        ----------
        question : Question
            As `ask` or `look` returned it.
        labels : label or collection of labels
        key : str, optional
            An answer that is given twice with the same key is written once.

        Returns
        -------
        Entry
            When it is returned it is on the disk.

        Raises
        ------
        LabelError
            If a label is not among the classes, or none is given.
        ConflictError
            If the annotator has answered the row in another window since.
        """
        return self._give(question, "one of", self._codes(labels), key)

    def reject(self, question: Question, labels: Any, *, key: str | None = None) -> Entry:
        """Write down that the label is none of these.

        Parameters
        ----------
        question : Question
            As `ask` or `look` returned it.
        labels : label or collection of labels
        key : str, optional
            An answer that is given twice with the same key is written once.

        Returns
        -------
        Entry

        Raises
        ------
        LabelError
            If a label is not among the classes, none is given, or all are.
        ConflictError
            If the annotator has answered the row in another window since.
        """
        codes = self._codes(labels)
        if len(codes) == len(self.classes):
            raise LabelError("all classes are ruled out: leave at least one.")
        return self._give(question, "none of", codes, key)

    def dont_know(self, question: Question, *, key: str | None = None) -> Entry:
        """Write down that the annotator cannot tell; others may still be asked.

        Parameters
        ----------
        question : Question
            As `ask` or `look` returned it.
        key : str, optional
            An answer that is given twice with the same key is written once.

        Returns
        -------
        Entry
        """
        return self._give(question, "unknown", (), key)

    def skip(self, question: Question, *, key: str | None = None) -> Entry:
        """Put the row off: it is asked again when there are no others.

        Parameters
        ----------
        question : Question
            As `ask` or `look` returned it.
        key : str, optional
            An answer that is given twice with the same key is written once.

        Returns
        -------
        Entry
        """
        return self._give(question, "skip", (), key)

    def undo(self, annotator: str = "me", *, number: int | None = None, key: str | None = None) -> Entry | None:
        """Take back the annotator's last answer or skip, or the one of that number.

        Parameters
        ----------
        annotator : str, default="me"
        number : int, optional
            Of the entry; by default the last one that stands.
        key : str, optional
            As in `answer`.

        Returns
        -------
        Entry or None
            What was taken back; None where there is nothing.

        Raises
        ------
        ConflictError
            If the named one is not there to be taken back.
        """
        check_name(annotator)
        _check_key(key)
        undone = self.answers.undo(annotator, number, key or new_key())
        self._wake()
        return undone

    def _give(self, question: Question, kind: Kind, codes: tuple[int, ...], key: str | None) -> Entry:
        check_question(question, len(self.answers.start))
        _check_key(key)
        entry = Entry(
            key or new_key(),
            question.annotator,
            question.row,
            kind,
            codes,
            purpose=question.purpose,
            guess=question.guess,
            score=question.score,
        )
        with self.answers.lock:
            written = self.answers.write(entry, question.seen)
            self._asker.release(question)
        self._wake()
        return written

    def _wake(self) -> None:
        """Let the model know that there may be more to learn from."""
        self._training.wake(self.answers.ledger.last)

    def _codes(self, labels: Any) -> tuple[int, ...]:
        listed = list(labels) if isinstance(labels, Collection) and not isinstance(labels, str) else [labels]
        if not listed:
            raise LabelError("no label is named: name one or more, or say that you do not know.")
        mask = CandidateSets.from_sets([listed], classes=self.classes).mask
        return tuple(np.flatnonzero(mask[0]).tolist())


def _check_key(key: Any) -> None:
    if key is not None:
        check_text("key", key)
