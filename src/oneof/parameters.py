"""Parameters that are no number, choice, flag or estimator of the wanted kind, refused in one sentence."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneof.errors import InputError, InputTypeError


def is_whole(value: Any) -> bool:
    """Tell whether a parameter is an integer, of Python or NumPy, and no flag."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_positive(
    name: str, value: Any, *, integer: bool = False, or_zero: bool = False, most: int | None = None, others: str = ""
) -> None:
    """Raise unless a parameter is a finite number above 0, or 0 where that is allowed, and not above `most`.

    Numbers are those that a float can hold, but integers may be of any size. `others` says what else there is.
    """
    kind: Any = numbers.Real
    fits = is_whole(value) if integer else isinstance(value, kind) and not isinstance(value, bool)
    number = value if integer or not fits else _as_float(value)
    if not fits or not (0 < number < np.inf or (or_zero and number == 0)) or (most is not None and number > most):
        wanted = f"{'an integer' if integer else 'a number'} {'of at least' if or_zero else 'above'} 0"
        limit = "" if most is None else f" and at most {most:,}"
        raise InputError(f"{name}={_short(value)} is not possible: give {wanted}{limit}{others}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless joblib knows what to make of a number of jobs."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(f"n_jobs={n_jobs!r} is not possible: give None, a number above 0, or -1 for all cores.")


def check_share(name: str, value: Any) -> None:
    """Raise unless a parameter is a number from 0 to 1."""
    kind: Any = numbers.Real
    if isinstance(value, bool) or not isinstance(value, kind) or not 0 <= value <= 1:
        raise InputError(f"{name}={value!r} is not possible: give a number from 0 to 1.")


def check_choice(name: str, value: Any, choices: Sequence[str | None], others: str = "") -> None:
    """Raise unless a parameter is one of some names, of which None may be one; `others` says what else there is."""
    if not isinstance(value, str | None) or value not in choices:
        *first, last = ["None" if choice is None else f'"{choice}"' for choice in choices]
        wanted = f"{', '.join(first)} or {last}" if first else last
        raise InputError(f"{name}={value!r} is not possible: choose {wanted}{others}.")


def check_flag(name: str, value: Any) -> None:
    """Raise unless a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}={value!r} is not possible: choose True or False.")


def check_estimator(estimator: Any, others: str = "") -> None:
    """Raise unless this can be cloned and fitted; `others` says what else there is."""
    if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and hasattr(estimator, "fit")):
        raise InputTypeError(
            f"estimator={estimator!r} is no estimator: give an object with get_params and fit{others}."
        )


def check_kind(name: str, value: Any, kind: type) -> None:
    """Raise unless a parameter is of a class of ours."""
    if not isinstance(value, kind):
        raise InputTypeError(f"{name}={value!r} is not possible: give {kind.__name__}(...).")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction that no float holds
        return np.inf


def _short(value: Any) -> str:
    """Return what a value looks like; an integer of thousands of digits is not written out."""
    return f"an integer of {value.bit_length()} bits" if isinstance(value, int) and abs(value) > 1e30 else repr(value)
