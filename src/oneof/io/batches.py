"""Batches: the rows of a source, a bounded number at a time or all at once, from the beginning or from a position.

All formats are read here, for streams and for tables: a table is a stream of one batch.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oneof.errors import DataError, InputError
from oneof.io.batch_spec import BatchSpec
from oneof.io.columns import find_column
from oneof.io.formats import binary
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.decoding import check_decodable
from oneof.io.formats.delimited import DelimitedReader, as_plain_numbers
from oneof.io.formats.dialect import Dialect
from oneof.io.formats.json_lines import objects_to_frame, read_objects
from oneof.io.formats.names import format_names
from oneof.io.formats.records import RecordOffset, RecordReader
from oneof.io.formats.source import TEXT_FORMATS, Source, open_source, polars_errors_as_data_errors
from oneof.io.formats.svmlight import IndexedRows, read_indexed_rows
from oneof.messages import enumerate_items
from oneof.validation import check_positive

if TYPE_CHECKING:
    import polars as pl

BATCH_ROWS = 10_000


class Position(NamedTuple):
    """Position between two batches of a stream."""

    file: int = 0
    offset: RecordOffset = RecordOffset()


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of one file.

    Attributes
    ----------
    content : polars.DataFrame or IndexedRows
        The latter for svmlight files: ``.rows`` is a CSR matrix, ``.labels`` a list of text.
    path : Path
    first_row : int
        The index of the first row within the file.
    after : Position
        The position of the next batch.
    label_columns : tuple of str
        Columns that the format itself marks as labels.
    cell_format : CellFormat
        The form of the cells.
    dialect : Dialect or None
        None for formats that are not delimited text.
    remarks : tuple of str
        Sentences about names and cells that the reader changed.
    dropped : tuple of str
        Columns of the file that were not read.
    absent : tuple of str
        Features that no object of the batch has, if the format is JSON lines; they are columns of missing values.
    matrix : CSR matrix, optional
        The features of an archive with a sparse matrix; `content` then has the labels only.
    """

    content: Any
    path: Path
    first_row: int = 0
    after: Position = Position()  # noqa: RUF009 - frozen
    label_columns: tuple[str, ...] = ()
    cell_format: CellFormat = CellFormat()  # noqa: RUF009 - frozen
    dialect: Dialect | None = None
    remarks: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    matrix: Any = None

    def __len__(self) -> int:
        return int(self.content.height if self.matrix is None else self.matrix.shape[0])

    @property
    def labels(self) -> Any:
        """The labels of the batch, as `oneof.candidates.columns.LabelReader` expects them."""
        return self.content.labels if isinstance(self.content, IndexedRows) else self.content

    def localize(self, error: InputError) -> InputError:
        """Return an error about a row of the batch as an error about a row of the file."""
        return error.at(self.path, first_row=self.first_row)

    @contextmanager
    def localized(self) -> Iterator[None]:
        """Make errors about rows of the batch name the rows of the file."""
        try:
            yield
        except InputError as error:
            raise self.localize(error) from None


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
        yield as_plain_numbers(batch.content, batch.cell_format) if is_text else batch.content


def iterate_batches(
    source: Source, n_rows: int | None, spec: BatchSpec, start: Position | None = None
) -> Iterator[Batch]:
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
    check_options(source.format, spec.dialect, source.display_name)
    for number, path in enumerate(source.files[start.file :], start.file):
        if source.format in ("parquet", "arrow"):
            check_decodable(source.files[number:], source.format)
        offset = start.offset if number == start.file else RecordOffset()
        row = offset.row
        for read in _READERS[source.format](path, source, n_rows, spec, offset):
            first, row = row, row + len(read)
            if n_rows is not None and row == first:
                continue
            batch = _without_dropped(read, spec) if n_rows is None and spec.drop else read
            cell_format = replace(batch.cell_format, decimal=spec.dialect.decimal or batch.cell_format.decimal)
            after = Position(number, batch.after.offset._replace(row=row))
            yield replace(batch, first_row=first, after=after, cell_format=cell_format)


def _without_dropped(batch: Batch, spec: BatchSpec) -> Batch:
    """Return a batch without the columns that are not read."""
    dropped = spec.dropped(batch.content.columns)
    return replace(batch, content=batch.content.drop(dropped), dropped=(*batch.dropped, *dropped))


