"""Rows as points between which lengths of links are measured."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Floats, Ints

OVERFLOW = "distances between rows overflow: scale the features, for example with StandardScaler."
_BLOCK = 1 << 16  # numbers of the rows at one end of the links that are measured at a time: they stay in the cache
_SAFE = {4: 30, 8: 256}  # powers of 2, by bytes: rows within them have squares that neither overflow nor vanish


def scale_of(rows: FeatureMatrix) -> int:
    """Return the power of 2 by which rows are divided before they are measured: 0 but for extreme features."""
    values = rows.data if sp.issparse(rows) else rows
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if not np.isfinite(largest):
        raise InputError("X holds NaN or infinity: graphs link rows of finite numbers.")
    power = int(np.frexp(largest)[1])
    return 0 if abs(power) <= _SAFE[values.dtype.itemsize] else power


def scaled(rows: FeatureMatrix, power: int) -> FeatureMatrix:
    """Return rows / 2^power, in double precision where they change; the rows themselves where they do not.

    Raises
    ------
    InputError
        If squares of what comes out would overflow: new rows can be far larger than those of fit.
    """
    if power == 0 and scale_of(rows) == 0:
        return rows
    if sp.issparse(rows):
        out = rows.astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            out.data = np.ldexp(out.data, -power)
    else:
        with np.errstate(over="ignore", under="ignore"):
            out = np.ldexp(rows.astype(np.float64), -power)
    values = out.data if sp.issparse(out) else out
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if not largest <= 0.25 * np.sqrt(np.finfo(np.float64).max / max(rows.shape[1], 1)):
        raise InputError(OVERFLOW)
    return out


def normalized(rows: FeatureMatrix) -> tuple[FeatureMatrix, Ints]:
    """Return the rows that are not 0, of Euclidean norm 1, and their numbers."""
    values = rows.astype(np.float64)
    largest = np.abs(values).max(axis=1)
    largest = np.asarray(largest.toarray() if sp.issparse(largest) else largest).ravel()
    members = np.flatnonzero(largest > 0)
    values, power = values[members], np.frexp(largest[members])[1]
    if sp.issparse(values):  # divided by the largest value first, for squares can overflow or vanish
        counts = np.diff(values.indptr)
        values.data = np.ldexp(values.data, -np.repeat(power, counts))
        norms = np.sqrt(np.asarray(values.multiply(values).sum(axis=1)).ravel())
        values.data = values.data / np.repeat(norms, counts)
        return sp.csr_array(values), members
    values = np.ldexp(values, -power[:, None])
    return values / np.sqrt(np.einsum("ij,ij->i", values, values))[:, None], members


def distances(A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints) -> Floats:
    """Return ||a_i - b_j|| for pairs of rows, from differences: that of equal rows is 0, of close ones precise."""
    return np.sqrt(_by_blocks(_squares, A, i, B, j))


def products(A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints) -> Floats:
    """Return <a_i, b_j> for pairs of rows; rows that share no feature have exactly 0."""
    return _by_blocks(_inner, A, i, B, j)


def _by_blocks(measure: Any, A: FeatureMatrix, i: Ints, B: FeatureMatrix, j: Ints) -> Floats:
    out = np.empty(len(i))
    across = A.shape[1] if not sp.issparse(A) else (A.nnz + B.nnz) // max(A.shape[0] + B.shape[0], 1)
    step = max(1, _BLOCK // max(across, 1))
    for start in range(0, len(i), step):
        here = slice(start, start + step)
        out[here] = measure(A[i[here]].astype(np.float64, copy=False), B[j[here]].astype(np.float64, copy=False))
    return out


def _squares(A: FeatureMatrix, B: FeatureMatrix) -> Floats:
    difference = A - B
    if sp.issparse(difference):
        difference.data **= 2
        return np.asarray(difference.sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", difference, difference)


def _inner(A: FeatureMatrix, B: FeatureMatrix) -> Floats:
    return np.asarray(A.multiply(B).sum(axis=1)).ravel() if sp.issparse(A) else np.einsum("ij,ij->i", A, B)
