"""A row of units below the header, such as "m" and "Hz" above columns of numbers, which is not a row of data."""

import re
from typing import TYPE_CHECKING

from oneof.io.formats.cells import (
    CellFormat,
    detect_number_format,
    read_numbers,
    strip_missing_numbers,
    strip_text,
)
from oneof.wording import enumerate_items

if TYPE_CHECKING:
    import polars as pl

_MIN_COLUMNS = 2
"""Number of columns of numbers that have a unit, at least."""
_MIN_ROWS = 3
"""Number of rows of a table that may have a row of units."""
_MAX_LISTED = 3
_UNIT = re.compile(r"[\[(]?(?!\d)[^\W\d_%°ºµ‰]{0,6}[%°ºµ‰]?[^\W\d_]{0,4}([/·*^ ]?[^\W_]{1,3}[²³⁻¹\d-]{0,3}){0,2}[\])]?")
"""A short text such as "m", "Hz", "°C", "%", "[m/s]", "kg m^-2" or "m²"."""


def drop_units_row(frame: "pl.DataFrame", cell_format: CellFormat) -> "tuple[pl.DataFrame, tuple[str, ...]]":
    """Return a table without the units in its first row, if it has a row of units, and a remark about them.

    In a row of units, at least two columns of numbers have a short text, no cell is a number, and no cell is a text
    that other rows of its column have, such as a class.
    """
    import polars as pl

    if frame.height < _MIN_ROWS or not any(dtype == pl.String for dtype in frame.dtypes):
        return frame, ()
    units: dict[str, str] = {}
    for cells in frame.iter_columns():
        if cells[0] is None:
            continue
        if cells.dtype != pl.String:
            return frame, ()
        first = strip_missing_numbers(strip_text(cells.head(1), cell_format))[0]
        if first is None:
            continue
        if _is_number(first, cell_format) or (cells.slice(1) == cells[0]).any():
            return frame, ()
        if _UNIT.fullmatch(first) and _are_numbers(cells.slice(1), cell_format):
            units[cells.name] = first
    if len(units) < _MIN_COLUMNS:
        return frame, ()
    listed = enumerate_items([f"{unit!r} in {name!r}" for name, unit in units.items()], _MAX_LISTED)
    remark = f"the row below the header has units ({listed}) and is left out; row 0 is the row after it."
    return frame.slice(1), (remark,)


def _is_number(text: str, cell_format: CellFormat) -> bool:
    import polars as pl

    cells = pl.Series([text])
    return not read_numbers(cells, detect_number_format(cells, cell_format.decimal)).null_count()


def _are_numbers(cells: "pl.Series", cell_format: CellFormat) -> bool:
    """Return whether all cells are numbers or missing, and at least two are numbers; the first ones are read first."""
    for part in (cells.head(100), cells):
        text = strip_missing_numbers(strip_text(part, cell_format)).drop_nulls()
        if not len(text) and len(part) < len(cells):
            continue
        numbers = read_numbers(text, detect_number_format(text, cell_format.decimal))
        if numbers.null_count() or len(text) < min(2, len(part)):
            return False
    return True
