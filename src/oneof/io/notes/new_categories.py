"""Categories of a table that the rows of training do not have.

Such a cell has none of the features of its column (`encoder.make_encoder`); it may be a misspelled category. The
findings are counts and examples; `sentences` are the note of the command line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneof.io.columns import Column
from oneof.io.notes.findings import MAX_CELLS
from oneof.messages import enumerate_items

if TYPE_CHECKING:
    import polars as pl

_MAX_LISTED = 5
"""Maximum number of columns in the note."""


@dataclass(frozen=True)
class NewCategories:
    """New categories of one column.

    Attributes
    ----------
    column : str
    count : int
        Number of cells.
    cells : tuple of (int, str)
        Row, counted from 0, and text of the first cell of each of the first categories.
    """

    column: str
    count: int
    cells: tuple[tuple[int, str], ...]


def known_categories(transformer: Any, n_columns: int) -> list[Sequence[str]]:
    """Return the categories of each column that a fitted `make_encoder` has a feature for; none for other kinds."""
    known: list[Sequence[str]] = [()] * n_columns
    for _, fitted, selected in getattr(transformer, "transformers_", ()):
        places = [selected] if isinstance(selected, int) else selected if isinstance(selected, list) else []
        for index, values in zip(places, getattr(fitted, "categories_", ()), strict=False):
            known[index] = list(values)
    return known


def find_new_categories(frame: "pl.DataFrame", columns: Sequence[Column], transformer: Any) -> list[NewCategories]:
    """Return the new categories of each column that has any; a missing cell is not one.

    Parameters
    ----------
    frame : polars.DataFrame
        The features, as `align_columns` returns them.
    columns : sequence of Column
    transformer : transformer
        The fitted transformer of the table of training.
    """
    found = []
    for column, known in zip(columns, known_categories(transformer, len(columns)), strict=True):
        if not len(known):
            continue
        cells = frame[column.name]
        is_new = (cells != "") & ~cells.is_in([str(value) for value in known])
        if not is_new.any():
            continue
        first: dict[str, int] = {}
        for row in is_new.arg_true().to_list():
            first.setdefault(str(cells[row]), row)
            if len(first) == MAX_CELLS:
                break
        found.append(NewCategories(column.name, int(is_new.sum()), tuple((row, text) for text, row in first.items())))
    return found


def sentences(found: Sequence[NewCategories]) -> list[str]:
    """Return a note about the new categories of all columns, if there are any."""
    if not found:
        return []
    listed = []
    for new in sorted(found, key=lambda new: -new.count)[:_MAX_LISTED]:
        row, text = new.cells[0]
        listed.append(f"{new.column!r} ({enumerate_items([f'{text!r} in row {row}'], n_others=new.count - 1)})")
    total = sum(new.count for new in found)
    cells = f"{total:,} cells have categories" if total > 1 else "1 cell has a category"
    columns = enumerate_items(listed, conjunction=False, n_others=len(found) - len(listed))
    return [
        f"{cells} without an example in training, in column{'s' * (len(found) > 1)} {columns}. The prediction does not "
        "use them. Correct their spelling, or fit the model to rows with these categories."
    ]


def to_dict(found: Sequence[NewCategories]) -> dict[str, Any]:
    """Return the counts and the first cells by column, in the types of JSON."""
    return {new.column: {"count": new.count, "cells": [list(cell) for cell in new.cells]} for new in found}
