r"""Records of a text file, in blocks from any offset: lines, or lines joined while a quoted cell is open.

A line end or a delimiter is outside of quoted cells if the number of quotation marks before it is even. That is exact
if each mark is at a border of its cell, or doubled in a quoted cell. Records with other marks, such as ``5" pipe``, are
rewritten with quotation marks first. A mark that is not closed, or is followed by text, is an error.
"""

import codecs
import gzip
import hashlib
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from oneof.archives import GZIP
from oneof.errors import DataError
from oneof.io.formats.dialect import Dialect, has_carriage_returns_only
from oneof.io.formats.source import CHUNK_BYTES, HEAD_BYTES, STANDARD_INPUT, display_path, open_standard_input

PART_BYTES = 2**23
"""Number of bytes of a block without a number of records."""
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


@dataclass(frozen=True)
class Block:
    """Consecutive complete records of a file.

    Attributes
    ----------
    content : bytes
        The records with their line ends. Cells with a quotation mark are in quotation marks.
    ends : array of int
        The position after each record in `content`.
    lines : array of int
        The number of line ends up to the end of each record.
    is_quoted : array of bool or None
        Whether each byte is in a quoted cell, if there are quoted cells.
    delimiter : bytes
        The character between two cells; empty if a record is a line.
    path : Path
        For messages.
    start : RecordOffset
        The position of the first record.
    """

    content: bytes
    ends: Any
    lines: Any
    is_quoted: Any
    delimiter: bytes
    path: Path
    start: RecordOffset = RecordOffset()  # noqa: RUF009 - frozen

    def __len__(self) -> int:
        return len(self.ends)

    def record(self, i: int) -> bytes:
        """Return a record."""
        return self.content[self.ends[i - 1] if i else 0 : self.ends[i]]

    def line_of(self, i: int) -> int:
        """Return the number of the line at which a record begins, counted from 1."""
        return self.start.line + int(self.lines[i - 1] if i else 0)

    @property
    def n_marks(self) -> int:
        """The number of delimiters between cells."""
        return int(np.count_nonzero(self._is_mark()))

    @cached_property
    def marks(self) -> Any:
        """The positions of the delimiters between cells."""
        return np.flatnonzero(self._is_mark())

    @cached_property
    def widths(self) -> Any:
        """The number of cells of each record."""
        return np.diff(np.searchsorted(self.marks, self.ends), prepend=0) + 1

    @cached_property
    def first_marks(self) -> Any:
        """The index of the first delimiter of each record."""
        return np.cumsum(self.widths - 1) - (self.widths - 1)

    def _is_mark(self) -> Any:
        is_delimiter = np.frombuffer(self.content, dtype=np.uint8) == ord(self.delimiter)
        return is_delimiter if self.is_quoted is None else is_delimiter & ~self.is_quoted

    def cells(self, i: int, quote: bytes) -> list[bytes]:
        """Return the cells of a record without quotation marks."""
        first = self.first_marks[i]
        borders = [
            (self.ends[i - 1] if i else 0) - 1,
            *self.marks[first : first + self.widths[i] - 1],
            self.ends[i] - 1,
        ]
        cells = [self.content[a + 1 : b] for a, b in itertools.pairwise(borders)]
        cells[-1] = cells[-1].removesuffix(b"\r")
        return [cell[1:-1].replace(2 * quote, quote) if quote and cell[:1] == quote else cell for cell in cells]


class QuoteError(Exception):
    """Quotation mark that is not closed, or is followed by text.

    Attributes
    ----------
    begin : int
        The position of the record in the text that was split.
    line : int
        The line at which the quoted cell begins.
    cell : int
        The number of the cell in its record, counted from 0.
    text : bytes
        The text from the mark on.
    is_open : bool
        Whether the mark is not closed.
    """

    def __init__(self, begin: int, line: int, cell: int, text: bytes, *, is_open: bool) -> None:
        self.begin = begin
        self.line = line
        self.cell = cell
        self.text = text
        self.is_open = is_open


