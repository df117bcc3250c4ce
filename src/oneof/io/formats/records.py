r"""Records of a text file, in blocks from any offset: lines, or lines joined while a quoted cell is open.

A line end is outside of quoted cells if the number of quotation marks before it is even. That is exact if each mark is
at a border of its cell, or doubled in a quoted cell: then polars finds the same cells. The records of other blocks,
such as those with ``5" pipe``, are found cell by cell in `read_records`.
"""

import codecs
import gzip
import hashlib
import io
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oneof.archives import GZIP, check_size
from oneof.errors import DataError
from oneof.io.formats.dialect import Dialect, Layout, western_encoding
from oneof.io.formats.source import (
    CHUNK_BYTES,
    HEAD_BYTES,
    STANDARD_INPUT,
    display_path,
    file_errors_as_data_errors,
    open_standard_input,
)

PART_BYTES = 2**24
"""Number of bytes of a block without a number of records; the first one, which shows the types, is shorter."""
_MAX_RECORD_BYTES = 2**28
"""Maximum size of a line or quoted cell; a few KiB of gzip may decompress to more."""
_MAX_SHOWN = 200
"""Maximum number of bytes of the text of an error."""
_SLICE_BYTES = 2**18
"""Number of bytes that are searched at once, which fit in the cache of a processor."""
_ZERO, _MINUS = np.uint8(ord("0")), np.uint8(ord("-"))


class RecordOffset(NamedTuple):
    """Position between two records of a file."""

    row: int = 0
    """Number of earlier rows."""
    line: int = 1
    """Number of the next line, counted from 1."""
    offset: int = 0
    """Number of earlier bytes, after decompression."""
    prefix_hash: str = ""
    """Hash of these bytes; empty for files, which can be read again."""


class Record(NamedTuple):
    """Cells of a record without quotation marks, with its first line and its borders in the text."""

    cells: list[bytes]
    line: int
    begin: int
    end: int


class QuoteError(Exception):
    """Quotation mark that is not closed, or is followed by text.

    Its arguments are the line, the cell in the record, and the text.
    """


@dataclass(frozen=True)
class Block:
    """Consecutive complete records of a file.

    Attributes
    ----------
    content : bytes
        The records with their line ends.
    ends : array of int
        The position after each record in `content`.
    is_plain : bool
        Whether each quotation mark is at a border of its cell, or doubled in a quoted cell.
    path : Path
        For messages.
    start : RecordOffset
        The position of the first record.
    delimiter, quote : bytes
        The characters between two cells, and around a cell; empty if there is none.
    """

    content: bytes
    ends: Any
    is_plain: bool
    path: Path
    start: RecordOffset
    delimiter: bytes
    quote: bytes

    def __len__(self) -> int:
        return len(self.ends)

    def records(self) -> Iterator[Record]:
        """Yield the records; see `read_records`."""
        return read_records(self.content, self.delimiter, self.quote, self.start.line)

    def n_delimiters(self) -> int:
        """Return the number of delimiters between cells of a plain block."""
        if not self.quote or self.quote not in self.content:
            return self.content.count(self.delimiter)
        return len(_outside(_places(self.content, self.delimiter), _places(self.content, self.quote)))

    def may_have_codes(self) -> bool:
        """Return whether a cell may be a code such as 007 or -01: a zero before a digit, after a border or a sign."""
        if self.content[:1] == b"0" and self.content[1:2].isdigit():
            return True
        text = np.frombuffer(self.content, dtype=np.uint8)
        for start in range(0, len(text), _SLICE_BYTES):
            part = text[start : start + _SLICE_BYTES + 2]
            before, is_code = part[:-2], part[1:-1] == _ZERO
            is_code &= part[2:] ^ _ZERO < 10
            is_code &= (before <= _MINUS) | (before == ord(self.delimiter))
            if is_code.any():  # lower characters are also marks, spaces and signs
                return True
        return False


