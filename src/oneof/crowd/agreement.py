"""Agreement of annotators: Krippendorff's alpha, and Cohen's kappa of each pair."""

from typing import Any, Literal

import numpy as np

from oneof.candidates.encoding import EncodedAnswers
from oneof.crowd.answers import Answers, as_answers
from oneof.errors import InputError
from oneof.solvers.annotators import agreement as solvers
from oneof.typing import Floats
from oneof.validation import check_choice, check_coverage, check_positive, check_random_state

DISTANCES = {"nominal": solvers.nominal_distances, "masi": solvers.masi_distances}
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
    given, codes, distances = _encoded(answers, distance, classes)
    return solvers.alpha_of(codes.row, codes.answer, distances, len(given))


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
    given, codes, distances = _encoded(answers, distance, classes)
    rng = check_random_state(random_state)
    triple = codes.row, codes.answer, distances
    return solvers.alpha_interval(*triple, len(given), coverage=coverage, n_samples=int(n_samples), rng=rng)


def pairwise_agreement(
    answers: Any, distance: Literal["nominal", "masi"] = "nominal", *, classes: Any = None
) -> solvers.PairAgreements:
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
    given, codes, distances = _encoded(answers, distance, classes)
    pairs = solvers.pair_kappas(codes.row, codes.annotator, codes.answer, distances, *codes.shape)
    return pairs._replace(first=given.annotators[pairs.first], second=given.annotators[pairs.second])


def _encoded(answers: Any, distance: Any, classes: Any) -> tuple[Answers, EncodedAnswers, Floats]:
    """Return the answers, their codes among those that occur, and the distances of these."""
    check_choice("distance", distance, tuple(DISTANCES))
    given = as_answers(answers, classes)
    used, code = np.unique(given.to_codes().answer, return_inverse=True)
    if len(used) > MAX_DISTINCT:
        raise InputError(
            f"`answers` must have at most {MAX_DISTINCT:,} distinct sets; got {len(used):,}. Use fewer rows."
        )
    codes = given.to_codes()._replace(answer=code.ravel())
    return given, codes, DISTANCES[distance](codes.sets[used])
