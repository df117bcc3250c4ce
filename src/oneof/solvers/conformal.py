"""Conformal prediction: scores of classes, p-values from calibration rows with candidate sets, prediction sets.

A score s(x, k) is small if class k is plausible for row x. The p-value of class k compares it with the scores
s_i = s(x_i, y_i) of n calibration rows,

    p_k(x) = (#{i: s_i >= s(x, k)} + 1) / (n + 1),

and the prediction set of coverage 1 - a has the classes with p_k > a. It has the same classes as the rule s(x, k) <= q,
where q is the ceil((n + 1)(1 - a))-th smallest s_i. If the calibration rows and the new row are exchangeable, the set
contains the true class with probability at least 1 - a. In cross-conformal prediction s_i is compared with the score of
the model that was not fitted to row i (Romano, Sesia & Candes, NeurIPS 2020); the guarantee is then about 1 - 2a.

The labels of calibration rows with candidate sets are unknown. Under three rules, p_k is

* conservative: the largest p-value over all labels that the sets allow, so that the guarantee remains;
* optimistic: the smallest one, without a guarantee;
* sampled: the p-value in which a row has each of its candidates as its label with the probability given the set,
  w_ik p_ik / sum_j w_ij p_ij. It is the limit of many draws of the labels (Stutz et al., TMLR 2023).

In class-conditional (Mondrian) prediction p_k is computed from the calibration rows of class k alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from oneof.typing import Evidence, Floats, Ints, Mask

Rule = Literal["conservative", "optimistic", "sampled"]
P_VALUE_TOL = 1e-10
"""Tolerance of p-values, which are fractions of counts, for the rounding errors of a and of sums of weights."""

TIE_TOL, TIE_TOL_SINGLE = 1e-9, 1e-5
"""Relative difference up to which probabilities, in double or in single precision, are equal: two computations of one
value differ by rounding errors."""


def lac_scores(proba: Floats) -> Floats:
    """Return 1 - p_k for (n, K) probabilities (Sadinle, Lei & Wasserman, JASA 2019)."""
    return np.asarray(1.0 - np.asarray(proba, dtype=np.float64))


def aps_scores(proba: Floats, uniform: Floats | None = None) -> Floats:
    """Return the probability of all classes that are at least as probable as k (Romano et al. 2020).

    Parameters
    ----------
    proba : ndarray of shape (n, K)
    uniform : ndarray of shape (n,), optional
        Random numbers u from [0, 1). With them, the score is the probability of the more probable classes plus u times
        that of class k.

    Returns
    -------
    ndarray of shape (n, K)
        In [0, 1]. Classes of equal probability have equal scores: they are treated as one class.
    """
    tol = TIE_TOL_SINGLE if np.asarray(proba).dtype == np.float32 else TIE_TOL
    proba = np.asarray(proba, dtype=np.float64)
    order = np.argsort(-proba, axis=1, kind="stable")
    ranked = np.take_along_axis(proba, order, axis=1)
    total = np.cumsum(ranked, axis=1)
    total[:, -1] = 1.0  # the sum of probabilities has a rounding error
    before = np.concatenate([np.zeros((len(proba), 1)), total[:, :-1]], axis=1)
    differs = ranked[:, :-1] - ranked[:, 1:] > tol * ranked[:, :-1]
    edge = np.ones((len(proba), 1), dtype=bool)
    lower = np.maximum.accumulate(np.where(np.hstack([edge, differs]), before, 0.0), axis=1)
    upper = np.where(np.hstack([differs, edge]), total, np.inf)
    upper = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1]
    share = 1.0 if uniform is None else uniform[:, None]
    scores = np.empty_like(ranked)
    np.put_along_axis(scores, order, lower + share * (upper - lower), axis=1)
    return np.minimum(scores, 1.0)


def candidate_proba(proba: Floats, evidence: Evidence) -> Floats:
    """Return w_ik p_ik / sum_j w_ij p_ij, (n, K); proportional to w_ik if the sum is 0."""
    joint = np.asarray(evidence, dtype=np.float64) * proba
    is_zero = joint.sum(axis=1) == 0
    joint[is_zero] = evidence[is_zero]
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class WeightedScores:
    """Sorted scores, and the sums of their weights."""

    values: Floats
    """(m,): increasing."""
    cumulative: Floats
    """(m + 1,): the sum of the weights of the first j values; the first is 0."""

    @classmethod
    def from_arrays(cls, values: Floats, weights: Floats) -> "WeightedScores":
        """Sort scores with their weights."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.concatenate([[0.0], np.cumsum(weights[order], dtype=np.float64)]))

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.cumulative[-1])

    def below(self, scores: Floats) -> Floats:
        """Return the sum of the weights of the values below each score."""
        return np.asarray(self.cumulative[np.searchsorted(self.values, scores, side="left")])


