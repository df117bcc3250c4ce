"""A full disk, a read-only folder and a terminated process leave the old file unchanged."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer

import oneof
from oneof.candidates import CandidateSets
from oneof.cli.terminal import TERMINATED, handle_errors
from oneof.errors import DataError, InputError, WriteError
from oneof.files import atomic_directory, atomic_write
from oneof.labeling.answers.log import AnswerLog, Entry
from oneof.labeling.content.table import LabelTable
from oneof.persistence import load, save
from oneof.report.page import write_report
from oneof.stream import checkpoint
from reproduction.records import Record
from reproduction.store import Store
from reproduction.trial import Trial
from tests.report.data import sample

SIZE = 2**20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Make a disk of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can make a small disk")
    process = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if process.returncode:
        pytest.skip(f"no disk can be made here: {process.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(disk: Path) -> None:
    """Fill the disk."""
    with (disk / "filler").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        file.write(b"x" * SIZE) and file.write(b"x" * SIZE)


def lock(disk: Path) -> None:
    """Make the disk read-only."""
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)


def _model(path: Path, size: int) -> None:
    X = np.random.default_rng(0).normal(size=(40 * size, 50))
    save(path, oneof.PLKNN(n_neighbors=2).fit(X, np.arange(40 * size) % 2))


def _report(path: Path, _: int) -> None:
    write_report(path, sample())


def _table(path: Path, size: int) -> None:
    n = 1000 * size
    sets = CandidateSets.from_labels(np.arange(n) % 2)
    LabelTable(pl.DataFrame({"x": np.random.default_rng(0).normal(size=n)}), "label").export(path, sets)


def _checkpoint(path: Path, size: int) -> None:
    checkpoint.write_checkpoint(path, checkpoint.RunState(missing_indicator=np.ones((100, size))), {"a": 1})


def _text(path: Path, size: int) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text("a" * 1000 * size)


WRITERS: dict[str, Callable[[Path, int], Any]] = {
    "model.skops": _model,
    "report.html": _report,
    "table.csv": _table,
    "table.parquet": _table,
    "checkpoint.npz": _checkpoint,
    "text.txt": _text,
}


@pytest.mark.parametrize("hinder", [fill, lock])
@pytest.mark.parametrize("name", WRITERS)
def test_a_failed_write_does_not_change_the_old_file(disk: Path, name: str, hinder: Callable[[Path], None]) -> None:
    """The error names the file and the reason; the old file is unchanged, and no other file remains."""
    path = disk / name
    WRITERS[name](path, 1)
    old = path.read_bytes()
    hinder(disk)
    with pytest.raises(WriteError, match=rf"{name} cannot be written \(.*(No space|Read-only).*unchanged"):
        WRITERS[name](path, 5)
    assert path.read_bytes() == old
    assert {file.name for file in disk.iterdir()} <= {name, "filler"}


@pytest.mark.parametrize("hinder", [fill, lock])
def test_records_that_cannot_be_written_do_not_change_the_store(disk: Path, hinder: Callable[[Path], None]) -> None:
    """A record that does not fit is an error, and the former records are complete when the store is reopened."""
    with Store(disk / "records.jsonl", "x") as store:
        store.append(Record(Trial.from_settings("x", draw=0), {"error": 0.5}))
    old = (disk / "records.jsonl").read_bytes()
    hinder(disk)

    def append_again() -> None:
        with Store(disk / "records.jsonl", "x") as store:
            for draw in range(1, 99):
                store.append(Record(Trial.from_settings("x", draw=draw), {"trace": list(range(5000))}))

    with pytest.raises(WriteError, match=r"records.jsonl cannot be written"):
        append_again()
    assert (disk / "records.jsonl").read_bytes().startswith(old)


def test_answers_that_cannot_be_written_are_not_acknowledged(disk: Path) -> None:
    """An answer that does not fit is an error; the former ones are stored, and labeling continues with free space."""
    log = AnswerLog(disk / "answers", {"rows": "some", "classes": '["a", "b"]'})
    log.append(Entry("first", "Ann", 0, "one of", (0,)))
    fill(disk)
    written = []

    def append_again() -> None:
        for row in range(1, 5000):
            written.append(log.append(Entry(f"{row}" * 200, "Ann", row, "one of", (0,))))

    with pytest.raises(DataError, match=r"cannot be written to .*answers .*full"):
        append_again()
    assert log.since(1) == written
    (disk / "filler").unlink()
    assert log.append(Entry("last", "Ann", 9999, "one of", (0,))).number > len(written)
    log.close()


def test_answers_on_a_read_only_disk_are_errors(disk: Path) -> None:
    lock(disk)
    with pytest.raises(DataError, match="cannot be written"):
        AnswerLog(disk / "answers", {"rows": "some", "classes": '["a", "b"]'})


@pytest.mark.parametrize("hinder", [fill, lock])
def test_outputs_appear_together_or_not_at_all(
    disk: Path, hinder: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """If one output cannot be written, no file of the folder is replaced; the error names the folder and the reason."""
    out = disk / "out"
    out.mkdir()
    (out / "a.txt").write_text("old")
    hinder(disk)
    with pytest.raises(typer.Exit) as end, handle_errors(debug=False), atomic_directory(out) as stage:
        (stage / "a.txt").write_text("new" * 1000)
    assert end.value.exit_code == 2
    message = capsys.readouterr().err
    assert str(out) in message
    assert "No space left" in message or "cannot be written to" in message
    assert [file.name for file in out.iterdir()] == ["a.txt"]
    assert (out / "a.txt").read_text() == "old"


def test_a_terminated_process_cleans_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SIGTERM during a write leaves no hidden folder, and gives the conventional exit code."""
    (tmp_path / "a.txt").write_text("old")

    def write() -> None:
        with handle_errors(debug=False), atomic_directory(tmp_path) as stage:
            (stage / "a.txt").write_text("new")
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)  # the handler may run later

    with pytest.raises(typer.Exit) as end:
        write()
    assert end.value.exit_code == TERMINATED
    assert capsys.readouterr().err == "Error: terminated.\n"
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.txt", "old")]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_file_without_a_name_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`path` must name a file"), atomic_write(""):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError, match="folder cannot be written"):
        _model(tmp_path / "folder", 1)
    with pytest.raises(InputError, match="does not exist"):
        _model(tmp_path / "absent" / "m.skops", 1)
    _model(tmp_path / "m.skops", 1)
    assert load(tmp_path / "m.skops").predict(np.zeros((1, 50))).shape == (1,)


