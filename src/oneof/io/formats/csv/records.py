"""Header and records of a CSV file: names of the columns, and checks that every line is a row of the table.

polars pads short lines and accepts misplaced quotation marks, so lines are checked here. An error names the line.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from oneof.errors import DataError
from oneof.io.formats.csv.dialect import Dialect
from oneof.io.formats.csv.header_lines import COMMENT
from oneof.io.formats.names import make_unique
from oneof.io.formats.records import TextBlock, long_cells

_BLANK = b" \r\n"
_COMMENT = COMMENT.encode()
_PLAIN_COMMENT = re.compile(rb"(#+[\s=*-]|#+$)")
"""Beginning of a comment that has several cells; #word may be a label, such as a tag of a message."""
_MAX_SHOWN = 60
"""Maximum number of characters of a line in a message."""


@dataclass(frozen=True)
class Header:
    """Names of the columns of a CSV file.

    Attributes
    ----------
    columns : list of str
        Unique names.
    n_named : int
        The number of columns up to the last one with a name; a row may end there.
    remarks : tuple of str
        Sentences about names that were changed.
    """

    columns: list[str]
    n_named: int
    remarks: tuple[str, ...] = ()


def read_header(record: bytes, dialect: Dialect, path: Path, line: int = 1) -> Header:
    """Return the names in the first record of a table, which begins at a line of a file.

    Raises
    ------
    DataError
        If the record is empty or malformed.
    """
    try:
        with long_cells:
            cells = next(make_csv_reader(record.decode(), dialect), [])
    except UnicodeDecodeError:
        raise _not_utf8(path, line) from None
    except csv.Error as error:
        raise DataError(f"{path}, line {line}: {error}.") from None
    if not any(cell.strip() for cell in cells):
        raise DataError(f"{path} is empty. The first line must have the names of the columns.")
    columns, remarks = make_unique(cells)
    return Header(columns, max(number for number, cell in enumerate(cells, 1) if cell.strip()), tuple(remarks))


