"""Checks of `GraphLogisticRegression`: its parameters, the hyper-prior that they stand for, and convergence."""

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.errors import InputError
from oneof.kernels import KERNELS
from oneof.messages import warn
from oneof.solvers.graph_logistic.solve import FittedViews
from oneof.validation import check_bool, check_choice, check_positive

_CHOICES = {
    "prior": ("graph", "graph+ridge", "graph+ard"),
    "precision": ("evidence", "em"),
    "solver": ("newton", "block", "sequential"),
    "features": ("raw", "kernel"),
}


def check_parameters(model: Any) -> tuple[float, float]:
    """Return alpha and beta of the hyper-prior; raise InputError if a parameter is not valid, except the graph's."""
    for name, choices in _CHOICES.items():
        check_choice(name, getattr(model, name), choices)
    if not callable(model.kernel):
        check_choice("kernel", model.kernel, tuple(KERNELS), " for kernel features, or a function of rows")
    value = model.coregularization
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "auto")):
        raise InputError(f'`coregularization` must be "auto", True or False; got {value!r}.')
    check_bool("fit_intercept", model.fit_intercept)
    check_positive("max_iter", model.max_iter, integer=True)
    check_positive("tol", model.tol)
    return _hyperprior(model.alpha, model.beta, model.prior, model.precision)


def warn_if_not_converged(fitted: FittedViews) -> None:
    """Warn if the iterations ended before convergence, or the EM algorithm at weights of 0."""
    solution = fitted.solution
    if solution.degenerate:
        warn(
            f'precision="em" ended at weights of 0: {len(fitted.labeled.evidence)} labeled rows are too few for '
            f"{solution.weights.size} weights, since a larger precision gives smaller weights, and these give a "
            'larger precision. Pass precision="evidence", which counts only weights that the labels determine.',
            ConvergenceWarning,
        )
    elif not solution.converged:
        warn(
            f"GraphLogisticRegression did not converge in {solution.n_iter} iterations. Increase max_iter or tol.",
            ConvergenceWarning,
        )


def _hyperprior(alpha: Any, beta: Any, prior: str, precision: str) -> tuple[float, float]:
    """Return alpha and beta of the Gamma hyper-prior, in units of the terms; decision 0017 explains "auto"."""
    strength = 0.0 if precision == "em" else 0.01 if prior == "graph+ard" else 1.0
    values = []
    for name, value, auto in (("alpha", alpha, strength), ("beta", beta, 10.0 * strength)):
        if isinstance(value, str) and value == "auto":
            values.append(auto)
            continue
        check_positive(name, value, allow_zero=True)
        values.append(float(value))
    return values[0], values[1]
