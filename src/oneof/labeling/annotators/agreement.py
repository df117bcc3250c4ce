"""Several annotators of a session: their estimated accuracies, their agreement, and the rows on which they differ.

The answers of all annotators are those of `oneof.crowd`, and `AnnotatorModel` is fitted to them. It needs rows with
answers of two annotators, or gold rows. The labels are those of the current answers. Agreement and accuracies are those
of the first answers, which are independent.
"""

import math
import threading
import warnings
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.crowd import AnnotatorModel, Answers, krippendorff_alpha, krippendorff_interval
from oneof.labeling.annotators.assignment import have_conflict, informative_sets
from oneof.labeling.annotators.pairs import PairwiseAgreement, compare_pairs
from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import allowed_classes
from oneof.labeling.answers.store import AnswerStore
from oneof.likelihoods import entropy
from oneof.typing import Evidence, Labels
from oneof.validation import check_choice

Interval = tuple[float, float] | None

COMBINATIONS = ("votes", "model")
"""Combinations of the answers of several annotators: candidate sets by votes, or weights by the model."""
MAX_CONFLICTS = 20
"""Maximum number of rows with conflicting answers that are listed."""
MIN_SHARED_ROWS = 10
"""Minimum number of rows that an annotator with an estimated accuracy shares with others.

With fewer rows the estimate is nearly that of all annotators together, and its interval depends on the prior.
"""


class AnnotatorEstimate(NamedTuple):
    """An annotator of a session.

    Attributes
    ----------
    name : str
    n_answers : int
        Number of informative answers.
    n_shared : int
        Number of rows that another annotator has answered as well.
    accuracy : float or None
        Estimated probability that an answer contains the true class; None if the answers do not identify it.
    low, high : float or None
        Its interval, of probability 0.9.
    is_chance : bool
        Whether the interval contains the accuracy of answers at random; False if the accuracy is None.
    """

    name: str
    n_answers: int
    n_shared: int
    accuracy: float | None
    low: float | None
    high: float | None
    is_chance: bool


class Conflict(NamedTuple):
    """A row with two answers that have no class in common.

    Attributes
    ----------
    row : int
    answers : dict of str to Entry
        The informative answers to the row by annotator.
    label : int
        Code of the most probable class.
    probability : float
        Its probability.
    """

    row: int
    answers: dict[str, Entry]
    label: int
    probability: float


@dataclass(frozen=True)
class Statistics:
    """Agreement of the first answers of all annotators; see `Agreement`."""

    n_shared: int
    alpha: float | None
    alpha_interval: Interval
    masi_alpha: float | None
    masi_interval: Interval
    annotators: tuple[AnnotatorEstimate, ...]
    copies: tuple[tuple[str, ...], ...]
    pairs: PairwiseAgreement


@dataclass(frozen=True)
class Agreement(Statistics):
    """Agreement of the annotators of a session.

    All but the conflicts are computed from the first answer of each annotator to a row, if it was given without knowing
    the answers of the others: later answers are not independent.

    Attributes
    ----------
    n_shared : int
        Number of rows with answers of at least two annotators.
    alpha : float or None
        Krippendorff's alpha, for which answers are equal or different; None if it is undefined.
    alpha_interval : tuple of two floats, or None
        Its 95 % interval, by the bootstrap over rows.
    masi_alpha, masi_interval : float or None, tuple or None
        The alpha with the MASI distance of sets, and its interval; None if no answer is a set, or if it is undefined.
    annotators : tuple of AnnotatorEstimate
        By increasing accuracy; those of unknown accuracy are the last, by name.
    copies : tuple of tuple of str
        Pairs of annotators of whom one may copy the other.
    pairs : PairwiseAgreement
        The agreement of each pair of annotators, and the pairs of classes between which answers differ.
    n_conflicts : int
        Number of rows with two current answers that have no class in common, without gold rows.
    n_hidden : int
        Number of these that are not listed, since another annotator will be asked about the row and should not see
        the answers.
    conflicts : tuple of Conflict
        The 20 of the others whose label is the least certain.
    """

    n_conflicts: int
    n_hidden: int
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True)
class AnnotatorFit:
    """Answers, and the model that is fitted to them.

    Attributes
    ----------
    entries : dict of int to dict of str to Entry
        The informative answers by row and annotator.
    answers : oneof.crowd.Answers or None
        The same answers; None if there are none.
    model : AnnotatorModel or None
        None if no row has answers of two annotators, or a known label.
    n_known : Counter
        For each annotator, the number of answered rows with another answer or a known label.
    """

    entries: dict[int, dict[str, Entry]]
    answers: Answers | None
    model: AnnotatorModel | None
    n_known: Counter[str]


