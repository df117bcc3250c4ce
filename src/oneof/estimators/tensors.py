"""torch tensors as rows: they stay what they are, on the device where they are."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array
from sklearn.utils.validation import check_is_fitted

from oneof.errors import InputError
from oneof.typing import Array


def read_tensor(estimator: Any, X: Array, *, reset: bool, fitted: Any) -> Array:
    """Check a tensor of rows, as scikit-learn checks NumPy arrays; with `reset` note how many features there are.

    `fitted` are the rows of fit, whose precision and device the others must have.
    """
    if not reset:
        check_is_fitted(estimator)
    xp = array_namespace(X)
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"X is a tensor of shape {tuple(X.shape)}: give one of shape (n_samples, n_features).")
    if X.is_sparse or X.is_complex():
        raise InputError("X is a sparse or complex tensor: give a dense one of real numbers.")
    if fitted is not None and not is_torch_array(fitted):
        raise InputError("X is a tensor, but the rows of fit were none: pass X.cpu().numpy().")
    if fitted is not None and X.device != fitted.device:
        raise InputError(f"X is on {X.device}, but the rows of fit were on {fitted.device}: move X there.")
    X = X.detach()
    if fitted is not None or X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64 if fitted is None else fitted.dtype)
    if not bool(xp.all(xp.isfinite(X))):
        raise InputError("X contains NaN or infinity: give finite values.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)  # of an earlier fit to a table
    elif X.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return X


def like(array: Any, other: Any) -> Array:
    """Return a NumPy array in the namespace and on the device of another; floats in its precision too."""
    if is_numpy_array(other) or sp.issparse(other):
        return array
    xp = array_namespace(other)
    dtype = other.dtype if np.issubdtype(array.dtype, np.floating) else None
    return xp.asarray(array, dtype=dtype, device=device(other))


def as_numpy(array: Array) -> Any:
    """Return an array of any namespace in NumPy's."""
    return array if is_numpy_array(array) else array.cpu().numpy()
