"""Log of answers: an acknowledged entry is on the disk, none is overwritten; and aggregation to candidate sets."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.errors import ConflictError, DataError
from oneof.labeling.answers.database import stored_classes
from oneof.labeling.answers.log import AnswerLog, Entry
from oneof.labeling.answers.state import AnswerState, allowed_classes, combine

METADATA = {"rows": "some", "classes": '["a", "b"]'}


def entry(key, row=0, annotator="Ann", **more):
    return Entry(key, annotator, row, **({"kind": "one of", "labels": (0,)} | more))


def test_entries_are_read_as_they_were_written(tmp_path: Path) -> None:
    """When `append` returns, another connection reads the entries in order, numbered from 1, with every field."""
    log = AnswerLog(tmp_path / "log", METADATA)
    first = log.append(entry("x", labels=(0, 1), purpose="check", guess=1, score=0.25))
    second = log.append(entry("y", row=7, kind="undo", labels=(), undoes=1))
    second_log = AnswerLog(tmp_path / "log", METADATA)
    assert second_log.since(0) == [first, second]
    assert second_log.since(1) == [second]
    assert (first.number, second.number) == (1, 2)
    assert (first.labels, first.purpose, first.guess, first.score) == ((0, 1), "check", 1, 0.25)
    assert first.at > 0
    second_log.close()
    log.close()


def test_the_first_degree_is_read_with_its_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry written between two statements of a read has its degree, also if it is the first with a degree."""
    path = tmp_path / "log"
    with closing(AnswerLog(path, METADATA)) as writer, closing(AnswerLog(path, METADATA)) as log:
        has_table = log._has_table

        def write_in_between(name: str) -> bool:
            exists = has_table(name)
            monkeypatch.setattr(log, "_has_table", has_table)
            writer.append(entry("x", degree="probably"))
            return exists

        monkeypatch.setattr(log, "_has_table", write_in_between)
        assert [*log.since(0), *log.since(0)] == [entry("x", degree="probably", at=writer.since(0)[0].at, number=1)]


def test_an_entry_sent_twice_is_written_once() -> None:
    """A repeated key returns the existing entry; for another answer it is an error."""
    log = AnswerLog(None, METADATA)
    first = log.append(entry("x"), seen=0)
    assert log.append(entry("x"), seen=0) == first
    with pytest.raises(ConflictError, match="was used for another one"):
        log.append(entry("x", labels=(1,)))
    assert len(log.since(0)) == 1
    log.close()


def test_several_entries_are_written_atomically() -> None:
    """After an error none of the entries is written; existing keys and answered rows are not written."""
    log = AnswerLog(None, METADATA)
    broken = entry("c", row=2, kind=None)  # the column is NOT NULL
    with pytest.raises(sqlite3.IntegrityError):
        log.append_all([entry("a"), entry("b", row=1), broken])
    assert log.since(0) == []
    log.append(entry("a"))
    assert [stored.key for stored in log.append_all([entry("a"), entry("b", row=1), entry("d", row=0)])] == ["b"]
    log.close()


@given(st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 1), st.sampled_from(["one of", "skip", "undo"]))))
def test_the_current_answer_is_the_last_one_that_is_not_undone(actions: list) -> None:
    """For any entries, an annotator's current answer to a row is the last answer that no entry undoes."""
    state, entries = AnswerState(), []
    for number, (who, row, kind) in enumerate(actions, 1):
        undone = {e.undoes for e in entries}
        earlier = [e.number for e in entries if (e.row, e.annotator) == (row, who) and e.kind != "undo"]
        undoable = [number for number in earlier if number not in undone]
        if kind != "undo" or undoable:
            undoes = undoable[-1] if kind == "undo" else None
            entries.append(Entry(str(number), who, row, kind, undoes=undoes, number=number))
            state.add(entries[-1])
        standing = [e for e in entries if e.kind == "one of" and e.number not in {e.undoes for e in entries}]
        for i in range(2):
            assert state.answers(i) == {e.annotator: e for e in standing if e.row == i}
        assert state.annotators() == sorted({e.annotator for e in standing})


