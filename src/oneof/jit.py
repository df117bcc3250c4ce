"""Compilation of loops by numba: one set of options, and a cache on disk if one can be written."""

from collections.abc import Callable
from typing import Any

from numba import njit

# Sums may be reordered, so that they vectorize; infinities and NaN keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call; later processes read it from numba's cache.

    If no cache folder is writable, as in a read-only installation without a home folder, every process compiles
    again instead of failing. Loops release the interpreter lock.
    """
    try:
        return njit(cache=True, fastmath=FASTMATH, nogil=True)(function)
    except RuntimeError:
        return njit(fastmath=FASTMATH, nogil=True)(function)
