"""Commands whose parameters are groups of options."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the options of its groups as parameters of its own, for typer.

    A parameter whose type is a group (a dataclass) is replaced by one parameter for each field of the group, of which
    some may be groups again. The returned function collects their values in the group again.
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in signature.parameters.values():
        if not is_dataclass(parameter.annotation):
            parameters.append(parameter)
            continue
        groups[parameter.name] = parameter.annotation
        parameters += _parameters(parameter.annotation)

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        for name, group in groups.items():
            options[name] = _collect(group, options)
        command(*args, **options)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters(group: Any) -> list[inspect.Parameter]:
    """Return one parameter for each option of a group, which is listed under its title in the help."""
    parameters = []
    for option in fields(group):
        annotation: Any = option.type
        if is_dataclass(annotation):
            parameters += _parameters(annotation)
            continue
        if title := getattr(group, "TITLE", None):
            annotation.__metadata__[0].rich_help_panel = title
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(option.name, kind, default=option.default, annotation=annotation))
    return parameters


def _collect(group: Any, options: dict[str, Any]) -> Any:
    """Return a group with its options, which are removed from `options`."""
    return group(
        **{
            option.name: _collect(option.type, options) if is_dataclass(option.type) else options.pop(option.name)
            for option in fields(group)
        }
    )
