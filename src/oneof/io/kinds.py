"""Kinds of columns: one ordered table of readers of text, for training tables, new rows and streams.

A reader detects the formats of the cells of a column and returns their values. `features` tries the readers in order
on a column of training; `to_values` reads the cells of another table with the kind and the formats of training.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from oneof.errors import DataError
from oneof.io.findings import KINDS, MAX_CELLS, Kind
from oneof.io.formats.cells import (
    NUMBER_FORMATS,
    CellFormat,
    detect_number_format,
    detect_unit,
    detect_yes_no,
    missing_numbers,
    read_numbers,
    read_yes_no,
    sample_cells,
    strip_missing_numbers,
    strip_text,
)
from oneof.io.formats.dates import (
    UNAMBIGUOUS_DATES,
    dates_to_days,
    detect_date_formats,
    name_date_formats,
    read_dates,
    read_durations,
    to_hours,
)

if TYPE_CHECKING:
    import polars as pl

SAMPLE_ROWS = 1_000
"""Number of cells that show the kind and the unit of a column of text."""
MIN_SHARE = 0.9
"""Share of the cells, apart from tokens of missing values, that a reader must read."""
_MAX_EXACT = 2.0**53
"""Largest float up to which all whole numbers are floats."""


class Column(NamedTuple):
    """A feature: the name and the kind of a column, and the formats of its cells of text.

    The formats of dates are those of `strptime`. Numbers such as "1234,5", "1,234.5" and "1.234,5" have the format ",",
    ",." and ".,", which is followed by the unit if there is one: "1.234,5 EUR" has the formats ".," and "EUR".
    """

    name: str
    kind: Kind
    formats: tuple[str, ...] = ()


class Reader(NamedTuple):
    """Reader of the cells of one kind.

    Attributes
    ----------
    kind : str
    detect : callable
        Returns the formats of cells of text, or None if they are not of the kind.
    read : callable
        Returns the values of cells of text in given formats, null for cells that cannot be read.
    min_share : float
        Share of the cells, apart from tokens of missing values, that the reader must read.
    """

    kind: Kind
    detect: "Callable[[pl.Series, CellFormat], tuple[str, ...] | None]"
    read: "Callable[[pl.Series, Sequence[str]], pl.Series]"
    min_share: float = MIN_SHARE


def _detect_numbers(text: "pl.Series", cell_format: CellFormat) -> tuple[str, ...]:
    number_format = detect_number_format(text, cell_format.decimal)
    return () if number_format == "." else (number_format,)


def _detect_quantities(text: "pl.Series", cell_format: CellFormat) -> tuple[str, ...] | None:
    unit = detect_unit(sample_cells(text, SAMPLE_ROWS))
    return (detect_number_format(text, cell_format.decimal, unit), unit) if unit else None


def _read_numbers(text: "pl.Series", formats: Sequence[str]) -> "pl.Series":
    return read_numbers(text, *formats)  # type: ignore[arg-type]  # a number format and a unit


def _read_dates(text: "pl.Series", formats: Sequence[str]) -> "pl.Series":
    values = read_dates(text, formats)
    if values.null_count() > text.null_count():  # another table may have unambiguous formats of its own
        values = values.zip_with(values.is_not_null(), read_dates(text, UNAMBIGUOUS_DATES))
    return values


READERS = (
    Reader("yes/no", lambda text, _: () if detect_yes_no(text) else None, lambda text, _: read_yes_no(text), 1.0),
    Reader("number", _detect_numbers, _read_numbers),
    Reader("date", lambda text, cell_format: detect_date_formats(text, cell_format)[0] or None, _read_dates),
    Reader("duration", lambda *_: (), lambda text, _: read_durations(text)),
    Reader("number", _detect_quantities, _read_numbers),
)
"""Readers of text in their order: the first one that reads enough cells applies. All other text is words."""
_READERS = {reader.kind: reader for reader in READERS}


def is_text(cells: "pl.Series") -> bool:
    """Return whether a column has cells of text, as all files of text have."""
    import polars as pl

    return cells.dtype in (pl.String, pl.Categorical, pl.Enum)


def to_values(cells: "pl.Series", column: Column, cell_format: CellFormat) -> tuple["pl.Series", "pl.Series"]:
    """Return the values of cells, and a mask of the cells that are not of the kind of the column.

    Values are floats, null if missing: dates are days since 1970-01-01, durations are hours, yes and no are 1 and 0.
    Categories and texts are text, empty if missing; "Red" and "red" are one category.
    """
    import polars as pl

    if column.kind in ("category", "text"):
        text = to_text(cells, cell_format)
        text = text.str.to_lowercase() if column.kind == "category" else text
        return text, pl.repeat(value=False, n=len(text), eager=True)
    native = {"date": (pl.Date, pl.Datetime), "duration": (pl.Time, pl.Duration)}.get(column.kind, ())
    if cells.dtype in native:
        values = dates_to_days(cells) if column.kind == "date" else to_hours(cells)
        unreadable = pl.repeat(value=False, n=len(cells), eager=True)
    elif not (is_text(cells) or cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Null)):
        raise DataError(f"column {cells.name!r} must contain {KINDS[column.kind]}; got values of type {cells.dtype}.")
    elif is_text(cells) or column.kind in ("date", "duration"):
        text = strip_missing_numbers(strip_text(as_text(cells), cell_format))
        if column.kind == "number":
            values = _read_in_training_format(text, column.formats, cell_format)
        else:
            values = _READERS[column.kind].read(text, column.formats)
        unreadable = text.is_not_null() & values.is_null()
    else:
        numbers = cells.cast(pl.Float64, strict=False).fill_nan(None)
        is_value = numbers.is_finite()
        if column.kind == "yes/no":
            is_value = numbers.is_in([0.0, 1.0, *missing_numbers(cell_format)])
        unreadable = ~is_value.fill_null(value=True)
        values = numbers.set(unreadable, None)
    tokens = _missing_values(column.kind, cell_format)
    return values.set(values.is_in(tokens).fill_null(value=False), None) if tokens else values, unreadable


def reads_in_training_format(cells: "pl.Series", formats: tuple[str, ...], cell_format: CellFormat) -> bool:
    """Return whether the format of training reads all numbers of cells of text."""
    text = strip_missing_numbers(strip_text(as_text(cells), cell_format))
    values = _numbers_of_training(text, formats, cell_format)
    return values is not None and values.null_count() == text.null_count()


def _numbers_of_training(text: "pl.Series", formats: tuple[str, ...], cell_format: CellFormat) -> "pl.Series | None":
    """Return the numbers in the format of training, None if it does not apply to the table."""
    trained, unit = (*formats, "")[:2] if formats else (cell_format.trained_decimal or ".", "")
    if trained in NUMBER_FORMATS and cell_format.decimal in (trained[-1], cell_format.trained_decimal):
        return read_numbers(text, trained, unit)
    return None


def _read_in_training_format(text: "pl.Series", formats: tuple[str, ...], cell_format: CellFormat) -> "pl.Series":
    """Return text as numbers in the format of training, or in the format of this table if that reads more cells.

    The format of training applies if its decimal separator is that of the table, or if the table has the separator of
    the table of training, from which some of its columns differ.
    """
    values = _numbers_of_training(text, formats, cell_format)
    if values is not None and values.null_count() == text.null_count():
        return values
    unit = formats[1] if len(formats) > 1 else ""
    return read_numbers(text, detect_number_format(text, cell_format.decimal, unit), unit)


def _missing_values(kind: Kind, cell_format: CellFormat) -> list[float]:
    """Return the values of the user's tokens of missing values, such as 999 and the days of 9999-12-31."""
    import polars as pl

    if not cell_format.missing or kind in ("number", "yes/no"):
        return missing_numbers(cell_format) if cell_format.missing else []
    text = pl.Series(cell_format.missing, dtype=pl.String).str.strip_chars()
    return _READERS[kind].read(text, UNAMBIGUOUS_DATES).drop_nulls().to_list()


