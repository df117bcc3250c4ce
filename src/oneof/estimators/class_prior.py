"""Validation of the parameter `class_prior`, the known or estimated class sizes."""

from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.solvers.class_sizes import ClassPrior


def check_class_prior(value: Any, n_classes: int) -> ClassPrior:
    """Return "labels", None, or the proportions of the classes.

    Parameters
    ----------
    value : "labels", "uniform", array-like of shape (n_classes,) or None
    n_classes : int

    Returns
    -------
    "labels", ndarray of shape (n_classes,) or None

    Raises
    ------
    InputError
        If the value is something else, or the sizes are negative, not finite, or all 0.
    """
    if value is None or (isinstance(value, str) and value == "labels"):
        return value  # type: ignore[return-value]
    if isinstance(value, str) and value == "uniform":
        return np.full(n_classes, 1.0 / n_classes)
    try:
        sizes = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        sizes = np.empty(0)
    if isinstance(value, str) or sizes.shape != (n_classes,):
        raise InputError(
            f'`class_prior` must be "labels", "uniform", None or one size for each of the {n_classes} classes; got '
            f"{value!r}."
        )
    total = sizes.sum()
    if not (np.isfinite(total) and total > 0 and (sizes >= 0).all()):
        raise InputError(f"`class_prior` must have finite sizes of at least 0 with a sum above 0; got {value!r}.")
    return np.asarray(sizes / total)
