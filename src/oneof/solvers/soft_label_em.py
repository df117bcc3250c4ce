"""EM for the labels of any probabilistic classifier: soft labels, updated by held-out predictions.

Row i has the weights w_i of its classes, 0 and 1 for a candidate set, and the label distribution q_i. From
q_ik = w_ik / sum_j w_ij, each round is

    M:  for each fold, a classifier is fitted to the other folds, each row i having the labels k with the weights q_ik,
    E:  r_ik = w_ik p_ik / sum_j w_ij p_ij, where p_i is the prediction of the classifier that was not fitted to row i,
        q_i <- q_i + a_t (r_i - q_i).

A classifier that interpolates its training rows, such as a forest, would confirm the labels that it was given: p_i
must be held out (Raykar et al. 2010 do this for annotators, with cross-fitting as in Chernozhukov et al. 2018).
p_i contains the class frequencies of q, and w_i is a likelihood, so that r is a posterior. An exact row keeps its
label.

Trees are not continuous in their labels: small changes of q change r by some percent in every round, and the labels do
not converge. The step is therefore a_t = 1 in the first `N_FULL_STEPS` rounds, then 1/2, 1/3, ...: q becomes the mean
of r over the last rounds (stochastic approximation EM, Delyon et al. 1999). The rounds end when the labels of the rows
of several candidates change by at most `tol`: the mean of 1/2 sum_k |q_ik - q'_ik|.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from oneof.solvers.small_weights import MIN_WEIGHT
from oneof.typing import Evidence, Floats, Ints, Mask

MIN_PROBABILITY = 1e-6
"""Lower bound of held-out probabilities: trees give 0, and a class may be absent from a training set."""
N_FULL_STEPS = 6
"""Number of rounds before the labels are averaged."""
MIN_LABEL_WEIGHT = 1e-3
"""Soft labels below this fraction of the largest one of their row are not fitted, since each costs a further row."""
COPIES_TOL = 1e-9
"""Difference of two numbers of copies that is a rounding error."""


@dataclass(frozen=True)
class SoftLabels:
    """Result of `solve_soft_labels`."""

    distributions: Floats
    """q, (n, K): 0 where the evidence is 0, rows sum to 1."""
    changes: Floats
    """(n_iter,): mean change of the labels of the rows of several candidates, in [0, 1]."""
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of rounds, at least 1."""
        return len(self.changes)


class LabelPairs(NamedTuple):
    """Pairs of a row and one of its labels, ordered by rows, then by classes."""

    row: Ints
    label: Ints
    weight: Floats
    """In (0, 1]; those of a row sum to 1."""


def solve_soft_labels(
    evidence: Evidence,
    predict_held_out: Callable[[Floats], Floats],
    *,
    max_iter: int,
    tol: float,
    report: Callable[[int, float], None] | None = None,
) -> SoftLabels:
    """Update the labels until they change by at most `tol`, or for `max_iter` rounds.

    Parameters
    ----------
    evidence : ndarray of shape (n, K)
        A mask or weights; no row is 0.
    predict_held_out : callable
        ``predict_held_out(q)`` returns probabilities (m, K) of the m rows of several candidates, in order, each
        predicted by a classifier that was fitted to the labels q of other rows.
    max_iter : int
    tol : float
    report : callable, optional
        ``report(n_rounds, change)`` is called after each round.
    """
    weights = evidence.astype(np.float64)
    distributions = weights / weights.sum(axis=1, keepdims=True)
    ambiguous = has_several_candidates(evidence)
    changes: list[float] = []
    weights, converged = weights[ambiguous], False
    while not converged and len(changes) < max_iter:
        change = 0.0
        if len(weights):
            labels = distributions[ambiguous]
            step = 1.0 / max(1, len(changes) + 2 - N_FULL_STEPS)
            updated = labels + step * (posterior(weights, predict_held_out(distributions)) - labels)
            change = float(0.5 * np.abs(updated - labels).sum(axis=1).mean())
            distributions[ambiguous] = updated
        changes.append(change)
        if report is not None:
            report(len(changes), change)
        converged = change <= tol
    return SoftLabels(distributions, np.array(changes), converged)


def has_several_candidates(evidence: Evidence) -> Mask:
    """Return an (n,) mask of the rows with several classes, without those whose weight is too small to matter."""
    return np.count_nonzero(evidence >= MIN_WEIGHT, axis=1) > 1


def posterior(weights: Floats, proba: Floats) -> Floats:
    """Return w_ik p_ik / sum_j w_ij p_ij, with p bounded away from 0."""
    joint = weights * np.maximum(proba, MIN_PROBABILITY)
    return joint / joint.sum(axis=1, keepdims=True)


def label_pairs(distributions: Floats) -> LabelPairs:
    """Return the labels of each row that are not negligible, with weights that sum to 1 for each row."""
    kept = distributions >= MIN_LABEL_WEIGHT * distributions.max(axis=1, keepdims=True)
    row, label = np.nonzero(kept)
    weights = np.where(kept, distributions, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    return LabelPairs(row, label, weights[row, label])


def repeat_pairs(pairs: LabelPairs, n_copies: int) -> LabelPairs:
    """Return pairs of weight 1 that represent the weights, for classifiers without sample weights.

    Each row has `n_copies` copies. Its label k has q_ik `n_copies` of them, rounded down; the copies that are left go
    to the labels with the largest remainders, and among equal ones to the first class.
    """
    shares = pairs.weight * n_copies
    counts = np.floor(shares + COPIES_TOL).astype(np.int64)
    remainder = np.rint((shares - counts) / COPIES_TOL)
    n_left = n_copies - np.bincount(pairs.row, weights=counts).astype(np.int64)
    order = np.lexsort((pairs.label, -remainder, pairs.row))
    starts = np.flatnonzero(np.diff(pairs.row[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    counts[order[rank < np.repeat(n_left[pairs.row[order[starts]]], sizes)]] += 1
    return LabelPairs(np.repeat(pairs.row, counts), np.repeat(pairs.label, counts), np.ones(int(counts.sum())))
