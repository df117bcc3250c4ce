"""Reading: the same rows in every format, the same batches from every position, errors that name the line."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import trial
from oneof.candidates.labels import label_to_text
from oneof.errors import DataError, InputError
from oneof.io import Column, align_columns
from oneof.io.batches import file_sizes, iterate_batches, read_table
from oneof.io.features import BatchSpec
from oneof.io.formats import binary as decoding
from oneof.stream import open_source, read_batches
from tests.stream.conftest import N_ROWS, make_frame, make_numbers, write_svmlight

COLUMNS = (Column("span", "number"), Column("mass", "number"), Column("color", "category"), Column("remark", "text"))
FORMS = ("t.csv", "t.tsv", "t.csv.gz", "t.jsonl", "t.parquet", "t.arrow", "parts")


def _spec():
    return BatchSpec(("species",), COLUMNS)


@pytest.mark.parametrize("name", FORMS)
def test_every_format_gives_the_rows_of_the_table(files, name):
    """All rows occur once and in order, in batches of at most the requested number."""
    frame = make_frame()
    batches = [
        (b, align_columns(b.frame, COLUMNS, b.path)) for b in iterate_batches(open_source(files[name]), 90, _spec())
    ]
    assert all(0 < len(batch) <= 90 for batch, _ in batches)
    assert pl.concat([part for _, part in batches]).equals(align_columns(frame, COLUMNS, files[name]), null_equal=True)
    labels = [cell or "" for batch, _ in batches for cell in batch.frame["species"].to_list()]
    assert labels == frame["species"].to_list()


@pytest.mark.parametrize("name", FORMS)
def test_batches_are_the_same_from_every_position(files, name):
    """Reading from the end of any batch gives the batches after it, with the same row numbers."""
    source = open_source(files[name])
    batches = list(iterate_batches(source, 60, _spec()))
    for number in (0, len(batches) // 2, len(batches) - 2):
        remaining = list(iterate_batches(source, 60, _spec(), batches[number].after))
        assert [b.first_row for b in remaining] == [b.first_row for b in batches[number + 1 :]]
        assert all(a.frame.equals(b.frame) for a, b in zip(remaining, batches[number + 1 :], strict=True))
        assert [b.after for b in remaining] == [b.after for b in batches[number + 1 :]]
    assert not list(iterate_batches(source, 60, _spec(), batches[-1].after))


def test_svmlight_is_read_as_written(tmp_path):
    """Pairs are equal to the last bit; labels are joined by commas or the separator, or missing."""
    frame = make_numbers(50)
    write_svmlight(frame, tmp_path / "t.svm")
    (batch,) = iterate_batches(open_source(tmp_path / "t.svm"), 100, BatchSpec(n_columns=8))
    np.testing.assert_array_equal(batch.frame.rows.toarray()[:, :4], frame.drop("label").to_numpy())
    assert batch.frame.labels == frame["label"].to_list()
    (tmp_path / "u.svmlight").write_text("# a comment\n2,5 0:1.5 3:2\n\n+1 1:1 # of one row\n3.0 2:1\n1:4\na|b\n")
    (batch,) = iterate_batches(open_source(tmp_path / "u.svmlight"), 100, BatchSpec(n_columns=4))
    assert batch.frame.labels == ["2|5", "1", "3", "", "a|b"]
    assert batch.frame.rows.toarray().tolist() == [[1.5, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0], [0, 4, 0, 0], [0] * 4]


FAULTS = {
    "short line": ("t.csv", b"x,label\n1,a\n2\n3,b\n", "t.csv, line 3: found 1 cells, but the header has 2"),
    "long line": ("t.csv", b"x,label\n1,a\n2,b,c\n", "t.csv, line 3: found 3 cells"),
    "damaged UTF-8": ("t.csv", b"x,label\n1,\xc3\xa9\n2,\xe9\n", r"t.csv is not text in UTF-8 \(line 3\)"),
    "two columns of a name": ("t.csv", b"x,x\n1,a\n", "t.csv: column 'label' does not exist: the columns are x, x_2"),
    "empty file": ("t.csv", b"", "t.csv is empty"),
    "no number": ("t.csv", b"x,label\n1,a\nfour,b\n", "row 1: column 'x' must contain numbers; got 'four'"),
    "no JSON": ("t.jsonl", b'{"x": 1, "label": "a"}\n{"x": \n', "t.jsonl, line 2: invalid JSON"),
    "no object": ("t.jsonl", b'{"x": 1, "label": "a"}\n[1]\n', "t.jsonl, line 2: a line must be an object"),
    "JSON of no UTF-8": ("t.jsonl", b'{"x": 1, "label": "\xe9"}\n', r"t.jsonl is not text in UTF-8 \(line 1"),
    "no pair": ("t.svm", b"a 1:2\nb 1:2 x\n", "t.svm, line 2: a line must be labels and pairs index:value"),
    "order of pairs": ("t.svm", b"a 1:2\nb 3:2 1:1\n", "t.svm, line 2: a line must be .* increasing indices"),
    "large index": ("t.svm", b"a 1:2\nb 300000:2\n", "t.svm, line 2: a line must be .* less than .* more --hash-bits"),
    "negative index": ("t.svm", b"a 1:2\nb -3:2\n", "t.svm, line 2: a line must be labels and pairs"),
    "many digits": ("t.jsonl", b'{"x": 1, "label": "a"}\n{"x": 1' + 5000 * b"0" + b"}\n", "2: a number has too many"),
    "other keys": ("t.jsonl", b'{"y": 1}\n{"y": 2}\n', "t.jsonl: column 'label' does not exist: the columns are y"),
    "no parquet": ("t.parquet", b"PAR1", "t.parquet cannot be read"),
    "text in parquet": ("t.parquet", b"span,species\n1,wren\n", "t.parquet cannot be read(?!.*process)"),
    "text in arrow": ("t.arrow", b"span,species\n1,wren\n", "t.arrow cannot be read(?!.*process)"),
    "no gzip": ("t.csv.gz", b"x,label\n1,a\n", "t.csv.gz is damaged or truncated"),
    "half a gzip": ("t.csv.gz", gzip.compress(b"x,label\n" + bytes(range(48, 122)) * 9)[:-9], "damaged or truncated"),
    "no labels": ("t.csv", b"x,labl\n1,a\n", "t.csv: column 'label' does not exist: did you mean 'labl'"),
    "no features": ("t.csv", b"y,label\n1,a\n", "t.csv: missing 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named_by_their_line(tmp_path, name):
    """A stream and a table have the same error, apart from missing columns, which only streams require."""
    file, content, message = FAULTS[name]
    (tmp_path / file).write_bytes(content)
    features = (Column("x", "number"),)
    spec = BatchSpec() if file == "t.svm" else BatchSpec(("label",), features)

    def read():
        for batch in iterate_batches(open_source(tmp_path / file), 10, spec):
            if file != "t.svm":
                align_columns(batch.frame, features, batch.path)

    with pytest.raises(DataError, match=message):
        read()
    if file not in ("t.svm", "t.arrow") and not re.search("column 'label' does not|missing|must contain", message):
        with pytest.raises(DataError, match=message):
            read_table(tmp_path / file, labels=["label"])


def test_sources_that_cannot_be_opened(tmp_path, files):
    """Missing, unknown and mixed formats are errors before anything is read."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    for name in ("a.csv", "b.jsonl"):
        (tmp_path / "mixed" / name).touch()
    (tmp_path / "t.xls").touch()
    cases = [
        ("none.csv", None, "does not exist"),
        ("empty", None, "has no file of a known format"),
        ("mixed", None, r"several formats, for example a.csv and b.jsonl. Give --format"),
        ("t.xls", None, "unknown format"),
        ("t.xls", "xls", "the format must be one of .*; got 'xls'"),
    ]
    for name, form, message in cases:
        with pytest.raises(DataError, match=message):
            open_source(tmp_path / name, form)
    for form in (None, "parquet"):
        with pytest.raises(DataError, match="standard input needs a text format"):
            open_source("-", form)
    assert [file.name for file in open_source(files["parts"]).files] == ["0.csv", "1.csv", "2.csv"]
    with pytest.raises(InputError, match=r"`n_rows` must be .*; got 0"):
        next(read_batches(files["t.csv"], n_rows=0))
    assert sum(batch.height for batch in read_batches(files["parts"])) == N_ROWS