def other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE birds (name TEXT)")
        other.commit()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("no database, " * 100), "is not a file of answers"),
        (other_database, "a database of another program"),
        (Path.mkdir, "cannot be written to"),
    ],
)
def test_another_file_is_not_a_log(tmp_path: Path, make: Any, message: str) -> None:
    """A file that is not a log, or a folder, is an error, has no classes, and no byte of it changes."""
    path = tmp_path / "other"
    make(path)
    before = path.is_file() and path.read_bytes()
    with pytest.raises(DataError, match=message):
        AnswerLog(path, METADATA)
    assert (path.is_file() and path.read_bytes()) == before
    assert stored_classes(path) is None
    with pytest.raises(DataError, match="cannot be written to"):
        AnswerLog(tmp_path / "absent" / "log", METADATA)


def test_files_of_answers_are_private(tmp_path: Path) -> None:
    """A new file and the auxiliary files of SQLite, as of the mode WAL, are readable by their owner only."""
    umask = os.umask(0)
    try:
        log = AnswerLog(tmp_path / "log", METADATA)
        log.append(entry("x"))
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(umask)
    assert modes == {"log": 0o600, "log-wal": 0o600, "log-shm": 0o600}
    log.close()


def test_labeling_continues_after_a_full_disk(tmp_path: Path) -> None:
    """A failed write leaves no entry; answers are written again when there is space."""
    log = AnswerLog(tmp_path / "log", METADATA)
    [pages] = log._connection.execute("PRAGMA page_count").fetchone()
    log._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DataError, match="full"):
        log.append_all([entry(str(number), row=number) for number in range(1000)])
    assert log.since(0) == []
    log._connection.execute("PRAGMA max_page_count = 1000")
    written = log.append(entry("x"))
    assert log.since(0) == [written]
    log.close()


def test_stored_classes(tmp_path: Path) -> None:
    """The classes of a log are returned; for a missing file it is None, and no file is made."""
    AnswerLog(tmp_path / "log", METADATA).close()
    assert stored_classes(tmp_path / "log") == ("a", "b")
    assert stored_classes(tmp_path / "absent") is None
    assert not (tmp_path / "absent").exists()


K = 4
CLASSES = np.array(list("abcd"))
sets = st.sets(st.integers(0, K - 1), min_size=1)


def answer_of(who, labels, kind="one of"):
    return Entry("k", who, 0, kind, tuple(sorted(labels)))


def combined(answers, start=None, **options):
    mask = np.ones((1, K), dtype=bool) if start is None else start
    return combine({0: {str(i): entry for i, entry in enumerate(answers)}}, mask, CLASSES, **options).mask[0]


@given(sets)
def test_none_of_leaves_the_complement(labels):
    """The answer `none of S` leaves the same classes as `one of the complement of S`."""
    complement = set(range(K)) - labels
    assert set(allowed_classes(answer_of("Ann", labels, "none of"), K)) == complement
    if complement:
        assert np.array_equal(combined([answer_of("A", labels, "none of")]), combined([answer_of("A", complement)]))


@given(st.lists(sets | st.just(set()), max_size=4), st.integers(1, 3), st.sampled_from([1, None]), sets)
def test_answers_are_votes(answers, min_votes, top_k, initial):
    """The candidates have enough votes, and the most with ``top_k=1``; their order does not matter.

    If the answers have common classes, these are the candidates. A row without such a class, or with all of them,
    keeps its initial set.
    """
    start = np.isin(np.arange(K), list(initial))[None]
    entries = [answer_of(str(i), s, "one of" if s else "unknown") for i, s in enumerate(answers)]
    found, again = (combined(e, start, min_votes=min_votes, top_k=top_k) for e in (entries, entries[::-1]))
    assert np.array_equal(found, again)
    votes = [sum(k in s for s in answers if len(s) < K) for k in range(K)]
    expected = {k for k in range(K) if votes[k] >= (max(votes) if top_k else 1) and votes[k] >= min_votes}
    assert set(np.flatnonzero(found)) == (expected if 0 < len(expected) < K else initial)
    informative = [s for s in answers if 0 < len(s) < K]
    if top_k and len(informative) >= min_votes and (common := informative and set.intersection(*informative)):
        assert expected == common