def fit_annotators(
    answered: Mapping[int, Mapping[str, Entry]], gold: Mapping[int, int], n_rows: int, classes: Labels
) -> AnnotatorFit:
    """Fit the annotators to answers of a session.

    Parameters
    ----------
    answered : dict of row to dict of annotator to Entry
    gold : dict of row to code of the known label
    n_rows : int
    classes : ndarray of shape (n_classes,)
    """
    entries = {}
    for row, given in sorted(answered.items()):
        informative = {name: entry for name, entry in given.items() if allowed_classes(entry, len(classes))}
        if informative:
            entries[row] = informative
    answers = collect_answers(entries, n_rows, classes)
    n_known = Counter(name for row, given in entries.items() if len(given) > 1 or row in gold for name in given)
    if answers is None or not n_known:
        return AnnotatorFit(entries, answers, None, n_known)
    labels = classes.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the model is fitted again after the next answers
        model = AnnotatorModel().fit(answers, {row: labels[code] for row, code in gold.items()} or None)
    return AnnotatorFit(entries, answers, model, n_known)


def collect_answers(entries: Mapping[int, Mapping[str, Entry]], n_rows: int, classes: Labels) -> Answers | None:
    """Return informative answers as `oneof.crowd.Answers` about rows 0, 1, ...; None if there are none."""
    labels_of = classes.tolist()
    records = [
        (row, name, [labels_of[k] for k in allowed_classes(entry, len(classes))])
        for row, given in entries.items()
        for name, entry in given.items()
    ]
    if not records:
        return None
    rows, names, labels = zip(*records, strict=True)
    return Answers.from_records(rows, names, list(labels), classes=classes, index=np.arange(n_rows))


def combine_by_model(model: AnnotatorModel, start: Evidence, gold: Mapping[int, int], classes: Labels) -> CandidateSets:
    """Return the likelihood of the answers to each row as weights, and the initial evidence of other and gold rows."""
    weights = start.astype(np.float64)
    answered = ~model.candidates_.is_unlabeled
    answered[list(gold)] = False
    weights[answered] = model.candidates_.weights[answered]
    return CandidateSets.from_weights(weights, classes)


class AnnotatorFits:
    """The models of the annotators of a session, fitted again if there are new answers.

    Parameters
    ----------
    store : AnswerStore
    gold : dict of row to code of the known label
    n_rows : int
    classes : ndarray of shape (n_classes,)
    """

    def __init__(self, store: AnswerStore, gold: Mapping[int, int], n_rows: int, classes: Labels) -> None:
        self._store, self._gold, self._n_rows, self._classes = store, gold, n_rows, classes
        self._lock, self._last = threading.Lock(), -1
        self._current = self._first = AnnotatorFit({}, None, None, Counter())
        self._statistics: Statistics | None = None

    def current(self) -> AnnotatorFit:
        """Return the model for the current answers, which determine the labels."""
        return self._update()[0]

    def accuracies(self) -> dict[str, float] | None:
        """Return the estimated accuracies that the answers identify; None without any."""
        fit = self._update()[1]
        if fit.model is None or np.isnan(fit.model.accuracy_).all():
            return None
        accuracies = zip(fit.model.annotators_.tolist(), fit.model.accuracy_.tolist(), strict=True)
        return {name: accuracy for name, accuracy in accuracies if not math.isnan(accuracy)}

    def estimates(self) -> tuple[AnnotatorEstimate, ...]:
        """Return the estimated accuracies from the first answers, by increasing accuracy."""
        return _estimates(self._update()[1])

    def statistics(self) -> Statistics:
        """Return the agreement of the first answers."""
        self._update()
        with self._lock:
            if self._statistics is None:
                self._statistics = measure_agreement(self._first, len(self._classes))
            return self._statistics

    def candidates(self, combination: str) -> CandidateSets:
        """Return the combined answers; those of "model" are votes if no row has answers of two annotators."""
        check_choice("combination", combination, COMBINATIONS)
        model = self.current().model if combination == "model" else None
        if model is None:
            return self._store.candidates()
        return combine_by_model(model, self._store.start, self._gold, self._classes)

    def agreement(self, hidden: Collection[int] = ()) -> Agreement:
        """Return the agreement of the annotators; conflicts about hidden rows are counted and not listed."""
        statistics, fit = self.statistics(), self.current()
        values = {field.name: getattr(statistics, field.name) for field in fields(Statistics)}
        return Agreement(**values, **_list_conflicts(fit, self._gold, hidden, len(self._classes)))

    def _update(self) -> tuple[AnnotatorFit, AnnotatorFit]:
        """Return the models for the current and for the first answers."""
        with self._store.lock:
            self._store.sync()
            state = self._store.state
            last = state.last
            current, first = ({}, {}) if self._last == last else (state.all_answers(), state.first_answers())
        with self._lock:  # without the lock of the answers, so that no annotator waits
            if self._last < last:
                self._current = fit_annotators(current, self._gold, self._n_rows, self._classes)
                is_same = {row: given for row, given in current.items() if given} == first
                self._first = (
                    self._current if is_same else fit_annotators(first, self._gold, self._n_rows, self._classes)
                )
                self._last, self._statistics = last, None
            return self._current, self._first


