"""Atomic replacement of a cached data set: a reader always gets the old or the new version."""

from pathlib import Path

import numpy as np
import pytest

from oneof.datasets import cache as cache_module
from oneof.datasets import load
from oneof.errors import DataError, WriteError


def _arrays(value):
    return {"X": np.full((2, 1), value), "y": np.array([0, 1]), "classes": np.array(["a", "b"])}


def _read(cache):
    return load("birds").X[0, 0] if (cache / "birds.npz").exists() else None


def _begin(cache, state):
    """Prepare the cache: a download, a file of the user, a checksum without a file, or nothing."""
    if state != "nothing":
        cache_module.store("birds", _arrays(1.0))
    if state == "own":
        (cache / "birds.npz.sha256").unlink()
    if state == "deleted":
        (cache / "birds.npz").unlink()
    return 1.0 if state in ("download", "own") else None


STATES = ("download", "own", "deleted", "nothing")


@pytest.mark.parametrize("state", STATES)
def test_at_every_moment_the_cache_has_a_complete_file_with_a_matching_checksum(cache, monkeypatch, state):
    """Before and after each renaming, the reader gets the old set, and later the new one."""
    contents, replace = [_begin(cache, state)], Path.replace

    def watched(self, target):
        contents.append(_read(cache))
        replace(self, target)
        contents.append(_read(cache))

    monkeypatch.setattr(Path, "replace", watched)
    cache_module.store("birds", _arrays(2.0))
    turn = contents.index(2.0)
    assert contents[:turn] == [contents[0]] * turn
    assert contents[turn:] == [2.0] * (len(contents) - turn)
    assert len((cache / "birds.npz.sha256").read_text().split()) == 1


class _Kill(BaseException):
    """An abrupt end of the process."""


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("n_done", [0, 1, 2])
def test_a_kill_leaves_the_old_set_or_the_new_one(cache, monkeypatch, state, n_done):
    """The next call of `store` completes the work, and a later change of the file is still detected."""
    old, replace, done = _begin(cache, state), Path.replace, []

    def killed(self, target):
        if len(done) == n_done:
            raise _Kill
        done.append(replace(self, target))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(_Kill):
            cache_module.store("birds", _arrays(2.0))
    assert _read(cache) in (old, 2.0)
    cache_module.store("birds", _arrays(2.0))
    assert _read(cache) == 2.0
    np.savez(cache / "birds.npz", **_arrays(3.0))
    with pytest.raises(DataError, match="was changed"):
        load("birds")


def test_a_set_that_is_stored_while_it_is_read_does_not_count_as_changed(cache, monkeypatch):
    """The checksum is read before the file is replaced, and the file afterwards."""
    cache_module.store("birds", _arrays(1.0))
    digest = cache_module._sha256

    def overtaken(path):
        monkeypatch.setattr(cache_module, "_sha256", digest)
        cache_module.store("birds", _arrays(2.0))
        return digest(path)

    monkeypatch.setattr(cache_module, "_sha256", overtaken)
    assert load("birds").X[0, 0] == 2.0


def test_a_stored_set_is_synced_before_it_is_renamed(cache, monkeypatch):
    synced = []
    monkeypatch.setattr("oneof.files.os.fsync", synced.append)
    cache_module.store("birds", _arrays(1.0))
    assert len(synced) == 3


def test_an_unwritable_cache_leaves_no_folder(cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_module, "write_npz", full)
    with pytest.raises(WriteError, match="No space left"):
        cache_module.store("birds", _arrays(1.0))
    assert not cache.parent.exists()
