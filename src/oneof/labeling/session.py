"""Labeling session, for the page, for notebooks and for simulations."""

import os
from collections.abc import Collection
from typing import Any, Self

import numpy as np

from oneof.files import as_path
from oneof.labeling.annotators.agreement import COMBINATIONS, AnnotatorFits
from oneof.labeling.annotators.api import AnnotatorAPI
from oneof.labeling.annotators.assignment import Assignment, check_assignment
from oneof.labeling.annotators.gold import GOLD_INTERVAL, GoldQuestions, check_gold, hide_labels
from oneof.labeling.answers.degrees import CombinedAnswers
from oneof.labeling.answers.log import AnswerLog
from oneof.labeling.answers.store import AnswerStore
from oneof.labeling.content.highlights import make_highlighter
from oneof.labeling.content.review import Review, as_issues
from oneof.labeling.content.table import LabelTable
from oneof.labeling.learner import Learner, ModelSnapshot, Neighbor, TrainingInput, TrainingLoop, nearest_labeled
from oneof.labeling.result_api import ResultAPI
from oneof.labeling.scheduler import PURPOSES, Question, QuestionScheduler
from oneof.labeling.validation import (
    NewClassesWarning,
    check_counts,
    check_excluded,
    check_queue,
    check_row,
    check_rows,
    check_start,
    check_table,
    check_text,
    check_window,
    describe_new_classes,
    session_metadata,
)
from oneof.messages import warn
from oneof.validation import check_bool, check_choice, check_positive, check_random_state


class LabelingSession(ResultAPI, AnnotatorAPI):
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
    highlighter : oneof.labeling.content.highlights.Highlighter or None
        Marks words of a table that is shown as texts.
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
        check_counts(
            annotations_per_item=annotations_per_item,
            gold_interval=gold_interval,
            refit_every=refit_every,
            prefetch=prefetch,
            min_votes=min_votes,
            top_k=1 if top_k is None else top_k,
        )
        check_positive("check_interval", check_interval, integer=True, allow_zero=True)
        check_bool("background", background)
        check_choice("combination", combination, COMBINATIONS)
        rows = check_rows(X)
        check_table(table, rows.shape[0])
        start = check_start(y, classes, rows.shape[0])
        self.classes = start.classes
        maximum, double_annotated = check_assignment(int(annotations_per_item), max_annotations, double_annotated)
        self._gold, self._is_adaptive = check_gold(gold, start.classes, rows.shape[0]), maximum > annotations_per_item
        self._asks_several = maximum > 1 or double_annotated > 0
        self._rows, self._table, self._combination = rows, table, combination
        self._start = start.evidence
        rng = check_random_state(random_state)
        issues = as_issues(queue)
        queued = check_queue([issue.row for issue in issues] if issues else queue, rows.shape[0])
        self.review = Review(issues, start.evidence, start.classes) if issues else None
        self.highlighter = make_highlighter(table)
        self._learner = Learner(rows, estimator, strategy, int(prefetch), rng)
        self._excluded = check_excluded(exclude_annotators)
        log = AnswerLog(None if path is None else as_path(path), session_metadata(rows, table, start.classes))
        try:
            evidence = hide_labels(start.evidence, self._gold, queued)
            self.answers = AnswerStore(
                log, evidence, start.classes, min_votes=min_votes, top_k=top_k, gold=self._gold, excluded=self._excluded
            )
            self._annotators = AnnotatorFits(self.answers, self._gold, rows.shape[0], start.classes)
            self._combined = CombinedAnswers(self.answers, self._annotators, self._gold, start.classes)
            state = self.answers.state
            assignment = Assignment(
                state, *start.mask.shape, minimum=int(annotations_per_item), maximum=maximum,
                double_annotated=double_annotated,
            )  # fmt: skip
            questions = GoldQuestions(self._gold, int(gold_interval), rng)
            self._scheduler = QuestionScheduler(
                start.mask, state, self._learner, assignment, questions, int(check_interval), rng, queued
            )
            self.answers.on_change = self._scheduler.update
            self.answers.sync()
            if log.new_classes:
                warn(describe_new_classes(log.new_classes), NewClassesWarning)
            self._training = TrainingLoop(
                self._learner, self._training_input, int(refit_every), background=background, on_fit=self._highlight
            )
        except BaseException:  # the caller gets no session to close
            log.close()
            raise
        self._wake()

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

    # -- questions ---------------------------------------------------------------------------------------------------

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
        check_window(annotator, window, self._excluded)
        with self.answers.lock:
            self.answers.sync()
            self._training.fit_now(self.answers.state.last)
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
        check_window(annotator, window, self._excluded)
        check_row(row, self.n_rows)
        check_choice("purpose", purpose, PURPOSES)
        with self.answers.lock:
            self.answers.sync()
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
        check_text("question", question)
        with self.answers.lock:
            return self._scheduler.get_question(question)

    # -- results -----------------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._rows.shape[0])

    def n_remaining(self) -> int:
        """Return the number of rows that remain to be answered, without the gold rows.

        With `max_annotations`, it depends on the estimated accuracies, which are updated first if there are many new
        answers.

        Returns
        -------
        int
        """
        self._update_assignment()
        with self.answers.lock:
            self.answers.sync()
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
        check_row(row, self.n_rows)
        check_positive("n", n, integer=True, allow_zero=True)
        hidden = np.empty(0, dtype=np.int64)
        if annotator is not None:
            with self.answers.lock:
                answered = list(self.answers.state.answered_by(annotator))
                hidden = np.setdiff1d(self._scheduler.remaining(), answered)
        return nearest_labeled(self._learner.rows, self.answers.candidates(), int(row), n, hidden)

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

    # -- the model --------------------------------------------------------------------------------------------------

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

    def _highlight(self, snapshot: ModelSnapshot) -> None:
        """Fit the model of the marked words."""
        if self.highlighter is not None:
            self.highlighter.fit(snapshot.proba)

    def _training_input(self) -> TrainingInput:
        """Return the data for a fit, without the known labels of gold rows, which the page must not show."""
        self._update_assignment()
        with self.answers.lock:
            data = TrainingInput(self.answers.candidates(), self._scheduler.remaining(), self.answers.state.last)
            has_weights = self._combination == "model" or self.answers.state.has_degrees
        return data._replace(candidates=self._combined.candidates(self._combination)) if has_weights else data
