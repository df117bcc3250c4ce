"""Readers accept a changed file, or reject it with an OneofError, within limits of time and memory."""

import gc
import resource
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oneof.errors import OneofError
from tests.fuzz_files.mutations import mutated
from tests.fuzz_files.targets import TARGETS

COLUMNAR = [name for name, target in TARGETS.items() if target.is_decoded_first]
CASES, COLUMNAR_CASES = 30, 4
MANY_CASES, MANY_COLUMNAR_CASES = 2000, 300
SECONDS = 20
KIBIBYTES = 2**20
"""Maximum memory that all cases of a target may add to the process."""


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_a_changed_file_is_read_or_rejected(name: str, tmp_path: Path) -> None:
    """Each case gives a result or an OneofError within 20 s, and all cases take less than 1 GiB."""
    check(name, tmp_path, COLUMNAR_CASES if name in COLUMNAR else CASES, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_changed_files_are_read_or_rejected(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, MANY_COLUMNAR_CASES if name in COLUMNAR else MANY_CASES, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("name", COLUMNAR)
def test_a_truncated_columnar_file_is_rejected(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    path = tmp_path / target.name_of_file
    for good in target.seeds(tmp_path):
        for length in range(0, len(good), len(good) // 4):
            path.write_bytes(good[:length])
            with pytest.raises(OneofError):
                target.read(path)


def check(name: str, folder: Path, n: int, seed: int) -> None:
    target = TARGETS[name]
    if target.requires:
        pytest.importorskip(target.requires)
    seeds = target.seeds(folder)
    path = folder / target.name_of_file
    for good in seeds:
        path.write_bytes(good)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "-1 is read as unlabeled")  # as the file has it
            target.read(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for number, data in enumerate(mutated(seeds, n, target.container, seed)):
        for old in folder.glob(f"{target.name_of_file}*"):
            old.unlink()
        path.write_bytes(data)
        try:
            with _within(SECONDS), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                target.read(path)
        except OneofError:
            refused += 1
        except BaseException as error:
            raise AssertionError(f"case {number} of {name} (seed {seed}) ended with {error!r}") from error
    gc.collect()
    assert refused > 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < KIBIBYTES


@contextmanager
def _within(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds} s")

    usual = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)