def test_the_next_command_removes_folders_of_a_killed_one(tmp_path: Path) -> None:
    """SIGKILL leaves a hidden folder; the next command removes it, but not one in use, nor a folder of the user."""
    (tmp_path / ".oneof-mine").mkdir()
    with atomic_directory(tmp_path) as in_use:
        child = os.fork()
        if not child:
            with atomic_directory(tmp_path) as stage:
                (stage / "a.txt").write_text("half")
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        assert len(list(tmp_path.glob(".oneof-unfinished-*"))) == 2
        with atomic_directory(tmp_path) as stage:
            assert set(tmp_path.iterdir()) == {tmp_path / ".oneof-mine", in_use, stage}
    assert [file.name for file in tmp_path.iterdir()] == [".oneof-mine"]


def write_half(file: Path, ending: type[BaseException]) -> None:
    file.write_text("half of the n")
    raise ending


@pytest.mark.skipif(os.name != "posix", reason="pipes and links of POSIX")
def test_links_and_pipes_are_written_to_and_stay(tmp_path: Path) -> None:
    """The target of a link is replaced, or unchanged after any exception; a pipe gets the content and stays a pipe."""
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_write(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    for ending in (ValueError, KeyboardInterrupt):
        with pytest.raises(ending), atomic_write(link) as temporary:
            write_half(temporary, ending)
        assert target.read_text() == "new"

    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        with atomic_write(pipe) as temporary:
            temporary.write_text("lines")
        assert reader.communicate(timeout=30)[0] == "lines"
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe", "target"]
    if Path("/dev/full").is_char_device():
        with pytest.raises(WriteError, match="No space left"), atomic_write("/dev/full") as temporary:
            temporary.write_text("x")
        assert Path("/dev/full").is_char_device()
