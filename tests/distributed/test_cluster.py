"""A cluster of worker processes gives the result of one process, even if a worker is killed."""

import os
import signal
import time
import warnings

import dask
import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from oneof import CLPL, PLGP, AvgPegasos, LOORidge, MaxPerceptron, compare, distributed
from oneof.distributed import reduction
from oneof.estimators import loo_ridge
from tests.distributed.blocks import in_blocks, table

# Sockets and event loops of a closed cluster are released by the garbage collector.
pytestmark = [
    pytest.mark.long,  # the other tests have the same laws without worker processes
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

MODELS = [
    AvgPegasos(n_epochs=4, average=True, shuffle=True, random_state=0),
    PLGP(RBF(2.0), optimizer=None, approximation="nystroem", n_components=20, n_mc_samples=20, random_state=0),
    LOORidge("rbf", features="standard", approximation="nystroem", n_components=20, random_state=0),
]
LENGTHS = [60, 40, 30, 50, 60]


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workers = LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None)
        client = Client(workers)
    yield client
    client.close()
    workers.close()


def outputs(model, X):
    return model.predict_proba(X) if isinstance(model, PLGP) else model.decision_function(X)


def sequential_fit(model, X, y):
    """Return the model that one process fits to the same blocks."""
    with dask.config.set(scheduler="synchronous"):
        return distributed.fit(clone(model), in_blocks(X, LENGTHS), y)


@pytest.mark.parametrize(
    "model",
    [pytest.param(m, marks=[pytest.mark.slow] * (type(m) is not AvgPegasos), id=type(m).__name__) for m in MODELS],
)
def test_a_killed_worker_does_not_change_the_result(cluster, monkeypatch, model):
    """SIGKILL of a worker with its blocks in the middle of the fit does not change the weights."""
    monkeypatch.setattr(loo_ridge, "MAX_FEATURE_ENTRIES", 20 * 100)  # LOORidge then continues in blocks
    X, y, _ = table()
    expected = outputs(sequential_fit(model, X, y), X)
    pids = list(cluster.run(os.getpid).values())
    rounds, original = [], reduction.compute

    def compute(*values):
        rounds.append(None)
        if len(rounds) == 4:
            os.kill(pids[1], signal.SIGKILL)
        return original(*values)

    for module in (distributed.blocks, distributed.online, distributed.loo_ridge, distributed.plgp, reduction):
        monkeypatch.setattr(module, "compute", compute)
    model_on_cluster = distributed.fit(clone(model), in_blocks(X, LENGTHS), y)
    assert len(rounds) > 4
    np.testing.assert_array_equal(outputs(model_on_cluster, X), expected)
    deadline = time.monotonic() + 60
    while pids[1] in cluster.run(os.getpid).values() or len(cluster.scheduler_info()["workers"]) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_speed_of_workers_does_not_change_the_result(cluster):
    """Sums are taken in the order of the blocks, so that two runs are identical to the last bit."""
    X, y, _ = table()
    pauses = np.random.default_rng(0).permutation(5) / 20

    def slowed(block, block_id):
        time.sleep(pauses[block_id[0]])
        return block

    rows = in_blocks(X, LENGTHS).map_blocks(slowed, dtype=float, meta=np.empty((0, 0)))
    model = MODELS[0]
    model_on_cluster = distributed.fit(clone(model), rows, y)
    np.testing.assert_array_equal(model_on_cluster.coef_, sequential_fit(model, X, y).coef_)


def test_predictions_come_from_the_workers(cluster):
    """Predictions on workers equal those of the model in one process."""
    X, y, _ = table()
    model = CLPL().fit(X, y)
    np.testing.assert_array_equal(distributed.predict(model, in_blocks(X, LENGTHS)).compute(), model.predict(X))


def test_compare_over_the_workers(cluster):
    """`compare` on joblib's dask backend gives the results of a sequential run."""
    X, y, _ = table(120)
    methods = {"clpl": CLPL(), "perceptron": MaxPerceptron()}
    local = compare(X, y, methods, cv=3)
    with parallel_config(backend="dask"):
        remote = compare(X, y, methods, cv=3, n_jobs=-1)
    assert remote.best_method == local.best_method
    assert [r.covering_rate for r in remote.results] == [r.covering_rate for r in local.results]
