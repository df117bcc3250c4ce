"""Checks of the parameters and arrays that callers give."""

import numbers
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from sklearn.utils import check_random_state as sklearn_check_random_state

from oneof.errors import InputError, InputTypeError, reraise_as_input_error
from oneof.typing import FeatureMatrix, Floats, Mask


def as_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return a dense array of anything that has the form of one; lists of different lengths have not."""
    if sp.issparse(value):
        value = value.toarray()
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} cannot be read as an array: {error}") from None


def as_float_array(value: Any, name: str) -> Floats:
    """Return an array of float64; complex numbers, dates and what is no number are errors.

    Numbers that float64 does not hold become infinite: whoever needs finite ones looks for these in any case.
    """
    array = as_array(value, name)
    if array.dtype.kind in "cmMV":
        raise InputError(f"{name} holds values of type {array.dtype}: give real numbers.")
    with reraise_as_input_error(), np.errstate(over="ignore"):
        return array.astype(np.float64)


def check_finite(rows: FeatureMatrix, *, or_nan: bool = False) -> None:
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


def is_integer(value: Any) -> bool:
    """Tell whether a parameter is an integer, of Python or NumPy, and no flag."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_positive(
    name: str,
    value: Any,
    *,
    integer: bool = False,
    allow_zero: bool = False,
    max_value: int | None = None,
    others: str = "",
) -> None:
    """Raise unless a parameter is a finite number above 0, or 0 where that is allowed, and not above `max_value`.

    Numbers are those that a float can hold, but integers may be of any size. `others` says what else there is.
    """
    kind: Any = numbers.Real
    fits = is_integer(value) if integer else isinstance(value, kind) and not isinstance(value, bool)
    number = value if integer or not fits else _as_float(value)
    if (
        not fits
        or not (0 < number < np.inf or (allow_zero and number == 0))
        or (max_value is not None and number > max_value)
    ):
        wanted = f"{'an integer' if integer else 'a number'} {'of at least' if allow_zero else 'above'} 0"
        limit = "" if max_value is None else f" and at most {max_value:,}"
        raise InputError(f"`{name}` must be {wanted}{limit}{others}; got {_short(value)}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless joblib knows what to make of a number of jobs."""
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise InputError(f"`n_jobs` must be None, a number above 0, or -1 for all cores; got {n_jobs!r}.")


def check_fraction(name: str, value: Any) -> None:
    """Raise unless a parameter is a number from 0 to 1."""
    kind: Any = numbers.Real
    if isinstance(value, bool) or not isinstance(value, kind) or not 0 <= value <= 1:
        raise InputError(f"`{name}` must be a number from 0 to 1; got {value!r}.")


def check_choice(name: str, value: Any, choices: Sequence[str | None], others: str = "") -> None:
    """Raise unless a parameter is one of some names, of which None may be one; `others` says what else there is."""
    if not isinstance(value, str | None) or value not in choices:
        *first, last = ["None" if choice is None else f'"{choice}"' for choice in choices]
        wanted = f"{', '.join(first)} or {last}" if first else last
        raise InputError(f"`{name}` must be {wanted}{others}; got {value!r}.")


def check_bool(name: str, value: Any) -> None:
    """Raise unless a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"`{name}` must be True or False; got {value!r}.")


def check_estimator(estimator: Any, others: str = "") -> None:
    """Raise unless this can be cloned and fitted; `others` says what else there is."""
    if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and hasattr(estimator, "fit")):
        raise InputTypeError(
            f"estimator={estimator!r} is no estimator: give an object with get_params and fit{others}."
        )


def check_instance(name: str, value: Any, kind: type) -> None:
    """Raise unless a parameter is of a class of ours."""
    if not isinstance(value, kind):
        raise InputTypeError(f"`{name}` must be an instance of {kind.__name__}; got {value!r}.")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction that no float holds
        return np.inf


def _short(value: Any) -> str:
    """Return what a value looks like; an integer of thousands of digits is not written out."""
    return f"an integer of {value.bit_length()} bits" if isinstance(value, int) and abs(value) > 1e30 else repr(value)


def check_sample_weight(sample_weight: Any, n_rows: int, told: Mask | None = None) -> Floats:
    """Return one weight a row, ones where none are given; negative or infinite ones are errors that name the row.

    Of the rows `told`, (n_rows,), where these are given, one must have a weight above 0.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weight = as_float_array(sample_weight, "sample_weight")
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weight.shape}, expected ({n_rows},): give one weight for each row.")
    wrong = np.flatnonzero(~((weight >= 0) & np.isfinite(weight)))
    if len(wrong):
        raise InputError(f"row {wrong[0]}: sample_weight is {weight[wrong[0]]}; give finite weights of at least 0.")
    if told is not None and not weight[told].any():
        raise InputError("every labeled row has sample weight zero: give some row a weight above 0.")
    return weight


def check_random_state(random_state: Any) -> RandomState:
    """Return what draws: an integer's own sequence, a RandomState as it stands, or NumPy's for None."""
    try:
        return sklearn_check_random_state(random_state)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"random_state={random_state!r} is not possible: give None, an integer from 0 to 2**32 - 1 or a "
            "numpy.random.RandomState; of a Generator, its integers(2**32)."
        ) from None


def check_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise if what is to be worked out would not fit in this machine's memory."""
    if hasattr(os, "sysconf") and n_bytes > (memory := os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")):
        raise InputError(
            f"{what} would take {n_bytes / 1e9:.0f} GB to work out, and this machine has {memory / 1e9:.0f} GB: "
            f"{remedy}."
        )
