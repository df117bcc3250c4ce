"""Log of a labeling session: every answer, skip and undo, in an append-only SQLite file.

An entry is committed to the disk before `append` returns, so no answer is lost if the process is killed afterwards.
Two processes or windows may write to one file. An entry names the last entry of its row and annotator that the writer
has seen, and raises `ConflictError` if there is a later one. A database is compared with the schema of a log before any
statement of it runs.

A log has the tables of the first version, and those of `OPTIONAL_TABLES` that its entries need. They are created with
the first such entry. So earlier versions read every log that has nothing else, and do not open the others.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from oneof.errors import ConflictError, DataError
from oneof.labeling.answers.database import (
    OPTIONAL_TABLES,
    SCHEMA,
    connect,
    damage_error,
    expected_schema,
    is_log,
    one_line,
    read_classes,
    schema_of,
    write_error,
)

Kind = Literal["one of", "none of", "unknown", "skip", "undo"]
KINDS: tuple[Kind, ...] = ("one of", "none of", "unknown", "skip", "undo")
"""Kinds of entries: one of the labels is true, none of them is true, unknown, postponed, and undo of another entry."""

INFORMED = "informed review"
"""Purpose of an answer that is not independent: the answers of the other annotators were shown."""

_FORMAT = "1"
_COLUMNS = "key, at, annotator, row, kind, labels, undoes, purpose, guess, score"
DEGREES = ("sure", "probably", "guess")
"""Degrees of certainty that an answer may state."""


@dataclass(frozen=True)
class Entry:
    """One answer, skip or undo of an annotator.

    Attributes
    ----------
    key : str
        Chosen by the writer, so that an entry sent twice (after a lost response) is written once.
    annotator : str
    row : int
    kind : {"one of", "none of", "unknown", "skip", "undo"}
    labels : tuple of int
        Codes of the given classes.
    undoes : int or None
        Number of the undone entry.
    purpose : {"query", "check", "gold", "free", "review", "informed review", "import"}
        "query": selected by the strategy; "check": drawn at random to evaluate the model; "gold": a row with a known
        label; "free": opened by the annotator; "review": a row in dispute, opened again; "informed review": a row that
        was opened with the answers of the others shown; "import": from a file.
    guess : int or None
        Code of the class predicted before the answer.
    score : float or None
        Utility of the question.
    degree : {"sure", "probably", "guess"} or None
        How certain the annotator is; None if it is not stated.
    at : float
        Seconds since 1970, set by the log.
    number : int
        Set by the log: 1, 2, ...
    """

    key: str
    annotator: str
    row: int
    kind: Kind
    labels: tuple[int, ...] = ()
    undoes: int | None = None
    purpose: str = "free"
    guess: int | None = None
    score: float | None = None
    degree: str | None = None
    at: float = 0.0
    number: int = 0


class AnswerLog:
    """Append-only log in a SQLite file.

    Parameters
    ----------
    path : path-like or None
        Created if it does not exist; None keeps the log in memory.
    metadata : dict of str to str
        Description of the rows and classes. It is stored at the first opening and must be equal at every later one, but
        for new classes after the stored ones: these are stored, too. Entries have the numbers of the classes, so all of
        them remain valid.

    Attributes
    ----------
    new_classes : list of str
        Classes that this opening has added to those of the file.

    Raises
    ------
    DataError
        If the file cannot be written, is not a log, or is a log of other rows or classes.
    """

    def __init__(self, path: Path | None, metadata: dict[str, str]) -> None:
        self.path = path
        self.new_classes: list[str] = []
        self._lock = threading.RLock()
        self._connection = connect(path)
        try:
            self._check_schema()
            self._connection.execute("PRAGMA journal_mode = WAL")
            # A commit is on the disk, not only in the cache of the operating system.
            self._connection.execute("PRAGMA synchronous = FULL")
            with self._writing():
                for statement in filter(str.strip, SCHEMA.split(";")):
                    self._connection.execute(statement)
                self._check_metadata(metadata | {"format": _FORMAT})
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise write_error(path, error) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter for a damaged schema
            self._connection.close()
            raise DataError(
                f"{path} is not a file of answers ({one_line(error)}). Use another file (--session)."
            ) from None
        except BaseException:
            self._connection.close()
            raise

    def append(self, entry: Entry, *, seen: int | None = None) -> Entry:
        """Write an entry in one transaction and return it with its number when it is on the disk.

        Parameters
        ----------
        entry : Entry
        seen : int, optional
            The number of the last entry of this row and annotator that the writer has seen, 0 for none. By default
            it is not checked.

        Raises
        ------
        ConflictError
            If there is a later entry of this row and annotator.
        """
        with self._writing():
            return self._append(entry, seen)

    def append_all(self, entries: Sequence[Entry]) -> list[Entry]:
        """Write all new entries, or none after an error, and return the written ones.

        Entries with an existing key and entries of rows that the annotator has already answered are not written.
        """
        with self._writing():
            return [self._append(entry, None) for entry in entries if not (self._find(entry.key) or self._last(entry))]

    def find(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""
        with self._lock, self._reading():
            return self._find(key)

    def since(self, number: int) -> list[Entry]:
        """Return the entries with a number above `number`, in order."""
        with self._lock, self._reading():
            return [_read(line) for line in self._select("number > ? ORDER BY number", number)]

    def close(self) -> None:
        """Close the file; every entry is already written."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Run the block on one state of the file; errors of its content are raised as `DataError`.

        Otherwise another process could create an optional table, and write to it, between two statements of the block.
        """
        try:
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")  # nothing was written
        except (sqlite3.DatabaseError, OverflowError, RecursionError, TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise damage_error(self.path, error) from None

    # -- within a transaction ---------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Run the block in one transaction."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:  # SQLite ends some itself, for example if the disk is full
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise write_error(self.path, error) from None
                if type(error) is sqlite3.DatabaseError:
                    raise damage_error(self.path, error) from None
                raise

    def _append(self, entry: Entry, seen: int | None) -> Entry:
        existing = self._find(entry.key)
        if existing is not None:
            if _content(existing) != _content(entry):
                raise ConflictError(f"`key` must be unique to an answer; {entry.key!r} was used for another one.")
            return existing
        last = self._last(entry)
        if seen is not None and last != seen:
            raise ConflictError(
                f"row {entry.row} was answered by {entry.annotator!r} in another window: open it again."
            )
        entry = replace(entry, at=time.time())
        by_name = asdict(entry) | {"labels": json.dumps(entry.labels)}
        marks = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
        written = self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES ({marks})", by_name)
        assert written.lastrowid is not None
        if entry.degree is not None:
            if not self._has_table("degrees"):
                self._connection.execute(OPTIONAL_TABLES["degrees"])
            self._connection.execute("INSERT INTO degrees VALUES (?, ?)", (written.lastrowid, entry.degree))
        return replace(entry, number=written.lastrowid)

    def _find(self, key: str) -> Entry | None:
        line = self._select("key = ?", key).fetchone()
        return None if line is None else _read(line)

    def _select(self, condition: str, value: Any) -> sqlite3.Cursor:
        """Return the lines of entries that satisfy a condition."""
        degree, join = ("degree", "LEFT JOIN degrees USING (number)") if self._has_table("degrees") else ("NULL", "")
        return self._connection.execute(
            f"SELECT {_COLUMNS}, {degree}, number FROM entries {join} WHERE {condition}", (value,)
        )

    def _has_table(self, name: str) -> bool:
        """Return whether an optional table exists; another process may create it at any time."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return self._connection.execute(query, (name,)).fetchone() is not None

    def _last(self, entry: Entry) -> int:
        line = self._connection.execute(
            "SELECT max(number) FROM entries WHERE row = ? AND annotator = ?", (entry.row, entry.annotator)
        )
        return int(line.fetchone()[0] or 0)

    def _check_schema(self) -> None:
        """Raise unless the file is empty or a log, so that a database of another program is never changed."""
        schema = schema_of(self._connection)
        if not schema or is_log(schema):
            return
        others = sorted({*schema} - {*expected_schema(*OPTIONAL_TABLES)})
        if {*expected_schema()} <= {*schema} and all(kind == "table" for kind, *_ in others):
            raise DataError(
                f"{self.path} has the table {others[0][1]!r} of a later version of oneof or another program. Update "
                "oneof, or use another file (--session)."
            )
        raise DataError(f"{self.path} is a database of another program. Use another file (--session).")

    def _check_metadata(self, metadata: dict[str, str]) -> None:
        """Store the metadata of a new file, or compare them with the stored ones."""
        stored = dict(self._connection.execute("SELECT name, value FROM facts").fetchall())
        if not stored:
            self._connection.executemany("INSERT INTO facts VALUES (?, ?)", metadata.items())
            return
        for name, value in metadata.items():
            if stored.get(name) == value:
                continue
            if name == "classes":
                expected, received = (read_classes(text) for text in (stored.get(name), value))
                if received[: len(expected)] == expected:
                    self._connection.execute("UPDATE facts SET value = ? WHERE name = ?", (value, name))
                    self.new_classes = list(received[len(expected) :])
                    continue
                raise DataError(
                    f"{self.path} has answers for the classes {', '.join(expected)}; got the classes "
                    f"{', '.join(received)}. Use the same classes in the same order, new ones after them, or another "
                    "file (--session)."
                )
            raise DataError(
                f"{self.path} has answers for other {name}. Use the same table and the same options for reading it, or "
                f"another file (--session)."
            )


def _read(line: Sequence[Any]) -> Entry:
    """Return the entry of a line; raise ValueError if its values are invalid."""
    values = dict(zip((*_COLUMNS.split(", "), "degree", "number"), line, strict=True))
    entry = Entry(**values | {"labels": tuple(json.loads(values["labels"]))})
    is_valid = (
        entry.kind in KINDS
        and isinstance(entry.row, int)
        and isinstance(entry.annotator, str)
        and all(type(code) is int for code in entry.labels)
        and (entry.undoes is None or isinstance(entry.undoes, int))
        and (entry.degree is None or entry.degree in DEGREES)
    )
    if not is_valid:
        raise ValueError(f"entry {entry.number} has invalid values")
    return entry


def _content(entry: Entry) -> tuple[Any, ...]:
    """Return the fields that two entries of one key have in common."""
    return entry.row, entry.annotator, entry.kind, entry.labels, entry.degree
