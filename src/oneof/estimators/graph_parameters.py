"""Parameters of graph-prior logistic regression: which are possible, and the hyper-prior that stands for "auto"."""

from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.kernels.svc import KERNELS
from oneof.validation import check_bool, check_choice, check_positive

CHOICES = {
    "prior": ("graph", "graph+ridge", "graph+ard"),
    "precision": ("evidence", "em"),
    "solver": ("newton", "block", "sequential"),
    "features": ("raw", "kernel"),
}


def check_choices(estimator: Any) -> None:
    """Raise where a parameter is not possible, but those of the graph."""
    for name, choices in CHOICES.items():
        check_choice(name, getattr(estimator, name), choices)
    kernel = estimator.kernel
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
        names = ", ".join(KERNELS)
        raise InputError(
            f"kernel={kernel!r} is not possible for kernel features: choose one of {names}, or a function of rows."
        )
    value = estimator.agreement
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "auto")):
        raise InputError(f'`agreement` must be "auto", True or False; got {value!r}.')
    check_bool("per_class", estimator.per_class)
    check_bool("fit_intercept", estimator.fit_intercept)
    check_positive("max_iter", estimator.max_iter, integer=True)
    check_positive("tol", estimator.tol)


def hyper_prior(alpha: Any, beta: Any, prior: str, precision: str) -> tuple[float, float]:
    """Return the Gamma hyper-prior of the precisions, in units of their terms: see decision 0017 for "auto"."""
    strength = 0.0 if precision == "em" else 0.01 if prior == "graph+ard" else 1.0
    found = []
    for name, value, auto in (("alpha", alpha, strength), ("beta", beta, 10.0 * strength)):
        if isinstance(value, str) and value == "auto":
            found.append(auto)
            continue
        check_positive(name, value, allow_zero=True)
        found.append(float(value))
    return found[0], found[1]
