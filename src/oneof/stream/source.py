"""Where a stream comes from: one file, a folder of files of one format, or standard input."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oneof.errors import DataError
from oneof.files import as_path

FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv",),
    "jsonl": (".jsonl", ".ndjson"),
    "svmlight": (".svmlight", ".svm", ".libsvm"),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather", ".ipc"),
}
"""The formats, with the ends of their files' names; those of text also with .gz behind."""
OF_TEXT = ("csv", "tsv", "jsonl", "svmlight")

STANDARD_INPUT = Path("-")
_HEAD = 2**16


@dataclass(frozen=True)
class Source:
    """The files of a stream, in the order in which they are read.

    Attributes
    ----------
    name : str
        What the user called it.
    files : tuple of Path
        ``Path("-")`` is standard input.
    format : str
        One of `FORMATS`.

    Examples
    --------
    >>> from oneof.stream import open_source
    >>> source = open_source("-", "csv")
    >>> source.format, source.can_be_read_again
    ('csv', False)
    """

    name: str
    files: tuple[Path, ...]
    format: str

    @property
    def can_be_read_again(self) -> bool:
        """Whether the rows are still there once they were read: not so for standard input."""
        return self.files != (STANDARD_INPUT,)

    @property
    def shown(self) -> str:
        """What messages call it."""
        return self.name if self.can_be_read_again else str(shown(STANDARD_INPUT))

    def identity(self) -> list[list[Any]]:
        """Return name, size, time of change and a hash of the first 64 KiB of each file, to tell whether one changed.

        For standard input it is empty: what was read of it is hashed as it is read (`oneof.stream.lines`).

        Returns
        -------
        list of list
            An entry a file.
        """
        return [_identify(file) for file in self.files] if self.can_be_read_again else []


def open_source(path: str | os.PathLike[str], format: str | None = None) -> Source:  # noqa: A002 - the option's name
    """Find the files of a stream and their format; nothing is read yet.

    Parameters
    ----------
    path : str or path-like
        A file; a folder, whose files of a known format (and all below it, but for hidden ones) are read in the order of
        their names; or "-", standard input.
    format : {"csv", "tsv", "jsonl", "svmlight", "parquet", "arrow"}, optional
        By default the end of the name says it. Standard input has no name, and takes the first four.

    Returns
    -------
    Source

    Raises
    ------
    DataError
        If there is no such file, no file in the folder, or its format is not known or not the same for all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from oneof.stream import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv", ".hidden"):
    ...         _ = pathlib.Path(folder, name).write_text("span,species")
    ...     source = open_source(folder)
    >>> source.format, [file.name for file in source.files]
    ('csv', ['a.csv', 'b.csv'])
    """
    path = as_path(path)
    if format is not None and (not isinstance(format, str) or format not in FORMATS):
        raise DataError(f"there is no format {format!r}: choose from {', '.join(FORMATS)}.")
    if path == STANDARD_INPUT:
        if format not in OF_TEXT:
            raise DataError(f"standard input needs a format of text: add --format with one of {', '.join(OF_TEXT)}.")
        return Source("-", (path,), format)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(path)))
        files = [file for file in files if format is not None or format_of(file) is not None]
        if not files:
            raise DataError(f"{path} holds no file of a known format: {_suffixes()}.")
    elif path.is_file():
        files = [path]
    else:
        raise DataError(f"there is no file {path}.")
    return Source(str(path), tuple(files), format or _common_format(path, files))


def shown(path: Path) -> Path:
    """Return what messages call a file of a stream."""
    return Path("standard input") if path == STANDARD_INPUT else path


def format_of(path: Path) -> str | None:
    """Return the format that the end of a file's name says, or None."""
    name = path.name.lower()
    text = name.removesuffix(".gz")
    for known, suffixes in FORMATS.items():
        if (text if known in OF_TEXT else name).endswith(suffixes):
            return known
    return None


def _common_format(path: Path, files: Sequence[Path]) -> str:
    formats = {format_of(file): file for file in reversed(files)}
    if None in formats:
        raise DataError(f"{path} is of an unknown format: give --format, or a file that ends in {_suffixes()}.")
    if len(formats) > 1:
        first, second = list(formats.values())[:2]
        raise DataError(f"{path} holds files of several formats, as {second.name} and {first.name}: give --format.")
    return str(next(iter(formats)))


def _suffixes() -> str:
    return ", ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _identify(file: Path) -> list[Any]:
    with file.open("rb") as content:
        head = hashlib.sha256(content.read(_HEAD)).hexdigest()
        facts = os.fstat(content.fileno())
    return [file.name, facts.st_size, facts.st_mtime_ns, head]
