"""Agreement of annotators: Krippendorff's alpha, and Cohen's kappa of each pair."""

from typing import Any, Literal, NamedTuple

import numpy as np

from oneof.crowd.answers import Answers
from oneof.crowd.arguments import as_answers
from oneof.errors import InputError
from oneof.solvers.annotators import alpha_interval, alpha_of, masi_distances, nominal_distances, pair_kappas
from oneof.typing import Floats, Ints, Labels
from oneof.validation import check_choice, check_coverage, check_positive, check_random_state

DISTANCES = {"nominal": nominal_distances, "masi": masi_distances}
MAX_DISTINCT = 5000
"""Maximum number of distinct answers, whose distances are in memory."""


def krippendorff_alpha(answers: Any, distance: Literal["nominal", "masi"] = "nominal", *, classes: Any = None) -> float:
    """Return Krippendorff's alpha, the agreement of annotators relative to chance.

    Parameters
    ----------
    answers : Answers, array-like or DataFrame
        A (rows, annotators) table, or records; see `Answers`. Answers may be missing.
    distance : {"nominal", "masi"}, default="nominal"
        "nominal": answers are equal or different. "masi": sets of labels that overlap differ less.
    classes : array-like of shape (n_classes,), optional
        The classes; by default the sorted labels that occur.

    Returns
    -------
    float
        1 for equal answers, about 0 for answers at random, below 0 for disagreement above chance. NaN if no row has two
        answers, or all answers are equal.

    Raises
    ------
    InputError
        If the answers or `distance` are invalid.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    Passonneau (2006), Measuring agreement on set-valued items (MASI), LREC.

    Examples
    --------
    >>> from oneof.crowd import krippendorff_alpha
    >>> krippendorff_alpha([["finch", "finch"], ["wren", None], ["wren", "wren"], ["finch", "finch"]])
    1.0
    """
    given, code, distances = _encoded(answers, distance, classes)
    return alpha_of(given._row, code, distances, len(given))


def krippendorff_interval(
    answers: Any,
    distance: Literal["nominal", "masi"] = "nominal",
    *,
    classes: Any = None,
    coverage: float = 0.95,
    n_samples: int = 1000,
    random_state: Any = None,
) -> tuple[float, float]:
    """Return a bootstrap interval of Krippendorff's alpha: percentiles over rows drawn with replacement.

    Parameters
    ----------
    answers : Answers, array-like or DataFrame
        A (rows, annotators) table, or records; see `Answers`.
    distance : {"nominal", "masi"}, default="nominal"
        See `krippendorff_alpha`.
    classes : array-like of shape (n_classes,), optional
        The classes; by default the sorted labels that occur.
    coverage : float, default=0.95
        The probability of the interval, above 0 and below 1.
    n_samples : int, default=1000
        Number of bootstrap samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples.

    Returns
    -------
    tuple of two floats
        The lower and the upper end; NaN if alpha is.

    Raises
    ------
    InputError
        If the answers or a parameter are invalid.

    Examples
    --------
    >>> from oneof.crowd import krippendorff_interval
    >>> table = [["a", "a"], ["b", "b"], ["a", "b"], ["b", "b"], ["a", "a"], ["a", "a"]]
    >>> low, high = krippendorff_interval(table, random_state=0)
    >>> low < 0.6 < high
    True
    """
    check_coverage(coverage)
    check_positive("n_samples", n_samples, integer=True)
    given, code, distances = _encoded(answers, distance, classes)
    rng = check_random_state(random_state)
    return alpha_interval(given._row, code, distances, len(given), coverage=coverage, n_samples=int(n_samples), rng=rng)


class PairAgreements(NamedTuple):
    """The agreement of each pair of annotators with common rows, in the order of the annotators.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,)
        Names of the annotators.
    n_shared : ndarray of shape (n_pairs,)
        Number of rows that both answered.
    agreement : ndarray of shape (n_pairs,)
        The fraction of these rows with equal answers; with the MASI distance, 1 minus the mean distance.
    kappa : ndarray of shape (n_pairs,)
        Cohen's kappa: 1 for equal answers, about 0 for independent ones. NaN if both give the same answer to all rows.

    Examples
    --------
    >>> from oneof.crowd import pairwise_agreement
    >>> pairwise_agreement([["a", "a"], ["b", "b"], ["a", "b"], ["b", None]]).n_shared.tolist()
    [3]
    """

    first: Labels
    second: Labels
    n_shared: Ints
    agreement: Floats
    kappa: Floats


def pairwise_agreement(
    answers: Any, distance: Literal["nominal", "masi"] = "nominal", *, classes: Any = None
) -> PairAgreements:
    """Return the agreement of each pair of annotators: the observed one, and Cohen's kappa.

    Parameters
    ----------
    answers : Answers, array-like or DataFrame
        A (rows, annotators) table, or records; see `Answers`. Answers may be missing.
    distance : {"nominal", "masi"}, default="nominal"
        "nominal": answers are equal or different. "masi": sets of labels that overlap differ less.
    classes : array-like of shape (n_classes,), optional
        The classes; by default the sorted labels that occur.

    Returns
    -------
    PairAgreements
        Of the pairs with common rows. ``pandas.DataFrame(pairs._asdict())`` is a table with a line for each pair.

    Raises
    ------
    InputError
        If the answers or `distance` are invalid.

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20(1).

    Examples
    --------
    >>> from oneof.crowd import pairwise_agreement
    >>> table = [["finch", "finch"], ["wren", "wren"], ["wren", "finch"], ["finch", "finch"]]
    >>> pairs = pairwise_agreement(table)
    >>> pairs.agreement.tolist(), pairs.kappa.tolist()
    ([0.75], [0.5])
    """
    given, code, distances = _encoded(answers, distance, classes)
    pairs = pair_kappas(given._row, given._source, code, distances, len(given), len(given.annotators))
    names = given.annotators
    return PairAgreements(names[pairs.first], names[pairs.second], pairs.n_shared, pairs.agreement, pairs.kappa)


def _encoded(answers: Any, distance: Any, classes: Any) -> tuple[Answers, Ints, Floats]:
    """Return the answers, the code of each, and the distances of the distinct answers."""
    check_choice("distance", distance, tuple(DISTANCES))
    given = as_answers(answers, classes)
    used, code = np.unique(given._code, return_inverse=True)
    if len(used) > MAX_DISTINCT:
        raise InputError(
            f"`answers` must have at most {MAX_DISTINCT:,} distinct sets; got {len(used):,}. Use fewer rows."
        )
    return given, code.ravel(), DISTANCES[distance](given._sets[used])