class RecordChecker:
    """Check of the records of a CSV file, one block after the other.

    Parameters
    ----------
    header : Header
    dialect : Dialect

    Attributes
    ----------
    n_extra : int
        The number of empty cells at the end of the longest record, beyond those of the header.
    remarks : dict
        Sentences about lines that are ignored or shortened.
    """

    def __init__(self, header: Header, dialect: Dialect) -> None:
        self._header = header
        self._dialect = dialect
        self._delimiter, self._quote = str(dialect.delimiter).encode(), str(dialect.quote).encode()
        # A cell that begins with another character has a quotation mark.
        other, mark = re.escape(self._delimiter), re.escape(self._quote)
        self._bare_quote = re.compile(b"(?:^|" + other + b")[^" + other + mark + b"][^" + other + mark + b"]*" + mark)
        self._first_blank: int | None = None
        self._n_blank = 0
        self._n_pending = 0
        self._n_comments = 0
        self._first_comment = ""
        self._has_tags = False
        self.n_extra = 0
        self.remarks: dict[str, str] = {}

    def check(self, block: TextBlock) -> TextBlock:
        """Return a block without blank lines and comments.

        Blank lines between rows are in the remarks; those at the end of the file are not. In a table of one column, a
        blank line is a missing value. A comment is a line that begins with "#" and has too few or too many cells, if no
        row begins with "#".

        Raises
        ------
        DataError
            At the first line that is not a row of the table.
        """
        records, n_columns = list(block.records), len(self._header.columns)
        blank, comments = [], []
        self._has_tags = self._has_tags or self._begins_with_tag(block)
        with long_cells:
            for i, record in enumerate(records):
                if self._quote in record and self._bare_quote.search(record):
                    records[i] = self._quoted(block, i)
                n_cells = block.n_cells[i] or (0 if self._quote in record else record.count(self._delimiter) + 1)
                if n_cells != n_columns:
                    if n_columns > 1 and not record.strip(_BLANK):
                        blank.append(i)
                    elif self._is_comment(block, i):
                        comments.append(i)
                    else:
                        self._check_record(block, i)
        try:
            b"".join(records).decode()
        except UnicodeDecodeError:
            invalid = next(i for i, record in enumerate(records) if not _is_utf8(record))
            raise _not_utf8(block.path, block.line_of(invalid)) from None
        block = replace(block, records=records)
        self._count_comments(block, comments)
        self._count_blank(block, blank)
        return _without(block, [*blank, *comments])

    def _quoted(self, block: TextBlock, i: int) -> bytes:
        """Return a record in which cells with quotation marks are in quotation marks, as polars requires."""
        try:
            cells = next(make_csv_reader(block.records[i].decode(), self._dialect), [])
        except (csv.Error, UnicodeDecodeError):
            return block.records[i]  # the error is raised by the checks
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=str(self._dialect.delimiter), quotechar=str(self._dialect.quote))
        writer.writerow(cells)
        return text.getvalue().removesuffix("\r\n").encode() + b"\n"

    def _count_blank(self, block: TextBlock, blank: list[int]) -> None:
        """Count the blank records between rows."""
        if blank:
            self._first_blank = self._first_blank or block.line_of(blank[0])
        kept = sorted(set(range(len(block.records))) - set(blank))
        if kept:
            n_last = sum(i > kept[-1] for i in blank)
            self._n_blank += self._n_pending + len(blank) - n_last
            self._n_pending = n_last
        else:
            self._n_pending += len(blank)
        if self._n_blank:
            lines = f"{self._n_blank:,} blank lines are" if self._n_blank > 1 else "1 blank line is"
            self.remarks["blank"] = (
                f"{lines} ignored, the first one in line {self._first_blank}; rows are counted without blank lines."
            )

    def _count_comments(self, block: TextBlock, comments: list[int]) -> None:
        """Count the comments; the first one is in the remark."""
        if not comments:
            return
        self._n_comments += len(comments)
        if not self._first_comment:
            text = block.records[comments[0]].decode(errors="replace").strip()
            self._first_comment = f"{text[:_MAX_SHOWN]!r} in line {block.line_of(comments[0])}"
        lines = f"{self._n_comments:,} comments are" if self._n_comments > 1 else "1 comment is"
        others = f" and {self._n_comments - 1:,} more" * (self._n_comments > 1)
        self.remarks["comments"] = f"{lines} ignored: {self._first_comment}{others}; rows are counted without comments."

    def _has_wrong_width(self, record: bytes) -> bool:
        return not self._header.n_named <= record.count(self._delimiter) + 1 <= len(self._header.columns)

    def _begins_with_tag(self, block: TextBlock) -> bool:
        """Return whether a row begins with "#", so that a line with other cells may be a row as well."""
        return any(
            record.startswith(_COMMENT) and (self._quote in record or not self._has_wrong_width(record))
            for record in block.records
        )

    def _is_comment(self, block: TextBlock, i: int) -> bool:
        """Return whether a record that is not a row is a comment."""
        record = block.records[i]
        if self._has_tags or not record.startswith(_COMMENT) or not self._has_wrong_width(record):
            return False
        return self._delimiter not in record or bool(_PLAIN_COMMENT.match(record))

    def _check_record(self, block: TextBlock, i: int) -> None:
        """Raise unless the cells of a record are as many as the names, apart from empty ones at the end."""
        try:
            cells = next(make_csv_reader(block.records[i].decode(errors="replace"), self._dialect), [])
        except csv.Error as error:
            raise DataError(f"{block.path}, line {block.line_of(i)}: {error}. Correct the line.") from None
        n_columns = len(self._header.columns)
        extra = cells[n_columns:]
        if len(cells) < self._header.n_named or any(cell.strip() for cell in extra):
            advice = "Correct the line."
            if len(cells) > n_columns and not block.start.row and not i:
                advice = "Correct the line. If the lines above it are not part of the table, delete them."
            if block.records[i].startswith(_COMMENT):
                advice = "Correct the line, or delete it if it is a comment: other rows may begin with '#'."
            raise DataError(
                f"{block.path}, line {block.line_of(i)}: found {len(cells)} cells, but the header has {n_columns}. "
                f"{advice}"
            )
        if extra and not self.n_extra:
            self.remarks["extra"] = (
                f"line {block.line_of(i)}, and possibly others, ends with more delimiters than the header; they are "
                "ignored."
            )
        self.n_extra = max(self.n_extra, len(extra))


def _without(block: TextBlock, excluded: list[int]) -> TextBlock:
    """Return a block without some of its records."""
    if not excluded:
        return block
    kept = sorted(set(range(len(block.records))) - set(excluded))
    return TextBlock([block.records[i] for i in kept], block.path, block.start, [block.n_cells[i] for i in kept])


def are_complete(lines: list[bytes], header: Header, dialect: Dialect) -> bool:
    """Return whether each line is a record with at least the named cells, and no line is blank."""
    delimiter, quote = str(dialect.delimiter), str(dialect.quote)
    low, high = header.n_named - 1, len(header.columns) - 1
    separator, mark = delimiter.encode(), quote.encode()
    quoted = [line for line in lines if mark in line]
    plain = lines if not quoted else [line for line in lines if mark not in line]
    if not all(low <= line.count(separator) <= high for line in plain):
        return False
    if not quoted:
        return True
    text = b"\n".join(quoted).decode(errors="replace")
    try:
        with long_cells:
            counts = [len(cells) for cells in make_csv_reader(text, dialect)]
    except csv.Error:
        return False
    return len(counts) == len(quoted) and all(low < count <= high + 1 for count in counts)


def make_csv_reader(text: str, dialect: Dialect) -> Iterator[list[str]]:
    """Return a reader of the records of a text."""
    return csv.reader(
        io.StringIO(text, newline=""), delimiter=str(dialect.delimiter), quotechar=str(dialect.quote), strict=True
    )


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
