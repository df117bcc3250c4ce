"""Plain files for the readers of tables: compressed files, standard input and spreadsheets are copied first."""

import gzip
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from oneof.archives import GZIP, check_size
from oneof.errors import DataError
from oneof.io.formats import excel
from oneof.io.formats.source import (
    CHUNK_BYTES,
    STANDARD_INPUT,
    Source,
    display_path,
    file_errors_as_data_errors,
    open_standard_input,
)


@contextmanager
def plain_file(source: Source, sheet: str | None = None) -> Iterator[tuple[Source, list[str]]]:
    """Yield the file of a table without compression, and notes about the content that was not copied.

    Parameters
    ----------
    source : Source
        A file, or standard input; a spreadsheet becomes a CSV file.
    sheet : str, optional
        The sheet of a spreadsheet; by default the first one.

    Raises
    ------
    DataError
        If the content is damaged, is empty, or would expand to an implausible size.
    MissingExtraError
        If a package that reads spreadsheets is not installed.
    """
    [path] = source.files
    name = display_path(path)
    if sheet is not None and source.format != "excel":
        raise DataError(f"--sheet needs a spreadsheet; {name} is not one.")
    if path != STANDARD_INPUT and source.format != "excel" and path.suffix.lower() != ".gz":
        yield source, []
        return
    with tempfile.TemporaryDirectory(prefix="oneof-") as folder:
        if source.format == "excel":
            copy = Path(folder, "oneof-copy")
            notes = excel.write_sheet(path, sheet, copy)
            yield replace(source, files=(copy,), format="csv", display=name), notes
        else:
            yield replace(source, files=(_copy(path, Path(folder), name),), display=name), []


def _copy(path: Path, folder: Path, name: Path) -> Path:
    """Copy standard input, decompress it or a file unless it expands to an implausible size, and return the copy."""
    copy = folder / "oneof-copy"
    with file_errors_as_data_errors(name):
        if path == STANDARD_INPUT:
            path = folder / "oneof-copy-of-input"
            with open_standard_input() as content, path.open("wb") as raw:
                shutil.copyfileobj(content, raw)
            with path.open("rb") as raw:
                if raw.read(len(GZIP)) != GZIP:
                    return path
        size = path.stat().st_size
        with gzip.open(path) as content, copy.open("wb") as file:
            while chunk := content.read(CHUNK_BYTES):
                check_size(file.tell() + len(chunk), size, f"{name}: its content")
                file.write(chunk)
    return copy
