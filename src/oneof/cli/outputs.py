"""Files that appear together, and only when all of them are complete."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from oneof.errors import DataError, WriteError
from oneof.files import sync, unwritable


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


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Give an empty folder, whose files are moved into `folder` at the end, replacing files of the same names.

    If the block raises, or is interrupted, `folder` stays as it was, or absent.
    """
    check_writable(folder)
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    stage: Path | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".oneof-", dir=folder))
        yield stage
        for file in sorted(stage.iterdir()):
            sync(file)
        for file in sorted(stage.iterdir()):
            file.replace(folder / file.name)
        made = []
    except WriteError as error:  # which names the file within the stage, of which nobody knows
        raise WriteError(str(error).replace(str(stage), str(folder))) from error
    except OSError as error:
        if error.filename is None or stage is None or str(error.filename).startswith(str(stage)):
            raise unwritable(folder, error) from error
        raise
    finally:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)
        for parent in made:
            with contextlib.suppress(OSError):  # not empty: someone else has put something there
                parent.rmdir()
