"""Conformal prediction: scores of classes, p-values from calibration rows with candidate sets, prediction sets.

A score s(x, k) is small if class k is plausible for row x. The p-value of class k compares it with the scores
s_i = s(x_i, y_i) of n calibration rows,

    p_k(x) = (#{i: s_i >= s(x, k)} + 1) / (n + 1),

and the prediction set of coverage 1 - a has the classes with p_k > a. It has the same classes as the rule s(x, k) <= q,
where q is the ceil((n + 1)(1 - a))-th smallest s_i. If the calibration rows and the new row are exchangeable, the set
contains the true class with probability at least 1 - a. In cross-conformal prediction s_i is compared with the score of
the model that was not fitted to row i (Romano, Sesia & Candes, NeurIPS 2020); the guarantee is then about 1 - 2a.

The labels of calibration rows with candidate sets are unknown. Under the three calibrations, p_k is

* conservative: the largest p-value over all labels that the sets allow, so that the guarantee remains;
* sampled: the p-value in which a row has each of its candidates as its label with the probability given the set,
  w_ik p_ik / sum_j w_ij p_ij. It is the limit of many draws of the labels (Stutz et al., TMLR 2023);
* optimistic: the smallest p-value over all labels that the sets allow, without a guarantee.

In class-conditional (Mondrian) prediction p_k is computed from the calibration rows of class k alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from oneof.typing import Evidence, Floats, Mask

METHODS = ("lac", "aps")
CALIBRATIONS = ("conservative", "sampled", "optimistic")
"""The first one is the default, since its guarantee also holds with partial calibration rows."""

P_VALUE_TOL = 1e-10
"""Tolerance of p-values, which are fractions of counts, for the rounding errors of a and of sums of weights."""

TIE_TOL = 1e-5
"""Relative difference up to which probabilities tie: the error of a softmax in single precision (6e-8 of a logit of
magnitude 100)."""

MIN_GROUPS = 20
"""Number of groups below which a sentence warns. If rows of a group are covered together, the coverage of new groups
has a standard deviation of about sqrt(.9 * .1 / 20) = .07 at .9."""

UNIFORM_DIGITS = 4
"""Digits of the probabilities that determine the random number of a row: rounding errors of single precision (1e-7)
change the rounded value of one probability in a thousand."""


def class_scores(proba: Floats, method: str, uniform: Floats | None = None) -> Floats:
    """Return the scores of the classes, (n, K), in [0, 1].

    Tied classes have equal scores. Probabilities are rounded to single precision, so that a row has the same scores
    alone and in a batch.

    Parameters
    ----------
    proba : ndarray of shape (n, K)
    method : {"lac", "aps"}
        "lac" is 1 - p_k (Sadinle, Lei & Wasserman, JASA 2019). "aps" is the probability of the classes that are more
        probable than k (Romano, Sesia & Candes, NeurIPS 2020): a set has the most probable classes, until their
        probability is above a threshold, and is never empty.
    uniform : ndarray of shape (n,), optional
        Numbers u from [0, 1). With them, "aps" adds u times the probability of class k and of the classes tied with it.
    """
    proba = np.asarray(proba, dtype=np.float32).astype(np.float64)
    order = np.argsort(-proba, axis=1, kind="stable")
    ranked = np.take_along_axis(proba, order, axis=1)
    is_first = np.ones(ranked.shape, dtype=bool)
    is_first[:, 1:] = ranked[:, :-1] - ranked[:, 1:] > TIE_TOL * ranked[:, :-1]
    first = np.maximum.accumulate(np.where(is_first, np.arange(ranked.shape[1]), 0), axis=1)  # of the tied classes
    if method == "lac":
        values = 1.0 - np.take_along_axis(ranked, first, axis=1)
    else:
        total = np.cumsum(ranked, axis=1)
        values = np.take_along_axis(total - ranked, first, axis=1)
        if uniform is not None:
            is_last = np.diff(first, axis=1, append=ranked.shape[1]) > 0
            upper = np.minimum.accumulate(np.where(is_last, total, np.inf)[:, ::-1], axis=1)[:, ::-1]
            values += uniform[:, None] * (upper - values)
    scores = np.empty_like(values)
    np.put_along_axis(scores, order, np.minimum(values, 1.0), axis=1)
    return scores


def row_uniforms(proba: Floats, seed: int) -> Floats:
    """Return a number in [0, 1) for each row, (n,), a hash of the seed and the row's rounded probabilities.

    It does not depend on the other rows. Rows of equal probabilities have the same number. The coverage is that of any
    fixed function of a row as its score.
    """
    content = np.rint(10**UNIFORM_DIGITS * proba).astype("<i4")
    salt = seed.to_bytes(8, "little")
    hashes = [blake2b(row.tobytes(), digest_size=6, salt=salt).digest() for row in content]
    return np.array([int.from_bytes(digest, "little") for digest in hashes]) / 2.0**48


def candidate_proba(proba: Floats, evidence: Evidence) -> Floats:
    """Return w_ik p_ik / sum_j w_ij p_ij, (n, K); proportional to w_ik if the sum is 0."""
    joint = np.asarray(evidence, dtype=np.float64) * proba
    is_zero = joint.sum(axis=1) == 0
    joint[is_zero] = evidence[is_zero]
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Calibration:
    """The scores of the calibration rows of one model: of all rows together, or of each class.

    A row counts in #{i: s_i >= s} for new scores s up to its own, and in n for all s. The membership of a partial row
    in a class may depend on s: the two weights of a score are those for s up to it, and for larger s.
    """

    values: list[Floats]
    """For all classes or for each class, (m,): increasing scores."""
    at_least: list[Floats]
    """(m + 1,): the sum of the weights of the scores from the j-th on."""
    below: list[Floats]
    """(m + 1,): the sum of the weights of the scores before the j-th."""

    def count(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the weights of the rows with a score of at least each of (n, K) scores, and of all rows compared."""
        at_least, total = np.empty(scores.shape), np.empty(scores.shape)
        for k in range(scores.shape[1]):
            group = k if len(self.values) > 1 else 0
            j = np.searchsorted(self.values[group], scores[:, k], side="left")
            at_least[:, k] = self.at_least[group][j]
            total[:, k] = at_least[:, k] + self.below[group][j]
        return at_least, total


