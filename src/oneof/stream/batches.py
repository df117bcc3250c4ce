"""The rows of a stream, a bounded number at a time, from its beginning or from a place reached before."""

import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oneof.errors import DataError, InputError
from oneof.stream import columnar, indexed, separated
from oneof.stream.indexed import IndexedRows
from oneof.stream.lines import Block, Lines, Place
from oneof.stream.source import OF_TEXT, Source, open_source
from oneof.tables import Column, find_column
from oneof.tables.json_lines import as_frame, read_objects
from oneof.validation import check_positive

if TYPE_CHECKING:
    import polars as pl

BATCH_ROWS = 10_000


class Position(NamedTuple):
    """A place between two batches of a stream."""

    file: int = 0
    place: Place = Place()


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of one file.

    Attributes
    ----------
    content : polars.DataFrame or IndexedRows
        The latter for svmlight files: ``.rows`` is a CSR matrix, ``.labels`` a list of text.
    path : Path
    first_row : int
        The number of its first row within the file, from 0.
    after : Position
        Where the next batch begins.
    """

    content: Any
    path: Path
    first_row: int
    after: Position

    def __len__(self) -> int:
        return int(self.content.height)

    def locate(self, sentence: str) -> str:
        """Return a sentence on a row of the batch as one on a row of its file."""
        told = re.sub(r"\brow (\d+)", lambda found: f"row {self.first_row + int(found[1])}", sentence, count=1)
        return told if told.startswith(str(self.path)) else f"{self.path}: {told}"

    @contextmanager
    def located(self) -> Iterator[None]:
        """Make errors on rows of the batch name their rows of the file."""
        try:
            yield
        except InputError as error:
            raise type(error)(self.locate(str(error))) from None


@dataclass
class Wanted:
    """What is read of each row; who looks at the first batch may settle the features of all further ones.

    Attributes
    ----------
    labels : tuple of str
        Columns of labels; none for svmlight files, which have their own place for them.
    features : tuple of Column, optional
        None: all columns, in the types that the cells of the batch look like.
    as_text : collection of str
        Columns that are text even if they look like numbers, where types are guessed.
    labels_needed : bool
        Whether a file without the columns of labels is at fault.
    separator : str
        What stands between two labels in text.
    n_columns : int
        Width of the rows of svmlight files.
    """

    labels: tuple[str, ...] = ()
    features: tuple[Column, ...] | None = None
    as_text: Collection[str] = ()
    labels_needed: bool = True
    separator: str = "|"
    n_columns: int = 2**18

    @property
    def names(self) -> list[str] | None:
        """The columns to read; None for all."""
        return None if self.features is None else [*self.labels, *(column.name for column in self.features)]


def read_batches(source: Any, *, n_rows: int = BATCH_ROWS, format: str | None = None) -> Iterator[Any]:  # noqa: A002
    r"""Read a stream, some rows at a time, in memory that does not grow with their number.

    Parameters
    ----------
    source : str, path-like or Source
        A file of CSV, TSV, JSON lines, svmlight (these also with .gz behind), Parquet or Arrow; a folder of files of
        one format; or "-" for standard input.
    n_rows : int, default=10000
        Most rows of a batch. Batches end where files end.
    format : str, optional
        See `open_source`.

    Yields
    ------
    polars.DataFrame, or IndexedRows for svmlight files
        The types of CSV and JSON columns are those that the cells of each batch look like.

    Raises
    ------
    DataError
        If a file is absent, damaged, or a line of it malformed; the message names file and line.

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
    for batch in iterate(source, n_rows, Wanted()):
        yield batch.content


def iterate(source: Source, n_rows: int, wanted: Wanted, start: Position | None = None) -> Iterator[Batch]:
    """Yield the batches of a stream from a position on: the same ones, whatever position one starts at."""
    check_positive("n_rows", n_rows, integer=True)
    start = start or Position()
    for number, path in enumerate(source.files):
        if number < start.file:
            continue
        place = start.place if number == start.file else Place()
        for batch in _READ[source.format](path, source.format, n_rows, wanted, place):
            yield replace(batch, after=Position(number, batch.after.place))


def extents(source: Source) -> list[int] | None:
    """Return the length of each file, in bytes or in rows of columns; None where it cannot be known beforehand."""
    if source.format in OF_TEXT:
        plain = source.can_be_read_again and not any(file.suffix.lower() == ".gz" for file in source.files)
        return [file.stat().st_size for file in source.files] if plain else None
    return [columnar.count_rows(file, source.format) for file in source.files]


