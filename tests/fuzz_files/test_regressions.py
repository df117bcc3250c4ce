"""Files from fuzzing that once caused another library's error, a crash or an endless loop."""

import gzip
import json
import sqlite3
import struct
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneof.datasets import load_mat
from oneof.datasets.npz import read_shape
from oneof.errors import DataError
from oneof.io import read_table
from oneof.io.answers import read_objects
from oneof.io.formats import records
from oneof.labeling.answers.database import stored_classes
from oneof.labeling.answers.log import AnswerLog
from oneof.stream import read_batches
from reproduction.store import Store
from tests.fuzz_files.targets import _FACTS, TARGETS


def batches(path: Path) -> None:
    list(read_batches(path))


def objects(path: Path) -> None:
    read_objects([path])


DIGITS = b"9" * 5000
FILES = [
    (read_table, "a.jsonl", b'{"x": 1}\n{"x": ' + DIGITS + b"}\n", r"line 2: a number has too many digits"),
    (read_table, "a.jsonl", b'{"x": 1}\n{"x": "\\ud800"}\n', r"line 2: '\\ud800' is a lone surrogate"),
    (read_table, "a.jsonl", b'{"x": 1, "y\\uDC00": 2}\n', r"line 1: '\\udc00' is a lone surrogate"),
    (read_table, "a.csv", b",".join(b"a%d" % i for i in range(60_000)) + b",a7\n", r"has no rows"),  # was quadratic
    (read_table, "a.csv", b",".join([b"a"] * 60_000) + b"\n", r"has no rows"),  # would be if each search began at 2
    (batches, "a.jsonl", b'{"x": 1, "y\\ud800": 2}\n', "is a lone surrogate"),
    (batches, "a.svmlight", b"1 " + DIGITS + b":1\n", "indices less than"),  # out of range
    # A line of gigabytes in a few kB of gzip is rejected at the maximum length of a record.
    (batches, "a.csv.gz", gzip.compress(b"x\n1\n" + b"2" * 2**20), r"line 3: the line is longer than 65,536 bytes"),
    (objects, "a.json", b"[" + DIGITS + b"]", "too many digits"),
    (objects, "a.json", b"[" * 100_000, "nested too deeply"),
    # SciPy follows a negative size of a matrix of level 4 backwards, in an endless loop.
    *(
        (
            load_mat,
            "a.mat",
            struct.pack("<5i", *head) + b"other",
            "cannot be read as a MATLAB file|lacks the matrix 'data'",
        )
        for head in (
            (50, 1, -25, 0, 5),  # its end equals its start
            (50, -1, 25, 0, 5),
            (50, 1, 0, 0, -20),
            (60, 1, 1, 0, 5),
            (50, 1, 2**31 - 1, 0, 5),
        )
    ),
]


@pytest.mark.parametrize(("read", "name", "content", "message"), FILES)
def test_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Any, name: str, content: bytes, message: str
) -> None:
    """A reader rejects the file with a sentence, in little time and memory."""
    monkeypatch.setattr(records, "_MAX_RECORD_BYTES", 2**16 if name.endswith("gz") else records._MAX_RECORD_BYTES)
    monkeypatch.setattr("oneof.datasets.matlab._MIN_SECONDS", 3)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(tmp_path / name)


def test_halves_of_a_character_and_labels_of_many_digits(tmp_path: Path) -> None:
    """Two halves are a character, and a label with hundreds of digits is a name, not infinity."""
    (tmp_path / "a.jsonl").write_bytes(b'{"x": 1, "y": "\\uD83D\\uDC26"}\n')
    [batch] = read_batches(tmp_path / "a.jsonl")
    assert batch["y"].to_list() == ["\N{BIRD}"]
    (tmp_path / "a.svmlight").write_bytes(b"1" * 400 + b" 1:1\n")
    [batch] = read_batches(tmp_path / "a.svmlight")
    assert batch.labels == ["1" * 400]


def test_a_blank_line_of_another_system_above_the_header(tmp_path: Path) -> None:
    """A line that ends with a carriage return alone, above a header that quotes it, is a blank line."""
    content = b"\rspa'',n\xff;spxxexx;&specie|ow\xffspecieq=','$wet'\r'0.234,,'no"
    (tmp_path / "a.csv").write_bytes(content)
    [batch] = read_batches(tmp_path / "a.csv", n_rows=2)
    assert batch.shape == (1, 3)


def test_a_damaged_schema_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    """SQLite quotes the schema in its message, which Python cannot decode."""
    path = tmp_path / "a.sqlite"
    AnswerLog(path, _FACTS).close()
    data = path.read_bytes()
    assert b"annotator, number)" in data
    path.write_bytes(data.replace(b"annotator, number)", b"annotator, numb\xa5\xb2)"))
    assert stored_classes(path) is None
    with pytest.raises(DataError, match="is not a file of answers"):
        AnswerLog(path, _FACTS)


