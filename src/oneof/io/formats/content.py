"""Tables whose content is read into memory first: standard input, and the sheets of spreadsheets as CSV.

fastexcel (calamine) reads the values that the spreadsheet program saved; it computes no formula, runs no macro and
follows no link. The text of a number has nine decimals at most there, so numbers are read a second time.
"""

import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from oneof.archives import check_members
from oneof.errors import DataError, MissingExtraError
from oneof.io.columns import format_names
from oneof.io.formats.source import (
    STANDARD_INPUT,
    Source,
    display_path,
    file_errors_as_data_errors,
    open_standard_input,
)

if TYPE_CHECKING:
    import polars as pl


def load_content(source: Source, sheet: str | None = None) -> tuple[Source, list[str]]:
    """Return the source of a table that can be read several times, as text, and notes about cells that are not read.

    Parameters
    ----------
    source : Source
        A file, or standard input.
    sheet : str, optional
        The sheet of a spreadsheet; by default the first one.

    Raises
    ------
    DataError
        If the spreadsheet is damaged, would expand to an implausible size, or the sheet does not exist or is empty.
    MissingExtraError
        If a package that reads spreadsheets is not installed.
    """
    [path] = source.files
    if path == STANDARD_INPUT:
        with file_errors_as_data_errors(display_path(path)), open_standard_input() as file:
            return replace(source, content=file.read()), []
    if source.format != "excel":
        return source, []
    content, notes = _read_sheet(path, sheet)
    return replace(source, content=content, format="csv"), notes


def _read_sheet(path: Path, sheet: str | None) -> tuple[bytes, list[str]]:
    """Return a sheet, by default the first one, as CSV, and notes about its other sheets and its empty rows."""
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("fastexcel", "excel", "A spreadsheet") from None
    import polars as pl

    _check_archive(path)
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
    cells = cells.select([column for column in cells if column.null_count() < len(column)])
    is_empty = cells.select(pl.all_horizontal(pl.all().is_null())).to_series() if cells.width else None
    if is_empty is None or not len(is_empty):
        raise DataError(f"the sheet {name!r} of {path} is empty. Name another by --sheet.")
    filled = (~is_empty).arg_true()
    if n_empty := int(is_empty[filled[0] : filled[-1] + 1].sum()):
        rows = f"{n_empty:,} empty rows of the sheet are" if n_empty > 1 else "1 empty row of the sheet is"
        notes.append(f"{rows} ignored; rows are counted without empty rows.")
    return cells.filter(~is_empty).write_csv(include_header=False).encode(), notes


def _check_archive(path: Path) -> None:
    """Raise if the content of a compressed file would expand to an implausible size, or has a tag without its end."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, path.stat().st_size)
            if path.suffix.lower() == ".ods":  # calamine never returns from a tag without its end
                with archive.open("content.xml") as content:
                    expat.ParserCreate().ParseFile(content)
    except DataError as error:
        raise DataError(f"{path}: {error.reason}") from None
    except expat.ExpatError as error:
        raise DataError(f"{path} is damaged: {error} of content.xml. Write it again.") from None
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, LookupError, RuntimeError, ValueError):
        return  # .xls, or damage that fastexcel reports


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
    is_exact = (texts.select(pl.all().cast(pl.Float64, strict=False)) == numbers).fill_null(value=True)
    columns = zip(texts, is_exact, numbers.select(pl.all().cast(pl.String)), strict=True)
    return pl.DataFrame([text.zip_with(exact, number) for text, exact, number in columns])