@pytest.mark.parametrize("n_rows", [1, 2, 100])
def test_objects_without_keys_are_rows_in_any_batch(tmp_path, n_rows):
    """An object without labels, features or any key is a row, also if it is alone in a batch."""
    rows = [{"x": 1, "label": "a"}, {"x": 2}, {"label": "b"}, {}, {"id": 7}, {"x": 3, "label": "a"}]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = BatchSpec(("label",), (Column("x", "number"),))
    batches = list(iterate_batches(open_source(tmp_path / "t.jsonl"), n_rows, spec))
    table = pl.concat([batch.frame.select(pl.col("x").cast(pl.Float64), "label") for batch in batches])
    assert table["x"].to_list() == [1, 2, None, None, None, 3]
    assert table["label"].to_list() == ["a", None, "b", None, None, "a"]
    assert [batch.first_row for batch in batches] == list(range(0, 6, n_rows))


def test_long_numbers_are_distinct_labels(tmp_path):
    """Labels with more digits than a float are not rounded."""
    (tmp_path / "t.svm").write_text("9007199254740992 0:1\n9007199254740993.0,+7 0:1\n" + 400 * "1" + " 0:1\n")
    (batch,) = read_batches(tmp_path / "t.svm")
    assert batch.labels == ["9007199254740992", "9007199254740993|7", 400 * "1"]
    assert label_to_text("9007199254740993.0") == "9007199254740993"


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("csv", b"span,species\n1\n", "standard input, line 2: found 1 cells"),
        ("csv", b"", "standard input is empty"),
        ("csv", b",\n", "standard input is empty"),
        ("jsonl", b"{\n", "standard input, line 1: invalid JSON"),
        ("svmlight", b"1 2:1 1:1\n", "standard input, line 1: a line must be"),
        ("csv", gzip.compress(b"x,y\n1\n", mtime=0), "standard input, line 2: found 1 cells"),
    ],
)
def test_messages_name_standard_input(kind, content, message, tmp_path, monkeypatch):
    """No message names the file "-"."""
    (tmp_path / "t").write_bytes(content)
    with (tmp_path / "t").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(DataError, match=f"^{message}"):
            list(read_batches("-", format=kind))
    assert open_source("-", kind).display_name == "standard input"


