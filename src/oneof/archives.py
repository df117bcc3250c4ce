"""Zip archives, and the arrays in them, which are not believed when they say how large they are.

A few kilobytes of a zip file can unfold to terabytes, and a few bytes of an array's header can ask for as much. So
what an archive holds is added up before any of it is unfolded.
"""

import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from oneof.errors import DataError

GZIP = b"\x1f\x8b"
"""How files of gzip begin."""
MOST_BYTES = 2**30
"""An archive may unfold to so much, 1 GiB, whatever its own size."""
MOST_FOLD = 100
"""It may unfold to so many times its own size where that is more; compressed zeros reach 1,000."""

_LAST_LETTER = 0x10FFFF
_HALVES = (0xD800, 0xE000)
"""Halves of characters, which are no text."""
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def unfolds_too_far(n_bytes: float, held: int) -> bool:
    """Tell whether a file of `held` bytes that asks for so many is taken for an attack, or for damage."""
    return n_bytes > max(MOST_BYTES, MOST_FOLD * held)


def check_size(n_bytes: float, held: int, what: str) -> None:
    """Raise if a file of `held` bytes asks for more than it can be trusted with.

    Raises
    ------
    DataError
    """
    if unfolds_too_far(n_bytes, held):
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
            if ((letters > _LAST_LETTER) | ((letters >= _HALVES[0]) & (letters < _HALVES[1]))).any():
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
