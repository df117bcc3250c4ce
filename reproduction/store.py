"""An append-only file of records that survives a kill at any moment."""

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

FORMAT = 1
FSYNC_INTERVAL = 1.0
"""Seconds between calls of fsync. A killed process loses no written record; a power failure may lose the last ones."""


class Store:
    """The records of one experiment, one line each: a checksum, a space, and JSON. Used in a `with` block.

    A record counts when its line is complete, that is, when its newline is written. A line without a newline is left
    by a killed process: it is removed when the store is next opened, and its trial runs again. Only one process at a
    time may have a store open.

    Parameters
    ----------
    path : Path
        Created, with its folders, if it does not exist.
    experiment : str

    Raises
    ------
    DataError
        If the file is open in another process, belongs to another experiment, is not a store (it is then not
        changed), or is damaged elsewhere than at its end; or if the system has no file locks.
    WriteError
        If the file, or a record, cannot be written; its former content is unchanged.
    """

    def __init__(self, path: Path, experiment: str) -> None:
        self.path = path
        self.experiment = experiment
        self.records: dict[str, Record] = {}
        """The records by the key of their trial."""

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
        """Write a record; when the store is read, it replaces an earlier record of the same trial, which failed.

        Raises
        ------
        DataError
            If the trial has succeeded already, or belongs to another experiment.
        """
        former = self.records.get(record.trial.key)
        if former is not None and former.error is None:
            raise DataError(f"{self.path} already has a result of this trial: {record.trial}.")
        if record.trial.experiment != self.experiment:
            raise DataError(f"{self.path} stores {self.experiment!r}; got a trial of {record.trial.experiment!r}.")
        self._write(_format_line(_encode(record)))
        self.records[record.trial.key] = record

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError as error:
            raise DataError(
                "experiments need the file locks of Linux and macOS. On Windows, run them within WSL."
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataError(f"{self.path} is in use by another run. Wait for it, or choose another --out.") from error
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be locked ({error.strerror}). Choose an --out on a local disk."
            ) from error

    def _read(self) -> None:
        content = self.path.read_bytes()
        header = _format_line({"form": FORMAT, "experiment": self.experiment})
        if header.startswith(content):  # new, or cut off within its first line
            self._write(header[len(content) :])
            return
        complete = content[: content.rfind(b"\n") + 1]
        first, *lines = complete.splitlines(keepends=True) or [content]
        # Checked before anything is cut off: a file of this name may not be a store.
        self._check_header(first)
        if lines and _decode(lines[-1]) is None:
            # A last line with a newline and wrong content: a power failure may leave that, too.
            complete = complete[: -len(lines.pop())]
        for number, line in enumerate(lines, start=2):
            entry = _decode(line)
            if entry is None:
                raise DataError(f"{self.path}, line {number} is damaged. Move the file away and start again.")
            try:
                record = _to_record(self.experiment, entry)
            except (KeyError, TypeError, ValueError, AttributeError):
                raise DataError(
                    f"{self.path}, line {number} is not a record. Move the file away and start again."
                ) from None
            self.records[record.trial.key] = record
        if len(complete) < len(content):
            os.ftruncate(self._file, len(complete))

    def _check_header(self, line: bytes) -> None:
        header = _decode(line)
        if header is None or header.get("form") != FORMAT or "experiment" not in header:
            raise DataError(
                f"{self.path} is not a store that this version can read, or its first line is damaged. Choose another "
                "--out, or move the file away."
            )
        if header["experiment"] != self.experiment:
            raise DataError(
                f"{self.path} has records of {header['experiment']!r}, not {self.experiment!r}. Choose another --out."
            )

    def _write(self, line: bytes) -> None:
        end = os.fstat(self._file).st_size
        try:
            remaining = line
            while remaining:
                remaining = remaining[os.write(self._file, remaining) :]
        except BaseException as error:
            # A full disk, or Ctrl-C: the next line must not be joined to half of this one.
            os.ftruncate(self._file, end)
            if isinstance(error, OSError):
                raise write_error(self.path, error) from error
            raise
        if time.monotonic() - getattr(self, "_synced", 0.0) > FSYNC_INTERVAL:
            os.fsync(self._file)
            self._synced = time.monotonic()


def _format_line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, separators=(",", ":"), ensure_ascii=True, allow_nan=True).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _encode(record: Record) -> dict[str, Any]:
    entry: dict[str, Any] = {"settings": dict(record.trial.settings), "seconds": round(record.seconds, 4)}
    if record.version is not None:
        entry["version"] = record.version
    return {**entry, "error": record.error} if record.error is not None else {**entry, "result": record.result}


def _to_record(experiment: str, entry: dict[str, Any]) -> Record:
    trial = Trial.from_settings(experiment, **entry["settings"])
    return Record(trial, entry.get("result"), entry.get("error"), entry["seconds"], entry.get("version"))


def _decode(line: bytes) -> dict[str, Any] | None:
    """Return the content of a line, or None if its checksum or its JSON is wrong."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
