"""Labeling without a page: what the server, a notebook and a simulation do alike."""

import os
from pathlib import Path
from typing import Any, Self

from oneof.candidates import CandidateSets
from oneof.files import as_path
from oneof.labeling import importing, quality
from oneof.labeling.answering import Answering
from oneof.labeling.answers import Answers
from oneof.labeling.asking import Asker, Question
from oneof.labeling.beginning import describe, read_rows, read_start
from oneof.labeling.given import check_counts, check_row, check_table, check_text, check_window
from oneof.labeling.learner import Learned, Learner
from oneof.labeling.log import AnswerLog
from oneof.labeling.nearest import Neighbor, nearest_told
from oneof.labeling.table import LabelTable, rows_by
from oneof.labeling.training import Known, Training
from oneof.validation import check_bool, check_positive, check_random_state


class LabelingSession(Answering):
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
    table : oneof.labeling.table.LabelTable, optional
        What people see of the rows, and what is exported; by default the features.
    estimator : estimator, optional
        That learns from candidate sets, and is cloned. By default `GraphLogisticRegression`, on the 100 directions of
        greatest variance where there are more than 200 features.
    strategy : {"auto", "mutual_information", "entropy", "margin", "random"}, default="auto"
        See `oneof.active.query`; "auto" is the first of mutual_information, entropy and random that the
        estimator supports.
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

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    answers : oneof.labeling.answers.Answers
        What was answered: all entries (`log`), those that stand (`history`, `standing`), and `checks` of the model.

    Raises
    ------
    InputError, InputTypeError
        If something cannot be used.
    DataError
        If the file holds answers about other rows or classes.

    Examples
    --------
    >>> from oneof.labeling import LabelingSession
    >>> X = [[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]]
    >>> session = LabelingSession(X, classes=["finch", "owl", "wren"], random_state=0)
    >>> question = session.ask("Ann")
    >>> _ = session.answer(question, ["finch", "wren"])
    >>> [sorted(found) for found in session.candidates()[[question.row]]]
    [['finch', 'wren']]
    >>> _ = session.undo("Ann")
    >>> session.candidates().is_unlabeled.all()
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
        check_counts(overlap=overlap, batch=batch, n_ahead=n_ahead, min_votes=min_votes, top=1 if top is None else top)
        check_positive("check_every", check_every, integer=True, allow_zero=True)
        check_bool("background", background)
        rows = read_rows(X)
        check_table(table, rows.shape[0])
        start = read_start(y, classes, rows.shape[0])
        self.classes = start.classes
        self._rows, self._table = rows, table
        self._random = check_random_state(random_state)
        self._learner = Learner(rows, estimator, strategy, int(n_ahead), self._random)
        log = AnswerLog(None if path is None else as_path(path), describe(rows, table, start.classes))
        try:
            self.answers = Answers(log, start.mask, start.classes, min_votes=min_votes, top=top)
            self._asker = Asker(
                start.mask, self.answers.ledger, self._learner, int(overlap), int(check_every), self._random
            )
            self.answers.noted = self._asker.note
            self.answers.sync()
            self._training = Training(self._learner, self._known, int(batch), background=background)
        except BaseException:  # nobody has the session, who could close it
            log.close()
            raise
        self._wake()

    # -- questions ---------------------------------------------------------------------------------------------------

    def ask(self, annotator: str = "me", *, window: str = "") -> Question | None:
        """Return the next question, or None where every row is answered.

        Parameters
        ----------
        annotator : str
        window : str
            Two windows of one annotator are asked different rows. Until it is answered, a window's question is asked
            again.

        Returns
        -------
        Question or None
        """
        check_window(annotator, window)
        with self.answers.lock:
            self.answers.sync()
            self._training.catch_up(self.answers.ledger.last)
            return self._asker.ask(annotator, window, self.learned)

    def look(self, row: int, annotator: str = "me", *, window: str = "") -> Question:
        """Return a question about a row of one's choice, answered before or not.

        Parameters
        ----------
        row : int
        annotator : str, default="me"
        window : str

        Returns
        -------
        Question
        """
        check_window(annotator, window)
        check_row(row, self.n_rows)
        with self.answers.lock:
            self.answers.sync()
            return self._asker.look(int(row), annotator, window, self.learned)

    def find(self, question: str) -> Question | None:
        """Return a question by its id; None where this session has not asked it, or too long ago.

        Parameters
        ----------
        question : str

        Returns
        -------
        Question or None
        """
        check_text("question", question)
        with self.answers.lock:
            return self._asker.find(question)

    # -- what is known ----------------------------------------------------------------------------------------------

    def candidates(self) -> CandidateSets:
        """Return the candidate sets of all rows: the answers combined, and elsewhere what was known beforehand.

        Returns
        -------
        CandidateSets
        """
        return self.answers.candidates()

    def estimate(self) -> quality.Estimate:
        """Return an honest estimate of how often the model is right on rows without an answer.

        Returns
        -------
        Estimate
            With `n_checks`, the rate, and the interval from `low` to `high`.
        """
        return quality.estimate(self.answers.checks())

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self._rows.shape[0])

    def n_left(self) -> int:
        """Return how many rows are still to be answered.

        Returns
        -------
        int
        """
        with self.answers.lock:
            self.answers.sync()
            return len(self._asker.wanted())

    def nearest(self, row: int, n: int = 3) -> list[Neighbor]:
        """Return the nearest other rows of which something is known, with their candidate sets.

        Parameters
        ----------
        row : int
        n : int, default=3

        Returns
        -------
        list of Neighbor
            At most `n`, the nearest first.
        """
        check_row(row, self.n_rows)
        check_positive("n", n, integer=True, allow_zero=True)
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
    def learned(self) -> Learned | None:
        """What the model knows; None before it was first fitted."""
        return self._training.learned

    @property
    def trouble(self) -> str | None:
        """What went wrong when the model was last fitted in the background."""
        return self._training.trouble

    # -- files ------------------------------------------------------------------------------------------------------

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the table with the candidate sets as its column of labels, as `oneof fit` reads it.

        Parameters
        ----------
        path : path-like
            .csv or .parquet.

        Returns
        -------
        Path
        """
        return self.table.export(as_path(path), self.candidates())

    def import_annotations(
        self, path: str | os.PathLike[str], *, match: str | None = None, **columns: str | None
    ) -> int:
        """Take over answers from elsewhere: a table of items, workers and labels, or a JSON export of Label Studio.

        Parameters
        ----------
        path : path-like
            A file that ends in .json is an export of Label Studio, any other a table with a line for each answer.
        match : str, optional
            The column of the session's table that holds what the file names items by; tasks of Label Studio have a
            field of that name. By default the items of a table are numbers of rows, from 0.
        **columns
            What the file calls things: `item`, `worker`, `label` and `separator` for
            `oneof.labeling.importing.read_long`, `choice` for `oneof.labeling.importing.read_label_studio`.

        Returns
        -------
        int
            How many answers are new. All are written, or none if one of them cannot be read. An annotator's answer
            that is already there stays.
        """
        read = importing.read_annotations(as_path(path), match, **columns)
        rows = self.n_rows if match is None else rows_by(self.table.frame, match)
        entries = importing.as_entries(read, rows, self.classes)
        n_new = self.answers.take_over(entries)
        self._wake()
        return n_new

    # -- the model --------------------------------------------------------------------------------------------------

    def train(self) -> bool:
        """Fit the model to what is known now, and choose the next questions; tell whether there was anything new.

        Returns
        -------
        bool
        """
        return self._training.run()

    def close(self) -> None:
        """Stop the background thread and close the file."""
        self._training.stop()
        self.answers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- how it is done ---------------------------------------------------------------------------------------------

    def _known(self) -> Known:
        """Return what there is to learn from."""
        with self.answers.lock:
            return Known(self.candidates(), self._asker.wanted(), self.answers.ledger.last)
