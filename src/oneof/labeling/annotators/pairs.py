"""Agreement of each pair of annotators, and the pairs of classes between which their answers differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.typing import Ints, Mask


class ConfusedClasses(NamedTuple):
    """Two classes between which answers to one row differ.

    Attributes
    ----------
    first, second : int
        Codes of the classes, the lower one first.
    n_pairs : float
        Number of pairs of answers that exclude each other, one with the first class and one with the second. A pair of
        sets counts as one in total: each combination of their classes has an equal fraction of it.
    """

    first: int
    second: int
    n_pairs: float


@dataclass(frozen=True)
class PairwiseAgreement:
    """Agreement of each pair of annotators.

    Attributes
    ----------
    names : tuple of str
        The annotators, in the order of the matrices.
    n_shared : ndarray of shape (n_annotators, n_annotators)
        Number of rows that both have answered; on the diagonal, the number of answers of the annotator.
    n_equal : ndarray of shape (n_annotators, n_annotators)
        Number of these rows with equal answers.
    n_compatible : ndarray of shape (n_annotators, n_annotators)
        Number of these rows whose answers have a class in common.
    confused : tuple of ConfusedClasses
        By decreasing number. The numbers add up to the number of pairs of answers that exclude each other.
    """

    names: tuple[str, ...]
    n_shared: Ints
    n_equal: Ints
    n_compatible: Ints
    confused: tuple[ConfusedClasses, ...]


def compare_pairs(sets: Mapping[int, Mapping[str, Sequence[int]]], n_classes: int) -> PairwiseAgreement:
    """Count equal, compatible and different answers of each pair of annotators.

    Parameters
    ----------
    sets : dict of row to dict of annotator to sequence of int
        The classes that each answer allows; at least one, and not all of them.
    n_classes : int
    """
    names = tuple(sorted({name for given in sets.values() for name in given}))
    position = {name: j for j, name in enumerate(names)}
    distinct: dict[tuple[int, ...], int] = {}
    codes = [
        (row, position[name], distinct.setdefault(tuple(sorted(allowed)), len(distinct)))
        for row, given in sets.items()
        for name, allowed in given.items()
    ]
    row, source, code = np.array(codes, dtype=np.int64).reshape(-1, 3).T
    members = np.zeros((len(distinct), n_classes), dtype=bool)
    for allowed, index in distinct.items():
        members[index, list(allowed)] = True
    first, second = _pairs_of_rows(row)
    equal = code[first] == code[second]
    compatible = equal | (members[code[first]] & members[code[second]]).any(axis=1)
    one, other, J = source[first], source[second], len(names)
    everything = np.ones(len(first), dtype=bool)
    n_shared, n_equal, n_compatible = (
        _symmetric_counts(one[used], other[used], J) + np.diag(np.bincount(source, minlength=J))
        for used in (everything, equal, compatible)
    )
    confused = _confused_classes(members, code[first[~compatible]], code[second[~compatible]])
    return PairwiseAgreement(names, n_shared, n_equal, n_compatible, confused)


def _pairs_of_rows(row: Ints) -> tuple[Ints, Ints]:
    """Return the positions of all pairs of answers to the same row; the answers to a row are adjacent."""
    firsts, seconds = [], []
    largest = int(np.bincount(np.unique(row, return_inverse=True)[1]).max()) if len(row) else 0
    for distance in range(1, largest):
        at = np.flatnonzero(row[distance:] == row[:-distance])
        firsts.append(at)
        seconds.append(at + distance)
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate([empty, *firsts]), np.concatenate([empty, *seconds])


def _symmetric_counts(one: Ints, other: Ints, n: int) -> Ints:
    counts = np.bincount(one * n + other, minlength=n * n).reshape(n, n)
    return counts + counts.T


def _confused_classes(members: Mask, first: Ints, second: Ints) -> tuple[ConfusedClasses, ...]:
    """Return the pairs of classes of the answers of each pair, which have no class in common."""
    fractions = sp.csr_array(members / np.maximum(members.sum(axis=1, keepdims=True), 1))
    counts = (fractions[first].T @ fractions[second]).tocoo()
    low, high = np.minimum(counts.row, counts.col), np.maximum(counts.row, counts.col)
    total = sp.coo_array((counts.data, (low, high)), shape=counts.shape).tocsr().tocoo()
    order = np.lexsort((total.col, total.row, -total.data.round(9)))
    return tuple(ConfusedClasses(int(total.row[i]), int(total.col[i]), float(total.data[i])) for i in order)
