"""Results of a fitted `AnnotatorModel` that are computed when they are needed, and its notes on annotators."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oneof.crowd.results import (
    ClassAccuracies,
    DisputedRows,
    Questions,
    positions_of,
    rank_questions,
    select_disputed,
)
from oneof.io.formats.annotations import describe_uninformative
from oneof.messages import enumerate_items
from oneof.solvers.annotators import (
    AnswerColumns,
    SourceModel,
    equal_accuracy_p_values,
    estimate_class_accuracies,
)
from oneof.typing import Floats, Ints, Labels, Mask
from oneof.validation import check_memory, check_positive

TEST_LEVEL = 0.05
"""Level of the test that accuracies are equal in all classes, for all annotators and classes together."""
MIN_ANSWERS = 10
"""Number of answers below which a note says that the accuracy is uncertain."""
N_CHECKED = 50
"""Number of known labels from which the accuracies of two annotators do not rest on their agreement: if one copies the
other, their root mean squared error is then about .05."""
MAX_NAMED = 5


class AnnotatorResults:
    """Base of `AnnotatorModel`: confusion matrices, accuracies by class, notes, disputed rows and questions."""

    coverage: float
    annotators_: Labels
    classes_: Labels
    rows_: Labels
    posterior_: Floats
    accuracy_: Floats
    accuracy_interval_: Floats
    no_better_than_chance_: list[Any]
    _is_below_chance: Mask
    _is_unknown: Mask
    _rests_on_agreement: Mask
    _alone: tuple[Floats, Floats] | None = None
    """Accuracies by the answers alone, and their intervals, if those of the model also follow a classifier."""
    _n_known: int
    """Number of rows with known labels (`gold`)."""
    n_answers_: Ints
    few_answers_: list[Any]
    merge_copies: bool
    copies_: list[list[Any]]
    closest_pair_: tuple[Any, Any] | None
    model_: str
    _source_model: SourceModel
    _answered: tuple[Ints, Ints]
    _answer_columns: AnswerColumns

    @property
    def confusion_(self) -> Floats:
        """Confusion matrices, (n_annotators, n_classes, n_classes): the probability of [annotator, true class, answer].

        An annotator with one coin has the accuracy on the diagonal, and equal probabilities elsewhere.
        """
        check_is_fitted(self)
        J, K = len(self.annotators_), len(self.classes_)
        check_memory(8.0 * J * K * K, "The confusion matrices of all annotators", 'use model="one_coin"')
        return self._source_model.confusion(self._answer_columns)

    @property
    def notes_(self) -> list[str]:
        """Sentences on careless annotators, few or unspecific answers, two accuracies, contradictions, and copies.

        Annotators with few answers are named as careless only if their accuracy is below chance.
        """
        check_is_fitted(self)
        few = set(self.few_answers_)
        below = set(self.annotators_[self._is_below_chance].tolist())
        careless = [name for name in self.no_better_than_chance_ if name not in few or name in below]
        notes = [_describe_careless(careless)] if careless else []
        unknown = self.annotators_[self._is_unknown].tolist()
        everyone = len(unknown) == np.count_nonzero(self.n_answers_)
        notes += [_describe_unknown(unknown, everyone=everyone)] if unknown else []
        n_full = np.bincount(self._answered[1], minlength=len(self.annotators_)) - self.n_answers_
        full = [j for j, name in enumerate(self.annotators_.tolist()) if n_full[j] and name in few]
        notes += [describe_uninformative(self.annotators_.tolist()[j], int(n_full[j])) for j in full]
        silent = set(self.annotators_[[j for j in full if not self.n_answers_[j]]].tolist())
        named_few = [name for name in self.few_answers_ if name not in silent]
        notes += [_describe_few_answers(named_few)] if named_few else []
        pair = self.annotators_[self._rests_on_agreement].tolist()
        notes += [_describe_agreement(pair)] if len(pair) == 2 else []
        notes += self._contradictions
        differing = self.annotators_[self.class_accuracies().differs.any(axis=1)].tolist()
        notes += [_describe_differences(differing, self.model_)] if differing else []
        return notes + self._copy_notes

    @property
    def _contradictions(self) -> list[str]:
        """Sentence on the annotator whose accuracy a classifier changes most, if the intervals are disjoint."""
        if self._alone is None:
            return []
        accuracy, interval = self._alone
        is_disjoint = (interval[:, 0] > self.accuracy_interval_[:, 1]) | (
            interval[:, 1] < self.accuracy_interval_[:, 0]
        )
        if not is_disjoint.any():
            return []
        j = int(np.argmax(np.where(is_disjoint, np.abs(accuracy - self.accuracy_), -1.0)))
        others = int(is_disjoint.sum()) - 1
        return [_describe_contradiction(self.annotators_[j], others, accuracy[j], self.accuracy_[j], self._n_known)]

    @property
    def _copy_notes(self) -> list[str]:
        """Sentences on the groups of copies, or on the closest pair."""
        notes = [_describe_copies(group, merged=self.merge_copies) for group in self.copies_]
        if self.closest_pair_ is None:
            return notes
        three = self.annotators_[self._rests_on_agreement].tolist()
        third = [name for name in three if name not in self.closest_pair_]
        return [*notes, _describe_closest_pair(self.closest_pair_, third[0] if len(three) == 3 else None)]

    def class_accuracies(self) -> ClassAccuracies:
        """Return the accuracy of each annotator in the rows of each class, with intervals.

        Returns
        -------
        ClassAccuracies
            For rules, which choose their rows, no difference is reported.

        Raises
        ------
        InputError
            If the memory is not sufficient.
        NotFittedError
            If the model is not fitted.

        Notes
        -----
        An annotator with few answers to rows of a class has about the accuracy of the annotator in all classes.
        With one coin, the labels are estimated as if the accuracies were equal, so that large differences are
        underestimated. Differences are tested by Fisher's exact test of each annotator and class, with Bonferroni's
        correction.
        """
        check_is_fitted(self)
        columns, posterior = self._answer_columns, self.posterior_
        J, K = len(self.annotators_), len(self.classes_)
        check_memory(64.0 * J * K, "The accuracies of all annotators in all classes", "use fewer annotators")
        estimates = estimate_class_accuracies(columns, posterior, self.accuracy_, coverage=float(self.coverage))
        differs = np.zeros((J, K), dtype=bool)
        if self._source_model.vote_rates is None:
            differs = equal_accuracy_p_values(columns, posterior) * (J * K) < TEST_LEVEL
        values = (estimates.accuracy, estimates.interval, estimates.n_answers, differs)
        return ClassAccuracies(self.annotators_, self.classes_, *values)

    def disputed_rows(self, n_rows: int = 10) -> DisputedRows:
        """Return the rows with at least two answers whose labels are the least certain.

        Parameters
        ----------
        n_rows : int, default=10
            Maximum number of rows.

        Returns
        -------
        DisputedRows

        Raises
        ------
        InputError
            If `n_rows` is not an integer above 0.
        NotFittedError
            If the model is not fitted.
        """
        check_is_fitted(self)
        check_positive("n_rows", n_rows, integer=True)
        rows, ranked, uncertainty, disagreement = select_disputed(self._answer_columns, self.posterior_, int(n_rows))
        labels, runner_up = self.classes_[ranked[:, 0]], self.classes_[ranked[:, 1]]
        return DisputedRows(self.rows_[rows], labels, runner_up, uncertainty, disagreement)

    def next_questions(self, n_questions: int = 10, *, annotators: Any = None) -> Questions:
        """Return which annotator to ask next about which row: the answers with the most expected information.

        Parameters
        ----------
        n_questions : int, default=10
            Maximum number of questions, at most one for each row.
        annotators : array-like, optional
            Names of the annotators who can be asked; by default all.

        Returns
        -------
        Questions
            An annotator who has answered a row is not asked about it again.

        Raises
        ------
        InputError
            If `n_questions` is not an integer above 0, or an annotator is unknown.
        NotFittedError
            If the model is not fitted.

        Notes
        -----
        The information is that of a label answer. Only the 1,000 rows with the largest entropy, or as many as there are
        questions, are considered.
        """
        check_is_fitted(self)
        check_positive("n_questions", n_questions, integer=True)
        J = len(self.annotators_)
        asked = np.arange(J) if annotators is None else positions_of(annotators, self.annotators_)
        confusion = self.confusion_[asked]
        rows, asked, gain = rank_questions(self.posterior_, confusion, asked, self._answered, J, int(n_questions))
        return Questions(self.rows_[rows], self.annotators_[asked], gain)


def _describe_careless(names: Sequence[Any]) -> str:
    """Return a note on annotators who may be no better than chance."""
    accuracy, interval = ("accuracy", "its interval is") if len(names) == 1 else ("accuracies", "their intervals are")
    return (
        f"The {accuracy} of {_enumerate(names)} may be no better than chance: {interval} not above the accuracy of "
        "answers at random. Check the answers."
    )


def _describe_unknown(names: Sequence[Any], *, everyone: bool) -> str:
    """Return a note on annotators whose answers cannot be compared with other answers or known labels."""
    no_row = f"Almost no row that {_enumerate(names)} answered has another answer or a known label"
    if everyone:
        return f"{no_row}: accuracies cannot be estimated, and are assumed. Give the true labels of some rows (gold)."
    verb = "accuracy cannot be estimated, and is" if len(names) == 1 else "accuracies cannot be estimated, and are"
    return f"{no_row}: the {verb} assumed to be that of the other annotators."


def _describe_agreement(names: Sequence[Any]) -> str:
    """Return a note on two annotators whose accuracies rest on their agreement."""
    return (
        f"The accuracies of {_enumerate(names)} rest on their agreement, as if their errors were independent. If "
        f"one copies the other, the accuracies are too high. Give the true labels of at least {N_CHECKED} rows (gold), "
        "or ask two other annotators."
    )


def _describe_contradiction(name: Any, n_others: int, alone: float, accuracy: float, n_known: int) -> str:
    """Return a note on annotators whose accuracies differ between the answers alone and a fit with a classifier."""
    remedy = f"Give the true labels of at least {N_CHECKED} rows (gold)"
    if n_known >= N_CHECKED:
        remedy = f"Compare the answers with the {n_known:,} known labels, which decide between these"
    also = f", and {n_others} other annotator{'s' * (n_others > 1)} similarly" if n_others else ""
    return (
        f"The answers and the features contradict each other: {name} is right in {alone:.0%} by the answers alone, and "
        f"in {accuracy:.0%} with the predictions{also}. Either annotators make the same mistakes, or many rows have "
        f"the features of another class. {remedy}, or compare another estimator, such as PLEM."
    )


def _describe_few_answers(names: Sequence[Any]) -> str:
    """Return a note on annotators with few answers."""
    verb, accuracy = ("has", "accuracy is") if len(names) == 1 else ("have", "accuracies are")
    return f"{_enumerate(names)} {verb} fewer than {MIN_ANSWERS} answers, so the estimated {accuracy} uncertain."


def _describe_copies(names: Sequence[Any], *, merged: bool) -> str:
    """Return a note on annotators who are copies of one another."""
    count = "copied answers do not count" if merged else "count as independent, since merge_copies is False"
    return f"{_enumerate(names)} are copies of one another, and {count}: compare their answers."


def _describe_closest_pair(names: Sequence[Any], third: Any = None) -> str:
    """Return a note on two annotators who are copies, or more accurate than the others, or than a third one."""
    if third is not None:
        return (
            f"{_enumerate(names)} agree far more often than every other pair. One copies the other, or both are more "
            f"accurate than {third}: the agreement of three annotators does not distinguish these. If one copies, the "
            f"accuracies of both are too high. Give the true labels of at least {N_CHECKED} rows (gold), or ask "
            "another annotator."
        )
    return (
        f"{_enumerate(names)} agree far more often than every other pair: compare their answers. If one copies the "
        "other, remove the answers of one."
    )


def _describe_differences(names: Sequence[Any], model: str) -> str:
    """Return a note on annotators whose accuracies differ between classes, and on a model that excludes this."""
    subject = "The accuracy" if len(names) == 1 else "The accuracies"
    verb = "differs" if len(names) == 1 else "differ"
    note = f"{subject} of {_enumerate(names)} {verb} between classes beyond chance."
    if model == "confusion":
        return note
    return (
        f"{note} The model has one accuracy for each annotator (one coin): compare its labels with those of "
        'AnnotatorModel(model="confusion") in Python.'
    )


def _enumerate(names: Sequence[Any]) -> str:
    return enumerate_items([str(name) for name in names], MAX_NAMED)
