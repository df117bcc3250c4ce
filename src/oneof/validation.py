"""Validation of parameters and arrays."""

import difflib
import numbers
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from sklearn.utils import check_random_state as sklearn_check_random_state

from oneof.errors import InputError, InputTypeError
from oneof.typing import FeatureMatrix, Floats, Mask

MIN_HUGE = 1e100
"""Smallest absolute value of a feature to which an overflow is attributed."""


def unmask(value: Any) -> Any:
    """Return a masked array, or a list of them, as an array in which masked numbers are NaN, and other entries None."""
    if isinstance(value, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in value):
        value = np.ma.array(value)
    if not isinstance(value, np.ma.MaskedArray):
        return value
    missing: Any = np.nan if value.dtype.kind in "biuf" else None
    return np.where(np.ma.getmaskarray(value), missing, value.data)


def as_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return a dense array, masked entries as NaN; raise if the value is ragged or otherwise not an array."""
    if sp.issparse(value):
        value = value.toarray()
    try:
        return np.asarray(unmask(value))
    except (ValueError, TypeError) as error:
        raise InputError(f"`{name}` must be an array; NumPy could not convert it: {error}") from None


def as_float_array(value: Any, name: str) -> Floats:
    """Return a float64 array; complex numbers, dates and text are errors.

    Numbers that overflow float64 become infinite; callers that need finite values check for them.
    """
    array = as_array(value, name)
    if array.dtype.kind in "cmMV":
        raise InputError(f"`{name}` must contain real numbers; got values of type {array.dtype}.")
    try:
        with np.errstate(over="ignore"):
            return array.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"`{name}` must contain real numbers; NumPy could not convert it: {error}.") from None


def to_native(rows: FeatureMatrix) -> FeatureMatrix:
    """Return rows in the byte order of the machine; scikit-learn keeps that of big-endian columns of pandas."""
    return rows if rows.dtype.isnative else rows.astype(rows.dtype.newbyteorder("="))


def check_coverage(coverage: Any) -> None:
    """Raise unless the probability of a set or of an interval is a number above 0 and below 1."""
    if not (is_real(coverage) and 0 < coverage < 1):
        raise InputError(f"`coverage` must be a number above 0 and below 1, such as 0.9; got {coverage!r}.")


def check_finite(rows: FeatureMatrix, *, or_nan: bool = False) -> None:
    """Raise if a value of dense or CSR rows is infinite, or NaN unless `or_nan`; the error names the first one."""
    values = _stored(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # the usual case, which allocates nothing
            return
    broken = np.isinf(values) if or_nan else ~np.isfinite(values)
    if broken.any():
        first = int(broken.argmax())
        problem = "NaN" if np.isnan(values[first]) else "infinity or a number that overflows its type"
        raise InputError(f"X contains {problem}. Impute the value or drop the row.", **_place(rows, first))


def locate_overflow(error: InputError, rows: FeatureMatrix) -> InputError:
    """Return the error of a computation with finite rows, with the place of a value that overflows in it.

    That is the largest value of the rows, or of the row that the error names, if it is above `MIN_HUGE`. Otherwise, or
    if the error has a column, it is returned unchanged, since it has another cause.
    """
    is_array = isinstance(rows, np.ndarray) or sp.issparse(rows)
    if type(error) is not InputError or error.column is not None or not is_array:
        return error
    used, first = (rows, 0) if error.row is None else (rows[[error.row]], error.row)
    values = np.abs(_stored(used))
    if not values.size or values.max() < MIN_HUGE:
        return error
    return InputError(error.reason, source=error.source, **_place(used, int(values.argmax()))).at(first_row=first)


def check_squares(values: Any, name: str) -> None:
    """Raise if sums of the squares of numbers, in sparse or dense rows or in a vector, may overflow float64.

    NaN, infinity and numbers that are not floats are accepted. `name` is that of the rows or the vector in the error.
    """
    stored = _stored(values) if hasattr(values, "dtype") else None
    if stored is None or stored.dtype.kind != "f" or not stored.size:
        return
    largest = np.sqrt(np.finfo(np.float64).max / stored.size)
    if max(stored.max(), -stored.min()) <= largest:  # false with NaN
        return
    is_above = np.isfinite(stored) & (np.abs(stored) > largest)
    if is_above.any():
        first = int(is_above.argmax())
        raise InputError(
            f"{name} contains {float(stored[first]):.3g}: sums of such squares overflow float64. Correct or remove the "
            "value, or scale the features, for example by dividing the column by its largest value.",
            **_place(values, first),
        )


def _stored(rows: Any) -> Any:
    """Return the values of dense rows, or the stored ones of sparse rows, as a vector."""
    return rows.data if hasattr(rows, "indptr") or sp.issparse(rows) else np.asarray(rows).ravel()


def _place(rows: Any, entry: int) -> dict[str, Any]:
    """Return the row and the column of one of the stored values; a vector has no column."""
    if hasattr(rows, "indptr") and not sp.issparse(rows):  # the arrays of CSR rows, as the online learners read them
        rows = sp.csr_array((rows.data, rows.indices, rows.indptr))
    # The order of CSR entries stays in COO.
    is_sparse = sp.issparse(rows)
    place = [index[entry] for index in rows.tocoo().coords] if is_sparse else np.unravel_index(entry, rows.shape)
    return dict(zip(("row", "column"), map(int, place), strict=False))


def is_real(value: Any) -> bool:
    """Return whether a value is a real number; booleans are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """Return whether a value is a Python or NumPy integer; booleans are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_positive(
    name: str,
    value: Any,
    *,
    integer: bool = False,
    allow_zero: bool = False,
    max_value: float | None = None,
    or_none: bool = False,
    alternatives: str = "",
) -> None:
    """Raise unless a parameter is a finite number above 0 and at most `max_value`.

    `allow_zero` admits 0, and `or_none` None. A number must fit into a float; an integer may have any size.
    `alternatives` is appended to the requirement in the error, for parameters that also accept other values.
    """
    if or_none and value is None:
        return
    fits = is_integer(value) if integer else is_real(value)
    number = value if integer or not fits else _as_float(value)
    is_positive = fits and (0 < number < np.inf or (allow_zero and number == 0))
    if not is_positive or (max_value is not None and number > max_value):
        requirement = f"{'an integer' if integer else 'a number'} {'of at least' if allow_zero else 'above'} 0"
        limit = "" if max_value is None else f" and at most {max_value:,}"
        others = " or None" if or_none else alternatives
        raise InputError(f"`{name}` must be {requirement}{limit}{others}; got {_short(value)}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless joblib accepts the number of jobs."""
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise InputError(f"`n_jobs` must be None, an integer above 0, or -1 for all cores; got {n_jobs!r}.")


