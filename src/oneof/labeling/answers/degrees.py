"""Weights of answers that state a degree of certainty: sure, probably, or a guess.

An answer has the reliability q of its annotator for its degree: the annotator knows with probability q that the set
contains the true class, and otherwise the set is drawn at random (`oneof.solvers.annotators.reliability`). The weights
of a row are the product over its answers of

    w_k = 1 for k in A,   (1 - q) / (1 - q + q K / |A|) for the other classes.

The reliabilities are estimated in two steps, each with a prior at the result of the one before: those of the degrees
over all annotators, with the prior means below, which count for 20 answers; and those of each annotator, with the
estimates of the degrees as prior means, which count for 10 answers. So an annotator without answers to compare has the
reliabilities of all annotators, and before there are any comparisons the prior means are used. An answer without a
degree is one more degree, with its own reliability.

The estimates use the first answer of each annotator to a row, if it was given without knowing the answers of the
others: later answers are not independent. The compared rows are those with several of these answers, those with known
labels, and those drawn at random for which a prediction of the model is stored. A prediction is used only if it was
stored before anybody answered the row. It is not a known label: the model is one more annotator, of unknown reliability
with a flat prior. The model makes its errors on difficult rows, on which annotators are not sure, so it has one
reliability for each degree of the answer. Then frequent agreement increases both reliabilities, and disagreement is
attributed mostly to the model. Predictions are not a part of the weights.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.labeling.answers.log import DEGREES, Entry
from oneof.labeling.answers.state import informative_sets
from oneof.solvers.annotators.dawid_skene import AnswerColumns
from oneof.solvers.annotators.reliability import ReliabilitySolution, answer_likelihoods, estimate_reliability
from oneof.typing import Floats, Ints, Mask

PRIOR_MEANS = {"sure": 0.95, "probably": 0.8, "guess": 0.5, None: 0.9}
"""Reliability of each degree, and of answers without one, before any comparison."""
DEGREE_STRENGTH, ANNOTATOR_STRENGTH = 20.0, 10.0
"""Numbers of answers for which the prior means of the degrees, and of each annotator, count."""
MODEL_MEAN, MODEL_STRENGTH = 0.5, 2.0
"""Flat prior of the reliability of the model's predictions."""
_ORDER = (*DEGREES, None)
_MIN_WEIGHT = float(np.finfo(np.float64).tiny)


class Reliability(NamedTuple):
    """Estimated reliability of an annotator, or of all annotators, for one degree.

    Attributes
    ----------
    annotator : str or None
        None for all annotators together.
    degree : {"sure", "probably", "guess"} or None
        None for answers without a degree.
    n_answers : int
        Number of independent answers.
    n_compared : int
        Number of these to rows with other independent answers, a known label, or a prediction.
    reliability : float
        Probability that an answer is not a set drawn at random. One label of K is true with the probability
        ``reliability + (1 - reliability) / K``.
    low, high : float
        Its interval, of probability 0.9.
    """

    annotator: str | None
    degree: str | None
    n_answers: int
    n_compared: int
    reliability: float
    low: float
    high: float


@dataclass(frozen=True)
class DegreeFit:
    """Informative answers with their estimated reliabilities.

    Attributes
    ----------
    rows : ndarray of shape (n_answers,)
        The row of each current answer.
    sets : ndarray of shape (n_answers, n_classes), bool
    has_degree : ndarray of shape (n_answers,), bool
    reliability : ndarray of shape (n_answers,)
        That of its annotator for its degree.
    reliabilities : tuple of Reliability
        Those of all annotators, then those of each annotator by name; the degrees in the order of `DEGREES`.
    """

    rows: Ints
    sets: Mask
    has_degree: Mask
    reliability: Floats
    reliabilities: tuple[Reliability, ...]

    def weigh(
        self, candidates: CandidateSets, *, all_rows: bool, min_answers: int = 1, unchanged: Collection[int] = ()
    ) -> CandidateSets:
        """Return candidate sets with the weights of the answers.

        Parameters
        ----------
        candidates : CandidateSets
            The evidence of the other rows.
        all_rows : bool
            Whether all rows with answers have weights; otherwise those with an answer that states a degree.
        min_answers : int
            Rows with fewer answers do not change.
        unchanged : collection of int
            Other rows that do not change.
        """
        n, K = candidates.shape
        n_answers = np.bincount(self.rows, minlength=n)
        weighted = (n_answers >= min_answers) & (n_answers > 0)
        if not all_rows:
            weighted &= np.bincount(self.rows, weights=self.has_degree, minlength=n) > 0
        weighted[list(unchanged)] = False
        if not weighted.any():
            return candidates
        logs = np.zeros((n, K))
        np.add.at(logs, self.rows, np.log(answer_likelihoods(self.sets, self.reliability)))
        weights = candidates.weights.astype(np.float64)
        weights[weighted] = np.maximum(np.exp(logs - logs.max(axis=1, keepdims=True))[weighted], _MIN_WEIGHT)
        return CandidateSets.from_weights(weights, candidates.classes)


