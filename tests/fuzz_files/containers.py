"""Splitting and joining of files whose parts have checksums, so that a change inside a part reaches the reader."""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Container:
    """Functions that split a file of some type into parts, and join changed parts to a file."""

    take_apart: Callable[[bytes], list[bytes]]
    put_together: Callable[[bytes, Sequence[bytes]], bytes]
    """Makes a file from the original file and its new parts."""


def _zip_parts(data: bytes) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [archive.read(name) for name in archive.namelist()]


def _zip(data: bytes, parts: Sequence[bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w") as target:
        for name, part in zip(archive.namelist(), parts, strict=True):
            target.writestr(name, part)
    return out.getvalue()


def _lines(data: bytes) -> list[bytes]:
    return [line.partition(b" ")[2] for line in data.split(b"\n") if line]


def _with_checksums(_: bytes, parts: Sequence[bytes]) -> bytes:
    return b"".join(b"%08x %s\n" % (zlib.crc32(part), part) for part in parts)


PLAIN = Container(lambda data: [data], lambda _, parts: parts[0])
ZIP = Container(_zip_parts, _zip)
GZIP = Container(lambda data: [gzip.decompress(data)], lambda _, parts: gzip.compress(parts[0], 1))
RECORDS = Container(_lines, _with_checksums)


def json_lines(*objects: object) -> bytes:
    """Return objects as JSON lines."""
    return b"".join(json.dumps(item).encode() + b"\n" for item in objects)
