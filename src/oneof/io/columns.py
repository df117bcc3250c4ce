"""Columns of features: their names in a table, and their cells as numbers and text.

`features` chooses the columns and infers their kinds, `cells` reads the cells of each kind.
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.io.findings import Finding, UnreadableCells, describe, describe_columns
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.dates import name_date_formats
from oneof.io.formats.names import matching
from oneof.io.kinds import Column, is_text, list_cells, reads_in_training_format, to_values, unreadable_cell
from oneof.messages import enumerate_items

if TYPE_CHECKING:
    import polars as pl

_MAX_SUGGESTED, _MAX_COMPARED, _MAX_LENGTH = 3, 100, 100
"""Number of suggested names of columns, number of names that are compared, and their number of characters."""
_MIN_UNREADABLE = 10
"""Minimum number of unreadable cells for an error, if no cell of the column can be read."""
_UNNAMED = re.compile(r"column \d+")
"""Name of a column whose cell in the header is empty."""
_MAX_JOINED = 100
"""Number of rows up to which columns of one kind are read at once."""


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
        others = set(frame.columns) - {column.name for column in columns}
        similar = suggest_columns(missing, [name for name in frame.columns if name in others])
        raise DataError(
            f"missing {describe_columns(missing)}, which the model was trained on.{similar}", source=str(path)
        )
    try:
        aligned, masks = read_columns(frame, columns, cell_format or CellFormat())
        for column in columns:
            if column.name not in masks:
                continue
            cells, mask = frame[column.name], masks[column.name]
            count = int(mask.sum())
            has_value = not aligned[column.name].is_nan().all()
            if unreadable is None or not (first_row or has_value or count < _MIN_UNREADABLE):
                raise unreadable_cell(cells, column, int(mask.arg_true()[0]))
            unreadable.add(column.name, list_cells(cells, mask), count, first_row=first_row)
    except DataError as error:
        raise error.at(path) from None
    return aligned


def read_columns(
    frame: "pl.DataFrame", columns: Sequence[Column], cell_format: CellFormat
) -> "tuple[pl.DataFrame, dict[str, pl.Series]]":
    """Return the features of a table, and a mask of the unreadable cells of each column that has any.

    A call of polars takes longer than the work of a few cells. Therefore short columns of the same kind, format and
    type are read as one column, and numbers as text if all have the format of training.
    """
    import polars as pl

    groups: dict[Any, list[str]] = {}
    for column in columns:
        cells = frame[column.name]
        is_alone = len(cells) > _MAX_JOINED
        groups.setdefault((column[1:], column.name if is_alone else cells.dtype), []).append(column.name)
    pending, read, masks = [*groups.items()], {}, {}
    while pending:
        ((kind, formats), key), names = pending.pop()
        cells = pl.concat([frame[name] for name in names])
        is_joined_text = len(names) > 1 and kind == "number" and is_text(cells)
        if is_joined_text and not reads_in_training_format(cells, formats, cell_format):
            pending += [(((kind, formats), key), [name]) for name in names]
            continue
        values, unreadable = to_values(cells, Column(names[0], kind, formats), cell_format)
        values = values if values.dtype == pl.String else values.fill_null(float("nan"))
        for i, name in enumerate(names):
            read[name] = values.slice(i * frame.height, frame.height).alias(name)
            if unreadable.any() and (mask := unreadable.slice(i * frame.height, frame.height)).any():
                masks[name] = mask
    return pl.DataFrame([read[column.name] for column in columns]), masks


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
    verb, pronoun = ("are", "them") if len(names) > 1 else ("is", "it")
    return (
        f"{describe_columns(names)} {verb} absent from all rows of {source}, and {verb} read as missing values. Add "
        f"{pronoun} if the values are known."
    )


def find_column(name: str, columns: Sequence[str], path: Path) -> str:
    """Return `name` if the table has such a column, possibly with other spaces around it.

    Otherwise raise an error that names the closest column.
    """
    if same := matching(name, columns, patterns=False):
        return same[0]
    lower = {column.lower(): column for column in columns}
    if close := difflib.get_close_matches(name.lower(), lower, n=1):
        hint = f"did you mean {lower[close[0]]!r}?"
        if "," in lower[close[0]] and "," not in name:
            hint += f""" Quote a name with a comma twice: '"{lower[close[0]]}"'."""
    else:
        hint = f"the columns are {enumerate_items(columns, 10, conjunction=False) or 'none'}."
        if any(map(_UNNAMED.fullmatch, columns)):
            hint += " Some cells of the header are empty: if the names are in the row below, delete the rows above it."
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
        If no column has a name or matches a pattern.
    """
    found = [matching(pattern, columns) or [find_column(pattern, columns, path)] for pattern in patterns]
    return list(dict.fromkeys(name for names in found for name in names))


def describe_dates(columns: Sequence[Column], unreadable: UnreadableCells) -> list[str]:
    """Return a note about the columns of dates with unreadable cells that have digits: they may have another format."""
    return describe(
        Finding("other dates", column.name, detail=name_date_formats(column.formats))
        for column in columns
        if column.kind == "date"
        and any(any(map(str.isdigit, text)) for _, text in unreadable.examples.get(column.name, ()))
    )


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
    given = summary.get("cells")
    cells: dict[str, Any] = given if isinstance(given, dict) else {}
    formats = cells["formats"] if isinstance(cells.get("formats"), dict) else {}
    tokens = cells["missing"] if isinstance(cells.get("missing"), list | tuple) else ()
    decimal = "," if cells.get("decimal") == "," else "."
    return [Column(name, kind, tuple(map(str, formats.get(name, ())))) for name, kind in columns], CellFormat(
        decimal,
        tuple(map(str, tokens)),
        folds_labels=cells.get("folds_labels") is True,
        label_errors="unlabeled" if cells.get("label_errors") == "unlabeled" else "raise",
        trained_decimal=decimal,
    )
