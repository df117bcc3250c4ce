"""Numbers of the figures: functions from a mask to counts and fractions.

All counts exclude unlabeled rows, which would add the same number to every class. A partial row has more than one
candidate, but not all classes.
"""

from typing import NamedTuple

import numpy as np

from oneof.typing import Floats, Ints, Mask

_BLOCK_ROWS = 65_536


class SetSizes(NamedTuple):
    """Numbers of rows by set size.

    Attributes
    ----------
    rows : ndarray of shape (K,)
        ``rows[s]`` rows have s candidates, for s = 0..K-1; ``rows[0]`` is 0.
    n_unlabeled : int
        Number of rows with all K classes.
    """

    rows: Ints
    n_unlabeled: int


class ClassFrequencies(NamedTuple):
    """Numbers of labeled rows by class.

    Attributes
    ----------
    candidate : ndarray of shape (K,)
        Rows with the class as a candidate.
    exact : ndarray of shape (K,)
        Rows with the class as the only candidate.
    """

    candidate: Ints
    exact: Ints


class PairOutcome(NamedTuple):
    """Disambiguated labels of the sets that contain two given classes."""

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
    """Count the labeled rows by candidate and by exact label."""
    sizes = np.count_nonzero(mask, axis=1)
    candidate = np.count_nonzero(mask[sizes < mask.shape[1]], axis=0)
    return ClassFrequencies(candidate, np.count_nonzero(mask[sizes == 1], axis=0))


def cooccurrence(mask: Mask) -> Ints:
    """Return the (K, K) numbers of labeled rows with both classes in the set; the diagonal counts each class.

    Examples
    --------
    >>> cooccurrence(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]], dtype=bool))
    array([[2, 2, 0],
           [2, 3, 1],
           [0, 1, 1]])
    """
    labeled = mask[~mask.all(axis=1)]
    counts = np.zeros((mask.shape[1], mask.shape[1]), dtype=np.int64)
    for start in range(0, len(labeled), _BLOCK_ROWS):  # the counts of a block are exact in float32, which uses BLAS
        block = labeled[start : start + _BLOCK_ROWS].astype(np.float32)
        counts += (block.T @ block).astype(np.int64)
    return counts


def decision_confusion(mask: Mask, decided: Ints) -> Floats:
    """Return C[a, b], the fraction of the partial sets with candidate a whose disambiguated label is b.

    Parameters
    ----------
    mask : ndarray of shape (n, K)
    decided : ndarray of shape (n,)
        The code of the disambiguated label of each row.

    Returns
    -------
    ndarray of shape (K, K)
        In [0, 1]; rows sum to 1, and the row of a class without a partial set is NaN.

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
    """Return at most `limit` pairs (a, b), a < b, with the highest counts above 0, most frequent first."""
    first, second = np.triu_indices(len(counts), k=1)
    values = counts[first, second]
    order = np.argsort(-values, kind="stable")[:limit]
    return [(int(first[i]), int(second[i])) for i in order if values[i] > 0]


def pair_outcomes(mask: Mask, decided: Ints, pairs: list[tuple[int, int]]) -> list[PairOutcome]:
    """Count for each pair the labeled sets with both classes, and the disambiguated labels among the two."""
    labeled = ~mask.all(axis=1)
    outcomes = []
    for a, b in pairs:
        selected = decided[labeled & mask[:, a] & mask[:, b]]
        outcomes.append(PairOutcome(a, b, len(selected), int((selected == a).sum()), int((selected == b).sum())))
    return outcomes


def argsort_top(weights: Ints, limit: int) -> Ints:
    """Return the indices of the `limit` largest weights, in ascending order; ties go to the lower index."""
    return np.sort(np.argsort(-weights, kind="stable")[:limit])


def most_cooccurring(counts: Ints, limit: int) -> Ints:
    """Return the `limit` classes that cooccur most with other classes, in the order of the classes."""
    return argsort_top(counts.sum(axis=1) - np.diagonal(counts), limit)
