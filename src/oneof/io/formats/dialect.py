r"""Dialects of text tables: encoding, delimiter, decimal separator, quotation mark, and lines above the header.

They are detected from the first bytes of a file, unless a user gives them.
"""

import codecs
import contextlib
import csv
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oneof.errors import InputError
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS
from oneof.io.formats.source import HEAD_BYTES

COMMENT = "#"
"""First character of a comment above the header."""
_DELIMITERS = (",", ";", "\t", "|")
_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}
_BY_NAME = {name: delimiter for delimiter, name in _DELIMITER_NAMES.items()} | {"\\t": "\t", "pipe": "|"}
_QUOTES = ('"', "'")
_QUOTES_BY_NAME = {"double": '"', "single": "'", "none": ""}
_UTF8 = "utf-8"
_WESTERN = ("cp1252", "latin-1")
"""Encodings of text that is not UTF-8; every byte is a character of the second."""
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, _UTF8), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_MIN_NUL_SHARE = 0.3
"""Share of zeros among the even or odd bytes from which a file without a byte order mark is UTF-16."""
_SAMPLE_RECORDS = 200
"""Number of records from which the properties of a table are detected."""
_MIN_SAME_SHARE = 0.8
"""Share of the rows that must have as many cells as a header below other lines, or a number in a column."""
_MAX_TITLE_CELLS = 2
"""Number of cells of a title with another delimiter than that of the table."""

_NO_NAMES = frozenset((*MISSING, *MISSING_NUMBERS))
_NUMBER = re.compile(r"[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?")
_NUMBER_WITH_UNIT = re.compile(r"[^\w.,+-]*([+-]?[\d.,]*\d(?:[eE][+-]?\d+)?)\s?[^\d.,]{0,6}")
_DECIMAL_COMMA = re.compile(
    r"[+-]?(0?|\d{4,}|\d{1,3}(\.\d{3})+),\d+([eE].*)?|[+-]?\d+,(\d{1,2}|\d{4,})([eE].*)?|[+-]?\d{1,3}(\.\d{3}){2,}"
)
"""Numbers with a decimal comma, or with several groups after points."""
_SWAPPED = str.maketrans(",.", ".,")

Record = list[str]


