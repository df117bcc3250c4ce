"""Rows dealt into folds, so that each fold has its part of every class."""

import numpy as np

from oneof.typing import Ints, Mask


def deal(mask: Mask, n_folds: int) -> Ints:
    """Return the fold of each row of an (n, K) mask.

    Rows are sorted by the rarest member of their set and then by the set itself, and dealt in turn; then some are
    exchanged, so that no class is in one fold alone where that can be avoided.
    """
    fold = np.empty(len(mask), dtype=np.int64)
    fold[_by_rarest_member(mask)] = np.arange(len(mask)) % n_folds
    _spread_classes(mask, fold, n_folds)
    return fold


def _by_rarest_member(mask: Mask) -> Ints:
    """Return the rows ordered by the rarest member of their set, then by their set, then as they stand."""
    counts = mask.sum(axis=0)
    rarest = np.where(mask, counts, len(mask) + 1).argmin(axis=1)
    _, same_set = np.unique(mask, axis=0, return_inverse=True)
    return np.lexsort((same_set.ravel(), rarest, counts[rarest]))


def _spread_classes(mask: Mask, fold: Ints, n_folds: int) -> None:
    """Exchange rows between folds, in place, while that lowers the number of classes that one fold holds alone."""
    counts = np.zeros((n_folds, mask.shape[1]), dtype=np.int64)
    np.add.at(counts, fold, mask)
    total = counts.sum(axis=0)

    def held_alone(counts: Ints) -> int:
        return int(((counts.max(axis=0) == total) & (total >= 2)).sum())

    for k in np.flatnonzero((counts.max(axis=0) == total) & (total >= 2)):
        if counts[:, k].max() < total[k]:
            continue  # mended by an earlier exchange
        home = int(counts[:, k].argmax())
        now = held_alone(counts)
        for i, j in ((i, j) for i in np.flatnonzero(mask[:, k]) for j in np.flatnonzero(fold != home)):
            moved = mask[j].astype(np.int64) - mask[i]
            counts[home] += moved
            counts[fold[j]] -= moved
            if held_alone(counts) < now:
                fold[i], fold[j] = fold[j], home
                break
            counts[home] -= moved
            counts[fold[j]] += moved
