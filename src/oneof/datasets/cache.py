"""The folders in which data sets lie, and the cache of downloads with its checksums."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from oneof.datasets.npz import Arrays, write_npz
from oneof.errors import DataError
from oneof.files import as_path, atomic_write, create_directories


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

    At every moment a reader sees the old file or the new one, whole, beside a checksum that fits it; so does whoever
    comes after a kill or a loss of power. For that the checksums of both are there while the file is replaced. Two
    processes that store a set at once do no harm, since the same download gives the same bytes.
    """
    path = cache_folder() / f"{name}.npz"
    with create_directories(path.parent):
        with atomic_write(path) as written:
            with written.open("wb") as file:
                write_npz(file, arrays)
            new = _digest(written)
            old = _listed(path)
            if old is None:
                old = [_digest(path)] if path.is_file() else []
            _list(path, [*old, new])
        _list(path, [new])
    return path


def _list(path: Path, digests: Sequence[str]) -> None:
    with atomic_write(checksum_path(path)) as written:
        written.write_text("".join(f"{digest}\n" for digest in digests), encoding="ascii")


def _listed(path: Path) -> list[str] | None:
    """Return the checksums of which a file should have one; None where it need have none."""
    try:
        return checksum_path(path).read_text(encoding="ascii", errors="replace").split()
    except FileNotFoundError:
        return None


def verify(path: Path) -> None:
    """Raise if a file of the cache is not what was stored; a file that the user put there has no checksum.

    Raises
    ------
    DataError
        If the file was changed since.
    """
    before = _listed(path)
    if before is None:
        return
    found = _digest(path)
    # The file may have been replaced since its checksums were read: then those that are there by now tell.
    if found not in before and found not in (_listed(path) or ()):
        raise DataError(
            f"{path} was changed since it was downloaded (its SHA-256 is not the one in {checksum_path(path).name}): "
            "delete it, and it will be downloaded again."
        )


def checksum_path(path: Path) -> Path:
    """Return where the SHA-256 of a file of the cache is kept."""
    return path.with_name(path.name + ".sha256")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
