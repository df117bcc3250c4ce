"""Validation of the parameter `class_prior`, the known or estimated class sizes."""

from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.solvers.class_sizes import ClassPrior
from oneof.validation import as_float_array, check_choice


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
    if value is None or isinstance(value, str):
        check_choice("class_prior", value, ("labels", "uniform", None), f" or one size for each of {n_classes} classes")
        return np.full(n_classes, 1.0 / n_classes) if value == "uniform" else value  # type: ignore[return-value]
    sizes = as_float_array(value, "class_prior")
    with np.errstate(over="ignore"):
        total = sizes.sum()
    if sizes.shape != (n_classes,) or not (0 < total < np.inf and (sizes >= 0).all()):
        raise InputError(
            f"`class_prior` must have one size of at least 0 for each of the {n_classes} classes, with a finite sum "
            f"above 0; got {value!r}."
        )
    return np.asarray(sizes / total)
