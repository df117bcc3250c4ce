"""Tables: files that are read in one batch, and their columns of labels."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError, MissingExtraError
from oneof.io.batch_spec import BatchSpec
from oneof.io.batches import check_options, iterate_batches
from oneof.io.columns import align_columns
from oneof.io.findings import UnreadableCells
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.dialect import Dialect
from oneof.io.formats.plain_file import plain_file
from oneof.io.formats.source import TABLE_FORMATS, display_path, find_source, format_of
from oneof.io.kinds import Column
from oneof.io.vectors import describe_vectors, split_vectors

if TYPE_CHECKING:
    import polars as pl

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
    source = find_source(path, format, TABLE_FORMATS)
    name = display_path(source.files[0])
    dialect = dialect or Dialect()
    check_options(source.format, dialect, str(name))
    is_sheet = source.format == "excel"
    spec = BatchSpec(
        tuple(labels),
        as_text=as_text,
        drop=drop,
        labels_required=False,
        dialect=_COPY if is_sheet else dialect,
        cell_format=cell_format or CellFormat(),
    )
    with plain_file(source, sheet) as (plain, notes):
        batches = list(iterate_batches(plain, None, spec))
    if not any(len(batch) for batch in batches):
        raise DataError(f"{name} has no rows. Add at least one.")
    [batch] = batches
    frame, vectors = split_vectors(
        batch.content, {*labels, *batch.label_columns, *as_text}, has_only_text=plain.format in ("csv", "tsv")
    )
    return Table(
        frame,
        name,
        batch.label_columns,
        replace(batch.cell_format, decimal=dialect.decimal or batch.cell_format.decimal),
        None if is_sheet else batch.dialect,
        (*notes, *batch.remarks, *describe_vectors(vectors)),
        batch.matrix,
        batch.dropped,
        vectors=vectors,
    )


@dataclass(frozen=True)
class TableOptions:
    """Options of the file of a table, which training and prediction have in common.

    They are known properties of its text and cells, and the refusal of unreadable cells.
    """

    dialect: Dialect = Dialect()  # noqa: RUF009 - frozen
    cell_format: CellFormat = CellFormat()  # noqa: RUF009 - frozen
    strict: bool = False
    format: str | None = None
    sheet: str | None = None

    def read(self, path: Path, **columns: Collection[str]) -> Table:
        """Read a table; `columns` are `as_text`, `labels` and `drop` of `oneof.io.read_table`."""
        form, cells = self.format, self.cell_format
        return read_table(path, dialect=self.dialect, cell_format=cells, format=form, sheet=self.sheet, **columns)

    def align(self, table: Table, columns: Sequence[Column], unreadable: UnreadableCells) -> "pl.DataFrame":
        """Return the features of a table; see `oneof.io.align_columns`. Unreadable cells are errors if `strict`."""
        counted = None if self.strict else unreadable
        return align_columns(table.frame, columns, table.path, cell_format=table.cell_format, unreadable=counted)


def is_whole_table(path: Path) -> bool:
    """Return whether a file has a format that is read at once, not as a stream."""
    return format_of(path, TABLE_FORMATS) in ("npz", "excel")
