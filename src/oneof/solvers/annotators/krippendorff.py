"""Krippendorff's alpha: the agreement of sources, relative to the agreement expected by chance.

With d(a, b) the distance of two answers and n answers in all, in rows of m_i >= 2 answers,

    alpha = 1 - D_o / D_e,
    D_o = 1/n sum_i 1/(m_i - 1) sum_{pairs of answers of row i} d,   D_e = 1/(n (n - 1)) sum_{pairs of all answers} d,

over ordered pairs of different answers. It is 1 for equal answers, 0 for answers at random; rows with one answer and
missing answers do not count. The distance is nominal, d = [a != b], or for sets MASI (Passonneau 2006): 1 - m |A and
B| / |A or B|, with m = 1 for equal sets, 2/3 if one contains the other, 1/3 if they only overlap.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.typing import Floats, Ints, Mask

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
