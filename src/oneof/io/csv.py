"""Reader of CSV and TSV files.

polars parses the cells. It pads short lines, renames repeated columns and guesses silently, so every line is checked
first, and an error names the line.
"""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.io.features import Column
from oneof.io.source import RecordOffset, RecordReader, TextBlock, long_cells, polars_errors_as_data_errors

if TYPE_CHECKING:
    import polars as pl

MISSING = ["NA", "N/A", "NaN", "nan", "null", "NULL", "?"]
"""Cells that are missing values, like empty cells, except in columns of labels."""

_CHECKED_RECORDS = 10_000
"""Records per block when a whole file is checked."""
_SAMPLE_RECORDS = 10_000
"""Records from which the types of numeric columns are inferred if the file has no ambiguous number."""
_AMBIGUOUS = (b" ", b"+", b".e", b".E")
"""Bytes of cells such as "+5", which polars parses as numbers if the type is known, but does not infer as numbers."""
_QUOTE = b'"'


class CsvReader:
    """Reader of the rows of one CSV or TSV file.

    Parameters
    ----------
    path : Path
    tab : bool
        Whether the cells are separated by tabs. Otherwise the delimiter is a comma, or a semicolon if the header
        contains semicolons and no comma.

    Attributes
    ----------
    path : Path
        For messages.
    columns : list of str
        The names of the columns; empty until the first block is read.
    """

    def __init__(self, path: Path, *, tab: bool) -> None:
        self._records = RecordReader(path, delimiter_of=partial(_delimiter_of, tab=tab))
        self._file = path
        self._tab = tab
        self._delimiter = ","
        self.path = self._records.path
        self.columns: list[str] = []
        self._end: int | None = None

    def blocks(self, n_rows: int, start: RecordOffset) -> Iterator[tuple[TextBlock, RecordOffset]]:
        """Yield checked blocks of at most `n_rows` rows, each with the offset after it.

        Blank lines at the end of the file are removed; the rows of a block are then fewer than its records were.
        """
        blank: int | None = None
        for block, after in self._records.blocks(n_rows, start):
            if not self.columns:
                self._read_header()
            records, blank = _check_block(block, self._delimiter.encode(), len(self.columns), blank)
            if self._end is None and any(record.strip(b"\r\n") for record in block.records[len(records) :]):
                self._end = block.line_of(len(records))
            yield TextBlock(records, block.path, block.start, block.n_cells), after
        if not self.columns and start == RecordOffset():
            self._read_header()  # a file without rows must have a header as well

    def parse(
        self,
        block: TextBlock,
        *,
        verbatim: Collection[str],
        as_text: Collection[str] = (),
        features: Sequence[Column] | None = None,
    ) -> "pl.DataFrame":
        """Return the rows of a block.

        Parameters
        ----------
        block : TextBlock
        verbatim : collection of str
            Columns of labels: text in which only empty cells are missing.
        as_text : collection of str
            Columns of text even if the cells look like numbers; used only if the types are inferred.
        features : sequence of Column, optional
            The features to read, with their types; by default all columns, with types inferred from the cells.
        """
        # polars keeps doubled quotation marks in names, so columns are addressed by their index.
        numbers = {name: str(number) for number, name in enumerate(self.columns)}
        header = self._delimiter.join(numbers.values()).encode()
        content = io.BytesIO(b"".join([header, b"\n", *block.records]))
        location = Path(f"{block.path}, line {block.start.line} or later,")
        return self._parse(content, numbers, location, verbatim=verbatim, as_text=as_text, features=features)

    def parse_file(self, *, verbatim: Collection[str], as_text: Collection[str] = ()) -> "pl.DataFrame":
        """Check and return all rows of the file; see `parse`."""
        n_rows = 0
        marks: set[bytes] = set()
        for block, _ in self.blocks(_CHECKED_RECORDS, RecordOffset()):
            n_rows += len(block.records)
            content = b"".join(block.records)
            marks.update(mark for mark in (*_AMBIGUOUS, _QUOTE) if mark in content)
        names: dict[str, str] = {name: name for name in self.columns}
        source: Any = self._file
        if any('"' in name for name in self.columns) or self._end is not None:
            names = {name: str(number) for number, name in enumerate(self.columns)}
            source = self._with_header(self._delimiter.join(names.values()).encode())
        frame = self._parse(source, names, self.path, verbatim=verbatim, as_text=as_text, marks=marks)
        return frame.head(n_rows)

    def _with_header(self, header: bytes) -> io.BytesIO:
        """Return the content of the file with another header, without lines of spaces at the end."""
        with self._file.open("rb") as file:
            n_header = max(self._records.header.count(b"\n"), 1)
            for _ in range(n_header):
                file.readline()
            rows = file.read() if self._end is None else b"".join(islice(file, self._end - 1 - n_header))
            return io.BytesIO(header + b"\n" + rows)

    def _parse(
        self,
        content: Any,
        names: Mapping[str, str],
        location: Path,
        *,
        verbatim: Collection[str],
        as_text: Collection[str],
        features: Sequence[Column] | None = None,
        marks: Collection[bytes] = _AMBIGUOUS,
    ) -> "pl.DataFrame":
        """Parse content whose header has the names that `names` maps the columns to.

        A table of numbers without the marks of ambiguous numbers is parsed with the types of its first records, since
        the inference from all cells takes ten times as long as the parsing.
        """
        import polars as pl

        kinds = {} if features is None else {column.name: column.kind for column in features}
        requested = [name for name in self.columns if name not in verbatim and (features is None or name in kinds)]
        types: dict[str, Any] = {name: pl.Float64 for name in requested if kinds.get(name) == "number"}
        types |= {name: pl.String for name in requested if name in as_text}

        def parse(
            columns: Sequence[str],
            types: Mapping[str, Any],
            missing: list[str] | None,
            *,
            infer: bool,
            sample: int | None = None,
        ) -> "pl.DataFrame":
            """Read some columns with the given types, all others with inferred types or as text."""
            if isinstance(content, io.BytesIO):
                content.seek(0)
            frame = pl.read_csv(
                content,
                columns=[names[name] for name in columns],
                separator=self._delimiter,
                infer_schema_length=sample if infer else 0,
                schema_overrides={names[name]: kind for name, kind in types.items()},
                try_parse_dates=infer,
                null_values=missing,
                n_rows=sample,
            )
            return frame.rename({names[name]: name for name in columns})

        def parse_numbers() -> "pl.DataFrame | None":
            """Read the columns as numbers of the types of the first records; None if inference may differ."""
            try:
                sample = parse(requested, types, MISSING, infer=True, sample=_SAMPLE_RECORDS)
                if not all(kind in (pl.Int64, pl.Float64) for kind in sample.dtypes):
                    return None
                frame = parse(requested, sample.schema, MISSING, infer=False)
            except pl.exceptions.PolarsError:  # a later cell has another type
                return None
            if not all(column.is_finite().all() for column in frame.select(pl.col(pl.Float64))):
                return None
            # A quoted empty cell is not a missing number, but text.
            incomplete = [column.name for column in frame if _QUOTE in marks and column.null_count()]
            is_text = bool(incomplete) and any(
                (column == "").any() for column in parse(incomplete, {}, MISSING, infer=False)
            )
            return None if is_text else frame

        # polars takes one list of missing values for all columns, so columns of labels are read separately.
        labels = [name for name in self.columns if name in verbatim]
        with polars_errors_as_data_errors(location):
            frames = [parse(labels, {}, None, infer=False)] if labels else []
            if requested:
                try:
                    numbers = None if any(mark in marks for mark in _AMBIGUOUS) else parse_numbers()
                    frames.append(
                        parse(requested, types, MISSING, infer=features is None) if numbers is None else numbers
                    )
                except pl.exceptions.PolarsError:
                    if features is None:
                        raise
                    # A cell is not a number: `align_columns` finds it in the text.
                    frames.append(parse(requested, {}, MISSING, infer=False))
        selected = {*labels, *requested}
        return pl.concat(frames, how="horizontal").select([name for name in self.columns if name in selected])

    def _read_header(self) -> None:
        header = self._records.header
        self._delimiter = _delimiter_of(header, tab=self._tab)
        try:
            with long_cells:
                text = io.StringIO(header.decode(), newline="")
                columns = next(csv.reader(text, delimiter=self._delimiter, strict=True), [])
        except UnicodeDecodeError:
            raise _not_utf8(self.path, 1) from None
        except csv.Error as error:
            raise DataError(f"{self.path}, line 1: {error}.") from None
        _check_names(self.path, columns)
        self.columns = columns


