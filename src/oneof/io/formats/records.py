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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from oneof.archives import GZIP
from oneof.errors import DataError
from oneof.io.formats.dialect import Dialect, Layout
from oneof.io.formats.source import (
    CHUNK_BYTES,
    HEAD_BYTES,
    STANDARD_INPUT,
    display_path,
    file_errors_as_data_errors,
    open_standard_input,
)

PART_BYTES = 2**23
"""Number of bytes of a block without a number of records; the first one, which shows the types, has an eighth."""
_MAX_RECORD_BYTES = 2**28
"""Maximum size of a line or quoted cell; a few KiB of gzip may decompress to more."""
_MAX_SHOWN = 200
"""Maximum number of bytes of the text of an error."""


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
    """Quotation mark that is not closed, or is followed by text: its line, its cell in the record, and the text."""

    def __init__(self, line: int, cell: int, text: bytes) -> None:
        self.line = line
        self.cell = cell
        self.text = text


@dataclass(frozen=True)
class Block:
    """Consecutive complete records of a file.

    Attributes
    ----------
    content : bytes
        The records with their line ends.
    ends : array of int
        The position after each record in `content`.
    n_lines : int
        The number of line ends in `content`.
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
    n_lines: int
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
        delimiters = _positions(self.content, self.delimiter)
        if not self.quote:
            return len(delimiters)
        return int((np.searchsorted(_positions(self.content, self.quote), delimiters) % 2 == 0).sum())


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


class RecordReader:
    """Reader of the records of one text file, from the beginning or from an offset of an earlier block.

    Parameters
    ----------
    path : Path
    detect : callable, optional
        Returns the layout, given the first bytes of the file. Without it a record is a line, and there is no header.
        With it the records are in UTF-8, and quoted cells may contain line ends.
    display : Path, optional
        Name of the file for messages, if it is a copy.
    part_bytes : int
        Number of bytes of a block without a number of records.

    Attributes
    ----------
    path : Path
        For messages.
    above : bytes
        The lines above the header, if `detect` is given; set by `blocks`.
    header : Block or None
        The record of the header, if `detect` is given and the file is not empty; set by `blocks`.
    layout : Layout
        Set by `blocks`.
    has_mark : bool
        Whether the file begins with the byte order mark of UTF-8; set by `blocks`.

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
        display: Path | None = None,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self.path = display or display_path(path)
        self.above = b""
        self.header: Block | None = None
        self.has_mark = False
        self.layout = Layout(Dialect(encoding="utf-8", quote=""))
        self._file = path
        self._detect = detect
        self._part_bytes = part_bytes

    def blocks(self, n_records: int | None, start: RecordOffset) -> Iterator[tuple[Block, RecordOffset]]:
        """Yield blocks of `n_records` records, each with the offset after it; the last block may be shorter.

        Without a number of records, a block has about `part_bytes` bytes. The row of the offset counts every record as
        a row: the caller corrects it for blank lines.

        Raises
        ------
        QuoteError
            If a quoted cell is malformed.
        """
        with file_errors_as_data_errors(self.path), _open(self._file) as content:
            head = content.read(HEAD_BYTES if self._detect is not None else len(codecs.BOM_UTF8))
            if head.startswith(GZIP):
                raise DataError(f"{self.path} is compressed by gzip. Decompress it, or give it the suffix .gz.")
            self.layout = self.layout if self._detect is None else self._detect(head)
            if self._detect is not None and b"\0" in head and "16" not in str(self.layout.dialect.encoding):
                raise DataError(f"{self.path} is not text: it has zero bytes. Give its format by --format.")
            text = _Text(content, head, self.layout, self.path, is_piped=self._file == STANDARD_INPUT)
            self.has_mark = text.ahead.startswith(codecs.BOM_UTF8)
            text.take(len(codecs.BOM_UTF8) * self.has_mark, 0)
            quote = self.layout.dialect.quote or ""
            if self.layout.n_above:
                self.above = self._next_block(text, self.layout.n_above, 0, "").content
            if self._detect is not None:
                header = self._next_block(text, 1, 0, quote)
                self.header = header if len(header) else None
            if start.offset:
                text.skip(start)
            row = start.row
            while len(block := self._next_block(text, n_records, row, quote)):
                row += len(block)
                yield block, text.offset(row)

    def _next_block(self, text: "_Text", n_records: int | None, row: int, quote: str) -> Block:
        """Return the next records of a text and move behind them; none at its end."""
        delimiter, mark = (self.layout.dialect.delimiter or "").encode(), quote.encode()
        start = text.offset(row)
        part_bytes = self._part_bytes if row else self._part_bytes // 8
        n_bytes = part_bytes if n_records is None else 0
        while True:
            text.fill(n_bytes, n_records or 0)
            content = text.ahead + b"\n" if text.is_at_end and text.ahead[-1:] not in (b"", b"\n") else text.ahead
            breaks = _positions(content, b"\n")
            is_plain, ends = _split(content, breaks, delimiter, mark)
            is_open = text.is_at_end and len(ends) < (n_records or len(breaks)) and content[int(ends[-1:].sum()) :]
            if not is_plain or is_open:
                records = read_records(content, delimiter, mark, start.line, is_complete=text.is_at_end)
                ends = np.array([record.end for record in itertools.islice(records, n_records)], dtype=np.intp)
            n = n_records or max(int(np.searchsorted(ends, part_bytes, side="right")), 1)
            if len(ends) >= n or text.is_at_end:
                ends = ends[:n]
                size = int(ends[-1:].sum())
                n_lines = int(np.searchsorted(breaks, size))
                text.take(size, n_lines)
                return Block(content[:size], ends, n_lines, is_plain, self.path, start, delimiter, mark)
            if len(content) - int(ends[-1:].sum()) > _MAX_RECORD_BYTES:
                raise DataError(
                    f"{self.path}, line {start.line + int(np.searchsorted(breaks, ends[-1:].sum()))}: the line is "
                    f"longer than {_MAX_RECORD_BYTES:,} bytes. Check the format and the quotation marks of the file."
                )
            n_bytes = 2 * len(text.ahead)


