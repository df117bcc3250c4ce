"""How far rows spread, from which kernels take their scale."""

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace

from oneof.errors import InputError
from oneof.typing import Rows


def total_variance(X: Rows) -> float:
    """Return the sum of the variances of the features, of rows of any namespace or in CSR."""
    n = X.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            means = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
            return _checked(float(X.multiply(X).sum(dtype=np.float64)) / n - float(means @ means))
        xp = array_namespace(X)
        return _checked(float(xp.sum(xp.var(xp.astype(X, xp.float64), axis=0))))


def entry_variance(X: Rows) -> float:
    """Return the variance of all entries, of NumPy or CSR rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            size = X.shape[0] * X.shape[1]
            mean = float(X.sum(dtype=np.float64)) / size
            # Not a power: of Python's floats that raises where it overflows.
            return _checked(float(X.multiply(X).sum(dtype=np.float64)) / size - mean * mean)
        return _checked(float(X.var(dtype=np.float64)))


def _checked(variance: float) -> float:
    """Return a variance, 0 if rounding left it below, or raise if it is too large or small for the arithmetic."""
    if not (np.isfinite(variance) and (variance <= 0 or variance > 1e-290)):
        raise InputError("the features are beyond the arithmetic: scale the features, for example with StandardScaler.")
    return max(variance, 0.0)
