"""Strategies for the arguments of public functions.

In a third of the cases all arguments are valid, apart from the scale of the rows; in the others, each argument is
invalid with probability 1/3. With more invalid arguments most calls would end at their first check, and the code after
it would not be tested.
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from hypothesis import strategies as st

import oneof
from oneof import CLPL, PLKNN, AvgPerceptron, GraphLogisticRegression
from oneof.candidates import as_candidates
from oneof.errors import OneofError
from tests.estimators.panel import table
from tests.fuzz.labels import FORMS, NAMED_FORMS, NAMES, in_words, supervision
from tests.fuzz.parameters import INVALID, NUMBERS
from tests.fuzz.rows import ODD_OBJECTS, tables

Case = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""A function with its positional and keyword arguments."""


@dataclass(frozen=True)
class Family:
    """A kind of cases: their strategy, their relative number, and the public names that they call."""

    drawn: Callable[[], st.SearchStrategy[Case]]
    share: float
    calls: tuple[Any, ...]


FAMILIES: dict[str, Family] = {}
"""Families of fuzzed calls, except those of the estimators, which `calls` fills."""


def family(share: float, names: str = "") -> Callable[[Any], Any]:
    """Register the strategy of a family by its name, with the public names of oneof that it calls."""

    def register(drawn: Any) -> Any:
        calls = tuple(attrgetter(name)(oneof) for name in names.split())
        FAMILIES[drawn.__name__] = Family(composite(drawn, calls), share, calls)
        return drawn

    return register


class Draw:
    """The function that draws a value of a strategy, with shortcuts; `calls` are the public names of the family."""

    def __init__(self, draw: st.DrawFn, calls: tuple[Any, ...] = ()) -> None:
        self._draw, self.calls = draw, calls

    def __call__(self, strategy: Any) -> Any:
        return self._draw(strategy)

    def pick(self, *values: Any) -> Any:
        """Draw one of the values."""
        return self._draw(st.sampled_from(values))

    def some(self, **strategies: Any) -> dict[str, Any]:
        """Draw a subset of the keyword arguments."""
        return {name: self._draw(values) for name, values in strategies.items() if self._draw(st.integers(0, 2)) == 2}

    def options(self, function: Any, **own: Any) -> dict[str, Any]:
        """Draw a subset of the optional arguments of a function: as given, or by their name or type; none if None."""
        declared = [one for one in inspect.signature(function).parameters.values() if one.default is not one.empty]
        known = {one.name: BY_NAME.get(one.name, by_type(one.annotation)) for one in declared}
        return self.some(**{name: values for name, values in (known | own).items() if values is not None})


def composite(drawn: Any, calls: tuple[Any, ...] = ()) -> Any:
    """Return the strategy of a function that draws by `Draw`."""

    @functools.wraps(drawn)
    def draw_case(draw: st.DrawFn, *args: Any, **named: Any) -> Any:
        return drawn(Draw(draw, calls), *args, **named)

    return st.composite(draw_case)


CORRUPTED = st.shared(st.sampled_from((False, True, True)), key="corrupted")
"""Whether a case may contain invalid arguments; drawn once for each case."""
SCALARS = st.sampled_from([*INVALID, *ODD_OBJECTS])


@st.composite
def either(draw: st.DrawFn, plain: Any, odd: Any = SCALARS, share: int = 2) -> Any:
    """Draw a valid value, and sometimes an invalid one in a corrupted case."""
    return draw(odd) if draw(CORRUPTED) and draw(st.integers(0, share)) == share else draw(plain)


def of(*plain: Any, odd: Any = SCALARS, share: int = 2) -> Any:
    """Draw one of the valid values, and sometimes an invalid one in a corrupted case."""
    return either(st.sampled_from(plain), odd, share)


def just(value: Any) -> Any:
    """Draw a constant value, which, unlike in `st.just`, need not be hashable."""
    return st.builds(lambda: value)


def several(lowest: int, highest: int) -> Any:
    return either(st.integers(lowest, highest))


def by_type(declared: Any) -> Any:
    """Return small values of an argument with the type bool, int, float or Literal, or a union; None for others."""
    kinds = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
    values = {bool: (True, False), int: (1, 2, 3), float: (0.1, 0.5, 0.9), NoneType: (None,)}
    choices = [
        one for kind in kinds for one in (get_args(kind) if get_origin(kind) is Literal else values.get(kind, ()))
    ]
    return (
        of(*choices, odd=st.one_of(SCALARS, st.sampled_from(NUMBERS)))
        if any(one is not None for one in choices)
        else None
    )


ROWS = either(st.integers(4, 10), st.integers(0, 3))
SEEDS = either(st.sampled_from([0, 1, None, np.random.default_rng(0), np.random.RandomState(0)]))
BY_NAME = {"random_state": SEEDS, "n_jobs": several(1, 1), "separator": of("|", ";", "::", " "), "tol": of(*NUMBERS)}
"""Optional arguments that have the same values in every function."""
ODD_CLASSES = st.one_of(
    SCALARS,
    st.sampled_from([NAMES, NAMES[:2], [0, 1, 2, 3], range(3), ["ant", "ant"], [None, 1], ["k0", "k1", "k2"]]),
)


@st.composite
def features(draw: st.DrawFn, n: int, d: int, *, below_zero: bool = True) -> Any:
    """Draw a table that fits the other arguments; one in five may contain any number of any type."""
    valid = tables(n, d, odd=draw(st.integers(0, 4)) == 4, below_zero=below_zero)
    return draw(either(valid, st.one_of(tables(n, d + 1), tables(n + 1, d), tables(n, d), SCALARS)))


@st.composite
def sets(draw: st.DrawFn, n: int, K: int, forms: tuple[str, ...] = FORMS) -> Any:
    """Draw the labels of n rows; in a corrupted case possibly invalid or of an unsupported form."""
    odd = st.one_of(supervision(n, K, one_in=1), supervision(n, K, one_in=0))
    return draw(either(supervision(n, K, one_in=0, forms=forms), odd))


@st.composite
def exact(draw: st.DrawFn, n: int, K: int) -> Any:
    """Draw one label for each row; all classes occur if there are enough rows."""
    truth = np.arange(n) % K
    return in_words(draw(st.sampled_from(NAMED_FORMS)), np.eye(K, dtype=bool)[truth], truth)


@st.composite
def classes_of(draw: st.DrawFn, y: Any) -> Any:
    """Draw the classes of y, as oneof reads them."""
    classes: Any = NAMES
    if not hasattr(y, "__next__"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                classes = as_candidates(y).classes
            except OneofError:
                classes = NAMES
    return draw(either(st.sampled_from([list(classes), tuple(classes)]), ODD_CLASSES))


@functools.cache
def fitted(name: str) -> Any:
    """Return an estimator fitted to 2 features and 3 classes; it is cached."""
    X, mask = table(20, d=2)
    kinds = {"graph": GraphLogisticRegression, "votes": PLKNN, "online": AvgPerceptron, "convex": CLPL}
    return kinds[name]().fit(X, mask)
