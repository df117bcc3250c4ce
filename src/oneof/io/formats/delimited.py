"""Reader of CSV, TSV and other delimited text in blocks of rows; a table is read as the blocks of a stream.

`dialect` detects the form of the text, `records` finds its records, and polars parses blocks of them. polars accepts
short lines, and marks within cells have several readings: such a block is read cell by cell, and the first line that is
not a row is an error. A column is numbers if all of its cells are, and text otherwise; `features` recognizes numbers
with missing tokens, dates and other kinds in the text.
"""

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.errors import DataError
from oneof.io.batch_spec import BatchSpec
from oneof.io.formats.cells import CODE, CellFormat, read_numbers, strip_text
from oneof.io.formats.dialect import COMMENT, COMMON, detect_dialect, western_encoding
from oneof.io.formats.names import make_unique, match_all, unnamed_columns
from oneof.io.formats.records import PART_BYTES, Block, QuoteError, Record, RecordOffset, RecordReader
from oneof.io.formats.source import polars_errors_as_data_errors

if TYPE_CHECKING:
    import polars as pl

_MAX_SHOWN = 60
"""Maximum number of characters of a text in a message."""
_SLICE_BYTES = 2**17
"""Number of bytes that are searched at once, which fit in the cache of a processor."""
_ZERO = np.uint8(ord("0"))


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
        spec: BatchSpec,
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
        self.dropped: tuple[str, ...] = ()
        self._reset()

    def _reset(self) -> None:
        self.dialect = COMMON
        self.columns: list[str] = []
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
            features = self._spec.features
            if features is None:
                yield self._parse(block, self.columns, self._unknown_types(self.columns))[0], after
                continue
            kinds = {column.name: column.kind for column in features} | dict.fromkeys(self._spec.labels)
            names = [name for name in self.columns if name in kinds]
            yield self._parse(block, names, {name: pl.Float64 for name in names if kinds[name] == "number"})[0], after

    def read_file(self) -> "pl.DataFrame":
        """Return all rows of the file; a late cell of text, or of another encoding, makes it read them again."""
        import polars as pl

        text: set[str] = set()
        while True:
            self._reset()
            try:
                frames, late = self._read_parts(text)
            except _EncodingError as error:
                if self._given.encoding is not None or error.is_damaged:
                    raise
                self._given = replace(self._given, encoding=western_encoding(error.content))
                continue
            if not late:
                return self._finish(pl.concat(frames, rechunk=False))
            text |= late
            frames.clear()

    def _read_parts(self, text: set[str]) -> "tuple[list[pl.DataFrame], set[str]]":
        """Return the rows of each part, and the columns that are text in a part after one in which they are numbers."""
        import polars as pl

        frames: list[pl.DataFrame] = []
        types: dict[str, Any] = {}
        for block, _ in self._blocks(None, RecordOffset()):
            dropped = self._spec.dropped(self.columns)
            names = [name for name in self.columns if name not in dropped]
            types = types if frames else {name: None for name in self._unknown_types(names) if name not in text}
            frame, types = self._parse(block, names, types)
            frames.append(frame)
        self.dropped = self._spec.dropped(self.columns)
        if not frames:
            frames = [pl.DataFrame(schema={name: pl.String for name in self.columns if name not in self.dropped})]
        late = {cells.name for frame in frames for cells in frame if cells.dtype != pl.String} - types.keys()
        numbers: Any = {name: kind for name, kind in types.items() if kind is not None}
        if not late and any(dict(frame.schema) != dict(frames[-1].schema) for frame in frames):
            frames = [frame.cast(numbers, strict=False) for frame in frames]
        return frames, late

    def _unknown_types(self, names: Sequence[str]) -> "dict[str, Any]":
        """Return a type for each column that may be numbers: None until a cell shows it."""
        text = {*self._spec.labels, *match_all(self._spec.as_text, self.columns)}
        return dict.fromkeys(name for name in names if name not in text)

    def _blocks(self, n_rows: int | None, start: RecordOffset) -> Iterator[tuple[Block, RecordOffset]]:
        records = self._make_records(detect=partial(self._detect, given=self._given))
        blocks = records.blocks(n_rows, start)
        try:
            first = next(blocks, None)
            if not self.columns:
                self._read_header(records)
            if first is not None:
                yield first
                yield from blocks
        except QuoteError as error:
            if not self.columns and records.header is not None:  # at the first row
                self._read_header(records)
            problem = "a quotation mark is not closed" if error.is_open else "text follows a closing quotation mark"
            column = f", column {self.columns[error.cell]!r}" if error.cell < len(self.columns) else ""
            raise DataError(
                f"{self.path}, line {error.line}{column}: {problem}: {_shown(error.text)}. Correct the line, or add "
                "--quote none if marks are ordinary characters in this file."
            ) from None

    def _read_header(self, records: RecordReader) -> None:
        self.dialect = records.dialect
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

    def _parse(
        self, block: Block, names: Sequence[str], types: "Mapping[str, Any]"
    ) -> "tuple[pl.DataFrame, dict[str, Any]]":
        """Return columns of a block as numbers or text, and the types after it, without those of text.

        Parameters
        ----------
        block : Block
        names : sequence of str
            The columns to parse.
        types : mapping of str to a type of polars or None
            The types of the columns that are numbers up to now; None if all cells up to now are empty. All others are
            text.
        """
        import polars as pl

        self._check_encoding(block)
        self._note_joined_lines(block)
        known = {name: kind for name, kind in types.items() if kind is not None}
        frame = None
        if block.is_plain and known and not (self.dialect.decimal == "," and b"." in block.content):
            if self._spec.features is not None or not has_codes(block.content, block.delimiter + block.quote):
                frame = self._read_plain(block, names, known)
            if frame is not None:
                is_finite = frame.select(pl.col(pl.Float64).is_finite().all()).rows()
                frame = frame if all(map(all, is_finite)) else None
        if frame is None and block.is_plain:
            frame = self._read_plain(block, names, {})
        if frame is None:
            content = self._complete_rows(block)
            with polars_errors_as_data_errors(Path(f"{self.path}, line {block.start.line} or later,")):
                frame = self._read_cells(content, COMMON.quote, names, {}).select(names)
        texts = [cells for cells in frame if cells.name in types and cells.dtype == pl.String]
        inferred = {cells.name: self._infer(cells, types[cells.name]) for cells in texts}
        after = dict(types) | {name: kind for name, (_, kind) in inferred.items()}
        numbers = {name: kind for name, kind in after.items() if kind != pl.String}
        return frame.with_columns(cells for cells, _ in inferred.values()), numbers

    def _infer(self, cells: "pl.Series", kind: Any) -> "tuple[pl.Series, Any]":
        """Return cells of text as numbers if all of them are, and the type of their column from now on."""
        import polars as pl

        numbers = plain_numbers(cells, str(self.dialect.decimal))
        if numbers is not None:
            return numbers, pl.Float64 if kind == pl.Float64 else numbers.dtype
        return cells, pl.String if (cells.str.strip_chars() != "").any() else kind

    def _read_plain(self, block: Block, names: Sequence[str], types: "Mapping[str, Any]") -> "pl.DataFrame | None":
        """Return columns of the given types, or of text; None if a cell has another type or a line is not a row.

        polars refuses a line with too many cells if the last column is read. It fills the cells that a short line
        lacks, at least that of the last column, with null. If a cell there is null, the delimiters show whether it is
        empty or absent.
        """
        import polars as pl

        with contextlib.suppress(pl.exceptions.PolarsError):
            frame = self._read_cells(block.content, self.dialect.quote or None, names, types)
            if len(frame) == len(block) and (
                not frame[self.columns[-1]].null_count() or block.n_delimiters() == (len(self.columns) - 1) * len(block)
            ):
                self._note_blank()
                return frame.select(names)
        return None

    def _read_cells(
        self, content: bytes, quote: str | None, names: Sequence[str], types: "Mapping[str, Any]"
    ) -> "pl.DataFrame":
        """Return columns of the given types, or of text, and the last column."""
        import polars as pl

        schema = {name: types.get(name, pl.String) for name in self.columns}
        if not content:
            return pl.DataFrame(schema=schema)
        indices = [number for number, name in enumerate(self.columns) if name in {*names, self.columns[-1]}]
        return pl.read_csv(
            content,
            has_header=False,
            schema=schema,
            columns=None if len(indices) == len(self.columns) else indices,
            separator=str(self.dialect.delimiter),
            quote_char=quote,
            decimal_comma=self.dialect.decimal == "," != self.dialect.delimiter,
        )

    def _complete_rows(self, block: Block) -> bytes:
        """Return the rows of a block without blank lines, each with a cell for each column, in double quotation marks.

        A row may end after the last column with a name, or have further cells that are empty.

        Raises
        ------
        DataError
            At the first line that is not a row of the table.
        """
        n_columns, mark = len(self.columns), b'"'
        special = re.compile(b'["\r\n%b]' % re.escape(block.delimiter))
        rows = []
        for record in block.records():
            width = len(record.cells)
            if width < n_columns and not block.content[record.begin : record.end].strip():
                self._first_blank = self._first_blank or record.line
                continue
            if width < self._n_named or any(cell.strip() for cell in record.cells[n_columns:]):
                raise self._width_error(block, record)
            self._note_blank()
            cells = [*record.cells[:n_columns], *[b""] * (n_columns - width)]
            quoted = [mark + c.replace(mark, 2 * mark) + mark if special.search(c) else c for c in cells]
            rows.append(block.delimiter.join(quoted) or mark * 2)
        return b"".join(row + b"\n" for row in rows)

    def _width_error(self, block: Block, record: Record) -> DataError:
        width, n_columns = len(record.cells), len(self.columns)
        advice = "Correct the line."
        if width > n_columns and not block.start.row and not record.begin:
            advice += " If the lines above it are not part of the table, delete them."
        if record.cells[0].startswith(COMMENT.encode()):
            advice = "Correct the line, or delete it if it is a comment."
        if width < n_columns:
            place = f"it ends before column {self.columns[width]!r}"
        else:
            place = f"after column {self.columns[-1]!r}, it has {_shown(record.cells[n_columns])}"
        found = f"found {width} cells, but the header has {n_columns}: {place}"
        return DataError(f"{self.path}, line {record.line}: {found}. {advice}")

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
            n_empty = int(has_value.reverse().arg_max() or 0) if has_value.any() else len(frame)
            frame = frame.head(-n_empty)
        return frame


