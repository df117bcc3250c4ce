"""Independent tasks on several threads, and the thread limits of BLAS and OpenMP.

The number of threads is the one that BLAS would use: one in the workers of joblib and Dask, which set this, and in a
process with ``OMP_NUM_THREADS=1``. Each task has one BLAS thread, so that the cores are not oversubscribed. Its result
does not depend on the number of tasks that run at the same time.

Forked processes are supported where the system can fork (Linux, macOS); elsewhere the fork handlers are not installed.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# A product with a matrix of 10^7 numbers takes a core about 10 ms, a time slice of a busy system. Threads that share
# less wait for each other longer than they compute (docs/decisions/0057-threads-of-a-fit.md).
MIN_SHARED_SIZE = 10**7


_IMPORTED_BY = os.getpid()  # a process with another number is a fork of it


def parallel_map(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Apply a function to each item in several threads, and return the results in order.

    Threads help if the function releases the interpreter lock for long: NumPy's arithmetic on large arrays, BLAS,
    LAPACK, SciPy's distances and this library's compiled loops do.
    """
    n_threads = min(n_available_threads(), len(items))
    with single_threaded_blas():
        if n_threads < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(function, items))


def n_available_threads() -> int:
    """Return the number of threads that the current process may use."""
    limits = [library["num_threads"] for library in _blas().info()]
    return max(1, min([cpu_count(), *limits]))


def single_threaded_blas() -> AbstractContextManager[None]:
    """Return a context manager that limits BLAS to one thread; several threads may enter it at once."""
    return _BLAS_LIMITER


@contextmanager
def threads_for(n_numbers: int) -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread in the block if its largest matrix has few numbers."""
    if n_numbers >= MIN_SHARED_SIZE:
        yield
        return
    openmp = _find_libraries("openmp", len(sys.modules))  # its limit is that of the current thread
    with openmp.limit(limits=1), single_threaded_blas():
        yield


def limit_openmp_after_fork() -> None:
    """Limit OpenMP to one thread in a forked process; call it just before code that uses OpenMP.

    GNU's OpenMP, which scikit-learn's nearest neighbors use, does not survive a fork after it has started several
    threads: the child process waits forever for the threads of its parent. With one thread it does not wait.
    """
    if os.getpid() != _IMPORTED_BY:
        ThreadpoolController().select(user_api="openmp").limit(limits=1)


class _BlasLimiter(AbstractContextManager[None]):
    """Limit BLAS to one thread for the entire process: the first thread to enter sets it, the last to exit resets it.

    If each thread restored the limit at its entry, a thread that enters second and exits last would leave the process
    with one BLAS thread. Every entry also limits the libraries that were loaded since the first one.
    """

    def __init__(self) -> None:
        self._n_inside = 0
        self._local = threading.local()  # entries of the current thread
        self._limits: dict[str, Any] = {}  # of each library, by its path
        self._lock = threading.Lock()
        # Only the forking thread exists in the child: the others never exit, and never release their locks.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset_after_fork)

    def __enter__(self) -> None:
        with self._lock:
            loaded = {library["filepath"] for library in _blas().info()} - self._limits.keys()
            if loaded:
                with _claim_openblas():
                    self._limits |= {path: _blas().select(filepath=path).limit(limits=1) for path in loaded}
            self._n_inside += 1
            self._local.n_inside = getattr(self._local, "n_inside", 0) + 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            self._local.n_inside -= 1
            if not self._n_inside:
                self._restore()

    def _reset_after_fork(self) -> None:
        self._lock = threading.Lock()
        n_before, self._n_inside = self._n_inside, getattr(self._local, "n_inside", 0)
        if n_before and not self._n_inside:
            self._restore()

    def _restore(self) -> None:
        with _claim_openblas():
            for limit in self._limits.values():
                limit.restore_original_limits()
        self._limits = {}


_BLAS_LIMITER = _BlasLimiter()


@contextmanager
def _claim_openblas() -> Iterator[None]:
    """Allow the current thread to set the limits of OpenBLAS.

    Since version 3.8 threadpoolctl silently ignores every other thread while the first one that set them is alive.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    clear(force=True)
    try:
        yield
    finally:
        clear(force=True)


def _blas() -> ThreadpoolController:
    """Return the BLAS libraries loaded so far; a new search takes milliseconds, and is made after every import."""
    import scipy.linalg  # noqa: F401 - loads the BLAS of SciPy, so that it is found

    return _find_libraries("blas", len(sys.modules))


@lru_cache(maxsize=2)
def _find_libraries(user_api: str, n_modules: int) -> ThreadpoolController:  # noqa: ARG001 - the key: imports load them
    return ThreadpoolController().select(user_api=user_api)
