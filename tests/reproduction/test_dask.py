"""A Dask cluster gives the records of a single process."""

import warnings
from concurrent.futures import Future

import pytest

from oneof.errors import InputError, MissingExtraError
from reproduction import Store, run, runner
from tests.reproduction.toy import measure, outcome, plan

distributed = pytest.importorskip("distributed")

# Sockets and event loops of a closed cluster are left to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def test_a_cluster_gives_the_same_records(tmp_path):
    """Results and errors of a local cluster are those of this process; a resumed run sends only pending trials."""
    with Store(tmp_path / "serial.jsonl", "toy") as store:
        expected = outcome(run(plan(), measure, store))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
        )
    with cluster, Store(tmp_path / "dask.jsonl", "toy") as store:
        run(plan(10), measure, store)
        assert outcome(run(plan(), measure, store, dask=cluster.scheduler_address)) == expected


def test_no_scheduler(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "CONNECT_TIMEOUT", "1s")
    with (
        Store(tmp_path / "records.jsonl", "toy") as store,
        pytest.raises(InputError, match="no Dask scheduler answers"),
    ):
        run(plan(2), measure, store, dask="tcp://127.0.0.1:9")


def test_a_missing_extra_of_a_worker_ends_the_run():
    """A missing package ends the run, as in one process; any other error of a worker is the trial's record."""
    for error, ends in ((MissingExtraError("umap", "graph"), True), (OSError("worker died"), False)):
        future = Future()
        future.set_exception(error)
        if ends:
            with pytest.raises(MissingExtraError):
                runner._result_of(future, plan(1)[0])
        else:
            assert runner._result_of(future, plan(1)[0]).error == "OSError: worker died"
