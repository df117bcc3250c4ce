"""Statistics of the annotators of a session: accuracies, agreement, conflicts, gold rows and progress.

The answers of all annotators are those of `oneof.crowd`, and `AnnotatorModel` is fitted to them. It needs rows with
answers of two annotators, or gold rows. The labels and the conflicts are those of the current answers. Agreement and
accuracies are those of the first answers that were given without knowing the answers of the others: later answers are
not independent.
"""

import math
import threading
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.crowd import AnnotatorModel, Answers, krippendorff_alpha, krippendorff_interval
from oneof.labeling.answers.degrees import DegreeFit, first_predictions, fit_degrees
from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import AnswerState, allowed_classes, have_conflict, informative_sets
from oneof.labeling.quality import wilson
from oneof.likelihoods import entropy
from oneof.typing import Ints, Labels, Mask

Interval = tuple[float, float] | None
Answered = Mapping[int, Mapping[str, Entry]]
"""Answers by row and annotator."""

MAX_CONFLICTS = 20
"""Maximum number of rows with conflicting answers that are listed."""
MIN_SHARED_ROWS = 10
"""Minimum number of rows that an annotator with an estimated accuracy shares with others.

With fewer rows the estimate is nearly that of all annotators together, and its interval depends on the prior.
"""
RATE_SECONDS = 3600.0
"""The rate of answers is that of this time."""
MIN_RATE_SECONDS = 60.0
"""Minimum time between the first of these answers and now for a rate."""


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
    answers: Mapping[str, Entry]
    label: int
    probability: float


class ConfusedClasses(NamedTuple):
    """Two classes between which answers to one row differ.

    Attributes
    ----------
    first, second : int
        Codes of the classes, the lower one first.
    n_pairs : float
        Number of pairs of answers that exclude each other, one with the first class and one with the second. A pair of
        sets counts as one in total: each combination of their classes has an equal fraction of it.
    """

    first: int
    second: int
    n_pairs: float


@dataclass(frozen=True)
class PairwiseAgreement:
    """Agreement of each pair of annotators.

    Attributes
    ----------
    names : tuple of str
        The annotators, in the order of the matrices.
    n_shared : ndarray of shape (n_annotators, n_annotators)
        Number of rows that both have answered; on the diagonal, the number of answers of the annotator.
    n_equal : ndarray of shape (n_annotators, n_annotators)
        Number of these rows with equal answers.
    n_compatible : ndarray of shape (n_annotators, n_annotators)
        Number of these rows whose answers have a class in common.
    confused : tuple of ConfusedClasses
        By decreasing number. The numbers add up to the number of pairs of answers that exclude each other.
    """

    names: tuple[str, ...]
    n_shared: Ints
    n_equal: Ints
    n_compatible: Ints
    confused: tuple[ConfusedClasses, ...]


@dataclass(frozen=True)
class Agreement:
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

    n_shared: int
    alpha: float | None
    alpha_interval: Interval
    masi_alpha: float | None
    masi_interval: Interval
    annotators: tuple[AnnotatorEstimate, ...]
    copies: tuple[tuple[str, ...], ...]
    pairs: PairwiseAgreement
    n_conflicts: int = 0
    n_hidden: int = 0
    conflicts: tuple[Conflict, ...] = ()


class GoldAccuracy(NamedTuple):
    """Accuracy of an annotator on gold rows.

    Attributes
    ----------
    n_rows : int
        Number of answered gold rows, without "don't know" answers.
    n_correct : int
        Number of these whose first answer contains the known label.
    low, high : float
        Bounds of Wilson's 95 % interval of the accuracy; 0 and 1 without answers.
    """

    n_rows: int
    n_correct: int
    low: float
    high: float

    @property
    def rate(self) -> float | None:
        """Fraction of correct answers; None without answers."""
        return self.n_correct / self.n_rows if self.n_rows else None


