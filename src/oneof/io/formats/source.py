"""Files of a stream: one file, a folder of files of one format, or standard input."""

import gzip
import hashlib
import io
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oneof.errors import DataError
from oneof.files import as_path


def _text(*suffixes: str) -> tuple[str, ...]:
    """Return the suffixes of a format of text, whose files may be compressed."""
    return (*suffixes, *(f"{suffix}.gz" for suffix in suffixes))


FORMATS = {
    "csv": _text(".csv"),
    "tsv": _text(".tsv"),
    "jsonl": _text(".jsonl", ".ndjson"),
    "svmlight": _text(".svmlight", ".svm", ".libsvm"),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather", ".ipc"),
}
"""Formats of streams and the suffixes of their files."""
TABLE_FORMATS = {
    "csv": _text(".csv", ".txt"),  # such as the selection tables of Raven; in a folder, .txt may be a description
    **{name: FORMATS[name] for name in ("tsv", "parquet", "jsonl")},
    "npz": (".npz",),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
}
"""Formats of tables that are read at once."""
TEXT_FORMATS = ("csv", "tsv", "jsonl", "svmlight")

STANDARD_INPUT = Path("-")
HEAD_BYTES = 2**16
"""Number of bytes from which the properties of a file are detected."""
CHUNK_BYTES = 2**16
"""Number of bytes that are read at once."""
_MAX_MESSAGE = 200


@dataclass(frozen=True)
class Source:
    """Files of a stream, in the order in which they are read.

    Attributes
    ----------
    name : str
        The path as given by the user.
    files : tuple of Path
        ``Path("-")`` is standard input.
    format : str
        One of `FORMATS`.
    content : bytes, optional
        Content of the only file if it is in memory.
    can_be_read_again : bool
        Whether the rows can be read several times; False for standard input.
    display_name : str
        Name for messages.

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
    content: bytes | None = field(default=None, repr=False)

    @property
    def can_be_read_again(self) -> bool:
        """True if the rows can be read several times; False for standard input."""
        return self.files != (STANDARD_INPUT,)

    @property
    def display_name(self) -> str:
        """Name for messages."""
        return str(display_path(Path(self.name)))

    def identity(self) -> list[list[Any]]:
        """Return name, size, modification time and a hash of the first 64 KiB of each file, to detect changes.

        The identity of standard input is empty: its bytes are hashed while they are read (`RecordReader`).

        Returns
        -------
        list of list
            One entry per file.
        """
        entries: list[list[Any]] = []
        for file in self.files if self.can_be_read_again else ():
            with file.open("rb") as content:
                head, status = hashlib.sha256(content.read(HEAD_BYTES)).hexdigest(), os.fstat(content.fileno())
            entries.append([file.name, status.st_size, status.st_mtime_ns, head])
        return entries


def open_source(path: str | os.PathLike[str], format: str | None = None) -> Source:  # noqa: A002 - the option's name
    """Return the files of a stream and their format, without reading them.

    Parameters
    ----------
    path : str or path-like
        A file; a folder, whose files of a known format (also in subfolders, except hidden ones) are read in the order
        of their names; or "-", standard input.
    format : {"csv", "tsv", "jsonl", "svmlight", "parquet", "arrow"}, optional
        By default it is inferred from the suffix. It is required for standard input, which accepts the first four.

    Returns
    -------
    Source

    Raises
    ------
    DataError
        If the file does not exist, the folder has no such file, or the format is unknown or differs between files.

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
    return find_source(path, format, FORMATS)


def find_source(path: str | os.PathLike[str], format: str | None, formats: Mapping[str, tuple[str, ...]]) -> Source:  # noqa: A002 - as above
    """Return the files of a table or a stream, which has one of some formats; only a stream may be a folder."""
    path = as_path(path)
    if format is not None and (not isinstance(format, str) or format not in formats):
        raise DataError(f"the format must be one of {', '.join(formats)}; got {format!r}.")
    suffixes = ", ".join(suffix for known in formats.values() for suffix in known)
    if path == STANDARD_INPUT:
        if format not in TEXT_FORMATS:
            known = ", ".join(known for known in formats if known in TEXT_FORMATS)
            raise DataError(f"standard input needs a text format. Add --format with {known}.")
        return Source("-", (path,), format)
    if path.is_dir() and formats is FORMATS:
        files = sorted(file for file in path.rglob("*") if file.is_file() and (format or format_of(file)))
        files = [file for file in files if not any(part[0] in "._" for part in file.relative_to(path).parts)]
        if not files:
            raise DataError(f"the folder {path} has no file of a known format. The extensions are {suffixes}.")
    elif path.is_file():
        files = [path]
    elif path.exists():
        raise DataError(f"{path} is not a file. Name a file, or read a folder with --online.")
    else:
        raise DataError(f"the file {path} does not exist. Check its name and folder.")
    found = {format: path} if format else {format_of(file, formats): file for file in reversed(files)}
    if len(found) > 1:
        first, second = list(found.values())[:2]
        raise DataError(
            f"the files of {path} have several formats, for example {second.name} and {first.name}. Give --format."
        )
    [known_format] = found
    if known_format is None:
        matlab = " `oneof.datasets.load_mat` reads MATLAB files." * (path.suffix.lower() == ".mat")
        raise DataError(f"{path} has an unknown format. Give --format, or a file that ends in {suffixes}.{matlab}")
    return Source(str(path), tuple(files), known_format)


def open_standard_input() -> io.BufferedReader:
    """Return the bytes of standard input."""
    return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), CHUNK_BYTES)


def display_path(path: Path) -> Path:
    """Return the path of a file for messages."""
    return Path("standard input") if path == STANDARD_INPUT else path


def stem_of(path: Path) -> str:
    """Return the name of a table without its folder and suffix, for the names of output files."""
    name = "stdin" if path in (STANDARD_INPUT, display_path(STANDARD_INPUT)) else path.name
    return Path(name[:-3] if name.lower().endswith(".gz") else name).stem


def format_of(path: Path, formats: Mapping[str, tuple[str, ...]] = FORMATS) -> str | None:
    """Return the format given by the suffix of a file's name, or None."""
    name = path.name.lower()
    return next((known for known, suffixes in formats.items() if name.endswith(suffixes)), None)


@contextmanager
def file_errors_as_data_errors(path: Path) -> Iterator[None]:
    """Raise errors of the file system, and of damaged gzip, as a DataError."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path} is damaged or truncated ({str(error).rstrip('.')}). Compress it again, or download it again."
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None


@contextmanager
def polars_errors_as_data_errors(path: Path) -> Iterator[None]:
    """Raise errors of polars (including panics on damaged files) and of the file system as a DataError."""
    import polars as pl

    try:
        with file_errors_as_data_errors(path):
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"{path} cannot be read: {line[:_MAX_MESSAGE].rstrip('.')}.") from None
