"""Records in a file that only grows, and that no moment of death can spoil."""

import json
import os
import time
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from oneof.errors import DataError
from oneof.files import write_error
from reproduction.records import Record
from reproduction.trial import Trial

FORM = 1
SYNC_EVERY = 1.0
"""Seconds between waits for the disk. A killed process loses nothing that it wrote; a machine without power may."""


class Store:
    """The records of one experiment, a line each: a checksum, a space, and JSON. Used in a `with` block.

    A record counts from the moment its line is whole, which is when the newline at its end is written. What a killed
    process left of a line has none: it is cut off when the store is next opened, and its trial runs again. One process
    at a time may hold a store open.

    Parameters
    ----------
    path : Path
        Made, with its folders, where it does not exist.
    experiment : str

    Raises
    ------
    DataError
        If the file is held by another process, is of another experiment, is no store (and is then left as it is), or
        damaged elsewhere than at its end; or if the system has no locks for files.
    WriteError
        If the file, or a record, cannot be written; what was there before is unchanged.
    """

    def __init__(self, path: Path, experiment: str) -> None:
        self.path = path
        self.experiment = experiment
        self.records: dict[str, Record] = {}
        """By the key of the trial."""

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise write_error(self.path, error) from error
        try:
            self._lock()
            self._read()
        except BaseException:
            os.close(self._file)
            raise
        self._synced = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def append(self, record: Record) -> None:
        """Write a record; that of a trial which failed before takes the place of the old one when it is read.

        Raises
        ------
        DataError
            If the trial has succeeded already, or is of another experiment.
        """
        old = self.records.get(record.trial.key)
        if old is not None and old.error is None:
            raise DataError(f"{self.path} holds a result of this trial already: {record.trial}.")
        if record.trial.experiment != self.experiment:
            raise DataError(f"{self.path} is of {self.experiment!r}, the trial of {record.trial.experiment!r}.")
        self._write(_line(_encode(record)))
        self.records[record.trial.key] = record

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError as error:
            raise DataError(
                "experiments need locks of files as Linux and macOS have them (on Windows: within WSL)."
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataError(f"{self.path} is in use by another run: wait for it, or choose another --out.") from error
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be locked ({error.strerror}): choose an --out on a disk of this machine."
            ) from error

    def _read(self) -> None:
        content = self.path.read_bytes()
        head = _line({"form": FORM, "experiment": self.experiment})
        if head.startswith(content):  # new, or torn off within its first line
            self._write(head[len(content) :])
            return
        whole = content[: content.rfind(b"\n") + 1]
        first, *lines = whole.splitlines(keepends=True) or [content]
        # Before anything is cut off: a file of this name may be someone else's.
        self._check_head(first)
        if lines and _decode(lines[-1]) is None:
            # A line with its end but with wrong content: a machine that lost power may leave that at the end too.
            whole = whole[: -len(lines.pop())]
        for number, line in enumerate(lines, start=2):
            entry = _decode(line)
            if entry is None:
                raise DataError(f"{self.path}, line {number} is damaged: move the file away and start anew.")
            try:
                record = _record(self.experiment, entry)
            except (KeyError, TypeError, ValueError, AttributeError):
                raise DataError(
                    f"{self.path}, line {number} is no record: move the file away and start anew."
                ) from None
            self.records[record.trial.key] = record
        if len(whole) < len(content):
            os.ftruncate(self._file, len(whole))

    def _check_head(self, line: bytes) -> None:
        head = _decode(line)
        if head is None or head.get("form") != FORM or "experiment" not in head:
            raise DataError(
                f"{self.path} is no store that this version reads, or its first line is damaged: choose another --out, "
                "or move the file away."
            )
        if head["experiment"] != self.experiment:
            raise DataError(
                f"{self.path} holds records of {head['experiment']!r}, not {self.experiment!r}: choose another --out."
            )

    def _write(self, line: bytes) -> None:
        end = os.fstat(self._file).st_size
        try:
            left = line
            while left:
                left = left[os.write(self._file, left) :]
        except BaseException as error:
            # A full disk, or Ctrl-C: the next line must not be joined to a half of this one.
            os.ftruncate(self._file, end)
            if isinstance(error, OSError):
                raise write_error(self.path, error) from error
            raise
        if time.monotonic() - getattr(self, "_synced", 0.0) > SYNC_EVERY:
            os.fsync(self._file)
            self._synced = time.monotonic()


def _line(entry: dict[str, Any]) -> bytes:
    written = json.dumps(entry, separators=(",", ":"), ensure_ascii=True, allow_nan=True).encode()
    return b"%08x %s\n" % (zlib.crc32(written), written)


def _encode(record: Record) -> dict[str, Any]:
    entry: dict[str, Any] = {"settings": dict(record.trial.settings), "seconds": round(record.seconds, 4)}
    if record.version is not None:
        entry["version"] = record.version
    return {**entry, "error": record.error} if record.error is not None else {**entry, "result": record.result}


def _record(experiment: str, entry: dict[str, Any]) -> Record:
    trial = Trial.of(experiment, **entry["settings"])
    return Record(trial, entry.get("result"), entry.get("error"), entry["seconds"], entry.get("version"))


def _decode(line: bytes) -> dict[str, Any] | None:
    """Return what a line says, or None where it is not as it was written."""
    checksum, _, written = line.rstrip(b"\n").partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(written):
            return None
        entry = json.loads(written)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
