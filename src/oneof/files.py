"""Files that are there whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oneof.errors import InputError, InputTypeError, WriteError


def as_path(path: Any, name: str = "path") -> Path:
    """Return where a caller says that something lies.

    Raises
    ------
    InputTypeError
        If it is neither text nor a path.
    InputError
        If the system has no files of such a name.
    """
    try:
        found = Path(path)
        if b"\0" in os.fsencode(found):
            raise InputError(f"{name}={path!r} holds a zero byte, which no name of a file can.")
        return found
    except UnicodeEncodeError:
        raise InputError(f"{name}={path!r} holds half a character, which no name of a file can.") from None
    except TypeError:
        raise InputTypeError(f"{name}={path!r} names no file or folder: give text or a pathlib.Path.") from None


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name in the folder of `path`, whose file takes the place of `path` at the end.

    It does so when it is on the disk, so that a machine that loses power has the old file or the new one. If the block
    raises, or is interrupted, the temporary file is removed and `path` stays as it was.

    Raises
    ------
    WriteError
        If the file cannot be written: the disk is full, or the folder cannot be written to.
    """
    path = as_path(path)
    if not path.name:
        raise WriteError(f"{str(path)!r} names no file to write: give the name of a file.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    except WriteError:
        raise
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        # Where nothing can be written nothing can be removed either, and the first error is the one that tells.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def making(folder: Path) -> Iterator[None]:
    """Make a folder, and those above it that lack; if the block raises, or is interrupted, none of them is left.

    Raises
    ------
    WriteError
        If a folder cannot be made.
    """
    made: list[Path] = []
    try:
        try:
            made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error
        yield
        made = []
    finally:
        for parent in made:
            with contextlib.suppress(OSError):  # not empty: someone else has put something there
                parent.rmdir()


def sync(path: Path) -> None:
    """Wait until a file is on the disk."""
    file = os.open(path, os.O_RDWR)  # Windows refuses to sync what was opened to be read
    try:
        os.fsync(file)
    finally:
        os.close(file)


def unwritable(path: Path, error: OSError) -> WriteError:
    """Return the error of a file that could not be written, and was left as it was."""
    return WriteError(
        f"{path} cannot be written ({error.strerror or error}): what was there before is unchanged; "
        "mend that, or give another place."
    )