def to_text(cells: "pl.Series", cell_format: CellFormat) -> "pl.Series":
    """Return the cells as text; a missing cell is the empty text, which is a separate category."""
    import polars as pl

    if cells.dtype.is_nested():
        raise DataError(f"column {cells.name!r} must contain text; got values of type {cells.dtype}.")
    if is_text(cells):
        return strip_text(cells, cell_format).fill_null("")
    if cells.dtype.is_numeric() and (tokens := missing_numbers(cell_format)):
        cells = cells.set(cells.cast(pl.Float64, strict=False).is_in(tokens).fill_null(value=False), None)
    return as_text(cells).fill_null("")


def as_text(cells: "pl.Series") -> "pl.Series":
    """Return cells as text, in which 3.0 is 3 as an integer is, whatever the other cells of the column are."""
    import polars as pl

    if not cells.dtype.is_float():
        return cells.cast(pl.String)
    cells = cells.fill_nan(None)
    is_whole = ((cells % 1 == 0) & (cells.abs() <= _MAX_EXACT)).fill_null(value=False)
    whole = cells.set(~is_whole, None).cast(pl.Int64).cast(pl.String)
    return whole.zip_with(is_whole, cells.cast(pl.String))


def list_cells(cells: "pl.Series", mask: "pl.Series") -> list[tuple[int, str]]:
    """Return rows and texts of the first cells in a mask."""
    return [(int(row), str(cells[int(row)])) for row in mask.arg_true().head(MAX_CELLS).to_list()]


def unreadable_cell(cells: "pl.Series", column: Column, row: int) -> DataError:
    """Return the error for a cell that is not of the kind of its column."""
    cell, content = cells[row], KINDS[column.kind]
    remedy = "Correct the cell, leave it empty, or name the token of missing values by --missing."
    if column.kind == "number" and str(cell).strip().lower().lstrip("+-") in ("inf", "infinity"):
        content, remedy = "finite numbers", "Use a finite number, or leave the cell empty."
        cell = str(cell).strip()
    elif column.kind == "date" and column.formats:
        content = f"dates as in training, {name_date_formats(column.formats)}"
        remedy = "Write the dates in one of these formats, or name the token of missing values by --missing."
    got = repr(cell) if content != "finite numbers" else cell
    return DataError(f"column {cells.name!r} must contain {content}; got {got}. {remedy}", row=row)
