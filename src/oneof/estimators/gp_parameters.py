"""What the parameters of PLGP may be."""

from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.validation import check_bool, check_choice, check_positive


def check_parameters(model: Any) -> None:
    """Raise InputError for the first parameter of a PLGP that cannot be, but for its kernel."""
    for name in ("n_components", "n_mc_samples", "max_iter"):
        check_positive(name, getattr(model, name), integer=True)
    check_positive("n_restarts_optimizer", model.n_restarts_optimizer, integer=True, allow_zero=True)
    check_positive("tol", model.tol)
    if model.optimizer_max_samples is not None:
        check_positive("optimizer_max_samples", model.optimizer_max_samples, integer=True)
    if not (isinstance(model.sharpness, float) and model.sharpness == np.inf):
        check_positive("sharpness", model.sharpness)
    if not (isinstance(model.temperature, str) and model.temperature == "loo"):
        check_positive("temperature", model.temperature)
    check_bool("anneal", model.anneal)
    check_choice("solver", model.solver, ("cg", "cholesky"))
    check_choice("approximation", model.approximation, (None, "nystroem"))
    if model.approximation and model.solver == "cholesky":
        raise InputError('solver="cholesky" takes the kernel as it is: pass approximation=None, or solver="cg".')
    known = isinstance(model.optimizer, str) and model.optimizer == "fmin_l_bfgs_b"
    if not (model.optimizer is None or known or callable(model.optimizer)):
        raise InputError(f'`optimizer` must be "fmin_l_bfgs_b", a function or None; got {model.optimizer!r}.')
