"""Pieces that calls of public functions are drawn from."""

import functools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oneof import PLKNN, AvgPerceptron, GraphLogisticRegression
from tests.estimators.panel import table
from tests.fuzz.labels import NAMES
from tests.fuzz.parameters import INVALID
from tests.fuzz.rows import ODD_OBJECTS

Case = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""A function, and what it is called with."""

ROWS = st.integers(0, 8)
SCALARS = st.sampled_from([*INVALID, *ODD_OBJECTS])


@st.composite
def either(draw: st.DrawFn, plain: Any, odd: Any = SCALARS, share: int = 8) -> Any:
    """Draw a plain value, and once in a while an odd one."""
    return draw(odd) if draw(st.integers(0, share)) == share else draw(plain)


@st.composite
def optional(draw: st.DrawFn, **drawn: Any) -> dict[str, Any]:
    """Draw some of the named arguments."""
    return {name: draw(values) for name, values in drawn.items() if draw(st.integers(0, 2)) == 2}


def just(value: Any) -> Any:
    """Draw a value that hypothesis need not hash, as `st.just` does."""
    return st.builds(lambda: value)


def several(lowest: int, highest: int) -> Any:
    return either(st.integers(lowest, highest))


CLASSES = either(
    st.sampled_from([NAMES, NAMES[:2], [0, 1, 2, 3], range(3), ["ant", "ant"], [None, 1], ["k0", "k1", "k2"]])
)
SEEDS = either(st.sampled_from([0, 1, None, np.random.default_rng(0), np.random.RandomState(0)]))


@functools.cache
def fitted(name: str) -> Any:
    """Return an estimator that is fitted, once for all."""
    X, mask = table(20, d=2)
    if name == "graph":
        return GraphLogisticRegression().fit(X, mask)
    return (PLKNN() if name == "votes" else AvgPerceptron()).fit(X, mask)
