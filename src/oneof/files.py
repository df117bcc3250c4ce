"""Paths, and atomic writes of files and folders."""

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from oneof.errors import DataError, InputError, InputTypeError, WriteError


def as_path(path: Any, name: str = "path") -> Path:
    """Return a path from a string or a path-like object.

    Raises
    ------
    InputTypeError
        If it is neither a string nor a path-like object.
    InputError
        If the system does not allow files of this name.
    """
    try:
        result = Path(path)
        if b"\0" in os.fsencode(result):
            raise InputError(f"`{name}` must be a file name without zero bytes; got {path!r}.")
        return result
    except UnicodeEncodeError:
        raise InputError(f"`{name}` must be a file name without lone surrogates; got {path!r}.") from None
    except TypeError:
        raise InputTypeError(f"`{name}` must be a string or a pathlib.Path; got {path!r}.") from None


def hash_file(path: Path) -> str | None:
    """Return the SHA-256 of the content of a file; None for a folder, a pipe, or a file that is gone."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return None


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file atomically: yield a temporary path whose file replaces `path` at the end of the block.

    The temporary file is flushed to the disk first, so that after a power failure either the old file or the new one
    exists in full. If the block raises or is interrupted, the temporary file is removed and `path` is unchanged. A
    symbolic link stays, and its target is replaced. A device or a pipe, such as /dev/null, is written to at the end.

    Raises
    ------
    WriteError
        If the file cannot be written, because the disk is full or the folder is read-only.
    """
    path = as_path(path)
    if not path.name:
        raise WriteError(f"`path` must name a file; got {str(path)!r}.")
    target = path.resolve() if path.is_symlink() else path
    is_special = target.exists() and not target.is_file() and not target.is_dir()
    folder = Path(tempfile.gettempdir()) if is_special else target.parent
    temporary = folder / f".{target.name}.{secrets.token_hex(4)}.tmp"
    try:
        with _write_errors(path):
            yield temporary
            if is_special:
                with temporary.open("rb") as content, target.open("wb") as stream:
                    shutil.copyfileobj(content, stream)
            else:
                fsync(temporary)
                temporary.replace(target)
    finally:
        # On a read-only disk the removal fails too, but the first error is the informative one.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def create_directories(folder: Path) -> Iterator[None]:
    """Create a folder and its missing parents; remove them again if the block raises or is interrupted.

    Raises
    ------
    WriteError
        If a folder cannot be created.
    """
    created: list[Path] = []
    try:
        with _write_errors(folder):
            created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
            folder.mkdir(parents=True, exist_ok=True)
        yield
        created = []
    finally:
        for parent in created:
            with suppress(OSError):  # not empty: another process has written to it
                parent.rmdir()


def fsync(path: Path) -> None:
    """Flush a file to the disk."""
    file = os.open(path, os.O_RDWR)  # Windows cannot flush a file that is open for reading only
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_error(path: Path, error: OSError) -> WriteError:
    """Return the error for a file that could not be written and is unchanged."""
    return WriteError(
        f"{path} cannot be written ({error.strerror or error}). Its previous content is unchanged. Free disk space, "
        "check the permissions or choose another path."
    )


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Raise system errors as `write_error` of a path; a WriteError has a path already."""
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        raise write_error(path, error) from error


def check_writable(folder: Path) -> None:
    """Raise if files cannot be written to `folder`, which may not exist yet; nothing remains in it."""
    existing = folder.absolute()
    while not existing.exists() and not existing.is_symlink():
        existing = existing.parent
    if not existing.is_dir():
        raise DataError(f"cannot create the folder {folder}: {existing} is a file.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise DataError(f"{folder} cannot be written to: no write permission for {existing}.")
    with _write_errors(folder):
        tempfile.TemporaryDirectory(dir=existing).cleanup()  # some file systems accept no files from anyone


def check_not_input(output: Path, inputs: Iterable[Path], option: str = "--out") -> None:
    """Raise if an output file, named by `option`, is one of the input files, which would be overwritten."""
    if output.resolve() in {path.resolve() for path in inputs}:
        raise DataError(f"{output} is an input file and would be overwritten. Choose another {option}.")


@contextmanager
def atomic_directory(folder: Path) -> Iterator[Path]:
    """Yield an empty folder whose files are moved into `folder` at the end, replacing files of the same names.

    If the block raises or is interrupted, `folder` stays unchanged or absent.
    """
    check_writable(folder)
    _remove_stale(folder)
    with create_directories(folder), _staging_folder(folder) as stage:
        yield stage
        for file in sorted(stage.iterdir()):
            fsync(file)
        for file in sorted(stage.iterdir()):
            file.replace(folder / file.name)


@contextmanager
def _staging_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder within `folder`, and remove it; its errors are reported as errors of `folder`."""
    with _write_errors(folder):
        stage, lock = _new_stage(folder)
    try:
        yield stage
    except WriteError as error:  # its message names a file of the staging folder, which the user has not chosen
        raise WriteError(str(error).replace(str(stage), str(folder))) from error
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(str(stage)):
            raise write_error(folder, error) from error
        raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if lock is not None:
            os.close(lock)


_STAGE_PREFIX = ".oneof-unfinished-"


def _new_stage(folder: Path) -> tuple[Path, int | None]:
    """Make an empty folder and lock it; the lock ends with the process, even if the process is killed."""
    while True:
        stage = Path(tempfile.mkdtemp(prefix=_STAGE_PREFIX, dir=folder))
        lock = _lock(stage, wait=True)
        if stage.exists():  # another process may have removed it as stale before it was locked
            return stage, lock
        if lock is not None:
            os.close(lock)


def _remove_stale(folder: Path) -> None:
    """Remove the staging folders of killed processes, which are not locked."""
    for stage in folder.glob(f"{_STAGE_PREFIX}*"):
        lock = _lock(stage, wait=False)
        if lock is not None:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(lock)


def _lock(stage: Path, *, wait: bool) -> int | None:
    """Lock a folder and return the open file, or None if another process has the lock or locks are unsupported."""
    try:
        import fcntl

        file = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, OSError):  # no such module on Windows
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(file)
        return None
    return file
