"""Products, distances and variances of rows, and checks of Gram matrices.

Rows are dense arrays of any array namespace, or CSR.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace
from sklearn.utils.sparsefuncs import mean_variance_axis

from oneof.arrays import as_floats
from oneof.errors import InputError
from oneof.typing import Array, FeatureMatrix, Floats, Ints, Precision

NOT_FINITE = (
    "the kernel returned NaN or infinity, or overflows. Scale the features, for example with StandardScaler, or pass a "
    "kernel with finite values."
)
_MAX_SUBTRACTED = 2**18  # elements subtracted at a time, few enough to stay in the cache
MEAN_RTOL = float(np.finfo(np.float64).eps)
"""Relative rounding error of a mean: a variance below its square is 0."""
_BLOCK = 128
"""Number of rows that are compared with their columns at a time; all at once would take twice the memory."""


def align_types(*rows: FeatureMatrix) -> list[Any]:
    """Return all rows as dense arrays, or all as CSR, in one floating-point precision."""
    aligned = [sp.csr_array(R) for R in rows] if any(map(sp.issparse, rows)) else rows
    xp = array_namespace(*map(stored, aligned))
    precision: Precision = "float32" if xp.result_type(*map(stored, aligned)) == xp.float32 else "float64"
    return [as_floats(R, precision) for R in aligned]


def namespace(X: FeatureMatrix) -> Any:
    """Return the array namespace of rows: NumPy's for CSR."""
    return array_namespace(stored(X))


def stored(X: FeatureMatrix) -> Array:
    """Return dense rows, or the stored values of CSR rows."""
    return X.data if sp.issparse(X) else X