@dataclass(frozen=True)
class Dialect:
    r"""Form of a text table. None is a property that is detected.

    Attributes
    ----------
    encoding : str or None
        A name that `codecs.lookup` accepts.
    delimiter : str or None
        The character between two cells.
    decimal : {".", ","} or None
        The decimal separator of numbers.
    quote : {'"', "'", ""} or None
        The quotation mark around cells; "" if no cell is quoted, so that a mark is an ordinary character.

    Raises
    ------
    InputError
        If the encoding is unknown, the delimiter is not one character, or the decimal separator or quotation mark is
        another character.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    quote: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError, TypeError):
                raise InputError(
                    f"`encoding` must be a known encoding such as latin-1; got {self.encoding!r}."
                ) from None
        delimiter = self.delimiter
        if delimiter is not None and not (
            isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii() and delimiter not in "\"'\n\r\0"
        ):
            raise InputError(f"`delimiter` must be one character, comma, semicolon, tab or pipe; got {delimiter!r}.")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"`decimal` must be '.' or ','; got {self.decimal!r}.")
        if self.quote not in (None, "", *_QUOTES):
            raise InputError(f"`quote` must be double, single or none; got {self.quote!r}.")

    def differences(self, other: "Dialect") -> "list[str]":
        """Return a description of each property that differs from another dialect."""
        words = {
            "encoding": f"the encoding {self.encoding}",
            "delimiter": f"the delimiter {_DELIMITER_NAMES.get(str(self.delimiter), repr(self.delimiter))}",
            "decimal": "the decimal comma" if self.decimal == "," else "the decimal point",
            "quote": f"the quotation mark {self.quote}" if self.quote else "no quotation marks",
        }
        return [word for name, word in words.items() if getattr(self, name) != getattr(other, name)]


COMMON = Dialect(_UTF8, ",", ".", '"')


def make_dialect(
    encoding: str | None = None, delimiter: str | None = None, decimal: str | None = None, quote: str | None = None
) -> Dialect:
    """Return the dialect given by a user.

    A delimiter may be named: comma, semicolon, tab, pipe or space. So may a quotation mark: double, single or none.

    Raises
    ------
    InputError
        If a property is invalid, see `Dialect`.
    """
    delimiter = None if delimiter is None else _BY_NAME.get(delimiter.lower(), delimiter)
    return Dialect(encoding, delimiter, decimal, None if quote is None else _QUOTES_BY_NAME.get(quote.lower(), quote))


class Layout(NamedTuple):
    """Dialect of a file, number of lines above its header, and whether its lines end with a carriage return alone."""

    dialect: Dialect
    n_above: int = 0
    has_returns: bool = False


def detect_dialect(head: bytes, given: Dialect, *, tab: bool = False, default_decimal: str = ".") -> Layout:
    """Return the layout of a file.

    Parameters
    ----------
    head : bytes
        The first bytes of the file.
    given : Dialect
        The properties that are known.
    tab : bool
        Whether the suffix of the file is that of cells separated by tabs.
    default_decimal : {".", ","}
        The decimal separator if no number shows it, such as that of the rows of training.
    """
    encoding = given.encoding or detect_encoding(head)
    try:  # bytes that are not in the encoding are refused when they are read
        text = codecs.getincrementaldecoder(encoding)("replace").decode(head).removeprefix("\ufeff")
    except UnicodeError:  # UTF-16 without a byte order mark
        text = head.decode("latin-1")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(head) >= HEAD_BYTES and len(lines) > 1:
        lines = lines[:-1]
    quote = _QUOTES[0] if given.quote is None else given.quote
    delimiters = ("\t",) * tab + _DELIMITERS if given.delimiter is None else (given.delimiter,)
    found = _detect_header(lines, delimiters, quote)
    if given.quote is None and _QUOTES[0] not in text:
        header, single = lines[found.n_above].rstrip(), _QUOTES[1]
        if header.startswith(single) and header.endswith(single) and single + found.delimiter + single in header:
            quote = single
            found = _detect_header(lines, delimiters, quote)
    rows = _read(lines[found.n_above :], found.delimiter, quote)[1][1:]
    decimal = given.decimal or _detect_decimal(rows, found.delimiter, default_decimal)
    return Layout(Dialect(encoding, found.delimiter, decimal, quote), found.n_above, "\r" in text and "\n" not in text)


class _Header(NamedTuple):
    """Header of the records with one delimiter. The best one has the largest share, is first, and has most columns."""

    share: float
    """Share of the records that have the cells of the header."""
    n_above: int
    """Number of lines above the header."""
    width: int
    """Number of columns up to the last one with a name."""
    delimiter: str


def _detect_header(lines: list[str], delimiters: Sequence[str], quote: str) -> _Header:
    """Return the header of the most plausible delimiter; a first tab is that of the suffix, if there are any."""
    headers = [_header(lines, delimiter, quote) for delimiter in delimiters]
    wide = [header for header in headers if header.width > 1] or headers[:1]
    is_tab = len(delimiters) > len(_DELIMITERS) and wide[0] is headers[0]
    return wide[0] if is_tab else max(wide, key=lambda header: (header.share, -header.n_above, header.width))


def _header(lines: list[str], delimiter: str, quote: str) -> _Header:
    """Return the header of the records with a delimiter.

    A line is above the header if at most half of the cells of most rows are filled in it, such as a title, a blank line
    or the names of merged cells, or if it begins with "#" and has another number of cells than most rows. The header
    below such lines must have different names for all columns of the rows, and numbers, a comment or a blank line must
    show that it is not a row. Otherwise the first line is the header: a mistake would change the names of all columns.
    """
    begins, records = _read(lines, delimiter, quote)
    widths = [len(record) for record in records if _width(record)]
    common = max(set(widths), key=lambda width: (widths.count(width), width), default=1)

    def is_above(begin: int, record: Record) -> bool:
        if lines[begin].lstrip().startswith(COMMENT) and len(record) != common:
            return True
        cells = [lines[begin].split(other) for other in _DELIMITERS if other != delimiter]
        return max(map(_n_filled, cells)) <= _MAX_TITLE_CELLS and 2 * _n_filled(record) <= common

    first = next((i for i, record in enumerate(records) if not is_above(begins[i], record)), 0)
    if first:
        has_sign = any(line.strip()[:1] in ("", COMMENT) for line in lines[: begins[first]])
        first *= _is_header(records[first], records[first + 1 :], needs_numbers=not has_sign)
    header = records[first] if records else []
    filled = [record for record in records[first:] if _width(record)]
    n_same = sum(len(record) >= _width(header) and _width(record) <= len(header) for record in filled)
    return _Header(n_same / max(len(filled), 1), begins[first], _width(header), delimiter)


def _is_header(header: Record, below: list[Record], *, needs_numbers: bool) -> bool:
    """Return whether a record has different names, as many as most records below, and numbers below one of them."""
    names = [cell.strip() for cell in header][: _width(header)]
    rows = [record for record in below if _width(record)]
    n_same = sum(len(record) == len(header) and _width(record) <= len(names) for record in rows)
    is_name = [bool(name) and not _NUMBER.fullmatch(name) and name.lower() not in _NO_NAMES for name in names]
    if n_same < max(_MIN_SAME_SHARE * len(rows), 1) or not all(is_name) or len(set(names)) < len(names):
        return False

    def are_numbers(column: Sequence[str]) -> bool:
        cells = [cell for cell in map(str.strip, column) if cell]
        n_numbers = sum(map(bool, map(_NUMBER.fullmatch, cells)))
        return bool(cells) and n_numbers >= _MIN_SAME_SHARE * len(cells)

    return not needs_numbers or any(map(are_numbers, itertools.zip_longest(*rows, fillvalue="")))


def _read(lines: list[str], delimiter: str, quote: str) -> tuple[list[int], list[Record]]:
    """Return the first records, and the line at which each of them begins, counted from 0."""
    reader = csv.reader(lines, delimiter=delimiter, quotechar=quote or "\0")  # no cell begins with the latter
    begins, records = [0], []
    with contextlib.suppress(csv.Error):  # a cell longer than the limit
        for record in itertools.islice(reader, _SAMPLE_RECORDS):
            records.append(record)
            begins.append(reader.line_num)
    return begins, records


def _n_filled(record: Record) -> int:
    return sum(bool(cell.strip()) for cell in record)


def _width(record: Record) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return max((number for number, cell in enumerate(record, 1) if cell.strip()), default=0)


def detect_encoding(head: bytes) -> str:
    """Return the encoding of the first bytes of a file.

    The encoding is that of the byte order mark, if there is one. Otherwise text with many zero bytes is UTF-16, valid
    UTF-8 is UTF-8, and other text is Windows-1252, or Latin-1 if a byte is not defined there. Text with valid
    multi-byte characters of UTF-8 before an invalid one is damaged UTF-8: the reader names its line.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name
    if head.isascii() and b"\0" not in head:
        return _UTF8
    for name, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if zeros.count(0) > _MIN_NUL_SHARE * max(len(zeros), 1) and not others.count(0):
            return name
    try:
        codecs.getincrementaldecoder(_UTF8)().decode(head)
    except UnicodeDecodeError as error:
        return _UTF8 if not head[: error.start].isascii() else western_encoding(head)
    return _UTF8


