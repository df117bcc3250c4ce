"""Answers go out in the form that `fit` reads, and come in from elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputError, InputTypeError, LabelError
from oneof.labeling.session import LabelingSession
from oneof.labeling.table import LabelTable
from oneof.tables import read_labels, read_table
from tests.labeling.conftest import CLASSES

Begin = Callable[..., LabelingSession]


@pytest.fixture
def table(rows: np.ndarray) -> LabelTable:
    names = [f"bird {i}" for i in range(len(rows))]
    return LabelTable(pl.DataFrame({"name": names, "x": rows[:, 0]}), "species")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_export_holds_the_candidate_sets(begin: Begin, table: LabelTable, tmp_path: Path, suffix: str) -> None:
    """What the command line's own reader finds in it are the sets of the session, beside the table as it was."""
    session = begin(table=table)
    session.answer(session.question_for(0), "owl")
    session.answer(session.question_for(1), ["owl", "wren"])
    session.reject(session.question_for(2), "wren")
    session.dont_know(session.question_for(3))
    path = session.export(tmp_path / f"out{suffix}")
    found = read_table(path, verbatim=["species"])
    assert read_labels(found, ["species"], classes=CLASSES) == session.candidates()
    assert found.frame["name"].to_list() == table.frame["name"].to_list()
    assert np.allclose(found.frame["x"], table.frame["x"])


def test_labels_that_hold_the_separator(rows: np.ndarray, tmp_path: Path) -> None:
    """A class named "a|b" comes back as one class."""
    with LabelingSession(rows, classes=["a", "a|b", "c"]) as session:
        session.answer(session.question_for(0), ["a", "a|b"])
        session.answer(session.question_for(1), "c")
        path = session.export(tmp_path / "out.csv")
        found = read_labels(read_table(path, verbatim=["label"]), ["label"], classes=["a", "a|b", "c"])
        assert found == session.candidates()


def test_rows_without_a_table_are_exported_as_features(begin: Begin, rows: np.ndarray, tmp_path: Path) -> None:
    session = begin()
    session.answer(session.question_for(0), "owl")
    frame = pl.read_parquet(session.export(tmp_path / "out.parquet"))
    assert np.array_equal(frame.drop("label").to_numpy(), rows)


