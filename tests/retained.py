"""The arrays that an object retains, every array that is reachable from it, and the memory of a call."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

_SHARED = (type, ModuleType, FunctionType)
"""Types that are shared with other objects."""


def arrays_of(root: Any) -> Iterator[np.ndarray]:
    """Yield each array that is reachable from an object, once; for a view, the array with its memory."""
    seen: set[int] = set()
    queue = [root]
    while queue:
        item = queue.pop()
        if id(item) in seen or isinstance(item, _SHARED):
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            if isinstance(item.base, np.ndarray):
                queue.append(item.base)
                continue
            yield item
        queue.extend(gc.get_referents(item))


def bytes_beyond(root: Any, *excluded: np.ndarray) -> int:
    """Return the bytes of the retained arrays that do not share memory with the given ones."""
    return sum(
        array.nbytes for array in arrays_of(root) if not any(np.may_share_memory(array, other) for other in excluded)
    )


def peak_bytes(call: Callable[[], Any]) -> tuple[int, Any]:
    """Return the largest number of bytes that a call has allocated at once, and its result."""
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()