def measure_agreement(fit: AnnotatorFit, n_classes: int) -> Statistics:
    """Return the agreement of independent answers."""
    shared = [row for row, given in fit.entries.items() if len(given) > 1]
    alphas: list[tuple[float | None, Interval]] = [(None, None), (None, None)]
    if fit.answers is not None and shared:
        distances: tuple[Literal["nominal", "masi"], ...] = (
            ("nominal", "masi") if fit.answers.has_sets else ("nominal",)
        )
        for index, distance in enumerate(distances):
            alpha = krippendorff_alpha(fit.answers, distance)
            if not math.isnan(alpha):
                alphas[index] = alpha, krippendorff_interval(fit.answers, distance, random_state=0)
    sets = {row: informative_sets(given, n_classes) for row, given in fit.entries.items()}
    copies = () if fit.model is None else tuple(pair.annotators for pair in fit.model.copied_pairs_)
    return Statistics(len(shared), *alphas[0], *alphas[1], _estimates(fit), copies, compare_pairs(sets, n_classes))


def _list_conflicts(
    fit: AnnotatorFit, gold: Collection[int], hidden: Collection[int], n_classes: int
) -> dict[str, Any]:
    """Return the number of conflicts, the number of those about hidden rows, and the least certain of the others."""
    conflicts = [
        row
        for row, given in fit.entries.items()
        if row not in gold and len(given) > 1 and have_conflict(list(informative_sets(given, n_classes).values()))
    ]
    shown = [row for row in conflicts if row not in hidden]
    listed: tuple[Conflict, ...] = ()
    if fit.model is not None and shown:
        posterior = fit.model.posterior_[shown]
        order = np.argsort(-np.asarray(entropy(posterior)), kind="stable")[:MAX_CONFLICTS]
        listed = tuple(
            Conflict(shown[i], fit.entries[shown[i]], int(posterior[i].argmax()), float(posterior[i].max()))
            for i in order
        )
    return {"n_conflicts": len(conflicts), "n_hidden": len(conflicts) - len(shown), "conflicts": listed}


def _estimates(fit: AnnotatorFit) -> tuple[AnnotatorEstimate, ...]:
    n_answers = Counter(name for given in fit.entries.values() for name in given)
    n_shared = Counter(name for given in fit.entries.values() if len(given) > 1 for name in given)
    position = {} if fit.model is None else {name: j for j, name in enumerate(fit.model.annotators_.tolist())}
    estimates = []
    for name in sorted(n_answers):
        values: tuple[float | None, float | None, float | None, bool] = (None, None, None, False)
        j = position.get(name)
        if fit.model is not None and j is not None and not math.isnan(fit.model.accuracy_[j]):
            low, high = fit.model.accuracy_interval_[j].tolist()
            values = float(fit.model.accuracy_[j]), low, high, name in fit.model.no_better_than_chance_
        estimates.append(AnnotatorEstimate(name, n_answers[name], n_shared[name], *values))
    return tuple(sorted(estimates, key=lambda one: math.inf if one.accuracy is None else one.accuracy))
