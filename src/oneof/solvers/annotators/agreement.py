"""Agreement of sources: Krippendorff's alpha of all answers, and Cohen's kappa of each pair.

Krippendorff's alpha is the agreement relative to the agreement expected by chance.

With d(a, b) the distance of two answers and n answers in all, in rows of m_i >= 2 answers,

    alpha = 1 - D_o / D_e,
    D_o = 1/n sum_i 1/(m_i - 1) sum_{pairs of answers of row i} d,   D_e = 1/(n (n - 1)) sum_{pairs of all answers} d,

over ordered pairs of different answers. It is 1 for equal answers, 0 for answers at random; rows with one answer and
missing answers do not count. The distance is nominal, d = [a != b], or for sets MASI (Passonneau 2006): 1 - m |A and
B| / |A or B|, with m = 1 for equal sets, 2/3 if one contains the other, 1/3 if they only overlap.

Cohen's kappa of a pair is relative to the agreement of its answers by chance.
Sources j and l have n common rows, and q_ja, q_lb are the frequencies of their answers in these rows. With d(a, b) the
distance of two answers,

    kappa = 1 - D_o / D_e,   D_o = 1/n sum_{common rows} d(a_ij, a_il),   D_e = sum_ab q_ja q_lb d(a, b).

The observed agreement is 1 - D_o. For d = [a != b] this is Cohen (1960), for other distances weighted kappa (1968).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.typing import Floats, Ints, Labels, Mask

BLOCK_ENTRIES = 20_000_000
"""Number of entries of a dense block of rows and distinct answers."""


def nominal_distances(sets: Mask) -> Floats:
    """Return the distances of D distinct answers, (D, D)."""
    return 1.0 - np.eye(len(sets))


def masi_distances(sets: Mask) -> Floats:
    """Return the MASI distances of D sets, (D, D)."""
    members = sets.astype(np.float64)
    sizes = members.sum(axis=1)
    common = members @ members.T
    union = sizes[:, None] + sizes[None, :] - common
    smaller = np.minimum(sizes[:, None], sizes[None, :])
    overlap = np.where(common == smaller, 2.0 / 3.0, np.where(common > 0, 1.0 / 3.0, 0.0))
    overlap[common == union] = 1.0
    return np.asarray(1.0 - overlap * common / union)


def alpha_of(row: Ints, answer: Ints, distances: Floats, n_rows: int) -> float:
    """Return alpha; NaN without two answers to one row, or if all answers are equal."""
    disagreement, values = _row_sums(row, answer, distances, n_rows)
    return _ratio(disagreement, values, distances, np.ones(n_rows))


def alpha_interval(
    row: Ints, answer: Ints, distances: Floats, n_rows: int, *, coverage: float, n_samples: int, rng: Any
) -> tuple[float, float]:
    """Return a percentile interval over rows drawn with replacement; NaN if alpha is."""
    disagreement, values = _row_sums(row, answer, distances, n_rows)
    used = np.flatnonzero(np.asarray(values.sum(axis=1)) > 0)
    disagreement, values = disagreement[used], values[used]
    alphas = [
        _ratio(disagreement, values, distances, rng.multinomial(len(used), np.full(len(used), 1.0 / len(used))))
        for _ in range(n_samples if len(used) else 0)
    ]
    alphas = [alpha for alpha in alphas if np.isfinite(alpha)]
    if not alphas:
        return np.nan, np.nan
    low, high = np.quantile(alphas, [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
    return float(low), float(high)


def _row_sums(row: Ints, answer: Ints, distances: Floats, n_rows: int) -> tuple[Floats, sp.csr_array]:
    """Return the disagreement of each row, divided by m_i - 1, and the answers of the rows with at least two."""
    n_answers = np.bincount(row, minlength=n_rows)
    kept = n_answers[row] >= 2
    values = sp.csr_array((np.ones(kept.sum()), (row[kept], answer[kept])), shape=(n_rows, len(distances)))
    disagreement = np.zeros(n_rows)
    block = max(1, BLOCK_ENTRIES // max(len(distances), 1))
    for start in range(0, n_rows, block):
        part = values[start : start + block]
        disagreement[start : start + block] = part.multiply(part @ distances).sum(axis=1)
    return disagreement / np.maximum(n_answers - 1, 1), values


def _ratio(disagreement: Floats, values: sp.csr_array, distances: Floats, weight: Floats) -> float:
    frequency = np.asarray(values.T @ weight)
    n = frequency.sum()
    expected = float(frequency @ distances @ frequency)
    if n < 2 or expected == 0:
        return float("nan")
    return float(1.0 - (n - 1.0) * (disagreement @ weight) / expected)


class PairAgreements(NamedTuple):
    """The agreement of each pair of annotators with common rows, in the order of the annotators.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,)
        Names of the annotators.
    n_shared : ndarray of shape (n_pairs,)
        Number of rows that both answered.
    agreement : ndarray of shape (n_pairs,)
        The fraction of these rows with equal answers; with the MASI distance, 1 minus the mean distance.
    kappa : ndarray of shape (n_pairs,)
        Cohen's kappa: 1 for equal answers, about 0 for independent ones. NaN if both give the same answer to all rows.

    Examples
    --------
    >>> from oneof.crowd import pairwise_agreement
    >>> pairwise_agreement([["a", "a"], ["b", "b"], ["a", "b"], ["b", None]]).n_shared.tolist()
    [3]
    """

    first: Labels
    second: Labels
    n_shared: Ints
    agreement: Floats
    kappa: Floats


def pair_kappas(
    row: Ints, source: Ints, answer: Ints, distances: Floats, n_rows: int, n_sources: int
) -> PairAgreements:
    """Return the agreement of each pair of sources with common rows, by their numbers.

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
    first, second, n_shared = (one.astype(np.int64) for one in (first, second, n_shared))
    return PairAgreements(first, second, n_shared, 1.0 - observed, kappa)
