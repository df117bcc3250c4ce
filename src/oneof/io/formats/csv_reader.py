"""Reader of CSV and TSV files.

polars parses the cells. It pads short lines and guesses silently, so every line is checked, and an error names the
line. A column is numbers if all of its cells are, and text otherwise; `features` recognizes numbers with missing
tokens, dates and other kinds in the text.
"""

import codecs
import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.io.findings import format_names
from oneof.io.formats.cells import CellFormat, read_numbers, strip_text
from oneof.io.formats.dialect import Dialect, Utf8File, detect_dialect, detect_file_encoding, with_defaults
from oneof.io.formats.records import RecordOffset, RecordReader, TextBlock, long_cells
from oneof.io.formats.source import polars_errors_as_data_errors

if TYPE_CHECKING:
    import polars as pl

    from oneof.io.columns import Column

_CHECKED_RECORDS = 10_000
"""Records per block when a whole file is checked."""
_SAMPLE_RECORDS = 10_000
"""Records from which the types of columns, and codes with leading zeros, are inferred."""
_LEADING_ZERO = r"^[+-]?0\d+$"


class CsvReader:
    """Reader of the rows of one CSV or TSV file.

    Parameters
    ----------
    path : Path
    tab : bool
        Whether the suffix says that the cells are separated by tabs.
    dialect : Dialect, optional
        The properties that are known; the others are detected from the first bytes of the file.

    Attributes
    ----------
    path : Path
        For messages.
    dialect : Dialect
        Set with `columns`.
    columns : list of str
        The names of the columns, which are unique; empty until the first block is read.
    remarks : list of str
        Sentences about names and cells that were changed.
    """

    def __init__(self, path: Path, *, tab: bool, dialect: Dialect | None = None) -> None:
        self._given = dialect or Dialect()
        self._file = path
        self._tab = tab
        self._records = self._make_records()
        self._n_named = 0
        self._n_extra = 0
        self._is_irregular = False
        self.path = self._records.path
        self.dialect = with_defaults(self._given)
        self.columns: list[str] = []
        self.remarks: list[str] = []

    def blocks(self, n_rows: int, start: RecordOffset) -> Iterator[tuple[TextBlock, RecordOffset]]:
        """Yield checked blocks of at most `n_rows` rows, each with the offset after it.

        Blank lines at the end of the file are removed; the rows of a block are then fewer than its records were.
        """
        blank: int | None = None
        for block, after in self._records.blocks(n_rows, start):
            if not self.columns:
                self._read_header()
            records, blank = self._check_block(block, blank)
            yield TextBlock(records, block.path, block.start, block.n_cells), after
        if not self.columns and start == RecordOffset():
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
            names = matching(as_text, self.columns)
            frame = self._parse(content, {}, self.columns, location)
            return frame.with_columns(self._as_plain_numbers(frame, exclude={*labels, *names}))
        kinds = {column.name: column.kind for column in features}
        names = [name for name in self.columns if name in labels or name in kinds]
        types = {name: pl.Float64() for name in names if kinds.get(name) == "number" and name not in labels}
        try:
            return self._parse(content, types, names, None)
        except pl.exceptions.PolarsError:  # a cell is not a number: `align_columns` reads the text
            return self._parse(content, {}, names, location)

    def parse_file(self, *, labels: Collection[str], as_text: Collection[str] = ()) -> "pl.DataFrame":
        """Check and return all rows of the file; see `parse`."""
        import polars as pl

        quotes = self._scan_file()
        blocks = self.blocks(_SAMPLE_RECORDS, RecordOffset())
        first = next(blocks, None)
        if first is None:
            return pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))
        exclude = {*labels, *matching(as_text, self.columns)}
        sample = self._parse(b"".join(first[0].records), {}, self.columns, self.path)
        if len(sample) < _SAMPLE_RECORDS and next(blocks, None) is None:  # the sample is the file
            return self._finish(sample.with_columns(self._as_plain_numbers(sample, exclude=exclude)))
        numbers = {cells.name: cells.dtype for cells in self._as_plain_numbers(sample, exclude=exclude)}
        empty = [cells.name for cells in sample if cells.null_count() == len(cells) and cells.name not in exclude]
        source: bytes | Path = self._rows() if self._records.is_recoded else self._file
        try:
            frame = None if self.dialect.quote in quotes else self._parse_numbers(source, numbers)
        except pl.exceptions.PolarsError:  # a line with more cells, or invalid text
            frame = None
        # A line with fewer cells, or a blank line, has a missing value in the last column.
        if frame is None or frame.to_series(self._n_named - 1).null_count():
            end = self._check_file()
            if end is not None or self._is_irregular:
                source = self._rows()[:end]
            with polars_errors_as_data_errors(self.path):
                frame = self._parse_numbers(source, numbers)
        frame = frame.with_columns(self._as_plain_numbers(frame.select(empty), exclude=exclude, codes=False))
        return self._finish(frame)

    def _parse_numbers(self, rows: "bytes | Path", types: "Mapping[str, Any]") -> "pl.DataFrame":
        """Return the columns of a file; those of `types` are numbers, or text if a cell is not a finite number."""
        import polars as pl

        frame = self._parse(rows, types, self.columns, None, ignore_errors=True)
        # polars makes other cells null: only the text shows whether a cell is empty.
        incomplete = [name for name in types if frame[name].null_count()]
        incomplete += [
            name
            for name, kind in types.items()
            if kind == pl.Float64 and name not in incomplete and not frame[name].is_finite().all()
        ]
        if not incomplete:
            return frame
        text = self._parse(rows, {}, incomplete, None)
        return frame.with_columns(text).with_columns(self._as_plain_numbers(text, exclude=(), codes=False))

    def _finish(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """Return a whole table without the columns and the last rows that have neither a name nor a value."""
        import polars as pl

        unnamed = [name for name in self.columns[self._n_named :] if frame[name].null_count() == len(frame)]
        frame = frame.drop(unnamed)
        if unnamed:
            self.columns = [name for name in self.columns if name not in unnamed]
        if frame.width > 1 and len(frame) and all(cell is None for cell in frame.row(-1)):
            has_value = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
            n_rows = int(has_value.arg_true()[-1]) + 1 if has_value.any() else 0
            n_empty = len(frame) - n_rows
            self.remarks.append(
                f"the last {n_empty:,} rows have no cells and are left out."
                if n_empty > 1
                else "the last row has no cells and is left out."
            )
            frame = frame.head(n_rows)
        return frame

    def _make_records(self) -> RecordReader:
        return RecordReader(self._file, detect=partial(detect_dialect, given=self._given, tab=self._tab))

    def _scan_file(self) -> frozenset[str]:
        """Return the quotation marks in the file; detect its encoding from all bytes unless it is given."""
        try:
            with self._file.open("rb") as file:
                encoding, quotes = detect_file_encoding(file)
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror or error}.") from None
        if self._given.encoding is None:
            self._given = replace(self._given, encoding=encoding)
            self._records = self._make_records()
        return quotes

    def _check_file(self) -> int | None:
        """Check all lines; return the number of bytes of the rows before blank lines at the end, None without those."""
        begin = end = n_read = 0
        for number, (block, after) in enumerate(self.blocks(_CHECKED_RECORDS, RecordOffset())):
            begin = begin if number else block.start.offset
            n_read = after.offset - begin
            if block.records:
                end = block.start.offset - begin + sum(map(len, block.records))
        return None if end == n_read else end

    def _rows(self) -> bytes:
        """Return the content of the file in UTF-8 without the header."""
        with self._file.open("rb") as file:
            if not self._records.is_recoded:
                content = file.read()
            else:
                encoding, returns = str(self.dialect.encoding), self._records.has_carriage_returns
                content = Utf8File(file, encoding, self.path, carriage_returns=returns).readall()
        return content.removeprefix(codecs.BOM_UTF8)[len(self._records.header) :]

    def _parse(
        self,
        rows: "bytes | Path",
        types: "Mapping[str, Any]",
        names: Sequence[str],
        location: Path | None,
        *,
        ignore_errors: bool = False,
    ) -> "pl.DataFrame":
        """Return columns of the given types, or of text; errors of polars are raised as they are without a location.

        Parameters
        ----------
        rows : bytes or Path
            The rows, or the file in UTF-8, whose rows have as many cells as its header.
        types : mapping from str to a type of polars
        names : sequence of str
            The columns to parse.
        location : Path or None
        ignore_errors : bool
            Whether cells that are not of the given type are null.
        """
        import polars as pl

        if location is not None:
            with polars_errors_as_data_errors(location):
                return self._parse(rows, types, names, None)
        schema = {name: types.get(name, pl.String()) for name in self.columns}
        schema |= {f"\0{number}": pl.String() for number in range(self._n_extra)}  # empty cells at the end of lines
        indices = None if len(names) == len(schema) else [self.columns.index(name) for name in names]
        options: dict[str, Any] = {
            "columns": indices,
            "separator": str(self.dialect.delimiter),
            "quote_char": str(self.dialect.quote),
            "decimal_comma": self.dialect.decimal == ",",
            "ignore_errors": ignore_errors,
        }
        if isinstance(rows, Path):
            frame = pl.read_csv(rows, has_header=False, skip_rows=1, schema=schema, **options)
            return frame.select(names)
        # With a header of plain numbers, short lines are padded. polars keeps doubled quotation marks in names.
        numbers = {str(number): name for number, name in enumerate(schema)}
        header = str(self.dialect.delimiter).join(numbers).encode()
        frame = pl.read_csv(
            io.BytesIO(header + b"\n" + rows),
            infer_schema_length=0,
            schema_overrides={number: schema[name] for number, name in numbers.items()},
            **options,
        )
        return frame.rename({number: numbers[number] for number in frame.columns}).select(names)

    def _as_plain_numbers(
        self, frame: "pl.DataFrame", *, exclude: Collection[str], codes: bool = True
    ) -> "list[pl.Series]":
        """Return the columns whose cells are all numbers; integers with leading zeros are codes if `codes`."""
        numbers = [
            _plain_numbers(cells, str(self.dialect.decimal))
            for cells in frame.iter_columns()
            if cells.name not in exclude and not (codes and _has_leading_zero(cells))
        ]
        return [cells for cells in numbers if cells is not None]

    def _read_header(self) -> None:
        header = self._records.header
        self.dialect = self._records.dialect
        quote, delimiter = str(self.dialect.quote), str(self.dialect.delimiter)
        try:
            with long_cells:
                text = io.StringIO(header.decode(), newline="")
                cells = next(csv.reader(text, delimiter=delimiter, quotechar=quote, strict=True), [])
        except UnicodeDecodeError:
            raise _not_utf8(self.path, 1) from None
        except csv.Error as error:
            raise DataError(f"{self.path}, line 1: {error}.") from None
        if not any(cell.strip() for cell in cells):
            raise DataError(f"{self.path} is empty. The first line must have the names of the columns.")
        self.columns, self.remarks = _unique_names(cells)
        self._n_named = max(number for number, cell in enumerate(cells, 1) if cell.strip())

    def _check_block(self, block: TextBlock, blank_line: int | None) -> tuple[list[bytes], int | None]:
        """Return the records without blank lines at the end, and the number of the first of these lines.

        Parameters
        ----------
        block : TextBlock
        blank_line : int or None
            Number of the first blank line at the end of the previous block.

        Raises
        ------
        DataError
            At the first line that is not a row of the table.
        """
        delimiter, quote = str(self.dialect.delimiter).encode(), str(self.dialect.quote).encode()
        records, n_columns = block.records, len(self.columns)
        blank = [i for i, record in enumerate(records) if not record.strip(b" \r\n")] if n_columns > 1 else []
        n_rows = len(records) - len(blank)
        if n_rows and blank_line is not None:
            raise _blank(block.path, blank_line)
        if blank:
            if blank[0] < n_rows:
                raise _blank(block.path, block.line_of(blank[0]))
            blank_line = blank_line or block.line_of(blank[0])
            records = records[:n_rows]
        with long_cells:
            for i, record in enumerate(records):
                n_cells = block.n_cells[i] or (0 if quote in record else record.count(delimiter) + 1)
                if n_cells != n_columns:
                    self._check_record(block, i)
        try:
            b"".join(records).decode()
        except UnicodeDecodeError:
            invalid = next(i for i, record in enumerate(records) if not _is_utf8(record))
            raise _not_utf8(block.path, block.line_of(invalid)) from None
        return records, blank_line

    def _check_record(self, block: TextBlock, i: int) -> None:
        """Raise unless the cells of a record are as many as the names, apart from empty ones at the end."""
        text = block.records[i].decode(errors="replace")
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=str(self.dialect.delimiter),
            quotechar=str(self.dialect.quote),
            strict=True,
        )
        try:
            cells = next(reader)
        except csv.Error as error:
            raise DataError(f"{block.path}, line {block.line_of(i)}: {error}. Correct the line.") from None
        extra = cells[len(self.columns) :]
        if len(cells) < self._n_named or any(cell.strip() for cell in extra):
            raise DataError(
                f"{block.path}, line {block.line_of(i)}: found {len(cells)} cells, but the header has "
                f"{len(self.columns)}. Correct the line."
            )
        self._is_irregular |= len(cells) != len(self.columns)
        if extra and not self._n_extra:
            self.remarks.append(
                f"line {block.line_of(i)}, and possibly others, ends with more delimiters than the header; they are "
                "ignored."
            )
        self._n_extra = max(self._n_extra, len(extra))


