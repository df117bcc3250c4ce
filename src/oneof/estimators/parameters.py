"""Declaration of an estimator by its parameters: constructor, validation and docstring.

The body of the class lists the parameters with their types and defaults. `estimator` adds the constructor, as
`dataclasses.dataclass` does, adds checks of the values by these types, of which `Positive`, `Count` and the other names
below have a range, and completes the docstring.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from oneof.errors import InputError
from oneof.solvers.class_sizes import ClassPrior
from oneof.validation import as_float_array, check_bool, check_choice, check_positive

__all__ = ["KW_ONLY", "Count", "CountOrZero", "Fraction", "NonNegative", "Positive", "PositiveFraction", "estimator"]

Estimator = TypeVar("Estimator", bound=type)

_SECTION = re.compile(r"^(?=[A-Z].*\n-+$)", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


@dataclass(frozen=True)
class Range:
    """Range of a number, for `typing.Annotated`: the options of `check_positive`."""

    integer: bool = False
    allow_zero: bool = False
    max_value: float | None = None


Positive: TypeAlias = Annotated[float, Range()]
NonNegative: TypeAlias = Annotated[float, Range(allow_zero=True)]
Fraction: TypeAlias = Annotated[float, Range(allow_zero=True, max_value=1)]
PositiveFraction: TypeAlias = Annotated[float, Range(max_value=1)]
Count: TypeAlias = Annotated[int, Range(integer=True)]
CountOrZero: TypeAlias = Annotated[int, Range(integer=True, allow_zero=True)]


@dataclass_transform(eq_default=False)
def estimator(cls: Estimator) -> Estimator:
    """Return the class with a constructor of its parameters, and a docstring with what its base classes document.

    A parameter or attribute of several estimators is documented once, in the docstring of a common base class.

    The class is not a dataclass: Dask, for example, reads only the fields of one, not the fitted attributes.
    """
    bases: list[Any] = [base for base in cls.__mro__[1:] if "_declared_fields" in vars(base)]
    for base in bases:
        base.__dataclass_fields__ = base._declared_fields
    declared: Any = dataclass(eq=False, repr=False, match_args=False)(cls)
    declared._declared_fields = declared.__dataclass_fields__
    types = get_type_hints(declared.__init__, include_extras=True)
    names = [field.name for field in fields(declared)]
    declared._checks = {name: _read_type(types[name]) for name in names}
    declared.__init__.__annotations__ = get_type_hints(declared.__init__) | {"return": None}  # without ranges
    for name in set(names) & vars(declared).keys():
        delattr(declared, name)  # the constructor has the defaults
    for one in (declared, *bases):
        del one.__dataclass_fields__
    declared.__doc__ = _complete_docstring(declared)
    return cast(Estimator, declared)


def _read_type(kind: Any) -> tuple[list[str | None], Callable[[str, Any], None] | None]:
    """Return the choices of a parameter by its type, and the check of other values.

    A type is a range, choices, bool or one of these or None. Parameters of other types have no check here.
    """
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    choices += [None] * (NoneType in kinds)
    limits = [get_args(kind)[1] for kind in kinds if get_origin(kind) is Annotated]
    if limits:
        *others, last = ["", *("None" if choice is None else f'"{choice}"' for choice in choices)]
        alternatives = ", ".join(others) + (f" or {last}" if last else "")
        return choices, partial(check_positive, **vars(limits[0]), alternatives=alternatives)
    if all(kind is NoneType or get_origin(kind) is Literal for kind in kinds):
        return choices, partial(check_choice, choices=choices)
    return choices, check_bool if kind is bool else None


def check_class_prior(value: Any, n_classes: int) -> ClassPrior:
    """Return "labels", None, or the proportions of the classes.

    Parameters
    ----------
    value : "labels", "uniform", array-like of shape (n_classes,) or None
    n_classes : int

    Returns
    -------
    "labels", ndarray of shape (n_classes,) or None

    Raises
    ------
    InputError
        If the value is something else, or the sizes are negative, not finite, or all 0.
    """
    if value is None or isinstance(value, str):
        check_choice("class_prior", value, ("labels", "uniform", None), f" or one size for each of {n_classes} classes")
        return np.full(n_classes, 1.0 / n_classes) if value == "uniform" else value  # type: ignore[return-value]
    sizes = as_float_array(value, "class_prior")
    with np.errstate(over="ignore"):
        total = sizes.sum()
    if sizes.shape != (n_classes,) or not (0 < total < np.inf and (sizes >= 0).all()):
        raise InputError(
            f"`class_prior` must have one size of at least 0 for each of the {n_classes} classes, with a finite sum "
            f"above 0; got {value!r}."
        )
    return np.asarray(sizes / total)


def _complete_docstring(cls: type) -> str:
    """Return the docstring with the parameters, in the order of the constructor, and attributes of all classes."""
    summary, *others = _SECTION.split(inspect.cleandoc(cls.__doc__ or ""))
    sections = {text.split("\n", 1)[0]: text for text in others}
    parameters, attributes = (_entries(cls, title) for title in ("Parameters", "Attributes"))
    declared = inspect.signature(cls).parameters.values()
    texts = [_with_default(parameters[own.name], own.default) for own in declared if own.name in parameters]
    sections["Parameters"] = "\n".join(["Parameters\n----------", *dict.fromkeys(texts), "\n"])
    sections["Attributes"] = "\n".join(["Attributes\n----------", *dict.fromkeys(attributes.values()), "\n"])
    order = dict.fromkeys(["Parameters", "Attributes", *sections])
    return summary + "".join(sections[title] for title in order).strip()


def _entries(cls: type, title: str) -> dict[str, str]:
    """Return the entries of a section by their names, first those of the class itself."""
    entries: dict[str, str] = {}
    for base in cls.__mro__:
        sections = _SECTION.split(inspect.cleandoc(vars(base).get("__doc__") or ""))[1:]
        for body in (text.split("\n", 2)[2] for text in sections if text.startswith(f"{title}\n")):
            for entry in _ENTRY.split(body)[1:]:
                for name in entry.split(" :", 1)[0].split(", "):  # "alpha, beta : float"
                    entries.setdefault(name, entry.rstrip())
    return entries


def _with_default(entry: str, default: Any) -> str:
    """Return the entry of a parameter with the default of the class, which may differ from that of its base class."""
    shown = f'"{default}"' if isinstance(default, str) else f"{default!r}".replace("e-0", "e-")
    first, *rest = entry.split("\n", 1)
    return "\n".join([re.sub("default=.*", lambda _: f"default={shown}", first), *rest])
