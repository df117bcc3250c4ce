"""Files as tables: the suffix says the format, and every fault is one sentence."""

import difflib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneof.errors import DataError, MissingExtraError
from oneof.files import GZIP, as_path
from oneof.tables import arrays, json_lines, separated

if TYPE_CHECKING:
    import polars as pl

_LONGEST_REASON = 200
SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".npz")


@dataclass(frozen=True)
class Table:
    """A table that was read from a file.

    Attributes
    ----------
    frame : polars.DataFrame
        Rows are counted from 0, a header not counting.
    path : Path
    label_like : tuple of str
        Columns that the format itself marks as labels: they are never features.
    """

    frame: "pl.DataFrame"
    path: Path
    label_like: tuple[str, ...] = ()


def read_table(path: str | os.PathLike[str], *, as_text: Collection[str] = (), verbatim: Collection[str] = ()) -> Table:
    """Read a table.

    Parameters
    ----------
    path : str or path-like
        A file that ends in .csv (separated by commas, or by semicolons where the header has those and no comma), .tsv,
        .parquet, .jsonl or .ndjson (an object a line), or .npz (dense ``X``, with ``y`` and/or ``candidates``).
    as_text : collection of str
        Columns of a CSV or TSV file that are text even if they look like numbers or dates.
    verbatim : collection of str
        Columns of a CSV or TSV file whose cells are labels: text, too, in which only empty cells are missing, whereas
        elsewhere NA, NaN, null and ? are missing as well.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file is absent, empty, damaged or of an unknown format; the message names the line where it can.
    InputTypeError
        If `path` is no path.
    MissingExtraError
        If polars is not installed.
    """
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "cli") from None
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"{path} is of an unknown format: give a file that ends in {', '.join(SUFFIXES)}.")
    if not path.exists():
        raise DataError(f"there is no file {path}.")
    if not path.is_file():
        raise DataError(f"{path} is not a file.")
    label_like: tuple[str, ...] = ()
    try:
        if suffix not in (".npz", ".parquet") and _begins_with(path, GZIP):
            raise DataError(f"{path} is compressed by gzip: unpack it, or name it {path.name}.gz and add --online.")
        if suffix == ".npz":
            frame, label_like = arrays.read(path)
        elif suffix == ".parquet":
            frame = pl.read_parquet(path)
        elif suffix in (".jsonl", ".ndjson"):
            frame = json_lines.read(path)
        else:
            frame = separated.read(path, tab=suffix == ".tsv", as_text=as_text, verbatim=verbatim)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeError:  # JSON may name half a character, of which no text can be made
        raise DataError(f"{path} is not text in UTF-8: save it as UTF-8.") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DataError(f"{path} cannot be read: {first_line(error)}") from None
    if frame.height == 0:
        raise DataError(f"{path} has no rows.")
    return Table(frame, path, label_like)


def _begins_with(path: Path, sign: bytes) -> bool:
    with path.open("rb") as content:
        return content.read(len(sign)) == sign


def first_line(error: BaseException) -> str:
    """Return the first line of what polars says, as a sentence; its panics, too, are but damage of a file."""
    told = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"{told[:_LONGEST_REASON].rstrip('.')}."


def find_column(name: str, columns: Sequence[str], path: Path) -> str:
    """Return `name` if the table has it; otherwise raise, naming the closest column."""
    if name in columns:
        return name
    lower = {column.lower(): column for column in columns}
    close = difflib.get_close_matches(name.lower(), lower, n=1)
    if close:
        hint = f"did you mean {lower[close[0]]!r}?"
    else:
        shown = ", ".join(columns[:10]) or "none"
        hint = f"it has {shown}" + (f" and {len(columns) - 10} more." if len(columns) > 10 else ".")
    raise DataError(f"{path} has no column {name!r}: {hint}")