class RecordReader:
    """Reader of the records of one text file, from the beginning or from an offset of an earlier block.

    Parameters
    ----------
    path : Path
    detect : callable, optional
        Returns the dialect and the number of lines above the header, given the first bytes of the file. Without it a
        record is a line, and there is no header. With it the records are in UTF-8, and quoted cells may contain line
        ends.
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
    dialect : Dialect
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
        detect: Callable[[bytes], tuple[Dialect, int]] | None = None,
        display: Path | None = None,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self.path = display or display_path(path)
        self.above = b""
        self.header: Block | None = None
        self.has_mark = False
        self.dialect = Dialect(encoding="utf-8", quote="")
        self._n_above = 0
        self._file = path
        self._detect = detect
        self._part_bytes = part_bytes
        self._hash = hashlib.blake2b(digest_size=16) if path == STANDARD_INPUT else None

    def blocks(self, n_records: int | None, start: RecordOffset) -> Iterator[tuple[Block, RecordOffset]]:
        """Yield blocks of `n_records` records, each with the offset after it; the last block may be shorter.

        Without a number of records, a block has about `part_bytes` bytes. The row of the offset counts every record as
        a row: the caller corrects it for blank lines.

        Raises
        ------
        QuoteError
            If a quoted cell is malformed.
        """
        with self._opened() as text:
            head, raw = self._read_header(text)
            position = RecordOffset(0, 1 + head.count(b"\n"), len(head))
            if start.offset:
                raw, position = self._skip(text, head, raw, start), start
            else:
                self._update_hash(head)
            while True:
                block, size, raw = self._next_block(text, raw, n_records, position, self._quote)
                if not len(block):
                    return
                if self._hash is not None:
                    self._update_hash(raw[:size])
                position = RecordOffset(
                    position.row + len(block),
                    position.line + int(block.lines[-1]),
                    position.offset + size,
                    self._hash.hexdigest() if self._hash is not None else "",
                )
                yield block, position
                raw = raw[size:]

    @property
    def _quote(self) -> bytes:
        return str(self.dialect.quote or "").encode() if self._detect is not None else b""

    @contextmanager
    def _opened(self) -> Iterator["_Text"]:
        """Open the file and detect its dialect; raise errors of the file as a DataError."""
        try:
            with _open(self._file) as content:
                if isinstance(content, io.BufferedReader) and content.peek(2)[:2] == GZIP:
                    raise DataError(f"{self.path} is compressed by gzip. {self._gzip_advice()}")
                head = content.read(HEAD_BYTES if self._detect is not None else len(codecs.BOM_UTF8))
                has_returns = False
                if self._detect is not None:
                    self.dialect, self._n_above = self._detect(head)
                    has_returns = has_carriage_returns_only(head, str(self.dialect.encoding))
                yield _Text(content, head, self.dialect.encoding or "utf-8", self.path, has_returns=has_returns)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{self.path} is damaged or truncated ({str(error).rstrip('.')}). Compress it again, or download it "
                "again."
            ) from None
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror or error}.") from None

    def _read_header(self, text: "_Text") -> tuple[bytes, bytes]:
        """Return the bytes up to the first row, and the bytes after them that were read."""
        self.has_mark = text.head.startswith(codecs.BOM_UTF8)
        mark = codecs.BOM_UTF8 if self.has_mark else b""
        raw = text.head[len(mark) :]
        if self._detect is None:
            return mark, raw
        if self._n_above:
            _, size, raw = self._next_block(text, raw, self._n_above, RecordOffset(), b"")
            self.above, raw = raw[:size], raw[size:]
        line = 1 + self._n_above
        block, size, raw = self._next_block(text, raw, 1, RecordOffset(line=line), self._quote)
        self.header = block if len(block) else None
        return mark + self.above + raw[:size], raw[size:]

    def _next_block(
        self, text: "_Text", raw: bytes, n_records: int | None, start: RecordOffset, quote: bytes
    ) -> tuple[Block, int, bytes]:
        """Return the next records, the number of their bytes in the text, and the text as far as it was read."""
        delimiter = str(self.dialect.delimiter or "").encode()
        n_bytes = self._part_bytes if n_records is None else 0
        while True:
            raw = text.extended(raw, n_bytes, n_records or 0)
            whole = raw + b"\n" if text.is_at_end and raw and not raw.endswith(b"\n") else raw
            is_last = text.is_at_end
            try:
                records = _split(whole, delimiter, quote, is_complete=is_last)
                if not len(records.ends) and len(raw) > _MAX_RECORD_BYTES:
                    _requote(whole, delimiter, quote, is_complete=True)
                    raise DataError(
                        f"{self.path}, line {start.line}: the line is longer than {_MAX_RECORD_BYTES:,} bytes. Check "
                        "the format of the file."
                    )
            except QuoteError as error:
                if not error.begin:
                    error.line += start.line
                    raise
                records, is_last = _split(whole[: error.begin], delimiter, quote), True
            n_part = max(int(np.searchsorted(records.sizes, self._part_bytes, side="right")), 1)
            n = min(n_records or n_part, len(records.ends))
            size = int(records.sizes[n - 1]) if n else 0
            if is_last or n == (n_records or max(n, 1)) or (n and len(raw) - size > _MAX_RECORD_BYTES):
                end = records.ends[n - 1] if n else 0
                is_quoted = None if records.is_quoted is None else records.is_quoted[:end]
                content, lines = records.content[:end], records.lines[:n]
                block = Block(content, records.ends[:n], lines, is_quoted, delimiter, self.path, start)
                return block, min(size, len(raw)), raw
            n_bytes = 2 * len(raw)

    def _skip(self, text: "_Text", head: bytes, raw: bytes, start: RecordOffset) -> bytes:
        """Move to an offset of an earlier block, and return the bytes after it that were read."""
        if self._hash is None and text.can_seek:
            text.seek(start.offset)
            return b""
        self._update_hash(head)
        remaining = start.offset - len(head)
        while remaining > 0 and (raw or (raw := text.read(CHUNK_BYTES))):
            skipped, raw = raw[:remaining], raw[remaining:]
            self._update_hash(skipped)
            remaining -= len(skipped)
        if remaining or (self._hash is not None and self._hash.hexdigest() != start.prefix_hash):
            raise DataError(
                f"{self.path} does not begin with the {start.offset:,} bytes that were read before. Give the "
                "same stream from its beginning, or start again with --restart."
            )
        return raw

    def _update_hash(self, content: bytes) -> None:
        if self._hash is not None:
            self._hash.update(content)

    def _gzip_advice(self) -> str:
        if self._file == STANDARD_INPUT or self.path.suffix.lower() == ".gz":
            return "Decompress it first, for example by `gzip -dc`."
        return f"Decompress it, or rename it to {self.path.name}.gz."


class _Text:
    r"""Content of a file in UTF-8 with line ends ``\n``, decoded from another encoding.

    Parameters
    ----------
    content : binary file
        At the position after `head`.
    head : bytes
        The first bytes.
    encoding : str
    path : Path
        For messages.
    has_returns : bool
        Whether lines end with ``\r`` only.
    """

    def __init__(self, content: Any, head: bytes, encoding: str, path: Path, *, has_returns: bool) -> None:
        self._content = content
        self._encoding = encoding
        self._path = path
        self._has_returns = has_returns
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
        self._decoder = None if is_utf8 else codecs.getincrementaldecoder(encoding)()
        self.can_seek = is_utf8 and not has_returns and isinstance(content, io.BufferedReader) and content.seekable()
        self.is_at_end = False
        self.head = self._decoded(head) if head else b""

    def read(self, size: int) -> bytes:
        """Return about `size` bytes at most, as soon as there are any; none at the end of the file."""
        while not self.is_at_end:
            content = self._content.read1(size)
            self.is_at_end = not content
            if decoded := self._decoded(content):
                return decoded
        return b""

    def seek(self, offset: int) -> None:
        """Move to an offset of the file, which is in UTF-8."""
        self._content.seek(offset)
        self.is_at_end = False

    def extended(self, raw: bytes, n_bytes: int, n_lines: int) -> bytes:
        """Return a text extended to some number of bytes and of lines, or to the end of the file or of a long line."""
        parts, size, tail = [raw], len(raw), len(raw) - raw.rfind(b"\n") - 1
        lines = raw.count(b"\n") if n_lines else 0
        while (size < n_bytes or lines < n_lines) and tail <= _MAX_RECORD_BYTES and not self.is_at_end:
            part = self.read(max(n_bytes - size, CHUNK_BYTES))
            parts.append(part)
            size += len(part)
            tail = len(part) - part.rfind(b"\n") - 1 + (tail if b"\n" not in part else 0)
            lines += part.count(b"\n") if n_lines else 0
        return b"".join(parts)

    def _decoded(self, content: bytes) -> bytes:
        if self._decoder is not None:
            try:
                content = self._decoder.decode(content, final=not content).encode()
            except UnicodeError:
                raise DataError(
                    f"{self._path} is not text in {self._encoding}. Name its encoding by --encoding."
                ) from None
        return content.replace(b"\r", b"\n") if self._has_returns else content


class _Split(NamedTuple):
    """Complete records at the beginning of a text; see `Block`."""

    content: bytes
    ends: Any
    lines: Any
    is_quoted: Any
    sizes: Any
    """The position after each record in the text, which may have fewer quotation marks than `content`."""


def _split(raw: bytes, delimiter: bytes, quote: bytes, *, is_complete: bool = False) -> _Split:
    cells = np.frombuffer(raw, dtype=np.uint8)
    breaks = np.flatnonzero(cells == ord("\n"))
    lines, ends = np.arange(1, len(breaks) + 1), breaks + 1
    if not quote or quote not in raw:
        return _Split(raw, ends, lines, None, ends)
    quotes = np.flatnonzero(cells == ord(quote))
    if not _are_at_borders(cells, quotes, delimiter + quote):
        records = _split(_requote(raw, delimiter, quote, is_complete=is_complete), delimiter, quote)
        return records._replace(sizes=ends[records.lines - 1])
    # An odd number of marks up to a byte: seven times as fast as the cumulative parity of all bytes.
    sizes = np.diff(quotes, prepend=0, append=len(cells))
    is_quoted = np.repeat(np.arange(len(sizes)) % 2 == 1, sizes)
    if is_complete and is_quoted[-1]:
        _requote(raw, delimiter, quote, is_complete=True)
    is_end = ~is_quoted[breaks]
    return _Split(raw, ends[is_end], lines[is_end], is_quoted, ends[is_end])


def _are_at_borders(cells: Any, quotes: Any, borders: bytes) -> bool:
    """Return whether each mark that opens a cell is after a border or a mark, and each that closes one is before."""
    is_border = np.zeros(256, dtype=bool)
    is_border[[*borders, ord("\n")]] = True
    is_after_border = is_border[cells.take(quotes[::2] - 1, mode="clip")].all()
    is_border[ord("\r")] = True
    return bool(is_after_border and is_border[cells.take(quotes[1::2] + 1, mode="clip")].all())


def _requote(raw: bytes, delimiter: bytes, quote: bytes, *, is_complete: bool = False) -> bytes:
    """Return the complete records of a text, in which each cell with a quotation mark is in quotation marks.

    Raises
    ------
    QuoteError
        If a mark that closes a cell is followed by text, or is missing although the text is complete.
    """
    if not quote:
        return raw
    q, d = re.escape(quote), re.escape(delimiter)
    quoted = q + b"[^" + q + b"]*(?:" + q + q + b"[^" + q + b"]*)*" + q + b"(?!" + q + b")"
    cell = re.compile(b"(?:(" + quoted + b")|(?!" + q + b")([^" + d + rb"\n]*?))(" + d + rb"|\r?\n|\Z)")
    pieces, done = [], 0
    while (found := raw.find(quote, done)) >= 0:
        begin = position = max(raw.rfind(b"\n", done, found) + 1, done)
        pieces.append(raw[done:begin])
        record: list[bytes] = []
        end = delimiter
        while end == delimiter:
            match = cell.match(raw, position)
            if match is None or not match[3]:
                closed = re.compile(quoted).match(raw, position)
                is_open = closed is None or raw[closed.end() :] in (b"", b"\r")
                if is_complete or not is_open:
                    line, text = raw.count(b"\n", 0, position), raw[position : position + _MAX_SHOWN]
                    raise QuoteError(begin, line, len(record), text, is_open=is_open)
                return b"".join(pieces)
            plain, end, position = match[2], match[3], match.end()
            has_mark = plain is not None and quote in plain
            record.append((quote + plain.replace(quote, 2 * quote) + quote if has_mark else match[1] or plain) + end)
        pieces.append(b"".join(record))
        done = position
    return b"".join([*pieces, raw[done:]])


def _open(path: Path) -> BinaryIO:
    if path == STANDARD_INPUT:
        content = open_standard_input()
        return gzip.GzipFile(fileobj=content) if content.peek(2)[:2] == GZIP else content  # type: ignore[return-value]
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a reader of bytes like any other
    return path.open("rb", buffering=CHUNK_BYTES)