class AnnotatorProgress(NamedTuple):
    """Work of an annotator.

    Attributes
    ----------
    name : str
    n_answers : int
        Number of rows with an answer of the annotator, including "don't know".
    n_sets, n_unknown : int
        Number of these that are a set of several labels, and that are "don't know".
    n_skipped : int
        Number of rows that the annotator has skipped, and not answered afterwards.
    rate : float or None
        Answers per hour: those of the last hour, divided by the time since the first of them. None if there are
        fewer than two, or if this time is less than a minute.
    seconds_since_last : float or None
        Time since the last answer; None if all answers are imported.
    gold : GoldAccuracy
    """

    name: str
    n_answers: int
    n_sets: int
    n_unknown: int
    n_skipped: int
    rate: float | None
    seconds_since_last: float | None
    gold: GoldAccuracy

    def to_dict(self) -> dict[str, Any]:
        """Return the work as JSON types; ``"gold"`` is None without an answer to a gold row."""
        gold = self.gold._asdict() | {"rate": self.gold.rate} if self.gold.n_rows else None
        return self._asdict() | {"gold": gold}


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
    """

    entries: dict[int, dict[str, Entry]]
    answers: Answers | None
    model: AnnotatorModel | None


def fit_annotators(answered: Answered, gold: Mapping[int, int], n_rows: int, classes: Labels) -> AnnotatorFit:
    """Fit the annotators to answers of a session.

    Parameters
    ----------
    answered : dict of row to dict of annotator to Entry
    gold : dict of row to code of the known label
    n_rows : int
    classes : ndarray of shape (n_classes,)
    """
    sets = {row: informative_sets(given, len(classes)) for row, given in sorted(answered.items())}
    entries = {row: {name: answered[row][name] for name in given} for row, given in sets.items() if given}
    if not entries:
        return AnnotatorFit({}, None, None)
    labels = classes.tolist()
    rows, names, listed = zip(
        *((row, name, [labels[k] for k in sets[row][name]]) for row, given in entries.items() for name in given),
        strict=True,
    )
    answers = Answers.from_records(rows, names, list(listed), classes=classes, index=np.arange(n_rows))
    if not any(len(given) > 1 or row in gold for row, given in entries.items()):
        return AnnotatorFit(entries, answers, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the model is fitted again after the next answers
        model = AnnotatorModel().fit(answers, {row: labels[code] for row, code in gold.items()} or None)
    return AnnotatorFit(entries, answers, model)


class AnswerStatistics:
    """Statistics of the answers at one time, each of which is computed when it is first used.

    Parameters
    ----------
    state : AnswerState
        It is read here only, so the caller needs its lock only here.
    gold : dict of row to code of the known label
    n_rows : int
    classes : ndarray of shape (n_classes,)

    Attributes
    ----------
    last : int
        Number of the last entry of the answers.
    """

    def __init__(self, state: AnswerState, gold: Mapping[int, int], n_rows: int, classes: Labels) -> None:
        self.last, self._has_degrees = state.last, state.has_degrees
        self._current, self._first = state.all_answers(), state.first_answers()
        self._predictions = first_predictions(state.entries.values())
        self._gold, self._n_rows, self._classes = gold, n_rows, classes
        self._lock, self._values = threading.RLock(), dict[str, Any]()

    def current(self) -> AnnotatorFit:
        """Return the model for the current answers, which determine the labels."""
        return self._once("current", lambda: fit_annotators(self._current, self._gold, self._n_rows, self._classes))

    def first(self) -> AnnotatorFit:
        """Return the model for the first answers."""
        if {row: given for row, given in self._current.items() if given} == self._first:
            return self.current()
        return self._once("first", lambda: fit_annotators(self._first, self._gold, self._n_rows, self._classes))

    def degrees(self) -> DegreeFit:
        """Return the reliabilities of the annotators for the degrees of certainty."""
        return self._once(
            "degrees",
            lambda: fit_degrees(
                self._current, len(self._classes), independent=self._first, predictions=self._predictions,
                known=self._gold,
            ),
        )  # fmt: skip

    def accuracies(self) -> dict[str, float] | None:
        """Return the estimated accuracies that the first answers identify; None without any."""
        return {one.name: one.accuracy for one in estimate_annotators(self.first()) if one.accuracy is not None} or None

    def agreement(self, hidden: Collection[int] = ()) -> Agreement:
        """Return the agreement of the annotators; conflicts about hidden rows are counted and not listed."""
        agreement: Agreement = self._once("agreement", lambda: measure_agreement(self.first(), len(self._classes)))
        fit, n_classes = self.current(), len(self._classes)
        conflicts = [
            row
            for row, given in fit.entries.items()
            if row not in self._gold and have_conflict(informative_sets(given, n_classes).values())
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
        n_hidden = len(conflicts) - len(shown)
        return replace(agreement, n_conflicts=len(conflicts), n_hidden=n_hidden, conflicts=listed)

    def combine(self, votes: CandidateSets, initial: CandidateSets, combination: str, min_votes: int) -> CandidateSets:
        """Return the combined answers: votes, or weights of the annotators' model; with degrees, their weights.

        Parameters
        ----------
        votes : CandidateSets
            The answers combined by votes.
        initial : CandidateSets
            The evidence of rows without answers, and of gold rows.
        combination : {"votes", "model"}
        min_votes : int
            Votes of a class that a row needs.
        """
        is_model = combination == "model"
        combined, fit = votes, self.current() if is_model else None
        if fit is not None and fit.model is not None:
            weights, answered = initial.weights.astype(np.float64), ~fit.model.candidates_.is_unlabeled
            answered[list(self._gold)] = False
            weights[answered] = fit.model.candidates_.weights[answered]
            combined = CandidateSets.from_weights(weights, self._classes)
        if not self._has_degrees or not self.degrees().has_degree.any():  # answers with a degree may be undone
            return combined
        min_answers = 1 if is_model else min_votes
        return self.degrees().weigh(combined, all_rows=is_model, min_answers=min_answers, unchanged=self._gold)

    def _once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return a value that is computed by the first caller, for which later ones wait."""
        with self._lock:
            if name not in self._values:
                self._values[name] = compute()
            return self._values[name]


