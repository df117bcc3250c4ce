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

    sizes: dict[str, int] = {}
    columns: list[pl.Series] = []
    for given in frame.iter_columns():
        is_read = has_only_text and not {given.name, "*"} & {*exclude}
        cells = _as_lists(_read_texts(given) if is_read else given)
        size = 0 if given.name in exclude else _vector_size(cells)
        names = member_names(given.name, size)
        if not size or not set(names).isdisjoint(frame.columns):
            columns.append(given)
            continue
        columns += [cells.list.get(j).alias(name) for j, name in enumerate(names)]
        sizes[given.name] = size
    return pl.DataFrame(columns) if sizes else frame, sizes


def _as_lists(cells: "pl.Series") -> "pl.Series":
    """Return arrays of one length as lists; other cells as they are."""
    import polars as pl

    return cells.arr.to_list() if isinstance(cells.dtype, pl.Array) else cells


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

    if cells.dtype not in (pl.List(pl.Float32), pl.List(pl.Float64)):
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
            raise _error(name, size, f"a vector of {split[name]:,}", present.to_series().arg_max())
        if name in split or name not in frame.columns:
            continue
        members, cells = member_names(name, size), _as_lists(frame[name])
        row, has_any = cells.is_not_null().arg_max(), cells.null_count() < len(cells)
        is_list = isinstance(cells.dtype, pl.List)
        if given := [member for member in members if member in frame.columns]:
            if is_list and has_any:
                reason = f"column {name!r} has a vector, whose number {given[0]!r} is also a column. Remove one."
                raise DataError(reason, row=row)
            continue
        if has_any and not is_list:
            raise _error(name, size, f"a value of type {cells.dtype}", row)
        lists = cells if is_list else cells.cast(pl.List(pl.Float64))
        is_wrong = (lists.list.len() != size).fill_null(value=False)
        if is_wrong.any():
            row = is_wrong.arg_max()
            raise _error(name, size, f"a vector of {len(lists[row or 0]):,}", row)
        frame = frame.drop(name).with_columns(lists.list.get(j).alias(member) for j, member in enumerate(members))
    return frame


def _error(name: str, size: int, got: str, row: int | None) -> DataError:
    return DataError(
        f"column {name!r} must have vectors of {size:,} numbers, as in training; got {got}. Write a list, null for a "
        f"missing vector, or the numbers as the columns {name}[0] to {name}[{size - 1}].",
        row=row or 0,
    )
