"""Threads: the same results for any number of threads, and no more threads than BLAS may use."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_info, threadpool_limits

from oneof import CLPL, PLECOC, CandidateEM, LOORidge, parallel
from oneof.estimators import base as estimators
from oneof.graphs.neighbors import NeighborIndex
from oneof.parallel import n_available_threads, parallel_map, single_threaded_blas


def blas_threads():
    """Return the limits of BLAS for the process; libraries on OpenMP have one for each thread."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and library.get("threading_layer") != "openmp"
    }


def test_results_come_in_the_order_of_the_items(monkeypatch):
    """Results are in the order of the items for any number of threads."""
    for number in (1, 2, 5):
        monkeypatch.setattr(parallel, "n_available_threads", lambda number=number: number)
        assert parallel_map(lambda item: item**2, range(10)) == [item**2 for item in range(10)]


def test_two_threads_work_at_once(monkeypatch):
    """Two items that wait for each other both finish."""
    monkeypatch.setattr(parallel, "n_available_threads", lambda: 2)
    barrier = threading.Barrier(2, timeout=30)
    assert sorted(parallel_map(lambda _: barrier.wait(), range(2))) == [0, 1]


def test_errors_are_propagated(monkeypatch):
    """An error in an item is raised by the call."""
    monkeypatch.setattr(parallel, "n_available_threads", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda item: 1 // item, range(3))


def test_blas_has_one_thread_within_an_item():
    """BLAS has one thread within an item; with one BLAS thread, as in workers of joblib and Dask, no more."""
    with threadpool_limits(2, user_api="blas"):
        assert parallel_map(lambda _: blas_threads(), range(2)) == [{1}, {1}]
    with threadpool_limits(1, user_api="blas"):
        assert n_available_threads() == 1
        with single_threaded_blas():
            assert blas_threads() == {1}


@contextmanager
def another_thread():
    """Enter the limit in another thread; calling the yielded function lets that thread leave it."""
    entered, may_go, gone, may_end = (threading.Event() for _ in range(4))

    def stay():
        with single_threaded_blas():
            entered.set()
            may_go.wait(60)
        gone.set()
        may_end.wait(60)

    def leave():
        may_go.set()
        assert gone.wait(60)

    thread = threading.Thread(target=stay)
    thread.start()
    try:
        assert entered.wait(60)
        yield leave
    finally:
        may_go.set()
        may_end.set()
        thread.join(60)


@contextmanager
def two_threads():
    """Set two BLAS threads outside the limiter; threadpoolctl accepts limits from one thread at a time."""
    set_by_us = ThreadpoolController().select(user_api="blas").limit(limits=2)
    clear = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    clear(force=True)
    try:
        yield
    finally:
        set_by_us.restore_original_limits()
        clear(force=True)


@pytest.mark.parametrize("limited", [two_threads, lambda: threadpool_limits(2, user_api="blas")], ids=["free", "held"])
def test_overlapping_calls_restore_the_blas_threads(limited):
    """Two threads that limit BLAS at the same time leave the original limit, in any order."""
    with limited():
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}
        with another_thread() as leave:
            assert blas_threads() == {1}
            with single_threaded_blas():
                leave()
                assert blas_threads() == {1}
            assert blas_threads() == {2}
        with single_threaded_blas(), another_thread() as leave:
            first.__enter__()
            first.__exit__(None, None, None)
            leave()
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def _threads_within_and_after(sender):
    with single_threaded_blas():
        within = blas_threads()
    sender.send((within, blas_threads()))


