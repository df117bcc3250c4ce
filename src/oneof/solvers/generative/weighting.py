"""The weight of unlabeled rows, by cross-validation.

The rows that are not full are dealt into folds; unlabeled rows are in every training part. A weight is judged by how
much of the held-out weight has its prediction in the set, for which no true label is needed. Taken is the smallest
weight that is within one standard error of the best (Breiman et al. 1984): with d_i = 1, 0, -1 as the best weight
covers row i and the smaller does not, both alike, or the smaller alone, that is sum_i w_i d_i <= sqrt(sum_i w_i d_i^2).
So unlabeled rows are heard only where held-out rows speak for it more clearly than chance would: rows are few where
unlabeled ones are needed, and differences of a row or two say nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from oneof.candidates.stratification import stratified_folds
from oneof.typing import Floats, Mask


@dataclass(frozen=True)
class WeightChoice:
    """What `choose_weight` found."""

    weight: float
    coverings: Floats
    """The held-out covering rate of each weight; NaN where nothing could be held out."""


def choose_weight(
    scores: Callable[[float, Floats], Floats],
    mask: Mask,
    sample_weight: Floats,
    *,
    weights: Sequence[float],
    n_folds: int,
) -> WeightChoice:
    """Choose one of some weights.

    Parameters
    ----------
    scores : callable
        From a weight of unlabeled rows and sample weights, (n,), 0 for rows held out, to (n, K) class scores of all
        rows; NaN where they cannot be fitted, which covers nothing.
    mask : ndarray of shape (n, K), bool
    sample_weight : ndarray of shape (n,)
    weights : sequence of float
        Ascending.
    n_folds : int
        At most; with fewer rows that are not full, each is a fold. With one, the smallest weight is taken.

    Returns
    -------
    WeightChoice
    """
    told = np.flatnonzero(~mask.all(axis=1) & (sample_weight > 0))
    n_folds = min(n_folds, len(told))
    unlabeled = mask.all(axis=1) & (sample_weight > 0)
    if n_folds < 2 or not unlabeled.any() or len(weights) < 2:
        return WeightChoice(weights[0], np.full(len(weights), np.nan))
    fold = stratified_folds(mask[told], n_folds)
    covered = np.zeros((len(weights), len(told)), dtype=bool)
    for f in range(n_folds):
        held_out = told[fold == f]
        training = sample_weight.copy()
        training[held_out] = 0.0
        for w, weight in enumerate(weights):
            found = scores(weight, training)[held_out]
            missed = ~mask[held_out, found.argmax(axis=1)]
            covered[w, fold == f] = ~missed & np.isfinite(found).all(axis=1)
    return pick(covered, sample_weight[told], weights)


def pick(covered: Mask, row_weight: Floats, weights: Sequence[float]) -> WeightChoice:
    """Return the smallest weight within one standard error of the best, from what each of them covered, (W, n)."""
    coverings = covered @ row_weight / row_weight.sum()
    ahead = covered[coverings.argmax()].astype(np.float64) - covered
    gain, error = ahead @ row_weight, np.sqrt(ahead**2 @ row_weight)
    first = int(np.flatnonzero(gain <= error)[0])
    return WeightChoice(float(weights[first]), coverings)