def check_fraction(name: str, value: Any) -> None:
    """Raise unless a parameter is a number from 0 to 1."""
    if not (is_real(value) and 0 <= value <= 1):
        raise InputError(f"`{name}` must be a number from 0 to 1; got {value!r}.")


def check_choice(name: str, value: Any, choices: Sequence[str | None], alternatives: str = "") -> None:
    """Raise unless a parameter is one of the choices; `alternatives` is appended to them in the error."""
    if not isinstance(value, str | None) or value not in choices:
        *first, last = ["None" if choice is None else f'"{choice}"' for choice in choices]
        requirement = f"{', '.join(first)} or {last}" if first else last
        names = {choice.lower(): choice for choice in choices if choice is not None}
        close = difflib.get_close_matches(value.lower(), names, n=1) if isinstance(value, str) else []
        hint = f' Did you mean "{names[close[0]]}"?' if close else ""
        raise InputError(f"`{name}` must be {requirement}{alternatives}; got {value!r}.{hint}")


def check_bool(name: str, value: Any) -> None:
    """Raise unless a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"`{name}` must be True or False; got {value!r}.")


def check_estimator(estimator: Any, alternatives: str = "") -> None:
    """Raise unless an object can be cloned and fitted; `alternatives` is appended to the requirement in the error."""
    if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and hasattr(estimator, "fit")):
        raise InputTypeError(f"`estimator` must be an object with get_params and fit{alternatives}; got {estimator!r}.")


def check_instance(name: str, value: Any, kind: type) -> None:
    """Raise unless a parameter is an instance of a class."""
    if not isinstance(value, kind):
        raise InputTypeError(f"`{name}` must be an instance of {kind.__name__}; got {value!r}.")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction that overflows float64
        return np.inf


def _short(value: Any) -> str:
    """Return the repr of a value; an integer of thousands of digits is abbreviated."""
    return f"an integer of {value.bit_length()} bits" if isinstance(value, int) and abs(value) > 1e30 else repr(value)


def check_sample_weight(sample_weight: Any, n_rows: int, labeled: Mask | None = None) -> Floats:
    """Return the sample weights as (n_rows,) float64, ones by default.

    A negative or infinite weight is an error that names its row. If `labeled`, an (n_rows,) mask of the labeled rows,
    is given, at least one of these rows must have a weight above 0.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weight = as_float_array(sample_weight, "sample_weight")
    if weight.shape != (n_rows,):
        raise InputError(f"`sample_weight` must have shape ({n_rows},), one weight for each row; got {weight.shape}.")
    wrong = np.flatnonzero(~((weight >= 0) & np.isfinite(weight)))
    if len(wrong):
        raise InputError(f"row {wrong[0]}: `sample_weight` must be finite and at least 0; got {weight[wrong[0]]}.")
    if labeled is not None and not weight[labeled].any():
        raise InputError("`sample_weight` is zero for every labeled row. Give some labeled row a weight above 0.")
    return weight


def check_random_state(random_state: Any) -> RandomState:
    """Return a RandomState: seeded by an integer, the given one, or NumPy's global one for None."""
    try:
        return sklearn_check_random_state(random_state)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "`random_state` must be None, an integer from 0 to 2**32 - 1 or a numpy.random.RandomState; got "
            f"{random_state!r}. For a Generator, pass `rng.integers(2**32)`."
        ) from None


def check_memory(n_bytes: float, computation: str, remedy: str) -> None:
    """Raise if a computation would not fit in the memory of this machine; `remedy` ends the message."""
    if hasattr(os, "sysconf") and n_bytes > (memory := os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")):
        raise InputError(
            f"{computation} would need {n_bytes / 1e9:.0f} GB of memory, and this machine has {memory / 1e9:.0f} GB. "
            f"{remedy[:1].upper()}{remedy[1:]}."
        )
