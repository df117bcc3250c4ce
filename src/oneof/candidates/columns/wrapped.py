"""Lists and objects of labels that are under a key of an object, or are written as text among other lists.

A language model with structured output writes ``{"labels": ["finch", "wren"]}`` for a list of labels. A file of JSON
lines may have lists in some rows, and the text of a list in others. Its reader returns such text as a list of one
member.
"""

import contextlib
import json
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from oneof.candidates.columns.cells import has_member_text
from oneof.candidates.readers.collections import escape_labels, escaped_characters, separators_of
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
    if not has_member_text(cells):
        return cells
    lists = [None if cell is None else list(cell) for cell in cells.to_list()]
    texts = {text for cell in lists if (text := _text_of(cell)) is not None}
    if weighted:
        is_json = {text for text in texts if _is_list(text, separator) or is_record(text)}
        if not is_json:
            return cells
        written = [text if (text := _text_of(cell)) in is_json else cell and json.dumps(cell) for cell in lists]
        return pl.Series(cells.name, [_EMPTY_LIST if cell == [] else cell for cell in written], dtype=pl.String)
    read: dict[str | None, list[str] | None] = {}
    for text in texts:
        if _is_list(text, separator):
            with contextlib.suppress(LabelError):  # an error of the reader of the cell
                read[text] = _read(text)
    if not read:
        return cells
    return pl.Series(cells.name, [read.get(_text_of(cell), cell) for cell in lists], dtype=pl.List(pl.String))


def unwrap_texts(cells: "pl.Series", separator: str, classes: Collection[str] = ()) -> "pl.Series":
    """Return a column of text in which the texts of lists have the separator, as in a batch of a column of lists.

    Texts in `classes`, and other columns, are unchanged.
    """
    import polars as pl

    if cells.dtype != pl.String or separator == LISTS or not cells.str.contains(r"[\[{]").any():
        return cells
    read: dict[str, str | None] = {}
    for text in cells.drop_nulls().unique().to_list():
        if text not in classes and text.strip() != _EMPTY_LIST and _is_list(text, separator):
            with contextlib.suppress(LabelError):  # a label of its own
                labels = escape_labels(np.array(_read(text) or [], dtype=object), "\\" + escaped_characters(separator))
                read[text] = separators_of(separator)[0].join(labels)
    return pl.Series(cells.name, [read.get(text, text) for text in cells.to_list()], dtype=pl.String)


def _unwrap_objects(cells: "pl.Series", *, weighted: bool) -> "pl.Series":
    """Return objects of one key as lists, by the reader of their text; as JSON text if they may have weights.

    A column without such an object, and one with others if there are no weights, is returned unchanged. An object that
    is not a set of labels becomes a list of its text, which is an error of the reader of the cell.
    """
    import polars as pl

    assert isinstance(cells.dtype, pl.Struct)
    fields = {field.name for field in cells.dtype.fields if not field.dtype.is_numeric()}
    if fields.isdisjoint(WRAPPER_KEYS):
        return cells
    rows = [cell and {key: value for key, value in cell.items() if value is not None} for cell in cells.to_list()]
    values = [row and unwrap_object(row) for row in rows]
    is_other = [bool(row) and value is None for row, value in zip(rows, values, strict=True)]
    if any(is_other) and (not weighted or not any(values)):
        return cells
    texts = [json.dumps(row, ensure_ascii=False, default=str) if row else None for row in rows]
    if weighted:
        return pl.Series(cells.name, texts, dtype=pl.String)
    members = [member for value in values if isinstance(value, list) for member in value]
    if (
        members
        and all(type(member) is int for member in members)
        and not any(isinstance(v, str | dict) for v in values)
    ):
        return pl.Series(cells.name, [value or None for value in values])
    read: dict[str | None, list[str] | None] = {None: None}
    for text in texts:
        if text is not None and text not in read:
            try:
                read[text] = _read(text)
            except LabelError:
                read[text] = [text]
    return pl.Series(cells.name, [read[text] for text in texts], dtype=pl.List(pl.String))


def _text_of(cell: list[str | None] | None) -> str | None:
    """Return the text of a cell that has one member, None for other cells and for text without a bracket."""
    text = cell[0] if cell is not None and len(cell) == 1 else None
    return text if text is not None and ("[" in text or "{" in text) else None


def _is_list(text: str, separator: str) -> bool:
    """Return whether a text is a list with quotation marks, or is under a key or in a code fence.

    Other text in brackets, such as "[3]", may be a label; it is a list if the separator is `LISTS`.
    """
    content = unwrap(text).strip()
    is_bracketed = content.startswith("[") and content.endswith("]")
    if content in ("", _EMPTY_LIST) or (separator == LISTS and is_bracketed):
        return True
    is_quoted = "'" in content or '"' in content
    return is_bracketed and (content != text.strip() or (is_quoted and is_plainly_list(content)))


def _read(text: str) -> list[str] | None:
    """Return the labels of the text of a list; None for an object without labels, which is an unlabeled row."""
    return read_list(0, text) or ([] if text.strip() == _EMPTY_LIST else None)
