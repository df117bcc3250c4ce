r"""Dialects of text tables: encoding, delimiter, decimal separator and quotation mark, detected from the first bytes.

A reader decodes a file to UTF-8 with line ends ``\n`` (`Utf8File`), so that all further code reads one encoding.
"""

import codecs
import contextlib
import csv
import io
import itertools
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from oneof.errors import DataError, InputError
from oneof.io.formats.csv.header_lines import SAMPLE_RECORDS, count_lines_above
from oneof.io.formats.source import HEAD_BYTES

_SCANNED_BYTES = 2**20
"""Number of bytes that are read at once to detect the encoding of a whole file."""

DELIMITERS = (",", ";", "\t", "|")
_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}
_BY_NAME = {name: delimiter for delimiter, name in _DELIMITER_NAMES.items()} | {"\\t": "\t", "pipe": "|"}
_QUOTES = ('"', "'")
_UTF8 = "utf-8"
_WESTERN = ("cp1252", "latin-1")
"""Encodings of text that is not UTF-8; every byte is a character of the second."""
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, _UTF8), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_MIN_NUL_SHARE = 0.3
"""Share of zeros among the even or odd bytes from which a file without a byte order mark is UTF-16."""

_NUMBER_WITH_UNIT = re.compile(r"[^\w.,+-]*([+-]?[\d.,]*\d(?:[eE][+-]?\d+)?)\s?[^\d.,]{0,6}")
_DECIMAL_COMMA = re.compile(
    r"[+-]?(0?|\d{4,}|\d{1,3}(\.\d{3})+),\d+([eE].*)?|[+-]?\d+,(\d{1,2}|\d{4,})([eE].*)?|[+-]?\d{1,3}(\.\d{3}){2,}"
)
"""Numbers with a decimal comma, or with several groups after points."""
_DECIMAL_POINT = re.compile(
    r"[+-]?(0?|\d{4,}|\d{1,3}(,\d{3})+)\.\d+([eE].*)?|[+-]?\d+\.(\d{1,2}|\d{4,})([eE].*)?|[+-]?\d{1,3}(,\d{3}){2,}"
)


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
    quote : {'"', "'"} or None
        The quotation mark around cells.

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
        if self.quote not in (None, *_QUOTES):
            raise InputError(f"`quote` must be a quotation mark; got {self.quote!r}.")

    def differences(self, other: "Dialect") -> "list[str]":
        """Return a description of each property that differs from another dialect."""
        words = {
            "encoding": f"the encoding {self.encoding}",
            "delimiter": f"the delimiter {_DELIMITER_NAMES.get(str(self.delimiter), repr(self.delimiter))}",
            "decimal": "the decimal comma" if self.decimal == "," else "the decimal point",
            "quote": f"the quotation mark {self.quote}",
        }
        return [word for name, word in words.items() if getattr(self, name) != getattr(other, name)]


COMMON = Dialect(_UTF8, ",", ".", '"')


def make_dialect(encoding: str | None = None, delimiter: str | None = None, decimal: str | None = None) -> Dialect:
    """Return the dialect given by a user; a delimiter may be named: comma, semicolon, tab, pipe or space.

    Raises
    ------
    InputError
        If a property is invalid, see `Dialect`.
    """
    return Dialect(encoding, None if delimiter is None else _BY_NAME.get(delimiter.lower(), delimiter), decimal)


