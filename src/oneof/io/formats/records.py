"""Records of a text file: lines, or lines joined while a quoted cell is open, in blocks from any offset."""

import codecs
import csv
import gzip
import hashlib
import io
import itertools
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from oneof.errors import DataError
from oneof.files import GZIP
from oneof.io.formats.dialect import HEAD_BYTES, Dialect, Utf8File, has_carriage_returns_only, with_defaults
from oneof.io.formats.source import STANDARD_INPUT, display_path

_CHUNK = 2**16
_MAX_RECORD_BYTES = 2**28
"""Maximum size of a line or quoted cell; a few KiB of gzip may decompress to more."""
_MAX_CELL = 2**31 - 1


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
        Returns the dialect, given the first bytes of the file. Without it a record is a line, and there is no header.
        With it the first record is the header, quoted cells may contain line ends, and the records are in UTF-8.

    Attributes
    ----------
    path : Path
        For messages.
    header : bytes
        The first record if `detect` is given, set by `blocks`.
    dialect : Dialect
        Set by `blocks`.
    is_recoded, has_carriage_returns : bool
        Whether the records differ from the bytes of the file, and whether its lines end with carriage returns alone;
        set by `blocks`.

    Raises
    ------
    DataError
        If the file cannot be read, or standard input differs from the bytes read before the offset.
    """

    def __init__(self, path: Path, *, detect: Callable[[bytes], Dialect] | None = None) -> None:
        self.path = display_path(path)
        self.header = b""
        self.dialect = with_defaults(Dialect())
        self.is_recoded = self.has_carriage_returns = False
        self._file = path
        self._detect = detect
        self._hash = hashlib.blake2b(digest_size=16) if path == STANDARD_INPUT else None

    def blocks(self, n_records: int, start: RecordOffset) -> Iterator[tuple[TextBlock, RecordOffset]]:
        """Yield blocks of `n_records` records, each with the offset after it; the last block may be shorter.

        The row of the offset counts every record as a row. The caller corrects it for blank lines.
        """
        try:
            with _open(self._file) as content:
                if isinstance(content, io.BufferedReader) and content.peek(2)[:2] == GZIP:
                    raise DataError(f"{self.path} is compressed by gzip. {self._gzip_advice()}")
                yield from self._blocks(self._decoded(content), n_records, start)
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
        self.dialect = self._detect(head)
        encoding = str(self.dialect.encoding)
        self.has_carriage_returns = has_carriage_returns_only(head, encoding)
        self.is_recoded = self.has_carriage_returns or codecs.lookup(encoding).name != "utf-8"
        if start is not None:
            content.seek(start)
            if not self.is_recoded:
                return content
        prefix = head if start is None else b""
        recoded = Utf8File(content, encoding, self.path, prefix, carriage_returns=self.has_carriage_returns)
        return io.BufferedReader(recoded, _CHUNK)

    def _blocks(
        self, content: BinaryIO, n_records: int, start: RecordOffset
    ) -> Iterator[tuple[TextBlock, RecordOffset]]:
        header = self._read_header(content) if self._detect is not None else b""
        self.header = header
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
        lines = self._lines(content, 1)
        first = next(lines, b"").removeprefix(b"\xef\xbb\xbf")
        return self._complete_record(first, lines, 1)[0]

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
        if self._file == STANDARD_INPUT:
            return "Decompress it first, for example by `gzip -dc`."
        return f"Decompress it, or rename it to {self._file.name}.gz."

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
            skipped = content.read(min(remaining, _CHUNK))
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


def _open(path: Path) -> BinaryIO:
    if path == STANDARD_INPUT:
        return open(sys.stdin.fileno(), "rb", buffering=_CHUNK, closefd=False)
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a reader of bytes like any other
    return path.open("rb", buffering=_CHUNK)
