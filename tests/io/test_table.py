"""Tables: every format and source gives the same table, and an error names the place of the fault."""

import datetime
import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.errors import DataError, InputTypeError
from oneof.io import Dialect, align_columns, choose_columns, read_table, stem_of, table_from_rows
from oneof.io.vectors import match_vectors, split_vectors, used_vectors
from oneof.stream import read_batches

FRAME = pl.DataFrame({"x": [1.5, None, 3.0], "n": [1, 2, 3], "c": ["u", "v w", None], "label": ["a|b", "b", None]})


def _content(name: str) -> bytes:
    """Return the content of a file of this name that has the table."""
    kind, content = name.lower().removesuffix(".gz").rpartition(".")[2], io.BytesIO()
    if kind == "parquet":
        FRAME.write_parquet(content)
    elif kind in ("jsonl", "ndjson"):
        FRAME.write_ndjson(content)
    else:
        FRAME.write_csv(content, separator="\t" if kind == "tsv" else ",")
    return gzip.compress(content.getvalue()) if name.lower().endswith(".gz") else content.getvalue()


@pytest.mark.parametrize(
    "suffix", ["csv", "CSV", "tsv", "parquet", "jsonl", "ndjson", "csv.gz", "CSV.GZ", "tsv.gz", "jsonl.gz"]
)
def test_every_format_gives_the_same_table(tmp_path: Path, suffix: str) -> None:
    """The format is that of the suffix in any case, and a compressed file has the table of its content."""
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(_content(path.name))
    table = read_table(path, labels=["label"])
    assert table.frame.equals(FRAME)
    assert table.path == path


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
        ("t.csv", b",\n1,2\n", "is empty. The first line must have the names"),
        ("t.csv", b"a,b\n", "no rows"),
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


def test_a_text_file_is_a_delimited_table(tmp_path: Path) -> None:
    """A table that ends in .txt, as the selection tables of Raven do, is read with the delimiter that is detected."""
    (tmp_path / "t.txt").write_text("Selection\tCommon Name\n1\tCarrion Crow\n2\tGreat Tit\n")
    assert read_table(tmp_path / "t.txt").frame.columns == ["Selection", "Common Name"]


def test_absent_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name, message in (("none.csv", "does not exist"), ("folder.csv", "not a file")):
        with pytest.raises(DataError, match=message):
            read_table(tmp_path / name)
    with pytest.raises(InputTypeError, match="`path` must be a string"):
        read_table(3)  # type: ignore[arg-type]


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
    ):
        np.savez(tmp_path / "t.npz", **arrays)
        with pytest.raises(DataError, match=message):
            read_table(tmp_path / "t.npz")


def test_quotation_marks_in_names_of_columns(tmp_path: Path) -> None:
    """A name may contain quotation marks, either doubled in a quoted name or bare."""
    path = tmp_path / "t.csv"
    for header in ('"5"" pipe","c,0","""all"""', '5" pipe,"c,0","""all"""'):
        path.write_text(f"{header}\n1.5,x,2\n,NA,3\n")
        names = ['5" pipe', "c,0", '"all"']
        assert read_table(path, labels=["c,0"], as_text=['"all"']).frame.equals(
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
        path.write_bytes(_content(name))
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


CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers())
DAY = datetime.date(2024, 2, 29)


@given(st.lists(st.dictionaries(st.text(max_size=3), CELLS, max_size=3), max_size=5))
def test_any_rows_are_a_table_or_an_error(rows: list[dict[str, Any]]) -> None:
    """A table has every row and every key; rows without any key are an error."""
    if not any(rows):
        with pytest.raises(DataError, match="the table has no rows"):
            table_from_rows(rows)
        return
    frame = table_from_rows(rows).frame
    assert len(frame) == len(rows)
    assert set(frame.columns) == {name for row in rows for name in row}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([1, None, 2.5], [1.0, None, 2.5]),
        ([1, None], [1, None]),
        ([True, False], [True, False]),
        (["a", 1, None], ["a", "1", None]),
        (["a", float("nan")], ["a", None]),
        ([10**30, 1], [str(10**30), "1"]),
        ([np.float32(0.5), np.int64(2)], [0.5, 2.0]),
        ([DAY, None], [DAY, None]),
        ([None, None], [None, None]),
    ],
)
def test_cells_of_mappings(cells: list[Any], expected: list[Any]) -> None:
    """Numbers remain numbers, other types too if they are the only ones, and mixed cells are text."""
    assert table_from_rows([{"a": cell} for cell in cells]).frame["a"].to_list() == expected


