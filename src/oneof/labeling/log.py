"""The log of a labeling session: every answer, skip and undo, in a SQLite file that is only ever added to.

An entry is committed to the disk before `append` returns, so that a process that is killed afterwards has lost
nothing. Two processes, or two windows, may write to one file: an entry names the last one that its writer has seen of
the same row and annotator, and is refused where there is a later one.
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
from oneof.labeling.log_file import SCHEMA, connect, damaged, expected, made_of, one_line, read_classes, unwritable

Kind = Literal["one of", "none of", "unknown", "skip", "undo"]
KINDS: tuple[Kind, ...] = ("one of", "none of", "unknown", "skip", "undo")
"""The label is one of those named; it is none of them; the annotator cannot tell; not now; an entry is taken back."""

_FORMAT = "1"
_COLUMNS = "key, at, annotator, row, kind, labels, undoes, purpose, guess, score"


@dataclass(frozen=True)
class Entry:
    """One thing that an annotator did.

    Attributes
    ----------
    key : str
        Chosen by the writer: an entry that is sent twice, since its acknowledgement was lost, is written once.
    annotator : str
    row : int
    kind : {"one of", "none of", "unknown", "skip", "undo"}
    labels : tuple of int
        Codes of the classes that were named.
    undoes : int or None
        The number of the entry that is taken back.
    purpose : {"query", "check", "free", "import"}
        Whether the row was asked since it would tell most, or was drawn at random to judge the model; "free": the
        annotator's own choice.
    guess : int or None
        What the model would have said, before it could know.
    score : float or None
        What the question was chosen by.
    at : float
        Seconds since 1970, set by the log.
    number : int
        Given by the log: 1, 2, ...
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
    at: float = 0.0
    number: int = 0


class AnswerLog:
    """Entries in a SQLite file.

    Parameters
    ----------
    path : path-like or None
        Made where there is none; None keeps the log in memory.
    facts : dict of str to str
        What the rows and classes are. They are kept with the first opening, and must be the same at each later one.

    Raises
    ------
    DataError
        If the file cannot be written, is no such log, or is one of other rows or classes.
    """

    def __init__(self, path: Path | None, facts: dict[str, str]) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection = connect(path)
        try:
            self._check_kind()
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")  # on the disk, not only with the operating system
            with self._writing():
                for statement in filter(str.strip, SCHEMA.split(";")):
                    self._connection.execute(statement)
                self._check(facts | {"format": _FORMAT})
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise unwritable(path, error) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter where a damaged schema is quoted
            self._connection.close()
            raise DataError(f"{path} is no log of a labeling session ({one_line(error)}): give another file.") from None
        except BaseException:
            self._connection.close()
            raise

    def append(self, entry: Entry, *, seen: int | None = None) -> Entry:
        """Write an entry in one transaction, and return it with its number once it is on the disk.

        Parameters
        ----------
        entry : Entry
        seen : int, optional
            The number of the last entry of this row and annotator that the writer knows of, 0 for none. By default
            whatever it is.

        Raises
        ------
        ConflictError
            If there is a later entry of this row and annotator.
        """
        with self._writing():
            return self._append(entry, seen)

    def append_all(self, entries: Sequence[Entry]) -> list[Entry]:
        """Write all entries or, if something goes wrong, none, and return those that were written.

        Left out are those whose keys are there already, and those of rows of which the annotator has said something.
        """
        with self._writing():
            return [self._append(entry, None) for entry in entries if not (self._find(entry.key) or self._last(entry))]

    def find(self, key: str) -> Entry | None:
        """Return the entry of a key, None where there is none."""
        with self._lock, self._reading():
            return self._find(key)

    def since(self, number: int) -> list[Entry]:
        """Return the entries after one, in order."""
        with self._lock, self._reading():
            found = self._connection.execute(
                f"SELECT {_COLUMNS}, number FROM entries WHERE number > ? ORDER BY number", (number,)
            )
            return [_read(line) for line in found]

    def close(self) -> None:
        """Close the file; nothing is waiting to be written."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Tell damage of the file, and entries that this program cannot have written."""
        try:
            yield
        except (sqlite3.DatabaseError, OverflowError, RecursionError, TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise damaged(self.path, error) from None

    # -- within a transaction ---------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:  # SQLite ends some itself, as where the disk is full
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise unwritable(self.path, error) from None
                if type(error) is sqlite3.DatabaseError:
                    raise damaged(self.path, error) from None
                raise

    def _append(self, entry: Entry, seen: int | None) -> Entry:
        known = self._find(entry.key)
        if known is not None:
            if (known.row, known.annotator, known.kind, known.labels) != (
                entry.row,
                entry.annotator,
                entry.kind,
                entry.labels,
            ):
                raise ConflictError(f"the key {entry.key!r} was used for another answer: give each answer its own.")
            return known
        last = self._last(entry)
        if seen is not None and last != seen:
            raise ConflictError(
                f"row {entry.row} was changed by {entry.annotator!r} in another window: look at it again."
            )
        entry = replace(entry, at=time.time())
        by_name = asdict(entry) | {"labels": json.dumps(entry.labels)}
        marks = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
        written = self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES ({marks})", by_name)
        assert written.lastrowid is not None
        return replace(entry, number=written.lastrowid)

    def _find(self, key: str) -> Entry | None:
        line = self._connection.execute(f"SELECT {_COLUMNS}, number FROM entries WHERE key = ?", (key,)).fetchone()
        return None if line is None else _read(line)

    def _last(self, entry: Entry) -> int:
        found = self._connection.execute(
            "SELECT max(number) FROM entries WHERE row = ? AND annotator = ?", (entry.row, entry.annotator)
        )
        return int(found.fetchone()[0] or 0)

    def _check_kind(self) -> None:
        """Raise unless the file is empty or a log, before anything in another program's database is changed."""
        if made_of(self._connection) not in ([], expected()):
            raise DataError(f"{self.path} is a database of something else: give another file.")

    def _check(self, facts: dict[str, str]) -> None:
        kept = dict(self._connection.execute("SELECT name, value FROM facts").fetchall())
        if not kept:
            self._connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
            return
        for name, value in facts.items():
            if kept.get(name) == value:
                continue
            if name == "classes":
                begun, given = (", ".join(read_classes(text)) for text in (kept.get(name), value))
                raise DataError(
                    f"{self.path} holds answers about other classes: it was begun with {begun}; now they are {given}. "
                    "Give those that it was begun with, in their order, or another file."
                )
            raise DataError(
                f"{self.path} holds answers about other {name}: give the table that it was begun with, or another file."
            )


def _read(line: Sequence[Any]) -> Entry:
    found = dict(zip((*_COLUMNS.split(", "), "number"), line, strict=True))
    entry = Entry(**found | {"labels": tuple(json.loads(found["labels"]))})
    sound = (
        entry.kind in KINDS
        and isinstance(entry.row, int)
        and isinstance(entry.annotator, str)
        and all(type(code) is int for code in entry.labels)
        and (entry.undoes is None or isinstance(entry.undoes, int))
    )
    if not sound:
        raise ValueError(f"entry {entry.number} is none that was written here")
    return entry
