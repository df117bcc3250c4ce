"""torch tensors as rows: they stay what they are, on the device where they are."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from sklearn.utils.validation import check_is_fitted

from oneof.errors import InputError
from oneof.typing import Array


def read_tensor(estimator: Any, X: Array, *, reset: bool) -> Array:
    """Check a tensor of rows, as scikit-learn checks NumPy arrays; with `reset` note how many features there are."""
    if not reset:
        check_is_fitted(estimator)
    xp = array_namespace(X)
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"X is a tensor of shape {tuple(X.shape)}: give one of shape (n_samples, n_features).")
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    if not bool(xp.all(xp.isfinite(X))):
        raise InputError("X contains NaN or infinity: give finite values.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return X


def like(array: Any, other: Any) -> Array:
    """Return a NumPy array in the namespace and on the device of another; floats in its precision too."""
    if is_numpy_array(other) or (not hasattr(other, "__array_namespace__") and not hasattr(other, "device")):
        return array
    xp = array_namespace(other)
    dtype = other.dtype if np.issubdtype(array.dtype, np.floating) else None
    return xp.asarray(array, dtype=dtype, device=device(other))


def as_numpy(array: Array) -> Any:
    """Return an array of any namespace in NumPy's."""
    return array if is_numpy_array(array) else array.cpu().numpy()
