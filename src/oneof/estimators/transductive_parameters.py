"""Parameters of the transductive support vector machine: which are possible, and the share of each class."""

import numbers
from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.validation import check_bool, check_choice, check_fraction, check_positive

CHOICES = {"switching": ("multiple", "single"), "cost_ratio": ("balanced", "printed")}


def check_parameters(estimator: Any) -> None:
    """Raise where a parameter is not possible, but those of the kernel and the shares of classes."""
    for name in ("C", "C_unlabeled"):
        if getattr(estimator, name) is not None:
            check_positive(name, getattr(estimator, name))
    check_positive("max_iter", estimator.max_iter, integer=True)
    check_positive("tol", estimator.tol)
    check_bool("fit_intercept", estimator.fit_intercept)
    for name, choices in CHOICES.items():
        check_choice(name, getattr(estimator, name), choices)


def read_fractions(value: Any, n_classes: int) -> list[float] | None:
    """Return the share of each class, from those of all or, of two classes, from that of the second."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    kind: Any = numbers.Real
    if n_classes == 2 and isinstance(value, kind | str | bytes):
        check_fraction("positive_fraction", value)
        return [1.0 - float(value), float(value)]
    shares = None if isinstance(value, kind | str | bytes) else np.asarray(value)
    if shares is None or shares.shape != (n_classes,) or shares.dtype.kind not in "iuf":
        raise InputError(
            f"positive_fraction={value!r} is not possible for {n_classes} classes: give one number for each of them."
        )
    for k, share in enumerate(shares):
        check_fraction(f"positive_fraction[{k}]", share)
    return [float(share) for share in shares]
