"""Vectors in the cells of a column, such as embeddings, as columns of numbers.

A column "embedding" of vectors becomes the columns "embedding[0]", "embedding[1]" and so on. The lengths of the vectors
of training are stored in a model file; the vectors of another table, or of the rows of a program, must have them.
Columns that have such names in the file itself, as in CSV, are ordinary columns.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError

if TYPE_CHECKING:
    import polars as pl


MIN_TEXT_SIZE = 8
"""Length from which lists of numbers as text are vectors; shorter ones, such as "[0.5, 1.0]", may be intervals."""
_NUMBER = r"\s*(?:[-+.\deE]+|null)\s*"
_VECTOR = rf"^\[(?:{_NUMBER},){{{MIN_TEXT_SIZE - 1},}}{_NUMBER}\]$"


def split_vectors(
    frame: "pl.DataFrame", exclude: Collection[str], *, has_only_text: bool = False
) -> "tuple[pl.DataFrame, dict[str, int]]":
    """Return a table in which columns of vectors of equal length, such as embeddings, are columns of numbers.

    Parameters
    ----------
    frame : polars.DataFrame
    exclude : collection of str
        Columns of labels, which may be lists, and columns that are read as text; "*" for all columns of text.
    has_only_text : bool, default=False
        Whether the format of the file, such as CSV, has text alone: then vectors are also lists of JSON as text.

    Returns
    -------
    frame : polars.DataFrame
        The column "a" becomes "a[0]", "a[1]", ..., unless the table has such a column.
    sizes : dict of str to int
        The length of the vectors of each of these columns.
    """
    import polars as pl

    columns: list[pl.Series] = []
    sizes = {}
    for given in frame.iter_columns():
        is_text = not has_only_text or given.name in exclude or "*" in exclude
        cells = given if is_text else _read_texts(given)
        size = 0 if cells.name in exclude else _vector_size(cells)
        names = member_names(cells.name, size)
        if not size or not set(names).isdisjoint(frame.columns):
            columns.append(given)
            continue
        vectors = cells.arr.to_list() if isinstance(cells.dtype, pl.Array) else cells
        columns += [vectors.list.get(j).alias(name) for j, name in enumerate(names)]
        sizes[cells.name] = size
    return pl.DataFrame(columns) if sizes else frame, sizes


def describe_vectors(sizes: Mapping[str, int]) -> list[str]:
    """Return a note about each column that `split_vectors` has split."""
    return [
        f"column {name!r} of vectors is read as {size:,} columns of numbers, {name}[0] etc."
        for name, size in sizes.items()
    ]


def _read_texts(cells: "pl.Series") -> "pl.Series":
    """Return the lists of numbers of cells of text; other cells as they are."""
    import polars as pl

    texts = cells.drop_nulls() if cells.dtype == pl.String else cells.clear()
    if not len(texts) or not texts[0].startswith("[") or not texts.str.contains(_VECTOR).all():
        return cells
    try:
        return cells.str.json_decode(pl.List(pl.Float64))
    except pl.exceptions.PolarsError:
        return cells


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


def used_vectors(sizes: Mapping[str, int], columns: Collection[str]) -> dict[str, int]:
    """Return the length of each vector that has a number among the columns of a model.

    Examples
    --------
    >>> used_vectors({"a": 3, "b": 2}, ["span", "a[1]", "c[0]"])
    {'a': 3}
    """
    return {name: size for name, size in sizes.items() if not set(member_names(name, size)).isdisjoint(columns)}


def saved_vectors(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the length of each vector in the training table of a saved model; none for a model without vectors."""
    vectors = summary.get("vectors")
    sizes = vectors.items() if isinstance(vectors, dict) else ()
    return {name: size for name, size in sizes if type(name) is str and type(size) is int and size > 1}


def match_vectors(frame: "pl.DataFrame", sizes: Mapping[str, int], split: Mapping[str, int]) -> "pl.DataFrame":
    """Return a table whose vectors are columns of numbers, as in training.

    `split_vectors` splits a column of floats of one length. Here a column of integers, of missing vectors, or of
    vectors of several lengths is split, too. A table that has the numbers as columns of its own is unchanged.

    Parameters
    ----------
    frame : polars.DataFrame
    sizes : mapping of str to int
        The lengths in training.
    split : mapping of str to int
        The lengths of the vectors of this table that are split already.

    Raises
    ------
    DataError
        If a vector has another length than in training, a column of vectors has other cells, or one of its numbers is
        also a column; the error names the row.
    """
    import polars as pl

    for name, size in sizes.items():
        if split.get(name, size) != size:
            present = frame.select(pl.any_horizontal(pl.col(member_names(name, split[name])).is_not_null()))
            raise _error(name, size, f"a vector of {split[name]:,}", present.to_series().arg_max() or 0)
        if name in split or name not in frame.columns:
            continue
        members, cells = member_names(name, size), frame[name]
        cells = cells.arr.to_list() if isinstance(cells.dtype, pl.Array) else cells
        is_present = cells.is_not_null()
        row, is_list = is_present.arg_max() or 0, isinstance(cells.dtype, pl.List)
        if given := [member for member in members if member in frame.columns]:
            if is_list and is_present.any():
                reason = f"column {name!r} has a vector, whose number {given[0]!r} is also a column. Remove one."
                raise DataError(reason, row=row)
            continue
        if is_present.any() and not is_list:
            raise _error(name, size, f"a value of type {cells.dtype}", row)
        lists = cells if is_list else cells.cast(pl.List(pl.Float64))
        is_wrong = (lists.list.len() != size).fill_null(value=False)
        if is_wrong.any():
            row = int(is_wrong.arg_true()[0])
            raise _error(name, size, f"a vector of {len(lists[row]):,}", row)
        frame = frame.drop(name).with_columns(lists.list.get(j).alias(member) for j, member in enumerate(members))
    return frame


def _error(name: str, size: int, got: str, row: int) -> DataError:
    return DataError(
        f"column {name!r} must have vectors of {size:,} numbers, as in training; got {got}. Write a list, null for a "
        f"missing vector, or the numbers as the columns {name}[0] to {name}[{size - 1}].",
        row=row,
    )