class _Text:
    r"""Content of a file in UTF-8 with line ends ``\n``, decoded from another encoding, and a position in it.

    Attributes
    ----------
    ahead : bytes
        The bytes that were read after the position.
    is_at_end : bool
        Whether there are no further ones.
    """

    def __init__(self, content: Any, head: bytes, layout: Layout, path: Path, *, is_piped: bool) -> None:
        self._content = content
        self._encoding = str(layout.dialect.encoding)
        self._path = path
        self._has_returns = layout.has_returns
        is_utf8 = codecs.lookup(self._encoding).name == "utf-8"
        self._decoder = None if is_utf8 else codecs.getincrementaldecoder(self._encoding)()
        is_file = isinstance(content, io.BufferedReader) and content.seekable() and not is_piped
        self._can_seek = is_file and is_utf8 and not layout.has_returns
        self._hash = hashlib.blake2b(digest_size=16) if is_piped else None  # the bytes cannot be read again
        self._size, self._line = 0, 1
        self.is_at_end = False
        self.ahead = self._decoded(head) if head else b""

    def offset(self, row: int) -> RecordOffset:
        """Return the position, given the number of earlier rows."""
        return RecordOffset(row, self._line, self._size, self._hash.hexdigest() if self._hash else "")

    def fill(self, n_bytes: int, n_lines: int) -> None:
        """Read until there are some number of bytes and of lines ahead, or a long line, or the file ends."""
        parts, size, tail = [self.ahead], len(self.ahead), len(self.ahead) - self.ahead.rfind(b"\n") - 1
        lines = self.ahead.count(b"\n") if n_lines else 0
        while (size < n_bytes or lines < n_lines) and tail <= _MAX_RECORD_BYTES and not self.is_at_end:
            content = self._content.read1(max(n_bytes - size, CHUNK_BYTES))
            self.is_at_end = not content
            part = self._decoded(content)
            parts.append(part)
            size += len(part)
            tail = len(part) - part.rfind(b"\n") - 1 + (tail if b"\n" not in part else 0)
            lines += part.count(b"\n") if n_lines else 0
        self.ahead = b"".join(parts)

    def take(self, size: int, n_lines: int) -> None:
        """Move the position by a number of bytes that are ahead, with some number of line ends."""
        taken, self.ahead = self.ahead[:size], self.ahead[size:]
        self._size += len(taken)
        self._line += n_lines
        if self._hash is not None:
            self._hash.update(taken)

    def skip(self, start: RecordOffset) -> None:
        """Move to the offset of an earlier block."""
        if self._can_seek:
            self._content.seek(start.offset)
            self._size, self.ahead, self.is_at_end = start.offset, b"", False
        while self._size < start.offset and (self.ahead or not self.is_at_end):
            self.take(start.offset - self._size, 0)
            self.fill(1, 0)
        if self.offset(start.row)[2:] != start[2:]:
            raise DataError(
                f"{self._path} does not begin with the {start.offset:,} bytes that were read before. Give the same "
                "stream from its beginning, or start again with --restart."
            )
        self._line = start.line

    def _decoded(self, content: bytes) -> bytes:
        if self._decoder is not None:
            try:
                content = self._decoder.decode(content, final=not content).encode()
            except UnicodeError:
                raise DataError(
                    f"{self._path} is not text in {self._encoding}. Name its encoding by --encoding."
                ) from None
        return content.replace(b"\r", b"\n") if self._has_returns else content


def _positions(text: bytes, character: bytes) -> Any:
    return np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord(character))


def _split(text: bytes, breaks: Any, delimiter: bytes, quote: bytes) -> tuple[bool, Any]:
    """Return whether each mark that opens or closes a cell is at a border, and the position after each record."""
    if not quote or quote not in text:
        return True, breaks + 1
    cells, quotes = np.frombuffer(text, dtype=np.uint8), _positions(text, quote)
    before, after = quotes[::2] - 1, quotes[1::2] + 1
    if b"\r" in text:
        after += cells.take(after, mode="clip") == ord("\r")
    is_border = np.zeros(256, dtype=bool)
    is_border[[*delimiter, *quote, ord("\n")]] = True
    is_plain = all(is_border[cells.take(positions, mode="clip")].all() for positions in (before, after))
    return is_plain, breaks[np.searchsorted(quotes, breaks) % 2 == 0] + 1


def _open(path: Path) -> BinaryIO:
    if path == STANDARD_INPUT:
        content = open_standard_input()
        return gzip.GzipFile(fileobj=content) if content.peek(2)[:2] == GZIP else content  # type: ignore[return-value]
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a reader of bytes like any other
    return path.open("rb", buffering=CHUNK_BYTES)
