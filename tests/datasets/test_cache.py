"""Storing over a data set that is there: whoever reads, whenever, and whatever comes between, has one of the two."""

from pathlib import Path

import numpy as np
import pytest

from oneof.datasets import cache as kept
from oneof.datasets import load
from oneof.errors import DataError, WriteError


def _arrays(value):
    return {"X": np.full((2, 1), value), "y": np.array([0, 1]), "classes": np.array(["a", "b"])}


def _read(cache):
    return load("birds").X[0, 0] if (cache / "birds.npz").exists() else None


def _begin(cache, state):
    """Leave in the cache what was there before: a download, a file of the user's own, a checksum alone, or nothing."""
    if state != "nothing":
        kept.store("birds", _arrays(1.0))
    if state == "own":
        (cache / "birds.npz.sha256").unlink()
    if state == "deleted":
        (cache / "birds.npz").unlink()
    return 1.0 if state in ("download", "own") else None


STATES = ("download", "own", "deleted", "nothing")


@pytest.mark.parametrize("state", STATES)
def test_at_every_moment_there_is_a_whole_file_that_its_checksum_fits(cache, monkeypatch, state):
    """Looked at before and after each file gets its name, the old set is there, and then the new one."""
    seen, replace = [_begin(cache, state)], Path.replace

    def watched(self, target):
        seen.append(_read(cache))
        replace(self, target)
        seen.append(_read(cache))

    monkeypatch.setattr(Path, "replace", watched)
    kept.store("birds", _arrays(2.0))
    turn = seen.index(2.0)
    assert seen[:turn] == [seen[0]] * turn
    assert seen[turn:] == [2.0] * (len(seen) - turn)
    assert len((cache / "birds.npz.sha256").read_text().split()) == 1


class _Kill(BaseException):
    """An end that nobody foresees."""


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("n_done", [0, 1, 2])
def test_a_kill_leaves_the_old_set_or_the_new_one(cache, monkeypatch, state, n_done):
    """And the next to store ends what was begun; a file that is changed later is still told."""
    old, replace, done = _begin(cache, state), Path.replace, []

    def killed(self, target):
        if len(done) == n_done:
            raise _Kill
        done.append(replace(self, target))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(_Kill):
            kept.store("birds", _arrays(2.0))
    assert _read(cache) in (old, 2.0)
    kept.store("birds", _arrays(2.0))
    assert _read(cache) == 2.0
    np.savez(cache / "birds.npz", **_arrays(3.0))
    with pytest.raises(DataError, match="was changed"):
        load("birds")


def test_a_set_that_is_stored_while_it_is_read_is_no_changed_one(cache, monkeypatch):
    """The checksum was read before the file was replaced, the file behind it."""
    kept.store("birds", _arrays(1.0))
    digest = kept._digest

    def overtaken(path):
        monkeypatch.setattr(kept, "_digest", digest)
        kept.store("birds", _arrays(2.0))
        return digest(path)

    monkeypatch.setattr(kept, "_digest", overtaken)
    assert load("birds").X[0, 0] == 2.0


def test_what_is_stored_is_on_the_disk_before_it_has_its_name(cache, monkeypatch):
    synced = []
    monkeypatch.setattr("oneof.files.os.fsync", synced.append)
    kept.store("birds", _arrays(1.0))
    assert len(synced) == 3


def test_a_cache_that_cannot_be_made_leaves_no_folder(cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept, "write_npz", full)
    with pytest.raises(WriteError, match="No space left"):
        kept.store("birds", _arrays(1.0))
    assert not cache.parent.exists()
