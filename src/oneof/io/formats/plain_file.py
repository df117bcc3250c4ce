"""Plain files for the readers of tables: compressed files, standard input and spreadsheets are copied first."""

import gzip
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from oneof.archives import GZIP, check_size
from oneof.errors import DataError
from oneof.io.formats import excel
from oneof.io.formats.source import CHUNK_BYTES, STANDARD_INPUT, display_path, open_standard_input


@dataclass(frozen=True)
class PlainFile:
    """File whose rows a reader of its format can read.

    Attributes
    ----------
    path : Path
        The file itself, or a temporary copy.
    format : str
    notes : list of str
        Sentences about the content that was not copied.
    """

    path: Path
    format: str
    notes: list[str] = field(default_factory=list)


@contextmanager
def plain_file(path: Path, format: str, sheet: str | None = None) -> Iterator[PlainFile]:  # noqa: A002 - the option's name
    """Yield a file without compression, for a format of `oneof.io.table`.

    Parameters
    ----------
    path : Path
        A file, or "-", standard input.
    format : str
        The format of the content; "excel" becomes "csv".
    sheet : str, optional
        The sheet of a spreadsheet; by default the first one.

    Raises
    ------
    DataError
        If the content is damaged, is empty, or would expand to an implausible size.
    MissingExtraError
        If a package that reads spreadsheets is not installed.
    """
    if sheet is not None and format != "excel":
        raise DataError(f"--sheet needs a spreadsheet; {display_path(path)} is not one.")
    is_copied = path == STANDARD_INPUT or format == "excel" or path.suffix.lower() == ".gz"
    if not is_copied:
        yield PlainFile(path, format)
        return
    with tempfile.TemporaryDirectory(prefix="oneof-") as folder:
        copy = Path(folder) / f"oneof-copy.{format}"
        if format == "excel":
            yield PlainFile(copy, "csv", excel.write_sheet(path, sheet, copy))
        else:
            _copy(path, copy)
            yield PlainFile(copy, format)


def _copy(path: Path, target: Path) -> None:
    """Copy a file or standard input, decompressed."""
    name = display_path(path)
    try:
        if path == STANDARD_INPUT:
            with open_standard_input() as content, target.open("wb") as file:
                if content.peek(2)[:2] == GZIP:
                    _decompress(content, file, name)
                else:
                    while chunk := content.read(CHUNK_BYTES):
                        file.write(chunk)
        else:
            with path.open("rb") as content, target.open("wb") as file:
                _decompress(content, file, name)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{name} is damaged or truncated ({str(error).rstrip('.')}). Compress it again, or download it again."
        ) from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}.") from None


class _CountedFile:
    """File of bytes that counts the bytes that were read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.n_read = 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.n_read += len(content)
        return content


def _decompress(content: BinaryIO, target: BinaryIO, name: Path) -> None:
    """Write the content of a gzip file, unless it expands to an implausible size."""
    counted, n_bytes = _CountedFile(content), 0
    with gzip.GzipFile(fileobj=counted) as file:  # type: ignore[call-overload]  # only `read` is called
        while chunk := file.read(CHUNK_BYTES):
            n_bytes += len(chunk)
            check_size(n_bytes, counted.n_read, f"{name}: its content")
            target.write(chunk)
