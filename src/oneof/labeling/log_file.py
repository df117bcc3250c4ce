"""The file of a log: SQLite, told from the databases of other programs before anything of it runs."""

import json
import os
import sqlite3
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from oneof.errors import DataError

SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    annotator TEXT NOT NULL,
    row INTEGER NOT NULL,
    kind TEXT NOT NULL,
    labels TEXT NOT NULL,
    undoes INTEGER REFERENCES entries (number),
    purpose TEXT NOT NULL,
    guess INTEGER,
    score REAL
);
CREATE INDEX IF NOT EXISTS entries_by_row ON entries (row, annotator, number);
"""
_PATIENCE = 10.0
"""Seconds to wait while another process writes."""


def kept_classes(path: Path) -> tuple[str, ...] | None:
    """Return the classes that a file of answers was begun with; None where there is no such file, or it is no log."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as connection:
            connection.text_factory = _decode
            if made_of(connection) != expected():
                return None
            found = connection.execute("SELECT value FROM facts WHERE name = 'classes'").fetchone()
            return None if found is None else read_classes(found[0])
    # What SQLite says of a damaged schema may be no text. All is told when it is opened to be written.
    except (sqlite3.DatabaseError, UnicodeDecodeError, DataError):
        return None


def read_classes(text: Any) -> tuple[str, ...]:
    """Return the names of the classes from the fact that holds them."""
    try:
        return tuple(map(str, json.loads(text)))
    except (RecursionError, TypeError, ValueError):
        raise DataError("the answers do not say which classes they are about: give another file.") from None


def one_line(error: BaseException) -> str:
    """Return what SQLite says, which may quote several lines of a schema."""
    return " ".join(str(error).split())


def _decode(text: bytes) -> str:
    return text.decode(errors="replace")


def made_of(connection: sqlite3.Connection) -> list[Any]:
    """Return the tables, indices, views and triggers of a database, with the words by which they were made.

    Views, triggers, checks and computed columns are programs, which whoever wrote the file would have run here.
    """
    return sorted(connection.execute("SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_master").fetchall())


@cache
def expected() -> list[Any]:
    """Return what `made_of` says of a log."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(SCHEMA)
        return made_of(empty)


def connect(path: Path | None) -> sqlite3.Connection:
    """Open a file, made where there is none; None is one in memory."""
    try:
        if path is not None:
            # For its owner alone, since it tells who has said what; SQLite gives its files beside it the same rights.
            # One that is there is not opened: to close it would end the locks of other sessions of this process.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        # Transactions are begun and ended by hand: sqlite3 would begin one before some statements only.
        connection = sqlite3.connect(
            ":memory:" if path is None else path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = _decode
        return connection
    except (OSError, sqlite3.OperationalError) as error:
        raise unwritable(path, error) from None


def damaged(path: Path | None, error: Exception) -> DataError:
    """Return the error of a file that this program cannot have written so."""
    return DataError(f"{path} is damaged ({one_line(error)}): give a copy of it, or another file.")


def unwritable(path: Path | None, error: Exception) -> DataError:
    """Return the error of answers that could not be written."""
    why = error.strerror if isinstance(error, OSError) else one_line(error)
    return DataError(f"the answers cannot be written to {path} ({why}): mend that, or give another file.")
