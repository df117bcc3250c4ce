"""Numbers of the figures: functions from the evidence of the rows to counts and fractions.

The evidence is an (n, K) mask, or weights of which the largest of each row is 1. A row counts for a class by its
weight, which is 1 for the candidates of a set. All counts exclude unlabeled rows, which would add the same number to
every class. A partial row has more than one candidate, and is not unlabeled.
"""

from typing import NamedTuple

import numpy as np

from oneof.likelihoods import constant_rows
from oneof.typing import Evidence, Floats, Ints, Mask

_BLOCK_ROWS = 65_536
MIN_SHOWN = 0.95
"""Fraction of the cooccurrences in a heat map, unless there are too many classes."""


class PairOutcome(NamedTuple):
    """Disambiguated labels of the sets that contain two given classes; floats if there are weights."""

    first: int
    second: int
    n_sets: float
    decided_first: float
    decided_second: float


def labeled_rows(evidence: Evidence) -> Mask:
    """Return (n,) bool: rows whose classes are not all equally possible."""
    return np.asarray(~constant_rows(evidence))


def partial_rows(evidence: Evidence) -> Mask:
    """Return (n,) bool: rows with more than one candidate that are not unlabeled."""
    return (np.count_nonzero(evidence, axis=1) > 1) & labeled_rows(evidence)


def set_sizes(evidence: Evidence, is_weighted: Mask) -> tuple[Ints, Ints, int]:
    """Return the numbers of labeled sets, and of rows with weights, by size (0 to K), and of unlabeled rows.

    The size of a row with weights is the effective number of its candidates, rounded.
    """
    sizes, labeled = np.rint(effective_sizes(evidence)).astype(np.int64), labeled_rows(evidence)
    sets, weighted = (
        np.bincount(sizes[rows], minlength=evidence.shape[1] + 1) for rows in (labeled & ~is_weighted, is_weighted)
    )
    return sets, weighted, int((~labeled).sum())


def shares(evidence: Evidence) -> Floats:
    """Return the weights divided by their sum in each row, (n, K): 1 / size for the candidates of a set."""
    return evidence / evidence.sum(axis=1, keepdims=True)


def effective_sizes(evidence: Evidence) -> Ints | Floats:
    """Return the effective number of candidates of each row, (n,): exp of the entropy of the shares.

    For a set it is its size. It lies between 1 (one class has all the weight) and the number of candidates.

    Examples
    --------
    >>> effective_sizes(np.array([[1, 1, 0], [1.0, 0.1, 0.1]])).round(2)
    array([2.  , 1.76])
    """
    if evidence.dtype == bool:
        return np.count_nonzero(evidence, axis=1)
    p = shares(evidence)
    return np.exp(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1))


def largest_shares(weights: Floats, n_bins: int = 10) -> Ints:
    """Return the number of rows by their largest share, in equal bins of [0, 1].

    An edge belongs to the bin above it.
    """
    places = np.round(n_bins / weights.sum(axis=1), 9).astype(np.int64)  # the largest weight is 1; 7 for a share of .7
    return np.bincount(np.minimum(places, n_bins - 1), minlength=n_bins)


def class_frequencies(evidence: Evidence) -> tuple[Ints | Floats, Ints]:
    """Return the numbers of labeled rows by candidate (floats if there are weights), and by exact label, each (K,)."""
    sizes = np.count_nonzero(evidence, axis=1)
    labeled = evidence[labeled_rows(evidence)]
    candidate = np.count_nonzero(labeled, axis=0) if evidence.dtype == bool else labeled.sum(axis=0)
    return candidate, np.count_nonzero(evidence[sizes == 1], axis=0)


def cooccurrence(evidence: Evidence) -> Ints | Floats:
    """Return the (K, K) numbers of labeled rows with both classes in the set; the diagonal counts each class.

    A row with weights counts by the product of the two weights.

    Examples
    --------
    >>> cooccurrence(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]], dtype=bool))
    array([[2, 2, 0],
           [2, 3, 1],
           [0, 1, 1]])
    """
    labeled = evidence[labeled_rows(evidence)]
    if evidence.dtype != bool:
        return labeled.T @ labeled
    counts = np.zeros((evidence.shape[1], evidence.shape[1]), dtype=np.int64)
    for start in range(0, len(labeled), _BLOCK_ROWS):  # the counts of a block are exact in float32, which uses BLAS
        block = labeled[start : start + _BLOCK_ROWS].astype(np.float32)
        counts += (block.T @ block).astype(np.int64)
    return counts


def decision_confusion(evidence: Evidence, decided: Ints) -> Floats:
    """Return C[a, b], the fraction of the partial sets with candidate a whose disambiguated label is b.

    Parameters
    ----------
    evidence : ndarray of shape (n, K)
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
    n_classes = evidence.shape[1]
    partial = partial_rows(evidence)
    rows, candidates = np.nonzero(evidence[partial])
    pairs = candidates * n_classes + decided[partial][rows]
    weights = None if evidence.dtype == bool else evidence[partial][rows, candidates]
    counts = np.bincount(pairs, weights, minlength=n_classes * n_classes).reshape(n_classes, n_classes)
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1), np.nan)


def top_pairs(counts: Ints | Floats, limit: int) -> list[tuple[int, int]]:
    """Return at most `limit` pairs (a, b), a < b, with the highest counts above 0, most frequent first."""
    first, second = np.triu_indices(len(counts), k=1)
    values = counts[first, second]
    order = np.argsort(-values, kind="stable")[:limit]
    return [(int(first[i]), int(second[i])) for i in order if values[i] > 0]


def pair_outcomes(evidence: Evidence, decided: Ints, pairs: list[tuple[int, int]]) -> list[PairOutcome]:
    """Count for each pair the labeled sets with both classes, and the disambiguated labels among the two."""
    labeled = labeled_rows(evidence)
    outcomes = []
    for a, b in pairs:
        both = (evidence[:, a] * evidence[:, b])[labeled]  # of a mask: "and"
        totals = (both[selected].sum().item() for selected in (..., decided[labeled] == a, decided[labeled] == b))
        outcomes.append(PairOutcome(a, b, *totals))
    return outcomes


def argsort_top(weights: Ints | Floats, limit: int) -> Ints:
    """Return the indices of the `limit` largest weights, in ascending order; ties go to the lower index."""
    return np.sort(np.argsort(-weights, kind="stable")[:limit])


def most_cooccurring(counts: Ints | Floats, limit: int) -> Ints:
    """Return the classes that cooccur most with others, in the order of the classes: a matrix with few empty cells.

    They are at most `limit`, and as few as have 95 % of the cooccurrences; empty if no two classes cooccur.
    """
    totals = counts.sum(axis=1) - np.diagonal(counts)
    largest = np.sort(totals)[::-1].cumsum()
    n_needed = int(np.searchsorted(largest, MIN_SHOWN * largest[-1])) + 1
    return argsort_top(totals, min(limit, n_needed)) if largest[-1] > 0 else np.zeros(0, dtype=np.int64)