def check_options(format: str, dialect: Dialect, name: str) -> None:  # noqa: A002 - the option's name
    """Raise if an option of delimited text is given for a file of another format.

    The decimal separator applies to cells of text in any format that has them.
    """
    options = {"--delimiter": dialect.delimiter, "--encoding": dialect.encoding, "--quote": dialect.quote}
    if format in ("npz", "svmlight"):
        options["--decimal"] = dialect.decimal
    given = [option for option, value in options.items() if value is not None]
    if given and format not in ("csv", "tsv"):
        verb = "apply" if len(given) > 1 else "applies"
        raise DataError(
            f"{enumerate_items(given)} {verb} to CSV and TSV files only; {name} has the format {format}. Remove the "
            f"option{'s' * (len(given) > 1)}, or set --format."
        )


def file_sizes(source: Source) -> list[int] | None:
    """Return the size of each file, in bytes or, for binary formats, in rows; None if it is unknown."""
    if source.format in TEXT_FORMATS:
        known = source.can_be_read_again and not any(file.suffix.lower() == ".gz" for file in source.files)
        return [file.stat().st_size for file in source.files] if known else None
    sizes = []
    for number, file in enumerate(source.files):
        check_decodable(source.files[number:], source.format)
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
) -> Iterator[Batch]:
    n_rows = max(binary.count_rows(path, source.format), 1) if n_rows is None else n_rows
    for frame in binary.read_slices(path, source.format, n_rows, start.row, lambda: spec.names):
        _check_columns(frame.columns, path, spec)
        yield Batch(frame, path, cell_format=spec.cell_format)


def _read_csv(path: Path, source: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset) -> Iterator[Batch]:
    reader = DelimitedReader(path, spec, tab=source.format == "tsv", display=source.display)
    frames = reader.batches(n_rows, start) if n_rows is not None else [(reader.read_file(), RecordOffset())]
    for frame, after in frames:
        _check_columns(reader.columns, reader.path, spec)
        yield Batch(
            frame,
            reader.path,
            after=Position(0, after),
            cell_format=replace(spec.cell_format, decimal=str(reader.dialect.decimal)),
            dialect=reader.dialect,
            remarks=tuple(reader.remarks),
            dropped=reader.dropped,
        )


def _read_json(path: Path, source: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset) -> Iterator[Batch]:
    reader = RecordReader(path, display=source.display)
    blocks: Iterator[tuple[list[dict[str, Any]], RecordOffset]] = (
        (read_objects(block), after) for block, after in reader.blocks(n_rows or BATCH_ROWS, start)
    )
    if n_rows is None:
        blocks = iter([([item for objects, _ in blocks for item in objects], RecordOffset())])
    is_first = start.row == 0
    for objects, after in blocks:
        frame = _complete_frame(objects, spec, reader.path, is_first=is_first) if objects else None
        if frame is not None:
            _check_columns(frame.columns, reader.path, spec)
            keys = {key for item in objects for key in item} if spec.features else set()
            absent = tuple(column.name for column in spec.features or () if column.name not in keys)
            yield Batch(frame, reader.path, after=Position(0, after), cell_format=spec.cell_format, absent=absent)
            is_first = False


def _read_svmlight(path: Path, _: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset) -> Iterator[Batch]:
    reader, n_columns = RecordReader(path), 0 if spec.features == () else spec.n_columns
    for block, after in reader.blocks(n_rows or BATCH_ROWS, start):
        content = read_indexed_rows(block, spec.separator, n_columns)
        yield Batch(content, reader.path, after=Position(0, after))


def _read_npz(path: Path, _: Source, n_rows: int | None, spec: BatchSpec, start: RecordOffset) -> Iterator[Batch]:  # noqa: ARG001 - always one batch
    read = binary.read_npz(path)
    _check_columns(read.frame.columns, path, spec)
    yield Batch(read.frame, path, label_columns=read.label_columns, cell_format=spec.cell_format, matrix=read.rows)


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


def _complete_frame(
    objects: Sequence[dict[str, Any]], spec: BatchSpec, path: Path, *, is_first: bool
) -> "pl.DataFrame":
    """Return the requested columns of objects; a key that is missing in all objects becomes a column of missing values.

    The first objects of a file must have the labels and at least one feature; otherwise the file is probably wrong.
    """
    import polars as pl

    texts = (*spec.labels, *spec.as_text)
    with polars_errors_as_data_errors(path):
        frame = objects_to_frame(objects, spec.names, texts)
        features = [column.name for column in spec.features or ()]
        labels = [*spec.labels] if not is_first and spec.labels_required else []
        missing = [name for name in (*labels, *features) if name not in frame.columns]
        if is_first and len(missing) == len(features):
            return frame if frame.width else objects_to_frame(objects, as_text=texts)
        empty = pl.Series([None] * len(objects), dtype=pl.String)
        return pl.DataFrame([*frame, *(empty.alias(name) for name in missing)])
