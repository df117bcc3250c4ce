"""How loops are compiled: one set of options for all, and a cache where one can be kept."""

from collections.abc import Callable
from typing import Any

from numba import njit

# Sums may be reordered, so that they vectorize; infinities and NaN keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call; later processes read it from numba's cache.

    Where no folder for the cache can be written (a read-only installation without a home, say), every process compiles
    anew instead of failing. Loops release the interpreter lock.
    """
    try:
        return njit(cache=True, fastmath=FASTMATH, nogil=True)(function)
    except RuntimeError:
        return njit(fastmath=FASTMATH, nogil=True)(function)
