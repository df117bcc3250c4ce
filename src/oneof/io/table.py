"""Tables: files that are read in one batch, and their columns of labels."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError, MissingExtraError
from oneof.files import as_path
from oneof.io.batches import BatchSpec, check_options, iterate_batches
from oneof.io.formats.binary import SAVE_ARRAYS, read_sparse_npz
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.dialect import Dialect
from oneof.io.formats.plain_file import plain_file
from oneof.io.formats.source import (
    STANDARD_INPUT,
    TABLE_FORMATS,
    TEXT_FORMATS,
    Source,
    display_path,
    format_of,
    suffixes_of,
)
from oneof.io.vectors import describe_vectors, split_vectors

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = tuple(suffix for known in TABLE_FORMATS for suffix in suffixes_of(known, TABLE_FORMATS))
"""Suffixes of the files that `read_table` reads."""

_TEXT_FORMATS = tuple(known for known in TABLE_FORMATS if known in TEXT_FORMATS)
_COPY = Dialect("utf-8", ",", ".", '"')
"""The dialect of the copy of a spreadsheet."""


@dataclass(frozen=True)
class Table:
    """Table read from a file.

    Attributes
    ----------
    frame : polars.DataFrame
        Rows are counted from 0, without the header.
    path : Path
    label_columns : tuple of str
        Columns that the file format marks as labels; they are never features.
    cell_format : CellFormat
        The form of the cells of text.
    dialect : Dialect or None
        None for formats that are not delimited text.
    remarks : tuple of str
        Sentences about names, cells and sheets that the reader changed or did not read.
    rows : CSR matrix of shape (n_rows, n_features), optional
        The features of a sparse matrix, which has no columns; `frame` then has the labels only.
    dropped : tuple of str
        Columns of the file that were not read.
    is_objects : bool
        Whether the rows are mappings of a program, which may lack columns as the objects of JSON lines do.
    vectors : mapping of str to int
        The length of the vectors of each column that is read as columns of numbers.
    """

    frame: "pl.DataFrame"
    path: Path
    label_columns: tuple[str, ...] = ()
    cell_format: CellFormat = CellFormat()  # noqa: RUF009 - frozen
    dialect: Dialect | None = None
    remarks: tuple[str, ...] = ()
    rows: Any = None
    dropped: tuple[str, ...] = ()
    is_objects: bool = False
    vectors: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The columns of the file: those of the frame, and those that were not read."""
        return [*self.frame.columns, *self.dropped]


def read_table(
    path: str | os.PathLike[str],
    *,
    as_text: Collection[str] = (),
    labels: Collection[str] = (),
    drop: Collection[str] = (),
    dialect: Dialect | None = None,
    cell_format: CellFormat | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    sheet: str | None = None,
) -> Table:
    """Read a table.

    Parameters
    ----------
    path : str or path-like
        A file that ends in .csv, .tsv (the delimiter and the encoding of both are detected), .jsonl or .ndjson (one
        object per line), each also with .gz after the suffix; .parquet; .xlsx, .xlsm, .xlsb, .xls or .ods; or .npz
        (``X``, with ``y`` and/or ``candidates``). "-" is standard input.
    as_text : collection of str
        Columns of a CSV or TSV file, or patterns of their names, that are text even if the cells look like numbers.
    labels : collection of str
        Columns of labels of a CSV or TSV file, which are text. Of the other columns, those in which each cell is a
        number or empty are numbers.
    drop : collection of str
        Columns, or patterns of their names, that are not read, unless they have labels.
    dialect : Dialect, optional
        The known properties of a CSV or TSV file; the others are detected. The decimal separator also applies to the
        cells of text of other formats.
    cell_format : CellFormat, optional
        The known tokens of missing values and formats of dates.
    format : {"csv", "tsv", "jsonl", "parquet", "npz", "excel"}, optional
        By default it is inferred from the suffix. It is required for standard input, which accepts the first three.
    sheet : str, optional
        The sheet of a spreadsheet; by default the first one.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file does not exist, is empty, damaged or of an unknown format, or `dialect` or `sheet` do not apply to
        the format; the error names the line if possible.
    InputTypeError
        If `path` is not a path.
    MissingExtraError
        If polars is not installed.
    """
    try:
        import polars  # noqa: F401
    except ImportError:
        raise MissingExtraError("polars", "cli") from None
    path = as_path(path)
    known = _check_format(path, format)
    name = display_path(path)
    dialect = dialect or Dialect()
    check_options(known, dialect, str(name))
    sparse = read_sparse_npz(path) if known == "npz" else None
    if sparse is not None and sparse.rows.shape[0]:
        return Table(sparse.labels, path, tuple(sparse.labels.columns), rows=sparse.rows)
    is_sheet = known == "excel"
    spec = BatchSpec(
        tuple(labels),
        as_text=as_text,
        drop=drop,
        labels_required=False,
        dialect=_COPY if is_sheet else dialect,
        cell_format=cell_format or CellFormat(),
    )
    with plain_file(path, known, sheet) as file:
        batches = list(iterate_batches(Source(str(path), (file.path,), file.format, name), None, spec))
    if not any(len(batch) for batch in batches):
        raise DataError(f"{name} has no rows. Add at least one.")
    [batch] = batches
    frame, vectors = split_vectors(
        batch.content, {*labels, *batch.label_columns, *as_text}, has_only_text=known in ("csv", "tsv", "excel")
    )
    return Table(
        frame,
        name,
        batch.label_columns,
        replace(batch.cell_format, decimal=dialect.decimal or batch.cell_format.decimal),
        None if is_sheet else batch.dialect,
        (*file.notes, *batch.remarks, *describe_vectors(vectors)),
        dropped=batch.dropped,
        vectors=vectors,
    )


def _check_format(path: Path, given: str | None) -> str:
    """Return the format of an existing file, or of standard input."""
    if given is not None and given not in TABLE_FORMATS:
        raise DataError(
            f"the format must be one of {', '.join(TABLE_FORMATS)}; got {given!r}. Other formats need --online."
        )
    if path == STANDARD_INPUT:
        if given not in _TEXT_FORMATS:
            raise DataError(f"standard input needs a text format. Add --format with {', '.join(_TEXT_FORMATS)}.")
        return str(given)
    known = given or format_of(path, TABLE_FORMATS)
    if known is None and path.suffix.lower() == ".npy":
        raise DataError(
            f"{path} is one array, which has no labels. Write it to {path.with_suffix('.npz')} with the labels, if "
            f"there are any, by {SAVE_ARRAYS}."
        )
    if known is None or (path.suffix.lower() == ".gz" and known not in _TEXT_FORMATS):
        raise DataError(f"{path} has an unknown format. Give a file that ends in {', '.join(SUFFIXES)}, or --format.")
    if not path.exists():
        raise DataError(f"the file {path} does not exist. Check its name and folder.")
    if not path.is_file():
        raise DataError(f"{path} is not a file. Name a file, or read a folder with --online.")
    return known


def is_whole_table(path: Path) -> bool:
    """Return whether a file has a format that is read at once, not as a stream."""
    return format_of(path, TABLE_FORMATS) in ("npz", "excel")
