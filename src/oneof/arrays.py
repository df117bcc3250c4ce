"""Conversions between NumPy arrays and arrays of other namespaces, such as torch tensors on a device."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device, is_numpy_array

from oneof.typing import Array, FeatureMatrix, Precision


def to_namespace_of(array: Any, other: Any) -> Array:
    """Return a NumPy array in the namespace and on the device of another; floats also in its precision."""
    if is_numpy_array(other) or sp.issparse(other):
        return array
    xp = array_namespace(other)
    dtype = other.dtype if np.issubdtype(array.dtype, np.floating) else None
    return xp.asarray(array, dtype=dtype, device=device(other))


def as_numpy(array: Array) -> Any:
    """Return an array of any namespace as a NumPy array."""
    return array if is_numpy_array(array) else array.cpu().numpy()


def as_floats(array: FeatureMatrix, precision: Precision) -> FeatureMatrix:
    """Return an array of any namespace, or a CSR matrix, in a precision; without a copy if it has this precision."""
    if is_numpy_array(array) or sp.issparse(array):
        return array.astype(precision, copy=False)
    xp = array_namespace(array)
    return xp.astype(array, getattr(xp, precision), copy=False)


def precision_of(array: FeatureMatrix) -> Precision:
    """Return the precision of an array of floats."""
    return "float32" if array.dtype.itemsize == 4 else "float64"
