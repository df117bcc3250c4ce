"""The public names of oneof, collected from `dir` and `__all__`."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import oneof

# `oneof.compare` is a function; its package has other public names.
MODULES = (*oneof._SUBMODULES, "comparison")
OF_SCIKIT_LEARN = {"get_metadata_routing", "set_score_request", "set_fit_request", "set_partial_fit_request"}


class Public(NamedTuple):
    """A public object with its dotted name."""

    name: str
    value: Any


def names() -> list[Public]:
    """Return every public name of the package and of its public modules."""
    names = [Public(f"oneof.{name}", getattr(oneof, name)) for name in oneof._LAZY_NAMES if name != "compare"]
    for module_name in MODULES:
        module = importlib.import_module(f"oneof.{module_name}")
        public = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items() if not name.startswith("_") and _is_defined_in(value, module)
        ]
        names += [Public(f"oneof.{module_name}.{name}", getattr(module, name)) for name in public]
    return names


def methods(owner: Public) -> Iterator[Public]:
    """Yield the public methods of a class that oneof defines."""
    if not inspect.isclass(owner.value):
        return
    for name, value in inspect.getmembers(owner.value, callable):
        is_own = (getattr(inspect.unwrap(value), "__module__", "") or "").startswith("oneof")
        if not name.startswith("_") and is_own and name not in OF_SCIKIT_LEARN:
            yield Public(f"{owner.name}.{name}", value)


def _is_defined_in(value: Any, module: Any) -> bool:
    return callable(value) and getattr(value, "__module__", "") == module.__name__