def as_plain_numbers(frame: "pl.DataFrame", cell_format: CellFormat) -> "pl.DataFrame":
    """Return a table in which tokens of missing values such as NA are null, and text that is numbers is numbers."""
    import polars as pl

    columns = []
    for cells in frame.select(pl.col(pl.String)).iter_columns():
        text = cells.set(strip_text(cells, cell_format).is_null(), None)
        numbers = None if text.null_count() == cells.null_count() else plain_numbers(text, cell_format.decimal)
        columns.append(text if numbers is None else numbers)
    return frame.with_columns(columns)


def plain_numbers(cells: "pl.Series", decimal: str) -> "pl.Series | None":
    """Return text as integers, or as floats, if every cell is a finite number or empty, and one is a number.

    A code such as 007 is not a number.
    """
    import polars as pl

    text = cells.str.strip_chars()
    text = text.set((text == "").fill_null(value=False), None)
    n_present = len(text) - text.null_count()
    first = text.drop_nulls().head(100)  # most columns of text are not read further
    if not n_present or read_numbers(first, "," if decimal == "," else ".").null_count():
        return None
    if text.str.contains(CODE).any():
        return None
    integers = text.cast(pl.Int64, strict=False)
    if integers.null_count() == len(text) - n_present:
        return integers
    numbers = read_numbers(text, "," if decimal == "," else ".")
    return numbers if numbers.null_count() == len(text) - n_present else None


