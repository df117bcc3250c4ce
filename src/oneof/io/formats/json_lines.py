"""Reader of JSON lines: one object per line.

A column in which some cells are lists becomes a column of lists, and a column of objects a column of structs. A column
of lists and objects, such as labels with and without weights, becomes JSON text, as in CSV. So does a column of text
and of lists of lists or objects, and a column of objects in which a key has lists and other values. Other text
among lists becomes a list of one member.
"""

import io
import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.io.formats.names import match_all
from oneof.io.formats.records import Block

if TYPE_CHECKING:
    import polars as pl


def objects_to_frame(
    rows: Sequence[dict[str, Any]], requested: Collection[str] | None = None, as_text: Collection[str] = ()
) -> "pl.DataFrame":
    """Return objects as a table of the requested keys, or of all; a missing key is a missing value.

    Lists of integers and floats are floats, except in columns with a name or pattern of `as_text`: the label 1 is not
    the label 1.0.
    """
    import polars as pl

    keys: dict[str, Any] = {}
    for row in rows:
        keys.update(row)
    names = [name for name in keys if requested is None or name in requested]
    texts = match_all(as_text, names)
    return pl.DataFrame([_to_series(name, [row.get(name) for row in rows], is_text=name in texts) for name in names])


def read_objects(block: Block) -> list[dict[str, Any]]:
    """Return the objects of lines; blank lines are skipped."""
    try:
        lines = io.StringIO(block.content.decode(), newline=None)
    except UnicodeDecodeError:
        raise DataError(
            f"{block.path} is not text in UTF-8 (line {block.start.line} or later). Save it as UTF-8."
        ) from None
    numbered = enumerate(lines, block.start.line)
    return [read_object(line, f"{block.path}, line {number}") for number, line in numbered if line.strip()]


def read_object(line: str, location: str) -> dict[str, Any]:
    """Return the object of a line; errors begin with its location."""
    row = parse_json(line, location)
    if not isinstance(row, dict):
        raise DataError(f'{location}: a line must be an object such as {{"x": 1}}.')
    return row


def parse_json(text: str, source: str) -> Any:
    """Return the value of JSON; errors begin with its source."""
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():  # may be the escape of a lone surrogate
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        surrogate = error.object[error.start]
        raise DataError(
            f"{source}: {surrogate!r} is a lone surrogate. Write both surrogates of the character."
        ) from None
    except json.JSONDecodeError as error:
        place = f"character {error.pos + 1}"
        raise DataError(f"{source}: invalid JSON ({error.msg} at {place}). Correct it, or export it again.") from None
    except ValueError:  # more digits than Python converts to an integer
        raise DataError(f"{source}: a number has too many digits. Write it as text.") from None
    except RecursionError:
        raise DataError(f"{source}: lists or objects are nested too deeply.") from None
    return value


def _to_series(name: str, cells: list[Any], *, is_text: bool) -> "pl.Series":
    import polars as pl

    kinds = set(map(type, cells)) - {type(None)}
    is_nested = {list, str} <= kinds and _has_nested_lists(cells)
    if {list, dict} <= kinds or is_nested or (kinds == {dict} and _has_mixed_values(cells)):
        cells = [None if cell is None else _to_text(cell) for cell in cells]
    elif list in kinds:
        cells = [cell if cell is None or isinstance(cell, list) else [cell] for cell in cells]
        members = [member for cell in cells if cell is not None for member in cell]
        if any(isinstance(member, list) for member in members):  # neither a feature nor a set of labels
            cells = [None if cell is None else [_to_texts(member) for member in cell] for cell in cells]
        elif len(types := {type(member) for member in members if member is not None}) > 1:
            if types == {int, float} and not is_text:
                return pl.Series(name, cells, dtype=pl.List(pl.Float64), strict=False)
            cells = [cell if cell is None else [None if m is None else _to_text(m) for m in cell] for cell in cells]
    else:
        if kinds == {int, float}:
            return pl.Series(name, cells, dtype=pl.Float64, strict=False)
        if len(kinds) > 1:
            cells = [None if cell is None else _to_text(cell) for cell in cells]
    try:
        return pl.Series(name, cells, strict=kinds != {dict})  # if strict, only the keys of the first objects remain
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [None if cell is None else _to_text(cell) for cell in cells])


def _has_nested_lists(cells: list[Any]) -> bool:
    """Return whether a member of a list is a list or an object, such as a label with its weight."""
    return any(isinstance(m, list | dict) for cell in cells if isinstance(cell, list) for m in cell)


def _has_mixed_values(cells: list[Any]) -> bool:
    """Return whether a key of objects has lists or objects, and other values."""
    types: dict[str, set[type]] = {}
    for cell in cells:
        for key, value in (cell or {}).items():
            if value is not None:
                types.setdefault(key, set()).add(type(value))
    return any(len(kinds) > 1 and kinds & {list, dict} for kinds in types.values())


def _to_texts(member: Any) -> list[str] | None:
    return None if member is None else [_to_text(item) for item in (member if isinstance(member, list) else [member])]


def _to_text(cell: Any) -> str:
    return cell if isinstance(cell, str) else json.dumps(cell)
