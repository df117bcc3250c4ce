"""Results of `AnnotatorModel`: accuracies by class, copies, disputed rows, questions, and notes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof.crowd.encoding import annotator_vector
from oneof.errors import InputError
from oneof.io.formats.annotations import describe_uninformative
from oneof.likelihoods import entropy
from oneof.messages import enumerate_items
from oneof.solvers.annotators import AnswerColumns, CopiedPairs, answer_information
from oneof.typing import Floats, Ints, Labels, Mask

if TYPE_CHECKING:
    from oneof.crowd.annotator_model import AnnotatorModel

MIN_ANSWERS = 10
"""Number of answers below which a note says that the accuracy is uncertain: its standard error is then above .1."""
MIN_SOURCES = 8
"""Number of annotators from which copies are reported without known labels. In simulations of 20 crowds with a copy,
honest pairs were reported in 8 to 17 with five annotators, in 3 to 11 with six, and in none with eight."""
N_CHECKED = 50
"""Number of known labels that notes ask for: the standard error of an accuracy is then at most .07."""
MAX_NAMED = 5
RULES_NOTE = (
    "The sources are read as rules, which choose their rows, since some give one label only. If they were asked about "
    "given rows, pass Answers.from_table(..., select_rows=False), or --rules no on the command line."
)
MAX_QUESTION_ROWS, MAX_QUESTION_ENTRIES = 1000, 20_000_000
"""Limits of the rows, and of the rows times annotators, among which questions are selected."""


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
    [1.0, 1.0, 0.1]
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
        Estimated fraction of the answers of one that are copies of the other, from 0.25 to 1.
    z_score : float
        The excess of equal answers, divided by the square root of its variance plus 1/4.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(4, size=300)
    >>> table = np.where(rng.random((300, 8)) < 0.7, labels[:, None], rng.integers(4, size=(300, 8)))
    >>> table[:, 7] = table[:, 0]
    >>> [pair.annotators for pair in AnnotatorModel().fit(table).copied_pairs_]
    [(0, 7)]
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


def name_copies(pairs: CopiedPairs, annotators: Labels) -> list[CopiedPair]:
    """Return the pairs by name."""
    names = annotators.tolist()
    values = (pairs.shared, pairs.observed, pairs.expected, np.minimum(pairs.copied, 1.0), pairs.z_score)
    return [
        CopiedPair((names[j], names[h]), *numbers)
        for j, h, *numbers in zip(pairs.first, pairs.second, *(one.tolist() for one in values), strict=True)
    ]


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


def describe_annotators(model: "AnnotatorModel") -> list[str]:
    """Return sentences on rules, unknown accuracies, careless annotators, few answers, differences and copies."""
    names, n_answers = model.annotators_, model.n_answers_
    notes = []
    if model._read_rules:
        notes.append(RULES_NOTE)
    unknown = np.isnan(model.accuracy_) & (n_answers > 0)
    if unknown.any():
        notes.append(_describe_unknown(model, unknown))
    few = [name for name in model.few_answers_ if name not in set(names[unknown | (n_answers == 0)].tolist())]
    careless = [name for name in model.no_better_than_chance_ if name not in few]
    if careless:
        one = len(careless) == 1
        notes.append(
            f"The {'accuracy' if one else 'accuracies'} of {_enumerate(careless)} may be no better than chance: "
            f"{'its interval is' if one else 'their intervals are'} not above the accuracy of answers at random. Check "
            "the answers."
        )
    n_full = np.bincount(model._answered[1], minlength=len(names)) - n_answers
    notes += [
        describe_uninformative(name, int(n))
        for name, n in zip(names.tolist(), n_full, strict=True)
        if n and name in model.few_answers_
    ]
    if few:
        verb, accuracy = ("has", "accuracy is") if len(few) == 1 else ("have", "accuracies are")
        notes.append(
            f"{_enumerate(few)} {verb} fewer than {MIN_ANSWERS} answers, so the estimated {accuracy} uncertain."
        )
    notes += [model._contradiction] if model._contradiction else []
    differing = names[model.class_accuracies().differs.any(axis=1)].tolist()
    if differing:
        subject, verb = ("The accuracy", "differs") if len(differing) == 1 else ("The accuracies", "differ")
        notes.append(f"{subject} of {_enumerate(differing)} {verb} between classes beyond chance.")
    return notes + [_describe_copies(pair) for pair in model.copied_pairs_[:MAX_NAMED]]


def describe_contradiction(names: Labels, alone: "AnnotatorModel", accuracy: Floats, interval: Floats) -> str:
    """Return a sentence on the annotator whose accuracy a classifier changes most, if the intervals are disjoint."""
    own, low, high = alone.accuracy_, *alone.accuracy_interval_.T
    is_disjoint = (low > interval[:, 1]) | (high < interval[:, 0])
    if not is_disjoint.any():
        return ""
    j = int(np.argmax(np.where(is_disjoint, np.abs(own - accuracy), -1.0)))
    n_others = int(is_disjoint.sum()) - 1
    also = f", and {n_others} other annotator{'s' * (n_others > 1)} similarly" if n_others else ""
    remedy = f"Give the true labels of at least {N_CHECKED} rows (gold)"
    if alone._n_known >= N_CHECKED:
        remedy = f"Compare the answers with the {alone._n_known:,} known labels, which decide between these"
    return (
        f"The answers and the features contradict each other: {names.tolist()[j]} is right in {own[j]:.0%} by the "
        f"answers alone, and in {accuracy[j]:.0%} with the predictions{also}. Either annotators make the same "
        f"mistakes, or many rows have the features of another class. {remedy}, or compare another estimator, such as "
        "PLEM."
    )


def _describe_unknown(model: "AnnotatorModel", unknown: Mask) -> str:
    """Return a note on annotators whose accuracies the answers do not identify, and the reason."""
    answered = np.unique(model._answer_columns.row)
    explained = model.transduction_[answered]
    subject = "The answers do not identify the accuracy of"
    shared = model._answer_columns.n_compared() >= MIN_ANSWERS
    if model.are_rules_:
        reason = "votes of rules do not determine the class frequencies"
    elif len(answered) and (explained == explained[0]).all() and unknown.all():
        reason = f"one class, {explained[0]}, explains all answers"
    elif np.count_nonzero(shared) == 2 and shared[unknown].any():
        reason = "the agreement of two annotators does not show which one is right"
    else:
        reason = "too few of their rows have answers of several other annotators, or a known label"
    return (
        f"{subject} {_enumerate(model.annotators_[unknown].tolist())}: {reason}. Give the true labels of at least "
        f"{N_CHECKED} rows (gold), and of {MIN_ANSWERS} that each of them answered."
    )


def _describe_copies(pair: CopiedPair) -> str:
    """Return a note on two annotators of whom one may copy the other."""
    return (
        f"{_enumerate(pair.annotators)} agree on {pair.agreement:.0%} of {pair.n_shared:,} common rows; the model "
        f"expects {pair.expected_agreement:.0%}. One may copy the other, or both make the same mistakes. Their answers "
        "count as independent. If one copies, remove the answers of one."
    )


def _enumerate(names: Sequence[Any]) -> str:
    return enumerate_items([str(name) for name in names], MAX_NAMED)