def measure_agreement(fit: AnnotatorFit, n_classes: int) -> Agreement:
    """Return the agreement of independent answers, without conflicts."""
    n_shared = sum(len(given) > 1 for given in fit.entries.values())
    alphas: list[tuple[float | None, Interval]] = [(None, None), (None, None)]
    if fit.answers is not None and n_shared:
        distances: tuple[Literal["nominal", "masi"], ...] = ("nominal", "masi")
        for index, distance in enumerate(distances[: 1 + fit.answers.has_sets]):
            alpha = krippendorff_alpha(fit.answers, distance)
            if not math.isnan(alpha):
                alphas[index] = alpha, krippendorff_interval(fit.answers, distance, random_state=0)
    sets = {row: informative_sets(given, n_classes) for row, given in fit.entries.items()}
    copies = () if fit.model is None else tuple(pair.annotators for pair in fit.model.copied_pairs_)
    return Agreement(n_shared, *alphas[0], *alphas[1], estimate_annotators(fit), copies, compare_pairs(sets, n_classes))


def estimate_annotators(fit: AnnotatorFit) -> tuple[AnnotatorEstimate, ...]:
    """Return the estimated accuracies, by increasing accuracy; unknown ones are the last."""
    n_answers = Counter(name for given in fit.entries.values() for name in given)
    n_shared = Counter(name for given in fit.entries.values() if len(given) > 1 for name in given)
    known: dict[str, tuple[float, float, float, bool]] = {}
    if (model := fit.model) is not None:
        for name, accuracy, interval in zip(
            model.annotators_.tolist(), model.accuracy_.tolist(), model.accuracy_interval_.tolist(), strict=True
        ):
            if not math.isnan(accuracy):
                known[name] = (accuracy, *interval, name in model.no_better_than_chance_)
    estimates = [
        AnnotatorEstimate(name, n_answers[name], n_shared[name], *known.get(name, (None, None, None, False)))
        for name in sorted(n_answers)
    ]
    return tuple(sorted(estimates, key=lambda one: math.inf if one.accuracy is None else one.accuracy))


