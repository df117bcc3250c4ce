"""Reader of JSON lines: one object per line, and a column for each key; values of Python as columns of a table.

Numbers and booleans have the type of numbers in common, other values of several types are text. A column in which some
cells are lists becomes a column of lists, in which text is a list of one member. Objects, and lists of lists or
objects, are JSON: each as a list of one text or, if other cells are text, as text. Labels are read from either, and
neither is a feature.
"""

import io
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.labels import is_missing
from oneof.errors import DataError
from oneof.io.columns import match_all

if TYPE_CHECKING:
    import polars as pl

MAX_EXACT = 2**53
"""Largest float up to which all whole numbers are floats."""
MAX_BITS = 10_000
"""Largest size of an integer as text, below the 4,300 digits that Python prints."""


def objects_to_frame(
    rows: Sequence[dict[str, Any]], names: Sequence[str] | None = None, as_text: Collection[str] = ()
) -> "pl.DataFrame":
    """Return some keys of objects, or all, as columns of a table; a missing key is a missing value.

    Numbers are text in columns with a name or pattern of `as_text`.
    """
    import polars as pl

    names = list(dict.fromkeys(key for row in rows for key in row)) if names is None else names
    texts = match_all(as_text, names)
    columns = [to_series(name, [row.get(name) for row in rows], is_text=name in texts or None) for name in names]
    return pl.DataFrame(columns).with_columns(pl.col(pl.Null).cast(pl.String))


def read_lines(text: str, source: Path | str, first_line: int = 1) -> list[dict[str, Any]]:
    """Return the objects of lines; blank lines are skipped, and errors begin with the source and the line."""
    rows = []
    for number, line in enumerate(io.StringIO(text, newline=None), first_line):
        if line.strip():
            rows.append(parse_json(line, f"{source}, line {number}"))
            if not isinstance(rows[-1], dict):
                raise DataError(f'{source}, line {number}: a line must be an object such as {{"x": 1}}.')
    return rows


def parse_json(text: str, source: str) -> Any:
    """Return the value of JSON; errors begin with its source."""
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():  # may be the escape of a lone surrogate
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError as error:
        reason = f"{error.object[error.start]!r} is a lone surrogate. Write both surrogates of the character."
    except json.JSONDecodeError as error:
        place = f"at character {error.pos + 1}"
        reason = f"invalid JSON ({error.msg.removesuffix(' at')} {place}). Correct it, or export it again."
    except ValueError:  # more digits than Python converts to an integer
        reason = "a number has too many digits. Write it as text."
    except RecursionError:
        reason = "lists or objects are nested too deeply."
    raise DataError(f"{source}: {reason}")


def to_series(name: str, values: list[Any], *, is_text: bool | None = None) -> "pl.Series":
    """Return values of any type as a column. A cell as text does not depend on the other cells.

    Parameters
    ----------
    name : str
    values : list
    is_text : bool, optional
        True if all numbers and booleans become text, as a column of categories needs: 3.0 is "3". False if booleans
        among text are numbers. By default they are "true" and "false".
    """
    import polars as pl

    kinds = set(map(type, values)) - {type(None)}
    if not kinds <= {int, float, str, bool, list, dict}:
        values = [_plain(value) for value in values]
        kinds = set(map(type, values)) - {type(None)}
    if float in kinds:
        values = [None if value != value else value for value in values]  # noqa: PLR0124 - NaN
    texts = ["1", "0"] if is_text is False else ["true", "false"]
    dtype: Any = pl.Int64 if kinds == {int} else None
    if list in kinds or dict in kinds:
        values, dtype = _to_lists(values, has_text=str in kinds, are_numbers=not is_text)
    elif (is_text and not kinds <= {str}) or (len(kinds) > 1 and not kinds <= {int, float, bool}):
        values = [_to_text(value, *texts) for value in values]
    try:
        if len(kinds) > 1 and kinds <= {int, float, bool}:
            values = [None if value is None else float(value) for value in values]
        return pl.Series(name, values, dtype=dtype)
    except (OverflowError, TypeError, ValueError, pl.exceptions.PolarsError):  # such as integers above 64 bits
        return pl.Series(name, [_to_text(value, *texts) for value in values], dtype=pl.String)


def _to_lists(values: list[Any], *, has_text: bool, are_numbers: bool) -> tuple[list[Any], Any]:
    """Return cells of which some are lists or objects as lists or text, and their type if it is not that of text."""
    import polars as pl

    cells = [value if value is None or isinstance(value, list) else [value] for value in values]
    kinds = {type(member) for cell in cells for member in cell or ()} - {type(None)}
    if kinds & {list, dict}:
        texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        return (texts, pl.String) if has_text else ([text and [text] for text in texts], pl.List(pl.String))
    if kinds == {int, float} and are_numbers:
        return [cell and [None if m is None else float(m) for m in cell] for cell in cells], pl.List(pl.Float64)
    if len(kinds) > 1:
        cells = [cell and [_to_text(member, "true", "false") for member in cell] for cell in cells]
    return cells, None


def _plain(value: Any) -> Any:
    """Return a value of NumPy as one of Python, and a missing value as None."""
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, np.ndarray | tuple):
        return list(value) if np.ndim(value) == 1 else value
    return None if is_missing(value) else value


def _to_text(value: Any, true: str, false: str) -> str | None:
    """Return a cell as text; half a surrogate pair, which JSON can contain, is written as a number."""
    if value is None:
        return None
    if isinstance(value, bool):
        return true if value else false
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_EXACT:
        return str(int(value))
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return "inf"
    return str(value).encode("utf-8", "backslashreplace").decode()
