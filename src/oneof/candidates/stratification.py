"""Stratified folds of candidate sets, also by groups or sets: folds have about the same fraction of every class."""

import numpy as np

from oneof.typing import Evidence, Ints, Mask

MIN_STRATUM_WEIGHT = 0.5
"""Weight above which a class is in the set of its row here. Small weights, and roundings of 1, do not change folds."""
COST_TOL = 1e-9
"""Relative difference of costs below which folds are equal: rounding errors differ by processor, folds must not."""


def stratified_folds(evidence: Evidence, n_folds: int) -> Ints:
    """Return the fold of each row of (n, K) evidence; the set of a row with weights has the classes of large weights.

    Rows are sorted by the rarest class of their set and then by the set itself, and assigned to the folds cyclically.
    Then some rows are exchanged, so that, if possible, no class occurs in one fold only.
    """
    mask = evidence if evidence.dtype == bool else evidence > MIN_STRATUM_WEIGHT
    fold = np.empty(len(mask), dtype=np.int64)
    fold[_order_by_rarest_class(mask)] = np.arange(len(mask)) % n_folds
    _spread_classes(mask, fold, n_folds)
    return fold


def stratified_group_folds(evidence: Evidence, group: Ints, n_folds: int) -> Ints:
    """Return the fold of each row of (n, K) evidence; the rows of a group, numbered from 0, are in one fold.

    Groups are assigned one after the other, the largest first, to the fold that gives the smallest sum of squared
    fractions: those of the rows of each rarest class, and those of all rows. No fold is empty if there are enough
    groups; equal folds are filled in order.
    """
    mask = evidence if evidence.dtype == bool else evidence > MIN_STRATUM_WEIGHT
    n, K = mask.shape
    strata = _rarest_class(mask)
    totals = np.append(np.bincount(strata, minlength=K), n).astype(float)
    sizes = np.bincount(group)
    fold_of_group = np.empty(len(sizes), dtype=np.int64)
    counts = np.zeros((n_folds, K + 1))
    rows = np.split(np.argsort(group, kind="stable"), np.cumsum(sizes)[:-1])
    n_left = int(np.count_nonzero(sizes))
    for g in np.argsort(-sizes, kind="stable")[:n_left]:
        classes, numbers = np.unique(strata[rows[g]], return_counts=True)
        columns, added = np.append(classes, K), np.append(numbers, len(rows[g]))
        # The terms of the sum that the fold changes: (c + a)^2 - c^2 = 2 c a + a^2, and a is equal for all folds.
        cost = counts[:, columns] @ (added / totals[columns] ** 2)
        is_empty = counts[:, K] == 0
        if is_empty.sum() >= n_left:
            cost[~is_empty] = np.inf
        fold_of_group[g] = best = int((cost <= cost.min() * (1.0 + COST_TOL)).argmax())
        counts[best, columns] += added
        n_left -= 1
    return fold_of_group[group]


def folds_by_set(evidence: Evidence, n_folds: int) -> Ints:
    """Return the fold of each row of (n, K) evidence; partial rows with the same set are in one fold.

    A flexible classifier reproduces the label that it gives to the rows of a set, right or wrong, in held-out rows of
    the same set. Held-out predictions of other sets show whether the label is right. Rows of a single class are
    assigned as in `stratified_folds`, and so are all rows if there are fewer partial sets than folds.
    """
    mask = evidence if evidence.dtype == bool else evidence > MIN_STRATUM_WEIGHT
    partial = mask.sum(axis=1) > 1
    sets, group = np.unique(mask[partial], axis=0, return_inverse=True)
    if len(sets) < n_folds:
        return stratified_folds(mask, n_folds)
    fold = np.empty(len(mask), dtype=np.int64)
    fold[~partial] = stratified_folds(mask[~partial], n_folds)
    fold[partial] = stratified_group_folds(mask[partial], group.ravel(), n_folds)
    return fold


def _rarest_class(mask: Mask) -> Ints:
    """Return the class of each set that is in the fewest sets."""
    return np.where(mask, mask.sum(axis=0), len(mask) + 1).argmin(axis=1)


def _order_by_rarest_class(mask: Mask) -> Ints:
    """Return the rows ordered by the rarest class of their set, then by their set, then by their index."""
    counts = mask.sum(axis=0)
    rarest = _rarest_class(mask)
    _, same_set = np.unique(mask, axis=0, return_inverse=True)
    return np.lexsort((same_set.ravel(), rarest, counts[rarest]))


def _spread_classes(mask: Mask, fold: Ints, n_folds: int) -> None:
    """Exchange rows between folds, in place, while that lowers the number of classes that occur in one fold only."""
    counts = np.zeros((n_folds, mask.shape[1]), dtype=np.int64)
    np.add.at(counts, fold, mask)
    total = counts.sum(axis=0)

    def n_unspread(counts: Ints) -> int:
        return int(((counts.max(axis=0) == total) & (total >= 2)).sum())

    for k in np.flatnonzero((counts.max(axis=0) == total) & (total >= 2)):
        if counts[:, k].max() < total[k]:
            continue  # an earlier exchange has spread this class
        home = int(counts[:, k].argmax())
        before = n_unspread(counts)
        for i, j in ((i, j) for i in np.flatnonzero(mask[:, k]) for j in np.flatnonzero(fold != home)):
            difference = mask[j].astype(np.int64) - mask[i]
            counts[home] += difference
            counts[fold[j]] -= difference
            if n_unspread(counts) < before:
                fold[i], fold[j] = fold[j], home
                break
            counts[home] -= difference
            counts[fold[j]] += difference
