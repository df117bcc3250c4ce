"""Pairs of sources that agree more often than the model expects: one copies the other, or both a third one.

Let mu^-jh be the posterior of the labels without the answers of j and h. The expected number of agreements about the
rows that both answered is E = sum_i e_i, with e_i = sum_k mu^-jh_ik sum_a theta_jka theta_hka, and its variance is
sum_i e_i (1 - e_i). If h copies a fraction c of the answers of j, the agreement is c n + (1 - c) E; the estimate of c
is (O - E) / (n - E). The sum over a has the answers of one size: e_i = 0 if one answer is a set and the other a label.

The sum over a has the answers that both sources gave; other answers, which cannot be equal in these rows, are omitted.
With very many answers, only those of the first rows are counted.

The pairs are a report: answers that may be copied count as independent ones. Copies confirm one another in the model,
so their estimated accuracy is too high. If half of the answers are copied, a pair may not be found.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm

from oneof.likelihoods import softmax
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.typing import Floats, Ints, Mask

MIN_SHARED, MIN_COPIED, TEST_LEVEL = 10, 0.25, 0.01
"""Number of common rows and fraction of copied answers of a pair that is reported, and level of the test of all pairs
together. Difficult rows, on which sources agree without copying, look like small fractions of copied answers."""
MAX_SHARED_ANSWERS, MAX_TESTED = 20_000_000, 2000
"""Number of pairs of answers to one row that are counted, and of pairs of sources that are tested: seconds."""


@dataclass(frozen=True)
class CopiedPairs:
    """Pairs of sources, in decreasing order of the z-score."""

    first: Ints
    second: Ints
    shared: Ints
    """n: rows that both answered."""
    observed: Floats
    """O / n: the fraction of equal answers."""
    expected: Floats
    """E / n."""
    copied: Floats
    """c, at most 1."""
    z_score: Floats
    """(O - E) / sqrt(variance + 1/4): with the correction, a pair with an expected agreement near n is not found."""


def find_copies(columns: AnswerColumns, log_joint: Floats, log_likelihoods: Floats) -> CopiedPairs:
    """Return the pairs of sources whose agreement is far above the expected one.

    Parameters
    ----------
    columns : AnswerColumns
    log_joint : ndarray of shape (n, K)
        The logarithms of the posterior of the labels, up to a constant for each row.
    log_likelihoods : ndarray of shape (P, K)
        log p(answer | class) of the columns.
    """
    first, second, n_pairs = _likely_pairs(columns)
    order = np.argsort(columns.answer_source, kind="stable")
    starts = np.searchsorted(columns.answer_source[order], np.arange(columns.n_sources + 1))
    sizes = np.count_nonzero(columns.sets, axis=1)
    table = []
    for j, h in zip(first, second, strict=True):
        a, b = (order[starts[s] : starts[s + 1]] for s in (j, h))
        rows, in_a, in_b = np.intersect1d(columns.row[a], columns.row[b], return_indices=True)
        a, b = columns.column[a[in_a]], columns.column[b[in_b]]
        labels = softmax(log_joint[rows] - log_likelihoods[a] - log_likelihoods[b])
        e = np.zeros(len(rows))
        for s in np.unique(sizes[a[sizes[a] == sizes[b]]]):
            alike = (sizes[a] == s) & (sizes[b] == s)
            agreement = _agreement_probabilities(columns, log_likelihoods, int(j), int(h), sizes == s)
            e[alike] = np.minimum(labels[alike] @ agreement, 1.0)
        n, o = len(rows), np.count_nonzero(columns.answer[a] == columns.answer[b])
        excess, variance = float(o - e.sum()), float((e * (1.0 - e)).sum())
        table.append((j, h, n, o / n, e.mean(), excess / max(n - e.sum(), 1e-9), excess / np.sqrt(variance + 0.25)))
    values = np.array(table, dtype=np.float64).reshape(-1, 7)
    values = values[(values[:, 6] > norm.isf(TEST_LEVEL / max(n_pairs, 1))) & (values[:, 5] >= MIN_COPIED)]
    values = values[np.argsort(-values[:, 6], kind="stable")]
    first, second, shared = values[:, :3].T.astype(np.int64)
    return CopiedPairs(first, second, shared, *values[:, 3:].T)


def _likely_pairs(columns: AnswerColumns) -> tuple[Ints, Ints, int]:
    """Return the pairs of sources with the most agreements, relative to one half, and the number of all pairs."""
    J = columns.n_sources
    pairs = np.cumsum(np.bincount(columns.row, minlength=columns.n_rows).astype(np.float64) ** 2)
    kept = pairs[columns.row] <= MAX_SHARED_ANSWERS
    source, row, column = columns.answer_source[kept], columns.row[kept], columns.column[kept]
    one = np.ones(len(row))
    given = sp.csr_array((one, (source, row)), shape=(J, columns.n_rows))
    _, key = np.unique(row * (int(columns.answer.max(initial=0)) + 1) + columns.answer[column], return_inverse=True)
    equal = sp.csr_array((one, (source, key.ravel())), shape=(J, int(key.max(initial=0)) + 1))
    shared = sp.triu(given @ given.T, k=1).tocoo()
    enough = shared.data >= MIN_SHARED
    first, second, n = shared.row[enough], shared.col[enough], shared.data[enough]
    if not len(first):
        return first, second, 0
    n_equal = np.asarray((equal @ equal.T).tocsr()[first, second]).ravel()
    likely = np.argsort(-(n_equal - 0.5 * n) / np.sqrt(n), kind="stable")[:MAX_TESTED]
    return first[likely], second[likely], len(first)


def _agreement_probabilities(columns: AnswerColumns, log_likelihoods: Floats, j: int, h: int, used: Mask) -> Floats:
    """Return sum_a p(a | k, j) p(a | k, h), (K,), over the answers of one size that both gave."""
    one, other = (np.flatnonzero(used & (columns.source == s)) for s in (j, h))
    a, b = np.nonzero(columns.answer[one][:, None] == columns.answer[other][None, :])
    return np.asarray(np.exp(log_likelihoods[one[a]] + log_likelihoods[other[b]]).sum(axis=0))
