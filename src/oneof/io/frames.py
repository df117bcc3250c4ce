"""Rows that a program has in memory, as a table: a DataFrame of pandas or polars, or a list of mappings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.labels import is_missing
from oneof.errors import DataError, InputTypeError, MissingExtraError
from oneof.io.table import Table
from oneof.io.vectors import describe_vectors, split_vectors

if TYPE_CHECKING:
    import polars as pl

_SOURCE = Path("the table")
"""The name of the rows in messages."""


def table_from_rows(rows: Any) -> Table:
    """Return rows as a table.

    Parameters
    ----------
    rows : DataFrame of pandas or polars, or sequence of mappings
        The keys of the mappings are columns. A key that a mapping lacks, None, NaN and pandas' NA are missing values.
        A column that has both text and other values is text.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the table has no rows, or two columns have the same name.
    InputTypeError
        If `rows` has another type, or a column name is not text.
    MissingExtraError
        If polars is not installed.

    Examples
    --------
    >>> from oneof.io import table_from_rows
    >>> table_from_rows([{"span": 3.5, "color": "red"}, {"span": None}]).frame.to_dict(as_series=False)
    {'span': [3.5, None], 'color': ['red', None]}
    """
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "cli") from None
    if isinstance(rows, pl.DataFrame):
        frame = rows
    elif hasattr(rows, "columns") and hasattr(rows, "iloc"):  # pandas
        names = _check_names(list(rows.columns))
        frame = pl.DataFrame({name: _from_pandas(name, rows.iloc[:, j]) for j, name in enumerate(names)})
    elif isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        frame = pl.DataFrame(_from_mappings(rows))
    else:
        raise InputTypeError(
            "`table` must be a path, a DataFrame of pandas or polars, or a list of dicts; got "
            f"{type(rows).__name__}.{' Pass [row] for one row.' * isinstance(rows, dict)}"
        )
    if not len(frame):
        raise DataError("the table has no rows. Add at least one.")
    frame, vectors = split_vectors(frame, ())
    remarks = tuple(describe_vectors(vectors))
    return Table(frame, _SOURCE, is_objects=not hasattr(rows, "columns"), remarks=remarks, vectors=vectors)


def _check_names(names: list[Any]) -> list[str]:
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError(f"column names must be text; got {name!r}. Rename the columns.")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"the table has two columns of the name {name!r}. Rename one.")
    return names


def _from_pandas(name: str, column: Any) -> "pl.Series":
    import polars as pl

    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if kind in "biuf":
        return pl.Series(name, column.to_numpy())
    if kind in "mM":
        return pl.Series(name, column.to_numpy().astype("datetime64[us]" if kind == "M" else "timedelta64[us]"))
    return _from_values(name, column.tolist())


def _from_mappings(rows: Sequence[Any]) -> "dict[str, pl.Series]":
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputTypeError(f"row {index} must be a mapping of columns to cells; got {type(row).__name__}.")
    names = _check_names(list(dict.fromkeys(name for row in rows for name in row)))
    return {name: _from_values(name, [row.get(name) for row in rows]) for name in names}


def _from_values(name: str, values: list[Any]) -> "pl.Series":
    """Return values of any type; if they have no type of polars in common, as text."""
    import polars as pl

    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    cells = [None if is_missing(value) else value for value in plain]
    kinds = {type(cell) for cell in cells if cell is not None}
    try:
        if kinds and kinds <= {int, float}:
            return pl.Series(name, cells, dtype=pl.Float64 if float in kinds else pl.Int64)
        lists = [cell for cell in cells if cell is not None] if kinds == {list} else []
        if {type(member) for cell in lists for member in cell} - {type(None)} == {int, float}:
            return pl.Series(name, cells, dtype=pl.List(pl.Float64), strict=False)
        if len(kinds) < 2:
            return pl.Series(name, cells)
    except (OverflowError, TypeError, ValueError, pl.exceptions.PolarsError):  # such as integers above 64 bits
        pass
    return pl.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=pl.String)
