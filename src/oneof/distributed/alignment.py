"""Arrays where the processor wants them.

What arrives from another process may begin at any byte. NumPy multiplies such arrays by other loops than BLAS's, which
round otherwise and are slower, and numba compiles its own anew: a block would give other last digits on the worker
that was sent it than on the one that made it.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp


def aligned(value: Any) -> Any:
    """Return a value whose arrays begin where their numbers may; only those that do not are copied.

    Looks into tuples, lists, dataclasses and CSR matrices.

    Examples
    --------
    >>> import numpy as np
    >>> crooked = np.zeros(17, dtype=np.uint8)[1:].view(np.float64)
    >>> crooked.flags.aligned, aligned(crooked).flags.aligned
    (False, True)
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy(order="K")
    if sp.issparse(value) and value.format == "csr":
        parts = (value.data, value.indices, value.indptr)
        if all(part.flags.aligned for part in parts):
            return value
        return type(value)(tuple(map(aligned, parts)), shape=value.shape, copy=False)
    if type(value) in (tuple, list):
        return type(value)(map(aligned, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        changed = {name: new for name, old in fields.items() if (new := aligned(old)) is not old}
        return dataclasses.replace(value, **changed) if changed else value
    return value


class OnAligned:
    """A function that is called with what `aligned` makes of its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "call")  # by which the cluster's pages call the task

    def __call__(self, *values: Any) -> Any:
        """Call it."""
        return self.function(*map(aligned, values))