def test_columns_of_pandas() -> None:
    """Every dtype of pandas has the values and missing values of its column."""
    pandas = pytest.importorskip("pandas")
    columns = {
        "float": [1.5, None],
        "text": ["a", None],
        "category": pandas.Categorical(["x", None]),
        "day": pandas.to_datetime(["2024-02-29", None]),
        "zone": pandas.to_datetime(["2024-02-29", None]).tz_localize("UTC"),
        "nullable": pandas.array([3, None], dtype="Int64"),
        "flag": [True, False],
    }
    frame = table_from_rows(pandas.DataFrame(columns, index=[7, 7])).frame
    assert frame["float"].fill_nan(None).to_list() == [1.5, None]
    assert [frame[name].to_list() for name in ("text", "category", "nullable", "flag")] == [
        ["a", None],
        ["x", None],
        [3, None],
        [True, False],
    ]
    for name in ("day", "zone"):
        assert frame[name].dtype == pl.Datetime
        assert frame[name].to_list()[0].date() == DAY
        assert frame[name].to_list()[1] is None


def test_vectors_are_columns_of_numbers(tmp_path: Path) -> None:
    """Vectors of one length are columns of their numbers, in memory and in Parquet; other lists stay as they are."""
    vectors = [[0.5, 1.0, 2.0], None, [3.0, 4.0, 5.0]]
    frame = pl.DataFrame(
        {
            "list": pl.Series(vectors, dtype=pl.List(pl.Float32)),
            "array": pl.Series(vectors, dtype=pl.Array(pl.Float64, 3)),
            "ragged": [[0.5], [1.0, 2.0], None],
            "labels": [["a"], ["a", "b"], ["b"]],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    for table in (table_from_rows(frame), read_table(tmp_path / "t.parquet", labels=["labels"])):
        numbers = [f"{name}[{j}]" for name in ("list", "array") for j in range(3)]
        assert table.frame.columns == [*numbers, "ragged", "labels"]
        assert table.frame.row(0)[:6] == (0.5, 1.0, 2.0) * 2
        assert table.frame.row(1)[:6] == (None,) * 6
        assert table.vectors == {"list": 3, "array": 3}
    assert table_from_rows(frame.select("array").with_columns(pl.lit(1).alias("array[2]"))).frame.width == 2
    labels = pl.DataFrame({"y": [[0.0, 1.0], [1.0, 0.0]], "x": [1, 2]})
    labels.write_parquet(tmp_path / "labels.parquet")
    assert read_table(tmp_path / "labels.parquet", labels=["y"]).frame.columns == ["y", "x"]


SIZES = {"q": 2}


def test_further_columns_named_as_numbers_of_a_vector_are_unchanged() -> None:
    frame = pl.DataFrame({f"q[{j}]": [1.0] for j in range(3)})
    assert match_vectors(frame, SIZES, {}).equals(frame)


def test_only_columns_that_are_split_are_vectors() -> None:
    """Columns named q[0], q[1] are ordinary columns; a vector without a number among the features is not used."""
    frame = pl.DataFrame({"q[0]": [0.5], "q[1]": [1.5], "a": [[0.5, 1.0, 2.0]], "b": [[0.5, 1.0]]})
    split, sizes = split_vectors(frame, ["b"])
    assert sizes == {"a": 3}
    assert split.columns == ["q[0]", "q[1]", "a[0]", "a[1]", "a[2]", "b"]
    assert table_from_rows(frame).vectors == {"a": 3, "b": 2}
    assert used_vectors(sizes, ["q[0]", "a[2]"]) == {"a": 3}
    assert used_vectors(sizes, ["q[0]"]) == {}


def test_vectors_of_integers_and_floats_are_vectors(tmp_path: Path) -> None:
    """JSON writes 0.0 as 0 in some programs; the columns are those of floats, in a file and in memory."""
    rows: list[dict[str, Any]] = [{"a": [0, 0.5], "y": [1, 2.5]}, {"a": [1, None], "y": [2.5]}, {"a": None, "y": [1]}]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for table in (read_table(path, labels=["y"]), table_from_rows([{"a": row["a"]} for row in rows])):
        assert table.vectors == {"a": 2}
        assert table.frame.select("a[0]", "a[1]").rows() == [(0.0, 0.5), (1.0, None), (None, None)]
    for options in ({"labels": ["y"]}, {"as_text": ["*"]}):
        assert read_table(path, **options).frame["y"].to_list() == [["1", "2.5"], ["2.5"], ["1"]]  # type: ignore[arg-type]


def test_vectors_as_text_are_those_of_lists(tmp_path: Path) -> None:
    """CSV has vectors as JSON; text that is read as text, short lists and other text are not vectors."""
    vectors = np.random.default_rng(0).normal(size=(20, 8)).round(3)
    vectors[0, 0], vectors[1, 1] = 1e-5, -3
    cells: list[Any] = [*map(str, vectors.tolist()), None]
    table = {"y": ["a", "b", "c"] * 7, "e": cells, "interval": ["[0.5, 1.0]"] * 21}
    table |= {"words": ["[" + ", ".join("abcdefgh") + "]"] * 21}
    path = tmp_path / "t.csv"
    pl.DataFrame(table).write_csv(path)
    read = read_table(path, labels=["y"])
    assert read.vectors == {"e": 8}
    numbers = read.frame.select(pl.selectors.starts_with("e[")).to_numpy()
    np.testing.assert_array_equal(numbers[:20], vectors)
    assert np.isnan(numbers[20]).all()
    assert read.frame["interval"].dtype == read.frame["words"].dtype == pl.String
    for as_text in (["e"], ["*"]):
        assert read_table(path, labels=["y"], as_text=as_text).frame["e"].to_list() == cells


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[bytes], None]]:
    """Return a function that replaces standard input by some bytes."""
    files: list[Any] = []

    def replace(content: bytes) -> None:
        (tmp_path / "stdin").write_bytes(content)
        files.append((tmp_path / "stdin").open("rb"))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(files[-1]))

    yield replace
    for file in files:
        file.close()


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_standard_input(stdin: Callable[[bytes], None], name: str) -> None:
    """Standard input, compressed or not, gives the table of its content."""
    stdin(_content(name))
    table = read_table("-", format="csv", labels=["label"])
    assert table.frame.equals(FRAME)
    assert str(table.path) == "standard input"


