"""How far rows spread, from which kernels take their scale."""

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace
from sklearn.utils.sparsefuncs import mean_variance_axis

from oneof.errors import InputError
from oneof.typing import FeatureMatrix


def total_variance(X: FeatureMatrix) -> float:
    """Return the sum of the variances of the features, of rows of any namespace or in CSR."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            return checked_variance(float(mean_variance_axis(X, axis=0)[1].sum(dtype=np.float64)))
        xp = array_namespace(X)
        return checked_variance(float(xp.sum(xp.var(xp.astype(X, xp.float64), axis=0))))


def entry_variance(X: FeatureMatrix) -> float:
    """Return the variance of all entries, of NumPy or CSR rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            means, variances = mean_variance_axis(X, axis=0)
            return checked_variance(float(variances.mean(dtype=np.float64) + means.var(dtype=np.float64)))
        return checked_variance(float(X.var(dtype=np.float64)))


def scale_gamma(X: FeatureMatrix) -> float:
    """Return the gamma that scikit-learn's SVC calls "scale", 1/(d Var(X)); its own is below 0 for some sparse rows."""
    variance = entry_variance(X)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def checked_variance(variance: float) -> float:
    """Return a variance, or raise if it is too large or small for the arithmetic."""
    if not (np.isfinite(variance) and (variance == 0 or variance > 1e-290)):
        raise InputError("the features are beyond the arithmetic: scale the features, for example with StandardScaler.")
    return variance
