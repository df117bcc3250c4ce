"""Degrees of certainty in files and over HTTP: stored answers, exports, imports, and requests."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputError
from oneof.io import read_labels, read_table
from oneof.labeling.answers.database import expected_schema, schema_of
from oneof.labeling.answers.log import AnswerLog, Entry
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, say
from tests.labeling.serving import Client, serving

Begin = Callable[..., LabelingSession]
OLD_LOG = Path(__file__).parents[1] / "fixtures" / "answers_before_degrees.sqlite"
"""Log of the last version without degrees, with answers to 12 rows of 2 features, an undo and a correction."""
OLD_SETS = [{"finch"}, {"finch", "owl"}, None, None, None, {"owl"}, *[None] * 6]


def open_old(path: Path) -> LabelingSession:
    return LabelingSession(np.arange(24.0).reshape(12, 2), classes=CLASSES, path=path, random_state=0)


def test_a_log_without_degrees_is_read_and_continued(tmp_path: Path) -> None:
    """A log of the last version has the same answers, keeps its schema without degrees, and accepts degrees."""
    path = tmp_path / "old.sqlite"
    shutil.copy(OLD_LOG, path)
    with open_old(path) as session:
        expected = [set(CLASSES) if one is None else one for one in OLD_SETS]
        assert session.candidates().to_sets() == expected
        assert [entry.degree for entry in session.answers.log()] == [None] * 9
        say(session, 3, "Ann", "owl")
        assert schema_of(session.answers._log._connection) == expected_schema()  # earlier versions read it
        say(session, 3, "Ann", "owl", "probably")
    with open_old(path) as session:
        assert session.answers.current_answer(3, "Ann").degree == "probably"
        assert session.candidates().to_sets()[:3] == expected[:3]
        assert [entry.number for entry in session.answers.log()] == list(range(1, 12))
        # Earlier versions open a log of exactly the first schema, and name any other "a database of another program".
        assert schema_of(session.answers._log._connection) != expected_schema()


def test_two_processes_share_degrees(tmp_path: Path) -> None:
    """A session reads the degrees that another one writes, also the first."""
    with open_old(tmp_path / "log") as first, open_old(tmp_path / "log") as second:
        say(second, 0, "Bob", "owl")
        assert first.candidates().to_sets()[0] == {"owl"}
        say(second, 1, "Bob", "owl", "sure")
        assert first.candidates().is_weighted.tolist() == [False, True, *[False] * 10]
        assert first.answers.current_answer(1, "Bob").degree == "sure"


def test_a_log_of_a_later_version_is_an_error(tmp_path: Path) -> None:
    """A log with an unknown table is not read, and the error says so."""
    with open_old(tmp_path / "log") as session:
        session.answers._log._connection.execute("CREATE TABLE moods (number INTEGER)")
    with pytest.raises(DataError, match=r"table 'moods' of a later version of oneof or another program\. Update"):
        open_old(tmp_path / "log")


def test_an_invalid_degree_in_a_file_is_an_error(tmp_path: Path) -> None:
    with open_old(tmp_path / "log") as session:
        say(session, 0, "Ann", "owl", "sure")
        session.answers._log._connection.execute("UPDATE degrees SET degree = 'certain'")
    with pytest.raises(DataError, match="damaged"):
        open_old(tmp_path / "log")


def test_a_repeated_key_has_one_degree() -> None:
    log = AnswerLog(None, {"classes": '["a"]'})
    entry = Entry("x", "Ann", 0, "one of", (0,), degree="sure")
    assert log.append(entry) == log.append(entry) == log.find("x")
    with pytest.raises(Exception, match="was used for another one"):
        log.append(Entry("x", "Ann", 0, "one of", (0,), degree="guess"))
    log.close()


@pytest.fixture
def table(rows: np.ndarray) -> LabelTable:
    return LabelTable(pl.DataFrame({"name": [f"bird {i}" for i in range(len(rows))], "x": rows[:, 0]}), "species")


def test_an_export_has_weights(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    """The command line reads the weights of rows with degrees, and the sets of others."""
    session = begin(table=table)
    say(session, 0, "Ann", "owl", "probably")
    say(session, 1, "Ann", ["owl", "wren"])
    read = read_table(session.export(tmp_path / "out.csv"), labels=["species"])
    labels = read_labels(read, ["species"], classes=CLASSES, weighted=True, kind="likelihood")
    np.testing.assert_allclose(labels.weights, session.candidates().weights, atol=1e-6)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("match", [None, "name"])
def test_exported_answers_are_imported_with_their_degrees(
    begin: Begin, table: LabelTable, tmp_path: Path, suffix: str, match: str | None
) -> None:
    """Degrees are written as stated; a second import changes nothing."""
    session, other = begin(table=table), begin(table=table)
    say(session, 0, "Ann", "owl", "probably")
    say(session, 0, "Bob", ["owl", "wren"])
    session.reject(session.question_for(1, "Bob"), "owl", degree="guess")
    session.dont_know(session.question_for(2, "Bob"))
    path = session.export_answers(tmp_path / f"answers{suffix}", match=match)
    assert other.import_annotations(path, match=match) == 3
    assert other.import_annotations(path, match=match) == 0
    assert other.candidates() == session.candidates()
    assert sorted((e.row, e.annotator, e.degree) for e in other.answers.log()) == [
        (0, "Ann", "probably"),
        (0, "Bob", None),
        (1, "Bob", "guess"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("item,worker,label,degree\n0,w,owl,certain\n", "row 0: the degree must be sure, probably, guess or empty"),
        ("item,worker,label,degree\n0,w,owl,sure\n0,w,wren,\n", "row 1: the degree must be that of the other lines"),
    ],
)
def test_invalid_degrees_of_an_import(begin: Begin, tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "long.csv").write_text(text)
    with pytest.raises(DataError, match=sentence):
        begin().import_annotations(tmp_path / "long.csv")


def test_invalid_paths_of_exported_answers(begin: Begin, tmp_path: Path) -> None:
    for name, sentence in (
        ("a.xlsx", r"must end in \.csv or \.jsonl"),
        ("absent/a.csv", "does not exist"),
    ):
        with pytest.raises(InputError, match=sentence):
            begin().export_answers(tmp_path / name)


def test_degrees_over_http(noted: LabelingSession) -> None:
    """A degree is written and shown in the history; invalid ones are errors and write nothing."""
    with serving(noted, annotator="Ann") as server:
        client = Client(server.link)
        question = client.ask()
        sent = {"question": question["id"], "kind": "one of", "labels": [0], "key": "k"}
        for wrong in ({"degree": "certain"}, {"degree": 1}, {"kind": "unknown", "labels": [], "degree": "sure"}):
            reply = client.post("api/answer", sent | wrong)
            assert reply.status == 400
            assert "`degree` must be" in json.loads(reply.body)["error"]
        assert noted.answers.log() == []
        state = client.post("api/answer", sent | {"degree": "guess"}).json()["state"]
        assert state["history"][0]["degree"] == "guess"
        undone = client.post("api/undo", {"annotator": "Ann", "window": "w", "key": "u", "number": 1}).json()
        assert undone["undone"]["degree"] == "guess"
