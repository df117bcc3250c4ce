"""Damaged Parquet and Arrow files, which may end the process that decodes them."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oneof import trial
from oneof.errors import DataError
from oneof.io.formats import binary as decoding
from oneof.io.table import BatchSpec, file_sizes, iterate_batches, read_table
from oneof.stream import open_source

DAMAGED = Path(__file__).parent / "damaged" / "page_lengths.parquet"
"""A page of this file declares a length that polars cannot allocate: decoding it here would end the tests."""


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of processes that were started, and forget which files were decoded."""
    started: list[Any] = []
    run = subprocess.run
    monkeypatch.setattr(decoding, "_decoded", set())
    monkeypatch.setattr(trial.subprocess, "run", lambda *args, **options: started.append(args) or run(*args, **options))
    return started


def parquet(folder: Path, n: int) -> list[Path]:
    for number in range(n):
        pl.DataFrame({"x": [1.0, 2.0], "species": ["wren", "owl"]}).write_parquet(folder / f"{number}.parquet")
    return sorted(folder.glob("*.parquet"))


def test_a_damaged_page_is_an_error_and_not_the_end_of_the_process() -> None:
    with pytest.raises(DataError, match=r"page_lengths.parquet cannot be read: .* ended with signal"):
        read_table(DAMAGED, labels=["species"])


def test_files_before_a_damaged_one_are_read(tmp_path: Path) -> None:
    """Of three files the second is damaged: the rows of the first are returned, then the error names the second."""
    parquet(tmp_path, 3)
    shutil.copy(DAMAGED, tmp_path / "1.parquet")
    batches = iterate_batches(open_source(tmp_path), 10, BatchSpec())
    assert next(batches).frame.height == 2
    with pytest.raises(DataError, match=r"1\.parquet cannot be read"):
        next(batches)


def test_small_files_share_a_process_and_are_decoded_once(tmp_path: Path, trials: list[Any]) -> None:
    files = parquet(tmp_path, 5)
    source = open_source(tmp_path)
    assert file_sizes(source) == [2] * 5
    assert sum(batch.frame.height for batch in iterate_batches(source, 10, BatchSpec())) == 10
    assert len(trials) == 1
    pl.DataFrame({"x": [1.0], "species": ["wren"]}).write_parquet(files[2])
    assert sum(batch.frame.height for batch in iterate_batches(source, 10, BatchSpec())) == 9
    assert len(trials) == 2


def test_a_module_in_the_working_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trials: list[Any]
) -> None:
    """The process does not execute the file polars.py of the folder in which the command runs."""
    (tmp_path / "polars.py").write_text("open('executed', 'w')")
    monkeypatch.chdir(tmp_path)
    files = parquet(tmp_path, 1)
    decoding.check_decodable(files, "parquet")
    assert len(trials) == 1
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_ordinary_errors_are_left_to_the_reader(kind: str, tmp_path: Path) -> None:
    """A file of another format is reported by the reader, with the message of polars."""
    (tmp_path / f"a.{kind}").write_text("span,species\n1,wren\n")
    with pytest.raises(DataError, match="cannot be read") as error:
        list(iterate_batches(open_source(tmp_path), 10, BatchSpec()))
    assert "process" not in str(error.value)
