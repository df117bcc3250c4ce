"""Number of answers that each row needs: fixed, or adapted to its answers.

Every row needs `minimum` answers, and a fraction of the rows, drawn at random, one more: without these, disagreement
would not be visible, and the accuracies of the annotators could not be estimated. A row gets another answer, up to
`maximum` in all, as long as two of its answers have no class in common, or the probability of its most probable class
is below `confidence`. With the accuracy r_j of annotator j, an answer of s of K classes adds

    log(r_j / (1 - r_j)) + log((K - s) / s)

to the log probability of each of these classes (the model of sets of `oneof.crowd.AnnotatorModel`, with equal class
frequencies). Until the accuracies are estimated, only answers that exclude each other count.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import AnswerState, allowed_classes
from oneof.likelihoods import softmax
from oneof.typing import Floats, Ints
from oneof.validation import check_positive

DOUBLE_ANNOTATED = 0.2
"""Fraction of the rows with one more answer, if the number of answers is adaptive."""
CONFIDENCE = 0.9
"""Probability of the most probable class from which on a row needs no more answers."""
MIN_ACCURACY = 1e-3
"""Accuracies are at least this, and at most 1 minus this."""
_SEED = 0
"""Seed of the double-annotated rows: every process that opens the same answers selects the same ones."""


class Assignment:
    """Decides whether a row needs another answer.

    Parameters
    ----------
    state : AnswerState
    n_rows, n_classes : int
    minimum, maximum : int
        Numbers of informative answers of a row.
    double_annotated : float
        Fraction of the rows that need one answer more than `minimum`, in [0, 1].
    confidence : float
        In (0, 1).

    Attributes
    ----------
    n_required : ndarray of shape (n_rows,)
        Number of answers that a row needs in any case.
    accuracies : dict of str to float, or None
        The estimated accuracy of each annotator.
    """

    def __init__(
        self,
        state: AnswerState,
        n_rows: int,
        n_classes: int,
        *,
        minimum: int,
        maximum: int,
        double_annotated: float,
        confidence: float = CONFIDENCE,
    ) -> None:
        self._state, self._n_classes = state, n_classes
        self._maximum, self._confidence = maximum, confidence
        self.accuracies: dict[str, float] | None = None
        self.n_required: Ints = np.full(n_rows, minimum)
        doubled = np.random.default_rng(_SEED).permutation(n_rows)[: round(double_annotated * n_rows)]
        self.n_required[doubled] += 1
        self.is_adaptive = maximum > minimum
        self.asks_first = self.is_adaptive or bool(len(doubled))
        """Whether rows with an answer that need another one are asked first."""
        self.asks_twice = self.is_adaptive or bool((self.n_required > 1).any())
        """Whether rows are asked of several annotators."""

    def sets(self, row: int) -> dict[str, tuple[int, ...]]:
        """Return the classes that each informative answer to a row allows, by annotator."""
        return informative_sets(self._state.answers(row), self._n_classes)

    def is_complete(self, row: int) -> bool:
        """Return whether a row needs no more answers."""
        sets = self.sets(row)
        if len(sets) < self.n_required[row]:
            return False
        if not self.is_adaptive or len(sets) >= self._maximum:
            return True
        if have_conflict(list(sets.values())):
            return False
        if self.accuracies is None:
            return True
        return bool(answer_posterior(sets, self.accuracies, self._n_classes).max() >= self._confidence)


def informative_sets(answers: Mapping[str, Entry], n_classes: int) -> dict[str, tuple[int, ...]]:
    """Return the classes that each informative answer allows, by annotator."""
    allowed = {name: allowed_classes(entry, n_classes) for name, entry in answers.items()}
    return {name: classes for name, classes in allowed.items() if classes}


def have_conflict(sets: Sequence[Sequence[int]]) -> bool:
    """Return whether two of the sets have no class in common."""
    return any(set(one).isdisjoint(other) for i, one in enumerate(sets) for other in sets[:i])


def answer_posterior(sets: Mapping[str, Sequence[int]], accuracies: Mapping[str, float], n_classes: int) -> Floats:
    """Return the probabilities of the classes of a row, (n_classes,), given its answers.

    Parameters
    ----------
    sets : dict of annotator to sequence of int
        The classes that each answer allows; at least one, and not all of them.
    accuracies : dict of annotator to float
        Annotators that are missing have the mean of the others.
    n_classes : int
    """
    mean = float(np.mean(list(accuracies.values())))
    scores = np.zeros(n_classes)
    for name, allowed in sets.items():
        rate = min(max(accuracies.get(name, mean), MIN_ACCURACY), 1.0 - MIN_ACCURACY)
        scores[list(allowed)] += np.log(rate / (1.0 - rate)) + np.log((n_classes - len(allowed)) / len(allowed))
    return softmax(scores[None])[0]


def check_assignment(annotations_per_item: int, max_annotations: Any, double_annotated: Any) -> tuple[int, float]:
    """Return the maximum number of answers of a row, and the fraction of double-annotated rows.

    Parameters
    ----------
    annotations_per_item : int
    max_annotations : int or None
        None is `annotations_per_item`.
    double_annotated : float or None
        None is 0.2 if the number of answers is adaptive, otherwise 0.

    Raises
    ------
    InputError
        If `max_annotations` is below `annotations_per_item`, or `double_annotated` is not in [0, 1].
    """
    maximum = annotations_per_item if max_annotations is None else max_annotations
    check_positive("max_annotations", maximum, integer=True)
    if maximum < annotations_per_item:
        raise InputError(
            f"`max_annotations` must be at least `annotations_per_item` ({annotations_per_item}); got {maximum}."
        )
    if double_annotated is None:
        return int(maximum), DOUBLE_ANNOTATED if maximum > annotations_per_item else 0.0
    check_positive("double_annotated", double_annotated, allow_zero=True)
    if double_annotated > 1:
        raise InputError(f"`double_annotated` must be a fraction from 0 to 1; got {double_annotated!r}.")
    return int(maximum), float(double_annotated)
