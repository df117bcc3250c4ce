"""Answers to a question: one or more labels, excluded labels, "don't know", a skip, or an undo.

An answer with labels may state how certain the annotator is: "sure", "probably" or "guess".
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import LabelError
from oneof.labeling.answers.degrees import check_degree
from oneof.labeling.answers.log import Entry, Kind
from oneof.labeling.answers.store import AnswerStore, new_key
from oneof.labeling.learner import TrainingLoop
from oneof.labeling.scheduler import Question, QuestionScheduler
from oneof.labeling.validation import check_name, check_question, check_text
from oneof.typing import Labels


class AnswerAPI:
    """Methods of a session that write answers and undo them.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    answers : AnswerStore
    """

    classes: Labels
    answers: AnswerStore
    _scheduler: QuestionScheduler
    _training: TrainingLoop

    def answer(self, question: Question, labels: Any, *, degree: str | None = None, key: str | None = None) -> Entry:
        """Answer that the label is this one, or one of these.

        Parameters
        ----------
        question : Question
            A result of `ask` or `question_for`.
        labels : label or collection of labels
        degree : {"sure", "probably", "guess"}, optional
            How certain the annotator is. Rows with such answers have weights, by the reliability of the degree; see
            `reliabilities`.
        key : str, optional
            An answer that is sent twice with the same key is written once.

        Returns
        -------
        Entry
            The entry, already written to the disk.

        Raises
        ------
        InputError
            If `degree` is unknown.
        LabelError
            If a label is not a class, or no label is given.
        ConflictError
            If the annotator has since answered the row in another window.
        """
        return self._write(question, "one of", self._codes(labels), key, degree)

    def reject(self, question: Question, labels: Any, *, degree: str | None = None, key: str | None = None) -> Entry:
        """Answer that the label is none of these.

        Parameters
        ----------
        question : Question
            A result of `ask` or `question_for`.
        labels : label or collection of labels
        degree : {"sure", "probably", "guess"}, optional
            As in `answer`.
        key : str, optional
            An answer that is sent twice with the same key is written once.

        Returns
        -------
        Entry

        Raises
        ------
        InputError
            If `degree` is unknown.
        LabelError
            If a label is not a class, if no label is given, or if all classes are excluded.
        ConflictError
            If the annotator has since answered the row in another window.
        """
        codes = self._codes(labels)
        if len(codes) == len(self.classes):
            raise LabelError("`labels` must not exclude every class: leave at least one.")
        return self._write(question, "none of", codes, key, degree)

    def dont_know(self, question: Question, *, key: str | None = None) -> Entry:
        """Answer that the annotator does not know; other annotators may still be asked.

        Parameters
        ----------
        question : Question
            A result of `ask` or `question_for`.
        key : str, optional
            An answer that is sent twice with the same key is written once.

        Returns
        -------
        Entry
        """
        return self._write(question, "unknown", (), key)

    def skip(self, question: Question, *, key: str | None = None) -> Entry:
        """Postpone the row until no other rows remain.

        Parameters
        ----------
        question : Question
            A result of `ask` or `question_for`.
        key : str, optional
            An answer that is sent twice with the same key is written once.

        Returns
        -------
        Entry
        """
        return self._write(question, "skip", (), key)

    def undo(self, annotator: str = "me", *, number: int | None = None, key: str | None = None) -> Entry | None:
        """Undo the annotator's last answer or skip, or the entry of a given number.

        Parameters
        ----------
        annotator : str, default="me"
        number : int, optional
            Number of the entry; by default the last one that is not undone.
        key : str, optional
            As in `answer`.

        Returns
        -------
        Entry or None
            The undone entry; None if there is nothing to undo.

        Raises
        ------
        ConflictError
            If the entry of this number cannot be undone.
        """
        check_name(annotator)
        _check_key(key)
        undone = self.answers.undo(annotator, number, key or new_key())
        self._wake()
        return undone

    def _write(
        self, question: Question, kind: Kind, codes: tuple[int, ...], key: str | None, degree: str | None = None
    ) -> Entry:
        """Write an answer, release its question and wake the training thread."""
        check_question(question, len(self.answers.start))
        check_degree(degree)
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
            degree=degree,
        )
        with self.answers.lock:
            written = self.answers.write(entry, question.seen)
            self._scheduler.release(question)
        self._wake()
        return written

    def _wake(self) -> None:
        """Notify the training thread of new answers."""
        self._training.wake(self.answers.state.last)

    def _codes(self, labels: Any) -> tuple[int, ...]:
        """Return the codes of one or more labels."""
        listed = list(labels) if isinstance(labels, Collection) and not isinstance(labels, str) else [labels]
        if not listed:
            raise LabelError("`labels` must name one or more classes; got none. If unsure, answer `unknown`.")
        mask = CandidateSets.from_sets([listed], classes=self.classes).mask
        return tuple(np.flatnonzero(mask[0]).tolist())


def _check_key(key: Any) -> None:
    if key is not None:
        check_text("key", key)
