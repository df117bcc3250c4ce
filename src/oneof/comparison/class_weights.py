"""Weights of classes in the fits of a comparison, by the weights of rows or a parameter of the method."""

from collections.abc import Mapping
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.estimators.base import last_step
from oneof.messages import enumerate_items
from oneof.model_selection import compute_sample_weight


def has_class_weights(estimator: Any) -> bool:
    """Return whether a method, or the last step of a pipeline, has weights of rows in `fit`, or of classes."""
    method = last_step(estimator)
    return has_fit_parameter(method, "sample_weight") or "class_weight" in _params(method)


def check_class_weights(class_weight: Any, estimators: Mapping[str, Any], candidates: CandidateSets) -> None:
    """Raise if the weights are invalid, or a method has none; None is valid."""
    if class_weight is None:
        return
    compute_sample_weight(class_weight, candidates)
    without = [name for name, estimator in estimators.items() if not has_class_weights(estimator)]
    if without:
        raise InputError(
            f"`class_weight` must be None for methods without weights of rows or classes: {enumerate_items(without)}; "
            f'got {class_weight!r}. Omit it, or compare other methods, such as methods="auto", which selects those '
            "with weights."
        )


def fit_with_class_weights(estimator: Any, X: Any, candidates: CandidateSets, class_weight: Any) -> Any:
    """Fit an estimator, whose last step gets weights of the rows; without such weights its `class_weight` is set."""
    if class_weight is None:
        return estimator.fit(X, candidates)
    method = last_step(estimator)
    if not has_fit_parameter(method, "sample_weight"):
        method.set_params(class_weight=class_weight)
        return estimator.fit(X, candidates)
    prefix, step = "", estimator
    while isinstance(step, Pipeline):
        prefix, step = f"{prefix}{step.steps[-1][0]}__", step.steps[-1][1]
    return estimator.fit(X, candidates, **{f"{prefix}sample_weight": compute_sample_weight(class_weight, candidates)})


def _params(method: Any) -> Mapping[str, Any]:
    return method.get_params(deep=False) if hasattr(method, "get_params") else {}
