"""Labels, and fixtures that give each test its own folders and disable the network."""

import os
from pathlib import Path

import numpy as np
import pytest

HERE = os.environ.get("ONEOF_DATA", "absent")
KINDS = ("uniform", "confusable", "cooccurring", "dictionary", "rules")


def labels(n_samples, n_classes, seed=0):
    """Return labels in which every class occurs, (n_samples,)."""
    rest = np.random.default_rng(seed).integers(0, n_classes, size=n_samples - n_classes)
    return np.concatenate([np.arange(n_classes), rest])


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Return the cache folder of this test, which does not exist yet."""
    monkeypatch.delenv("ONEOF_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def offline(**_):
        raise AssertionError("a test tried to download")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    return tmp_path / "cache" / "oneof"


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder of the public data sets."""
    folder = Path(HERE)
    if not folder.is_dir():
        pytest.skip("the public data sets are not available: set ONEOF_DATA to their folder")
    return folder


def pytest_generate_tests(metafunc):
    """Run tests with the argument `public_name` on every data set in the folder; other archives are skipped."""
    if "public_name" in metafunc.fixturenames:
        names = sorted(path.stem for path in Path(HERE).glob("*.npz") if "y" in np.load(path).files)
        absent = pytest.param(
            "", marks=pytest.mark.skip(reason="the public data sets are not available: set ONEOF_DATA")
        )
        metafunc.parametrize("public_name", names or [absent])
