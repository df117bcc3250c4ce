"""Lists and objects of labels that are under a key of an object, or are written as text among other lists.

A language model with structured output writes ``{"labels": ["finch", "wren"]}`` for a list of labels. A file of JSON
lines may have lists in some rows, and the text of a list in others. Its reader returns such text as a list of one
member.
"""

import json
from typing import TYPE_CHECKING, Any

from oneof.candidates.labels import label_to_text
from oneof.candidates.readers.literals import (
    LISTS,
    WRAPPER_KEYS,
    is_plainly_list,
    is_record,
    read_list,
    unwrap,
    unwrap_object,
)
from oneof.errors import LabelError

if TYPE_CHECKING:
    import polars as pl

_EMPTY_LIST = "[]"


def unwrap_cells(cells: "pl.Series", separator: str, *, weighted: bool = False) -> "pl.Series":
    """Return a column of labels whose objects of one key and texts of lists are read by their own form.

    Parameters
    ----------
    cells : polars.Series
        Other columns than those of objects and of lists of text are returned unchanged.
    separator : str
        The text between two labels. If it is `LISTS`, text in brackets is a list even if it may be an interval.
    weighted : bool, default=False
        Whether cells may have weights. A column of lists then becomes JSON text if a cell is the text of a list or of
        an object; otherwise such text becomes a list, unless it is an object.
    """
    import polars as pl

    if isinstance(cells.dtype, pl.Struct):
        cells = _unwrap_objects(cells, weighted=weighted)
    if not isinstance(cells.dtype, pl.List | pl.Array) or cells.dtype.inner != pl.String:
        return cells
    lists = [None if cell is None else list(cell) for cell in cells.to_list()]
    texts = {text: unwrap(text).strip() for text in map(_text_of, lists) if text is not None}
    if weighted:
        is_json = {text for text, content in texts.items() if _is_list(content, separator) or is_record(content)}
        if not is_json:
            return cells
        written = [text if (text := _text_of(cell)) in is_json else cell and json.dumps(cell) for cell in lists]
        return pl.Series(cells.name, [_EMPTY_LIST if cell == [] else cell for cell in written], dtype=pl.String)
    read: dict[str | None, list[str] | None] = {}
    for text, content in texts.items():
        if _is_list(content, separator) and (labels := _read(content)) is not None:
            read[text] = labels
    if not read:
        return cells
    return pl.Series(cells.name, [read.get(_text_of(cell), cell) for cell in lists], dtype=pl.List(pl.String))


def _unwrap_objects(cells: "pl.Series", *, weighted: bool) -> "pl.Series":
    """Return the values of objects of one key; of weights of some rows only, as JSON text with the other objects.

    Without weights, a column with another object is returned unchanged.
    """
    import polars as pl

    fields = {field.name for field in cells.dtype.fields if not field.dtype.is_numeric()}  # type: ignore[attr-defined]
    if fields.isdisjoint(WRAPPER_KEYS):
        return cells
    rows = [cell and {key: value for key, value in cell.items() if value is not None} for cell in cells.to_list()]
    values: list[Any] = [row and unwrap_object(row) for row in rows]
    is_other = [bool(row) and value is None for row, value in zip(rows, values, strict=True)]
    if any(is_other):
        if not weighted or all(is_other):
            return cells
        values = [[value] if isinstance(value, str) else value for value in values]
        written = [json.dumps(row if other else value) for row, value, other in zip(rows, values, is_other)]
        return pl.Series(cells.name, [text if row else None for text, row in zip(written, rows)], dtype=pl.String)
    values = [value or None if isinstance(value, dict) else value for value in values]
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) > 1 and dict in kinds:
        return cells
    if len(kinds) > 1:
        values = [[value] if isinstance(value, str) else value for value in values]
    if kinds != {str} and dict not in kinds:
        members = [member for value in values for member in value or ()]
        if len({type(member) for member in members if member is not None}) > 1:
            values = [value and [label_to_text(member) for member in value] for value in values]
    return pl.Series(cells.name, values, strict=False)


def _text_of(cell: list[str | None] | None) -> str | None:
    """Return the text of a cell that has one member, None for other cells and for text without a bracket."""
    text = cell[0] if cell is not None and len(cell) == 1 else None
    return text if text is not None and ("[" in text or "{" in text) else None


def _is_list(content: str, separator: str) -> bool:
    is_bracketed = content.startswith("[") and content.endswith("]")
    return content == _EMPTY_LIST or is_plainly_list(content) or (separator == LISTS and is_bracketed)


def _read(content: str) -> list[str] | None:
    """Return the labels of a list; None if it cannot be read, which is an error of the reader of the cell."""
    try:
        return read_list(0, content) or []
    except LabelError:
        return None
