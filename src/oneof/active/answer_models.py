"""Models of the answers of an annotator, and the density of rows, for queries by information."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from oneof.candidates import CandidateSets
from oneof.errors import InputError, reraise_as_input_error
from oneof.graphs.distances import OVERFLOW
from oneof.solvers.active import AnswerRates, estimate_rates
from oneof.typing import Floats, Labels
from oneof.validation import as_array, as_float_array, check_finite, check_fraction, check_positive

DENSITY_EXPONENT = 2.0
"""Exponent of the density of rows."""
MAX_DENSITY = 16.0
"""Maximum density, so that equal rows are not preferred without limit."""
_MAX_REFERENCES = 10_000
"""Maximum number of rows, drawn at random, among which neighbors are searched."""


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """Probabilities of an annotator's answers given the label: one label, two labels, or anything else.

    The information of an answer is lower than that of a label, above all if the distractor of a pair is the class that
    the model cannot exclude. Answers of three labels or more, and "don't know", count as answers without information.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The classes, in the order of the columns.
    exact_rate : float
        Probability of an answer of one label, the true one.
    pair_rate : float
        Probability of an answer of two labels, of which one is true.
    distractors : ndarray of shape (n_classes, n_classes)
        Probability of each distractor of a pair (column) given the label (row). The diagonal is 0.

    Examples
    --------
    >>> from oneof import CandidateSets
    >>> from oneof.active import AnswerModel
    >>> answers = CandidateSets.from_sets([["finch", "wren"], ["finch", "wren"], ["owl"]])
    >>> model = AnswerModel.from_candidates(answers)
    >>> model.exact_rate, model.pair_rate
    (0.375, 0.625)
    >>> model.distractors[0].round(2).tolist()
    [0.0, 0.25, 0.75]
    """

    classes: Labels
    exact_rate: float
    pair_rate: float
    distractors: Floats

    def __post_init__(self) -> None:
        check_fraction("exact_rate", self.exact_rate)
        check_fraction("pair_rate", self.pair_rate)
        if self.exact_rate + self.pair_rate > 1 + 1e-9:
            sums = f"{self.exact_rate} and {self.pair_rate}"
            raise InputError(f"`exact_rate` and `pair_rate` must have a sum of at most 1; got {sums}.")
        shape, rates = (len(self.classes), len(self.classes)), as_float_array(self.distractors, "distractors")
        is_valid = rates.shape == shape and not rates.diagonal().any() and bool((rates >= 0).all())
        if not is_valid or not (rates.sum(axis=1) <= 1 + 1e-9).all():
            form = "probabilities, 0 on the diagonal, and the sum of a row at most 1"
            raise InputError(f"`distractors` must have shape {shape}: {form}.")

    @classmethod
    def from_candidates(cls, candidates: CandidateSets, proba: Any = None) -> Self:
        """Estimate the model from given answers.

        Parameters
        ----------
        candidates : CandidateSets
            The answers; unlabeled rows have no effect. Of weighted candidates, those of at least half of the largest
            weight are the answer.
        proba : array-like of shape (n_samples, n_classes), optional
            Predicted class probabilities of the rows. Within a pair they are the probabilities that each class is the
            label; by default both are equally probable.

        Returns
        -------
        AnswerModel
            Rates are means with a prior count of 1/2 for exact answers and for pairs, and distractors have a prior
            count of 1 for each class.

        Raises
        ------
        InputError
            If the shape of `proba` is not that of the candidates.
        """
        proba = np.full(candidates.shape, 1.0) if proba is None else as_array(proba, "proba")
        if proba.shape != candidates.shape:
            raise InputError(f"`proba` must have shape {candidates.shape}; got {proba.shape}.")
        labeled = ~candidates.is_unlabeled
        rates = estimate_rates(candidates.evidence[labeled], np.asarray(proba, dtype=np.float64)[labeled])
        return cls(candidates.classes, *rates)

    @property
    def rates(self) -> AnswerRates:
        """The probabilities, for the solver."""
        return AnswerRates(float(self.exact_rate), float(self.pair_rate), np.asarray(self.distractors, np.float64))


def local_density(X: Any, n_neighbors: int = 30) -> Floats:
    """Return the density of each row relative to the median row.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
    n_neighbors : int, default=30
        Number of nearest other rows; all other rows if there are fewer.

    Returns
    -------
    ndarray of shape (n_samples,)
        The square of d_m / d_i, with d_i the mean distance to the nearest rows and d_m the median of all d_i; at most
        16. Above 10,000 rows, neighbors are searched among a random sample of that size.

    Raises
    ------
    InputError
        If X is not finite, or `n_neighbors` is below 1.

    Notes
    -----
    The exponent of 2 was chosen on other data sets than those of the documentation, by the accuracy of labeling
    sessions: a lower one selects outliers, whose sets of labels neighbors cannot disambiguate; a higher one neglects
    the information. So was the number of neighbors, on other rows: with 10, groups of nearly equal rows are dense.

    References
    ----------
    Settles & Craven (2008), An analysis of active learning strategies for sequence labeling tasks, EMNLP: section 3.4.

    Examples
    --------
    >>> from oneof.active import local_density
    >>> local_density([[0.0], [1.0], [2.0], [6.0]], n_neighbors=1).tolist()
    [1.0, 1.0, 1.0, 0.0625]
    """
    check_positive("n_neighbors", n_neighbors, integer=True)
    with reraise_as_input_error():
        rows = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    check_finite(rows)
    n_rows = rows.shape[0]
    if n_rows < 2:
        return np.ones(n_rows)
    references = np.arange(n_rows)
    if n_rows > _MAX_REFERENCES:
        references = np.sort(np.random.RandomState(0).choice(n_rows, _MAX_REFERENCES, replace=False))
    n = min(int(n_neighbors), len(references) - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = NearestNeighbors(n_neighbors=n + 1).fit(rows[references]).kneighbors(rows)[0]
    if not np.isfinite(distances).all():
        raise InputError(OVERFLOW)
    # The nearest reference of a reference is itself; that of another row is its first neighbor.
    is_reference = np.isin(np.arange(n_rows), references)
    mean = np.where(is_reference, distances[:, 1:].mean(axis=1), distances[:, :-1].mean(axis=1))
    median = float(np.median(mean))
    lowest = median * MAX_DENSITY ** (-1.0 / DENSITY_EXPONENT)
    if median == 0.0:
        return np.ones(n_rows)
    return np.asarray((median / np.maximum(mean, lowest)) ** DENSITY_EXPONENT)