def test_an_invalid_element_type_does_not_end_the_process(tmp_path: Path) -> None:
    """SciPy's reader uses the element type of a MATLAB file as an index without a bounds check."""
    seeds = TARGETS["data set.mat"].seeds(tmp_path)
    valid = seeds[0]
    index = valid.index(struct.pack("<II", 9, 8 * 16))  # the data element, doubles
    for kind in (0, 200):
        (tmp_path / "a.mat").write_bytes(valid[:index] + struct.pack("<I", kind) + valid[index + 4 :])
        with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
            load_mat(tmp_path / "a.mat")


def test_a_matrix_that_is_far_larger_than_its_file_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed matrix of zeros, and a sparse one of many rows, that would expand above the limit of archives."""
    import scipy.sparse as sp
    from scipy.io import savemat

    monkeypatch.setattr("oneof.archives.MAX_BYTES", 2**20)
    monkeypatch.setattr("oneof.archives.MAX_COMPRESSION_RATIO", 10)
    valid: dict[str, Any] = {"data": np.eye(3), "partial_target": np.ones((2, 3)), "target": np.zeros((2, 3))}
    savemat(tmp_path / "a.mat", valid | {"unused": np.zeros((1000, 1000))}, do_compression=True)
    load_mat(tmp_path / "a.mat")
    for changes in ({"data": np.zeros((1000, 1000))}, {"target": sp.csc_matrix((2**11, 2**11))}):
        savemat(tmp_path / "a.mat", valid | changes, do_compression=True)
        with pytest.raises(DataError, match=r"would expand to more than"):
            load_mat(tmp_path / "a.mat")


def test_sparse_matrices_with_invalid_indices_are_rejected(tmp_path: Path) -> None:
    """Compiled code would write outside the array."""
    import scipy.sparse as sp
    from scipy.io import savemat

    sets = sp.csc_matrix(np.array([[1, 1, 0], [0, 1, 1.0]]))
    sets.indices[0] = 10**6
    savemat(tmp_path / "a.mat", {"data": np.eye(3), "partial_target": sets, "target": sp.csc_matrix((2, 3))})
    with pytest.raises(DataError, match="damaged"):
        load_mat(tmp_path / "a.mat")


def test_headers_that_python_cannot_tokenize_are_rejected(tmp_path: Path) -> None:
    """NumPy raises an error of Python's tokenizer."""
    np.savez(tmp_path / "a.npz", y=np.zeros(3, int), classes=np.array(["a", "b"]), X=np.eye(3))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["y.npy"] = parts["y.npy"].replace(b"{'descr'", b"(((((((")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    with pytest.raises(DataError, match="cannot be read as a data set"):
        read_shape(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
        "CREATE VIEW v AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r",
        "ALTER TABLE facts ADD COLUMN big AS (hex(zeroblob(100000000)))",
    ],
)
def test_programs_within_a_file_of_answers_are_not_run(tmp_path: Path, change: str) -> None:
    """Triggers, views and computed columns are rejected before anything is read or written."""
    path = tmp_path / "a.sqlite"
    AnswerLog(path, _FACTS).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    with pytest.raises(DataError, match="a database of another program"):
        AnswerLog(path, _FACTS)


@pytest.mark.parametrize("values", ["99, 'one of', '[0]'", "0, 'one of', '[7]'", "0, 'sing', '[0]'", "0, 'skip', '{'"])
def test_answers_that_the_page_cannot_have_written_are_errors(tmp_path: Path, values: str) -> None:
    """Answers with a missing row, class or kind, or labels that are not JSON, are errors."""
    path = tmp_path / "a.sqlite"
    AnswerLog(path, _FACTS).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            f"INSERT INTO entries (row, kind, labels, key, at, annotator, purpose) VALUES ({values}, 'k', 0, 'Ann', '')"
        )
        connection.commit()
    with pytest.raises(DataError, match=r"damaged|out of range"):
        TARGETS["answers.sqlite"].read(path)


def test_a_line_with_a_correct_checksum_that_is_not_a_record_is_an_error(tmp_path: Path) -> None:
    with Store(tmp_path / "a.jsonl", "x"):
        pass
    written = json.dumps({"settings": {"draw": [1]}}).encode()
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b"%08x %s\n" % (zlib.crc32(written), written))
    with pytest.raises(DataError, match="line 2 is not a record"):
        Store(tmp_path / "a.jsonl", "x").__enter__()