def share_read(lengths: Sequence[int] | None, position: Position) -> float | None:
    """Return which part of a stream lies before a position, in [0, 1]; None where it is not known."""
    if lengths is None or not sum(lengths):
        return None
    return (sum(lengths[: position.file]) + (position.place.offset or position.place.row)) / sum(lengths)


def _read_columnar(path: Path, kind: str, n_rows: int, wanted: Wanted, place: Place) -> Iterator[Batch]:
    row = place.row
    for frame in columnar.read_slices(path, kind, n_rows, row, lambda: wanted.names):
        yield _batch(frame, path, row, Place(row + frame.height), wanted)
        row += frame.height


def _read_separated(path: Path, kind: str, n_rows: int, wanted: Wanted, place: Place) -> Iterator[Batch]:
    lines = Lines(path, has_header=True, quoted=True)
    path = lines.shown
    separator, columns = "", list[str]()
    row = place.row
    for block, after in lines.blocks(n_rows, place):
        if not columns:
            separator, columns = separated.read_columns(lines.header, path, tab=kind == "tsv")
            _check_columns(columns, path, wanted)
        frame = separated.read_block(
            block,
            separator,
            columns,
            verbatim=wanted.labels,
            as_text=wanted.as_text,
            features=wanted.features,
        )
        if frame.height:
            yield _batch(frame, path, row, after._replace(row=row + frame.height), wanted)
        row += frame.height
    if not columns and place == Place():
        separated.read_columns(lines.header, path, tab=kind == "tsv")  # an empty file has not even these


def _read_objects(path: Path, _: str, n_rows: int, wanted: Wanted, place: Place) -> Iterator[Batch]:
    row = place.row
    lines = Lines(path, has_header=False, quoted=False)
    path = lines.shown
    for block, after in lines.blocks(n_rows, place):
        objects = read_objects(_decode(block), path, first_line=block.start.line)
        end = row + len(objects)
        if objects:
            yield _batch(_as_table(objects, wanted, begun=row > 0), path, row, after._replace(row=end), wanted)
        row = end


def _read_indexed(path: Path, _: str, n_rows: int, wanted: Wanted, place: Place) -> Iterator[Batch]:
    row = place.row
    lines = Lines(path, has_header=False, quoted=False)
    path = lines.shown
    for block, after in lines.blocks(n_rows, place):
        if wanted.features == ():
            content = IndexedRows(None, indexed.read_labels(block, wanted.separator))
        else:
            content = indexed.read_block(block, wanted.separator, wanted.n_columns)
        if content.height:
            yield Batch(content, path, row, Position(0, after._replace(row=row + content.height)))
        row += content.height


_READ = {
    "csv": _read_separated,
    "tsv": _read_separated,
    "jsonl": _read_objects,
    "svmlight": _read_indexed,
    "parquet": _read_columnar,
    "arrow": _read_columnar,
}


def _batch(frame: "pl.DataFrame", path: Path, row: int, after: Place, wanted: Wanted) -> Batch:
    _check_columns(frame.columns, path, wanted)
    return Batch(frame, path, row, Position(0, after))


def _check_columns(columns: Sequence[str], path: Path, wanted: Wanted) -> None:
    if wanted.labels_needed:
        for name in wanted.labels:
            find_column(name, columns, path)
    absent = [column.name for column in wanted.features or () if column.name not in columns]
    if absent:
        shown = ", ".join(repr(name) for name in absent[:5]) + (f" and {len(absent) - 5} more" * (len(absent) > 5))
        raise DataError(f"{path} lacks {shown}, which the rows learned from have: give every file the same columns.")


def _as_table(objects: Sequence[dict[str, Any]], wanted: Wanted, *, begun: bool) -> "pl.DataFrame":
    """Return the wanted columns of objects, those that none has too: JSON leaves missing values out, key and all.

    The beginning of a file must have the labels and some feature, or it is another file than was meant.
    """
    import polars as pl

    frame = as_frame(objects, wanted.names)
    features = [column.name for column in wanted.features or ()]
    labels = [*wanted.labels] if begun and wanted.labels_needed else []
    absent = [name for name in (*labels, *features) if name not in frame.columns]
    if not begun and len(absent) == len(features):
        return frame if frame.width else as_frame(objects)
    nothing = pl.Series([None] * len(objects), dtype=pl.String)
    return pl.DataFrame([*frame, *(nothing.alias(name) for name in absent)])


def _decode(block: Block) -> Iterator[str]:
    try:
        return io.StringIO(b"".join(block.records).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DataError(f"{block.path} is not UTF-8, from line {block.start.line} on: save it as UTF-8.") from None
