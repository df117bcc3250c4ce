"""Files of text, standard input among them, as blocks of whole records, from any record that was reached before."""

import gzip
import hashlib
import io
import itertools
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from oneof.errors import DataError
from oneof.files import GZIP
from oneof.stream.source import STANDARD_INPUT, shown

_CHUNK = 2**16
_LONGEST_RECORD = 2**28
"""Bytes beyond which a line, or an open quotation mark, is a fault of the file: some KiB of gzip may unfold to more."""


class Place(NamedTuple):
    """A place between two records of a file of text."""

    row: int = 0
    """Rows before it."""
    line: int = 1
    """The number of the next line."""
    offset: int = 0
    """Bytes before it, after decompression."""
    seen: str = ""
    """Hash of these bytes; empty for files, which can be looked at again."""


@dataclass(frozen=True)
class Block:
    """Some whole records of a file.

    Attributes
    ----------
    records : list of bytes
        With their ends of line.
    path : Path
    start : Place
        Where they begin.
    """

    records: list[bytes]
    path: Path
    start: Place


def _read_header(content: BinaryIO) -> bytes:
    """Read the first line of a file, without the mark that some programs begin UTF-8 with."""
    return content.readline(_LONGEST_RECORD).removeprefix(b"\xef\xbb\xbf")


class Lines:
    """The records of one file of text, which are read on from a place that was reached before.

    Parameters
    ----------
    path : Path
    has_header : bool
        Whether the first line names the columns; it is then in `header`.
    quoted : bool
        Whether a record may run over several lines between quotation marks.

    Raises
    ------
    DataError
        If the file cannot be read, or standard input does not hold again what it held before the place.
    """

    def __init__(self, path: Path, *, has_header: bool, quoted: bool) -> None:
        self.path = path
        self.shown = shown(path)
        self.header = b""
        self._has_header = has_header
        self._quoted = quoted
        self._hash = hashlib.blake2b(digest_size=16) if path == STANDARD_INPUT else None

    def blocks(self, n_records: int, start: Place) -> Iterator[tuple[Block, Place]]:
        """Yield blocks of `n_records` records and the place behind each; the last one may be shorter.

        The rows of a block are counted by who reads it, as blank lines are none: the place behind has the row of the
        place before it, plus the records.
        """
        try:
            with _open(self.path) as content:
                if isinstance(content, io.BufferedReader) and content.peek(2)[:2] == GZIP:
                    raise DataError(f"{self.shown} is compressed by gzip: {self._unpacked()}.")
                yield from self._blocks(content, n_records, start)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{self.shown} is damaged or cut short ({str(error).rstrip('.')}): compress it again, or fetch it anew."
            ) from None
        except OSError as error:
            raise DataError(f"{self.shown} cannot be read: {error.strerror or error}.") from None

    def _blocks(self, content: BinaryIO, n_records: int, start: Place) -> Iterator[tuple[Block, Place]]:
        head = _read_header(content) if self._has_header else b""
        self.header = head
        if start.offset:
            self._go_to(content, start, head)
            place = start
        else:
            self._note(head)
            place = start._replace(line=1 + bool(head), offset=content.tell() if content.seekable() else len(head))
        records = self._records(content, place)
        while True:
            taken = list(itertools.islice(records, n_records))
            if not taken:
                return
            whole = b"".join(taken)
            self._note(whole)
            after = Place(
                place.row + len(taken),
                place.line + whole.count(b"\n"),
                place.offset + len(whole),
                self._hash.hexdigest() if self._hash is not None else "",
            )
            yield Block(taken, self.shown, place), after
            place = after

    def _records(self, content: BinaryIO, place: Place) -> Iterator[bytes]:
        lines = self._lines(content, place)
        if not self._quoted:
            yield from lines
            return
        line_number = place.line
        for line in lines:
            record = line
            if b'"' in line and line.count(b'"') % 2:
                parts = [line]
                size = len(line)
                for further in lines:
                    parts.append(further)
                    size += len(further)
                    if further.count(b'"') % 2:
                        break
                    if size > _LONGEST_RECORD:
                        raise DataError(self._unclosed(line_number))
                else:
                    raise DataError(self._unclosed(line_number))
                record = b"".join(parts)
                line_number += len(parts) - 1
            line_number += 1
            yield record

    def _lines(self, content: BinaryIO, place: Place) -> Iterator[bytes]:
        for number, line in enumerate(iter(partial(content.readline, _LONGEST_RECORD), b""), place.line):
            if len(line) == _LONGEST_RECORD:
                raise DataError(f"{self.shown}, line {number}: the line has no end within {_LONGEST_RECORD:,} bytes.")
            yield line

    def _unpacked(self) -> str:
        if self.path == STANDARD_INPUT:
            return "unpack it on the way, as gzip -dc does"
        return f"give it a name that says so, {self.path.name}.gz, or unpack it"

    def _unclosed(self, line: int) -> str:
        return f"{self.shown}, line {line}: a quotation mark is opened and not closed; close it, or double it."

    def _go_to(self, content: BinaryIO, start: Place, head: bytes) -> None:
        """Move behind what was read before."""
        if self._hash is None and not isinstance(content, gzip.GzipFile):
            content.seek(start.offset)
            return
        self._note(head)
        left = start.offset - (content.tell() if content.seekable() else len(head))
        while left > 0:
            passed = content.read(min(left, _CHUNK))
            if not passed:
                break
            self._note(passed)
            left -= len(passed)
        if left or (self._hash is not None and self._hash.hexdigest() != start.seen):
            raise DataError(
                f"{self.shown} does not begin with the {start.offset:,} bytes that were read before: give the same "
                "stream from its beginning, or begin anew with --restart."
            )

    def _note(self, passed: bytes) -> None:
        if self._hash is not None:
            self._hash.update(passed)


def _open(path: Path) -> BinaryIO:
    if path == STANDARD_INPUT:
        return open(sys.stdin.fileno(), "rb", buffering=_CHUNK, closefd=False)
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a reader of bytes like any other
    return path.open("rb", buffering=_CHUNK)
