"""Reading tables: every format gives the same table, and an error names the place of the fault."""

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputTypeError
from oneof.io import Dialect, align_columns, choose_columns, find_column, read_table
from oneof.stream import read_batches

FRAME = pl.DataFrame({"x": [1.5, None, 3.0], "n": [1, 2, 3], "c": ["u", "v w", None], "label": ["a|b", "b", None]})


def _write(path: Path) -> Path:
    if path.suffix == ".parquet":
        FRAME.write_parquet(path)
    elif path.suffix in (".jsonl", ".ndjson"):
        FRAME.write_ndjson(path)
    else:
        FRAME.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".CSV"])
def test_every_format_gives_the_same_table(tmp_path: Path, suffix: str) -> None:
    table = read_table(_write(tmp_path / f"t{suffix}"), labels=["label"])
    assert table.frame.equals(FRAME)


def test_marks_of_missing_cells(tmp_path: Path) -> None:
    """NA and similar marks are missing values among features, but labels in a column that is read labels."""
    (tmp_path / "t.csv").write_text("x,z,label,zip\n1,NA,NA,01\nNaN,?,b,02\n2,null,,03\n")
    table = read_table(tmp_path / "t.csv", as_text=["zip"], labels=["label"])
    assert table.frame.columns == ["x", "z", "label", "zip"]
    assert table.frame["label"].to_list() == ["NA", "b", None]
    assert table.frame["zip"].to_list() == ["01", "02", "03"]
    columns, findings = choose_columns(table, exclude=["label", "zip"])
    assert columns == [("x", "number", ())]
    assert align_columns(table.frame, columns, table.path)["x"].fill_nan(-1).to_list() == [1, -1, 2]
    assert [(one.kind, one.examples) for one in findings.columns] == [("missing", ("NaN",)), ("excluded", ())]
    assert findings.columns[1].detail.startswith("excluded: no values")
    (batch,) = read_batches(tmp_path / "t.csv")
    assert batch["x"].to_list() == [1, None, 2]
    assert batch["z"].null_count() == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"a,b\n1,2\n3\n", "line 3: found 1 cells, but the header has 2"),
        ("t.csv", b"a,b\n1,2,3\n", "line 2: found 3 cells"),
        ("t.csv", "a,b\n\u00e9,2\n".encode() + b"\xff,4\n", r"UTF-8 \(line 3\)"),
        ("t.csv", b'a,b\n1,"2\n', "line 2, column 'b': a quotation mark is not closed"),
        ("t.csv", b",\n1,2\n", "is empty. The first line must have the names"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.parquet", b"PAR1 but not really", "cannot be read"),
        ("t.jsonl", b'{"a": 1}\n{"a":\n', "line 2: invalid JSON"),
        ("t.jsonl", b"[1, 2]\n", "line 1: a line must be an object"),
        ("t.jsonl", b"", "no rows"),
        ("t.npz", b"PK\x03\x04 but not really", "damaged"),
        ("t.docx", b"", "unknown format"),
        ("t.npy", b"", r"unknown format.*[.]npz"),
    ],
)
def test_faults_of_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """The message is one line, and names the file and, if possible, the line."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_table(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_absent_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name, message in (("none.csv", "does not exist"), ("folder.csv", "not a file")):
        with pytest.raises(DataError, match=message):
            read_table(tmp_path / name)
    with pytest.raises(InputTypeError, match="`path` must be a string"):
        read_table(3)  # type: ignore[arg-type]


def test_the_closest_column_is_suggested() -> None:
    with pytest.raises(DataError, match="did you mean 'Species'"):
        find_column("specis", ["width", "Species"], Path("t.csv"))
    with pytest.raises(DataError, match="the columns are width, Species"):
        find_column("color", ["width", "Species"], Path("t.csv"))


def test_lists_beside_single_labels(tmp_path: Path) -> None:
    """In JSON lines, a column in which some cells are lists is a column of lists."""
    (tmp_path / "t.jsonl").write_text('{"l": ["a", "b"], "x": 1}\n{"l": "b", "x": 2.5}\n\n{"x": null}\n')
    frame = read_table(tmp_path / "t.jsonl").frame
    assert frame["l"].to_list() == [["a", "b"], ["b"], None]
    assert frame["x"].to_list() == [1.0, 2.5, None]


def test_arrays(tmp_path: Path) -> None:
    """Packed candidates, y and classes become columns that are marked as labels."""
    mask = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=bool)
    np.savez(
        tmp_path / "t.npz",
        X=np.arange(6, dtype=np.float32).reshape(3, 2),
        y=np.array([0, 2, -1]),
        classes=np.array(["a", "b", "c"]),
        candidates=np.packbits(mask, axis=1),
    )
    table = read_table(tmp_path / "t.npz")
    assert table.frame.columns == ["x0", "x1", "y", "candidates"]
    assert table.label_columns == ("y", "candidates")
    assert table.frame["y"].to_list() == ["a", "c", None]
    assert table.frame["candidates"].to_list() == [["a", "b"], ["c"], None]


def test_texts_of_an_array(tmp_path: Path) -> None:
    """Each row is a slice of the bytes, which may be empty."""
    np.savez(tmp_path / "t.npz", text=LETTERS, text_offsets=np.array([0, 2, 2, 3]))
    assert read_table(tmp_path / "t.npz").frame["text"].to_list() == ["\u00fc", "", "a"]


LETTERS = np.frombuffer("\u00fca".encode(), dtype=np.uint8)


def test_invalid_arrays_are_errors(tmp_path: Path) -> None:
    X = np.zeros((3, 2))
    for arrays, message in (
        ({"X_data": X, "X_shape": np.array([3, 2])}, "got only X_data, X_shape"),
        ({"X": X[0]}, "must contain an array X"),
        ({"X": X, "y": np.zeros(2, dtype=int)}, "array y must have 3 rows"),
        ({"X": X, "y": np.array([0, 1, 5]), "classes": np.array(["a", "b"])}, "indices into the 2 classes"),
        ({"X": X, "candidates": X > 0, "classes": np.array(["a", "b"])}, "`candidates` must contain the packed bits"),
        ({"X": X, "candidates": np.zeros((3, 1), dtype=np.uint8)}, "requires the array classes"),
        ({"X": X, "classes": np.array([0.5, 1.5])}, "`classes` must be a vector"),
        ({"X": X.astype(object)}, "pickles are never opened"),
        ({"text": LETTERS, "text_offsets": np.array([0, 1, 3])}, "row 0: the text is not UTF-8"),
        ({"text": LETTERS, "text_offsets": np.array([0, 3, 2])}, "`text_offsets` must increase from 0 to 3"),
        ({"text": LETTERS, "text_offsets": np.array([0, 2, 99])}, "`text_offsets` must increase from 0 to 3"),
        ({"text": LETTERS, "text_offsets": np.array([0, 3, 2, 3])}, "`text_offsets` must increase from 0 to 3"),
        ({"text": LETTERS, "text_offsets": np.array([0.0, 3.0])}, "`text_offsets` must increase from 0 to 3"),
        ({"text": LETTERS.astype(int), "text_offsets": np.array([0, 3])}, "`text` must be the bytes of all rows"),
    ):
        np.savez(tmp_path / "t.npz", **arrays)
        with pytest.raises(DataError, match=message):
            read_table(tmp_path / "t.npz")


def test_quotation_marks_in_names_of_columns(tmp_path: Path) -> None:
    """A name may contain quotation marks, either doubled in a quoted name or bare."""
    path = tmp_path / "t.csv"
    for header in ('"5"" pipe",c,"""all"""', '5" pipe,c,"""all"""'):
        path.write_text(f"{header}\n1.5,x,2\n,NA,3\n")
        names = ['5" pipe', "c", '"all"']
        assert read_table(path, labels=["c"], as_text=['"all"']).frame.equals(
            pl.DataFrame([[1.5, None], ["x", "NA"], ["2", "3"]], schema=names), null_equal=True
        )


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl"])
def test_compressed_files_under_a_plain_name(tmp_path: Path, name: str) -> None:
    """The error names the cause, and the name under which the file can be read."""
    (tmp_path / name).write_bytes(gzip.compress(b"x,y\n1,2\n"))
    with pytest.raises(DataError, match=rf"{name} is compressed by gzip. Decompress it, or give it the suffix \.gz"):
        read_table(tmp_path / name)
    with pytest.raises(DataError, match=rf"{name} is compressed by gzip. Decompress it, or give it the suffix \.gz"):
        list(read_batches(tmp_path / name))


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet", "t.npz"])
def test_options_of_delimited_text_are_refused_for_other_formats(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "t.npz":
        np.savez(path, X=np.eye(2))
    else:
        _write(path)
    for dialect, message in (
        (Dialect(delimiter=";"), "--delimiter applies to CSV and TSV files only"),
        (Dialect(encoding="latin-1", delimiter="|"), "--delimiter and --encoding apply to CSV and TSV files only"),
    ):
        with pytest.raises(DataError, match=message):
            read_table(path, dialect=dialect)
    if name == "t.npz":
        with pytest.raises(DataError, match="--decimal applies"):
            read_table(path, dialect=Dialect(decimal=","))
    else:
        assert read_table(path, dialect=Dialect(decimal=",")).cell_format.decimal == ","
        assert read_table(path).cell_format.decimal == "."