@dataclass(frozen=True)
class Calibration:
    """The scores of the calibration rows of one model: of all rows, or of each class."""

    groups: list[WeightedScores]
    """One for all classes, or one for each class."""
    possible: list[WeightedScores]
    """For each class, the partial rows that may have it, whose membership the rule decides for each score; or empty."""
    rule: str

    def counts(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the weights of the rows with a score of at least each of (n, K) scores, and of all rows compared."""
        at_least, total = np.empty(scores.shape), np.empty(scores.shape)
        if len(self.groups) == 1:
            at_least[:] = self.groups[0].total - self.groups[0].below(scores)
            total[:] = self.groups[0].total
            return at_least, total
        for k, group in enumerate(self.groups):
            at_least[:, k], total[:, k] = group.total - group.below(scores[:, k]), group.total
        for k, group in enumerate(self.possible):
            below = group.below(scores[:, k])
            if self.rule == "conservative":  # a row that raises the p-value has this class
                at_least[:, k] += group.total - below
                total[:, k] += group.total - below
            else:
                total[:, k] += below
        return at_least, total


def calibrate(
    scores: Floats,
    proba: Floats,
    evidence: Evidence,
    *,
    rule: Rule,
    class_conditional: bool = False,
    posterior: Floats | None = None,
) -> Calibration:
    """Return the calibration of rows with candidate sets.

    Parameters
    ----------
    scores, proba : ndarray of shape (n, K)
        Scores and probabilities of the classes by a model that was not fitted to these rows.
    evidence : ndarray of shape (n, K), bool or float
        Candidate sets or weights, with a candidate in each row. The rules "conservative" and "optimistic" use the
        classes with a weight above 0, whatever the weight.
    rule : {"conservative", "optimistic", "sampled"}
    class_conditional : bool
    posterior : ndarray of shape (n, K), optional
        Probabilities of the candidates given the set for "sampled"; 0 outside the set, rows sum to 1.
    """
    mask = evidence > 0
    n, n_classes = mask.shape
    if rule == "sampled":
        row, column = np.nonzero(mask)
        weights = (candidate_proba(proba, evidence) if posterior is None else posterior)[row, column]
        return Calibration(_group(scores[row, column], column, weights, n_classes, class_conditional), [], rule)
    if not class_conditional:
        extreme = np.where(mask, scores, -np.inf).max(axis=1)
        if rule == "optimistic":
            extreme = np.where(mask, scores, np.inf).min(axis=1)
        return Calibration([WeightedScores.from_arrays(extreme, np.ones(n))], [], rule)
    exact = np.count_nonzero(mask, axis=1) == 1
    parts = []
    for rows in (np.flatnonzero(exact), np.flatnonzero(~exact)):
        row, column = np.nonzero(mask[rows])
        parts.append(_group(scores[rows[row], column], column, np.ones(len(row)), n_classes, class_conditional))
    return Calibration(parts[0], parts[1], rule)


def p_values(calibrations: Sequence[Calibration], scores: Sequence[Floats]) -> Floats:
    """Return the p-values of all classes, (n, K).

    Parameters
    ----------
    calibrations : sequence of Calibration
        One for each model; of several models, each was calibrated on the rows that it was not fitted to.
    scores : sequence of ndarray of shape (n, K)
        The scores of the new rows by each model.
    """
    at_least, total = np.ones(scores[0].shape), np.ones(scores[0].shape)
    for calibration, values in zip(calibrations, scores, strict=True):
        more, rows = calibration.counts(values)
        at_least += more
        total += rows
    return np.asarray(at_least / total)


def exceeds(p: Floats, coverage: float) -> Mask:
    """Return whether p-values are above 1 - coverage, up to rounding errors."""
    return np.asarray(p > 1.0 - coverage + P_VALUE_TOL)


def prediction_sets(p: Floats, coverage: float, proba: Floats) -> Mask:
    """Return the sets of a coverage, (n, K).

    An empty set gets the class with the largest p-value; of several, the most probable one. This can only raise the
    coverage, and a set of a larger coverage still contains that of a smaller one.

    Parameters
    ----------
    p, proba : ndarray of shape (n, K)
        p-values and probabilities.
    coverage : float
        In (0, 1).
    """
    mask = exceeds(p, coverage)
    empty = np.flatnonzero(~mask.any(axis=1))
    is_best = p[empty] == p[empty].max(axis=1, keepdims=True)
    mask[empty, np.where(is_best, proba[empty], -1.0).argmax(axis=1)] = True
    return mask


def never_excluded(calibrations: Sequence[Calibration], n_classes: int, coverage: float) -> Mask:
    """Return the classes that are in every set of a coverage, (K,), because there are too few calibration rows."""
    smallest = p_values(calibrations, [np.full((1, n_classes), np.inf)] * len(calibrations))[0]
    return exceeds(smallest, coverage)


def min_calibration_rows(coverage: float) -> int:
    """Return the number of exact calibration rows from which a class can be excluded."""
    return math.ceil(coverage / (1.0 - coverage) - P_VALUE_TOL)


def _group(
    values: Floats, column: Ints, weights: Floats, n_classes: int, class_conditional: bool
) -> list[WeightedScores]:
    """Return the scores of all classes together, or of each class."""
    if not class_conditional:
        return [WeightedScores.from_arrays(values, weights)]
    order = np.argsort(column, kind="stable")
    ends = np.cumsum(np.bincount(column, minlength=n_classes))[:-1]
    parts = zip(np.split(values[order], ends), np.split(weights[order], ends))
    return [WeightedScores.from_arrays(value, weight) for value, weight in parts]
