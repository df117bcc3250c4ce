"""Records of a text file: lines, or lines joined while a quoted cell is open, in blocks from any offset."""

import codecs
import csv
import gzip
import hashlib
import io
import itertools
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from oneof.archives import GZIP
from oneof.errors import DataError
from oneof.io.formats.csv.dialect import Dialect, Utf8File, has_carriage_returns_only, with_defaults
from oneof.io.formats.source import CHUNK_BYTES, HEAD_BYTES, STANDARD_INPUT, display_path, open_standard_input

_MAX_RECORD_BYTES = 2**28
"""Maximum size of a line or quoted cell; a few KiB of gzip may decompress to more."""
_MAX_CELL = 2**31 - 1


class IrregularRecordsError(Exception):
    """Records whose ends are not known without a check of each line."""


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
class TextBlock:
    """Consecutive complete records of a file.

    Attributes
    ----------
    records : list of bytes
        With their line ends.
    path : Path
        For messages.
    start : RecordOffset
        The position of the first record.
    n_cells : list of int
        The number of cells of each record with quotation marks; 0 for other records, and for malformed ones.
    """

    records: list[bytes]
    path: Path
    start: RecordOffset
    n_cells: list[int]

    def line_of(self, i: int) -> int:
        """Return the number of the line at which record `i` begins, counted from 1."""
        return self.start.line + sum(record.count(b"\n") for record in self.records[:i])


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

    Attributes
    ----------
    path : Path
        For messages.
    above, header : bytes
        The lines above the header, and the header, if `detect` is given; set by `blocks`.
    dialect : Dialect
        Set by `blocks`.

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
    ) -> None:
        self.path = display or display_path(path)
        self.above = self.header = b""
        self.dialect = with_defaults(Dialect())
        self._n_above = 0
        self._file = path
        self._detect = detect
        self._hash = hashlib.blake2b(digest_size=16) if path == STANDARD_INPUT else None

    def blocks(self, n_records: int, start: RecordOffset) -> Iterator[tuple[TextBlock, RecordOffset]]:
        """Yield blocks of `n_records` records, each with the offset after it; the last block may be shorter.

        The row of the offset counts every record as a row. The caller corrects it for blank lines.
        """
        with self._opened() as content:
            yield from self._blocks(content, n_records, start)

    def chunks(self, n_bytes: int) -> Iterator[bytes]:
        """Yield the records below the header, about `n_bytes` at a time, without a check of the single records.

        Raises
        ------
        IrregularRecordsError
            If quotation marks do not show the ends of the records, or a record is longer than `n_bytes`.
        """
        with self._opened() as content:
            self._read_header(content)
            quote = str(self.dialect.quote).encode()
            pending = b""
            while read := content.read(n_bytes):
                part = b"".join((pending, read, content.readline(n_bytes)))
                end = len(part) if part.endswith(b"\n") and not part.count(quote) % 2 else _end_of_records(part, quote)
                if end:
                    yield part if end == len(part) else part[:end]
                elif len(part) > 2 * n_bytes:
                    raise IrregularRecordsError
                pending = part[end:]
            if pending:
                yield pending

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Open the file, decoded; raise its errors as a DataError."""
        try:
            with _open(self._file) as content:
                if isinstance(content, io.BufferedReader) and content.peek(2)[:2] == GZIP:
                    raise DataError(f"{self.path} is compressed by gzip. {self._gzip_advice()}")
                yield self._decoded(content)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{self.path} is damaged or truncated ({str(error).rstrip('.')}). Compress it again, or download it "
                "again."
            ) from None
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror or error}.") from None

    def _decoded(self, content: BinaryIO) -> BinaryIO:
        """Return the content in UTF-8 with line ends, after the dialect was detected."""
        if self._detect is None:
            return content
        start = content.tell() if content.seekable() else None
        head = content.read(HEAD_BYTES)
        self.dialect, self._n_above = self._detect(head)
        encoding = str(self.dialect.encoding)
        carriage_returns = has_carriage_returns_only(head, encoding)
        if start is not None:
            content.seek(start)
            if not carriage_returns and codecs.lookup(encoding).name == "utf-8":
                return content
        prefix = head if start is None else b""
        recoded = Utf8File(content, encoding, self.path, prefix, carriage_returns=carriage_returns)
        return io.BufferedReader(recoded, CHUNK_BYTES)

    def _blocks(
        self, content: BinaryIO, n_records: int, start: RecordOffset
    ) -> Iterator[tuple[TextBlock, RecordOffset]]:
        header = self._read_header(content) if self._detect is not None else b""
        if start.offset:
            self._skip_to(content, start, header)
            position = start
        else:
            self._update_hash(header)
            n_lines = header.count(b"\n") + (bool(header) and not header.endswith(b"\n"))
            position = start._replace(line=1 + n_lines, offset=content.tell() if content.seekable() else len(header))
        records = self._records(content, position)
        while True:
            block = list(itertools.islice(records, n_records))
            if not block:
                return
            contents = [record for record, _ in block]
            joined = b"".join(contents)
            self._update_hash(joined)
            after = RecordOffset(
                position.row + len(block),
                position.line + joined.count(b"\n"),
                position.offset + len(joined),
                self._hash.hexdigest() if self._hash is not None else "",
            )
            yield TextBlock(contents, self.path, position, [n_cells for _, n_cells in block]), after
            position = after

    def _read_header(self, content: BinaryIO) -> bytes:
        """Read the header, and return it with the lines above it."""
        lines = (line.removeprefix(codecs.BOM_UTF8) for line in self._lines(content, 1))
        self.above = b"".join(itertools.islice(lines, self._n_above))
        self.header = self._complete_record(next(lines, b""), lines, self._n_above + 1)[0]
        return self.above + self.header

    def _records(self, content: BinaryIO, start: RecordOffset) -> Iterator[tuple[bytes, int]]:
        """Yield the records, each with its number of cells as in `TextBlock`."""
        lines = self._lines(content, start.line)
        if self._detect is None:
            yield from ((line, 0) for line in lines)
            return
        line_number = start.line
        quote = str(self.dialect.quote).encode()
        for line in lines:
            if quote in line:
                record, n_cells = self._complete_record(line, lines, line_number)
                line_number += record.count(b"\n") or 1
                yield record, n_cells
            else:
                line_number += 1
                yield line, 0

    def _complete_record(self, first: bytes, lines: Iterator[bytes], line_number: int) -> tuple[bytes, int]:
        """Return the record that begins with a line: further lines belong to it while a quoted cell is open."""
        quote, delimiter = str(self.dialect.quote), str(self.dialect.delimiter)
        if quote.encode() not in first:
            return first, 0
        record = [first]

        def texts() -> Iterator[str]:
            yield first.decode("latin-1")
            size = len(first)
            for line in lines:
                record.append(line)
                size += len(line)
                if size > _MAX_RECORD_BYTES:
                    raise DataError(self._unclosed(line_number))
                yield line.decode("latin-1")
            raise DataError(self._unclosed(line_number))

        with long_cells:
            try:
                n_cells = len(next(csv.reader(texts(), delimiter=delimiter, quotechar=quote, strict=True)))
            except csv.Error:
                n_cells = 0  # the error is raised when the cells are checked
        return b"".join(record), n_cells

    def _lines(self, content: BinaryIO, first_number: int) -> Iterator[bytes]:
        for number, line in enumerate(iter(partial(content.readline, _MAX_RECORD_BYTES), b""), first_number):
            if len(line) == _MAX_RECORD_BYTES:
                raise DataError(
                    f"{self.path}, line {number}: the line is longer than {_MAX_RECORD_BYTES:,} bytes. "
                    "Check the format of the file."
                )
            yield line

    def _gzip_advice(self) -> str:
        if self._file == STANDARD_INPUT or self.path.suffix.lower() == ".gz":
            return "Decompress it first, for example by `gzip -dc`."
        return f"Decompress it, or rename it to {self.path.name}.gz."

    def _unclosed(self, line: int) -> str:
        return f"{self.path}, line {line}: a quotation mark is not closed. Close it, or double it."

    def _skip_to(self, content: BinaryIO, start: RecordOffset, header: bytes) -> None:
        """Move to an offset of an earlier block."""
        if self._hash is None and content.seekable() and not isinstance(content, gzip.GzipFile):
            content.seek(start.offset)
            return
        self._update_hash(header)
        remaining = start.offset - (content.tell() if content.seekable() else len(header))
        while remaining > 0:
            skipped = content.read(min(remaining, CHUNK_BYTES))
            if not skipped:
                break
            self._update_hash(skipped)
            remaining -= len(skipped)
        if remaining or (self._hash is not None and self._hash.hexdigest() != start.prefix_hash):
            raise DataError(
                f"{self.path} does not begin with the {start.offset:,} bytes that were read before. Give the "
                "same stream from its beginning, or start again with --restart."
            )

    def _update_hash(self, content: bytes) -> None:
        if self._hash is not None:
            self._hash.update(content)


class _LongCells:
    """Context in which the csv module reads cells of any length.

    The limit applies to the whole process, so blocks in several threads share the change: the last one to exit restores
    the limit. No block may contain a `yield`, or the limit would stay changed while a generator is suspended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_entered = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_entered:
                self._before = csv.field_size_limit(_MAX_CELL)
            self._n_entered += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_entered -= 1
            if not self._n_entered:
                csv.field_size_limit(self._before)


long_cells = _LongCells()


def _end_of_records(content: bytes, quote: bytes) -> int:
    """Return the position after the last line end that follows an even number of quotation marks, 0 without one."""
    end = content.rfind(b"\n") + 1
    n_quotes = content.count(quote, 0, end)
    while end and n_quotes % 2:
        line = content.rfind(b"\n", 0, end - 1) + 1
        n_quotes -= content.count(quote, line, end)
        end = line
    return end


class _GzipStream(gzip.GzipFile):
    """Decompressed content of a file that can be read once."""

    def seekable(self) -> bool:
        return False


def _open(path: Path) -> BinaryIO:
    if path == STANDARD_INPUT:
        content = open_standard_input()
        return _GzipStream(fileobj=content) if content.peek(2)[:2] == GZIP else content  # type: ignore[return-value]
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a reader of bytes like any other
    return path.open("rb", buffering=CHUNK_BYTES)
