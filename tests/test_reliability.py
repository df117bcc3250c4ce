"""Equal seeds give equal results in several threads, in other processes and with other numbers of threads."""

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
MAX_SECONDS = 300
"""Seconds after which a child process counts as hanging."""
all_estimators = pytest.mark.parametrize("estimator", ALL, ids=name)


def fit_model(estimator):
    """Return a model that is fitted on the suite's rows, and new rows."""
    X, mask = table(80, like=estimator)
    seeded = {"random_state": 0} if "random_state" in estimator.get_params() else {}
    return clone(estimator).set_params(**seeded).fit(X[:60], mask[:60]), X[60:]


def fit_and_score(estimator):
    """Fit the estimator, and return the scores of new rows."""
    model, new = fit_model(estimator)
    return scores(model, new)


def score_all():
    """Return the scores of all methods."""
    return {name(estimator): fit_and_score(estimator) for estimator in ALL}


@pytest.fixture(scope="module")
def expected():
    with threadpool_limits(1):
        return score_all()


def call_simultaneously(function, items):
    """Call a function for all items at the same moment, each in its own thread; return the results in order."""
    barrier = threading.Barrier(len(items), timeout=MAX_SECONDS)

    def wait_and_call(item):
        barrier.wait()
        return function(item)

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(wait_and_call, items))


@all_estimators
def test_a_model_predicts_equally_in_many_threads(estimator):
    """Eight simultaneous first calls in threads return the results of single calls."""
    model, new = fit_model(estimator)
    restored = pickle.loads(pickle.dumps(model))
    parts = [new[start::N_THREADS] for start in range(N_THREADS)]
    for result, part in zip(call_simultaneously(lambda part: scores(restored, part), parts), parts, strict=True):
        np.testing.assert_array_equal(result, scores(model, part))


def test_simultaneous_fits_in_threads(expected):
    """Simultaneous fits in threads give the results of single fits, and restore the threads of BLAS."""
    for result, key in zip(call_simultaneously(fit_and_score, ALL), map(name, ALL), strict=True):
        np.testing.assert_array_equal(result, expected[key], err_msg=key)


@pytest.mark.long
def test_another_process_gives_equal_results(expected, tmp_path):
    """A new process with another seed of Python's hashes gives equal bits."""
    code = (
        "import pickle, sys, pathlib\nfrom threadpoolctl import threadpool_limits\n"
        "from tests.test_reliability import score_all\n"
        "with threadpool_limits(1):\n    pathlib.Path(sys.argv[1]).write_bytes(pickle.dumps(score_all()))"
    )
    path = tmp_path / "found"
    root = Path(__file__).parents[1]
    environment = dict(os.environ, PYTHONHASHSEED="12345")
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, cwd=root, env=environment)
    for key, result in pickle.loads(path.read_bytes()).items():
        np.testing.assert_array_equal(result, expected[key], err_msg=key)


def forked(run):
    """Return the result of a forked child whose parent has run the same function with two threads."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(run()))
    with threadpool_limits(2):
        run()
        child.start()
    sender.close()
    try:
        assert receiver.poll(MAX_SECONDS), "the child hangs"
        return receiver.recv()
    finally:
        child.kill()
        child.join()


@pytest.mark.long
def test_a_forked_process_gives_equal_results(expected):
    """A forked child of a process that has fitted with threads fits and ends."""
    for key, result in forked(score_all).items():
        largest = np.abs(expected[key]).max()  # two threads round differently than one
        np.testing.assert_allclose(result, expected[key], rtol=1e-9, atol=1e-9 * largest, err_msg=key)


def test_neighbors_among_many_features_in_a_forked_process():
    """In scikit-learn's OpenMP neighbor search a forked child does not wait for threads of its parent."""
    X, mask = table(80, d=40)

    def run():
        return PLKNN().fit(X, mask).predict_proba(X)

    np.testing.assert_allclose(forked(run), run(), rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("n_threads", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_number_of_threads_changes_rounding_only(expected, n_threads):
    """BLAS adds in another order with more threads; docs/reliability.md lists the affected methods."""
    with threadpool_limits(n_threads):
        for key, result in score_all().items():
            np.testing.assert_allclose(
                result, expected[key], rtol=1e-9, atol=1e-9 * np.abs(expected[key]).max(), err_msg=key
            )


@pytest.mark.slow
def test_joblib_workers_give_equal_results(expected):
    """Joblib's processes, with one BLAS thread each, give equal results."""
    result = Parallel(n_jobs=2)(delayed(fit_and_score)(estimator) for estimator in ALL)
    for estimator, values in zip(ALL, result, strict=True):
        np.testing.assert_array_equal(values, expected[name(estimator)], err_msg=name(estimator))
