"""Rows that are given several times, as one row of a larger weight."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.typing import FeatureMatrix, Floats, Ints


def merge_rows(rows: FeatureMatrix, weight: Floats) -> tuple[Ints, Floats]:
    """Find the distinct rows, and how much each weighs.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        CSR in canonical form.
    weight : ndarray of shape (n,)
        At least 0; rows of weight 0 are left out.

    Returns
    -------
    first : ndarray of shape (m,)
        The number of each distinct row where it comes first, ascending.
    total : ndarray of shape (m,)
        The sum of the weights of the rows that are equal to it.

    Examples
    --------
    >>> merge_rows(np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([1.0, 1.0, 2.0, 0.0]))
    (array([0, 1]), array([3., 1.]))
    """
    kept = np.flatnonzero(weight > 0)
    places: dict[Any, int] = {}
    group = np.empty(len(kept), dtype=np.int64)
    for i, key in enumerate(_keys(rows[kept])):
        group[i] = places.setdefault(key, len(places))
    first = np.full(len(places), len(kept), dtype=np.int64)
    np.minimum.at(first, group, np.arange(len(kept)))
    total = np.bincount(group, weights=weight[kept], minlength=len(places)).astype(np.float64)
    return kept[first], total


def _keys(rows: FeatureMatrix) -> Any:
    """Return one hashable value a row, equal for equal rows."""
    if not sp.issparse(rows):
        plain = np.ascontiguousarray(rows + 0.0)  # -0.0 becomes 0.0, which is equal to it and has other bytes
        return (row.tobytes() for row in plain)
    plain = rows.copy()
    plain.eliminate_zeros()
    spans = zip(plain.indptr[:-1], plain.indptr[1:], strict=True)
    return ((plain.indices[a:b].tobytes(), plain.data[a:b].tobytes()) for a, b in spans)