def _delimiter_of(header: bytes, *, tab: bool) -> str:
    """Return the delimiter of the cells, given the header."""
    return "\t" if tab else (";" if b";" in header and b"," not in header else ",")


def _check_names(path: Path, columns: Sequence[str]) -> None:
    """Raise unless every column has a unique name."""
    if not columns:
        raise DataError(f"{path} is empty. The first line must have the names of the columns.")
    if "" in columns and columns.index("") > 0:
        raise DataError(f"{path}: column {columns.index('')} has no name. Name it in the first line.")
    seen: set[str] = set()
    for name in columns:
        if name in seen:
            raise DataError(f"{path} has two columns {name!r}. Give every column a unique name.")
        seen.add(name)


def _check_block(
    block: TextBlock, delimiter: bytes, n_columns: int, blank_line: int | None
) -> tuple[list[bytes], int | None]:
    """Return the records without blank lines at the end, and the number of the first of these lines.

    Parameters
    ----------
    block : TextBlock
    delimiter : bytes
    n_columns : int
    blank_line : int or None
        Number of the first blank line at the end of the previous block.

    Raises
    ------
    DataError
        At the first line that is not a row of the table.
    """
    records = block.records
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
            n_cells = block.n_cells[i] or (0 if b'"' in record else record.count(delimiter) + 1)
            if n_cells != n_columns:
                _check_record(block, i, delimiter.decode(), n_columns)
    try:
        b"".join(records).decode()
    except UnicodeDecodeError:
        invalid = next(i for i, record in enumerate(records) if not _is_utf8(record))
        raise _not_utf8(block.path, block.line_of(invalid)) from None
    return records, blank_line


def _check_record(block: TextBlock, i: int, delimiter: str, n_columns: int) -> None:
    text = block.records[i].decode(errors="replace")
    try:
        cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise DataError(f"{block.path}, line {block.line_of(i)}: {error}. Correct the line.") from None
    if len(cells) != n_columns:
        raise DataError(
            f"{block.path}, line {block.line_of(i)}: found {len(cells)} cells, but the header has {n_columns}. "
            "Correct the line."
        )


def _blank(path: Path, line: int) -> DataError:
    return DataError(f"{path}, line {line}: the line is blank. Remove it.")


def _not_utf8(path: Path, line: int) -> DataError:
    return DataError(f"{path} is not text in UTF-8 (line {line}). Save it as UTF-8.")


def _is_utf8(record: bytes) -> bool:
    try:
        record.decode()
    except UnicodeDecodeError:
        return False
    return True
