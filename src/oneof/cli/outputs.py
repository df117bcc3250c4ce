"""Files that appear together, and only when all of them are complete."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from oneof.errors import DataError, WriteError
from oneof.files import create_directories, fsync, write_error

_UNFINISHED = ".oneof-unfinished-"


def check_writable(folder: Path) -> None:
    """Raise if files cannot be put into `folder`, which need not exist; nothing is written."""
    there = folder.absolute()
    while not there.exists() and not there.is_symlink():
        there = there.parent
    if not there.is_dir():
        raise DataError(f"{folder} cannot be a folder: {there} is a file.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise DataError(f"{folder} cannot be written to: {there} gives no permission.")


def reject_inputs(written: Iterable[Path], read: Iterable[Path]) -> None:
    """Raise if a file that was read would be replaced by one that is written."""
    inputs = {path.resolve() for path in read}
    for path in written:
        if path.resolve() in inputs:
            raise DataError(f"{path} was read as input and would be overwritten: choose another --out.")


def _new_stage(folder: Path) -> tuple[Path, int | None]:
    """Make an empty folder that this process holds as long as the returned file is open, which a kill closes, too."""
    while True:
        stage = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder))
        lock = _hold(stage, wait=True)
        if stage.exists():  # and was not taken for a stale one before it was held
            return stage, lock
        if lock is not None:
            os.close(lock)


def _remove_stale(folder: Path) -> None:
    """Remove the unfinished folders of commands that were killed: those that nobody holds."""
    for stage in folder.glob(f"{_UNFINISHED}*"):
        lock = _hold(stage, wait=False)
        if lock is not None:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(lock)


def _hold(stage: Path, *, wait: bool) -> int | None:
    """Return an open file that holds a folder, or None where another process does, or the system cannot tell."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        file = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(file)
        return None
    return file


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Give an empty folder, whose files are moved into `folder` at the end, replacing files of the same names.

    If the block raises, or is interrupted, `folder` stays as it was, or absent.
    """
    check_writable(folder)
    _remove_stale(folder)
    with create_directories(folder), _stage_in(folder) as stage:
        yield stage
        for file in sorted(stage.iterdir()):
            fsync(file)
        for file in sorted(stage.iterdir()):
            file.replace(folder / file.name)


@contextlib.contextmanager
def _stage_in(folder: Path) -> Iterator[Path]:
    """Give an empty folder within `folder`, and remove it; errors in it are told as errors of `folder`."""
    stage: Path | None = None
    lock: int | None = None
    try:
        stage, lock = _new_stage(folder)
        yield stage
    except WriteError as error:  # which names the file within the stage, of which nobody knows
        raise WriteError(str(error).replace(str(stage), str(folder))) from error
    except OSError as error:
        if error.filename is None or stage is None or str(error.filename).startswith(str(stage)):
            raise write_error(folder, error) from error
        raise
    finally:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)
        if lock is not None:
            os.close(lock)
