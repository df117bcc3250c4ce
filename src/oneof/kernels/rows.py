"""Rows as kernels see them: dense of any array namespace, or CSR; their products and distances."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device

from oneof.typing import Array, FeatureMatrix, Floats

_PAIRED = 2**18  # elements of rows that are subtracted pair by pair at a time: few enough to stay in the cache


def of_one_kind(X: FeatureMatrix, Y: FeatureMatrix | None) -> tuple[Any, Any]:
    """Return both as dense arrays, or both as CSR, in one floating precision."""
    rows = [X] if Y is None else [X, Y]
    if any(sp.issparse(R) for R in rows):
        rows = [sp.csr_array(R) for R in rows]
    xp = array_namespace(*map(_stored, rows))
    dtype = xp.result_type(*map(_stored, rows))
    if xp.isdtype(dtype, ("integral", "bool")):
        dtype = xp.float64
    rows = [R.astype(dtype, copy=False) if sp.issparse(R) else xp.astype(R, dtype, copy=False) for R in rows]
    return rows[0], None if Y is None else rows[1]


def namespace(X: FeatureMatrix) -> Any:
    """Return the array namespace of rows: NumPy's for CSR."""
    return array_namespace(_stored(X))


def device_of(X: FeatureMatrix) -> Any:
    """Return the device that the rows are on."""
    return device(_stored(X))


def center(X: FeatureMatrix) -> Array | None:
    """Return an origin amid the rows, from where few distances lose digits; None for CSR, which must stay sparse.

    It is the median of a sample: a mean would be drawn away from all the other rows by a single one far off.
    """
    if sp.issparse(X):
        return None
    sample = X[:: max(1, X.shape[0] // 500), :]
    return namespace(X).sort(sample, axis=0)[sample.shape[0] // 2, :]


def products(X: FeatureMatrix, Y: FeatureMatrix) -> Array:
    """Return x_i . y_j, dense, (n, m)."""
    return (X @ Y.T).toarray() if sp.issparse(X) else X @ Y.T


def squares(X: FeatureMatrix) -> Array:
    """Return ||x_i||^2, (n,)."""
    return np.asarray(X.multiply(X).sum(axis=1)) if sp.issparse(X) else namespace(X).vecdot(X, X)


def squared_distances(X: FeatureMatrix, Y: FeatureMatrix | None, origin: Array | None, scale: Floats) -> Array:
    """Return ||(x_i - y_j) / scale||^2, (n, m), at the speed of a matrix product; without Y, of X with itself.

    Expanded to ||x||^2 + ||y||^2 - 2 x.y, a distance that is small beside its rows has lost digits: those pairs are
    subtracted after all. No value is negative, and that of equal rows is exactly 0.
    """
    X = _scaled(X, origin, scale)
    Y = X if Y is None else _scaled(Y, origin, scale)
    xp = namespace(X)
    sizes = squares(X)[:, None] + squares(Y)[None, :]
    d2 = products(X * -2.0, Y)
    d2 += sizes
    # Beyond this share the relative error is some eps^(3/4). "Not greater" takes in NaN, of squares that overflow.
    sizes *= float(xp.finfo(d2.dtype).eps) ** 0.25
    near = ~(d2 > sizes)
    i, j = xp.nonzero(near)
    if (n_pairs := int(i.shape[0])) > 0:
        width = X.nnz // X.shape[0] if sp.issparse(X) else X.shape[1]
        step = max(1, _PAIRED // max(1, width))
        chunks = [slice(start, min(start + step, n_pairs)) for start in range(0, n_pairs, step)]
        d2[near] = xp.concat([squares(_taken(X, i[chunk]) - _taken(Y, j[chunk])) for chunk in chunks])
    return d2


def _scaled(X: FeatureMatrix, origin: Array | None, scale: Floats) -> FeatureMatrix:
    if sp.issparse(X):
        return sp.csr_array(X.multiply((1.0 / scale).astype(X.dtype)))
    return (X - origin) / namespace(X).asarray(scale, dtype=X.dtype, device=device_of(X))


def _taken(X: FeatureMatrix, rows: Array) -> FeatureMatrix:
    return X[rows] if sp.issparse(X) else namespace(X).take(X, rows, axis=0)


def _stored(X: FeatureMatrix) -> Array:
    return X.data if sp.issparse(X) else X
