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

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm

from oneof.likelihoods import softmax
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.typing import Floats, Ints, Mask

MIN_SHARED, TEST_LEVEL = 10, 0.01
"""Number of common rows of a pair that is tested, and level of the test of all pairs together."""
MIN_COPIED = 0.25
"""Least reported fraction. Errors on difficult rows, which honest annotators share, exceed the expected agreement too:
by a fraction of up to .2 in simulations with a fifth of such rows, and significantly so with thousands of rows."""
MAX_SHARED_ANSWERS, MAX_TESTED = 20_000_000, 2000
"""Number of pairs of answers to one row that are counted, and of pairs of sources that are tested: seconds."""


class CopiedPair(NamedTuple):
    """Two annotators who agree far more often than the model expects.

    Attributes
    ----------
    annotators : tuple of two names
    n_shared : int
        Number of rows that both answered.
    agreement : float
        The fraction of these rows with equal answers.
    expected_agreement : float
        The fraction that the model expects, given the answers of the others.
    copied : float
        Estimated fraction of the answers of one that are copies of the other, at most 1.
    z_score : float
        The excess of equal answers, divided by the square root of its variance plus 1/4.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(4, size=300)
    >>> table = np.where(rng.random((300, 8)) < 0.7, labels[:, None], rng.integers(4, size=(300, 8)))
    >>> table[:, 7] = table[:, 0]
    >>> [pair.annotators for pair in AnnotatorModel().fit(table).copied_pairs_]
    [(0, 7)]
    """

    annotators: tuple[Any, Any]
    n_shared: int
    agreement: float
    expected_agreement: float
    copied: float
    z_score: float


def find_copies(columns: AnswerColumns, log_joint: Floats, log_likelihoods: Floats) -> list[CopiedPair]:
    """Return the pairs of sources, by their numbers, whose agreement is far above the expected one.

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
    limit = norm.isf(TEST_LEVEL / max(n_pairs, 1))
    found = []
    for j, h in zip(first.tolist(), second.tolist(), strict=True):
        a, b = (order[starts[s] : starts[s + 1]] for s in (j, h))
        rows, in_a, in_b = np.intersect1d(columns.row[a], columns.row[b], return_indices=True)
        a, b = columns.column[a[in_a]], columns.column[b[in_b]]
        labels = softmax(log_joint[rows] - log_likelihoods[a] - log_likelihoods[b])
        e = np.zeros(len(rows))
        for s in np.unique(sizes[a[sizes[a] == sizes[b]]]):
            alike = (sizes[a] == s) & (sizes[b] == s)
            agreement = _agreement_probabilities(columns, log_likelihoods, j, h, sizes == s)
            e[alike] = np.minimum(labels[alike] @ agreement, 1.0)
        n, o, expected = len(rows), np.count_nonzero(columns.answer[a] == columns.answer[b]), float(e.sum())
        copied = float(min((o - expected) / max(n - expected, 1e-9), 1.0))
        z_score = float((o - expected) / np.sqrt((e * (1.0 - e)).sum() + 0.25))
        if z_score > limit and copied >= MIN_COPIED:
            found.append(CopiedPair((j, h), n, o / n, expected / n, copied, z_score))
    return sorted(found, key=lambda pair: -pair.z_score)


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
