"""Plain files for the readers of tables: compressed files, standard input and spreadsheets are copied first.

A sheet becomes a CSV file, whose columns are inferred as those of any other CSV file. fastexcel (calamine) reads the
values that the spreadsheet program saved; it computes no formula, runs no macro and follows no link. The text of a
number has nine decimals at most there, so numbers are read a second time.
"""

import gzip
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.archives import GZIP, check_members, check_size
from oneof.errors import DataError, MissingExtraError
from oneof.io.columns import format_names
from oneof.io.formats.source import (
    CHUNK_BYTES,
    STANDARD_INPUT,
    Source,
    display_path,
    file_errors_as_data_errors,
    open_standard_input,
)

if TYPE_CHECKING:
    import polars as pl


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
    name, is_sheet = display_path(path), source.format == "excel"
    if path != STANDARD_INPUT and not is_sheet and path.suffix.lower() != ".gz":
        yield source, []
        return
    with tempfile.TemporaryDirectory(prefix="oneof-") as folder:
        copy = Path(folder, "oneof-copy")
        notes = _write_sheet(path, sheet, copy) if is_sheet else []
        copy = copy if is_sheet else _copy(path, copy, name)
        yield replace(source, files=(copy,), format="csv" if is_sheet else source.format, display=name), notes


def _copy(path: Path, copy: Path, name: Path) -> Path:
    """Copy standard input, decompress it or a file unless it expands to an implausible size, and return the copy."""
    with file_errors_as_data_errors(name):
        if path == STANDARD_INPUT:
            path = copy.with_suffix(".input")
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


def _write_sheet(path: Path, sheet: str | None, target: Path) -> list[str]:
    """Write a sheet of a spreadsheet as CSV and return notes about its other sheets and its empty rows.

    Parameters
    ----------
    path : Path
    sheet : str or None
        The name of the sheet; None is the first one.
    target : Path

    Raises
    ------
    DataError
        If the file is damaged or is not a spreadsheet, or the sheet does not exist or is empty.
    MissingExtraError
        If fastexcel is not installed.
    """
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("fastexcel", "excel", "A spreadsheet") from None
    _check_size(path)
    try:
        names = list(fastexcel.read_excel(path).sheet_names)
        name = sheet if sheet is not None else "".join(names[:1])
        cells = _read_cells(path, name, names)
    except (DataError, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # fastexcel's own errors and panics have no common base class but this one
        line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise DataError(f"{path} cannot be read as a spreadsheet: {line[:200]}.") from None
    others = [other for other in names if other != name] if sheet is None else []
    notes = [f"the sheet {name!r} is read; --sheet names another one: {format_names(others)}."] * bool(others)
    return notes + _write_rows(cells, path, name, target)


def _check_size(path: Path) -> None:
    """Raise if the content of a compressed file would expand to an implausible size."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, path.stat().st_size)
    except DataError as error:
        raise DataError(f"{path}: {error.reason}") from None
    except (zipfile.BadZipFile, NotImplementedError):  # .xls is not an archive; fastexcel reports damage
        return


def _read_cells(path: Path, sheet: str, names: list[str]) -> "pl.DataFrame":
    """Return all cells of a sheet as text, with the first row."""
    import fastexcel
    import polars as pl

    if sheet not in names:
        raise DataError(f"{path} has no sheet {sheet!r}; its sheets are {format_names(names) or 'none'}.")

    def read(kind: Any) -> "pl.DataFrame":
        reader = fastexcel.read_excel(path)
        frame: pl.DataFrame = reader.load_sheet(sheet, header_row=None, dtypes=kind).to_polars()
        return frame.rename(dict(zip(frame.columns, map(str, range(frame.width)), strict=True)))

    texts, numbers = read("string"), read("float").fill_nan(None)
    if texts.shape != numbers.shape:
        return texts
    is_exact = (texts.select(pl.all().cast(pl.Float64, strict=False)) == numbers).fill_null(value=True)
    columns = zip(texts, is_exact, numbers.select(pl.all().cast(pl.String)), strict=True)
    return pl.DataFrame([text.zip_with(exact, number) for text, exact, number in columns])


def _write_rows(cells: "pl.DataFrame", path: Path, sheet: str, target: Path) -> list[str]:
    """Write the rows and columns that are not empty, and return a note about empty rows."""
    import polars as pl

    cells = cells.select([column for column in cells if column.null_count() < len(column)])
    is_empty = cells.select(pl.all_horizontal(pl.all().is_null())).to_series() if cells.width else None
    if is_empty is None or not len(is_empty):
        raise DataError(f"the sheet {sheet!r} of {path} is empty. Name another by --sheet.")
    filled = (~is_empty).arg_true()
    n_empty = int(is_empty[filled[0] : filled[-1] + 1].sum())
    with target.open("wb") as file:
        cells.filter(~is_empty).write_csv(file, include_header=False)
    if not n_empty:
        return []
    rows = f"{n_empty:,} empty rows of the sheet are" if n_empty > 1 else "1 empty row of the sheet is"
    return [f"{rows} ignored; rows are counted without empty rows."]
