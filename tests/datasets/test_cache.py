"""The cache of downloads: a reader finds no file or the complete one, and detects a change."""

from pathlib import Path

import numpy as np
import pytest

from oneof.datasets import cache as cache_module
from oneof.datasets import load
from oneof.errors import DataError, WriteError


def _arrays(value):
    return {"X": np.full((2, 1), value), "y": np.array([0, 1]), "classes": np.array(["a", "b"])}


def _read():
    """Return the value of the data set, or None if there is none."""
    return load("birds").X[0, 0] if "birds" in cache_module.find_files(None) else None


@pytest.mark.parametrize("before", [None, 1.0])
def test_at_every_moment_the_cache_has_no_file_or_the_complete_one(cache, monkeypatch, before):
    """Before and after the renaming, also if another process stores the same download at the same time."""
    if before:
        cache_module.store("birds", _arrays(1.0))
    contents, replace = [_read()], Path.replace

    def watched(self, target):
        contents.append(_read())
        replace(self, target)
        contents.append(_read())

    monkeypatch.setattr(Path, "replace", watched)
    cache_module.store("birds", _arrays(1.0))
    assert contents == [before, before, 1.0]
    assert len(list(cache.iterdir())) == 1


class _Kill(BaseException):
    """An abrupt end of the process."""


@pytest.mark.parametrize("before", [None, 1.0])
def test_a_kill_leaves_the_set_or_nothing(cache, monkeypatch, before):
    """The next call of `store` completes the work, and a later change of the file is still detected."""
    if before:
        cache_module.store("birds", _arrays(1.0))

    def killed(self, target):
        raise _Kill

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(_Kill):
            cache_module.store("birds", _arrays(1.0))
    assert _read() == before
    cache_module.store("birds", _arrays(1.0))
    assert _read() == 1.0
    np.savez(next(cache.iterdir()), **_arrays(3.0))
    with pytest.raises(DataError, match="was changed"):
        load("birds")


def test_a_file_of_the_user_needs_no_checksum(cache):
    """A file without a checksum in its name is not verified."""
    cache.mkdir(parents=True)
    np.savez(cache / "birds.npz", **_arrays(3.0))
    assert _read() == 3.0


def test_an_unwritable_cache_leaves_no_folder(cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(WriteError, match="No space left"):
        cache_module.store("birds", _arrays(1.0))
    assert not cache.parent.exists()


def test_a_stored_set_is_synced_before_it_is_renamed(cache, monkeypatch):
    synced = []
    monkeypatch.setattr("oneof.files.os.fsync", synced.append)
    cache_module.store("birds", _arrays(1.0))
    assert len(synced) == 1
