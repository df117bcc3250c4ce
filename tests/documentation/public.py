"""The public names of oneof, found as a user finds them: by `dir` and `__all__`."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import oneof

# `oneof.compare` is a function; its package has other public names.
ROOMS = (*oneof._SUBMODULES, "comparison")
OF_SCIKIT_LEARN = {"get_metadata_routing", "set_score_request", "set_fit_request", "set_partial_fit_request"}


class Public(NamedTuple):
    """A public object, and the dotted name that users know it by."""

    name: str
    value: Any


def names() -> list[Public]:
    """Return every public name: of the package, and of each room what its `__all__` says or what is made in it."""
    found = [Public(f"oneof.{name}", getattr(oneof, name)) for name in oneof._LAZY_NAMES if name != "compare"]
    for room in ROOMS:
        module = importlib.import_module(f"oneof.{room}")
        listed = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items() if not name.startswith("_") and _made_in(value, module)
        ]
        found += [Public(f"oneof.{room}.{name}", getattr(module, name)) for name in listed]
    return found


def methods(owner: Public) -> Iterator[Public]:
    """Return the public methods that are our own; none of what is no class."""
    if not inspect.isclass(owner.value):
        return
    for name, value in inspect.getmembers(owner.value, callable):
        ours = (getattr(inspect.unwrap(value), "__module__", "") or "").startswith("oneof")
        if not name.startswith("_") and ours and name not in OF_SCIKIT_LEARN:
            yield Public(f"{owner.name}.{name}", value)


def _made_in(value: Any, module: Any) -> bool:
    return callable(value) and getattr(value, "__module__", "") == module.__name__
