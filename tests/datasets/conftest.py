"""Data sets are looked for in the test's own folders, and nothing reaches the network."""

import os
from pathlib import Path

import pytest

HERE = os.environ.get("ONEOF_DATA") or str(Path(__file__).resolve().parents[2].parent / "shared" / "data")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Name the cache folder of this test, empty and not yet there."""
    monkeypatch.delenv("ONEOF_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def offline(**_):
        raise AssertionError("a test tried to download")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    return tmp_path / "cache" / "oneof"


@pytest.fixture(scope="session")
def data_folder():
    """Name the folder of the public data sets."""
    folder = Path(HERE)
    if not folder.is_dir():
        pytest.skip("the public data sets are not here: set ONEOF_DATA to their folder")
    return folder


def pytest_generate_tests(metafunc):
    """Run tests that take `public_name` on every data set that is here."""
    if "public_name" in metafunc.fixturenames:
        found = sorted(path.stem for path in Path(HERE).glob("*.npz"))
        absent = pytest.param("", marks=pytest.mark.skip(reason="the public data sets are not here: set ONEOF_DATA"))
        metafunc.parametrize("public_name", found or [absent])