def test_formats_of_other_names(tmp_path: Path) -> None:
    """A format may be named for a file without a known suffix."""
    (tmp_path / "t.data").write_bytes(_content("t.csv"))
    assert read_table(tmp_path / "t.data", format="csv", labels=["label"]).frame.equals(FRAME)
    with pytest.raises(DataError, match=r"unknown format\. Give --format, or a file that ends in \.csv"):
        read_table(tmp_path / "t.data")
    with pytest.raises(
        DataError, match="the format must be one of csv, tsv, parquet, jsonl, npz, excel; got 'svmlight'"
    ):
        read_table(tmp_path / "t.data", format="svmlight")
    with pytest.raises(DataError, match="--sheet needs a spreadsheet"):
        read_table(tmp_path / "t.data", format="csv", sheet="a")


FAULTS = [
    (gzip.compress(b"a,b\n1,2\n3\n"), "line 3: found 1 cells, but the header has 2"),
    (gzip.compress(b"a,b\n1,2\n")[:-6], "damaged or truncated"),
    (gzip.compress(b""), "is empty"),
    (gzip.compress(b"a,b\n"), "no rows"),
    (gzip.compress(gzip.compress(b"a,b\n1,2\n")), "is compressed by gzip"),
    (gzip.compress(b"a\n" + b"0" * 2**23), r": its content would expand to 0\.0 GB"),
]


@pytest.mark.parametrize(("content", "message"), FAULTS, ids=range(len(FAULTS)))
def test_errors_of_compressed_content_name_its_source(
    tmp_path: Path,
    stdin: Callable[[bytes], None],
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    message: str,
) -> None:
    """A compressed file and compressed standard input have the same errors, and are not expanded beyond the limit."""
    monkeypatch.setattr("oneof.archives.MAX_BYTES", 2**20)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))
    stdin(content)
    with pytest.raises(DataError, match=message) as caught:
        read_table("-", format="csv")
    assert str(caught.value).startswith("standard input")
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="damaged or truncated"):
        read_table(path)


def test_stems() -> None:
    for name, stem in (("a/birds.csv", "birds"), ("birds.v2.csv.gz", "birds.v2"), ("b.TSV.GZ", "b"), ("-", "stdin")):
        assert stem_of(Path(name)) == stem


@pytest.mark.parametrize("name", ["lost.mat", "lost.rds"])
def test_files_of_another_format_are_errors_with_the_reader_of_matlab_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"MATLAB 5.0 MAT-file")
    with pytest.raises(DataError, match=r"has an unknown format\. Give --format, or a file that ends in") as caught:
        read_table(tmp_path / name)
    assert ("load_mat" in str(caught.value)) == name.endswith(".mat")
