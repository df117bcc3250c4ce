"""Cohen's kappa of each pair of sources: their agreement, relative to the agreement of answers by chance.

Sources j and l have n common rows, and q_ja, q_lb are the frequencies of their answers in these rows. With d(a, b) the
distance of two answers,

    kappa = 1 - D_o / D_e,   D_o = 1/n sum_{common rows} d(a_ij, a_il),   D_e = sum_ab q_ja q_lb d(a, b).

The observed agreement is 1 - D_o. For d = [a != b] this is Cohen (1960), for other distances weighted kappa (1968).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.solvers.annotators.krippendorff import BLOCK_ENTRIES
from oneof.typing import Floats, Ints


class PairKappas(NamedTuple):
    """Pairs of sources with common rows, in the order of the sources."""

    first: Ints
    second: Ints
    n_shared: Ints
    """Number of common rows."""
    agreement: Floats
    """1 - D_o."""
    kappa: Floats
    """NaN if D_e is 0."""


def pair_kappas(row: Ints, source: Ints, answer: Ints, distances: Floats, n_rows: int, n_sources: int) -> PairKappas:
    """Return the agreement of each pair of sources with common rows.

    Parameters
    ----------
    row, source, answer : ndarray of shape (m,)
        The answers, at most one of a source to a row; `answer` is an index into the distinct answers.
    distances : ndarray of shape (D, D)
    n_rows, n_sources : int
    """
    J, D = n_sources, len(distances)
    one = np.ones(len(row))
    present = sp.csr_array((one, (source, row)), shape=(J, n_rows))
    shared = sp.triu(present @ present.T, k=1).tocoo()
    order = np.lexsort((shared.col, shared.row))
    first, second, n_shared = shared.row[order], shared.col[order], shared.data[order]
    keys = first.astype(np.int64) * J + second

    columns, column = np.unique(source * max(D, 1) + answer, return_inverse=True)
    column_source, column_answer = np.divmod(columns, max(D, 1))
    given = sp.csr_array((one, (column.ravel(), row)), shape=(len(columns), n_rows))
    both = (given @ given.T).tocoo()
    ahead = column_source[both.row] < column_source[both.col]
    a, b, count = both.row[ahead], both.col[ahead], both.data[ahead]
    pair = np.searchsorted(keys, column_source[a] * J + column_source[b])
    values = count * distances[column_answer[a], column_answer[b]]
    observed = np.bincount(pair, weights=values, minlength=len(keys)) / n_shared

    # The answers of each source in the rows that another one has answered.
    with_other = (given @ present.T).tocoo()
    own, other = column_source[with_other.row], with_other.col.astype(np.int64)
    counts = []
    for part in (own < other, own > other):
        low, high = np.minimum(own, other)[part], np.maximum(own, other)[part]
        place = (np.searchsorted(keys, low * J + high), column_answer[with_other.row[part]])
        counts.append(sp.csr_array((with_other.data[part], place), shape=(len(keys), D)))
    expected = np.zeros(len(keys))
    step = max(1, BLOCK_ENTRIES // max(D, 1))
    for start in range(0, len(keys), step):
        block = slice(start, start + step)
        expected[block] = counts[1][block].multiply(counts[0][block] @ distances).sum(axis=1)
    expected /= n_shared**2
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = np.where(expected > 0, 1.0 - observed / expected, np.nan)
    return PairKappas(first.astype(np.int64), second.astype(np.int64), n_shared.astype(np.int64), 1.0 - observed, kappa)
