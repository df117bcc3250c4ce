"""Labeling session: active learning with candidate sets as answers, for the page, notebooks and simulations.

An answer is one label, several labels of which one is true, labels that are excluded, or "don't know". The ways of an
answer: `AnswerLog` (the file) -> `AnswerState` and `AnswerStore` (current answers and candidate sets) -> `TrainingLoop`
(the model) -> `QuestionScheduler` (the next question).
"""

import os
import time
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from oneof.candidates import CandidateSets
from oneof.crowd import Answers
from oneof.errors import LabelError
from oneof.files import as_path
from oneof.io.answers import name_rows
from oneof.labeling import quality, validation
from oneof.labeling.annotators import (
    Agreement,
    AnnotatorEstimate,
    AnnotatorProgress,
    AnswerStatistics,
    estimate_annotators,
    measure_progress,
)
from oneof.labeling.answers import importing
from oneof.labeling.answers.degrees import Reliability, check_degree
from oneof.labeling.answers.log import AnswerLog, Entry, Kind
from oneof.labeling.answers.state import allowed_classes, from_evidence
from oneof.labeling.answers.store import AnswerStore, new_key
from oneof.labeling.content.review import Review, as_issues
from oneof.labeling.content.table import LabelTable, export_changes
from oneof.labeling.learner import Learner, ModelSnapshot, Neighbor, TrainingInput, TrainingLoop, nearest_labeled
from oneof.labeling.scheduler import GOLD_INTERVAL, PURPOSES, Assignment, GoldQuestions, Question, QuestionScheduler
from oneof.messages import warn
from oneof.typing import Evidence, Ints
from oneof.validation import check_bool, check_choice, check_instance, check_positive, check_random_state

_MIN_GROWTH = 1.1
"""The accuracies that decide about more answers are estimated again after this growth of the number of entries."""


