"""A Dask cluster gives the records that one process gives."""

import warnings
from concurrent.futures import Future

import pytest

from oneof.errors import InputError, MissingExtraError
from reproduction import Store, run, work
from tests.reproduction.work import measure, outcome, plan

distributed = pytest.importorskip("distributed")

# Sockets and event loops of a cluster that is shut down are left to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def test_a_cluster_gives_the_same_records(tmp_path):
    """Results and errors of a local cluster are those of this process; a resumed run sends only what is left."""
    with Store(tmp_path / "here.jsonl", "toy") as store:
        expected = outcome(run(plan(), measure, store))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
        )
    with cluster, Store(tmp_path / "there.jsonl", "toy") as store:
        run(plan(10), measure, store)
        assert outcome(run(plan(), measure, store, dask=cluster.scheduler_address)) == expected


def test_no_scheduler(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "CONNECT_WITHIN", "1s")
    with (
        Store(tmp_path / "records.jsonl", "toy") as store,
        pytest.raises(InputError, match="no Dask scheduler answers"),
    ):
        run(plan(2), measure, store, dask="tcp://127.0.0.1:9")


def test_a_missing_extra_of_a_worker_ends_the_run():
    """As it does in one process: every trial would end so; what else killed a trial's workers is its record."""
    for error, ends in ((MissingExtraError("umap", "graph"), True), (OSError("worker died"), False)):
        future = Future()
        future.set_exception(error)
        if ends:
            with pytest.raises(MissingExtraError):
                work._collected(future, plan(1)[0])
        else:
            assert work._collected(future, plan(1)[0]).error == "OSError: worker died"
