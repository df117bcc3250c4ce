"""Commands whose parameters are groups of options."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the options of its groups as parameters of its own, for typer.

    A parameter whose type is a group (a dataclass) is replaced by one parameter for each field of the group. The
    returned function collects their values in the group again.
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in signature.parameters.values():
        if not is_dataclass(parameter.annotation):
            parameters.append(parameter)
            continue
        groups[parameter.name] = parameter.annotation
        parameters += [
            inspect.Parameter(option.name, parameter.KEYWORD_ONLY, default=option.default, annotation=option.type)
            for option in fields(parameter.annotation)
        ]

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{option.name: options.pop(option.name) for option in fields(group)})
        command(*args, **options)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
