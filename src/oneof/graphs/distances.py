"""Distances and scalar products between pairs of rows, safe against overflow and cancellation."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Floats, Ints

OVERFLOW = "distances between rows overflow. Scale the features, for example with StandardScaler."
_BLOCK_SIZE = 1 << 16  # elements of the source rows processed at a time: few enough to stay in the cache
_BLOCK_PAIRS = 1 << 22  # distances of all pairs that are in memory at the same time
_PRODUCT_RTOL = 1e-4  # products do not resolve smaller distances, relative to the norms
_MAX_EXPONENT = {4: 30, 8: 256}  # by bytes: squares of smaller powers of 2 neither overflow nor underflow


def scale_exponent(rows: FeatureMatrix) -> int:
    """Return the exponent of the power of 2 by which rows are divided: 0 except for extreme features."""
    values = rows.data if sp.issparse(rows) else rows
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if not np.isfinite(largest):
        raise InputError("`X` must be finite to build a graph; got NaN or infinity.")
    exponent = int(np.frexp(largest)[1])
    return 0 if abs(exponent) <= _MAX_EXPONENT[values.dtype.itemsize] else exponent


def scale_rows(rows: FeatureMatrix, exponent: int) -> FeatureMatrix:
    """Return rows / 2^exponent, in double precision if they change; otherwise the same object.

    Raises
    ------
    InputError
        If squares of the result would overflow: new rows can be far larger than the training rows.
    """
    if exponent == 0 and scale_exponent(rows) == 0:
        return rows
    out = rows.astype(np.float64)
    values = out.data if sp.issparse(out) else out
    with np.errstate(over="ignore", under="ignore"):
        np.ldexp(values, -exponent, out=values)
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if not largest <= 0.25 * np.sqrt(np.finfo(np.float64).max / max(rows.shape[1], 1)):
        raise InputError(OVERFLOW)
    return out


def normalize_rows(rows: FeatureMatrix) -> tuple[FeatureMatrix, Ints]:
    """Return the nonzero rows scaled to Euclidean norm 1, and their row indices."""
    values = rows.astype(np.float64)
    largest = np.abs(values).max(axis=1)
    largest = np.asarray(largest.toarray() if sp.issparse(largest) else largest).ravel()
    members = np.flatnonzero(largest > 0)
    # Divided by a power of 2 first, which is exact, because squares can over- or underflow.
    values = _divide_rows(values[members], np.ldexp(0.5, np.frexp(largest[members])[1]))
    return _divide_rows(values, row_norms(values)), members


def _divide_rows(values: FeatureMatrix, divisors: Floats) -> FeatureMatrix:
    if not sp.issparse(values):
        return values / divisors[:, None]
    data = values.data / np.repeat(divisors, np.diff(values.indptr))
    return sp.csr_array((data, values.indices, values.indptr), shape=values.shape)


def paired_distances(A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints) -> Floats:
    """Return ||a_i - b_j|| for pairs of rows, from differences: exactly 0 for equal rows, precise for close rows."""
    return np.sqrt(_apply_in_blocks(lambda a, b: row_norms(a - b, squared=True), A, i, B, j))


def paired_products(A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints) -> Floats:
    """Return <a_i, b_j> for pairs of rows; exactly 0 for rows without a common feature."""
    if sp.issparse(A):
        return _apply_in_blocks(lambda a, b: a.multiply(b).sum(axis=1), A, i, B, j)
    return _apply_in_blocks(lambda a, b: np.einsum("ij,ij->i", a, b), A, i, B, j)


def _apply_in_blocks(
    function: Callable[[FeatureMatrix, FeatureMatrix], Floats], A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints
) -> Floats:
    """Apply a function to a_i and b_j, in double precision, for some pairs at a time."""
    out = np.empty(len(i))
    n_values = (A.nnz + B.nnz) // max(A.shape[0] + B.shape[0], 1) if sp.issparse(A) else A.shape[1]
    step = max(1, _BLOCK_SIZE // max(n_values, 1))
    for start in range(0, len(i), step):
        block = slice(start, start + step)
        out[block] = function(A[i[block]].astype(np.float64, copy=False), B[j[block]].astype(np.float64, copy=False))
    return out


def search_unresolved(queries: Floats, points: Floats, neighbors: Ints, last: Floats, reach: Floats) -> None:
    """Search again, by differences, if neighbors are nearer than products can resolve, relative to the norms.

    This occurs between tight clusters far apart, only one of which can contain the origin.

    Parameters
    ----------
    queries : ndarray of shape (t, d)
    points : ndarray of shape (n, d)
    neighbors : ndarray of shape (t, k)
        Row indices of points, replaced in place.
    last : ndarray of shape (t,)
        Distances to the last neighbor, from products.
    reach : ndarray of shape (t,)
        Norms of the queries in these products.
    """
    k = neighbors.shape[1]
    rows = np.flatnonzero(last < _PRODUCT_RTOL * reach)
    lengths = paired_distances(queries, np.repeat(rows, k), points, neighbors[rows].ravel())
    rows = rows[lengths.reshape(-1, k).max(axis=1) > 0]  # other neighbors are all duplicates
    step = max(1, _BLOCK_PAIRS // len(points))
    for block in (rows[start : start + step] for start in range(0, len(rows), step)):
        distances = cdist(queries[block], points)
        neighbors[block] = np.argpartition(distances, k - 1, axis=1)[:, :k]
