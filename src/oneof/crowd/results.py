"""Results of `AnnotatorModel`: the selected model, accuracies by class, copies, disputed rows, and questions."""

from typing import Any, NamedTuple

import numpy as np

from oneof.crowd.encoding import annotator_vector
from oneof.errors import InputError
from oneof.likelihoods import entropy
from oneof.solvers.annotators import AnswerColumns, answer_information
from oneof.solvers.annotators.copies import (
    MIN_SOURCES,
    CopiedPairs,
    closest_pair,
    count_shared_answers,
    groups_of_pairs,
)
from oneof.typing import Floats, Ints, Labels, Mask

MAX_QUESTION_ROWS, MAX_QUESTION_ENTRIES = 1000, 20_000_000
"""Limits of the rows, and of the rows times annotators, among which questions are selected."""


class ModelSelection(NamedTuple):
    """The model of label answers that was selected, and the reason.

    Attributes
    ----------
    model : {"confusion", "one_coin"}
    gain : float
        Mean gain in the log-likelihood of a held-out answer by confusion matrices instead of one coin, in nats; NaN if
        there was no choice.
    standard_error : float
        Standard error of the gain. "confusion" is selected if the gain is larger.
    reason : str
        The same in a sentence.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> table = [["a", "a", "a"], ["b", "b", "b"], ["a", "b", "a"], ["b", "b", "b"]]
    >>> AnnotatorModel("one_coin").fit(table).selection_.reason
    'The model was given.'
    """

    model: str
    gain: float
    standard_error: float
    reason: str


class ClassAccuracies(NamedTuple):
    """The accuracy of each annotator in the rows of each class.

    Attributes
    ----------
    annotators : ndarray of shape (n_annotators,)
    classes : ndarray of shape (n_classes,)
    accuracy : ndarray of shape (n_annotators, n_classes)
        Probability that an answer to a row of the class contains the class.
    interval : ndarray of shape (n_annotators, n_classes, 2)
        Lower and upper ends of intervals of the accuracies, of the probability `coverage` of the model.
    n_answers : ndarray of shape (n_annotators, n_classes)
        Expected number of answers to rows of the class.
    differs : ndarray of shape (n_annotators, n_classes)
        True if the accuracy differs from that in the other classes beyond chance. If all annotators have one accuracy,
        all values are False with probability 0.95.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.crowd import AnnotatorModel
    >>> labels = np.arange(90) % 3
    >>> table = np.stack([labels, labels, labels, np.where(labels == 2, np.arange(90) % 2, labels)], axis=1)
    >>> accuracies = AnnotatorModel().fit(table).class_accuracies()
    >>> accuracies.accuracy[3].round(1).tolist()
    [1.0, 1.0, 0.0]
    >>> accuracies.differs.any(axis=1).tolist()
    [False, False, False, True]
    """

    annotators: Labels
    classes: Labels
    accuracy: Floats
    interval: Floats
    n_answers: Floats
    differs: Mask


class CopiedPair(NamedTuple):
    """Two annotators who agree far more often than the model expects.

    Attributes
    ----------
    annotators : tuple of two names
    n_shared : int
        Number of rows that both answered.
    agreement : float
        The fraction of these rows with equal answers.
    expected_agreement : float
        The fraction that the model expects, given the answers of the others.
    copied : float
        Estimated fraction of the answers of one that are copies of the other, from 0.35 to 1.
    z_score : float
        The excess of equal answers, divided by the square root of its variance plus 1/4.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> table = [[k % 2, (k // 2) % 2, (k * 7 // 4) % 2, (k * 7 // 4) % 2, (k // 3) % 2] for k in range(60)]
    >>> [pair.annotators for pair in AnnotatorModel().fit(table).copied_pairs_]
    [(2, 3)]
    """

    annotators: tuple[Any, Any]
    n_shared: int
    agreement: float
    expected_agreement: float
    copied: float
    z_score: float


class DisputedRows(NamedTuple):
    """The rows whose labels are the least certain, of those with several answers.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Names of the rows.
    labels, runner_up : ndarray of shape (n,)
        The most probable and the second most probable class.
    entropy : ndarray of shape (n,)
        Entropy of the posterior in nats, in decreasing order.
    disagreement : ndarray of shape (n,)
        Fraction of pairs of answers to the row that have no class in common.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> table = [["a", "a", "a"], ["b", "b", "b"], ["a", "b", None], ["b", "b", "b"]]
    >>> AnnotatorModel().fit(table).disputed_rows(1).rows.tolist()
    [2]
    """

    rows: Labels
    labels: Labels
    runner_up: Labels
    entropy: Floats
    disagreement: Floats


class Questions(NamedTuple):
    """Questions to ask next, in decreasing order of their expected information.

    Attributes
    ----------
    rows, annotators : ndarray of shape (n,)
        Names of the row and of the annotator of each question.
    information : ndarray of shape (n,)
        Expected reduction of the entropy of the row's label, in nats.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> table = [["a", "a", "a"], ["b", "b", "b"], ["a", "b", None], ["b", "b", "b"]]
    >>> questions = AnnotatorModel().fit(table).next_questions()
    >>> questions.rows.tolist(), questions.annotators.tolist()
    ([2], [2])
    """

    rows: Labels
    annotators: Labels
    information: Floats


