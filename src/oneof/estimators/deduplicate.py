"""Duplicate rows, merged into one row with the sum of their weights."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.typing import FeatureMatrix, Floats, Ints


def merge_rows(rows: FeatureMatrix, weight: Floats) -> tuple[Ints, Floats]:
    """Return the distinct rows and their total weights.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        CSR in canonical form.
    weight : ndarray of shape (n,)
        At least 0; rows of weight 0 are excluded.

    Returns
    -------
    first : ndarray of shape (m,)
        Indices of the first occurrence of each distinct row, ascending.
    total : ndarray of shape (m,)
        Sum of the weights of the equal rows.

    Examples
    --------
    >>> merge_rows(np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([1.0, 1.0, 2.0, 0.0]))
    (array([0, 1]), array([3., 1.]))
    """
    used = np.flatnonzero(weight > 0)
    groups: dict[Any, int] = {}
    numbers = (groups.setdefault(key, len(groups)) for key in _keys(rows[used]))
    group = np.fromiter(numbers, dtype=np.int64, count=len(used))
    first = np.unique(group, return_index=True)[1]
    return used[first], np.bincount(group, weights=weight[used]).astype(np.float64)


def _keys(rows: FeatureMatrix) -> Any:
    """Return one hashable value per row, equal for equal rows."""
    if not sp.issparse(rows):
        values = np.ascontiguousarray(rows + 0.0)  # -0.0 becomes 0.0, which is equal but has other bytes
        return (row.tobytes() for row in values)
    values = rows.copy()
    values.eliminate_zeros()
    extents = zip(values.indptr[:-1], values.indptr[1:], strict=True)
    return ((values.indices[a:b].tobytes(), values.data[a:b].tobytes()) for a, b in extents)
