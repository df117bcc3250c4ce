"""Arrays made of what callers have."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError, as_input_errors
from oneof.typing import Floats, Rows


def read_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return a dense array of anything that has the form of one; lists of different lengths have not."""
    if sp.issparse(value):
        value = value.toarray()
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} cannot be read as an array: {error}") from None


def read_floats(value: Any, name: str) -> Floats:
    """Return an array of float64; complex numbers, dates and what is no number are errors.

    Numbers that float64 does not hold become infinite: whoever needs finite ones looks for these in any case.
    """
    array = read_array(value, name)
    if array.dtype.kind in "cmMV":
        raise InputError(f"{name} holds values of type {array.dtype}: give real numbers.")
    with as_input_errors(), np.errstate(over="ignore"):
        return array.astype(np.float64)


def check_finite_rows(rows: Rows, *, or_nan: bool = False) -> None:
    """Raise at the first value, of dense or CSR rows, that is infinite or, unless that is allowed, NaN."""
    dense = isinstance(rows, np.ndarray)
    values = rows.ravel() if dense else rows.data
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # as it nearly always is, which takes no memory to see
            return
    broken = np.isinf(values) if or_nan else ~np.isfinite(values)
    if not broken.any():
        return
    first = int(broken.argmax())
    if dense:
        row, column = divmod(first, rows.shape[1])
    else:
        row, column = int(np.searchsorted(rows.indptr, first, side="right")) - 1, int(rows.indices[first])
    what = "NaN" if np.isnan(values[first]) else "infinity, or a number too large for its type"
    raise InputError(f"row {row}, column {column}: X contains {what}: impute the value or drop the row.")
