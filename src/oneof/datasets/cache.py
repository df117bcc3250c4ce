"""The folders in which data sets lie, and the cache of downloads with its checksums."""

import hashlib
import os
import tempfile
from pathlib import Path

from oneof.datasets.npz import Arrays, write_npz
from oneof.errors import DataError
from oneof.files import as_path


def cache_folder() -> Path:
    """Return the user's cache: `$XDG_CACHE_HOME/oneof`, else `~/.cache/oneof`."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path is to be ignored, says the XDG base directory specification.
    return (Path(root) if Path(root).is_absolute() else Path.home() / ".cache") / "oneof"


def data_folders(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Return the folders to look in, first come first served: `data_home`, `$ONEOF_DATA`, the user's cache."""
    folders = []
    if data_home is not None:
        folders.append(_at_home(as_path(data_home, "data_home")))
        if not folders[0].is_dir():
            raise DataError(f"data_home={str(data_home)!r} is not a folder: create it, or leave data_home out.")
    if named := os.environ.get("ONEOF_DATA"):
        folders.append(_at_home(Path(named)))
    return [*folders, cache_folder()]


def _at_home(path: Path) -> Path:
    """Return a path with the folder of a user in place of "~"; as it is where there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def store(name: str, arrays: Arrays) -> Path:
    """Write a downloaded data set to the cache, together with its SHA-256.

    Both files get their names only when they are complete, the checksum first: there is never a moment at which a
    reader could see half a file, or a file that its checksum does not fit.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.npz"
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as scratch:
        written, checksum = Path(scratch) / path.name, Path(scratch) / "sha256"
        with written.open("wb") as file:
            write_npz(file, arrays)
        checksum.write_text(_digest(written) + "\n", encoding="ascii")
        checksum.replace(checksum_path(path))
        written.replace(path)
    return path


def verify(path: Path) -> None:
    """Raise if a file of the cache is not what was stored; a file that the user put there has no checksum.

    Raises
    ------
    DataError
        If the file was changed since.
    """
    beside = checksum_path(path)
    if not beside.is_file():
        return
    if beside.read_text(encoding="ascii", errors="replace").strip() != _digest(path):
        raise DataError(
            f"{path} was changed since it was downloaded (its SHA-256 is not the one in {beside.name}): "
            "delete it, and it will be downloaded again."
        )


def checksum_path(path: Path) -> Path:
    """Return where the SHA-256 of a file of the cache is kept."""
    return path.with_name(path.name + ".sha256")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
