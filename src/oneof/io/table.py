"""The record of the rows of a table, or of a batch of a stream."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from oneof.errors import InputError
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.dialect import Dialect
from oneof.io.formats.records import RecordOffset
from oneof.io.formats.svmlight import IndexedRows


class Position(NamedTuple):
    """Position between two batches of a stream."""

    file: int = 0
    offset: RecordOffset = RecordOffset()


@dataclass(frozen=True)
class Table:
    """Rows of a file: all of them, or a batch of a stream.

    Attributes
    ----------
    frame : polars.DataFrame, or IndexedRows for svmlight files
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
    first_row : int
        The index of the first row within the file.
    after : Position
        The position of the next batch.
    absent : tuple of str
        Features that no object of the batch has, if the format is JSON lines; they are columns of missing values.
    """

    frame: Any
    path: Path
    label_columns: tuple[str, ...] = ()
    cell_format: CellFormat = CellFormat()  # noqa: RUF009 - frozen
    dialect: Dialect | None = None
    remarks: tuple[str, ...] = ()
    rows: Any = None
    dropped: tuple[str, ...] = ()
    is_objects: bool = False
    vectors: Mapping[str, int] = field(default_factory=dict)
    first_row: int = 0
    after: Position = Position()  # noqa: RUF009 - frozen
    absent: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.frame.height if self.rows is None else self.rows.shape[0])

    @property
    def names(self) -> list[str]:
        """The columns of the file: those of the frame, and those that were not read."""
        return [*self.frame.columns, *self.dropped]

    @property
    def labels(self) -> Any:
        """The labels, as `oneof.candidates.columns.LabelReader` expects them."""
        return self.frame.labels if isinstance(self.frame, IndexedRows) else self.frame

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
