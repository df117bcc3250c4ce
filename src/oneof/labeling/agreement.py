"""Several annotators of a session: their estimated accuracies, their agreement, and the rows on which they differ.

The answers of all annotators are those of `oneof.crowd`, and one `AnnotatorModel` is fitted to them. It needs rows with
answers of two annotators.
"""

import math
import threading
import warnings
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.crowd import AnnotatorModel, Answers, krippendorff_alpha
from oneof.labeling.answer_log import Entry
from oneof.labeling.answer_state import allowed_classes
from oneof.labeling.answer_store import AnswerStore
from oneof.likelihoods import entropy
from oneof.typing import Evidence, Labels
from oneof.validation import check_choice

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
        Estimated probability that an answer contains the true class; None with less than 10 shared rows.
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
class Agreement:
    """Agreement of the annotators of a session.

    Attributes
    ----------
    n_shared : int
        Number of rows with answers of at least two annotators.
    alpha : float or None
        Krippendorff's alpha, for which answers are equal or different; None if it is undefined.
    masi_alpha : float or None
        The alpha with the MASI distance of sets; None if no answer is a set, or if it is undefined.
    annotators : tuple of AnnotatorEstimate
        By increasing accuracy; those of unknown accuracy are the last, by name.
    n_conflicts : int
        Number of rows with two answers that have no class in common.
    n_hidden : int
        Number of these that are not listed, since another annotator will be asked about the row and should not see
        the answers.
    conflicts : tuple of Conflict
        The 20 of the others whose label is the least certain.
    """

    n_shared: int
    alpha: float | None
    masi_alpha: float | None
    annotators: tuple[AnnotatorEstimate, ...]
    n_conflicts: int
    n_hidden: int
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True)
class AnnotatorFit:
    """Current answers, and the model that is fitted to them.

    Attributes
    ----------
    last : int
        Number of the last entry of the answers.
    entries : dict of int to dict of str to Entry
        The informative answers by row and annotator.
    answers : oneof.crowd.Answers or None
        The same answers; None if there are none.
    model : AnnotatorModel or None
        None if no row has answers of two annotators.
    """

    last: int
    entries: dict[int, dict[str, Entry]]
    answers: Answers | None
    model: AnnotatorModel | None


def fit_annotators(
    answered: Mapping[int, Mapping[str, Entry]], last: int, n_rows: int, classes: Labels
) -> AnnotatorFit:
    """Fit the annotators to the current answers of a session.

    Parameters
    ----------
    answered : dict of row to dict of annotator to Entry
    last : int
        Number of the last entry of the answers.
    n_rows : int
    classes : ndarray of shape (n_classes,)
    """
    entries = {}
    for row, given in sorted(answered.items()):
        informative = {name: entry for name, entry in given.items() if allowed_classes(entry, len(classes))}
        if informative:
            entries[row] = informative
    answers = collect_answers(entries, n_rows, classes)
    if answers is None or all(len(given) < 2 for given in entries.values()):
        return AnnotatorFit(last, entries, answers, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the model is fitted again after the next answers
        model = AnnotatorModel().fit(answers)
    return AnnotatorFit(last, entries, answers, model)


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


def combine_by_model(model: AnnotatorModel, start: Evidence, classes: Labels) -> CandidateSets:
    """Return the likelihood of the answers to each row as weights, and the initial evidence of other rows."""
    weights = start.astype(np.float64)
    answered = ~model.candidates_.is_unlabeled
    weights[answered] = model.candidates_.weights[answered]
    return CandidateSets.from_weights(weights, classes)


class AnnotatorFits:
    """The model of the annotators of a session, fitted again if there are new answers.

    Parameters
    ----------
    store : AnswerStore
    n_rows : int
    classes : ndarray of shape (n_classes,)
    """

    def __init__(self, store: AnswerStore, n_rows: int, classes: Labels) -> None:
        self._store, self._n_rows, self._classes = store, n_rows, classes
        self._lock, self._fit = threading.Lock(), AnnotatorFit(-1, {}, None, None)

    def current(self) -> AnnotatorFit:
        """Return the model for the current answers."""
        with self._store.lock:
            self._store.sync()
            last = self._store.state.last
            answered = {} if self._fit.last == last else self._store.state.all_answers()
        with self._lock:  # without the lock of the answers, so that no annotator waits
            if self._fit.last < last:
                self._fit = fit_annotators(answered, last, self._n_rows, self._classes)
            return self._fit

    def candidates(self, combination: str) -> CandidateSets:
        """Return the combined answers; those of "model" are votes if no row has answers of two annotators."""
        check_choice("combination", combination, COMBINATIONS)
        model = self.current().model if combination == "model" else None
        if model is None:
            return self._store.candidates()
        return combine_by_model(model, self._store.start, self._classes)


def summarize(fit: AnnotatorFit, hidden: Collection[int] = ()) -> Agreement:
    """Return the agreement of the annotators of a fit; conflicts about hidden rows are counted and not listed."""
    shared = [row for row, given in fit.entries.items() if len(given) > 1]
    alpha = masi_alpha = None
    if fit.answers is not None and fit.model is not None:
        alpha = _defined(krippendorff_alpha(fit.answers))
        if fit.answers.has_sets:
            masi_alpha = _defined(krippendorff_alpha(fit.answers, "masi"))
    conflicts = (
        [] if fit.answers is None else [row for row in shared if _is_conflict(_sets(fit.entries[row], fit.answers))]
    )
    listed: tuple[Conflict, ...] = ()
    shown = [row for row in conflicts if row not in hidden]
    if fit.model is not None and shown:
        posterior = fit.model.posterior_[shown]
        order = np.argsort(-np.asarray(entropy(posterior)), kind="stable")[:MAX_CONFLICTS]
        listed = tuple(
            Conflict(shown[i], fit.entries[shown[i]], int(posterior[i].argmax()), float(posterior[i].max()))
            for i in order
        )
    return Agreement(
        len(shared), alpha, masi_alpha, _estimates(fit), len(conflicts), len(conflicts) - len(shown), listed
    )


def _estimates(fit: AnnotatorFit) -> tuple[AnnotatorEstimate, ...]:
    n_answers = Counter(name for given in fit.entries.values() for name in given)
    n_shared = Counter(name for given in fit.entries.values() if len(given) > 1 for name in given)
    position = {} if fit.model is None else {name: j for j, name in enumerate(fit.model.annotators_.tolist())}
    estimates = []
    for name in sorted(n_answers):
        values: tuple[float | None, float | None, float | None, bool] = (None, None, None, False)
        if fit.model is not None and n_shared[name] >= MIN_SHARED_ROWS:
            j = position[name]
            low, high = fit.model.accuracy_interval_[j].tolist()
            values = float(fit.model.accuracy_[j]), low, high, name in fit.model.no_better_than_chance_
        estimates.append(AnnotatorEstimate(name, n_answers[name], n_shared[name], *values))
    return tuple(sorted(estimates, key=lambda one: math.inf if one.accuracy is None else one.accuracy))


def _sets(given: Mapping[str, Entry], answers: Answers) -> list[tuple[int, ...]]:
    return [allowed_classes(entry, len(answers.classes)) for entry in given.values()]


def _is_conflict(sets: list[tuple[int, ...]]) -> bool:
    return any(set(one).isdisjoint(other) for i, one in enumerate(sets) for other in sets[:i])


def _defined(alpha: float) -> float | None:
    return None if math.isnan(alpha) else alpha
