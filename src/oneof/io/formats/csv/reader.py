"""Reader of CSV and TSV files.

polars parses the cells. `records` checks the lines, and `table` infers the types of the columns of a whole
file. A column is numbers if all of its cells are, and text otherwise; `features` recognizes numbers with missing
tokens, dates and other kinds in the text.
"""

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.io.formats.csv.dialect import Dialect, detect_dialect, detect_file_encoding, with_defaults
from oneof.io.formats.csv.records import Header, RecordChecker, read_header
from oneof.io.formats.csv.table import TableParser, number_types
from oneof.io.formats.names import match_all, unnamed_columns
from oneof.io.formats.records import IrregularRecordsError, RecordOffset, RecordReader, TextBlock
from oneof.io.formats.source import polars_errors_as_data_errors

if TYPE_CHECKING:
    import polars as pl

    from oneof.io.kinds import Column

_CHECKED_ROWS = 10_000
"""Number of rows that are checked at once."""
_MAX_SHOWN = 60
"""Maximum number of characters of a line in a message."""


class CsvReader:
    """Reader of the rows of one CSV or TSV file.

    Parameters
    ----------
    path : Path
    tab : bool
        Whether the suffix is that of cells separated by tabs.
    dialect : Dialect, optional
        The properties that are known; the others are detected from the first bytes of the file.
    display : Path, optional
        Name of the file for messages, if it is a copy.
    default_decimal : {".", ","}
        The decimal separator if no number shows it.
    sample_rows : int
        Number of rows from which the types of the columns of a whole file are inferred at first.
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
    dropped : list of str
        The columns that `parse_file` did not parse.
    """

    def __init__(
        self,
        path: Path,
        *,
        tab: bool,
        dialect: Dialect | None = None,
        display: Path | None = None,
        default_decimal: str = ".",
        sample_rows: int = 2_000,
        part_bytes: int = 2**24,
    ) -> None:
        self._given = dialect or Dialect()
        self._file = path
        self._tab = tab
        self._display = display
        self._default_decimal = default_decimal
        self._records = self._make_records()
        self._header = Header([], 0)
        self._n_extra = 0
        self._remarks: dict[str, str] = {}
        self._sample_rows = sample_rows
        self._part_bytes = part_bytes
        self.path = self._records.path
        self.dialect = with_defaults(self._given)
        self.columns: list[str] = []
        self.dropped: list[str] = []

    @property
    def remarks(self) -> list[str]:
        """Sentences about names, lines and cells that were changed."""
        return [*self._remarks.values(), *self._header.remarks]

    def blocks(self, n_rows: int, start: RecordOffset) -> Iterator[tuple[TextBlock, RecordOffset]]:
        """Yield checked blocks of at most `n_rows` rows, each with the offset after it.

        Blank lines are removed; the rows of a block are then fewer than its records were.
        """
        checker: RecordChecker | None = None
        for block, after in self._records.blocks(n_rows, start):
            if checker is None:
                self._read_header()
                checker = RecordChecker(self._header, self.dialect)
            checked = checker.check(block)
            self._n_extra = max(self._n_extra, checker.n_extra)
            self._remarks |= checker.remarks
            yield checked, after
        if checker is None and start == RecordOffset():
            self._read_header()  # a file without rows must have a header as well

    def parse(
        self,
        block: TextBlock,
        *,
        labels: Collection[str],
        as_text: Collection[str] = (),
        features: "Sequence[Column] | None" = None,
    ) -> "pl.DataFrame":
        """Return the rows of a block.

        Parameters
        ----------
        block : TextBlock
        labels : collection of str
            Columns of labels, which are text.
        as_text : collection of str
            Columns, or patterns of their names, of text even if the cells look like numbers; used only if the types are
            inferred.
        features : sequence of Column, optional
            The features to read, with their types; by default all columns, with types inferred from the cells.
        """
        import polars as pl

        content = b"".join(block.records)
        location = Path(f"{block.path}, line {block.start.line} or later,")
        if features is None:
            text = {*labels, *match_all(as_text, self.columns)}
            with polars_errors_as_data_errors(location):
                frame = self._parse(content, {}, self.columns)
            return frame.with_columns(number_types(frame, text, str(self.dialect.decimal)))
        kinds = {column.name: column.kind for column in features}
        names = [name for name in self.columns if name in labels or name in kinds]
        types = {name: pl.Float64() for name in names if kinds.get(name) == "number" and name not in labels}
        try:
            return self._parse(content, types, names)
        except pl.exceptions.PolarsError:  # a cell is not a number: `align_columns` reads the text
            with polars_errors_as_data_errors(location):
                return self._parse(content, {}, names)

    def parse_file(
        self, *, labels: Collection[str], as_text: Collection[str] = (), drop: Collection[str] = ()
    ) -> "pl.DataFrame":
        """Check and return all rows of the file; see `parse`.

        Parameters
        ----------
        labels, as_text : collection of str
            See `parse`.
        drop : collection of str
            Columns, or patterns of their names, that are not parsed, unless they have labels.
        """
        import polars as pl

        self._detect_encoding()
        blocks = self.blocks(self._sample_rows, RecordOffset())
        first = next(blocks, None)
        dropped = match_all(drop, self.columns) - match_all(labels, self.columns)
        self.dropped = [name for name in self.columns if name in dropped]
        names = [name for name in self.columns if name not in dropped]
        if first is None:
            return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
        text = {*labels, *match_all(as_text, self.columns)}
        decimal = str(self.dialect.decimal)
        with polars_errors_as_data_errors(self.path):
            sample = self._parse(b"".join(first[0].records), {}, names)
            numbers = number_types(sample, text, decimal)
            if len(sample) < self._sample_rows and next(blocks, None) is None:  # the sample is the file
                return self._finish(sample.with_columns(numbers))
            empty = {cells.name for cells in sample if cells.null_count() == len(cells)}
            types = {cells.name: cells.dtype for cells in numbers}
            text |= set(names) - empty - set(types)
            parser = partial(
                TableParser, self._parse, types, names, text=text, header=self._header, dialect=self.dialect
            )
            try:
                extra = self._extra_names()
                frame = parser().read(self._unchecked_parts, checked=False, extra=extra)
            except IrregularRecordsError:
                frame = parser().read(self._checked_parts, checked=True)
        return self._finish(frame)

    def _unchecked_parts(self) -> Iterator[bytes]:
        """Yield the records of the file without blank lines at the end."""
        previous = b""
        for part in self._records.chunks(self._part_bytes):
            if previous:
                yield previous
            previous = part
        if len(self.columns) > 1:
            while previous:
                line = previous.rfind(b"\n", 0, len(previous) - 1) + 1
                if previous[line:].strip(b" \r\n"):
                    break
                previous = previous[:line]
        if previous:
            yield previous

    def _checked_parts(self) -> Iterator[bytes]:
        for block, _ in self.blocks(_CHECKED_ROWS, RecordOffset()):
            if block.records:
                yield b"".join(block.records)

    def _finish(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """Return a whole table without the columns and the last rows that have neither a name nor a value."""
        import polars as pl

        unnamed = self.columns[self._header.n_named :]
        unnamed = [name for name in unnamed if name in frame.columns and frame[name].null_count() == len(frame)]
        frame = frame.drop(unnamed)
        kept = [name for name in self.columns[self._header.n_named :] if name in frame.columns]
        if len(kept) > 1:  # a single one may have the names of rows; several are after a merged cell
            self._remarks["unnamed"] = unnamed_columns(kept)
        self.columns = [name for name in self.columns if name not in unnamed]
        if frame.width > 1 and len(frame) and all(cell is None for cell in frame.row(-1)):
            has_value = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
            n_rows = int(has_value.arg_true()[-1]) + 1 if has_value.any() else 0
            n_empty = len(frame) - n_rows
            self._remarks["empty"] = (
                f"the last {n_empty:,} rows have no cells and are left out."
                if n_empty > 1
                else "the last row has no cells and is left out."
            )
            frame = frame.head(n_rows)
        return frame

    def _make_records(self) -> RecordReader:
        detect = partial(detect_dialect, given=self._given, tab=self._tab, default_decimal=self._default_decimal)
        return RecordReader(self._file, detect=detect, display=self._display)

    def _detect_encoding(self) -> None:
        """Detect the encoding from all bytes of the file unless it is given."""
        if self._given.encoding is not None:
            return
        try:
            with self._file.open("rb") as file:
                encoding = detect_file_encoding(file)
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror or error}.") from None
        self._given = replace(self._given, encoding=encoding)
        self._records = self._make_records()

    def _read_header(self) -> None:
        if self.columns:
            return
        above = self._records.above.splitlines()
        self.dialect = self._records.dialect
        self._header = read_header(self._records.header, self.dialect, self.path, len(above) + 1)
        self.columns = list(self._header.columns)
        described = [line for line in above if line.strip()]
        if described:
            lines = f"{len(above)} lines above the header are" if len(above) > 1 else "1 line above the header is"
            first = described[0].decode(errors="replace").strip()
            self._remarks["above"] = f"{lines} ignored: {first[:_MAX_SHOWN]!r}."

    def _extra_names(self) -> list[str]:
        """Return names of empty cells at the end of lines, beyond those of the header."""
        return [f"\0{number}" for number in range(self._n_extra)]

    def _parse(
        self, records: bytes, types: "Mapping[str, Any]", names: Sequence[str], *, ignore_errors: bool = False
    ) -> "pl.DataFrame":
        """Return columns of the given types, or of text.

        Parameters
        ----------
        records : bytes
            In UTF-8, without the header.
        types : mapping from str to a type of polars
        names : sequence of str
            The columns to parse.
        ignore_errors : bool
            Whether cells that are not of the given type are null.

        Raises
        ------
        polars.exceptions.PolarsError
            If a line has too many cells, or a cell is not of the given type.
        """
        import polars as pl

        columns = [*self._header.columns, *self._extra_names()]
        # With a header of plain numbers, short lines are padded. polars keeps doubled quotation marks in names.
        numbers = {str(number): name for number, name in enumerate(columns)}
        header = str(self.dialect.delimiter).join(numbers).encode()
        indices = {name: number for number, name in enumerate(columns)}
        frame = pl.read_csv(
            io.BytesIO(header + b"\n" + records),
            columns=None if len(names) == len(columns) else [indices[name] for name in names],
            infer_schema_length=0,
            schema_overrides={number: types.get(name, pl.String()) for number, name in numbers.items()},
            separator=str(self.dialect.delimiter),
            quote_char=str(self.dialect.quote),
            decimal_comma=self.dialect.decimal == "," != self.dialect.delimiter,
            ignore_errors=ignore_errors,
        )
        return frame.rename({number: numbers[number] for number in frame.columns}).select(names)
