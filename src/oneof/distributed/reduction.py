"""Tasks over blocks of rows, and sums over them in an order that does not depend on the speed of any worker.

The results of the blocks are added in groups of eight, and these sums again, in the order of the blocks. The sum
therefore does not depend on the order in which workers finish, and no worker receives more than eight messages at a
time. Values that all blocks need are stored once in the graph itself, on the scheduler: a lost worker loses nothing
that cannot be computed again.

Arrays that arrive from another process may start at any byte. NumPy multiplies unaligned arrays by other loops than
those of BLAS, which round differently and are slower, and numba compiles its functions again. The last digits of a
block would then differ between the worker that received it and the worker that created it. Therefore every task aligns
its arguments first.
"""

import dataclasses
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.parallel import single_threaded_blas

GROUP_SIZE = 8
"""Number of messages that one task adds."""


def aligned(value: Any) -> Any:
    """Return a value whose arrays are aligned in memory; only unaligned arrays are copied.

    Tuples, lists, dataclasses and CSR matrices are searched for arrays.

    Examples
    --------
    >>> import numpy as np
    >>> unaligned = np.zeros(17, dtype=np.uint8)[1:].view(np.float64)
    >>> unaligned.flags.aligned, aligned(unaligned).flags.aligned
    (False, True)
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy(order="K")
    if sp.issparse(value) and value.format == "csr":
        arrays = (value.data, value.indices, value.indptr)
        if all(array.flags.aligned for array in arrays):
            return value
        return type(value)(tuple(map(aligned, arrays)), shape=value.shape, copy=False)
    if type(value) in (tuple, list):
        return type(value)(map(aligned, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        changed = {name: new for name, old in fields.items() if (new := aligned(old)) is not old}
        return dataclasses.replace(value, **changed) if changed else value
    return value


class AlignedCall:
    """A function that is called with aligned arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "call")  # shown on the dashboard of the cluster

    def __call__(self, *values: Any) -> Any:
        """Call the function."""
        return self.function(*map(aligned, values))


def delayed_task(function: Callable[..., Any], *values: Any, nout: int | None = None) -> Any:
    """Return the call of a function as a node of the graph; with `nout`, as that many nodes."""
    from dask import delayed

    return delayed(AlignedCall(function), nout=nout)(*values)


def shared(value: Any) -> Any:
    """Return a value as one node of the graph, for any number of tasks."""
    from dask import delayed

    return delayed(value, traverse=False)


def tree_sum(messages: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Return the delayed sum of delayed messages."""
    level = list(messages)
    while len(level) > 1:
        groups = [level[start : start + GROUP_SIZE] for start in range(0, len(level), GROUP_SIZE)]
        level = [delayed_task(_add_all, add, group) for group in groups]
    return level[0]


def map_reduce(
    blocks: Sequence[Any], function: Callable[..., Any], *values: Any, add: Callable[[Any, Any], Any] = operator.add
) -> Any:
    """Return the sum of the results of a function on each block and the shared values."""
    common = [shared(value) for value in values]
    return compute(tree_sum([delayed_task(function, block, *common) for block in blocks], add))


def map_persist(blocks: Sequence[Any], function: Callable[..., Any], *values: Any) -> list[Any]:
    """Return the results of a function on each block and the shared values, which stay on the workers."""
    common = [shared(value) for value in values]
    return persist([delayed_task(function, block, *common) for block in blocks])


def _add_all(add: Callable[[Any, Any], Any], messages: list[Any]) -> Any:
    return reduce(add, messages)


def compute(*values: Any) -> Any:
    """Return the results of delayed values, or of lists of them."""
    import dask

    with _dask_settings():
        result = dask.compute(*values)
    return result[0] if len(values) == 1 else result


def persist(values: Sequence[Any]) -> list[Any]:
    """Start the computation of delayed values, and return references to their results on the workers."""
    import dask

    with _dask_settings():
        return list(dask.persist(*values))


@contextmanager
def _dask_settings() -> Iterator[None]:
    """Suppress the warning of large graphs, and limit BLAS to one thread for each of dask's threads."""
    import dask

    settings = {"distributed.admin.large-graph-warning-threshold": "1GB"}
    with dask.config.set(settings), single_threaded_blas():
        yield