@pytest.mark.parametrize("inside", [False, True])
def test_the_limit_of_a_forked_child_ends(inside):
    """The child has its own limit, whether the forking thread or another one was inside."""
    context = multiprocessing.get_context("fork")
    with threadpool_limits(2, user_api="blas"):
        with another_thread():
            receiver, sender = context.Pipe(duplex=False)
            with single_threaded_blas() if inside else nullcontext():
                child = context.Process(target=_threads_within_and_after, args=(sender,))
                child.start()
            assert receiver.poll(60)
            assert receiver.recv() == ({1}, {1} if inside else {2})
            child.join(60)
        assert blas_threads() == {2}


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    """LOORidge with several kernels gives identical results for any number of threads."""
    X, y = load_iris(return_X_y=True)
    results = []
    for number in (1, 2, 3):
        monkeypatch.setattr(parallel, "n_available_threads", lambda number=number: number)
        results.append(LOORidge().fit(X, y).label_distributions_)
    np.testing.assert_array_equal(results[1:], results[:1] * 2)


def test_parallel_neighbor_searches_restore_the_blas_threads():
    """Overlapping neighbor searches, during which scikit-learn limits BLAS, leave the original limit."""
    X = np.random.default_rng(0).normal(size=(600, 30))
    index = NeighborIndex(X)
    together = threading.Barrier(8, timeout=60)

    def search(_):
        together.wait()
        for _ in range(10):
            index.nearest(3)

    with two_threads():
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(search, range(8)))
        assert blas_threads() == {2}


LOADED_LATER = """
import ctypes, shutil, sys
from oneof.parallel import single_threaded_blas
from threadpoolctl import threadpool_info

def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

with single_threaded_blas():
    assert blas_threads() == {1}
n_before = len(threadpool_info())
with single_threaded_blas():
    blas = next(library["filepath"] for library in threadpool_info() if library["user_api"] == "blas")
    ctypes.CDLL(shutil.copy(blas, sys.argv[1]))  # under the same name, by which its functions are recognized
    import colorsys  # libraries are loaded by imports
    assert len(threadpool_info()) > n_before
    with single_threaded_blas():
        assert blas_threads() == {1}
    assert blas_threads() == {1}
assert blas_threads() == {2}, blas_threads()
with single_threaded_blas():
    assert blas_threads() == {1}
"""


def test_libraries_loaded_later_are_limited(tmp_path):
    """An entry limits the BLAS libraries that were loaded after the first entry, and the last exit restores them."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", LOADED_LATER, str(tmp_path)], check=True, env=environment)


@pytest.mark.parametrize("n_missing", [0, 1])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_small_fits_use_one_thread(n_jobs, n_missing, monkeypatch):
    """A fit limits BLAS and OpenMP to one thread if its matrix is small, also in a classifier inside it, and resets."""
    seen = []

    class Recorder(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append({library["user_api"]: library["num_threads"] for library in threadpool_info()})
            return super().fit(X, y, sample_weight)

    X, y = load_iris(return_X_y=True)
    monkeypatch.setattr(parallel, "MIN_SHARED_SIZE", X.size + n_missing)
    with threadpool_limits(2):
        before = threadpool_info()
        sets = [[label, (label + 1) % 3] for label in y]
        CandidateEM(Recorder(max_iter=200), n_jobs=n_jobs, max_iter=1, tol=10).fit(X, sets)
        *folds, last = seen
        PLECOC(Recorder(), code_length=3, n_jobs=n_jobs, random_state=0).fit(X, y)
        assert threadpool_info() == before
    expected = 1 if n_missing else 2
    assert last == {"blas": expected, "openmp": expected}
    assert all(fold["openmp"] <= expected for fold in folds)
    assert all(fit["blas"] == min(expected, 3 - n_jobs) for fit in seen if fit is not last)


def test_kernel_methods_use_all_threads_for_large_gram_matrices(monkeypatch):
    """The largest matrix of a kernel method has a row and a column for each row."""
    X, y = load_iris(return_X_y=True)
    seen = []
    monkeypatch.setattr(estimators, "threads_for", lambda size: seen.append(size) or nullcontext())
    LOORidge().fit(X, y)
    assert seen[0] == len(X) ** 2
    CLPL().fit(X, y)
    assert seen[-1] == X.size
