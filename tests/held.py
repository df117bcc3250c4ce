"""What an object holds: every array that can be reached from it."""

import gc
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

_SHARED = (type, ModuleType, FunctionType)
"""What is not the object's own."""


def arrays_of(root: Any) -> Iterator[np.ndarray]:
    """Yield each array that can be reached from an object, once; of a view, the array whose memory it shows."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, _SHARED):
            continue
        seen.add(id(found))
        if isinstance(found, np.ndarray):
            if isinstance(found.base, np.ndarray):
                waiting.append(found.base)
                continue
            yield found
        waiting.extend(gc.get_referents(found))


def bytes_beyond(root: Any, *given: np.ndarray) -> int:
    """Return the bytes of the arrays that an object holds and that are no part of those given."""
    return sum(
        array.nbytes for array in arrays_of(root) if not any(np.may_share_memory(array, theirs) for theirs in given)
    )
