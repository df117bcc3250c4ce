"""Readers take a changed file, or refuse it by one of our errors: within seconds, and within memory."""

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

READERS = [name for name, target in TARGETS.items() if not target.can_abort]
COLUMNAR = [name for name in TARGETS if name not in READERS]
CASES = 30
SECONDS = 20
KIBIBYTES = 2**20
"""Most memory that all cases of a target may add to the process."""


@pytest.mark.parametrize("name", READERS)
def test_a_changed_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    """Nothing but a result or an OneofError comes back, no case takes 20 s, and together they take less than 1 GiB."""
    check(name, tmp_path, CASES, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, 2000, seed=1)


@pytest.mark.parametrize("name", COLUMNAR)
def test_a_columnar_file_that_is_cut_short_is_refused(name: str, tmp_path: Path) -> None:
    """What a copy that broke off leaves is told; within a page polars looks at nothing before it follows it."""
    target = TARGETS[name]
    path = tmp_path / target.name_of_file
    for good in target.seeds(tmp_path):
        for length in range(0, len(good), len(good) // 9):
            path.write_bytes(good[:length])
            with pytest.raises(OneofError):
                target.read(path)


def check(name: str, folder: Path, n: int, seed: int) -> None:
    target = TARGETS[name]
    seeds = target.seeds(folder)
    path = folder / target.name_of_file
    for good in seeds:
        path.write_bytes(good)
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
