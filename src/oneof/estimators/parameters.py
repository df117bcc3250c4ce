"""Declaration of an estimator by its parameters: constructor, validation and docstring.

The body of the class lists the parameters with their types and defaults. `estimator` adds the constructor, as
`dataclasses.dataclass` does, and completes the docstring. `check_parameters` compares the values with the types, of
which `Positive`, `Count` and the other names below have a range.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import cache, partial
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

from oneof.validation import check_bool, check_choice, check_positive

__all__ = ["KW_ONLY", "Count", "CountOrZero", "Fraction", "NonNegative", "Positive", "PositiveFraction", "estimator"]

Declaration: TypeAlias = tuple[str, list[str | None], Callable[[str, Any], None]]
"""Name of a parameter, its choices, and the check of other values."""
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
    declared.__init__.__annotations__ = get_type_hints(declared.__init__) | {"return": None}  # without ranges
    for name in {field.name for field in fields(declared)} & vars(declared).keys():
        delattr(declared, name)  # the constructor has the defaults
    for one in (declared, *bases):
        del one.__dataclass_fields__
    declared.__doc__ = _complete_docstring(declared)
    return cast(Estimator, declared)


def check_parameters(model: Any) -> None:
    """Raise InputError for the first parameter whose value does not have the type of its declaration.

    A type is a range, choices, bool or one of these or None. Parameters of other types are checked by the estimator.
    """
    cls: Any = type(model)
    for name, choices, check in _declarations(cls):
        value = getattr(model, name)
        if not (value is None or isinstance(value, str)) or value not in choices:
            check(name, value)


@cache
def _declarations(cls: Any) -> list[Declaration]:
    """Return names, choices and checks of other values of the parameters with a range, choices or the type bool."""
    declarations: list[Declaration] = []
    names = getattr(cls, "_declared_fields", ())
    types = get_type_hints(cls, include_extras=True) if names else {}
    for name in names:
        kind = types[name]
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
        choices += [None] * (NoneType in kinds)
        limits = [get_args(kind)[1] for kind in kinds if get_origin(kind) is Annotated]
        if limits:
            *others, last = ["", *("None" if choice is None else f'"{choice}"' for choice in choices)]
            alternatives = ", ".join(others) + (f" or {last}" if last else "")
            declarations.append((name, choices, partial(check_positive, **vars(limits[0]), alternatives=alternatives)))
        elif all(kind is NoneType or get_origin(kind) is Literal for kind in kinds):
            declarations.append((name, choices, partial(check_choice, choices=choices)))
        elif kind is bool:
            declarations.append((name, choices, check_bool))
    return declarations


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