def western_encoding(content: bytes) -> str:
    """Return Windows-1252, or Latin-1 if a byte is not defined in it."""
    try:
        content.decode(_WESTERN[0])
    except UnicodeDecodeError:
        return _WESTERN[1]
    return _WESTERN[0]


def _detect_decimal(rows: list[Record], delimiter: str, default: str) -> str:
    """Return a comma if more columns of numbers have a decimal comma than a decimal point.

    A comma or point before a single group of three digits, as in "1.100" or "1,100 €", shows nothing by itself. Cells
    delimited by commas have decimal points, unless `default` is a comma and quoted cells have commas.
    """
    if delimiter == "," and default == ".":
        return default
    commas = points = unclear = 0
    for column in itertools.zip_longest(*rows, fillvalue=""):
        cells = [cell.strip() for cell in column if any(map(str.isdigit, cell))]
        numbers = [match[1] for match in map(_NUMBER_WITH_UNIT.fullmatch, cells) if match]
        if len(numbers) <= len(cells) / 2:
            continue
        n_commas = sum(map(bool, map(_DECIMAL_COMMA.fullmatch, numbers)))
        n_points = sum(bool(_DECIMAL_COMMA.fullmatch(number.translate(_SWAPPED))) for number in numbers)
        commas += n_commas > n_points
        points += n_points > n_commas
        unclear += not n_commas and not n_points and any("," in number for number in numbers)
    if commas or points:
        return "," if commas > points else "."
    if unclear:
        return ","
    return "." if delimiter == "," else default
