"""Plain files for the readers of tables: compressed files, standard input and spreadsheets are copied first."""

import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from oneof.errors import DataError
from oneof.files import GZIP, check_size
from oneof.io.formats import excel
from oneof.io.formats.source import STANDARD_INPUT, display_path

_CHUNK = 2**20


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
    """Yield a file without compression, for a format of `oneof.io.table`; errors about a copy name the original.

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
        try:
            if format == "excel":
                yield PlainFile(copy, "csv", excel.write_sheet(path, sheet, copy))
            else:
                _copy(path, copy)
                yield PlainFile(copy, format)
        except DataError as error:
            reason, source = (
                None if text is None else text.replace(str(copy), str(display_path(path))).replace(copy.name, path.name)
                for text in (error.reason, error.source)
            )
            raise DataError(str(reason), source=source, row=error.row, column=error.column) from None


def _copy(path: Path, target: Path) -> None:
    """Copy a file or standard input, decompressed."""
    name = display_path(path)
    try:
        if path == STANDARD_INPUT:
            with read_standard_input() as content:
                is_compressed = content.peek(2)[:2] == GZIP
                with target.open("wb") as file:
                    shutil.copyfileobj(gzip.GzipFile(fileobj=content) if is_compressed else content, file, _CHUNK)
            return
        with gzip.open(path, "rb") as content, target.open("wb") as file:
            _copy_bounded(content, file, path)  # type: ignore[arg-type]  # a reader of bytes like any other
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{name} is damaged or truncated ({str(error).rstrip('.')}). Compress it again, or download it again."
        ) from None


def read_standard_input() -> io.BufferedReader:
    """Return the bytes of standard input."""
    return open(sys.stdin.fileno(), "rb", closefd=False)


def _copy_bounded(content: BinaryIO, file: BinaryIO, path: Path) -> None:
    n_bytes, size = 0, path.stat().st_size
    while chunk := content.read(_CHUNK):
        n_bytes += len(chunk)
        check_size(n_bytes, size, f"{path}: its content")
        file.write(chunk)
