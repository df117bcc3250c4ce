"""The folders of data sets, and the cache of downloads, whose file names have the SHA-256 of their content."""

import hashlib
import io
import os
import re
from pathlib import Path

import numpy as np

from oneof.datasets.npz import Arrays
from oneof.errors import DataError
from oneof.files import as_path, atomic_write, create_directories, hash_file

_DOWNLOAD = re.compile(r"(.+)\.([0-9a-f]{64})")
"""Name of a downloaded file without its suffix: the name of the data set, and the SHA-256 of the file."""


def cache_folder() -> Path:
    """Return the user's cache: `$XDG_CACHE_HOME/oneof`, else `~/.cache/oneof`."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification requires that a relative path is ignored.
    return (Path(root) if Path(root).is_absolute() else Path.home() / ".cache") / "oneof"


def data_folders(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Return the folders to search, in order: `data_home`, `$ONEOF_DATA`, the user's cache.

    Raises
    ------
    DataError
        If `data_home` is not a folder.
    """
    given = [] if data_home is None else [as_path(data_home, "data_home")]
    named = [Path(folder)] if (folder := os.environ.get("ONEOF_DATA")) else []
    # Unlike Path.expanduser, this leaves the name of an unknown user unchanged.
    folders = [Path(os.path.expanduser(folder)) for folder in given + named]  # noqa: PTH111
    if given and not folders[0].is_dir():
        raise DataError(f"`data_home` must be a folder; {str(data_home)!r} is not a folder. Create it or omit it.")
    return [*folders, cache_folder()]


def find_files(data_home: str | os.PathLike[str] | None) -> dict[str, Path]:
    """Return the stored files by the name of the data set; of several files, the one in the first folder."""
    files: dict[str, Path] = {}
    for folder in data_folders(data_home):
        for path in sorted(folder.glob("*.npz")):
            if path.is_file() and not path.name.startswith("."):
                download = _DOWNLOAD.fullmatch(path.stem)
                files.setdefault(download[1] if download else path.stem, path)
    return files


def store(name: str, arrays: Arrays) -> None:
    """Write a downloaded data set to the cache, in one step: a reader finds no file or the complete one.

    Two processes may store the same data set at once, since the same download gives the same bytes.
    """
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    path = cache_folder() / f"{name}.{hashlib.sha256(content.getvalue()).hexdigest()}.npz"
    with create_directories(path.parent), atomic_write(path) as temporary:
        temporary.write_bytes(content.getvalue())


def verify(path: Path) -> None:
    """Raise if a downloaded file was changed; a file of the user has no checksum in its name, and is accepted."""
    download = _DOWNLOAD.fullmatch(path.stem)
    if download and hash_file(path) != download[2]:
        raise DataError(
            f"{path} was changed after it was downloaded (its SHA-256 is not the one in its name). Delete it to "
            "download it again."
        )
