"""Columns of features: their names in a table, and their cells as numbers and text.

`features` chooses the columns and infers their kinds, `cells` reads the cells of each kind.
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oneof.errors import DataError
from oneof.io.formats.binary import SAVE_ARRAYS
from oneof.io.formats.cells import (
    NUMBER_FORMATS,
    CellFormat,
    detect_number_format,
    missing_numbers,
    read_numbers,
    read_yes_no,
    strip_missing_numbers,
    strip_text,
)
from oneof.io.formats.csv.header_lines import COMMENT
from oneof.io.formats.dates import (
    UNAMBIGUOUS_DATES,
    dates_to_days,
    name_date_formats,
    read_dates,
    read_durations,
    to_hours,
)
from oneof.io.formats.names import format_names, is_pattern, matching
from oneof.io.notes.findings import KINDS, MAX_CELLS, Kind, UnreadableCells
from oneof.messages import enumerate_items

if TYPE_CHECKING:
    import polars as pl

_MAX_SUGGESTED, _MAX_COMPARED, _MAX_LENGTH = 3, 100, 100
"""Number of suggested names of columns, number of names that are compared, and their number of characters."""
_MIN_UNREADABLE = 10
"""Minimum number of unreadable cells for an error, if no cell of the column can be read."""
_UNNAMED = re.compile(r"column \d+")
"""Name of a column whose cell in the header is empty."""
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


def align_columns(
    frame: "pl.DataFrame",
    columns: Sequence[Column],
    path: Path,
    *,
    cell_format: CellFormat | None = None,
    unreadable: UnreadableCells | None = None,
    first_row: int = 0,
) -> "pl.DataFrame":
    """Return the features with the types that the encoder expects: categories and texts as text, all others as floats.

    Dates are days since 1970-01-01, and durations are hours.

    Parameters
    ----------
    frame : polars.DataFrame
    columns : sequence of Column
        The features; other columns of `frame` are ignored.
    path : Path
        For messages.
    cell_format : CellFormat, optional
        The form of the cells of the table.
    unreadable : UnreadableCells, optional
        Counts cells that are not of the kind of their column, which become missing values. Without it they are errors.
        A column at the beginning of a file that has no cell of the kind is an error in either case.
    first_row : int
        The row of the file at which the frame begins.

    Raises
    ------
    DataError
        If a column is missing, or a cell is not of the kind of its column, such as a finite number; the error names row
        and column.
    """
    missing = [column.name for column in columns if column.name not in frame.columns]
    if missing:
        known = {column.name for column in columns}
        differ_in_case = {name.lower() for name in missing} & {name.lower() for name in frame.columns}
        hint = " (names are case-sensitive)" * bool(differ_in_case)
        names = f"columns {format_names(missing)}" if len(missing) > 1 else f"column {format_names(missing)}"
        similar = "" if hint else suggest_columns(missing, [name for name in frame.columns if name not in known])
        raise DataError(f"missing {names}, which the model was trained on{hint}.{similar}", source=str(path))
    cell_format = cell_format or CellFormat()
    aligned = []
    try:
        for column in columns:
            cells = frame[column.name]
            if column.kind in ("category", "text"):
                aligned.append(to_text(cells, cell_format))
                continue
            values, is_unreadable = to_values(cells, column, cell_format)
            if (n_unreadable := int(is_unreadable.sum())) and unreadable is None:
                raise unreadable_cell(cells, column.kind, int(is_unreadable.arg_true()[0]), column.formats)
            if n_unreadable and unreadable is not None:
                if not first_row and n_unreadable >= _MIN_UNREADABLE and values.null_count() == len(values):
                    raise unreadable_cell(cells, column.kind, int(is_unreadable.arg_true()[0]), column.formats)
                unreadable.add(column.name, list_cells(cells, is_unreadable), n_unreadable, first_row=first_row)
            aligned.append(values.fill_null(float("nan")))
    except DataError as error:
        raise error.at(path) from None
    return frame.clear().select([]) if not aligned else type(frame)(aligned)


def misspelled_column(absent: Collection[str], others: Collection[str]) -> tuple[str, str] | None:
    """Return an absent column and another name that differs from it only in case, spaces or punctuation, or None."""
    by_letters = {_letters(other): other for other in others}
    return next(((name, by_letters[_letters(name)]) for name in absent if _letters(name) in by_letters), None)


def suggest_columns(absent: Collection[str], others: Collection[str]) -> str:
    """Return a question, after a space, about other names that are close to absent columns; empty without any."""
    short = [other for other in others if len(other) <= _MAX_LENGTH][:_MAX_COMPARED]
    lower = {other.lower(): other for other in short}
    pairs = []
    for name in list(absent)[:_MAX_COMPARED]:
        if close := difflib.get_close_matches(name.lower(), lower, n=1):
            pairs.append(f"{name!r} for {lower.pop(close[0])!r}")
    return f" Did you mean {enumerate_items(pairs, _MAX_SUGGESTED)}?" if pairs else ""


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold() or name


def absent_columns(names: Sequence[str], source: str) -> str:
    """Return a note about columns that no object of JSON has."""
    if len(names) > 1:
        columns, verb, pronoun = f"columns {format_names(names)}", "are", "them"
    else:
        columns, verb, pronoun = f"column {format_names(names)}", "is", "it"
    return (
        f"{columns} {verb} absent from all rows of {source}, and {verb} read as missing values. Add {pronoun} if the "
        "values are known."
    )


def find_column(name: str, columns: Sequence[str], path: Path) -> str:
    """Return `name` if the table has such a column, possibly with other spaces around it.

    Otherwise raise an error that names the closest column.
    """
    if same := matching(name, columns, patterns=False):
        return same[0]
    lower = {column.lower(): column for column in columns}
    close = difflib.get_close_matches(name.lower(), lower, n=1)
    if close:
        hint = f"did you mean {lower[close[0]]!r}?"
        if "," in lower[close[0]] and "," not in name:
            hint += f""" Quote a name with a comma twice: '"{lower[close[0]]}"'."""
    else:
        hint = f"the columns are {enumerate_items(columns, 10, conjunction=False) or 'none'}."
        if columns and columns[0].startswith(COMMENT):
            hint += f" The header is the line that begins with {columns[0]!r}: if it is a comment, delete it."
        if path.suffix.lower() == ".npz" and "y" not in columns:
            hint += f" The labels of an archive are its array y: write it by {SAVE_ARRAYS}."
        if any(map(_UNNAMED.fullmatch, columns)):
            hint += (
                " Some cells of the header are empty, as after merged cells: if the names are in the row below, delete "
                "the rows above it, or write all names in one row."
            )
    raise DataError(f"column {name!r} does not exist: {hint}", source=str(path))


def select_column(given: str | None, defaults: Sequence[str], columns: Sequence[str], path: Path) -> str:
    """Return the given column, or the first default that the table has; otherwise raise as `find_column`."""
    present = [name for name in defaults if name in columns]
    return present[0] if given is None and present else find_column(given or defaults[0], columns, path)


def match_columns(patterns: Sequence[str], columns: Sequence[str], path: Path) -> list[str]:
    """Return the columns that have one of the names, or match one of the patterns such as "q*".

    Raises
    ------
    DataError
        If a name does not exist, or a pattern matches no column.
    """
    found: list[str] = []
    for pattern in patterns:
        matches = matching(pattern, columns)
        if not matches and is_pattern(pattern):
            raise DataError(
                f"no column matches {pattern!r}: the columns are {format_names(columns)}.", source=str(path)
            )
        found += matches or [find_column(pattern, columns, path)]
    return list(dict.fromkeys(found))


def describe_cells(columns: Sequence[Column], cell_format: CellFormat) -> dict[str, Any]:
    """Return the properties of cells that a saved model needs for another table, in the types of JSON.

    A saved model has them in its summary, as "cells"; `saved_columns` reads them.
    """
    return {
        "missing": list(cell_format.missing),
        "decimal": cell_format.decimal,
        "folds_labels": cell_format.folds_labels,
        "label_errors": cell_format.label_errors,
        "formats": {column.name: list(column.formats) for column in columns if column.formats},
    }


def saved_columns(columns: Sequence[Sequence[Any]], summary: Mapping[str, Any]) -> tuple[list[Column], CellFormat]:
    """Return the columns of a saved model with their formats, and the form of the cells of a table.

    Parameters
    ----------
    columns : sequence of (name, kind)
    summary : dict
        See `oneof.persistence.SavedModel`; a model of an earlier version has no formats.
    """
    cells = summary.get("cells")
    cells = cells if isinstance(cells, dict) else {}
    formats, missing = cells.get("formats"), cells.get("missing")
    formats = formats if isinstance(formats, dict) else {}
    tokens = tuple(map(str, missing)) if isinstance(missing, list | tuple) else ()
    named = [Column(name, kind, tuple(map(str, formats.get(name, ())))) for name, kind in columns]
    decimal = "," if cells.get("decimal") == "," else "."
    label_errors = "unlabeled" if cells.get("label_errors") == "unlabeled" else "raise"
    return named, CellFormat(decimal, tokens, folds_labels=cells.get("folds_labels") is True, label_errors=label_errors)


def to_values(cells: "pl.Series", column: Column, cell_format: CellFormat) -> tuple["pl.Series", "pl.Series"]:
    """Return the cells as floats, null if missing, and a mask of the cells that are not of the kind of the column."""
    values, unreadable = _read_values(cells, column, cell_format)
    tokens = _missing_values(column.kind, cell_format)
    return values.set(values.is_in(tokens).fill_null(value=False), None) if tokens else values, unreadable


def _missing_values(kind: Kind, cell_format: CellFormat) -> list[float]:
    """Return the values of the user's tokens of missing values, such as 999 and the days of 9999-12-31."""
    import polars as pl

    if not cell_format.missing or kind in ("number", "yes/no"):
        return missing_numbers(cell_format) if cell_format.missing else []
    text = pl.Series(cell_format.missing, dtype=pl.String).str.strip_chars()
    values = read_dates(text, UNAMBIGUOUS_DATES) if kind == "date" else read_durations(text)
    return values.drop_nulls().to_list()


