"""Reader of CSV, TSV and other delimited text in blocks of rows; a table is read as the blocks of a stream.

`dialect` detects the form of the text, `records` finds its records, and polars parses blocks of them. polars accepts
short lines, and marks within cells have several readings: such a block is read cell by cell, and the first line that is
not a row is an error. A column is numbers if all of its cells are, and text otherwise; `features` recognizes numbers
with missing tokens, dates and other kinds in the text.
"""

import contextlib
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.errors import DataError
from oneof.io.columns import make_unique, match_all, unnamed_columns
from oneof.io.formats.cells import CODE, CellFormat, read_numbers, strip_text
from oneof.io.formats.dialect import COMMON, detect_dialect, western_encoding
from oneof.io.formats.records import PART_BYTES, Block, QuoteError, Record, RecordOffset, RecordReader

if TYPE_CHECKING:
    import polars as pl

    from oneof.io.features import BatchSpec

_MAX_SHOWN = 60
"""Maximum number of characters of a text in a message."""
_SLICE_BYTES = 2**17
"""Number of bytes that are searched at once, which fit in the cache of a processor."""


class DelimitedReader:
    """Reader of the rows of one file of delimited text.

    Parameters
    ----------
    path : Path
    spec : BatchSpec
        The columns, and the known properties of the text; the others are detected from the first bytes of the file.
    tab : bool
        Whether the suffix is that of cells separated by tabs.
    display : Path, optional
        Name of the file for messages, if it is a copy.
    part_bytes : int
        Number of bytes of a whole file that are parsed at once.

    Attributes
    ----------
    path : Path
        For messages.
    dialect : Dialect
        Set with `columns`.
    columns : list of str
        The names of the columns, which are unique; empty until the first block is read.
    dropped : tuple of str
        The columns that `read_file` did not parse.
    """

    def __init__(
        self,
        path: Path,
        spec: "BatchSpec",
        *,
        tab: bool = False,
        display: Path | None = None,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self._spec = spec
        self._given = spec.dialect
        self._detect = partial(detect_dialect, tab=tab, default_decimal=spec.cell_format.decimal)
        self._make_records = partial(RecordReader, path, display=display, part_bytes=part_bytes)
        self.path = self._make_records().path
        self._reset()

    def _reset(self) -> None:
        self.dialect = COMMON
        self.columns: list[str] = []
        self.dropped: tuple[str, ...] = ()
        self._n_named = 0
        self._is_ascii = True
        self._first_blank = 0
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
            self._reset()
            try:
                frames, is_late = self._read_parts(texts)
            except _EncodingError as error:
                if self._given.encoding is not None or error.is_damaged:
                    raise
                self._given = replace(self._given, encoding=western_encoding(error.content))
                continue
            if not is_late:
                frame = pl.concat(frames, how="vertical_relaxed", rechunk=False)
                return self._finish(frame.with_columns(pl.col(pl.Null).cast(pl.String)))
            frames.clear()

    def _read_parts(self, texts: set[str]) -> "tuple[list[pl.DataFrame], bool]":
        """Return the rows of each part, and whether a column of numbers has text later; add its name to `texts`."""
        import polars as pl

        frames: list[pl.DataFrame] = []
        numbers: dict[str, Any] = {}
        is_late = False
        for block, _ in self._blocks(None, RecordOffset()):
            names = self._names_of_file()
            texts |= self._texts()
            frame = self._infer(self._parse(block, names, numbers), texts)
            found = {cells.name for cells in frame if cells.dtype == pl.String}
            is_late |= not numbers.keys().isdisjoint(found)
            texts |= found
            kinds = {cells.name: cells.dtype for cells in frame if cells.dtype.is_numeric()}
            floats = {name for name, kind in numbers.items() if kind == pl.Float64}
            numbers |= kinds | dict.fromkeys(floats & kinds.keys(), pl.Float64)
            numbers = {name: kind for name, kind in numbers.items() if name not in texts}
            frames.append(frame)
        return frames or [pl.DataFrame(schema=dict.fromkeys(self._names_of_file(), pl.String))], is_late

    def _names_of_file(self) -> list[str]:
        """Return the columns of a whole file that are read."""
        self.dropped = self._spec.dropped(self.columns)
        return [name for name in self.columns if name not in self.dropped]

    def _texts(self) -> set[str]:
        """Return the columns that are text whatever their cells are."""
        return {*self._spec.labels, *match_all(self._spec.as_text, self.columns)}

    def _infer(self, frame: "pl.DataFrame", texts: Collection[str]) -> "pl.DataFrame":
        """Return a part in which columns of text that are numbers are numbers, and empty ones have no type."""
        import polars as pl

        texts = {*texts, *frame.select(pl.exclude(pl.String)).columns}
        decimal = str(self.dialect.decimal)
        return frame.with_columns(plain_numbers(cells, decimal) for cells in frame if cells.name not in texts)

    def _blocks(self, n_rows: int | None, start: RecordOffset) -> Iterator[tuple[Block, RecordOffset]]:
        records = self._make_records(detect=partial(self._detect, given=self._given))
        blocks = records.blocks(n_rows, start)
        try:
            first = next(blocks, None)
            self._read_header(records)
            if first is not None:
                yield first
                yield from blocks
        except QuoteError as error:
            if not self.columns and records.header is not None:  # at the first row
                self._read_header(records)
            column = f", column {self.columns[error.cell]!r}" if error.cell < len(self.columns) else ""
            raise DataError(
                f"{self.path}, line {error.line}{column}: a quotation mark is not closed, or is followed by text: "
                f"{_shown(error.text)}. Correct the line, or add --quote none if marks are ordinary characters in this "
                "file."
            ) from None

    def _read_header(self, records: RecordReader) -> None:
        self.dialect = records.layout.dialect
        self._is_ascii = not records.has_mark
        cells: list[str] = []
        if records.header is not None:
            self._check_encoding(records.header)
            cells = [cell.decode() for cell in next(records.header.records()).cells]
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

        self._check_encoding(block)
        self._note_joined_lines(block)
        if block.is_plain and numbers and not (self.dialect.decimal == "," and b"." in block.content):
            is_known = self._spec.features is not None
            if is_known or not may_have_codes(block.content, block.delimiter + block.quote):
                frame = self._read_plain(block, names, numbers)
                if frame is not None and all(map(all, frame.select(pl.col(pl.Float64).is_finite().all()).rows())):
                    return frame
        frame = self._read_plain(block, names, {}) if block.is_plain else None
        return self._read_cells(block, names) if frame is None else frame

    def _read_plain(self, block: Block, names: Sequence[str], types: Mapping[str, Any]) -> "pl.DataFrame | None":
        """Return columns of the given types, or of text; None if a cell has another type or a line is not a row.

        polars refuses a line with too many cells if the last column is read. It fills the cells that a short line
        lacks, at least that of the last column, with null. If a cell there is null, the delimiters show whether it is
        empty or absent.
        """
        import polars as pl

        last, n_columns, dialect = self.columns[-1], len(self.columns), self.dialect
        read = {*names, last}
        with contextlib.suppress(pl.exceptions.PolarsError):
            frame = pl.read_csv(
                block.content,
                has_header=False,
                schema={name: types.get(name, pl.String) for name in self.columns},
                columns=None if len(read) == n_columns else [j for j, name in enumerate(self.columns) if name in read],
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
        columns = zip(*rows, strict=True) if rows else [()] * n_columns
        cells = dict(zip(self.columns, columns, strict=True))
        return pl.DataFrame({name: cells[name] for name in names}, schema=dict.fromkeys(names, pl.String))

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

    def _check_encoding(self, block: Block) -> None:
        if block.content.isascii():
            return
        try:
            block.content.decode()
        except UnicodeDecodeError as error:
            line = block.start.line + block.content.count(b"\n", 0, error.start)
            is_damaged = not self._is_ascii or not block.content[: error.start].isascii()
            raise _EncodingError(self.path, line, block.content, is_damaged=is_damaged) from None
        self._is_ascii = False

    def _note_blank(self) -> None:
        """Add a remark about blank lines above a row."""
        if self._first_blank:
            self._remarks["blank"] = (
                f"blank lines are ignored, the first one in line {self._first_blank}; rows are counted without them."
            )

    def _note_joined_lines(self, block: Block) -> None:
        """Add a remark about the first quoted cell that joins lines, each of which could be a row."""
        if "quote" in self._remarks or len(self.columns) < 2 or block.n_lines == len(block):
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

        unnamed = [name for name in self.columns[self._n_named :] if name in frame.columns]
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


def may_have_codes(content: bytes, borders: bytes) -> bool:
    """Return whether a word may begin with a code such as 007 or -01: a zero before a digit, after a border or a sign.

    Parameters
    ----------
    content : bytes
    borders : bytes
        The delimiter, and the quotation mark if there is one.
    """
    text = np.frombuffer(b"\n" + content, dtype=np.uint8)
    zero, last_before = np.uint8(ord("0")), max(*borders, ord("-"), ord(" "))
    for start in range(0, len(text), _SLICE_BYTES):
        part = text[start : start + _SLICE_BYTES + 2]
        is_code = (part[1:-1] == zero) & (part[2:] - zero < 10)  # smaller bytes wrap around
        is_code &= (part[:-2] <= last_before) & (part[:-2] != ord(".")) & (part[:-2] - zero >= 10)
        if is_code.any():
            return True
    return False


def _shown(text: bytes) -> str:
    return repr(text.decode(errors="replace")[:_MAX_SHOWN])


class _EncodingError(DataError):
    """Error of text that is not in UTF-8; it is damaged if it has other characters of UTF-8."""

    def __init__(self, path: Path, line: int, content: bytes, *, is_damaged: bool) -> None:
        super().__init__(
            f"{path} is not text in UTF-8 (line {line}). Save it as UTF-8, or name its encoding by --encoding, such as "
            "latin-1."
        )
        self.content = content
        self.is_damaged = is_damaged
