"""The numbers behind the pictures: functions from a mask to counts and shares.

Full rows say nothing of their label and would add the same to every class, so all counts leave them out; only rows with
more than one candidate, but not all, are called partial.
"""

from typing import NamedTuple

import numpy as np

from oneof.typing import Floats, Ints, Mask

_BLOCK = 65_536


class SetSizes(NamedTuple):
    """How many rows have how many candidates.

    Attributes
    ----------
    rows : ndarray of shape (K,)
        ``rows[s]`` rows have s candidates, for s = 0..K-1; ``rows[0]`` is 0.
    n_unlabeled : int
        Rows whose set holds all K classes.
    """

    rows: Ints
    n_unlabeled: int


class ClassFrequencies(NamedTuple):
    """How often each class is named.

    Attributes
    ----------
    candidate : ndarray of shape (K,)
        Rows that name the class, alone or beside others.
    sole : ndarray of shape (K,)
        Rows that name the class alone.
    """

    candidate: Ints
    sole: Ints


class PairOutcome(NamedTuple):
    """What became of the sets that hold two given classes."""

    first: int
    second: int
    n_sets: int
    decided_first: int
    decided_second: int


def partial_rows(mask: Mask) -> Mask:
    """Return (n,) bool: rows with more than one candidate, but not all classes."""
    sizes = np.count_nonzero(mask, axis=1)
    return (sizes > 1) & (sizes < mask.shape[1])


def set_sizes(mask: Mask) -> SetSizes:
    """Count the rows of each set size."""
    n_classes = mask.shape[1]
    rows = np.bincount(np.count_nonzero(mask, axis=1), minlength=n_classes + 1)
    return SetSizes(rows[:n_classes], int(rows[n_classes]))


def class_frequencies(mask: Mask) -> ClassFrequencies:
    """Count for each class the labeled rows that name it, and those that name it alone."""
    sizes = np.count_nonzero(mask, axis=1)
    candidate = np.count_nonzero(mask[sizes < mask.shape[1]], axis=0)
    return ClassFrequencies(candidate, np.count_nonzero(mask[sizes == 1], axis=0))


def cooccurrence(mask: Mask) -> Ints:
    """Return (K, K): in how many labeled rows two classes stand in one set; the diagonal counts each class itself.

    Examples
    --------
    >>> cooccurrence(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]], dtype=bool))
    array([[2, 2, 0],
           [2, 3, 1],
           [0, 1, 1]])
    """
    labeled = mask[~mask.all(axis=1)]
    counts = np.zeros((mask.shape[1], mask.shape[1]), dtype=np.int64)
    for start in range(0, len(labeled), _BLOCK):  # counts of a block are exact in float32, whose product is BLAS
        block = labeled[start : start + _BLOCK].astype(np.float32)
        counts += (block.T @ block).astype(np.int64)
    return counts


def decision_confusion(mask: Mask, decided: Ints) -> Floats:
    """Return what became of the candidates: C[a, b] = share of the partial sets holding a that were decided as b.

    Parameters
    ----------
    mask : ndarray of shape (n, K)
    decided : ndarray of shape (n,)
        The column of the class that was decided for each row.

    Returns
    -------
    ndarray of shape (K, K)
        Rows sum to 1; a class that stands in no partial set has a row of NaN.

    Examples
    --------
    >>> mask = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
    >>> decision_confusion(mask, np.array([0, 1, 1, 2])).round(2)
    array([[0.5 , 0.5 , 0.  ],
           [0.33, 0.67, 0.  ],
           [0.  , 1.  , 0.  ]])
    """
    n_classes = mask.shape[1]
    partial = partial_rows(mask)
    rows, candidates = np.nonzero(mask[partial])
    pairs = candidates * n_classes + decided[partial][rows]
    counts = np.bincount(pairs, minlength=n_classes * n_classes).reshape(n_classes, n_classes)
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.maximum(totals, 1), np.nan)


def top_pairs(counts: Ints, limit: int) -> list[tuple[int, int]]:
    """Return the pairs (a, b), a < b, that co-occur most, the most frequent first, none that never does."""
    first, second = np.triu_indices(len(counts), k=1)
    found = counts[first, second]
    order = np.argsort(-found, kind="stable")[:limit]
    return [(int(first[i]), int(second[i])) for i in order if found[i] > 0]


def pair_outcomes(mask: Mask, decided: Ints, pairs: list[tuple[int, int]]) -> list[PairOutcome]:
    """Count for each pair of classes the labeled sets that hold both, and how many were decided as each of them."""
    labeled = ~mask.all(axis=1)
    outcomes = []
    for a, b in pairs:
        chosen = decided[labeled & mask[:, a] & mask[:, b]]
        outcomes.append(PairOutcome(a, b, len(chosen), int((chosen == a).sum()), int((chosen == b).sum())))
    return outcomes


def largest(weights: Ints, limit: int) -> Ints:
    """Return the positions of the `limit` largest weights, in ascending order; ties go to the lower position."""
    return np.sort(np.argsort(-weights, kind="stable")[:limit])


def most_cooccurring(counts: Ints, limit: int) -> Ints:
    """Return the `limit` classes that share a set with other classes most often, in the order of the classes."""
    return largest(counts.sum(axis=1) - np.diagonal(counts), limit)
