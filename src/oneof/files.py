"""Atomic file writes, and reading of archives whose declared sizes are not trusted."""

import contextlib
import itertools
import math
import os
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from oneof.errors import DataError, InputError, InputTypeError, WriteError
from oneof.typing import Labels, Mask


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
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
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
        fsync(temporary)
        temporary.replace(path)
    except WriteError:
        raise
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        # Where nothing can be written nothing can be removed either, and the first error is the one that tells.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def create_directories(folder: Path) -> Iterator[None]:
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
            raise write_error(folder, error) from error
        yield
        made = []
    finally:
        for parent in made:
            with contextlib.suppress(OSError):  # not empty: someone else has put something there
                parent.rmdir()


def fsync(path: Path) -> None:
    """Wait until a file is on the disk."""
    file = os.open(path, os.O_RDWR)  # Windows refuses to sync what was opened to be read
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_error(path: Path, error: OSError) -> WriteError:
    """Return the error of a file that could not be written, and was left as it was."""
    return WriteError(
        f"{path} cannot be written ({error.strerror or error}): what was there before is unchanged; "
        "mend that, or give another place."
    )


def check_writable(folder: Path) -> None:
    """Raise if files cannot be written to `folder`, which may not exist yet; nothing is written."""
    existing = folder.absolute()
    while not existing.exists() and not existing.is_symlink():
        existing = existing.parent
    if not existing.is_dir():
        raise DataError(f"cannot create the folder {folder}: {existing} is a file.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise DataError(f"cannot write to {folder}: no write permission for {existing}.")


def check_not_input(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Raise if an output file is one of the input files, which would be overwritten."""
    resolved = {path.resolve() for path in inputs}
    for path in outputs:
        if path.resolve() in resolved:
            raise DataError(f"{path} is an input file and would be overwritten: choose another --out.")


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
    stage: Path | None = None
    lock: int | None = None
    try:
        stage, lock = _new_stage(folder)
        yield stage
    except WriteError as error:  # its message names a file of the staging folder, which the user has not chosen
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


GZIP = b"\x1f\x8b"
"""How files of gzip begin."""
MAX_BYTES = 2**30
"""An archive may unfold to so much, 1 GiB, whatever its own size."""
MAX_COMPRESSION_RATIO = 100
"""It may unfold to so many times its own size where that is more; compressed zeros reach 1,000."""

_MAX_CODE_POINT = 0x10FFFF
_SURROGATES = (0xD800, 0xE000)
"""Halves of characters, which are no text."""
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def exceeds_compression_ratio(n_bytes: float, held: int) -> bool:
    """Tell whether a file of `held` bytes that asks for so many is taken for an attack, or for damage."""
    return n_bytes > max(MAX_BYTES, MAX_COMPRESSION_RATIO * held)


def check_size(n_bytes: float, held: int, what: str) -> None:
    """Raise if a file of `held` bytes asks for more than it can be trusted with.

    Raises
    ------
    DataError
    """
    if exceeds_compression_ratio(n_bytes, held):
        raise DataError(
            f"{what} would take {n_bytes / 1e9:,.1f} GB, {n_bytes / max(held, 1):,.0f} times the size of the file: if "
            "it is what it should be, save it uncompressed."
        )


def check_members(archive: zipfile.ZipFile, held: int) -> None:
    """Raise if what an archive of `held` bytes holds is too large altogether."""
    check_size(sum(member.file_size for member in archive.infolist()), held, "what it holds")


def check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[int, ...]:
    """Return the shape of a plain array; raise unless it is as large as it says, and text is text.

    Of numbers only the header is read.

    Raises
    ------
    DataError
    """
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version not in _READERS:
            raise DataError(f"{member.filename} is in form {version} of .npy, which plain arrays do not have")
        shape, _, dtype = _READERS[version](file)
        if dtype.hasobject:
            raise DataError(f"{member.filename} holds pickled objects, which are never opened")
        n_cells = math.prod(shape)
        if min(shape, default=0) < 0 or n_cells * dtype.itemsize != member.file_size - file.tell():
            raise DataError(f"{member.filename} is not as large as its header says")
        if n_cells and not dtype.itemsize:
            raise DataError(f"{member.filename} holds {n_cells} cells of nothing")
        if dtype.kind == "U":  # NumPy makes text of any four bytes, and Python has no letters beyond these
            letters = np.frombuffer(file.read(), dtype=np.dtype(np.uint32).newbyteorder(dtype.byteorder))
            if ((letters > _MAX_CODE_POINT) | ((letters >= _SURROGATES[0]) & (letters < _SURROGATES[1]))).any():
                raise DataError(f"{member.filename} holds text in which some letters are none")
        return tuple(shape)


def read_arrays(path: Path, wanted: Callable[[str], bool] = lambda _: True) -> dict[str, np.ndarray[Any, Any]]:
    """Read the plain arrays of an .npz file; pickles are never opened.

    Parameters
    ----------
    path : Path
    wanted : callable
        Tells whether to read the array of a name; other members are left alone.

    Raises
    ------
    DataError
        If the file is damaged, is no such archive, or would not fit in memory; the message does not name the path.
    OSError
        If the file cannot be read.
    """
    with _members(path, wanted) as (archive, found):
        check_size(sum(member.file_size for member in found.values()), path.stat().st_size, "what it holds")
        arrays = {}
        for key, member in found.items():
            check_array(archive, member)
            with archive.open(member) as content:
                arrays[key] = np.lib.format.read_array(content, allow_pickle=False)
                content.read()  # its checksum is compared at the end of a member
        return arrays


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of an .npz file, without reading them; errors are those of `read_arrays`."""
    with _members(path, lambda _: True) as (archive, found):
        return {key: check_array(archive, member) for key, member in found.items()}


@contextmanager
def _members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            names = {name.removesuffix(".npy"): name for name in archive.namelist() if name.endswith(".npy")}
            yield archive, {key: archive.getinfo(name) for key, name in names.items() if wanted(key)}
    except (DataError, OSError):
        raise
    except Exception as error:  # NumPy and zipfile raise whatever the damaged bytes lead them to
        raise DataError(" ".join(str(error).split()).rstrip(".") or type(error).__name__) from error


_Array = np.ndarray[Any, Any]


def unpack_texts(text: _Array, offsets: _Array) -> list[str]:
    """Return the texts of all rows, whose UTF-8 bytes are joined in `text`; row i lies between offsets i and i + 1.

    Raises
    ------
    DataError
        If the arrays are of another kind, do not fit together, or a text is not UTF-8.
    """
    if text.ndim != 1 or text.dtype != np.uint8:
        raise DataError(f"text has shape {text.shape} and type {text.dtype}, expected the bytes of all rows.")
    sound = offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets) > 0
    ends = offsets.tolist() if sound else []
    if not sound or ends[0] != 0 or ends[-1] != len(text) or any(a > b for a, b in itertools.pairwise(ends)):
        raise DataError(f"text_offsets does not cut the {len(text)} bytes of text into rows.")
    content, texts = text.tobytes(), []
    for row, (start, end) in enumerate(itertools.pairwise(ends)):
        try:
            texts.append(content[start:end].decode())
        except UnicodeDecodeError:
            raise DataError(f"the text of row {row} is not UTF-8: save it as UTF-8.") from None
    return texts


def unpack_masks(packed: _Array, n_rows: int, n_classes: int) -> Mask:
    """Return the (n_rows, n_classes) mask whose bits `np.packbits(mask, axis=1)` has packed.

    Raises
    ------
    DataError
        If the array is of another kind.
    """
    expected = (n_rows, -(-n_classes // 8))
    if packed.shape != expected or packed.dtype != np.uint8:
        raise DataError(
            f"candidates has shape {packed.shape} and type {packed.dtype}, expected the packed bits of {n_classes} "
            f"classes: uint8 of {expected}, as np.packbits(mask, axis=1) makes them."
        )
    return np.unpackbits(packed, axis=1, count=n_classes).astype(bool)


def unpack_classes(classes: _Array) -> Labels:
    """Return the names of the classes, text or whole numbers.

    Raises
    ------
    DataError
        If the array is of another kind, or names none.
    """
    if classes.ndim != 1 or classes.dtype.kind not in "Uiu" or not len(classes):
        raise DataError(f"classes has shape {classes.shape} and type {classes.dtype}, expected a vector of names.")
    return classes
