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
    rows: list[dict[str, Any]] = []
    number = first_line
    try:
        for number, line in enumerate(lines, first_line):
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict):
                raise DataError(f'{path}, line {number}: expected an object such as {{"x": 1}}.')
            rows.append(row)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {number}: no JSON ({error.msg} at character {error.pos + 1}).") from None
    except RecursionError:
        raise DataError(f"{path}, line {number}: lists or objects are nested too deeply.") from None
    except ValueError as error:  # Python reads whole numbers of so many digits only
        if isinstance(error, DataError | UnicodeError):
            raise
        raise DataError(f"{path}, line {number}: a number has too many digits.") from None
    return rows


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
        if len({type(member) for member in members if member is not None}) > 1:
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


def _as_text(cell: Any) -> str:
    return cell if isinstance(cell, str) else json.dumps(cell)