def compare_pairs(sets: Mapping[int, Mapping[str, Sequence[int]]], n_classes: int) -> PairwiseAgreement:
    """Count equal, compatible and different answers of each pair of annotators.

    Parameters
    ----------
    sets : dict of row to dict of annotator to sequence of int
        The classes that each answer allows; at least one, and not all of them.
    n_classes : int
    """
    names = tuple(sorted({name for given in sets.values() for name in given}))
    position = {name: j for j, name in enumerate(names)}
    given = [(i, position[name], allowed) for i, row in enumerate(sets) for name, allowed in sets[row].items()]
    row, source = (np.array([answer[k] for answer in given], dtype=np.int64) for k in (0, 1))
    members = np.zeros((len(given), n_classes), dtype=bool)
    for line, (*_, allowed) in zip(members, given, strict=True):
        line[list(allowed)] = True
    of_row = sp.csr_array((np.ones(len(row)), (np.arange(len(row)), row)), shape=(len(row), len(sets)))
    first, second = sp.triu(of_row @ of_row.T, 1).nonzero()  # each pair of answers to one row
    is_equal = (members[first] == members[second]).all(axis=1)
    is_compatible = (members[first] & members[second]).any(axis=1)

    def count(counted: Mask) -> Ints:
        matrix = np.diag(np.bincount(source, minlength=len(names)))
        one, other = source[first[counted]], source[second[counted]]
        np.add.at(matrix, (np.append(one, other), np.append(other, one)), 1)
        return matrix

    parts = sp.csr_array(members / np.maximum(members.sum(axis=1, keepdims=True), 1))
    between = parts[first[~is_compatible]].T @ parts[second[~is_compatible]]
    confused = sp.triu(between + between.T, 1).tocoo()
    order = np.lexsort((confused.col, confused.row, -confused.data.round(9)))
    pairs = (ConfusedClasses(int(confused.row[i]), int(confused.col[i]), float(confused.data[i])) for i in order)
    n_shared, n_equal, n_compatible = map(count, (is_equal | True, is_equal, is_compatible))
    return PairwiseAgreement(names, n_shared, n_equal, n_compatible, tuple(pairs))


def measure_gold(first: Answered, gold: Mapping[int, int], n_classes: int) -> dict[str, GoldAccuracy]:
    """Return the accuracy of each annotator with an informative answer to a gold row.

    Parameters
    ----------
    first : dict of row to dict of annotator to Entry
        The first independent answers.
    gold : dict of row to code of the known label
    n_classes : int
    """
    counts: dict[str, list[bool]] = defaultdict(list)
    for row, code in gold.items():
        for name, allowed in informative_sets(first.get(row, {}), n_classes).items():
            counts[name].append(code in allowed)
    return {name: GoldAccuracy(len(hits), sum(hits), *wilson(sum(hits), len(hits))) for name, hits in counts.items()}


def measure_progress(
    state: AnswerState, gold: Mapping[int, int], n_classes: int, now: float
) -> tuple[AnnotatorProgress, ...]:
    """Return the work of each annotator with an answer or a skip, by name.

    Parameters
    ----------
    state : AnswerState
    gold : dict of row to code of the known label
    n_classes : int
    now : float
        Seconds since 1970.
    """
    accuracy = measure_gold(state.first_answers(), gold, n_classes)
    sizes: dict[str, list[int]] = defaultdict(list)
    for answers in state.all_answers().values():
        for name, entry in answers.items():
            sizes[name].append(len(allowed_classes(entry, n_classes)))
    times: dict[str, list[float]] = defaultdict(list)
    for entry in state.standing():
        times[entry.annotator] += [entry.at] * (entry.kind != "skip" and entry.purpose != "import")
    return tuple(
        AnnotatorProgress(
            name=name,
            n_answers=len(sizes[name]),
            n_sets=sum(size > 1 for size in sizes[name]),
            n_unknown=sum(not size for size in sizes[name]),
            n_skipped=len(set(state.skipped(name)) - set(state.answered_by(name))),
            rate=answer_rate(times[name], now),
            seconds_since_last=max(now - max(times[name]), 0.0) if times[name] else None,
            gold=accuracy.get(name, GoldAccuracy(0, 0, 0.0, 1.0)),
        )
        for name in sorted({*sizes, *times})
    )


def answer_rate(times: Iterable[float], now: float) -> float | None:
    """Return the answers per hour since the first answer of the last hour.

    Examples
    --------
    >>> answer_rate([0.0, 5000.0, 5600.0, 6200.0], now=6800.0)
    6.0
    """
    recent = [at for at in times if at > now - RATE_SECONDS]
    if len(recent) < 2 or now - min(recent) < MIN_RATE_SECONDS:
        return None
    return len(recent) / (now - min(recent)) * 3600.0