def test_an_export_elsewhere_is_refused(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        begin(table=table).export(tmp_path / "out.xlsx")


def test_a_place_that_is_none_is_refused(begin: Begin) -> None:
    """Where to write to, what to read, and what the file calls things are texts or paths."""
    session = begin()
    for act, sentence in (
        (lambda: session.export(None), "path=None names no file"),
        (lambda: session.import_annotations(None), "path=None names no file"),
        (lambda: session.import_annotations("long.csv", match=[1]), r"match=\[1\] is not possible: give text"),
        (lambda: session.import_annotations("long.csv", item=3), "item=3 is not possible: give text"),
    ):
        with pytest.raises(InputTypeError, match=sentence):
            act()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_long_table(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    """Workers become annotators; several lines of one item and worker, or "a|b", are one set; again changes nothing."""
    path = write(
        tmp_path / "long.csv",
        "item,worker,label\nbird 4,w1,owl\nbird 4,w2,owl\nbird 4,w2,wren\nbird 5,w1,finch|wren\nbird 6,w3,\n",
    )
    session = begin(table=table)
    assert session.import_annotations(path, match="name") == 3
    sets = session.candidates().to_sets()
    assert (sets[4], sets[5], sets[6]) == ({"owl"}, {"finch", "wren"}, set(CLASSES))
    assert session.import_annotations(path, match="name") == 0
    assert {entry.annotator for entry in session.answers.log()} == {"w1", "w2"}


def test_items_by_number_and_other_columns(begin: Begin, tmp_path: Path) -> None:
    path = write(tmp_path / "long.tsv", "row\twho\tsaid\n7\tx\towl\n8\tx\twren\n")
    session = begin()
    assert session.import_annotations(path, item="row", worker="who", label="said") == 2
    assert session.candidates().to_sets()[7:9] == [{"owl"}, {"wren"}]


def test_an_import_does_not_overwrite(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    """What an annotator has said here stays, also where it was taken back."""
    session = begin(table=table)
    session.answer(session.question_for(4, "w1"), "wren")
    path = write(tmp_path / "long.csv", "item,worker,label\nbird 4,w1,owl\n")
    assert session.import_annotations(path, match="name") == 0
    assert session.candidates().to_sets()[4] == {"wren"}


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("item,worker,label\nbird 4,w1,owl\nbird 5,w1,emu\n", LabelError, "row 1: label 'emu'"),
        ("item,worker,label\nbird 4,w1,owl\nbird 99,w1,owl\n", DataError, "no item 'bird 99'"),
        ("item,worker,label\nbird 4,,owl\n", DataError, "'worker' is empty"),
        ("thing,worker,label\nbird 4,w1,owl\n", DataError, "no column 'item'"),
    ],
)
def test_a_bad_import_writes_nothing(
    begin: Begin, table: LabelTable, tmp_path: Path, text: str, error: type[Exception], sentence: str
) -> None:
    session = begin(table=table)
    with pytest.raises(error, match=sentence):
        session.import_annotations(write(tmp_path / "long.csv", text), match="name")
    assert session.answers.log() == []


def choose(*labels: str, by: object = 1, name: str = "kind", **more: object) -> dict:
    result = {"type": "choices", "from_name": name, "to_name": "text", "value": {"choices": list(labels)}}
    return {"completed_by": by, "result": [result], **more}


def test_label_studio(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    """Choices of every annotation that was not cancelled, several at once being a set; other results are left alone."""
    tasks = [
        {"id": 1, "data": {"name": "bird 1"}, "annotations": [choose("owl"), choose("owl", by={"email": "b@x.org"})]},
        {
            "id": 2,
            "data": {"name": "bird 2"},
            "annotations": [choose("owl", "wren"), choose("finch", was_cancelled=True)],
        },
        {"id": 3, "data": {"name": "bird 3"}, "annotations": []},
        {"id": 4, "data": {"name": "bird 4"}, "annotations": [{"result": [{"type": "rectangle", "value": {"x": 1}}]}]},
    ]
    session = begin(table=table)
    path = write(tmp_path / "export.json", json.dumps(tasks))
    assert session.import_annotations(path, match="name") == 3
    assert session.candidates().to_sets()[1:5] == [{"owl"}, {"owl", "wren"}, set(CLASSES), set(CLASSES)]
    assert {entry.annotator for entry in session.answers.log()} == {"1", "b@x.org"}
    assert session.import_annotations(path, match="name") == 0


def test_label_studio_in_short_form(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    tasks = [
        {"id": 1, "name": "bird 1", "kind": "owl", "annotator": 3},
        {"id": 2, "name": "bird 2", "kind": {"choices": ["owl", "wren"]}, "annotator": 3},
    ]
    session = begin(table=table)
    assert session.import_annotations(write(tmp_path / "min.json", json.dumps(tasks)), match="name", choice="kind") == 2
    assert session.candidates().to_sets()[1:3] == [{"owl"}, {"owl", "wren"}]


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"data": {}}]', '[{"data": 3, "name": 4}]'])
def test_what_is_no_export_of_label_studio(begin: Begin, table: LabelTable, tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError):
        begin(table=table).import_annotations(write(tmp_path / "x.json", text), match="name")


def test_options_that_a_file_has_no_use_for(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    """Each kind of file has its own; and tasks of Label Studio must be told apart by something."""
    long = write(tmp_path / "long.csv", "item,worker,label\nbird 4,w1,owl\n")
    tasks = write(tmp_path / "tasks.json", "[]")
    with pytest.raises(InputError, match="'choice' says nothing of"):
        begin(table=table).import_annotations(long, match="name", choice="kind")
    with pytest.raises(InputError, match=r"tells the tasks .* apart"):
        begin(table=table).import_annotations(tasks)
