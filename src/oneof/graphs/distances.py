"""Distances and scalar products between pairs of rows, safe against overflow and cancellation."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.typing import FeatureMatrix, Floats, Ints

OVERFLOW = "distances between rows overflow. Scale the features, for example with StandardScaler."
_BLOCK_SIZE = 1 << 16  # elements of the source rows processed at a time: few enough to stay in the cache
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
    if sp.issparse(rows):
        out = rows.astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            out.data = np.ldexp(out.data, -exponent)
    else:
        with np.errstate(over="ignore", under="ignore"):
            out = np.ldexp(rows.astype(np.float64), -exponent)
    values = out.data if sp.issparse(out) else out
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
    values, exponents = values[members], np.frexp(largest[members])[1]
    if sp.issparse(values):  # divided by the largest value first, because squares can over- or underflow
        counts = np.diff(values.indptr)
        values.data = np.ldexp(values.data, -np.repeat(exponents, counts))
        norms = np.sqrt(np.asarray(values.multiply(values).sum(axis=1)).ravel())
        values.data = values.data / np.repeat(norms, counts)
        return sp.csr_array(values), members
    values = np.ldexp(values, -exponents[:, None])
    return values / np.sqrt(np.einsum("ij,ij->i", values, values))[:, None], members


def paired_distances(A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints) -> Floats:
    """Return ||a_i - b_j|| for pairs of rows, from differences: exactly 0 for equal rows, precise for close rows."""
    if sp.issparse(A):
        return np.sqrt(_apply_in_blocks(_sparse_square_distances, A, i, B, j))
    return np.sqrt(_square_distances(A, i, B, j))


def paired_products(A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints) -> Floats:
    """Return <a_i, b_j> for pairs of rows; exactly 0 for rows without a common feature."""
    return _apply_in_blocks(_sparse_products, A, i, B, j) if sp.issparse(A) else _products(A, i, B, j)


def _apply_in_blocks(
    function: Callable[[FeatureMatrix, FeatureMatrix], Floats], A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints
) -> Floats:
    out = np.empty(len(i))
    step = max(1, _BLOCK_SIZE // max((A.nnz + B.nnz) // max(A.shape[0] + B.shape[0], 1), 1))
    for start in range(0, len(i), step):
        block = slice(start, start + step)
        out[block] = function(A[i[block]].astype(np.float64, copy=False), B[j[block]].astype(np.float64, copy=False))
    return out


def _sparse_square_distances(A: sp.csr_array, B: sp.csr_array) -> Floats:
    difference = A - B
    difference.data **= 2
    return np.asarray(difference.sum(axis=1)).ravel()


def _sparse_products(A: sp.csr_array, B: sp.csr_array) -> Floats:
    return np.asarray(A.multiply(B).sum(axis=1)).ravel()


@compiled
def _square_distances(A, i, B, j):
    out = np.empty(len(i))
    for at in range(len(i)):
        square = 0.0
        for k in range(A.shape[1]):
            difference = np.float64(A[i[at], k]) - np.float64(B[j[at], k])
            square += difference * difference
        out[at] = square
    return out


@compiled
def _products(A, i, B, j):
    out = np.empty(len(i))
    for at in range(len(i)):
        product = 0.0
        for k in range(A.shape[1]):
            product += np.float64(A[i[at], k]) * np.float64(B[j[at], k])
        out[at] = product
    return out
