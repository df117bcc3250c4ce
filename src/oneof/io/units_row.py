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
from oneof.messages import enumerate_items

if TYPE_CHECKING:
    import polars as pl

_MIN_COLUMNS = 2
"""Number of columns of numbers that have a unit, at least."""
_MIN_ROWS = 3
"""Number of rows of a table that may have a row of units."""
_MAX_LISTED = 3
_PREFIXED = "m|g|s|A|K|mol|cd|Hz|N|Pa|J|W|V|C|F|Ω|ohm|S|Wb|T|H|lm|lx|Bq|Gy|Sv|L|l|M|bar|eV|Da|B|bit|cal|rad|sr"
_OTHERS = (
    "min|mins|h|hr|hrs|d|day|days|wk|yr|yrs|a|sec|secs|°|°C|°F|deg|degC|degF|%|‰|ppm|ppb|dB|dBA|dBFS|dBm|atm|mmHg|u|px|"
    "pixels?|bits?|bytes?|bps|rpm|counts?|in|inch|ft|mi|yd|lb|lbs|oz|mph|kn|rel|au|AU|arb"
)
_POWER = r"(?:[⁻⁺]?[¹²³⁴]|\^?-?[1-4])?"
_SYMBOL = rf"(?:(?:da|[YZEPTGMkhdcmµμunpfa])?(?:{_PREFIXED})|{_OTHERS}){_POWER}"
_UNIT = re.compile(rf"[\[(]?(?:1/)?{_SYMBOL}(?: ?[/·*.] ?{_SYMBOL}| {_SYMBOL}){{0,3}}(?: re [^\])]{{1,12}})?[\])]?")
"""Symbols of units, with prefixes and powers, such as "m", "kHz", "°C", "[m/s]", "kg m^-2", "1/s" or "dB re 1 µPa"."""
_PLACEHOLDERS = frozenset(
    {"-", "--", "\u2013", "\u2014", "/", "unit", "units", "name", "class", "label", "id", "text", "none"}
)
"""Texts of columns without a unit, compared in lower case."""


def drop_units_row(frame: "pl.DataFrame", cell_format: CellFormat) -> "tuple[pl.DataFrame, tuple[str, ...]]":
    """Return a table without the units in its first row, if it has a row of units, and a remark about them.

    In a row of units, at least two columns of numbers have the symbol of a unit, and all other cells are empty, units
    or placeholders, such as a dash, that no other row of their column has.
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
        is_unit = _UNIT.fullmatch(first) is not None
        if not is_unit and first.lower() not in _PLACEHOLDERS:
            return frame, ()
        if (cells.slice(1) == cells[0]).any():
            return frame, ()
        if is_unit and _are_numbers(cells.slice(1), cell_format):
            units[cells.name] = first
    if len(units) < _MIN_COLUMNS:
        return frame, ()
    listed = enumerate_items([f"{unit!r} in {name!r}" for name, unit in units.items()], _MAX_LISTED)
    remark = f"the row below the header has units ({listed}) and is left out; row 0 is the row after it."
    return frame.slice(1), (remark,)


def _are_numbers(cells: "pl.Series", cell_format: CellFormat) -> bool:
    """Return whether all cells are numbers or missing, and at least two are numbers; the first ones are read first."""
    for first_cells in (cells.head(100), cells):
        text = strip_missing_numbers(strip_text(first_cells, cell_format)).drop_nulls()
        if not len(text) and len(first_cells) < len(cells):
            continue
        numbers = read_numbers(text, detect_number_format(text, cell_format.decimal))
        if numbers.null_count() or len(text) < min(2, len(first_cells)):
            return False
    return True