def name_copies(pairs: CopiedPairs, annotators: Labels) -> tuple[list[CopiedPair], list[list[Any]]]:
    """Return the pairs by name, and the groups of annotators who are copies of one another."""
    names = annotators.tolist()
    named = []
    fields = (
        pairs.first, pairs.second, pairs.shared, pairs.observed, pairs.expected, pairs.copied, pairs.z_score,
    )  # fmt: skip
    for j, h, n, observed, expected, copied, z in zip(*fields, strict=True):
        values = (int(n), float(observed), float(expected), float(min(copied, 1.0)), float(z))
        named.append(CopiedPair((names[j], names[h]), *values))
    group = groups_of_pairs(pairs, len(names))
    several = np.flatnonzero(np.bincount(group) > 1)
    return named, [[names[j] for j in np.flatnonzero(group == g)] for g in several]


def name_closest_pair(columns: AnswerColumns, annotators: Labels) -> tuple[Any, Any] | None:
    """Return the names of the two of fewer than 8 annotators who agree far more often than every other pair."""
    pair = closest_pair(count_shared_answers(columns)) if columns.n_sources < MIN_SOURCES else None
    if pair is None:
        return None
    first, second = (annotators.tolist()[j] for j in pair)
    return first, second


def rests_on_agreement(columns: AnswerColumns, evidence: Floats | None, min_compared: int, min_known: int) -> Mask:
    """Return the two or three sources whose accuracies rest on their agreement, (J,); False for all if there are more.

    They are the only ones with `min_compared` comparable answers. Fewer than `min_known` of the rows with answers have
    evidence, and fewer than half. The agreements of three pairs determine three accuracies, so copies cannot be
    distinguished from accuracy by agreement.
    """
    compared = columns.n_compared(evidence) >= min_compared
    known = np.zeros(columns.n_rows, dtype=bool) if evidence is None else evidence.min(axis=1) < evidence.max(axis=1)
    rows = np.unique(columns.row)
    n_known = np.count_nonzero(known[rows])
    rests = (n_known < min_known) & (n_known < 0.5 * len(rows))
    return np.asarray(compared & (np.count_nonzero(compared) in (2, 3)) & rests)


def select_disputed(columns: AnswerColumns, posterior: Floats, n_rows: int) -> tuple[Ints, Ints, Floats, Floats]:
    """Return the rows with at least two answers and the largest entropy.

    Returns
    -------
    rows : ndarray of shape (n,)
    ranked : ndarray of shape (n, K)
        The classes of each row in decreasing order of their probability.
    entropy, disagreement : ndarray of shape (n,)
    """
    uncertainty = np.asarray(entropy(posterior))
    several = np.bincount(columns.row, minlength=columns.n_rows) >= 2
    order = np.argsort(np.where(several, -uncertainty, np.inf), kind="stable")[: min(n_rows, several.sum())]
    ranked = np.argsort(-posterior[order], axis=1, kind="stable")
    return order, ranked, uncertainty[order], np.array([_disagreement(columns, i) for i in order])


def rank_questions(
    posterior: Floats, confusion: Floats, asked: Ints, answered: tuple[Ints, Ints], n_annotators: int, n_questions: int
) -> tuple[Ints, Ints, Floats]:
    """Return the rows, the annotators and the information of the best questions, at most one for each row.

    Parameters
    ----------
    posterior : ndarray of shape (n, K)
    confusion : ndarray of shape (len(asked), K, K)
        Those of the annotators who can be asked.
    asked : ndarray of int
    answered : tuple of two arrays of int
        The row and the annotator of each answer.
    n_annotators, n_questions : int
    """
    uncertainty = np.asarray(entropy(posterior))
    limit = max(n_questions, min(MAX_QUESTION_ROWS, MAX_QUESTION_ENTRIES // max(len(asked), 1)))
    rows = np.argsort(-uncertainty, kind="stable")[:limit]
    information = answer_information(posterior[rows], confusion)
    position = np.full(len(posterior), -1)
    position[rows] = np.arange(len(rows))
    column = np.full(n_annotators, -1)
    column[asked] = np.arange(len(asked))
    row, source = position[answered[0]], column[answered[1]]
    known = (row >= 0) & (source >= 0)
    information[row[known], source[known]] = -1.0
    best = information.argmax(axis=1)
    gain = information[np.arange(len(rows)), best]
    order = np.argsort(-gain, kind="stable")[:n_questions]
    order = order[gain[order] >= 0]
    return rows[order], asked[best[order]], gain[order]


def positions_of(annotators: Any, names: Labels) -> Ints:
    """Return the positions of annotators."""
    position = {name: j for j, name in enumerate(names.tolist())}
    listed = annotator_vector([annotators] if isinstance(annotators, str) else annotators).tolist()
    unknown = [name for name in listed if name not in position]
    if unknown or not listed:
        raise InputError(
            f"`annotators` must be names of annotators; got {unknown[0]!r}." if unknown
            else "`annotators` must contain at least one name; got none."
        )  # fmt: skip
    return np.array([position[name] for name in listed], dtype=np.int64)


def _disagreement(columns: AnswerColumns, row: int) -> float:
    """Return the fraction of pairs of answers to a row that have no class in common."""
    sets = columns.sets[columns.column[columns.row == row]].astype(np.int64)
    disjoint = (sets @ sets.T) == 0
    return float(disjoint.sum() / (len(sets) * (len(sets) - 1)))
