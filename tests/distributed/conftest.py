"""Where no cluster is asked for, tasks run one after the other in this process."""

import pytest

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _here(request):
    if "cluster" in request.fixturenames:
        yield
        return
    with dask.config.set(scheduler="synchronous"):
        yield
