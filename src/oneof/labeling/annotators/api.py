"""Results of a session: the estimated quality, and the agreement and progress of the annotators."""

import time

from oneof.crowd import Answers
from oneof.labeling import quality
from oneof.labeling.annotators.agreement import Agreement, AnnotatorEstimate, AnnotatorFits
from oneof.labeling.annotators.gold import measure_accuracy
from oneof.labeling.annotators.progress import AnnotatorProgress, measure_progress
from oneof.labeling.answers.store import AnswerStore
from oneof.labeling.scheduler import QuestionScheduler
from oneof.labeling.validation import check_name
from oneof.typing import Labels

_MIN_GROWTH = 1.1
"""The accuracies that decide about more answers are estimated again after this growth of the number of entries."""


class AnnotatorAPI:
    """Methods of a session that return results of its answers.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    answers : AnswerStore
    """

    classes: Labels
    answers: AnswerStore
    _annotators: AnnotatorFits
    _gold: dict[int, int]
    _is_adaptive: bool
    _asks_several: bool
    _scheduler: QuestionScheduler
    _last_accuracies: int = 0

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
        return self._annotators.current().answers

    def annotator_estimates(self) -> tuple[AnnotatorEstimate, ...]:
        """Return the estimated accuracy of each annotator, and whether it is no better than chance.

        Returns
        -------
        tuple of oneof.labeling.annotators.agreement.AnnotatorEstimate
            As `annotators` of `agreement`, by increasing accuracy.
        """
        return self._annotators.estimates()

    def agreement(self, annotator: str | None = None) -> Agreement:
        """Return the estimated accuracies of the annotators, their agreement, and the rows on which they differ.

        Parameters
        ----------
        annotator : str, optional
            The annotator who sees the result: rows that this annotator may still be asked are not listed, so that the
            answers are independent. By default every row may be listed.

        Returns
        -------
        oneof.labeling.annotators.agreement.Agreement
        """
        if annotator is None:
            return self._annotators.agreement()
        check_name(annotator)
        with self.answers.lock:
            hidden = set(self._scheduler.remaining().tolist()) - set(self.answers.state.answered_by(annotator))
        return self._annotators.agreement(hidden)

    def is_shared(self) -> bool:
        """Return whether the session has, or waits for, answers of several annotators, or has gold rows.

        Returns
        -------
        bool
        """
        with self.answers.lock:
            self.answers.sync()
            return self._asks_several or bool(self._gold) or len(self.answers.state.annotators()) > 1

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
        self._update_assignment()
        with self.answers.lock:
            self.answers.sync()
            n_remaining = len(self._scheduler.remaining())
            n_answered = sum(row in self._gold for row in self.answers.state.answered_by(annotator))
            return n_remaining + len(self._gold) - n_answered if n_remaining else 0

    def progress(self) -> tuple[AnnotatorProgress, ...]:
        """Return the work of each annotator: answers, their rate, and the accuracy on gold rows.

        Returns
        -------
        tuple of oneof.labeling.annotators.progress.AnnotatorProgress
            By name.
        """
        with self.answers.lock:
            self.answers.sync()
            gold = measure_accuracy(self.answers.state.first_answers(), self._gold, len(self.classes))
            return measure_progress(self.answers.state, gold, len(self.classes), time.time())

    def _update_assignment(self) -> None:
        """Estimate the accuracies that decide whether rows need more answers, if there are enough new entries."""
        last = self.answers.state.last
        if self._is_adaptive and last > _MIN_GROWTH * self._last_accuracies:
            accuracies = self._annotators.accuracies()
            with self.answers.lock:
                self._scheduler.set_accuracies(accuracies)
                self._last_accuracies = last
