"""The folders of data sets, and the cache of downloads with their checksums."""

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
    # The XDG base directory specification requires that a relative path is ignored.
    return (Path(root) if Path(root).is_absolute() else Path.home() / ".cache") / "oneof"


def data_folders(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Return the folders to search, in order: `data_home`, `$ONEOF_DATA`, the user's cache.

    Raises
    ------
    DataError
        If `data_home` is not a folder.
    """
    folders = []
    if data_home is not None:
        folders.append(_expand_user(as_path(data_home, "data_home")))
        if not folders[0].is_dir():
            raise DataError(f"`data_home` must be a folder; {str(data_home)!r} is not a folder. Create it or omit it.")
    if named := os.environ.get("ONEOF_DATA"):
        folders.append(_expand_user(Path(named)))
    return [*folders, cache_folder()]


def _expand_user(path: Path) -> Path:
    """Replace a leading "~" by the home folder of the user, if that user exists."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def store(name: str, arrays: Arrays) -> Path:
    """Write a downloaded data set to the cache, together with its SHA-256.

    At every moment a reader finds the complete old file or the complete new one, with a matching checksum. This is
    true even after a crash or a power failure: while the file is replaced, the checksums of both files are stored. Two
    processes may store the same data set at once, since the same download gives the same bytes.
    """
    path = cache_folder() / f"{name}.npz"
    with create_directories(path.parent):
        with atomic_write(path) as temporary:
            with temporary.open("wb") as file:
                write_npz(file, arrays)
            new = _sha256(temporary)
            old = _read_checksums(path)
            if old is None:
                old = [_sha256(path)] if path.is_file() else []
            _write_checksums(path, [*old, new])
        _write_checksums(path, [new])
    return path


def _write_checksums(path: Path, digests: Sequence[str]) -> None:
    with atomic_write(checksum_path(path)) as temporary:
        temporary.write_text("".join(f"{digest}\n" for digest in digests), encoding="ascii")


def _read_checksums(path: Path) -> list[str] | None:
    """Return the accepted checksums of a file; None if no checksum is stored."""
    try:
        return checksum_path(path).read_text(encoding="ascii", errors="replace").split()
    except FileNotFoundError:
        return None


def verify(path: Path) -> None:
    """Raise if a file of the cache differs from the stored download; a file without a checksum is accepted.

    Raises
    ------
    DataError
        If the file was changed after the download.
    """
    before = _read_checksums(path)
    if before is None:
        return
    digest = _sha256(path)
    # The file may have been replaced after its checksums were read: then the current checksums are compared.
    if digest not in before and digest not in (_read_checksums(path) or ()):
        raise DataError(
            f"{path} was changed after it was downloaded (its SHA-256 is not the one in {checksum_path(path).name}). "
            "Delete it to download it again."
        )


def checksum_path(path: Path) -> Path:
    """Return the path of the SHA-256 of a file of the cache."""
    return path.with_name(path.name + ".sha256")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
