"""Tables and streams: the rows of a source, a bounded number at a time or all at once, from any position.

All formats are read here. A table is a stream of one batch, and both are the same record.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.errors import DataError, InputTypeError, MissingExtraError
from oneof.io.columns import find_column, format_names, match_all
from oneof.io.features import BatchSpec, Column, align_columns
from oneof.io.findings import UnreadableCells
from oneof.io.formats import binary
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.content import load_content
from oneof.io.formats.delimited import DelimitedReader, as_plain_numbers
from oneof.io.formats.dialect import COMMON, Dialect
from oneof.io.formats.json_lines import objects_to_frame, read_lines, to_series
from oneof.io.formats.records import RecordOffset, RecordReader
from oneof.io.formats.source import (
    TABLE_FORMATS,
    TEXT_FORMATS,
    Source,
    display_path,
    find_source,
    format_of,
    open_source,
    polars_errors_as_data_errors,
)
from oneof.io.formats.svmlight import read_indexed_rows
from oneof.io.table import Position, Table
from oneof.io.vectors import split_vectors
from oneof.messages import enumerate_items
from oneof.validation import check_positive

if TYPE_CHECKING:
    import polars as pl

BATCH_ROWS = 10_000
_IN_MEMORY = Path("the table")
"""The name of the rows of a program in messages."""


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
    name, dialect, is_sheet = display_path(source.files[0]), dialect or Dialect(), source.format == "excel"
    check_options(source, dialect)
    if sheet is not None and not is_sheet:
        raise DataError(f"--sheet needs a spreadsheet; {name} is not one.")
    spec = BatchSpec(
        tuple(labels),
        as_text=as_text,
        labels_required=False,
        dialect=COMMON if is_sheet else dialect,
        cell_format=cell_format or CellFormat(),
    )
    source, notes = load_content(source, sheet)
    tables = [table for table in iterate_batches(source, None, spec) if len(table)]
    if not tables:
        raise DataError(f"{name} has no rows. Add at least one.")
    [table] = tables
    names, texts = table.frame.columns, {*labels, *table.label_columns, *as_text}
    dropped = match_all(drop, names) - match_all(labels, names)
    frame, vectors = split_vectors(table.frame.drop(dropped), texts, has_only_text=table.dialect is not None)
    return replace(
        table,
        frame=frame,
        cell_format=replace(table.cell_format, decimal=dialect.decimal or table.cell_format.decimal),
        dialect=None if is_sheet else table.dialect,
        remarks=(*notes, *table.remarks),
        dropped=tuple(name for name in names if name in dropped),
        vectors=vectors,
    )


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
    return Table(frame, _IN_MEMORY, is_objects=not hasattr(rows, "columns"), vectors=vectors)


def _check_names(names: list[Any]) -> list[str]:
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError(f"column names must be text; got {name!r}. Rename the columns.")
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
    return to_series(name, column.tolist())


def _from_mappings(rows: Sequence[Any]) -> "dict[str, pl.Series]":
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputTypeError(f"row {index} must be a mapping of columns to cells; got {type(row).__name__}.")
    names = _check_names(list(dict.fromkeys(name for row in rows for name in row)))
    return {name: to_series(name, [row.get(name) for row in rows]) for name in names}


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
        """Return the features of rows; see `oneof.io.align_columns`. Unreadable cells are errors if `strict`."""
        return align_columns(
            table.frame,
            columns,
            table.path,
            cell_format=table.cell_format,
            unreadable=None if self.strict else unreadable,
            first_row=table.first_row,
        )


def is_whole_table(path: Path) -> bool:
    """Return whether a file has a format that is read at once, not as a stream."""
    return format_of(path, TABLE_FORMATS) in ("npz", "excel")


def read_batches(source: Any, *, n_rows: int = BATCH_ROWS, format: str | None = None) -> Iterator[Any]:  # noqa: A002
    r"""Read a stream in batches, in memory that does not grow with the number of rows.

    Parameters
    ----------
    source : str, path-like or Source
        A file of CSV, TSV, JSON lines, svmlight (each also with .gz after the suffix), Parquet or Arrow; a folder of
        files of one format; or "-" for standard input.
    n_rows : int, default=10000
        Maximum number of rows of a batch. A batch ends at the end of a file.
    format : str, optional
        See `open_source`.

    Yields
    ------
    polars.DataFrame, or IndexedRows for svmlight files
        The types of CSV and JSON columns are inferred from the cells of each batch.

    Raises
    ------
    DataError
        If a file does not exist or is damaged, or a line is malformed; the error names file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from oneof.stream import read_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "birds.csv")
    ...     _ = path.write_text("span,species\n3.1,wren\n2.9,wren|finch\n4.0,\n")
    ...     [batch["species"].to_list() for batch in read_batches(path, n_rows=2)]
    [['wren', 'wren|finch'], [None]]
    """
    source = source if isinstance(source, Source) else open_source(source, format)
    check_positive("n_rows", n_rows, integer=True)
    for batch in iterate_batches(source, n_rows, BatchSpec()):
        is_text = batch.dialect is not None
        yield as_plain_numbers(batch.frame, batch.cell_format) if is_text else batch.frame


def iterate_batches(
    source: Source, n_rows: int | None, spec: BatchSpec, start: Position | None = None
) -> Iterator[Table]:
    """Yield the batches of a source from a position on; the batches do not depend on the position.

    Parameters
    ----------
    source : Source
    n_rows : int or None
        Maximum number of rows of a batch; None reads each file in one batch.
    spec : BatchSpec
    start : Position, optional
        The ``after`` of a batch; by default the beginning. A position requires `n_rows`.
    """
    start = start or Position()
    check_options(source, spec.dialect)
    for number, path in enumerate(source.files[start.file :], start.file):
        if source.format in ("parquet", "arrow"):
            binary.check_decodable(source.files[number:], source.format)
        offset = start.offset if number == start.file else RecordOffset()
        row = offset.row
        for batch in _READERS[source.format](path, source, n_rows, spec, offset):
            first, row = row, row + len(batch)
            if n_rows is not None and row == first:
                continue
            yield replace(
                batch,
                first_row=first,
                after=Position(number, batch.after.offset._replace(row=row)),
                cell_format=replace(batch.cell_format, decimal=spec.dialect.decimal or batch.cell_format.decimal),
            )


def check_options(source: Source, dialect: Dialect) -> None:
    """Raise if an option of delimited text is given for a file of another format.

    The decimal separator applies to cells of text in any format that has them.
    """
    options = {"--delimiter": dialect.delimiter, "--encoding": dialect.encoding, "--quote": dialect.quote}
    if source.format in ("npz", "svmlight"):
        options["--decimal"] = dialect.decimal
    given = [option for option, value in options.items() if value is not None]
    if given and source.format not in ("csv", "tsv"):
        verb = "apply" if len(given) > 1 else "applies"
        raise DataError(
            f"{enumerate_items(given)} {verb} to CSV and TSV files only; {source.display_name} has the format "
            f"{source.format}. Remove the option{'s' * (len(given) > 1)}, or set --format."
        )


def file_sizes(source: Source) -> list[int] | None:
    """Return the size of each file, in bytes or, for binary formats, in rows; None if it is unknown."""
    if source.format in TEXT_FORMATS:
        known = source.can_be_read_again and not any(file.suffix.lower() == ".gz" for file in source.files)
        return [file.stat().st_size for file in source.files] if known else None
    sizes = []
    for number, file in enumerate(source.files):
        binary.check_decodable(source.files[number:], source.format)
        sizes.append(binary.count_rows(file, source.format))
    return sizes


def progress_fraction(sizes: Sequence[int] | None, position: Position) -> float | None:
    """Return the fraction of a stream before a position, in [0, 1]; None if it is unknown."""
    if sizes is None or not sum(sizes):
        return None
    return (sum(sizes[: position.file]) + (position.offset.offset or position.offset.row)) / sum(sizes)


# Each reader yields the batches of a file from an offset on, whose rows are counted by `iterate_batches`.


def _read_slices(
    path: Path, source: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset
) -> Iterator[Table]:
    n_rows = max(binary.count_rows(path, source.format), 1) if n_rows is None else n_rows
    for frame in binary.read_slices(path, source.format, n_rows, start.row, lambda: spec.names):
        _check_columns(frame.columns, path, spec)
        yield Table(frame, path, cell_format=spec.cell_format)


def _read_csv(path: Path, source: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset) -> Iterator[Table]:
    reader = DelimitedReader(path, spec, tab=source.format == "tsv", content=source.content)
    frames = reader.batches(n_rows, start) if n_rows is not None else [(reader.read_file(), RecordOffset())]
    for frame, after in frames:
        _check_columns(reader.columns, reader.path, spec)
        yield Table(
            frame,
            reader.path,
            after=Position(0, after),
            cell_format=replace(spec.cell_format, decimal=str(reader.dialect.decimal)),
            dialect=reader.dialect,
            remarks=tuple(reader.remarks),
        )


def _read_json(path: Path, source: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset) -> Iterator[Table]:
    """Yield objects with a column for each requested key; a key that no object of the batch has is missing values.

    The first objects of a file must have the labels and at least one feature; otherwise the file is probably wrong.
    """
    reader = RecordReader(path, content=source.content, is_table=n_rows is None)
    blocks = reader.blocks(n_rows or BATCH_ROWS, start)
    parts = ((read_lines(block.content.decode(), block.path, block.start.line), after) for block, after in blocks)
    whole = [([item for objects, _ in parts for item in objects], RecordOffset())] if n_rows is None else []
    row = start.row
    for objects, after in whole or parts:
        keys = list(dict.fromkeys(key for item in objects for key in item))
        absent = tuple(column.name for column in spec.features or () if column.name not in keys)
        if not row and objects:
            is_other = len(absent) == len(spec.features or ())
            _check_columns(keys if is_other else [*keys, *absent], reader.path, spec)
        row += len(objects)
        with polars_errors_as_data_errors(reader.path):
            frame = objects_to_frame(objects, keys if spec.names is None else spec.names, (*spec.labels, *spec.as_text))
        yield Table(frame, reader.path, after=Position(0, after), cell_format=spec.cell_format, absent=absent)


def _read_svmlight(path: Path, _: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset) -> Iterator[Table]:
    reader, n_columns = RecordReader(path), 0 if spec.features == () else spec.n_columns
    for block, after in reader.blocks(n_rows or BATCH_ROWS, start):
        content = read_indexed_rows(block, spec.separator, n_columns)
        yield Table(content, reader.path, after=Position(0, after), rows=content.rows)


def _read_npz(path: Path, _: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset) -> Iterator[Table]:  # noqa: ARG001 - always one batch
    table = binary.read_npz(path)
    _check_columns(table.frame.columns, path, spec)
    yield replace(table, cell_format=spec.cell_format)


_READERS = {
    "csv": _read_csv,
    "tsv": _read_csv,
    "jsonl": _read_json,
    "svmlight": _read_svmlight,
    "parquet": _read_slices,
    "arrow": _read_slices,
    "npz": _read_npz,
}


def _check_columns(columns: Sequence[str], path: Path, spec: BatchSpec) -> None:
    if spec.labels_required:
        for name in spec.labels:
            find_column(name, columns, path)
    missing = [column.name for column in spec.features or () if column.name not in columns]
    if missing:
        raise DataError(
            f"missing {format_names(missing)}, which earlier rows have. Give every file the same columns.",
            source=str(path),
        )