def matching(patterns: Collection[str], columns: Sequence[str]) -> list[str]:
    """Return the columns that have one of the names, or match one of the patterns such as "q*"."""
    return [name for name in columns if any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)]


def as_plain_numbers(frame: "pl.DataFrame", cell_format: CellFormat) -> "pl.DataFrame":
    """Return a table in which tokens of missing values such as NA are null, and text that is numbers is numbers."""
    import polars as pl

    columns = []
    for cells in frame.select(pl.col(pl.String)).iter_columns():
        text = cells.set(strip_text(cells, cell_format).is_null(), None)
        numbers = None if text.null_count() == cells.null_count() else _plain_numbers(text, cell_format.decimal)
        columns.append(text if numbers is None else numbers)
    return frame.with_columns(columns)


def _unique_names(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return unique names of columns without surrounding spaces, and a sentence about each kind of change."""
    names = [cell.strip() for cell in cells]
    n_named = max(number for number, name in enumerate(names, 1) if name)
    stripped = [name for name, cell in zip(names, cells, strict=True) if name and name != cell]
    unnamed = [number for number, name in enumerate(names) if not name]
    taken = set(names)
    renamed = []
    seen: set[str] = set()
    next_suffix: dict[str, int] = {}
    for number, name in enumerate(names):
        if name and name not in seen:
            seen.add(name)
            continue
        base = f"{name}_" if name else "column "
        suffix = next_suffix.get(base, 2) if name else number
        while f"{base}{suffix}" in taken:
            suffix += 1
        names[number] = f"{base}{suffix}"
        taken.add(names[number])
        if name:
            next_suffix[base] = suffix + 1
            renamed.append(names[number])
    remarks = []
    if stripped:
        remarks.append(f"spaces around the names of columns are removed: {format_names(stripped)}.")
    if renamed:
        remarks.append(f"columns with the name of another column are renamed: {format_names(renamed)}.")
    if inner := [names[number] for number in unnamed if number < n_named]:
        remarks.append(f"columns without a name are named by their position, from 0: {format_names(inner)}.")
    return names, remarks


def _plain_numbers(cells: "pl.Series", decimal: str) -> "pl.Series | None":
    """Return text as integers, or as floats, if every cell is a finite number or empty, and one is a number."""
    import polars as pl

    text = cells.str.strip_chars()
    text = text.set((text == "").fill_null(value=False), None)
    n_present = len(text) - text.null_count()
    if not n_present or (n_present > 1 and _first_is_text(text, decimal)):
        return None
    integers = text.cast(pl.Int64, strict=False)
    if integers.null_count() == len(text) - n_present:
        return integers
    numbers = read_numbers(text, "," if decimal == "," else ".")
    return numbers if numbers.null_count() == len(text) - n_present else None


def _first_is_text(text: "pl.Series", decimal: str) -> bool:
    """Return whether the first cells are not numbers, which spares the reading of all."""
    first = text.drop_nulls().head(100)
    return read_numbers(first, "," if decimal == "," else ".").null_count() > 0


def _has_leading_zero(cells: "pl.Series") -> bool:
    import polars as pl

    if cells.dtype != pl.String:
        return False
    return bool(cells.head(_SAMPLE_RECORDS).str.strip_chars().str.contains(_LEADING_ZERO).any())


def _blank(path: Path, line: int) -> DataError:
    return DataError(f"{path}, line {line}: the line is blank. Remove it.")


def _not_utf8(path: Path, line: int) -> DataError:
    return DataError(
        f"{path} is not text in UTF-8 (line {line}). Save it as UTF-8, or name its encoding by --encoding, such as "
        "latin-1."
    )


def _is_utf8(record: bytes) -> bool:
    try:
        record.decode()
    except UnicodeDecodeError:
        return False
    return True
