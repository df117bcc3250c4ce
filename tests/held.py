"""Memory of an object: every array that is reachable from it."""

import gc
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

_SHARED = (type, ModuleType, FunctionType)
"""Types that are not part of the object."""


def arrays_of(root: Any) -> Iterator[np.ndarray]:
    """Yield each array that is reachable from an object once; for a view, its base."""
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
    """Return the bytes of the arrays that an object retains, without those of the given arrays."""
    return sum(
        array.nbytes for array in arrays_of(root) if not any(np.may_share_memory(array, theirs) for theirs in given)
    )
