"""Sums over blocks, in an order that no worker's speed changes.

The blocks' messages are added in groups of eight, and these again, in the order of the blocks: equal numbers whichever
worker answers first, and no machine takes in more than eight messages at a time. Numbers that all blocks need lie in
the graph itself, once, where the scheduler keeps them: a worker that is lost takes nothing with it that cannot be
worked out again.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

from oneof.distributed.alignment import OnAligned
from oneof.parallel import single_threaded_blas

LARGEST_HESSIAN = 512
"""Most weights for which the whole Hessian is summed (2 MB), where there is one."""
GROUP = 8
"""Messages that are added in one go."""


def task(function: Callable[..., Any], *values: Any, nout: int | None = None) -> Any:
    """Return the call of a function as a node of the graph; with `nout`, as that many."""
    from dask import delayed

    return delayed(OnAligned(function), nout=nout)(*values)


def shared(value: Any) -> Any:
    """Return a value as one node of the graph, however many tasks take it."""
    from dask import delayed

    return delayed(value, traverse=False)


def summed(messages: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Return the delayed sum of delayed messages."""
    level = list(messages)
    while len(level) > 1:
        groups = [level[start : start + GROUP] for start in range(0, len(level), GROUP)]
        level = [task(_add_all, add, group) for group in groups]
    return level[0]


def sum_over(
    parts: Sequence[Any], function: Callable[..., Any], *values: Any, add: Callable[[Any, Any], Any] = operator.add
) -> Any:
    """Return the sum of what a function makes of each part and of values that all share."""
    common = [shared(value) for value in values]
    return compute(summed([task(function, part, *common) for part in parts], add))


def each_held(parts: Sequence[Any], function: Callable[..., Any], *values: Any) -> list[Any]:
    """Return what a function makes of each part and of values that all share, kept by the workers."""
    common = [shared(value) for value in values]
    return persist([task(function, part, *common) for part in parts])


def _add_all(add: Callable[[Any, Any], Any], messages: list[Any]) -> Any:
    return reduce(add, messages)


def compute(*values: Any) -> Any:
    """Return what delayed values come to, or lists of them."""
    import dask

    with _quietly():
        found = dask.compute(*values)
    return found[0] if len(values) == 1 else found


def persist(values: Sequence[Any]) -> list[Any]:
    """Start to work out delayed values, and return them as what the workers will hold."""
    import dask

    with _quietly():
        return list(dask.persist(*values))


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep graphs that hold weights from being warned of, and threads of one process from taking each other's cores."""
    import dask

    settings = {"distributed.admin.large-graph-warning-threshold": "1GB"}
    with dask.config.set(settings), single_threaded_blas():
        yield
