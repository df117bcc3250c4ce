"""JSON lines: an object a line. Columns in which some cells are lists become columns of lists."""

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError

if TYPE_CHECKING:
    import polars as pl


def read(path: Path) -> "pl.DataFrame":
    """Read the objects of a file; keys that an object lacks are missing values."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return as_frame(read_objects(file, path))
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8: save it as UTF-8.") from None


def read_objects(lines: Iterable[str], path: Path, *, first_line: int = 1) -> list[dict[str, Any]]:
    """Read an object a line, blank lines passed over; `path` and the number of the first line are for messages."""
    numbered = enumerate(lines, first_line)
    return [_read_object(line, f"{path}, line {number}") for number, line in numbered if line.strip()]


def _read_object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        if "\\ud" in line.lower():  # an escape that may be half of a character
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise DataError(f"{where}: {half!r} is half of a character; write both halves, or another.") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: no JSON ({error.msg} at character {error.pos + 1}).") from None
    except ValueError:  # beyond the digits that Python turns into an integer
        raise DataError(f"{where}: a number has too many digits; write it as text.") from None
    except RecursionError:
        raise DataError(f"{where}: lists or objects are nested too deeply.") from None
    if not isinstance(row, dict):
        raise DataError(f'{where}: expected an object such as {{"x": 1}}.')
    return row


def as_frame(rows: Sequence[dict[str, Any]], wanted: Collection[str] | None = None) -> "pl.DataFrame":
    """Return objects as a table, of the wanted keys or of all; keys that an object lacks are missing values."""
    import polars as pl

    found: dict[str, Any] = {}
    for row in rows:
        found.update(row)
    names = [name for name in found if wanted is None or name in wanted]
    return pl.DataFrame([_as_series(name, [row.get(name) for row in rows]) for name in names])


def _as_series(name: str, cells: list[Any]) -> "pl.Series":
    import polars as pl

    kinds = set(map(type, cells)) - {type(None)}
    if list in kinds:
        cells = [cell if cell is None or isinstance(cell, list) else [cell] for cell in cells]
        members = [member for cell in cells if cell is not None for member in cell]
        if any(isinstance(member, list) for member in members):  # no feature, and no set of labels: both say so
            cells = [None if cell is None else [_as_texts(member) for member in cell] for cell in cells]
        elif len({type(member) for member in members if member is not None}) > 1:
            cells = [cell if cell is None else [None if m is None else _as_text(m) for m in cell] for cell in cells]
    else:
        if kinds == {int, float}:
            return pl.Series(name, cells, dtype=pl.Float64, strict=False)
        if len(kinds) > 1:
            cells = [None if cell is None else _as_text(cell) for cell in cells]
    try:
        return pl.Series(name, cells)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [None if cell is None else _as_text(cell) for cell in cells])


def _as_texts(member: Any) -> list[str] | None:
    return None if member is None else [_as_text(part) for part in (member if isinstance(member, list) else [member])]


def _as_text(cell: Any) -> str:
    return cell if isinstance(cell, str) else json.dumps(cell)