def detect_dialect(
    head: bytes, given: Dialect, *, tab: bool = False, default_decimal: str = "."
) -> tuple[Dialect, int]:
    """Return the dialect of a file, and the number of lines above its header.

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
    text = _decode_head(head, encoding).removeprefix("\ufeff")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(head) >= HEAD_BYTES and len(lines) > 1:
        lines = lines[:-1]
    delimiters = DELIMITERS if given.delimiter is None else (given.delimiter,)
    n_above = count_lines_above(lines, delimiters, given.quote or _QUOTES[0])
    lines = lines[n_above:]
    sample = "\n".join(lines)
    quote = given.quote or _detect_quote(lines[0], sample, given.delimiter)
    delimiter = given.delimiter or _detect_delimiter(lines[0], sample, quote, tab=tab)
    decimal = given.decimal or _detect_decimal(sample, delimiter, quote, default_decimal)
    return Dialect(encoding, delimiter, decimal, quote), n_above


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


def detect_file_encoding(file: BinaryIO) -> str:
    """Return the encoding of a file from all of its bytes; see `detect_encoding`."""
    encoding = ""
    is_ascii, decoder = True, codecs.getincrementaldecoder(_UTF8)()
    while chunk := file.read(_SCANNED_BYTES):
        encoding = encoding or detect_encoding(chunk)
        if encoding != _UTF8:
            return encoding
        if is_ascii and chunk.isascii():
            continue
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            # Otherwise the text is damaged, and the reader names the line.
            return western_encoding(chunk) if is_ascii and chunk[: error.start].isascii() else _UTF8
        is_ascii = False
    return encoding or _UTF8


class Utf8File(io.RawIOBase):
    r"""Bytes of a text file in UTF-8 with line ends ``\n``, decoded from another encoding.

    Parameters
    ----------
    file : binary file
        At the position after `prefix`.
    encoding : str
    path : Path
        For messages.
    prefix : bytes
        The bytes that were read before.
    carriage_returns : bool
        Whether lines end with ``\r`` only.
    """

    def __init__(
        self, file: Any, encoding: str, path: Path, prefix: bytes = b"", *, carriage_returns: bool = False
    ) -> None:
        self._file = file
        self._encoding = encoding
        self._path = path
        self._prefix = prefix
        self._carriage_returns = carriage_returns
        is_utf8 = codecs.lookup(encoding).name == _UTF8
        self._decoder = None if is_utf8 else codecs.getincrementaldecoder(encoding)()
        self._pending = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read decoded bytes into a buffer and return their number; 0 at the end of the file."""
        while not self._pending:
            content = self._prefix or self._file.read(HEAD_BYTES)
            self._prefix = b""
            self._pending = self._recode(content)
            if not content:
                break
        n = min(len(buffer), len(self._pending))
        buffer[:n] = self._pending[:n]
        self._pending = self._pending[n:]
        return n

    def _recode(self, content: bytes) -> bytes:
        if self._decoder is not None:
            try:
                content = self._decoder.decode(content, final=not content).encode()
            except UnicodeError:
                raise DataError(
                    f"{self._path} is not text in {self._encoding}. Name its encoding by --encoding."
                ) from None
        return content.replace(b"\r", b"\n") if self._carriage_returns else content


def has_carriage_returns_only(head: bytes, encoding: str) -> bool:
    r"""Return whether the lines of a file end with ``\r`` alone."""
    text = _decode_head(head, encoding)
    return "\r" in text and "\n" not in text


def _decode_head(head: bytes, encoding: str) -> str:
    """Return the first characters; bytes that are not in the encoding are read anyway, and refused by `Utf8File`."""
    try:
        return codecs.getincrementaldecoder(encoding)("replace").decode(head)
    except UnicodeError:  # UTF-16 without a byte order mark
        return head.decode("latin-1")


def _records(sample: str, delimiter: str, quote: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote)
    records: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # a cell longer than the limit, or a quotation mark that is not closed
        records.extend(itertools.islice(reader, SAMPLE_RECORDS))
    return [record for record in records if any(cell.strip() for cell in record)]


def _detect_quote(header: str, sample: str, delimiter: str | None) -> str:
    quote = _QUOTES[1]
    delimiters = DELIMITERS if delimiter is None else (delimiter,)
    is_single = header.startswith(quote) and header.rstrip().endswith(quote) and _QUOTES[0] not in sample
    return quote if is_single and any(f"{quote}{other}{quote}" in header for other in delimiters) else _QUOTES[0]


def _detect_delimiter(header: str, sample: str, quote: str, *, tab: bool) -> str:
    """Return the delimiter that splits the most records into as many cells as the header."""
    if tab and "\t" in header:
        return "\t"
    best, best_score = "\t" if tab else ",", (0.0, 0)
    for delimiter in DELIMITERS:
        if delimiter not in header:
            continue
        records = _records(sample, delimiter, quote)
        if not records or len(records[0]) < 2:
            continue
        width = len(records[0])
        score = (sum(len(record) == width for record in records) / len(records), width)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _detect_decimal(sample: str, delimiter: str, quote: str, default: str) -> str:
    """Return a comma if more columns of numbers have a decimal comma than a decimal point.

    A comma or point before a single group of three digits, as in "1.100" or "1,100 €", shows nothing by itself. Cells
    delimited by commas have decimal points, unless `default` is a comma and quoted cells have commas.
    """
    if delimiter == "," and default == ".":
        return default
    records = _records(sample, delimiter, quote)[1:]
    commas = points = unclear = 0
    for column in itertools.zip_longest(*records, fillvalue=""):
        cells = [cell.strip() for cell in column if any(map(str.isdigit, cell))]
        numbers = [match[1] for match in map(_NUMBER_WITH_UNIT.fullmatch, cells) if match]
        if len(numbers) <= len(cells) / 2:
            continue
        n_commas = sum(map(bool, map(_DECIMAL_COMMA.fullmatch, numbers)))
        n_points = sum(map(bool, map(_DECIMAL_POINT.fullmatch, numbers)))
        commas += n_commas > n_points
        points += n_points > n_commas
        unclear += not n_commas and not n_points and any("," in number for number in numbers)
    if commas or points:
        return "," if commas > points else "."
    if unclear:
        return ","
    return "." if delimiter == "," else default


def with_defaults(given: Dialect) -> Dialect:
    """Return a dialect whose unknown properties are the common ones."""
    known = {
        field.name: getattr(given, field.name) for field in fields(given) if getattr(given, field.name) is not None
    }
    return replace(COMMON, **known)
