"""Labelling without a page: what the server, a notebook and a simulation do alike."""

import os
import secrets
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from oneof.candidates import CandidateSets
from oneof.errors import InputError, LabelError
from oneof.estimators.base import check_positive
from oneof.typing import Mask, Rows
from oneof.web import importing, quality
from oneof.web.asking import Asker, Question
from oneof.web.beginning import check_name, describe, read_start
from oneof.web.learner import Learner, Learnt, can_learn
from oneof.web.log import AnswerLog, Entry, Kind
from oneof.web.nearest import Neighbour, nearest_told
from oneof.web.standing import Standing
from oneof.web.table import LabelTable, rows_by
from oneof.web.trainer import Trainer


class LabellingSession:
    """Rows, people who label them, and a model that picks the next question.

    An answer may be one label, several of which one is right, labels of which none is right, or that one cannot tell.
    It is on the disk before `answer` returns; nothing in the file is ever changed, only added to, and several sessions
    may write to one file at once.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        What the model sees of the rows; finite.
    y : array-like or CandidateSets of length n_samples, optional
        What is known beforehand, in any form that `fit` takes. Rows with one label are not asked.
    classes : array-like of shape (n_classes,), optional
        The classes, in the order in which they are offered; by default those of `y`.
    path : path-like, optional
        The file of answers, made where there is none; by default they are kept in memory only.
    table : oneof.web.table.LabelTable, optional
        What people see of the rows, and what is exported; by default the features.
    estimator : estimator, optional
        That learns from candidate sets, and is cloned. By default `GraphLogisticRegression`, on the 100 directions of
        greatest variance where there are more than 200 features.
    strategy : {"auto", "information", "entropy", "margin", "random"}, default="auto"
        See `oneof.active.query`; "auto" is the first of information, entropy and random that the estimator can serve.
    overlap : int, default=1
        From how many annotators an answer to each row is wanted.
    check_every : int, default=5
        Each how many-th question is a row drawn at random, by which the model is judged; 0 for none.
    batch : int, default=1
        After how many answers the model is fitted again.
    n_ahead : int, default=20
        How many questions a model chooses at a time.
    background : bool, default=False
        Whether a thread fits the model while the next questions are answered. Otherwise `ask` fits it.
    min_votes, top : default=1, 1
        How the answers of several annotators are combined: see `oneof.CandidateSets.from_annotations`. Each answer is
        a vote for every class that it leaves possible, so that by default answers that agree are intersected.
    random_state : int, RandomState instance or None

    Raises
    ------
    InputError
        If something cannot be used.
    DataError
        If the file holds answers about other rows or classes.

    Examples
    --------
    >>> from oneof.web import LabellingSession
    >>> X = [[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]]
    >>> session = LabellingSession(X, classes=["finch", "owl", "wren"], random_state=0)
    >>> question = session.ask("Ann")
    >>> _ = session.answer(question, ["finch", "wren"])
    >>> [sorted(found) for found in session.candidates()[[question.row]]]
    [['finch', 'wren']]
    >>> _ = session.undo("Ann")
    >>> session.candidates().is_unlabelled.all()
    np.True_
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        classes: Any = None,
        path: str | os.PathLike[str] | None = None,
        table: LabelTable | None = None,
        estimator: Any = None,
        strategy: str = "auto",
        overlap: int = 1,
        check_every: int = 5,
        batch: int = 1,
        n_ahead: int = 20,
        background: bool = False,
        min_votes: int = 1,
        top: int | None = 1,
        random_state: Any = None,
    ) -> None:
        for name, value in (("overlap", overlap), ("batch", batch), ("n_ahead", n_ahead)):
            check_positive(name, value, integer=True)
        check_positive("check_every", check_every, integer=True, or_zero=True)
        rows: Rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        start = read_start(y, classes, rows.shape[0])
        self.classes = start.classes
        self._rows, self._table, self._batch = rows, table, int(batch)
        self._random = check_random_state(random_state)
        self._learner = Learner(rows, estimator, strategy, int(n_ahead), self._random)
        self._learnt: Learnt | None = None
        self._lock = threading.RLock()
        self._log = AnswerLog(None if path is None else Path(path), describe(rows, table, start.classes))
        self._standing = Standing(self._log, start.mask, start.classes, min_votes=min_votes, top=top)
        self._ledger = self._standing.ledger
        self._asker = Asker(start.mask, self._ledger, self._learner, int(overlap), int(check_every), self._random)
        self._sync()
        self._trainer = Trainer(self.train) if background else None
        self._wake()

    # -- questions and answers --------------------------------------------------------------------------------------

    def ask(self, annotator: str = "me", *, window: str = "") -> Question | None:
        """Return the next question, or None where every row is answered.

        Parameters
        ----------
        annotator : str
        window : str
            Two windows of one annotator are asked different rows. Until it is answered, a window's question is asked
            again.
        """
        check_name(annotator)
        with self._lock:
            self._sync()
            if self._trainer is None and self._is_due():
                self.train()
            return self._asker.ask(annotator, window, self._learnt)

    def look(self, row: int, annotator: str = "me", *, window: str = "") -> Question:
        """Return a question about a row of one's choice, answered before or not."""
        check_name(annotator)
        self._check_row(row)
        with self._lock:
            self._sync()
            return self._asker.look(int(row), annotator, window, self._learnt)

    def find(self, question: str) -> Question | None:
        """Return a question by its id; None where this session has not asked it, or too long ago."""
        with self._lock:
            return self._asker.find(question)

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
        """Write down that the label is none of these; parameters and errors are those of `answer`."""
        codes = self._codes(labels)
        if len(codes) == len(self.classes):
            raise LabelError("all classes are ruled out: leave at least one.")
        return self._give(question, "none of", codes, key)

    def dont_know(self, question: Question, *, key: str | None = None) -> Entry:
        """Write down that the annotator cannot tell; others may still be asked."""
        return self._give(question, "unknown", (), key)

    def skip(self, question: Question, *, key: str | None = None) -> Entry:
        """Put the row off: it is asked again when there are no others."""
        return self._give(question, "skip", (), key)

    def undo(self, annotator: str = "me", *, number: int | None = None, key: str | None = None) -> Entry | None:
        """Take back the annotator's last answer or skip, or the one of that number.

        Returns
        -------
        Entry or None
            What was taken back; None where there is nothing.

        Raises
        ------
        ConflictError
            If the named one is not there to be taken back.
        """
        with self._lock:
            self._sync()
            undone = self._ledger.undoable(annotator, number)
            if undone is None:
                return None
            version = self._ledger.version(undone.row, annotator)
            entry = Entry(key or _new_key(), annotator, undone.row, "undo", undoes=undone.number)
            self._log.append(entry, seen=version)
            self._sync()
        self._wake()
        return undone

    # -- what is known ----------------------------------------------------------------------------------------------

    def candidates(self) -> CandidateSets:
        """Return the candidate sets of all rows: the answers combined, and elsewhere what was known beforehand."""
        with self._lock:
            self._sync()
            return self._standing.candidates()

    def estimate(self) -> quality.Estimate:
        """Return an honest estimate of how often the model is right on rows without an answer."""
        return quality.estimate(self.checks())

    def checks(self) -> list[tuple[int, bool, bool]]:
        """Return of each row drawn at random: the number of answers before it, whether covered, whether exact."""
        with self._lock:
            self._sync()
            return quality.judged(self._ledger, len(self.classes))

    def history(self, annotator: str | None = None, n: int = 10) -> list[Entry]:
        """Return the last entries that stand, of one annotator or all, the latest first."""
        with self._lock:
            self._sync()
            return self._ledger.history(annotator, n)

    def log(self) -> list[Entry]:
        """Return every entry, undone ones and undos too."""
        return self._log.since(0)

    def standing(self, row: int, annotator: str) -> Entry | None:
        """Return the annotator's standing answer to a row."""
        with self._lock:
            return self._ledger.answers(row).get(annotator)

    def known_before(self, row: int) -> Mask:
        """Return the candidates that a row had beforehand, (n_classes,) bool."""
        return self._standing.start[row]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self._rows.shape[0])

    def n_left(self) -> int:
        """Return how many rows are still to be answered."""
        with self._lock:
            return len(self._asker.wanted())

    def nearest(self, row: int, n: int = 3) -> list[Neighbour]:
        """Return the nearest other rows of which something is known, with their candidate sets."""
        self._check_row(row)
        return nearest_told(self._learner.rows, self.candidates(), int(row), n)

    @property
    def table(self) -> LabelTable:
        """What people see of the rows."""
        if self._table is None:
            self._table = LabelTable.of_rows(self._rows, "label")
        return self._table

    @property
    def strategy(self) -> str:
        """By what questions are chosen."""
        return self._learner.strategy

    @property
    def learnt(self) -> Learnt | None:
        """What the model knows; None before it was first fitted."""
        return self._learnt

    @property
    def trouble(self) -> str | None:
        """What went wrong when the model was last fitted in the background."""
        return None if self._trainer is None else self._trainer.trouble

    # -- files ------------------------------------------------------------------------------------------------------

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the table with the candidate sets as its column of labels, as `oneof fit` reads it.

        Parameters
        ----------
        path : path-like
            .csv or .parquet.
        """
        return self.table.export(Path(path), self.candidates())

    def import_annotations(
        self,
        path: str | os.PathLike[str],
        *,
        match: str | None = None,
        item: str = "item",
        worker: str = "worker",
        label: str = "label",
        separator: str = "|",
    ) -> int:
        """Take over answers from a table with a line for each item, worker and label.

        Parameters
        ----------
        path : path-like
        match : str, optional
            The column of the session's table that holds what the file names items by. By default items are numbers
            of rows, from 0.
        item, worker, label : str
            Columns of the file.
        separator : str
            Between the labels of a set.

        Returns
        -------
        int
            How many answers are new. All are written, or none if one of them cannot be read. An annotator's answer
            that is already there stays.
        """
        read = importing.read_long(Path(path), item=item, worker=worker, label=label, separator=separator)
        return self._take_over(read, match)

    def import_label_studio(self, path: str | os.PathLike[str], *, match: str, choice: str | None = None) -> int:
        """Take over the choices of a JSON export of Label Studio.

        Parameters
        ----------
        path : path-like
        match : str
            The column of the session's table, and the field of the tasks, that items are told by.
        choice : str, optional
            The name of the tag that holds the choices: see `oneof.web.importing.read_label_studio`.

        Returns
        -------
        int
            How many answers are new.
        """
        return self._take_over(importing.read_label_studio(Path(path), item=match, choice=choice), match)

    # -- the model --------------------------------------------------------------------------------------------------

    def train(self) -> bool:
        """Fit the model to what is known now, and choose the next questions; tell whether there was anything new."""
        with self._lock:
            self._sync()
            if not self._is_due(least=1):
                return False
            candidates, pool, last = self.candidates(), self._asker.wanted(), self._ledger.last
        if not can_learn(candidates):
            self._learnt = None  # what it had learnt was taken back
            return False
        learnt = self._learner.learn(candidates, pool, last)
        with self._lock:
            self._learnt = learnt
        return True

    def close(self) -> None:
        """Stop the background thread and close the file."""
        if self._trainer is not None:
            self._trainer.stop()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- how it is done ---------------------------------------------------------------------------------------------

    def _give(self, question: Question, kind: Kind, codes: tuple[int, ...], key: str | None) -> Entry:
        entry = Entry(
            key or _new_key(),
            question.annotator,
            question.row,
            kind,
            codes,
            purpose=question.purpose,
            guess=question.guess,
            score=question.score,
        )
        with self._lock:
            written = self._log.append(entry, seen=question.seen)
            self._asker.release(question)
            self._sync()
        self._wake()
        return written

    def _take_over(self, read: list[importing.Annotation], match: str | None) -> int:
        rows = self.n_rows if match is None else rows_by(self.table.frame, match)
        entries = importing.as_entries(read, rows, self.classes)
        with self._lock:
            n_new = len(self._log.append_all(entries))
            self._sync()
        self._wake()
        return n_new

    def _sync(self) -> None:
        """Take in what this or another process has written since."""
        for row in self._standing.sync():
            self._asker.note(row)

    def _is_due(self, least: int | None = None) -> bool:
        least = self._batch if least is None else least
        return self._learnt is None or self._ledger.last - self._learnt.last >= least

    def _wake(self) -> None:
        if self._trainer is not None and self._is_due():
            self._trainer.wake()

    def _codes(self, labels: Any) -> tuple[int, ...]:
        listed = list(labels) if isinstance(labels, Collection) and not isinstance(labels, str) else [labels]
        if not listed:
            raise LabelError("no label is named: name one or more, or say that you do not know.")
        mask = CandidateSets.from_sets([listed], classes=self.classes).mask
        return tuple(np.flatnonzero(mask[0]).tolist())

    def _check_row(self, row: Any) -> None:
        if not isinstance(row, int | np.integer) or not 0 <= row < self.n_rows:
            raise InputError(f"there is no row {row!r}: rows are 0 to {self.n_rows - 1}.")


def _new_key() -> str:
    return secrets.token_urlsafe(12)
