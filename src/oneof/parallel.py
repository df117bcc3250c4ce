"""Work that falls into independent parts, on as many threads as there are cores for it.

The number of threads is that which BLAS would take here: one in the workers of joblib and dask, which set it so, and in
a process that was told ``OMP_NUM_THREADS=1``. While the parts run each has one thread of BLAS, so that no core is asked
for twice, and a part's result is the same whether others run beside it or not.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return what a function makes of each item, in their order.

    It pays where the function leaves Python for long: NumPy's arithmetic on large arrays, BLAS, LAPACK, scipy's
    distances and this library's compiled loops all release the interpreter's lock.
    """
    n_threads = min(n_available_threads(), len(items))
    with single_threaded_blas():
        if n_threads < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(function, items))


def n_available_threads() -> int:
    """Return the number of threads that work here may take."""
    allowed = [library["num_threads"] for library in _blas().info()]
    return max(1, min([cpu_count(), *allowed]))


def single_threaded_blas() -> AbstractContextManager[None]:
    """Return a context in which each call of BLAS takes one thread; several threads may be within it at once."""
    return _ONE_EACH


def limit_openmp_after_fork() -> None:
    """Let OpenMP take one thread in a process that was forked; to be called just before its loops.

    GNU's OpenMP, which scikit-learn's neighbors run on, does not survive a fork once it has had several threads: the
    child waits for ever for those of its parent. With one thread it asks for none.
    """
    if _forked:
        ThreadpoolController().select(user_api="openmp").limit(limits=1)


_forked = False


def _note_fork() -> None:
    global _forked  # noqa: PLW0603 - a fact of the process
    _forked = True


os.register_at_fork(after_in_child=_note_fork)


class _BlasLimiter(AbstractContextManager[None]):
    """The limit is the whole process's: the first to come sets it, and the last to go takes it away.

    Were each to restore what it found, one that came second and went last would leave the process with one thread.
    """

    def __init__(self) -> None:
        self._inside = 0
        self._own = threading.local()  # how often this thread is inside
        self._limits: Any = None
        self._lock = threading.Lock()
        # A child has but the thread that forked: the others will never go, nor open a lock that they held.
        os.register_at_fork(after_in_child=self._renew)

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                with _claim_openblas():
                    self._limits = _blas().limit(limits=1)
            self._inside += 1
            self._own.times = getattr(self._own, "times", 0) + 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            self._own.times -= 1
            if not self._inside:
                self._restore()

    def _renew(self) -> None:
        self._lock = threading.Lock()
        left, self._inside = self._inside, getattr(self._own, "times", 0)
        if left and not self._inside:
            self._restore()

    def _restore(self) -> None:
        with _claim_openblas():
            self._limits.restore_original_limits()


_ONE_EACH = _BlasLimiter()


@contextmanager
def _claim_openblas() -> Iterator[None]:
    """Let this thread set the limits of OpenBLAS.

    Since 3.8 threadpoolctl heeds the first thread that did, as long as that one lives, and no other, silently.
    """
    anyone = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    anyone(force=True)
    try:
        yield
    finally:
        anyone(force=True)


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - brings its own BLAS, which must be there to be found

    return ThreadpoolController().select(user_api="blas")
