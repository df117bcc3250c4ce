"""Reader of JSON lines: one object per line, and a column for each key."""

import io
import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.io.formats.names import match_all
from oneof.io.formats.records import Block
from oneof.io.formats.values import to_series

if TYPE_CHECKING:
    import polars as pl


def objects_to_frame(
    rows: Sequence[dict[str, Any]], requested: Collection[str] | None = None, as_text: Collection[str] = ()
) -> "pl.DataFrame":
    """Return objects as a table of the requested keys, or of all; a missing key is a missing value.

    Numbers are text in columns with a name or pattern of `as_text`.
    """
    import polars as pl

    keys: dict[str, Any] = {}
    for row in rows:
        keys.update(row)
    names = [name for name in keys if requested is None or name in requested]
    texts = match_all(as_text, names)
    return pl.DataFrame(
        [to_series(name, [row.get(name) for row in rows], is_text=name in texts or None) for name in names]
    )


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
