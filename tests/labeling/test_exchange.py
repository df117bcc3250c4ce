"""Export of answers in the form that `fit` reads, and import of annotations."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputError, InputTypeError, LabelError
from oneof.io import read_labels, read_table
from oneof.labeling.content import table as table_module
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES

Begin = Callable[..., LabelingSession]


@pytest.fixture
def table(rows: np.ndarray) -> LabelTable:
    names = [f"bird {i}" for i in range(len(rows))]
    return LabelTable(pl.DataFrame({"name": names, "x": rows[:, 0]}), "species")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_export_has_the_candidate_sets(begin: Begin, table: LabelTable, tmp_path: Path, suffix: str) -> None:
    """The reader of the command line returns the sets of the session and the unchanged columns."""
    session = begin(table=table)
    session.answer(session.question_for(0), "owl")
    session.answer(session.question_for(1), ["owl", "wren"])
    session.reject(session.question_for(2), "wren")
    session.dont_know(session.question_for(3))
    path = session.export(tmp_path / f"out{suffix}")
    exported = read_table(path, labels=["species"])
    assert read_labels(exported, ["species"], classes=CLASSES) == session.candidates()
    assert exported.frame["name"].to_list() == table.frame["name"].to_list()
    assert np.allclose(exported.frame["x"], table.frame["x"])


def test_labels_that_contain_the_separator(rows: np.ndarray, tmp_path: Path) -> None:
    """A class named "a|b" is exported and read as one class."""
    with LabelingSession(rows, classes=["a", "a|b", "c"]) as session:
        session.answer(session.question_for(0), ["a", "a|b"])
        session.answer(session.question_for(1), "c")
        path = session.export(tmp_path / "out.csv")
        labels = read_labels(read_table(path, labels=["label"]), ["label"], classes=["a", "a|b", "c"])
        assert labels == session.candidates()


def test_rows_without_a_table_are_exported_as_features(begin: Begin, rows: np.ndarray, tmp_path: Path) -> None:
    session = begin()
    session.answer(session.question_for(0), "owl")
    frame = pl.read_parquet(session.export(tmp_path / "out.parquet"))
    assert np.array_equal(frame.drop("label").to_numpy(), rows)


def test_an_unsupported_export_format_is_an_error(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        begin(table=table).export(tmp_path / "out.xlsx")


def test_invalid_paths_and_options_are_errors(begin: Begin) -> None:
    """Paths and column names of a wrong type are errors."""
    session = begin()
    for act, sentence in (
        (lambda: session.export(None), "`path` must be a string or a pathlib.Path"),
        (lambda: session.import_annotations(None), "`path` must be a string or a pathlib.Path"),
        (lambda: session.import_annotations("long.csv", match=[1]), r"`match` must be text; got \[1\]"),
        (lambda: session.import_annotations("long.csv", item=3), "`item` must be text; got 3"),
    ):
        with pytest.raises(InputTypeError, match=sentence):
            act()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_long_table(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    """Workers become annotators; several lines of one item and worker, or "a|b", are one set; it is idempotent."""
    path = write(
        tmp_path / "long.csv",
        "item,worker,label\nbird 4,w1,owl\nbird 4,w2,owl\nbird 4, w2 ,wren\nbird 5,w1,finch|wren\nbird 6,w3,\n",
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
    """Existing answers of an annotator are not replaced."""
    session = begin(table=table)
    session.answer(session.question_for(4, "w1"), "wren")
    path = write(tmp_path / "long.csv", "item,worker,label\nbird 4,w1,owl\n")
    with pytest.warns(UserWarning, match=r"1 of 1 answers .* which are kept \(first: item 'bird 4', w1\)"):
        assert session.import_annotations(path, match="name") == 0
    assert session.candidates().to_sets()[4] == {"wren"}


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("item,worker,label\nbird 4,w1,owl\nbird 5,w1,emu\n", LabelError, "row 1: label 'emu'"),
        ("item,worker,label\nbird 4,w1,owl\nbird 99,w1,owl\n", DataError, "item 'bird 99' is not in the table"),
        ("item,worker,label\nbird 4,,owl\n", DataError, "'worker' is empty"),
        ("thing,worker,label\nbird 4,w1,owl\n", DataError, "column 'name' does not exist"),
    ],
)
def test_an_invalid_import_writes_no_answer(
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
    """Choices of every annotation that is not cancelled are read, several as a set; other results are ignored."""
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
def test_an_invalid_export_of_label_studio_is_an_error(
    begin: Begin, table: LabelTable, tmp_path: Path, text: str
) -> None:
    with pytest.raises(DataError):
        begin(table=table).import_annotations(write(tmp_path / "x.json", text), match="name")


def test_options_of_the_other_format_are_an_error(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    """Each format has its own options, and tasks of Label Studio need a field that identifies them."""
    long = write(tmp_path / "long.csv", "item,worker,label\nbird 4,w1,owl\n")
    tasks = write(tmp_path / "tasks.json", "[]")
    with pytest.raises(
        InputError, match=r"options for .* must be among degree, item, label, separator, worker; got 'choice'"
    ):
        begin(table=table).import_annotations(long, match="name", choice="kind")
    with pytest.raises(InputError, match=r"must name the column of the table and the field of the export"):
        begin(table=table).import_annotations(tasks)


def test_the_digest_does_not_depend_on_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are hashed in parts, and the digest is that of the whole table, as existing files of answers have it."""
    frame = pl.DataFrame({"a": [1.5, None, 3.0, 4.0, 5.0], "b": ["x", "y\n", None, '"', ""], "kind": ["p"] * 5})
    expected = hashlib.sha256(frame.drop("kind").write_ndjson().encode()).hexdigest()
    monkeypatch.setattr(table_module, "_HASHED_ROWS", 2)
    assert LabelTable(frame, "kind").fingerprint() == expected