def _read_values(cells: "pl.Series", column: Column, cell_format: CellFormat) -> tuple["pl.Series", "pl.Series"]:
    """Return the cells as floats, apart from tokens that are values, and a mask of the unreadable cells."""
    import polars as pl

    kind, dtype = column.kind, cells.dtype
    if dtype in (pl.Date, pl.Datetime) and kind == "date":
        return dates_to_days(cells), cells.is_null() & cells.is_not_null()
    if dtype in (pl.Time, pl.Duration) and kind == "duration":
        return to_hours(cells), cells.is_null() & cells.is_not_null()
    is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
    if not (is_text or dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise DataError(f"column {cells.name!r} must contain {KINDS[kind]}; got values of type {dtype}.")
    if not is_text and kind in ("number", "yes/no"):
        numbers = cells.cast(pl.Float64, strict=False).fill_nan(None)
        is_value = numbers.is_in([0.0, 1.0, *missing_numbers(cell_format)]) if kind == "yes/no" else numbers.is_finite()
        unreadable = ~is_value.fill_null(value=True)
        return numbers.set(unreadable, None), unreadable
    text = strip_missing_numbers(strip_text(_as_text(cells), cell_format))
    if kind == "number":
        values = _read_numbers(text, column.formats, cell_format)
    elif kind == "yes/no":
        values = read_yes_no(text)
    elif kind == "date":
        values = read_dates(text, column.formats)
        if values.null_count() > text.null_count():  # another table may have unambiguous formats of its own
            values = values.zip_with(values.is_not_null(), read_dates(text, UNAMBIGUOUS_DATES))
    else:
        values = read_durations(text)
    return values, text.is_not_null() & values.is_null()


def _read_numbers(text: "pl.Series", formats: tuple[str, ...], cell_format: CellFormat) -> "pl.Series":
    """Return text as numbers in the format of training, or in the format of this table if that reads more cells."""
    trained, unit = (*formats, "")[:2] if formats else (".", "")
    if trained in NUMBER_FORMATS and trained[-1] == cell_format.decimal:
        values = read_numbers(text, trained, unit)
        if values.null_count() == text.null_count():
            return values
    return read_numbers(text, detect_number_format(text, cell_format.decimal, unit), unit)


def _as_text(cells: "pl.Series") -> "pl.Series":
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


def unreadable_cell(cells: "pl.Series", kind: Kind, row: int, formats: Sequence[str] = ()) -> DataError:
    """Return the error for a cell that is not of the kind of its column, whose dates have `formats`."""
    cell = cells[row]
    infinite = kind == "number" and str(cell).strip().lower().lstrip("+-") in ("inf", "infinity")
    if infinite:
        return DataError(
            f"column {cells.name!r} must contain finite numbers; got {str(cell).strip()}. Use a finite number, or "
            "leave the cell empty.",
            row=row,
        )
    if kind == "date" and formats:
        return DataError(
            f"column {cells.name!r} must contain dates as in training, {name_date_formats(formats)}; got {cell!r}. "
            "Write the dates in one of these formats, or name the token of missing values by --missing.",
            row=row,
        )
    return DataError(
        f"column {cells.name!r} must contain {KINDS[kind]}; got {cell!r}. Correct the cell, or name the token of "
        "missing values by --missing.",
        row=row,
    )


def to_text(cells: "pl.Series", cell_format: CellFormat) -> "pl.Series":
    """Return the cells as text; a missing cell is the empty text, which is a separate category."""
    import polars as pl

    if cells.dtype.is_nested():
        raise DataError(f"column {cells.name!r} must contain text; got values of type {cells.dtype}.")
    if cells.dtype in (pl.String, pl.Categorical, pl.Enum):
        return strip_text(cells, cell_format).fill_null("")
    if cells.dtype.is_numeric() and (tokens := missing_numbers(cell_format)):
        cells = cells.set(cells.cast(pl.Float64, strict=False).is_in(tokens).fill_null(value=False), None)
    return _as_text(cells).fill_null("")
