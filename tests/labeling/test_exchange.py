"""Export of answers in the form that `fit` reads, and import of annotations."""

import hashlib
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
from tests.labeling.conftest import CLASSES, say

Begin = Callable[..., LabelingSession]


@pytest.fixture
def table(rows: np.ndarray) -> LabelTable:
    names = [f"bird {i}" for i in range(len(rows))]
    return LabelTable(pl.DataFrame({"name": names, "x": rows[:, 0]}), "species")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("evidence", ["sets", "degrees", "model"])
def test_an_export_is_read_back(begin: Begin, table: LabelTable, tmp_path: Path, suffix: str, evidence: str) -> None:
    """The command line reads the sets, the weights of degrees or of the annotators' model, and unchanged columns."""
    session = begin(table=table)
    say(session, 0, "Ann", "owl", "probably" if evidence == "degrees" else None)
    say(session, 1, "Ann", ["owl", "wren"])
    session.reject(session.question_for(2), "wren")
    session.dont_know(session.question_for(3))
    for row in range(4, 16):
        say(session, row, "Ann", CLASSES[row % 3])
        say(session, row, "Bob", CLASSES[row % 2])
    combination = "model" if evidence == "model" else "votes"
    path = session.export(tmp_path / f"out{suffix}", **({"combination": "model"} if evidence == "model" else {}))
    exported = read_table(path, labels=["species"])
    weights = {"weighted": True, "kind": "likelihood"} if evidence != "sets" else {}
    labels = read_labels(exported, ["species"], classes=CLASSES, **weights)
    expected = session.candidates(combination)
    assert np.allclose(labels.weights, expected.weights, atol=1e-6)
    assert expected.is_weighted.any() == (evidence != "sets")
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
    """Workers become annotators, "a|b" is a set, and equal answers count once; it is idempotent."""
    path = write(
        tmp_path / "long.csv",
        "item,worker,label\nbird 4,w1,owl\nbird 4,w2,owl|wren\nbird 4, w2 ,wren|owl\n"
        "bird 5,w1,finch|wren\nbird 6,w3,\n",
    )
    session = begin(table=table)
    with pytest.warns(UserWarning, match="annotators without informative answers are omitted: 'w3'"):
        assert session.import_annotations(path, match="name") == 3
    sets = session.candidates().to_sets()
    assert (sets[4], sets[5], sets[6]) == ({"owl"}, {"finch", "wren"}, set(CLASSES))
    with pytest.warns(UserWarning, match="'w3'"):
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
        ("item,worker,label\nbird 4,w1,owl\nbird 99,w1,owl\n", InputError, "w1' is about the row 'bird 99', which"),
        ("item,worker,label\nbird 4,w1,owl\nbird 4,w1,wren\n", InputError, "row 1: annotator 'w1' answered .* twice"),
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


def test_the_digest_does_not_depend_on_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are hashed in parts, and the digest is that of the whole table, as existing files of answers have it."""
    frame = pl.DataFrame({"a": [1.5, None, 3.0, 4.0, 5.0], "b": ["x", "y\n", None, '"', ""], "kind": ["p"] * 5})
    expected = hashlib.sha256(frame.drop("kind").write_ndjson().encode()).hexdigest()
    monkeypatch.setattr(table_module, "_HASHED_ROWS", 2)
    assert LabelTable(frame, "kind").fingerprint() == expected