def calibrate(
    scores: Floats,
    proba: Floats,
    evidence: Evidence,
    *,
    calibration: str,
    class_conditional: bool = False,
    posterior: Floats | None = None,
) -> Calibration:
    """Return the calibration of rows with candidate sets.

    Parameters
    ----------
    scores, proba : ndarray of shape (n, K)
        Scores and probabilities of the classes by a model that was not fitted to these rows.
    evidence : ndarray of shape (n, K), bool or float
        Candidate sets or weights, with a candidate in each row. "conservative" and "optimistic" use the classes with a
        weight above 0, whatever the weight.
    calibration : {"conservative", "sampled", "optimistic"}
    class_conditional : bool
    posterior : ndarray of shape (n, K), optional
        Probabilities of the candidates given the set for "sampled"; 0 outside the set, rows sum to 1.
    """
    member = (evidence > 0).astype(np.float64)
    is_worst = calibration == "conservative"
    if calibration == "sampled":
        at_least = below = candidate_proba(proba, evidence) if posterior is None else posterior
    elif class_conditional:  # a partial row is of class k if that raises the p-value of class k, or if it lowers it
        certain = member * (member.sum(axis=1, keepdims=True) == 1)
        at_least, below = (member, certain) if is_worst else (certain, member)
    else:
        label = np.where(member > 0, scores if is_worst else -scores, -np.inf).argmax(axis=1)
        at_least = below = np.eye(member.shape[1])[label]
    row, column = np.nonzero(np.maximum(at_least, below))
    order = np.argsort(scores[row, column], kind="stable")
    row, column = row[order], column[order]
    parts = [np.flatnonzero(column == k) for k in range(member.shape[1])] if class_conditional else [slice(None)]
    groups = [(row[part], column[part]) for part in parts]
    return Calibration(
        [scores[group] for group in groups],
        [np.append(np.cumsum(at_least[group][::-1])[::-1], 0.0) for group in groups],
        [np.append(0.0, np.cumsum(below[group])) for group in groups],
    )