def first_predictions(entries: Iterable[Entry]) -> dict[int, tuple[str, int]]:
    """Return the predictions for random rows that nobody had answered: by row, the annotator asked and the class.

    A later prediction may be that of a model which was fitted to an answer to the row.
    """
    answered: set[int] = set()
    predictions = {}
    for entry in entries:
        if entry.kind in ("one of", "none of") and entry.row not in answered:
            answered.add(entry.row)
            if entry.purpose == "check" and entry.guess is not None:
                predictions[entry.row] = (entry.annotator, entry.guess)
    return predictions


def fit_degrees(
    answered: Mapping[int, Mapping[str, Entry]],
    n_classes: int,
    *,
    independent: Mapping[int, Mapping[str, Entry]] | None = None,
    predictions: Mapping[int, tuple[str, int]] | None = None,
    known: Mapping[int, int] | None = None,
) -> DegreeFit:
    """Estimate the reliability of each annotator for each degree.

    Parameters
    ----------
    answered : dict of row to dict of annotator to Entry
        The current answers, which get the reliability of their annotator and degree.
    n_classes : int
    independent : dict of row to dict of annotator to Entry, optional
        The answers that the estimates use; by default the current ones.
    predictions : dict of row to (annotator, class code), optional
        Result of `first_predictions`.
    known : dict of row to class code, optional
        Rows with known labels, for the estimates. They do not change the weights.
    """
    independent = answered if independent is None else independent
    names = sorted({name for source in (answered, independent) for given in source.values() for name in given})
    D, J = len(_ORDER), len(names)
    rows, author, degree, sets = _informative_answers(independent, names, n_classes, predictions or {})
    is_model = author == J
    distinct, code = np.unique(sets, axis=0, return_inverse=True)
    used, index = np.unique(rows, return_inverse=True)
    evidence = np.ones((len(used), n_classes))
    for row in {*used.tolist()} & (known or {}).keys():
        evidence[used == row] = np.arange(n_classes) == (known or {})[row]

    def solve(groups: Ints, means: Floats, strength: float) -> ReliabilitySolution:
        """Return the reliabilities of groups of answers, followed by those of the model for each degree."""
        columns = AnswerColumns.from_answers(index.ravel(), groups, code.ravel(), distinct, len(means) + D, evidence)
        strengths = np.append(np.full(len(means), strength), np.full(D, MODEL_STRENGTH))
        return estimate_reliability(columns, np.append(means, np.full(D, MODEL_MEAN)), strengths)

    pooled = solve(degree + D * is_model, np.array([PRIOR_MEANS[stated] for stated in _ORDER]), DEGREE_STRENGTH)
    single = solve(author * D + degree, np.tile(pooled.reliability[:D], J), ANNOTATOR_STRENGTH)
    counts = np.bincount(np.append(degree, (author + 1) * D + degree), minlength=(J + 2) * D)
    counts[:D] -= np.bincount(degree[is_model], minlength=D)
    reliabilities = tuple(
        Reliability(name, stated, int(n), int(m), float(q), float(low), float(high))
        for (name, stated), n, m, q, (low, high) in zip(
            ((name, stated) for name in (None, *names) for stated in _ORDER),
            counts[: (J + 1) * D],
            chain(pooled.n_informative[:D], single.n_informative[: J * D]),
            chain(pooled.reliability[:D], single.reliability[: J * D]),
            chain(pooled.interval[:D], single.interval[: J * D]),
            strict=True,
        )
        if n or name is None
    )
    rows, author, degree, sets = _informative_answers(answered, names, n_classes, {})
    return DegreeFit(rows, sets, degree < len(DEGREES), single.reliability[author * D + degree], reliabilities)


def _informative_answers(
    answered: Mapping[int, Mapping[str, Entry]],
    names: Sequence[str],
    n_classes: int,
    predictions: Mapping[int, tuple[str, int]],
) -> tuple[Ints, Ints, Ints, Mask]:
    """Return the row, the index of the annotator's name, the number of the degree, and the set of each answer.

    The predictions follow, as answers of one more annotator, the model, with the degree of the answer to their row.
    """
    sets = {row: informative_sets(given, n_classes) for row, given in sorted(answered.items())}
    position = {name: j for j, name in enumerate(names)}
    given = [
        (row, position[name], _ORDER.index(answered[row][name].degree), allowed)
        for row, of_row in sets.items()
        for name, allowed in of_row.items()
    ]
    for row, (name, guess) in predictions.items():
        if name in sets.get(row, {}):
            given.append((row, len(names), _ORDER.index(answered[row][name].degree), (guess,)))
    rows, author, degree = (np.array([one[k] for one in given], dtype=np.int64) for k in range(3))
    mask = np.zeros((len(given), n_classes), dtype=bool)
    for line, (*_, allowed) in zip(mask, given, strict=True):
        line[list(allowed)] = True
    return rows, author, degree, mask


def check_degree(degree: str | None) -> None:
    """Raise unless `degree` is None or one of `DEGREES`."""
    if degree is not None and not (isinstance(degree, str) and degree in DEGREES):
        raise InputError(f"`degree` must be 'sure', 'probably', 'guess' or None; got {degree!r}.")
