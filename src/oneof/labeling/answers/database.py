"""SQLite file of a log: its tables, its connection, and the errors of a file that cannot be read or written."""

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
OPTIONAL_TABLES = {
    "degrees": "CREATE TABLE degrees (number INTEGER PRIMARY KEY REFERENCES entries (number), degree TEXT NOT NULL)"
}
_BUSY_TIMEOUT = 10.0
"""Seconds to wait while another process writes."""


def connect(path: Path | None) -> sqlite3.Connection:
    """Open a file and create it if it does not exist; None opens a database in memory."""
    try:
        if path is not None:
            # Readable by its owner only, since it has names; SQLite gives its auxiliary files the same rights.
            # An existing file is not opened here: closing it would end the locks of other sessions of this process.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        # Transactions are explicit: sqlite3 would begin one before some statements only.
        connection = sqlite3.connect(
            ":memory:" if path is None else path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = _decode
        return connection
    except (OSError, sqlite3.OperationalError) as error:
        raise write_error(path, error) from None


def schema_of(connection: sqlite3.Connection) -> list[Any]:
    """Return the tables, indices, views and triggers of a database, with their SQL statements.

    Views, triggers, checks and computed columns are code, which a manipulated file would execute here.
    """
    return sorted(connection.execute("SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_master").fetchall())


def is_log(schema: list[Any]) -> bool:
    """Return whether a schema is that of a log, with any of the optional tables."""
    present = {name for _, name, *_ in schema}
    return schema == expected_schema(*(name for name in OPTIONAL_TABLES if name in present))


@cache
def expected_schema(*tables: str) -> list[Any]:
    """Return the schema of a log with some optional tables, in the form of `schema_of`."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(SCHEMA + ";".join(OPTIONAL_TABLES[name] for name in tables))
        return schema_of(empty)


def stored_classes(path: Path) -> tuple[str, ...] | None:
    """Return the classes stored in a file of answers; None if the file does not exist or is not a log."""
    text = _read_fact(path, "classes")
    try:
        return None if text is None else read_classes(text)
    except DataError:  # it is raised when the file is opened for writing
        return None


def stored_settings(path: Path) -> dict[str, Any]:
    """Return the settings stored in a file of answers, in the types of JSON; empty without any, or if it is damaged."""
    text = _read_fact(path, "settings")
    try:
        settings = {} if text is None else json.loads(text)
    except (RecursionError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def store_settings(path: Path, settings: dict[str, Any]) -> None:
    """Store settings, in the types of JSON, in an existing file of answers; earlier versions ignore them."""
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_TIMEOUT)) as connection, connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES ('settings', ?)", (json.dumps(settings),))
    except sqlite3.DatabaseError as error:
        raise write_error(path, error) from None


def _read_fact(path: Path, name: str) -> str | None:
    """Return a fact of a file of answers; None without it, or if the file does not exist or is not a log."""
    if not path.is_file():
        return None
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_TIMEOUT)
        ) as connection:
            connection.text_factory = _decode
            if not is_log(schema_of(connection)):
                return None
            line = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
            return None if line is None or not isinstance(line[0], str) else line[0]
    # The message for a damaged schema may not be valid text. The error is raised when the file is opened for writing.
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None


def read_classes(text: Any) -> tuple[str, ...]:
    """Return the class names from their JSON text."""
    try:
        return tuple(map(str, json.loads(text)))
    except (RecursionError, TypeError, ValueError):
        raise DataError("the file of answers has no valid classes. Use another file (--session).") from None


def _decode(text: bytes) -> str:
    return text.decode(errors="replace")


def one_line(error: BaseException) -> str:
    """Return an error message of SQLite, which may quote a schema, in one line."""
    return " ".join(str(error).split())


def damage_error(path: Path | None, error: Exception) -> DataError:
    """Return the error of a damaged file."""
    return DataError(f"{path} is damaged ({one_line(error)}). Use a copy of it, or another file (--session).")


def write_error(path: Path | None, error: Exception) -> DataError:
    """Return the error of a failed write."""
    reason = error.strerror if isinstance(error, OSError) else one_line(error)
    return DataError(
        f"the answers cannot be written to {path} ({reason}). Correct this, or use another file (--session)."
    )
