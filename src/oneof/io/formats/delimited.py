"""Reader of CSV, TSV and other delimited text in blocks of rows; a table is read as the blocks of a stream.

`dialect` detects the form of the text, `records` finds its records, and polars parses blocks of them. polars accepts
short lines, and marks within cells have several readings: such a block is read cell by cell, and the first line that is
not a row is an error. A column is numbers if all of its cells are, and text otherwise; `features` recognizes numbers
with missing tokens, dates and other kinds in the text.
"""

import contextlib
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.io.columns import make_unique, match_all, unnamed_columns
from oneof.io.formats.cells import CODE, CellFormat, read_numbers, strip_text
from oneof.io.formats.dialect import COMMON, detect_dialect
from oneof.io.formats.records import (
    PART_BYTES,
    Block,
    EncodingError,
    QuoteError,
    Record,
    RecordOffset,
    RecordReader,
)
from oneof.io.formats.source import display_path

if TYPE_CHECKING:
    import polars as pl

    from oneof.io.features import BatchSpec

_MAX_SHOWN = 60
"""Maximum number of characters of a text in a message."""


class DelimitedReader:
    """Reader of the rows of one file of delimited text.

    Parameters
    ----------
    path : Path
    spec : BatchSpec
        The columns, and the known properties of the text; the others are detected from the first bytes of the file.
    tab : bool
        Whether the suffix is that of cells separated by tabs.
    content : bytes, optional
        Content of the file if it is in memory.
    part_bytes : int
        Number of bytes of a whole file that are parsed at once.

    Attributes
    ----------
    path : Path
        For messages.
    dialect : Dialect
        Set with `columns`.
    columns : list of str
        The names of the columns, which are unique; set by the first block that is read.
    """

    def __init__(
        self,
        path: Path,
        spec: "BatchSpec",
        *,
        tab: bool = False,
        content: bytes | None = None,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self._spec = spec
        self._given = spec.dialect
        self._detect = partial(detect_dialect, tab=tab, default_decimal=spec.cell_format.decimal)
        self._make_records = partial(RecordReader, path, content=content, part_bytes=part_bytes)
        self.path = display_path(path)
        self.dialect = COMMON
        self.columns: list[str] = []
        self._remarks: dict[str, str] = {}

    @property
    def remarks(self) -> list[str]:
        """Sentences about names, lines and cells that were changed."""
        return [*self._remarks.values()]

    def batches(self, n_rows: int, start: RecordOffset) -> "Iterator[tuple[pl.DataFrame, RecordOffset]]":
        """Yield at most `n_rows` rows at a time, each with the offset after them; blank lines are not rows.

        Raises
        ------
        DataError
            At the first line that is not a row of the table.
        """
        import polars as pl

        for block, after in self._blocks(n_rows, start):
            if self._spec.features is None:
                frame = self._infer(self._parse(block, self.columns, {}), self._texts())
                yield frame.with_columns(pl.col(pl.Null).cast(pl.String)), after
                continue
            kinds = {column.name: column.kind for column in self._spec.features} | dict.fromkeys(self._spec.labels)
            names = [name for name in self.columns if name in kinds]
            yield self._parse(block, names, {name: pl.Float64 for name in names if kinds[name] == "number"}), after

    def read_file(self) -> "pl.DataFrame":
        """Return all rows of the file; a late cell of text, or of another encoding, makes it read them again."""
        import polars as pl

        texts: set[str] = set()
        while True:
            try:
                frames = list(self._frames(texts))
            except EncodingError as error:
                if self._given.encoding is not None or error.western is None:
                    raise
                self._given = replace(self._given, encoding=error.western)
                continue
            numbers = {cells.name for frame in frames for cells in frame if cells.dtype.is_numeric()}
            if texts.isdisjoint(numbers):
                frame = pl.concat(frames, how="vertical_relaxed", rechunk=False)
                return self._finish(frame.with_columns(pl.col(pl.Null).cast(pl.String)))

    def _frames(self, texts: set[str]) -> "Iterator[pl.DataFrame]":
        """Yield the rows of each part with the types of the part before if possible; add columns of text to `texts`."""
        import polars as pl

        numbers: dict[str, Any] = {}
        for block, _ in self._blocks(None, RecordOffset()):
            texts |= self._texts()
            frame = self._infer(self._parse(block, self.columns, numbers), texts)
            texts |= {cells.name for cells in frame if cells.dtype == pl.String}
            read = (cells for cells in frame if cells.name not in texts)
            numbers = {cells.name: cells.dtype for cells in read if cells.dtype.is_numeric()}
            yield frame
        yield pl.DataFrame(schema=dict.fromkeys(self.columns, pl.Null))

    def _texts(self) -> set[str]:
        """Return the columns that are text whatever their cells are."""
        return {*self._spec.labels, *match_all(self._spec.as_text, self.columns)}

    def _infer(self, frame: "pl.DataFrame", texts: Collection[str]) -> "pl.DataFrame":
        """Return a part in which columns of text that are numbers are numbers, and empty ones have no type."""
        import polars as pl

        others = [cells for cells in frame if cells.dtype == pl.String and cells.name not in texts]
        return frame.with_columns(plain_numbers(cells, str(self.dialect.decimal)) for cells in others)

    def _blocks(self, n_rows: int | None, start: RecordOffset) -> Iterator[tuple[Block, RecordOffset]]:
        records = self._make_records(detect=partial(self._detect, given=self._given), is_table=n_rows is None)
        blocks = records.blocks(n_rows, start)
        self.columns = []
        self._remarks = {}
        self._first_blank = 0
        try:
            self._read_header(records, next(blocks, None))
            yield from blocks
        except QuoteError as error:
            line, cell, text = error.args
            column = f", column {self.columns[cell]!r}" if cell < len(self.columns) else ""
            raise DataError(
                f"{self.path}, line {line}{column}: a quotation mark is not closed, or is followed by text: "
                f"{_shown(text)}. Correct the line, or add --quote none if marks are ordinary characters in this "
                "file."
            ) from None

    def _read_header(self, records: RecordReader, header: tuple[Block, RecordOffset] | None) -> None:
        self.dialect = records.layout.dialect
        cells = [cell.decode() for cell in next(header[0].records()).cells] if header else []
        if not any(cell.strip() for cell in cells):
            raise DataError(f"{self.path} is empty. The first line must have the names of the columns.")
        self.columns, changes = make_unique(cells)
        self._n_named = max(number for number, cell in enumerate(cells, 1) if cell.strip())
        above = records.above.splitlines()
        if described := [line for line in above if line.strip()]:
            lines = f"{len(above)} lines above the header are" if len(above) > 1 else "1 line above the header is"
            self._remarks["above"] = f"{lines} ignored: {_shown(described[0].strip())}."
        self._remarks |= dict(zip(changes, changes, strict=True))

    def _parse(self, block: Block, names: Sequence[str], numbers: Mapping[str, Any]) -> "pl.DataFrame":
        """Return columns of a block; those in `numbers` have their types if all cells of them have, else all are text.

        A cell such as 007 is a number only if the kinds of the columns are known.
        """
        import polars as pl

        self._note_joined_lines(block)
        is_known = self._spec.features is not None
        are_numbers = bool(numbers) and not (self.dialect.decimal == "," and b"." in block.content)
        are_numbers = are_numbers and block.is_plain and (is_known or not block.may_have_codes())
        for types in (numbers,) * are_numbers + ({},) * block.is_plain:
            frame = self._read_plain(block, names, types)
            if frame is not None and all(math.isfinite(cells.sum()) for cells in frame if cells.dtype == pl.Float64):
                return frame
        return self._read_cells(block, names)

    def _read_plain(self, block: Block, names: Sequence[str], types: Mapping[str, Any]) -> "pl.DataFrame | None":
        """Return columns of the given types, or of text; None if a cell has another type or a line is not a row.

        polars refuses a line with too many cells only if all columns are read. It fills the cells that a short line
        lacks, at least that of the last column, with null. If a cell there is null, the delimiters show whether it is
        empty or absent.
        """
        import polars as pl

        last, n_columns, dialect = self.columns[-1], len(self.columns), self.dialect
        with contextlib.suppress(pl.exceptions.PolarsError):
            frame = pl.read_csv(
                block.content,
                has_header=False,
                schema={name: types.get(name, pl.String) for name in self.columns},
                separator=str(dialect.delimiter),
                quote_char=dialect.quote or None,
                decimal_comma=dialect.decimal == "," != dialect.delimiter,
            )
            if frame.height == len(block) and (
                not frame[last].null_count() or block.n_delimiters() == (n_columns - 1) * len(block)
            ):
                self._note_blank()
                return frame.select(names)
        return None

    def _read_cells(self, block: Block, names: Sequence[str]) -> "pl.DataFrame":
        """Return columns of the rows of a block, which has blank lines, cells beyond the header, or odd marks, as text.

        A row may end after the last column with a name, or have further cells that are empty.

        Raises
        ------
        DataError
            At the first line that is not a row of the table.
        """
        import polars as pl

        n_columns, rows = len(self.columns), []
        for record in block.records():
            width = len(record.cells)
            if width < n_columns and not block.content[record.begin : record.end].strip():
                self._first_blank = self._first_blank or record.line
                continue
            if width < self._n_named or any(cell.strip() for cell in record.cells[n_columns:]):
                raise self._width_error(record)
            self._note_blank()
            rows.append([cell.decode() or None for cell in record.cells[:n_columns]] + [None] * (n_columns - width))
        return pl.DataFrame(rows, dict.fromkeys(self.columns, pl.String), orient="row").select(names)

    def _width_error(self, record: Record) -> DataError:
        width, n_columns = len(record.cells), len(self.columns)
        place = (
            f"it ends before column {self.columns[width]!r}"
            if width < n_columns
            else (f"after column {self.columns[-1]!r}, it has {_shown(record.cells[n_columns])}")
        )
        return DataError(
            f"{self.path}, line {record.line}: found {width} cells, but the header has {n_columns}: {place}. Correct "
            "the line. If it or lines above it are not part of the table, delete them."
        )

    def _note_blank(self) -> None:
        """Add a remark about blank lines above a row."""
        if self._first_blank:
            self._remarks["blank"] = (
                f"blank lines are ignored, the first one in line {self._first_blank}; rows are counted without them."
            )

    def _note_joined_lines(self, block: Block) -> None:
        """Add a remark about the first quoted cell that joins lines, each of which could be a row."""
        if "quote" in self._remarks or len(self.columns) < 2 or block.content.count(b"\n") == len(block):
            return
        for begin, end in itertools.pairwise((0, *block.ends.tolist())):
            lines = block.content[begin:end].splitlines()
            if len(lines) > 1 and all(line.count(block.delimiter) == len(self.columns) - 1 for line in lines):
                line_number = block.start.line + block.content.count(b"\n", 0, begin)
                self._remarks["quote"] = (
                    f"a quoted cell joins {len(lines)} lines from line {line_number} on ({_shown(lines[0])}), all of "
                    "which could be rows. If the file has no quoted cells, add --quote none."
                )
                return

    def _finish(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """Return a whole table without the columns and the last rows that have neither a name nor a value."""
        import polars as pl

        unnamed = self.columns[self._n_named :]
        empty = [name for name in unnamed if frame[name].null_count() == len(frame)]
        if len(unnamed) > len(empty) + 1:  # a single one may have the names of rows; several are after a merged cell
            self._remarks["unnamed"] = unnamed_columns([name for name in unnamed if name not in empty])
        frame = frame.drop(empty)
        self.columns = [name for name in self.columns if name not in empty]
        if frame.width > 1 and len(frame) and not any(cell is not None for cell in frame.row(-1)):
            has_value = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
            frame = frame.head(int(has_value.arg_true()[-1]) + 1 if has_value.any() else 0)
        return frame


def as_plain_numbers(frame: "pl.DataFrame", cell_format: CellFormat) -> "pl.DataFrame":
    """Return a table in which tokens of missing values such as NA are null, and text that is numbers is numbers."""
    import polars as pl

    texts = [cells.set(strip_text(cells, cell_format).is_null(), None) for cells in frame.select(pl.col(pl.String))]
    frame = frame.with_columns(plain_numbers(text, cell_format.decimal) for text in texts)
    return frame.with_columns(pl.col(pl.Null).cast(pl.String))


def plain_numbers(cells: "pl.Series", decimal: str) -> "pl.Series":
    """Return text as integers, or as floats, if every cell is a finite number or empty, and other text as it is.

    A code such as 007 is not a number. Cells that are all empty have no type.
    """
    import polars as pl

    text = cells.str.strip_chars()
    text = text.set((text == "").fill_null(value=False), None)
    present = text.drop_nulls()
    if not len(present):
        return cells.clear(len(cells)).cast(pl.Null)
    decimal_format: Any = "," if decimal == "," else "."
    first = present.head(100)  # most columns of text are not read further
    if read_numbers(first, decimal_format).null_count() or present.str.contains(CODE).any():
        return cells
    integers = text.cast(pl.Int64, strict=False)
    numbers = integers if integers.null_count() == text.null_count() else read_numbers(text, decimal_format)
    return numbers if numbers.null_count() == text.null_count() else cells


def _shown(text: bytes) -> str:
    return repr(text.decode(errors="replace")[:_MAX_SHOWN])