def p_values(calibrations: Sequence[Calibration], scores: Sequence[Floats]) -> Floats:
    """Return the p-values of all classes, (n, K).

    Parameters
    ----------
    calibrations : sequence of Calibration
        One for each model; of several models, each was calibrated on the rows that it was not fitted to.
    scores : sequence of ndarray of shape (n, K)
        The scores of the new rows by each model.
    """
    counts = [calibration.count(values) for calibration, values in zip(calibrations, scores, strict=True)]
    at_least, total = (sum(parts) for parts in zip(*counts, strict=True))
    return np.asarray((at_least + 1.0) / (total + 1.0))


def prediction_sets(p: Floats, coverage: float, proba: Floats) -> Mask:
    """Return the sets of a coverage, (n, K).

    An empty set gets the class with the largest p-value; of several, the most probable one and those tied with it. This
    can only raise the coverage, and a set of a larger coverage still contains that of a smaller one.

    Parameters
    ----------
    p, proba : ndarray of shape (n, K)
        p-values and probabilities.
    coverage : float
        In (0, 1).
    """
    mask = np.asarray(p > 1.0 - coverage + P_VALUE_TOL)
    empty = np.flatnonzero(~mask.any(axis=1))
    best = np.where(p[empty] == p[empty].max(axis=1, keepdims=True), proba[empty], -1.0)
    mask[empty] = best >= (1.0 - TIE_TOL) * best.max(axis=1, keepdims=True)
    return mask


def describe_few_rows(
    calibrations: Sequence[Calibration], n_classes: int, coverage: float, class_conditional: bool
) -> str:
    """Return a sentence if there are too few calibration rows to exclude some classes, and an empty text otherwise."""
    smallest = p_values(calibrations, [np.full((1, n_classes), np.inf)] * len(calibrations))
    n_full = int((smallest > 1.0 - coverage + P_VALUE_TOL).sum())
    if not n_full:
        return ""
    least = math.ceil(coverage / (1.0 - coverage) - P_VALUE_TOL)
    return (
        f"{n_full} of {n_classes} classes are in every prediction set: a coverage of {coverage:g} requires at least "
        f"{least} calibration rows{' of each class' * class_conditional}."
    )


def describe_few_groups(n_groups: int | None) -> str:
    """Return a sentence if few groups calibrate the sets, and an empty text otherwise."""
    if n_groups is None or n_groups >= MIN_GROUPS:
        return ""
    return f"{n_groups} groups calibrate the sets: with fewer than {MIN_GROUPS} the coverage may be far off."


def describe_guarantee(
    coverage: float,
    *,
    calibration: str,
    class_conditional: bool,
    n_partial: int,
    is_bound: bool,
    n_groups: int | None,
) -> str:
    """Return a sentence on the coverage, and another one if few groups calibrate the sets.

    Parameters
    ----------
    coverage : float
    calibration : {"conservative", "sampled", "optimistic"}
    class_conditional : bool
    n_partial : int
        Number of calibration rows with several candidates; without them the three calibrations are the same.
    is_bound : bool
        Whether all calibration rows were predicted by the model that predicts the new rows, and was not fitted to them.
    n_groups : int or None
        Number of groups, if each calibration row was predicted by a model that was not fitted to rows of its group.
    """
    few = f" {describe_few_groups(n_groups)}".rstrip()
    rows = "new rows like the calibration rows" if n_groups is None else "rows of new groups, on average over groups,"
    about = "at least" if is_bound else "about"
    of_class = " of each class" * class_conditional
    share = f"{about} {100 * coverage:g} % of {rows}{of_class} have the true label in the set"
    if n_partial and calibration == "sampled":
        return f"No guarantee: {share} only if the probabilities of the candidates are right.{few}"
    if n_partial and calibration == "optimistic":
        return f"No guarantee: the most plausible candidate of each calibration row is taken for its true label.{few}"
    condition = ", if every candidate set of the calibration contains it" * bool(n_partial)
    return f"{share[0].upper()}{share[1:]}{condition}.{few}"
