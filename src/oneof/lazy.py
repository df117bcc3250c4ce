"""Names of a package that are imported on first use, as its stub file `__init__.pyi` lists them; optional packages."""

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oneof.errors import MissingExtraError


def read_stub(package: str) -> dict[str, str]:
    """Return the names that the stub of a package imports, and the module of each; that of a submodule is its package.

    Parameters
    ----------
    package : str
        ``__name__`` of the package, whose loader may read from a zip file.
    """
    module: Any = sys.modules[package]
    text = module.__spec__.loader.get_data(str(Path(module.__file__).with_suffix(".pyi"))).decode()
    return {name: source for source, name in re.findall(r"^from (\S+) import (\w+)", text, re.MULTILINE)}


def import_on_use(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    modules : mapping of str to str
        See `read_stub`.
    """

    def import_name(name: str) -> Any:
        if name == "__version__":
            value: Any = importlib.import_module("importlib.metadata").version(package)
        elif name not in modules:
            # With name and obj Python itself asks "Did you mean ...?"
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        elif modules[name] == package:
            value = importlib.import_module(f"{package}.{name}")
        else:
            value = getattr(importlib.import_module(modules[name]), name)
        vars(sys.modules[package])[name] = value
        return value

    return import_name, lambda: sorted([*modules, *["__version__"] * ("." not in package)])


def import_extra(name: str, extra: str | None = None) -> Any:
    """Return a module of an optional dependency; see `MissingExtraError` for the parameters."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(name.partition(".")[0], extra) from error