class LabelingSession:
    """Session of active learning: people label rows, and a model selects the next row.

    An answer is one label, several labels of which one is true, labels that are excluded, or "don't know". It may state
    a degree of certainty. Every answer is on the disk before `answer` returns. The file is append-only, and several
    sessions may write to one file at the same time.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Features of the rows for the model; finite.
    y : array-like or CandidateSets of length n_samples, optional
        Initial candidate sets, with or without weights, in any form that `fit` accepts. Exact rows are not asked. A row
        with weights has them until it is answered.
    classes : array-like of shape (n_classes,), optional
        The classes, in the order of the page; by default the classes of `y`. With an existing file of answers, they are
        its classes in the same order. New classes may follow: they are added to the file with a warning, and all
        answers are kept.
    path : path-like, optional
        The file of answers, created if it does not exist; by default answers are stored in memory only.
    table : oneof.labeling.LabelTable, optional
        Rows as shown to annotators and exported; by default the features.
    estimator : estimator, optional
        An estimator that accepts candidate sets; it is cloned. By default `GraphLogisticRegression`; with more than
        200 features it uses their 100 directions of greatest variance.
    strategy : {"auto", "mutual_information", "entropy", "margin", "random"}, default="auto"
        See `oneof.active.query`; "auto" is the first of mutual_information, entropy and random that the estimator
        supports.
    annotations_per_item : int, default=1
        Required number of annotators per row.
    max_annotations : int, optional
        Maximum number of annotators per row: a row gets more than `annotations_per_item` answers as long as they
        exclude each other, or its most probable label has a probability below 0.9. By default `annotations_per_item`.
    double_annotated : float, optional
        Fraction of the rows, drawn at random, that get one more answer in any case. By default 0.2 with
        `max_annotations`, otherwise 0.
    gold : dict of int to label, optional
        Known labels of rows, by which the accuracy of each annotator is measured. These rows are asked among the others
        and keep their known labels. While rows of `queue` remain, only the gold rows among them are asked: any other
        would be recognized, since the page displays rows of `queue` in another way.
    gold_interval : int, default=20
        One of this many questions is a gold row, at random.
    check_interval : int, default=5
        Every question of this interval is a random row, used to evaluate the model; 0 for none.
    refit_every : int, default=1
        Number of answers after which the model is fitted again.
    prefetch : int, default=20
        Number of questions that a model selects at a time.
    background : bool, default=False
        Whether a thread fits the model while the next questions are answered. Otherwise `ask` fits it.
    min_votes, top_k : default=1, 1
        Combination of the answers of several annotators: see `oneof.CandidateSets.from_annotations`. Each answer is
        a vote for every class that it leaves possible, so by default consistent answers are intersected.
    combination : {"votes", "model"}, default="votes"
        Combination of the answers of several annotators. "votes": candidate sets, by `min_votes` and `top_k`. "model":
        weights, by the accuracies of the annotators (`oneof.crowd.AnnotatorModel`), as soon as a row has answers of
        two annotators. In both, rows whose answers state degrees of certainty have weights, by `reliabilities`; with
        "model" then all answered rows.
    exclude_annotators : collection of str, optional
        Names of annotators whose answers do not count, for example since they are no better than chance. The file keeps
        these answers, the rows are asked of others again, and these annotators get no question.
    queue : array-like of int, or list of oneof.audit.LabelIssue, optional
        Rows that are asked first, in this order, even if they are exact. For a review of labels, the issues of
        `oneof.audit.find_label_issues`, whose proposed labels are shown; `export` then changes the labels of answered
        rows only.
    random_state : int, RandomState instance or None

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    review : oneof.labeling.content.review.Review or None
        Proposed labels and progress of a review of label issues.
    answers : oneof.labeling.answers.store.AnswerStore
        The answers: all entries (`log`), current ones (`history`, `current_answer`), and `checks` of the model.
    n_rows : int
        Number of rows.
    snapshot : oneof.labeling.learner.ModelSnapshot or None
        The last fitted model and its predictions; None before the first fit.
    last_error : str or None
        Error of the last fit in the background, or None.

    Raises
    ------
    InputError, InputTypeError
        If an argument is invalid.
    DataError
        If the file has answers for other rows or classes.

    Examples
    --------
    >>> from oneof.labeling import LabelingSession
    >>> X = [[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]]
    >>> session = LabelingSession(X, classes=["finch", "owl", "wren"], random_state=0)
    >>> question = session.ask("Ann")
    >>> _ = session.answer(question, ["finch", "wren"])
    >>> [sorted(labels) for labels in session.candidates()[[question.row]]]
    [['finch', 'wren']]
    >>> _ = session.undo("Ann")
    >>> session.candidates().is_unlabeled.all()
    np.True_
    """

    _last_accuracies = 0
    _last_statistics: AnswerStatistics | None = None

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
        annotations_per_item: int = 1,
        max_annotations: int | None = None,
        double_annotated: float | None = None,
        gold: Any = None,
        gold_interval: int = GOLD_INTERVAL,
        check_interval: int = 5,
        refit_every: int = 1,
        prefetch: int = 20,
        background: bool = False,
        min_votes: int = 1,
        top_k: int | None = 1,
        combination: str = "votes",
        exclude_annotators: Collection[str] = (),
        queue: Any = None,
        random_state: Any = None,
    ) -> None:
        numbers = validation.check_assignment(annotations_per_item, max_annotations, double_annotated)
        counts = {"gold_interval": gold_interval, "refit_every": refit_every, "prefetch": prefetch}
        for name, value in (counts | {"min_votes": min_votes, "top_k": 1 if top_k is None else top_k}).items():
            check_positive(name, value, integer=True)
        check_positive("check_interval", check_interval, integer=True, allow_zero=True)
        check_bool("background", background)
        check_choice("combination", combination, validation.COMBINATIONS)
        self._rows, self._combination = validation.check_rows(X), combination
        self.n_rows = int(self._rows.shape[0])
        validation.check_table(table, self.n_rows)
        self._start = validation.check_start(y, classes, self.n_rows)
        self.classes = self._start.classes
        self._gold = validation.check_gold(gold, self.classes, self.n_rows)
        issues, self._excluded = as_issues(queue), validation.check_excluded(exclude_annotators)
        queued = validation.check_queue([issue.row for issue in issues] if issues else queue, self.n_rows)
        self.review = Review(issues, self._start.evidence, self.classes) if issues else None
        rng = check_random_state(random_state)
        self._learner = Learner(self._rows, estimator, strategy, int(prefetch), rng)
        if table is not None:
            self.table = table
        log = AnswerLog(
            None if path is None else as_path(path), validation.session_metadata(self._rows, table, self.classes)
        )
        try:
            self._open(log, hide_labels(self._start.evidence, self._gold, queued), min_votes, top_k)
            assignment = Assignment(self.answers.state, *self._start.shape, **numbers)
            self._schedule(assignment, int(gold_interval), int(check_interval), rng, queued)
            self._training = TrainingLoop(self._learner, self._training_input, int(refit_every), background=background)
        except BaseException:  # the caller gets no session to close
            log.close()
            raise
        self._wake()

    def _open(self, log: AnswerLog, evidence: Evidence, min_votes: int, top_k: int | None) -> None:
        """Begin to read the answers of a log."""
        if log.new_classes:
            warn(validation.describe_new_classes(log.new_classes), validation.NewClassesWarning)
        options: dict[str, Any] = {"gold": self._gold, "excluded": self._excluded}
        self.answers = AnswerStore(log, evidence, self.classes, min_votes=min_votes, top_k=top_k, **options)

    def _schedule(
        self, assignment: Assignment, gold_interval: int, check_interval: int, rng: Any, queued: Ints | None
    ) -> None:
        """Begin to select questions, from the rows that the answers of the log leave."""
        self._asks_several, self._is_adaptive = assignment.asks_twice, assignment.is_adaptive
        questions, state = GoldQuestions(self._gold, gold_interval, rng), self.answers.state
        self._scheduler = QuestionScheduler(
            self._start.mask, state, self._learner, assignment, questions, check_interval, rng, queued
        )
        self.answers.on_change = self._scheduler.update
        self.answers.sync()

    # -- questions ----------------------------------------------------------------------------------------------------

    def ask(self, annotator: str = "me", *, window: str = "") -> Question | None:
        """Return the next question, or None if every row is answered.

        Parameters
        ----------
        annotator : str
        window : str
            Two windows of one annotator get different rows. A window gets the same question until it is answered.

        Returns
        -------
        Question or None
        """
        validation.check_window(annotator, window, self._excluded)
        with self.answers.reading() as state:
            self._training.fit_now(state.last)
            return self._scheduler.ask(annotator, window, self.snapshot)

    def question_for(self, row: int, annotator: str = "me", *, window: str = "", purpose: str = "free") -> Question:
        """Return a question about a given row, answered or not.

        Parameters
        ----------
        row : int
        annotator : str, default="me"
        window : str
        purpose : {"free", "review", "informed review"}, default="free"
            "review": a second look at a row in dispute; "informed review": the answers of the others are shown. The log
            records it, and such an answer is not independent.

        Returns
        -------
        Question
        """
        validation.check_window(annotator, window, self._excluded)
        validation.check_row(row, self.n_rows)
        check_choice("purpose", purpose, PURPOSES)
        with self.answers.reading():
            return self._scheduler.question_for(int(row), annotator, window, self.snapshot, purpose)

    def get_question(self, question: str) -> Question | None:
        """Return a question by its id; None if this session has not asked it, or has removed it.

        Parameters
        ----------
        question : str

        Returns
        -------
        Question or None
        """
        validation.check_text("question", question)
        with self.answers.lock:
            return self._scheduler.get_question(question)

    def is_queued(self, row: int) -> bool:
        """Return whether a row is one of `queue`.

        Parameters
        ----------
        row : int
            Counted from 0.

        Returns
        -------
        bool
        """
        return self._scheduler.is_queued(row)

    def n_remaining(self) -> int:
        """Return the number of rows that remain to be answered, without the gold rows.

        With `max_annotations`, it depends on the estimated accuracies, which are updated first if there are many new
        answers.

        Returns
        -------
        int
        """
        self._update_assignment()
        with self.answers.reading():
            return len(self._scheduler.remaining())

    def nearest(self, row: int, n: int = 3, annotator: str | None = None) -> list[Neighbor]:
        """Return the nearest other labeled rows with their candidate sets.

        Parameters
        ----------
        row : int
        n : int, default=3
        annotator : str, optional
            The annotator who sees the rows: those that this annotator may still be asked are omitted, so that the
            answers are independent.

        Returns
        -------
        list of Neighbor
            At most `n`, the nearest first.
        """
        validation.check_row(row, self.n_rows)
        check_positive("n", n, integer=True, allow_zero=True)
        hidden = np.empty(0, dtype=np.int64) if annotator is None else self._hidden(annotator)
        return nearest_labeled(self._learner.rows, self.answers.candidates(), int(row), n, hidden)

    def is_shared(self) -> bool:
        """Return whether the session has, or waits for, answers of several annotators, or has gold rows.

        Returns
        -------
        bool
        """
        with self.answers.reading() as state:
            return self._asks_several or bool(self._gold) or len(state.annotators()) > 1

    def n_remaining_for(self, annotator: str) -> int:
        """Return the number of rows that remain to be answered, and the gold rows that an annotator may be asked.

        A gold row therefore changes the number of the page as any other row does. The estimated accuracies are updated
        first, as in `n_remaining`.

        Parameters
        ----------
        annotator : str

        Returns
        -------
        int
        """
        n_remaining = self.n_remaining()
        with self.answers.reading() as state:
            n_answered = len(self._gold.keys() & {*state.answered_by(annotator)})
        return n_remaining + len(self._gold) - n_answered if n_remaining else 0

    # -- answers ------------------------------------------------------------------------------------------------------

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
        validation.check_name(annotator)
        undone = self.answers.undo(annotator, number, _checked_key(key))
        self._wake()
        return undone

    def _write(
        self, question: Question, kind: Kind, codes: tuple[int, ...], key: str | None, degree: str | None = None
    ) -> Entry:
        """Write an answer, release its question and wake the training thread."""
        validation.check_question(question, len(self.answers.start))
        check_degree(degree)
        about = {name: getattr(question, name) for name in ("annotator", "row", "purpose", "guess", "score")}
        entry = Entry(_checked_key(key), kind=kind, labels=codes, degree=degree, **about)
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

    # -- results ------------------------------------------------------------------------------------------------------

    def candidates(self, combination: str | None = None) -> CandidateSets:
        """Return the candidate sets of all rows: the combined answers, or the initial set of a row without answers.

        Gold rows have their known labels.

        Parameters
        ----------
        combination : {"votes", "model"}, optional
            By default that of the session.

        Returns
        -------
        CandidateSets
        """
        return set_labels(self._combine(self._combination if combination is None else combination), self._gold)

    def reliabilities(self) -> tuple[Reliability, ...]:
        """Return the estimated reliability of each annotator for each degree of certainty.

        Returns
        -------
        tuple of oneof.labeling.answers.degrees.Reliability
            Those of all annotators together, then those of each one. `oneof.labeling.answers.degrees` has the model.
        """
        return self._statistics().degrees().reliabilities

    def estimate(self) -> quality.Estimate:
        """Return an estimate of the covering rate of the model on unanswered rows, from rows drawn at random.

        Returns
        -------
        Estimate
            With `n_checks`, the rate, and the interval from `low` to `high`.
        """
        return quality.estimate(self.answers.checks())

    def annotator_answers(self) -> Answers | None:
        """Return the current answers of all annotators, for the functions of `oneof.crowd`.

        Returns
        -------
        oneof.crowd.Answers or None
            Without "don't know" answers; None if there are no others.
        """
        return self._statistics().current().answers

    def annotator_estimates(self) -> tuple[AnnotatorEstimate, ...]:
        """Return the estimated accuracy of each annotator, and whether it is no better than chance.

        Returns
        -------
        tuple of oneof.labeling.annotators.AnnotatorEstimate
            As `annotators` of `agreement`, by increasing accuracy.
        """
        return estimate_annotators(self._statistics().first())

    def agreement(self, annotator: str | None = None) -> Agreement:
        """Return the estimated accuracies of the annotators, their agreement, and the rows on which they differ.

        Parameters
        ----------
        annotator : str, optional
            The annotator who sees the result: rows that this annotator may still be asked are not listed, so that the
            answers are independent. By default every row may be listed.

        Returns
        -------
        oneof.labeling.annotators.Agreement
        """
        if annotator is None:
            return self._statistics().agreement()
        validation.check_name(annotator)
        return self._statistics().agreement({*self._hidden(annotator).tolist()})

    def progress(self) -> tuple[AnnotatorProgress, ...]:
        """Return the work of each annotator: answers, their rate, and the accuracy on gold rows.

        Returns
        -------
        tuple of oneof.labeling.annotators.AnnotatorProgress
            By name.
        """
        with self.answers.reading() as state:
            return measure_progress(state, self._gold, len(self.classes), time.time())

    # -- files --------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> LabelTable:
        """Rows as shown to annotators."""
        return LabelTable.from_rows(self._rows, "label")

    def export(self, path: str | os.PathLike[str], *, combination: str | None = None) -> Path:
        """Write the table with the candidate sets as its label column, in the form that `oneof fit` reads.

        Parameters
        ----------
        path : path-like
            .csv or .parquet.
        combination : {"votes", "model"}, optional
            By default that of the session. With "model", the labels of rows with answers have weights, which
            `oneof fit --weighted --kind likelihood` reads.

        Returns
        -------
        Path
        """
        if self.review is not None and combination is None:
            return self.export_changes(path)
        return self.table.export(as_path(path), self.candidates(combination))

    def export_changes(self, path: str | os.PathLike[str]) -> Path:
        """Write the table with the labels of changed rows; all other cells are those of the table.

        `export` does so in a review of label issues. Gold rows have their known labels.

        Parameters
        ----------
        path : path-like
            .csv or .parquet.

        Returns
        -------
        Path
        """
        labels = set_labels(self.answers.candidates(), self._gold)  # sets, as in the table, without degrees
        return export_changes(self.table, as_path(path), labels, self._start.evidence)

    def export_answers(self, path: str | os.PathLike[str], *, match: str | None = None) -> Path:
        """Write the current answers of all annotators, one per line, in the form that `import_annotations` reads.

        Parameters
        ----------
        path : path-like
            .csv, .jsonl or .parquet, with the columns item, worker, label and degree. The label of an answer is the
            set of the classes that it leaves possible, as text such as "finch|wren"; "don't know" is empty.
        match : str, optional
            The column of the session's table with the names of the items; by default they are row indices, from 0.

        Returns
        -------
        Path
        """
        answered = self.answers.current_answers()
        items = list(range(self._rows.shape[0])) if match is None else name_rows(self.table.frame, match, "the table")
        return importing.write_long(as_path(path), answered, items, self.classes, self.table.separator)

    def import_annotations(self, path: str | os.PathLike[str], *, match: str | None = None, **columns: str) -> int:
        """Import answers from a table of items, workers and labels, or an export of an annotation tool.

        Parameters
        ----------
        path : path-like
            A file of any form that `oneof fit --answers` reads.
        match : str, optional
            The column of the session's table with the item names of the file; exports need a field of this name. By
            default the items of a table are row indices, from 0. Items are in the column of this name of the file, or
            in the column "item".
        **columns
            Other column names of the file, and the separator of labels: see
            `oneof.labeling.answers.importing.read_file`.

        Returns
        -------
        int
            The number of new answers. If one of them cannot be read, none is written. Existing answers of an annotator
            are not replaced.

        Warns
        -----
        UserWarning
            If the file has other labels than an existing answer.
        """
        answers, degrees = importing.read_file(as_path(path), self.table.frame, self.classes, match=match, **columns)
        return self.import_answers(answers, degrees=degrees, match=match, source=str(path))

    def import_answers(
        self,
        answers: Answers,
        *,
        degrees: Mapping[tuple[int, str], str] | None = None,
        match: str | None = None,
        source: str = "the import",
    ) -> int:
        """Import answers that are read already, such as those of `oneof.crowd.Answers.from_table`.

        Parameters
        ----------
        answers : oneof.crowd.Answers
            About all rows of the session, in their order.
        degrees : dict of (int, str) to {"sure", "probably", "guess"}, optional
            Degrees of certainty, by row and annotator.
        match : str, optional
            The column of the table that names a row in a warning.
        source : str, default="the import"
            The name of the answers in errors and warnings.

        Returns
        -------
        int
            The number of new answers; see `import_annotations`, also for warnings.

        Raises
        ------
        InputTypeError
            If `answers` is not an `Answers`.
        InputError
            If the answers are about another number of rows.
        LabelError
            If a label is not a class.

        Examples
        --------
        >>> from oneof.crowd import Answers
        >>> from oneof.labeling import LabelingSession
        >>> session = LabelingSession([[0.0], [1.0], [2.0]], classes=["finch", "owl"], random_state=0)
        >>> session.import_answers(Answers.from_table([["owl", None], [None, "finch"], ["owl", "owl"]]))
        4
        """
        check_instance("answers", answers, Answers)
        entries = importing.read_crowd(answers, degrees or {}, self._rows.shape[0], self.classes, source)
        current, n_classes = self.answers.current_answers(), len(self.classes)
        kept = [
            entry
            for entry in entries
            if (old := current.get(entry.row, {}).get(entry.annotator)) is not None
            and (allowed_classes(old, n_classes), old.degree) != (allowed_classes(entry, n_classes), entry.degree)
        ]
        n_new = self.answers.import_entries(entries)
        if kept:
            row = kept[0].row
            name = row if match is None else self.table.frame[match][row]
            warn(
                f"{len(kept):,} of {len(entries):,} answers of {source} have other labels than those of the same "
                f"annotator in the session, which are kept (first: item {str(name)!r}, {kept[0].annotator}). Correct "
                "them on the page, or import all answers into a new session.",
            )
        self._wake()
        return n_new

    # -- the model ----------------------------------------------------------------------------------------------------

    @property
    def strategy(self) -> str:
        """Query strategy."""
        return self._learner.strategy

    @property
    def snapshot(self) -> ModelSnapshot | None:
        """Last fitted model and its predictions; None before the first fit."""
        return self._training.snapshot

    @property
    def last_error(self) -> str | None:
        """Error of the last fit in the background, or None."""
        return self._training.last_error

    def train(self) -> bool:
        """Fit the model to the current answers and select the next questions.

        Returns
        -------
        bool
            False if there are no new answers since the last fit.
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

    def _hidden(self, annotator: str) -> Ints:
        """Return the rows that an annotator may still be asked, whose answers are not shown."""
        with self.answers.reading() as state:
            return np.setdiff1d(self._scheduler.remaining(), state.answered_by(annotator))

    def _statistics(self) -> AnswerStatistics:
        """Return the statistics of the current answers."""
        with self.answers.reading() as state:
            if self._last_statistics is None or self._last_statistics.last < state.last:
                self._last_statistics = AnswerStatistics(state, self._gold, self.n_rows, self.classes)
            return self._last_statistics

    def _combine(self, combination: str) -> CandidateSets:
        """Return the combined answers, and the initial evidence of gold rows."""
        check_choice("combination", combination, validation.COMBINATIONS)
        with self.answers.reading() as state:
            votes = self.answers.candidates()
            if combination == "votes" and not state.has_degrees:
                return votes
            statistics = self._statistics()
        initial = from_evidence(self.answers.start, self.classes)
        return statistics.combine(votes, initial, combination, self.answers.min_votes)

    def _update_assignment(self) -> None:
        """Estimate the accuracies that decide whether rows need more answers, if there are enough new entries."""
        last = self.answers.state.last
        if self._is_adaptive and last > _MIN_GROWTH * self._last_accuracies:
            accuracies = self._statistics().accuracies()
            with self.answers.lock:
                self._scheduler.set_accuracies(accuracies)
                self._last_accuracies = last

    def _training_input(self) -> TrainingInput:
        """Return the data for a fit, without the known labels of gold rows, which the page must not show."""
        self._update_assignment()
        with self.answers.reading() as state:
            remaining, last = self._scheduler.remaining(), state.last
        return TrainingInput(self._combine(self._combination), remaining, last)


def _checked_key(key: Any) -> str:
    """Return the key of an entry: the given text, or by default a new one."""
    validation.check_text("key", "" if key is None else key)
    return key or new_key()


def hide_labels(evidence: Evidence, gold: Mapping[int, int], queue: Ints | None = None) -> Evidence:
    """Return the initial evidence with unlabeled rows instead of exact gold rows, so that they may be asked.

    Rows of `queue` are displayed with their initial labels, so gold rows among them keep these.
    """
    rows = np.array(sorted({*gold} - {*([] if queue is None else queue.tolist())}), dtype=np.int64)
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
