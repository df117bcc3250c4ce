"""CSV and TSV files.

polars reads them fast but pads short lines with missing values and renames repeated columns. So the lines are walked
through first, which also finds the line of a fault.
"""

import csv
import io
import threading
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError

if TYPE_CHECKING:
    import polars as pl

MISSING = ["NA", "N/A", "NaN", "nan", "null", "NULL", "?"]
"""Cells that are read as missing, as empty ones are, except in columns read verbatim."""

_LONGEST_CELL = 2**31 - 1


class _LongCells:
    """Lets csv read cells of any length within a `with` block, and puts its limit back behind it.

    The limit is one for the whole process, so that blocks of several threads share the change: the last one that is
    left undoes it. No block may hold a `yield`, or the limit would stay as long as a generator is not ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entered = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._entered:
                self._before = csv.field_size_limit(_LONGEST_CELL)
            self._entered += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._entered -= 1
            if not self._entered:
                csv.field_size_limit(self._before)


long_cells = _LongCells()


def read(path: Path, *, tab: bool, as_text: Collection[str], verbatim: Collection[str]) -> "pl.DataFrame":
    """Read a file whose first line names the columns."""
    import polars as pl

    separator, columns, n_rows = _check_lines(path, tab)
    has_marks = any('"' in name for name in columns)
    own = {name: str(number) if has_marks else name for number, name in enumerate(columns)}
    content: Any = _under_numbers(path, separator, list(own.values())) if has_marks else path

    def read_columns(names: list[str], text: Collection[str], missing: list[str] | None) -> pl.DataFrame:
        if has_marks:
            content.seek(0)
        read = pl.read_csv(
            content,
            columns=[own[name] for name in names],
            separator=separator,
            infer_schema_length=None,
            try_parse_dates=True,
            schema_overrides={own[name]: pl.String for name in names if name in text},
            null_values=missing,
        )
        return read.rename({own[name]: name for name in names})

    # polars knows several words for a missing cell only for all columns at once, so the others are read apart.
    parts = [
        read_columns(names, text, missing)
        for names, text, missing in (
            ([name for name in columns if name not in verbatim], as_text, MISSING),
            ([name for name in columns if name in verbatim], verbatim, None),
        )
        if names
    ]
    return pl.concat(parts, how="horizontal").select(columns).head(n_rows)


def _under_numbers(path: Path, separator: str, numbers: list[str]) -> io.BytesIO:
    """Return the file with numbers in place of names: polars does not read quotation marks within names as csv does."""
    with long_cells, path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=separator, strict=True)
        next(lines)
        n_lines = lines.line_num
    with path.open("rb") as file:
        for _ in range(n_lines):
            file.readline()
        return io.BytesIO(separator.join(numbers).encode() + b"\n" + file.read())


def _check_lines(path: Path, tab: bool) -> tuple[str, list[str], int]:
    """Return the separator, the columns and the number of rows without blank lines at the end."""
    try:
        with long_cells, path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            separator = separator_of(first, tab=tab)
            file.seek(0)
            lines = csv.reader(file, delimiter=separator, strict=True)
            columns = next(lines, [])
            check_header(path, columns)
            n_rows, blank = 0, 0
            for cells in lines:
                if not cells and len(columns) > 1:
                    blank = blank or lines.line_num
                    continue
                if blank:
                    raise DataError(f"{path}, line {blank}: the line is blank; remove it.")
                if len(cells) != len(columns) and len(columns) > 1:
                    raise DataError(
                        f"{path}, line {lines.line_num}: found {len(cells)} cells, but the header has {len(columns)}."
                    )
                n_rows += 1
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8 (line {_undecodable_line(path)}): save it as UTF-8.") from None
    except csv.Error as error:
        raise DataError(f"{path}, line {lines.line_num}: {error}.") from None
    return separator, columns, n_rows


def separator_of(header: str, *, tab: bool) -> str:
    """Return what stands between two cells, as the first line of a file shows it."""
    return "\t" if tab else (";" if ";" in header and "," not in header else ",")


def check_header(path: Path, columns: list[str]) -> None:
    """Raise unless every column has a name of its own."""
    if not columns:
        raise DataError(f"{path} is empty: expected a line with the names of the columns.")
    if "" in columns and columns.index("") > 0:
        raise DataError(f"{path}: column {columns.index('') + 1} has no name; name it in the first line.")
    seen: set[str] = set()
    for name in columns:
        if name in seen:
            raise DataError(f"{path} has two columns {name!r}: give every column its own name.")
        seen.add(name)


def _undecodable_line(path: Path) -> int:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 0