DAMAGED = Path(__file__).parent / "damaged" / "page_lengths.parquet"
"""A page of this file declares a length that polars cannot allocate: decoding it here would end the tests."""


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of processes that were started, and forget which files were decoded."""
    started: list[Any] = []
    run = subprocess.run
    monkeypatch.setattr(decoding, "_decoded", set())
    monkeypatch.setattr(trial.subprocess, "run", lambda *args, **options: started.append(args) or run(*args, **options))
    return started


def parquet(folder: Path, n: int) -> list[Path]:
    for number in range(n):
        pl.DataFrame({"x": [1.0, 2.0], "species": ["wren", "owl"]}).write_parquet(folder / f"{number}.parquet")
    return sorted(folder.glob("*.parquet"))


def test_a_damaged_page_is_an_error_and_not_the_end_of_the_process() -> None:
    with pytest.raises(DataError, match=r"page_lengths.parquet cannot be read: .* ended with signal"):
        read_table(DAMAGED, labels=["species"])


def test_files_before_a_damaged_one_are_read(tmp_path: Path) -> None:
    """Of three files the second is damaged: the rows of the first are returned, then the error names the second."""
    parquet(tmp_path, 3)
    shutil.copy(DAMAGED, tmp_path / "1.parquet")
    batches = iterate_batches(open_source(tmp_path), 10, BatchSpec())
    assert next(batches).frame.height == 2
    with pytest.raises(DataError, match=r"1\.parquet cannot be read"):
        next(batches)


def test_small_files_share_a_process_and_are_decoded_once(tmp_path: Path, trials: list[Any]) -> None:
    files = parquet(tmp_path, 5)
    source = open_source(tmp_path)
    assert file_sizes(source) == [2] * 5
    assert sum(batch.frame.height for batch in iterate_batches(source, 10, BatchSpec())) == 10
    assert len(trials) == 1
    pl.DataFrame({"x": [1.0], "species": ["wren"]}).write_parquet(files[2])
    assert sum(batch.frame.height for batch in iterate_batches(source, 10, BatchSpec())) == 9
    assert len(trials) == 2


def test_a_module_in_the_working_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trials: list[Any]
) -> None:
    """The process does not execute the file polars.py of the folder in which the command runs."""
    (tmp_path / "polars.py").write_text("open('executed', 'w')")
    monkeypatch.chdir(tmp_path)
    files = parquet(tmp_path, 1)
    decoding.check_decodable(files, "parquet")
    assert len(trials) == 1
    assert not (tmp_path / "executed").exists()
