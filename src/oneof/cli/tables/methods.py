"""Selection of the methods of a command, as pipelines that begin with the features of the table."""

import contextlib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from oneof.cli.tables.inputs import PreparedTable
from oneof.comparison import methods
from oneof.comparison.folds import Task, has_class_weights
from oneof.errors import InputError
from oneof.io import make_encoder


def resolve_methods(
    prepared: PreparedTable, method: str, seed: int, class_weight: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the requested methods as pipelines from the table's features, and notes on excluded methods.

    "best" requests all methods except slow ones, and with class weights those that have weights. A method may have
    parameters, see `split_method`.
    """
    encoder = (
        None if prepared.table.rows is not None else make_encoder(prepared.columns, prepared.read_options.text_options)
    )
    encoded = prepared.frame if encoder is None else encoder.fit_transform(prepared.frame)
    if encoder is not None:  # the folds have other words, and the same scaler
        encoder.set_params(sparse_output=sp.issparse(encoded))
    n_features = encoded.shape[1]
    estimators = methods.estimators_for(Task(encoded, prepared.candidates, None), seed)
    names, notes = _select_names(method, estimators, n_features, class_weight)
    # The steps of a method that is a pipeline are inserted one by one, since `pipeline[-1]` must be the estimator. The
    # encoder has scaled sparse features: a second scaler would give rare words the same weight as frequent ones. It has
    # also standardized numbers.
    is_standardized = all(column.kind in ("number", "date", "duration") for column in prepared.columns)
    pipelines = {}
    for name in names:
        steps = list(getattr(estimators[name], "steps", None) or [("method", estimators[name])])
        if encoder is not None and sp.issparse(encoded):
            steps = steps[-1:]
        elif encoder is not None and is_standardized:
            steps = [step for step in steps if not isinstance(step[1], StandardScaler)]
        pipelines[name] = Pipeline(steps if encoder is None else [("columns", encoder), *steps])
    return pipelines, notes


def _select_names(
    method: str, estimators: Mapping[str, Any], n_features: int, class_weight: str | None
) -> tuple[list[str], list[str]]:
    """Return the names of the requested methods, whose parameters are set, and notes on excluded methods."""
    method, parameters = split_method(method)
    weighted = [name for name in estimators if class_weight is None or has_class_weights(estimators[name])]
    if method.lower() != "best":
        name = _match_name(method, estimators)
        set_parameters(estimators[name], parameters)
        if name not in weighted:
            raise InputError(
                f"--class-weight {class_weight} needs a method with class weights; {name} has none. Choose "
                f"--method {', '.join(weighted[:-1])} or {weighted[-1]}, or best, which compares them."
            )
        return [name], []
    names = list(methods.auto_methods(estimators, n_features))
    notes = [
        f"{name} is not compared: it is slow with {n_features:,} features; --method {name} fits it."
        for name in methods.excluded_from_auto(n_features)
    ]
    if without := [name for name in names if name not in weighted]:
        notes.append(f"methods without class weights are not compared: {', '.join(without)}.")
    return [name for name in names if name in weighted], notes


def split_method(method: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a method such as "LOORidge:distractors=cooccurring,kernel=rbf", and its parameters.

    Values are numbers, true, false and none, or text.
    """
    name, colon, text = method.partition(":")
    if not colon:
        return method, {}
    parameters = {}
    for entry in text.split(","):
        parameter, equals, value = (part.strip() for part in entry.partition("="))
        if not (parameter and equals and value):
            raise InputError(
                f"--method must be a name, or a name with parameters such as LOORidge:distractors=cooccurring; got "
                f"{method!r}."
            )
        if parameter in parameters:
            raise InputError(f"--method must have each parameter once; got {parameter} twice.")
        parameters[parameter] = _read_value(value)
    if name.strip().lower() in ("auto", "best"):
        raise InputError(f"--method {name.strip()} has no parameters. Name a method, such as LOORidge:{text}.")
    return name.strip(), parameters


def _read_value(text: str) -> Any:
    """Return a whole number, another number, a constant, or the text."""
    constants = {"none": None, "true": True, "false": False}
    if text.lower() in constants:
        return constants[text.lower()]
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    return text


def set_parameters(method: Any, parameters: Mapping[str, Any]) -> None:
    """Set parameters of an estimator, or of the last step of a pipeline; the values are checked by its fit."""
    estimator = method.steps[-1][1] if hasattr(method, "steps") else method
    known = estimator.get_params()
    for name, value in parameters.items():
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise InputError(
                f"{type(estimator).__name__} has no parameter {name!r}: {hint}Its parameters are {', '.join(known)}."
            )
        estimator.set_params(**{name: value})


def _match_name(method: str, estimators: Mapping[str, Any]) -> str:
    """Return the name of the method, compared without case."""
    by_lower = {name.lower(): name for name in estimators}
    if method.lower() not in by_lower:
        close = get_close_matches(method.lower(), by_lower, n=1)
        hint = f" Did you mean {by_lower[close[0]]}?" if close else ""
        raise InputError(f"unknown method {method!r}.{hint} The methods are auto, best, {', '.join(estimators)}.")
    return by_lower[method.lower()]
