"""The log of answers: what is acknowledged is on the disk, and nothing overwrites anything."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.errors import ConflictError, DataError
from oneof.labeling.answer_state import AnswerState
from oneof.labeling.answer_log import AnswerLog, Entry
from oneof.labeling.answer_log import stored_classes

FACTS = {"rows": "some", "classes": '["a", "b"]'}


def entry(key, row=0, annotator="Ann", **more):
    return Entry(key, annotator, row, **({"kind": "one of", "labels": (0,)} | more))


def test_entries_come_back_as_they_were_written(tmp_path: Path) -> None:
    """In order, numbered from 1, with every field, also for another opening of the file."""
    log = AnswerLog(tmp_path / "log", FACTS)
    first = log.append(entry("x", labels=(0, 1), purpose="check", guess=1, score=0.25))
    second = log.append(entry("y", row=7, kind="undo", labels=(), undoes=1))
    other = AnswerLog(tmp_path / "log", FACTS)
    assert other.since(0) == [first, second]
    assert other.since(1) == [second]
    assert (first.number, second.number) == (1, 2)
    assert (first.labels, first.purpose, first.guess, first.score) == ((0, 1), "check", 1, 0.25)
    assert first.at > 0
    other.close()
    log.close()


def test_an_acknowledged_entry_is_committed(tmp_path: Path) -> None:
    """When `append` returns, another connection sees the entry, and the file is in WAL mode."""
    log = AnswerLog(tmp_path / "log", FACTS)
    log.append(entry("x"))
    other = sqlite3.connect(tmp_path / "log")
    assert other.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    log.close()


def test_an_entry_sent_twice_is_written_once() -> None:
    """A repeated key returns the entry that is there; for another answer it is refused."""
    log = AnswerLog(None, FACTS)
    first = log.append(entry("x"), seen=0)
    assert log.append(entry("x"), seen=0) == first
    with pytest.raises(ConflictError, match="was used for another answer"):
        log.append(entry("x", labels=(1,)))
    assert len(log.since(0)) == 1
    log.close()


def test_a_writer_who_has_not_seen_the_last_entry_is_refused(tmp_path: Path) -> None:
    """Of two windows that saw the same state of a row, whichever process they are in, one writes."""
    logs = [AnswerLog(tmp_path / "log", FACTS) for _ in range(2)]
    logs[0].append(entry("x"), seen=0)
    with pytest.raises(ConflictError, match="row 0 was changed by 'Ann' in another window"):
        logs[1].append(entry("y", labels=(1,)), seen=0)
    logs[1].append(entry("z", annotator="Bob"), seen=0)  # another annotator overwrites nothing
    logs[1].append(entry("w", row=1), seen=0)
    logs[1].append(entry("v", labels=(1,)), seen=1)
    assert [found.key for found in logs[0].since(0)] == ["x", "z", "w", "v"]
    for log in logs:
        log.close()


def test_many_are_written_together_or_not_at_all() -> None:
    log = AnswerLog(None, FACTS)
    broken = entry("c", row=2, kind=None)  # the table refuses a missing kind
    with pytest.raises(sqlite3.IntegrityError):
        log.append_all([entry("a"), entry("b", row=1), broken])
    assert log.since(0) == []
    log.append(entry("a"))
    assert [found.key for found in log.append_all([entry("a"), entry("b", row=1), entry("d", row=0)])] == ["b"]
    log.close()


@given(
    st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 1), st.sampled_from(["one of", "skip", "undo"]))),
    st.integers(0, 10),
)
def test_what_will_stand_is_what_stands_when_entries_are_added(said: list, n: int) -> None:
    """After any entries, answers, skips and undos alike, for all rows that the others are about."""
    ledger, entries = AnswerState(), []
    for number, (who, row, kind) in enumerate(said, 1):
        earlier = [e.number for e in entries if (e.row, e.annotator) == (row, who) and e.kind != "undo"]
        undone = {e.undoes for e in entries}
        left = [found for found in earlier if found not in undone]
        if kind != "undo" or left:
            undoes = left[-1] if kind == "undo" else None
            entries.append(Entry(str(number), who, row, kind, undoes=undoes, number=number))
    for entry in entries[:n]:
        ledger.add(entry)
    before = {row: dict(ledger.answers(row)) for row in range(2)}
    foreseen = ledger.after(entries[n:])
    assert {row: ledger.answers(row) for row in range(2)} == before
    for entry in entries[n:]:
        ledger.add(entry)
    assert foreseen == {entry.row: ledger.answers(entry.row) for entry in entries[n:]}


@pytest.mark.parametrize("other", [FACTS | {"rows": "other"}, FACTS | {"classes": '["a", "c"]'}])
def test_a_log_is_of_one_table_and_its_classes(tmp_path: Path, other: dict) -> None:
    AnswerLog(tmp_path / "log", FACTS).close()
    with pytest.raises(DataError, match=r"other rows|other classes: it was begun with a, b; now they are a, c\."):
        AnswerLog(tmp_path / "log", other)


def test_another_file_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database, " * 100)
    with pytest.raises(DataError, match="is no log of a labeling session"):
        AnswerLog(tmp_path / "notes.txt", FACTS)
    assert (tmp_path / "notes.txt").read_text() == "no database, " * 100


def test_another_program_keeps_its_database(tmp_path: Path) -> None:
    """A database that is no log is told, and not a byte of it is changed."""
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("CREATE TABLE birds (name TEXT)")
        other.commit()
    before = (tmp_path / "other").read_bytes()
    with pytest.raises(DataError, match="a database of something else"):
        AnswerLog(tmp_path / "other", FACTS)
    assert (tmp_path / "other").read_bytes() == before


def test_answers_are_for_their_owner(tmp_path: Path) -> None:
    """Nobody else may read a new file of them, nor what SQLite keeps beside it, whatever is usual here."""
    usual = os.umask(0)
    try:
        log = AnswerLog(tmp_path / "log", FACTS)
        log.append(entry("x"))
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(usual)
    assert modes == {"log": 0o600, "log-wal": 0o600, "log-shm": 0o600}
    log.close()


@pytest.mark.parametrize("place", ["absent/log", "."])
def test_where_nothing_can_be_written(tmp_path: Path, place: str) -> None:
    with pytest.raises(DataError, match="cannot be written to"):
        AnswerLog(tmp_path / place, FACTS)


def test_a_full_disk_is_told_and_labeling_goes_on(tmp_path: Path) -> None:
    """What could not be written is not there; as soon as there is room again, answers are taken."""
    log = AnswerLog(tmp_path / "log", FACTS)
    [pages] = log._connection.execute("PRAGMA page_count").fetchone()
    log._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DataError, match="full"):
        log.append_all([entry(str(number), row=number) for number in range(1000)])
    assert log.since(0) == []
    log._connection.execute("PRAGMA max_page_count = 1000")
    written = log.append(entry("x"))
    assert log.since(0) == [written]
    log.close()


def test_the_classes_of_a_log_can_be_asked(tmp_path: Path) -> None:
    """Where there is one; any other file, or none, has none."""
    AnswerLog(tmp_path / "log", FACTS).close()
    (tmp_path / "notes").write_text("no database, " * 100)
    assert stored_classes(tmp_path / "log") == ("a", "b")
    assert stored_classes(tmp_path / "notes") is None
    assert stored_classes(tmp_path / "absent") is None
    assert not (tmp_path / "absent").exists()
