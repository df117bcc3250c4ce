"""Vectors in the cells of a column, such as embeddings, as columns of numbers.

A column "embedding" of vectors becomes the columns "embedding[0]", "embedding[1]" and so on. The length of the vectors
of training is stored in a model file; the vectors of another table, or of the rows of a program, must have it.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.errors import DataError

if TYPE_CHECKING:
    import polars as pl


def split_vectors(frame: "pl.DataFrame", exclude: Collection[str]) -> "tuple[pl.DataFrame, list[str]]":
    """Return a table in which columns of vectors of equal length, such as embeddings, are columns of numbers.

    Parameters
    ----------
    frame : polars.DataFrame
    exclude : collection of str
        Columns of labels, which may be lists.

    Returns
    -------
    frame : polars.DataFrame
        The column "a" becomes "a[0]", "a[1]", ..., unless the table has such a column.
    remarks : list of str
        A sentence for each of these columns.
    """
    import polars as pl

    columns: list[pl.Series] = []
    remarks = []
    for cells in frame.iter_columns():
        size = 0 if cells.name in exclude else _vector_size(cells)
        names = member_names(cells.name, size)
        if not size or not set(names).isdisjoint(frame.columns):
            columns.append(cells)
            continue
        vectors = cells.arr.to_list() if isinstance(cells.dtype, pl.Array) else cells
        columns += [vectors.list.get(j).alias(name) for j, name in enumerate(names)]
        remarks.append(f"column {cells.name!r} of vectors is read as {size:,} columns of numbers, {cells.name}[0] etc.")
    return pl.DataFrame(columns) if remarks else frame, remarks


def _vector_size(cells: "pl.Series") -> int:
    """Return the length of the vectors of a column, 0 for another column."""
    import polars as pl

    inner = getattr(cells.dtype, "inner", None)
    if isinstance(cells.dtype, pl.Array) and isinstance(inner, pl.DataType) and inner.is_numeric():
        return cells.dtype.size
    if not isinstance(cells.dtype, pl.List) or inner not in (pl.Float32, pl.Float64):
        return 0
    sizes = cells.list.len().drop_nulls().unique().to_list()
    return sizes[0] if len(sizes) == 1 and sizes[0] > 1 else 0


def member_names(name: str, size: int) -> list[str]:
    """Return the names of the columns of a vector."""
    return [f"{name}[{j}]" for j in range(size)]


def vector_name(column: str) -> str | None:
    """Return the name of the vector of which a column is a number, or None for another column."""
    name, bracket, index = column.rpartition("[")
    return name if name and bracket and index[-1:] == "]" and index[:-1].isdecimal() else None


def vector_sizes(columns: Collection[str]) -> dict[str, int]:
    """Return the length of each vector of a table: of the columns NAME[0], NAME[1] and so on, of which there are two.

    Examples
    --------
    >>> vector_sizes(["span", "a[0]", "a[1]", "a[2]", "b[1]"])
    {'a': 3}
    """
    known, sizes = set(columns), {}
    for name in dict.fromkeys(map(vector_name, columns)):
        if name is None:
            continue
        size = 0
        while f"{name}[{size}]" in known:
            size += 1
        if size > 1:
            sizes[name] = size
    return sizes


def saved_vectors(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the length of each vector in the training table of a saved model; none for a model without vectors."""
    vectors = summary.get("vectors")
    sizes = vectors.items() if isinstance(vectors, dict) else ()
    return {name: size for name, size in sizes if type(name) is str and type(size) is int and size > 1}


def match_vectors(frame: "pl.DataFrame", sizes: Mapping[str, int], path: Path) -> "pl.DataFrame":
    """Return a table whose vectors are columns of numbers, as in training.

    `split_vectors` splits a column of floats of one length. Here a column of integers, of missing vectors, or of
    vectors of several lengths is split, too.

    Raises
    ------
    DataError
        If a vector has another length than in training; the error names the row.
    """
    import polars as pl

    found = vector_sizes(frame.columns)
    for name, size in sizes.items():
        if name in frame.columns and f"{name}[0]" not in frame.columns:
            cells = frame[name]
            if isinstance(cells.dtype, pl.Array):
                cells = cells.arr.to_list()
            if isinstance(cells.dtype, pl.List):
                for row, length in enumerate(cells.list.len().to_list()):
                    if length is not None and length != size:
                        raise _length_error(name, size, length, row, path)
                columns = [cells.list.get(j).alias(member) for j, member in enumerate(member_names(name, size))]
            elif cells.null_count() == len(cells):
                columns = [pl.Series(member, cells, dtype=pl.Float64) for member in member_names(name, size)]
            else:
                continue
            frame = frame.drop(name).with_columns(columns)
        elif found.get(name, size) != size:
            present = frame.select(pl.any_horizontal(pl.col(member_names(name, found[name])).is_not_null()))
            row = present.to_series().arg_max() or 0
            raise _length_error(name, size, found[name], row, path)
    return frame


def spread_vectors(row: Mapping[str, Any], sizes: Mapping[str, int], number: int) -> Mapping[str, Any]:
    """Return a row in which the vectors are numbers of their own: {"a": [1, 2]} becomes {"a[0]": 1, "a[1]": 2}.

    A vector that is None is missing numbers.

    Raises
    ------
    DataError
        If a vector has another length than in training; the error names the row, which has a `number`.
    """
    spread: dict[str, Any] = {}
    for name, size in sizes.items():
        vector = row.get(name)
        if name not in row or not isinstance(vector, Sequence | np.ndarray | None) or isinstance(vector, str | bytes):
            continue
        members = member_names(name, size)
        if not set(members).isdisjoint(row):
            continue
        if vector is not None and len(vector) != size:
            raise _length_error(name, size, len(vector), number)
        spread |= dict.fromkeys(members) if vector is None else zip(members, vector, strict=True)
    return {**row, **spread} if spread else row


def _length_error(name: str, size: int, length: int, row: int, path: Path | None = None) -> DataError:
    return DataError(
        f"column {name!r} must have vectors of {size:,} numbers, as in training; got {length:,}. Compute them as in "
        "training, or use null for a missing vector.",
        source=None if path is None else str(path),
        row=row,
    )
