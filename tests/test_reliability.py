"""One seed, one result: in several threads at once, in other processes, with other numbers of threads."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from oneof import PLKNN
from tests.estimators.panel import ALL, name, scores, table

N_THREADS = 8
LONGEST = 300
"""Seconds after which a child process counts as one that hangs."""
every = pytest.mark.parametrize("estimator", ALL, ids=name)


def fit(estimator):
    """Return the model of the suites' rows, and further rows."""
    X, mask = table(80, like=estimator)
    seeded = {"random_state": 0} if "random_state" in estimator.get_params() else {}
    return clone(estimator).set_params(**seeded).fit(X[:60], mask[:60]), X[60:]


def told(estimator):
    """Return the scores of further rows."""
    model, new = fit(estimator)
    return scores(model, new)


def everything():
    """Return the scores of all methods."""
    return {name(estimator): told(estimator) for estimator in ALL}


@pytest.fixture(scope="module")
def expected():
    with threadpool_limits(1):
        return everything()


def at_once(function, items):
    """Call for all items at the same moment, each in a thread of its own; return the results in order."""
    barrier = threading.Barrier(len(items), timeout=LONGEST)

    def wait_and_call(item):
        barrier.wait()
        return function(item)

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(wait_and_call, items))


@every
def test_a_model_answers_many_threads_as_it_answers_one(estimator):
    """Eight threads that ask at once, and are the first to ask, are told what each is told alone."""
    model, new = fit(estimator)
    fresh = pickle.loads(pickle.dumps(model))
    parts = [new[start::N_THREADS] for start in range(N_THREADS)]
    for found, part in zip(at_once(lambda part: scores(fresh, part), parts), parts, strict=True):
        np.testing.assert_array_equal(found, scores(model, part))


def test_models_are_fitted_in_threads_at_once(expected):
    """Fits beside each other find what each finds alone, and leave BLAS its threads."""
    for found, key in zip(at_once(told, ALL), map(name, ALL), strict=True):
        np.testing.assert_array_equal(found, expected[key], err_msg=key)


def test_another_process_finds_the_same(expected, tmp_path):
    """A process of its own, with another seed of Python's hashes, comes to the same bits."""
    code = (
        "import pickle, sys, pathlib\nfrom threadpoolctl import threadpool_limits\n"
        "from tests.test_reliability import everything\n"
        "with threadpool_limits(1):\n    pathlib.Path(sys.argv[1]).write_bytes(pickle.dumps(everything()))"
    )
    path = tmp_path / "found"
    root = Path(__file__).parents[1]
    environment = dict(os.environ, PYTHONHASHSEED="12345")
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, cwd=root, env=environment)
    for key, found in pickle.loads(path.read_bytes()).items():
        np.testing.assert_array_equal(found, expected[key], err_msg=key)


def forked(work):
    """Return what a forked child sends, whose parent has worked with two threads."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=lambda: there.send(work()))
    with threadpool_limits(2):
        work()
        child.start()
    there.close()
    try:
        assert here.poll(LONGEST), "the child does not end"
        return here.recv()
    finally:
        child.kill()
        child.join()


def test_a_forked_process_finds_the_same(expected):
    """A child of a process that has fitted, with threads of BLAS and of ours, fits and ends."""
    for key, found in forked(everything).items():
        most = np.abs(expected[key]).max()  # the child has two threads, which round otherwise than one
        np.testing.assert_allclose(found, expected[key], rtol=1e-9, atol=1e-9 * most, err_msg=key)


def test_neighbors_among_many_features_in_a_forked_process():
    """Where scikit-learn's loops of OpenMP look for them, a child does not wait for the threads of its parent."""
    X, mask = table(80, d=40)

    def work():
        return PLKNN().fit(X, mask).predict_proba(X)

    np.testing.assert_allclose(forked(work), work(), rtol=1e-12)


@pytest.mark.parametrize("n_threads", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_number_of_threads_moves_no_more_than_rounding(expected, n_threads):
    """BLAS adds up in another order where it has more threads; docs/reliability.md says for which methods."""
    with threadpool_limits(n_threads):
        for key, found in everything().items():
            np.testing.assert_allclose(
                found, expected[key], rtol=1e-9, atol=1e-9 * np.abs(expected[key]).max(), err_msg=key
            )


@pytest.mark.slow
def test_workers_of_joblib_find_the_same(expected):
    """So do its processes, each of which has one thread of BLAS."""
    found = Parallel(n_jobs=2)(delayed(told)(estimator) for estimator in ALL)
    for estimator, values in zip(ALL, found, strict=True):
        np.testing.assert_array_equal(values, expected[name(estimator)], err_msg=name(estimator))