def has_codes(content: bytes, borders: bytes) -> bool:
    """Return whether a cell or a word is a code such as 007 or -01.

    Parameters
    ----------
    content : bytes
        Lines with their ends.
    borders : bytes
        The delimiter, and the quotation mark if there is one.
    """
    text = b"\n" + content
    cells = np.frombuffer(text, dtype=np.uint8)
    is_border = np.zeros(256, dtype=bool)
    is_border[[*borders, *b" \t\r\n"]] = True
    code = re.compile(rb"0\d+[\s%b]" % re.escape(borders))
    for start in range(0, len(cells), _SLICE_BYTES):
        part = cells[start : start + _SLICE_BYTES + 2]
        is_zero = (part[1:-1] == _ZERO) & (part[2:] - _ZERO < 10)  # smaller bytes wrap around
        is_before = part[:-2] < ord(".")  # all borders and signs, apart from some delimiters
        is_zero &= is_before if borders[0] < ord(".") else is_before | (part[:-2] == borders[0])
        zeros = np.flatnonzero(is_zero) + start + 1
        is_signed = (cells[zeros - 1] == ord("+")) | (cells[zeros - 1] == ord("-"))
        zeros = zeros[is_border[cells[zeros - 1 - is_signed]]]
        if any(code.match(text, zero) for zero in zeros.tolist()):
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