def read_records(
    text: bytes, delimiter: bytes, quote: bytes, line: int, *, is_complete: bool = True
) -> Iterator[Record]:
    """Yield the records of a text cell by cell, to the end or to an open quoted cell if the text is not complete.

    A quotation mark within a cell that begins with another character is an ordinary character.

    Raises
    ------
    QuoteError
        If a mark that closes a cell is followed by text, or is missing although the text is complete.
    """
    q, d = re.escape(quote), re.escape(delimiter)
    quoted = b"%b([^%b]*+(?:%b%b[^%b]*+)*+)%b" % (q, q, q, q, q, q) if quote else b"(?!)()"
    border = rb"(%b|\n)" % d
    cell = re.compile(rb"(?:%b\r?|(%b[^%b\n]*+))%b" % (quoted, b"(?!%b)" % q if quote else b"", d, border))
    begin = position = 0
    cells: list[bytes] = []
    while position < len(text):
        match = cell.match(text, position)
        if match is None:
            closed = re.compile(quoted).match(text, position)
            if not is_complete and (closed is None or text[closed.end() :] in (b"", b"\r")):
                return
            found = line + text.count(b"\n", begin, position)
            raise QuoteError(found, len(cells), text[position : position + _MAX_SHOWN])
        inside, plain, end = match.groups()
        position = match.end()
        cells.append(inside.replace(2 * quote, quote) if plain is None else plain)
        if end == b"\n":
            if plain is not None:
                cells[-1] = plain.removesuffix(b"\r")
            yield Record(cells, line, begin, position)
            line += text.count(b"\n", begin, position)
            begin, cells = position, []


class EncodingError(DataError):
    """Error of text that is not in its encoding."""

    western: str | None = None
    """The encoding that it may have, if all text before is ASCII."""


