"""Parquet and Arrow files, by slices of their rows."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oneof.errors import DataError
from oneof.tables.reader import first_line

if TYPE_CHECKING:
    import polars as pl

_BYTES_AT_ONCE = 2**24
_MOST_BATCHES = 16
_BYTES_OF_TEXT = 256
"""What a cell of text is taken to need, before it is read."""


def read_slices(
    path: Path, kind: str, n_rows: int, first_row: int, names: Callable[[], Sequence[str] | None]
) -> Iterator["pl.DataFrame"]:
    """Yield the rows from `first_row` on, `n_rows` at a time; of the columns that `names` gives, or of all.

    `names` is asked before each fetch. Some batches are fetched at once, as far as they are small: a slice of Parquet
    costs more, the later it begins within its row group.
    """
    import polars as pl

    try:
        rows = pl.scan_parquet(path, hive_partitioning=False) if kind == "parquet" else pl.scan_ipc(path)
        schema = rows.collect_schema()
        while True:
            columns = names()
            kept = [name for name in schema if columns is None or name in columns]
            width = sum(8 if schema[name].is_numeric() else _BYTES_OF_TEXT for name in kept)
            fetch = n_rows * min(max(_BYTES_AT_ONCE // (n_rows * max(width, 1)), 1), _MOST_BATCHES)
            fetch = n_rows if columns is None else fetch
            fetched = rows.select(kept).slice(first_row, fetch).collect()
            yield from fetched.iter_slices(n_rows) if fetched.height else ()
            if fetched.height < fetch:
                return
            first_row += fetched.height
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DataError(f"{path} cannot be read: {first_line(error)}") from None


def count_rows(path: Path, kind: str) -> int:
    """Return the number of rows, which the file itself tells."""
    import polars as pl

    try:
        rows = pl.scan_parquet(path, hive_partitioning=False) if kind == "parquet" else pl.scan_ipc(path)
        return int(rows.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DataError(f"{path} cannot be read: {first_line(error)}") from None