def center(X: FeatureMatrix) -> Array | None:
    """Return an origin near the rows, so that few distances lose digits; None for CSR, which must stay sparse.

    The origin is the median of a sample, since a single outlier would move a mean away from all other rows.
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

    In the expansion ||x||^2 + ||y||^2 - 2 x.y, a distance that is small compared with its rows loses digits. The rows
    of those pairs are subtracted instead. No value is negative, and the distance of equal rows is exactly 0.
    """
    X = _scale(X, origin, scale)
    Y = X if Y is None else _scale(Y, origin, scale)
    xp = namespace(X)
    x2, y2 = squares(X)[:, None], squares(Y)[None, :]
    d2 = products(X * -2.0, Y)
    d2 += x2 + y2
    # Above this threshold the relative error is about eps^(3/4). "Not greater" includes NaN, of overflowing squares.
    rtol = float(xp.finfo(d2.dtype).eps) ** 0.25
    if 0 not in d2.shape and not xp.min(d2) > rtol * (xp.max(x2) + xp.max(y2)):
        near = ~(d2 > rtol * (x2 + y2))
        i, j = xp.nonzero(near)
        n_entries = X.nnz // X.shape[0] if sp.issparse(X) else X.shape[1]
        step = max(1, _MAX_SUBTRACTED // max(1, n_entries))
        chunks = [slice(start, min(start + step, i.shape[0])) for start in range(0, i.shape[0] or 1, step)]
        d2[near] = xp.concat([squares(_take(X, i[chunk]) - _take(Y, j[chunk])) for chunk in chunks])
    return d2


def _scale(X: FeatureMatrix, origin: Array | None, scale: Floats) -> FeatureMatrix:
    if sp.issparse(X):
        return sp.csr_array(X.multiply((1.0 / scale).astype(X.dtype)))
    return (X - origin) / namespace(X).asarray(scale, dtype=X.dtype, device=X.device)


def _take(X: FeatureMatrix, rows: Array) -> FeatureMatrix:
    return X[rows] if sp.issparse(X) else namespace(X).take(X, rows, axis=0)


# -- variances, for the scale of kernels -------------------------------------------------------------------------------


def total_variance(X: FeatureMatrix) -> float:
    """Return the sum of the variances of the features, of rows of any namespace or in CSR."""
    variances = _moments(X)[1]
    return checked_variance(float(array_namespace(variances).sum(variances)))


def scale_gamma(X: FeatureMatrix, weight: Floats | None = None) -> float:
    """Return the gamma that scikit-learn's SVC calls "scale", 1/(d Var(X)); SVC's own is negative for some CSR rows.

    With `weight`, (n,), each row is counted with its weight.
    """
    means, variances = _moments(X, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = variances.mean() + means.var()
        variance = 0.0 if variance < (MEAN_RTOL * np.abs(means).max()) ** 2 else checked_variance(float(variance))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _moments(X: FeatureMatrix, weight: Floats | None = None) -> tuple[Array, Array]:
    """Return the mean and the variance of each feature, in float64; constant features have a variance of 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            means, variances = mean_variance_axis(X.astype(np.float64, copy=False), axis=0, weights=weight)
            return means, np.where(variances < (MEAN_RTOL * means) ** 2, 0.0, variances)
        xp = array_namespace(X)
        rows = xp.astype(X, xp.float64, copy=False)
        average = xp.mean if weight is None else partial(np.average, weights=weight)
        origin = rows[0, :]
        rows = rows - origin  # exactly 0 for a constant feature, whose mean may have a rounding error
        means = average(rows, axis=0)
        return origin + means, average((rows - means) ** 2, axis=0)


def checked_variance(variance: float) -> float:
    """Return a variance, or raise if it over- or underflows."""
    if not (np.isfinite(variance) and (variance == 0 or variance > 1e-290)):
        raise InputError("the variance of X over- or underflows. Scale the features, for example with StandardScaler.")
    return variance


# -- checks of Gram matrices -------------------------------------------------------------------------------------------


def call_kernel(kernel: Callable[..., Any], shape: tuple[int, ...], dtype: Any, *rows: Any) -> Floats:
    """Return the values of a function of rows; raise unless they have the expected shape and are finite."""
    values = kernel(*rows)
    values = np.asarray(values.toarray() if sp.issparse(values) else values, dtype=dtype)
    if values.shape != shape:
        raise InputError(
            f"the kernel returned an array of shape {values.shape}: for these rows it must be of shape {shape}."
        )
    return check_finite(values)


def check_finite(values: Array, message: str = NOT_FINITE) -> Array:
    """Return the values; raise with `message` if one is NaN or infinite."""
    xp = array_namespace(values)
    if not xp.all(xp.isfinite(values)):
        raise InputError(message)
    return values


def check_square(shape: tuple[int, ...]) -> None:
    """Raise unless a precomputed kernel for `fit` has all pairs of rows."""
    if shape[0] != shape[1]:
        raise InputError(
            f"with a precomputed kernel, `X` must be square in fit (all pairs of rows); got shape {shape}."
        )


def check_gram(gram: Floats, rows: Ints) -> Floats:
    """Return a Gram matrix, (n, n), in float64; raise if it is not symmetric or has a negative diagonal.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
    rows : ndarray of shape (n,)
        The row indices for messages.
    """
    lowest = int(gram.diagonal().argmin())
    if gram[lowest, lowest] < 0:
        raise InputError(f"row {rows[lowest]}: k(x, x) must be at least 0; got {gram[lowest, lowest]:.4g}.")
    rtol, atol = 1e-5, 1e-7 * max(float(gram.diagonal().max()), 1e-300)
    for start in range(0, len(gram), _BLOCK):
        block, transposed = gram[start : start + _BLOCK], gram[:, start : start + _BLOCK].T
        excess = np.abs(block - transposed) - rtol * np.abs(transposed)
        i, j = np.unravel_index(excess.argmax(), block.shape)
        if not excess[i, j] <= atol:  # nor NaN
            raise InputError(
                f"the kernel is not symmetric: k is {block[i, j]:.6g} for rows {rows[start + i]} and {rows[j]}, and "
                f"{transposed[i, j]:.6g} for rows {rows[j]} and {rows[start + i]}. Pass a symmetric, positive "
                "semi-definite kernel."
            )
    return gram.astype(np.float64, copy=False)