class RecordReader:
    r"""Reader of the records of one text file, from the beginning or from an offset of an earlier block.

    The text is decoded to UTF-8 with line ends ``\n``.

    Parameters
    ----------
    path : Path
    detect : callable, optional
        Returns the layout, given the first bytes of the file. Without it a record is a line, and there is no header.
        With it quoted cells may contain line ends.
    content : bytes, optional
        Content of the file if it is in memory.
    is_table : bool
        Whether all records are kept in memory, so that compressed content must have a plausible size.
    part_bytes : int
        Number of bytes of a block without a number of records.

    Attributes
    ----------
    path : Path
        For messages.
    layout : Layout
        Set by `blocks`.
    above : bytes
        The lines above the header, if `detect` is given; set by `blocks`.

    Raises
    ------
    DataError
        If the file cannot be read, or standard input differs from the bytes read before the offset.
    """

    def __init__(
        self,
        path: Path,
        *,
        detect: Callable[[bytes], Layout] | None = None,
        content: bytes | None = None,
        is_table: bool = False,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self.path = display_path(path)
        self.layout = Layout(Dialect(encoding="utf-8", quote=""))
        self.above = b""
        self._source = path
        self._content = content
        self._detect = detect
        self._is_table = is_table
        self._part_bytes = part_bytes

    def blocks(self, n_records: int | None, start: RecordOffset) -> Iterator[tuple[Block, RecordOffset]]:
        """Yield blocks of `n_records` records, each with the offset after it; the last block may be shorter.

        Without a number of records, a block has about `part_bytes` bytes. If `detect` is given, the first block is the
        header, unless the file is empty. The row of the offset counts every record as a row: the caller corrects it for
        blank lines.

        Raises
        ------
        QuoteError
            If a quoted cell is malformed.
        """
        with file_errors_as_data_errors(self.path), _open(self._source, self._content) as self._file:
            self._begin()
            quote = (self.layout.dialect.quote or "").encode()
            if self._detect is not None:
                self.above = self._next_block(self.layout.n_above, 0, b"").content if self.layout.n_above else b""
                if len(header := self._next_block(1, 0, quote)):
                    yield header, self._offset(0)
            if start.offset:
                self._skip(start)
            row = start.row
            while len(block := self._next_block(n_records, row, quote)):
                row += len(block)
                yield block, self._offset(row)

    def _begin(self) -> None:
        """Detect the layout, and move behind a byte order mark."""
        head = self._file.read(HEAD_BYTES if self._detect is not None else len(codecs.BOM_UTF8))
        if head.startswith(GZIP):
            raise DataError(f"{self.path} is compressed by gzip. Decompress it, or give it the suffix .gz.")
        if self._detect is not None:
            self.layout = self._detect(head)
            if b"\0" in head and "16" not in str(self.layout.dialect.encoding):
                raise DataError(f"{self.path} is not text: it has zero bytes. Give its format by --format.")
        is_piped = self._source == STANDARD_INPUT and self._content is None
        self._hash = hashlib.blake2b(digest_size=16) if is_piped else None  # the bytes cannot be read again
        encoding = str(self.layout.dialect.encoding)
        self._is_utf8 = codecs.lookup(encoding).name == "utf-8"
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._is_ascii, self._is_at_end = True, False
        self._size, self._line = 0, 1
        self._ahead = self._decoded(head, []) if head else b""
        if self._ahead.startswith(codecs.BOM_UTF8):
            self._take(len(codecs.BOM_UTF8))

    def _next_block(self, n_records: int | None, row: int, quote: bytes) -> Block:
        """Return the next records and move behind them; none at the end of the file."""
        delimiter = (self.layout.dialect.delimiter or "").encode()
        start = self._offset(row)
        part_bytes = self._part_bytes if row else self._part_bytes // 64
        n_bytes = part_bytes if n_records is None else 0
        while True:
            self._fill(n_bytes, n_records or 0)
            text = self._ahead
            if self._is_at_end and text and not text.endswith(b"\n"):
                text += b"\n"
            is_plain, ends = _split(text, delimiter, quote)
            is_open = self._is_at_end and len(ends) < (n_records or len(text)) and ends[-1:].sum() < len(text)
            if not is_plain or is_open:
                records = read_records(text, delimiter, quote, start.line, is_complete=self._is_at_end)
                ends = np.array([record.end for record in itertools.islice(records, n_records)], dtype=np.intp)
            n = n_records or max(int(np.searchsorted(ends, 2 * part_bytes, side="right")), 1)
            size = int(ends[:n][-1:].sum())
            if len(ends) >= n or self._is_at_end:
                self._take(size)
                return Block(text[:size], ends[:n], is_plain, self.path, start, delimiter, quote)
            if len(text) - size > _MAX_RECORD_BYTES:
                line = start.line + text.count(b"\n", 0, size)
                raise DataError(
                    f"{self.path}, line {line}: the line is longer than {_MAX_RECORD_BYTES:,} bytes. Check the format "
                    "and the quotation marks of the file."
                )
            n_bytes = 2 * len(text) + 1

    def _offset(self, row: int) -> RecordOffset:
        """Return the position, given the number of earlier rows."""
        return RecordOffset(row, self._line, self._size, self._hash.hexdigest() if self._hash else "")

    def _fill(self, n_bytes: int, n_lines: int) -> None:
        """Read until there are some number of bytes and of lines ahead, or very many bytes, or the file ends."""
        parts, size = [self._ahead], len(self._ahead)
        lines = self._ahead.count(b"\n") if n_lines else 0
        while (size < n_bytes or (lines < n_lines and size <= _MAX_RECORD_BYTES)) and not self._is_at_end:
            content = self._file.read1(max(n_bytes - size, CHUNK_BYTES))
            self._is_at_end = not content
            parts.append(self._decoded(content, parts))
            if not n_lines and content:  # whole lines are not copied again
                parts.append(self._decoded(self._file.readline(CHUNK_BYTES), parts))
            size = sum(map(len, parts))
            lines += parts[-1].count(b"\n") if n_lines else 0
            if self._is_table and isinstance(self._file, gzip.GzipFile):
                compressed = self._source.stat().st_size if self._content is None else len(self._content)
                check_size(self._size + size, compressed, f"{self.path}: its content")
        self._ahead = b"".join(parts)

    def _take(self, size: int) -> None:
        """Move the position by a number of bytes that are ahead."""
        if self._hash is not None:
            self._hash.update(self._ahead[:size])
        self._size += min(size, len(self._ahead))
        self._line += self._ahead.count(b"\n", 0, size)
        self._ahead = self._ahead[size:]

    def _skip(self, start: RecordOffset) -> None:
        """Move to the offset of an earlier block, at once if the bytes of the file are the text."""
        is_plain_file = type(self._file) is io.BufferedReader and self._source != STANDARD_INPUT
        if is_plain_file and self._is_utf8 and not self.layout.has_returns and self._file.seekable():
            self._file.seek(start.offset)
            self._decoder.reset()
            self._size, self._line, self._ahead, self._is_at_end = start.offset, start.line, b"", False
        while self._size < start.offset and (self._ahead or not self._is_at_end):
            self._take(start.offset - self._size)
            self._fill(1, 0)
        if self._offset(start.row)[2:] != start[2:]:
            raise DataError(
                f"{self.path} does not begin with the {start.offset:,} bytes that were read before. Give the same "
                "stream from its beginning, or start again with --restart."
            )

    def _decoded(self, content: bytes, before: Sequence[bytes]) -> bytes:
        """Return bytes of the file as text in UTF-8; `before` is the text between them and the position."""
        try:
            is_plain = content.isascii() and self._is_utf8 and not self._decoder.getstate()[0]  # it is not copied
            text = content if is_plain else self._decoder.decode(content, final=not content).encode()
        except UnicodeError as error:
            valid = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
            line = self._line + sum(part.count(b"\n") for part in (*before, valid))
            encoding = "UTF-8" if self._is_utf8 else self.layout.dialect.encoding
            option = ", or name its encoding by --encoding, such as latin-1" * (self._detect is not None)
            wrong = EncodingError(f"{self.path} is not text in {encoding} (line {line}). Save it as UTF-8{option}.")
            wrong.western = western_encoding(content) if self._is_utf8 and self._is_ascii and valid.isascii() else None
            raise wrong from None
        self._is_ascii &= text.isascii()
        return text.replace(b"\r", b"\n") if self.layout.has_returns else text


def _open(path: Path, content: bytes | None) -> Any:
    """Return the bytes of a file without compression."""
    if content is not None or path == STANDARD_INPUT:
        file = open_standard_input() if content is None else io.BufferedReader(io.BytesIO(content))
        return gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == GZIP else file
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb", buffering=CHUNK_BYTES)


def _split(text: bytes, delimiter: bytes, quote: bytes) -> tuple[bool, Any]:
    """Return whether each mark of a quoted cell is at a border, and the places after the records."""
    marks, line_ends = _places(text, quote), _places(text, b"\n")
    padded = np.frombuffer(b"\n%b\n\n" % text, dtype=np.uint8)
    is_border = np.zeros(256, dtype=bool)
    is_border[[ord(character) for character in (b"\n", delimiter, quote) if character]] = True
    before, after, second = padded[marks[::2]], padded[marks[1::2] + 2], padded[marks[1::2] + 3]
    after = np.where(after == ord("\r"), second, after)
    is_plain = bool(is_border[before].all() and is_border[after].all())
    return is_plain, _outside(line_ends, marks) + 1


def _places(text: bytes, character: bytes) -> Any:
    """Return the places of a character, none without one."""
    codes = np.frombuffer(text, dtype=np.uint8)
    return np.flatnonzero(codes == ord(character)) if character and character in text else np.empty(0, dtype=np.intp)


def _outside(places: Any, marks: Any) -> Any:
    """Return the places that are outside of quoted cells, after an even number of marks."""
    return places[np.searchsorted(marks, places) % 2 == 0] if len(marks) else places
