"""Tests without a cluster run their tasks sequentially in this process."""

import pytest

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _synchronous(request):
    if "cluster" in request.fixturenames:
        yield
        return
    with dask.config.set(scheduler="synchronous"):
        yield
