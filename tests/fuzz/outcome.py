"""Valid outcomes of a call with any arguments, which all fuzz tests assert.

A call returns finite numbers or raises a documented exception of oneof, causes no NumPy warning, leaves its arguments
unchanged, and returns in time.
"""

import dataclasses
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning, NotFittedError

from oneof import CandidateSets
from oneof.errors import OneofError


class CallersError(Exception):
    """Raised by a function that the caller passes in."""


def of_the_caller(*_: Any, **__: Any) -> Any:
    """Raise, as an affinity, a kernel or an optimizer of the caller may."""
    raise CallersError("raised by a function of the caller's")


DOCUMENTED = (OneofError, NotFittedError, CallersError)
"""Exceptions that a call may raise: those of oneof, and scikit-learn's NotFittedError."""

ALLOWED_WARNINGS = UserWarning, FitFailedWarning
"""Warnings that a call may cause; scikit-learn's ConvergenceWarning and DataConversionWarning are subclasses of the
first. `learning_curve` is documented to issue the second if no fold can be fitted.

RuntimeWarning, ComplexWarning and LinAlgWarning of NumPy and SciPy, numba's warnings and deprecations are not.
"""

NAN_MEANS = {"accuracy", "approximated_accuracy", "break_even", "covering_rate", "fit_seconds"}
NAN_MEANS |= {f"{name}_std" for name in NAN_MEANS}
NAN_MEANS |= {"coverage", "noise_rate", "probability"}
"""Attributes of results that are documented to be NaN if they could not be computed."""

LONGEST = 60.0
"""Processor seconds after which a call counts as a hang; ordinary calls take milliseconds."""


CAME: Counter[str] = Counter()
"""Numbers of calls of this process that returned ("answered") or raised ("refused")."""


class HangError(AssertionError):
    """Raised if a call does not return in time."""


def outcome(call: Callable[..., Any], *args: Any, may_be_nan: bool = False, **named: Any) -> Any:
    """Call a function, check its outcome, and return the result or the documented exception."""
    before = fingerprint((args, named))
    with ends(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in ALLOWED_WARNINGS:
            warnings.simplefilter("ignore", category)
        try:
            result = call(*args, **named)
        except DOCUMENTED as error:
            result = error
    if isinstance(result, DOCUMENTED):
        assert str(result).strip(), f"{type(result).__name__} without a word"
    assert fingerprint((args, named)) == before, "the arguments have changed"
    CAME["refused" if isinstance(result, DOCUMENTED) else "answered"] += 1
    if not may_be_nan:
        assert_finite(result)
    return result


def assert_finite(value: Any, where: str = "the result") -> None:
    """Assert that a result contains neither NaN nor infinity, in any container."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc":
        assert np.isfinite(value).all(), f"{where} holds {value[~np.isfinite(value)].ravel()[:3]}"
    elif isinstance(value, float):
        assert np.isfinite(value), f"{where} is {value}"
    elif sp.issparse(value):
        assert_finite(value.data, where)
    elif isinstance(value, CandidateSets):
        assert value.mask.any(axis=1).all(), f"{where} has an empty set"
        assert len(set(value.classes.tolist())) == value.shape[1], f"{where} has a class twice"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type | BaseEstimator):
        for field in dataclasses.fields(value):
            if field.name not in NAN_MEANS:
                assert_finite(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, tuple | list):
        for i, part in enumerate(value):
            assert_finite(part, f"{where}[{i}]")


def fingerprint(value: Any) -> Any:
    """Return a fingerprint of a value, to check that a call has not changed it."""
    if isinstance(value, np.ma.MaskedArray):
        return np.ma.getdata(value).tobytes(), np.ma.getmaskarray(value).tobytes()
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
        return type(value), value.dtype, value.shape, value.flags.writeable, content
    if sp.issparse(value):
        parts = [getattr(value, name, None) for name in ("data", "indices", "indptr", "row", "col", "offsets")]
        return value.format, value.shape, [fingerprint(p) for p in parts if isinstance(p, np.ndarray)]
    if isinstance(value, pd.DataFrame | pd.Series | pl.DataFrame | pl.Series):
        return (
            type(value),
            str(getattr(value, "dtypes", getattr(value, "dtype", None))),
            repr(value.to_numpy().tolist()),
        )
    if isinstance(value, CandidateSets):
        return value.mask.tobytes(), repr(value.classes.tolist())
    if isinstance(value, Mapping):
        return [(repr(key), fingerprint(part)) for key, part in value.items()]
    if isinstance(value, tuple | list):
        return [fingerprint(part) for part in value]
    if isinstance(value, set | frozenset | str | bytes | int | float | complex | None):
        return type(value), repr(value)
    return None  # estimators and generators may change, and callables are not inspected


@contextmanager
def ends() -> Iterator[None]:
    """Raise HangError after a limit of processor time, which does not depend on the load of the machine."""

    def give_up(*_: Any) -> None:
        raise HangError(f"no end after {LONGEST:.0f} processor seconds")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
