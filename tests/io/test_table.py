"""Reading tables: every format gives the same table, and an error names the place of the fault."""

import csv
import gzip
import io
import itertools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputTypeError
from oneof.io import Dialect, Overrides, align_columns, choose_columns, find_column, read_table
from oneof.io.formats.csv.reader import CsvReader
from oneof.io.formats.records import long_cells
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


def test_semicolons_are_detected(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    assert read_table(tmp_path / "t.csv").frame.to_dict(as_series=False) == {"a": [1], "b": [2]}


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
    assert findings.columns[0].missing == (("NaN", 1),)
    assert findings.columns[1].reason.startswith("it has no values")
    (batch,) = read_batches(tmp_path / "t.csv")
    assert batch["x"].to_list() == [1, None, 2]
    assert batch["z"].null_count() == 3


def test_blank_lines_at_the_end_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n\n\n")
    assert read_table(tmp_path / "t.csv").frame.height == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"a,b\n1,2\n3\n", "line 3: found 1 cells, but the header has 2"),
        ("t.csv", b"a,b\n1,2,3\n", "line 2: found 3 cells"),
        ("t.csv", "a,b\n\u00e9,2\n".encode() + b"\xff,4\n", r"UTF-8 \(line 3\)"),
        ("t.csv", b'a,b\n1,"2\n', "line 2: a quotation mark is not closed"),
        ("t.csv", b",\n1,2\n", "is empty. The first line must have the names"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.parquet", b"PAR1 but not really", "cannot be read"),
        ("t.jsonl", b'{"a": 1}\n{"a":\n', "line 2: invalid JSON"),
        ("t.jsonl", b"[1, 2]\n", "line 1: a line must be an object"),
        ("t.jsonl", b"", "no rows"),
        ("t.npz", b"PK\x03\x04 but not really", "damaged"),
        ("t.docx", b"", "unknown format"),
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
    with pytest.raises(DataError, match=rf"compressed by gzip. Decompress it, or rename it to {name}\.gz"):
        read_table(tmp_path / name)
    with pytest.raises(DataError, match=rf"compressed by gzip. Decompress it, or rename it to {name}\.gz"):
        list(read_batches(tmp_path / name))


@pytest.mark.parametrize("ending", ["", "one cell too many\n"])
def test_long_cells_do_not_change_the_limit_of_the_process(tmp_path: Path, ending: str) -> None:
    """A cell or name longer than the limit of csv is read; the limit is restored after an error and between batches."""
    before, long = csv.field_size_limit(), "long " * 40_000
    path = tmp_path / "t.csv"
    path.write_text(f'x,"{long}"\n1,"{long}"\n2,b\n' + ending.replace(" ", ","))
    assert len(long) > before
    batches = read_batches(path, n_rows=1)
    assert next(batches).columns == ["x", long.strip()]
    assert csv.field_size_limit() == before
    if ending:
        with pytest.raises(DataError, match="line 4: found 4 cells"):
            read_table(path)
        with pytest.raises(DataError, match="line 4: found 4 cells"):
            list(batches)
    else:
        assert read_table(path).frame[long.strip()].to_list() == [long, "b"]
        assert [batch["x"].to_list() for batch in batches] == [[2]]
    assert csv.field_size_limit() == before


def test_threads_share_the_change_of_the_limit() -> None:
    """The change lasts until the last of several concurrent readers has finished."""
    before, inside, finished = csv.field_size_limit(), threading.Event(), threading.Event()

    def read() -> None:
        with long_cells:
            inside.set()
            finished.wait(10)

    other = threading.Thread(target=read)
    other.start()
    inside.wait(10)
    with long_cells:
        pass
    assert csv.field_size_limit() > before
    finished.set()
    other.join()
    assert csv.field_size_limit() == before


ODD_CELLS = (
    "7", "7.5", " 5", "5 ", "+5", "inf", "-inf", "infinity", "1e5", "1.", "1.e3", ".5", "0x1F", "1_000", "NAN", "-nan",
    "true", "2020-01-01", "99999999999999999999", "1e400", "-", "0005", "", "NA", "word", '"5"', '" 5"', '""', '"1,5"',
)  # fmt: skip


@pytest.mark.parametrize("common", ["7", "7.5", "-1e3", "0.5", '"7"'])
@pytest.mark.parametrize("place", [3, 14, 21])
def test_types_inferred_from_the_first_rows_are_those_of_all_rows(tmp_path: Path, common: str, place: int) -> None:
    """An unusual cell in any part of the file gives the column that the inference from all cells gives."""
    path = tmp_path / "table.csv"
    for cell in ODD_CELLS:
        rows = [f"{common},1,a"] * 24
        rows[place] = f"{cell},2,b"
        path.write_text("\n".join(["x,n,label", *rows]) + "\n")
        expected = read_table(path, labels=["label"]).frame
        frame = CsvReader(path, tab=False, sample_rows=10, part_bytes=60).parse_file(labels=["label"])
        assert frame.equals(expected), cell
        assert frame.dtypes == expected.dtypes, cell


def test_a_table_of_numbers_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, empty cells and quoted labels are parsed once after the sample, with the types of the sample."""
    types = []
    read_csv = pl.read_csv

    def watch(*args: Any, **options: Any) -> pl.DataFrame:
        types.append(list(options["schema_overrides"].values()))
        return read_csv(*args, **options)

    monkeypatch.setattr(pl, "read_csv", watch)
    path = tmp_path / "table.csv"
    path.write_text("x,n,label\n" + '1.5,1,"a"\n,2,""\n' * 20)
    frame = CsvReader(path, tab=False, sample_rows=10).parse_file(labels=["label"])
    assert frame.dtypes == [pl.Float64, pl.Int64, pl.String]
    assert frame["x"].null_count() == 20
    assert types == [[pl.String] * 3, frame.dtypes]


@pytest.mark.parametrize(
    ("length", "part_bytes"), [(4, 12), (4, 20), (4, 10_000), pytest.param(6, 12, marks=pytest.mark.slow)]
)
def test_every_short_text_is_read_as_the_csv_module_reads_it(tmp_path: Path, length: int, part_bytes: int) -> None:
    """A text of quotation marks, delimiters and line ends gives the cells of the csv module, or both refuse it.

    The rows are read without a check of each line where possible, so this compares all texts of some length with an
    oracle: the csv module, with short lines and blank lines as errors or ignored lines.
    """
    path = tmp_path / "t.csv"
    for letters in itertools.product('",\nab', repeat=length):
        text = "".join(letters)
        path.write_text("x,y\n" + "1,2\n" * 2 + text + "\n1,2\n")
        try:
            rows = list(csv.reader(io.StringIO("1,2\n" * 2 + text + "\n1,2\n", newline=""), strict=True))
            expected = [row for row in rows if row]
            is_table = all(len(row) == 2 or (len(row) > 2 and not any(map(str.strip, row[2:]))) for row in expected)
        except csv.Error:
            is_table = False
        reader = CsvReader(path, tab=False, sample_rows=2, part_bytes=part_bytes)
        if not is_table:
            with pytest.raises(DataError):
                reader.parse_file(labels=["x", "y"])
            continue
        frame = reader.parse_file(labels=["x", "y"])
        assert [[cell or "" for cell in row] for row in frame.rows()] == [row[:2] for row in expected], text


def test_cells_beyond_the_header_are_not_lost(tmp_path: Path) -> None:
    """Empty cells at the end of lines are ignored; a cell with a value there is an error, in any row."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2,\n" * 30)
    assert CsvReader(path, tab=False, sample_rows=5).parse_file(labels=[]).shape == (30, 2)
    path.write_text("a,b\n" + "1,2,\n" * 20 + "1,2,3\n")
    with pytest.raises(DataError, match="line 22: found 3 cells"):
        CsvReader(path, tab=False, sample_rows=5).parse_file(labels=[])


@pytest.mark.parametrize("code", ["007", "-01", "+02", '"007"', " 08 ", "0" * 30])
@pytest.mark.parametrize("common", ["12", "12.5"])
def test_codes_with_leading_zeros_anywhere_in_a_file(tmp_path: Path, code: str, common: str) -> None:
    """A code after the rows from which types are inferred makes the column text; other numbers do not."""
    path = tmp_path / "t.csv"
    for other in ("0", "0.5", "-0.5", "1e-05", "10", "05.01.2021"):
        rows = [f"{common},{other}"] * 30
        path.write_text("\n".join(["x,y", *rows, f"{code},{other}", *rows]) + "\n")
        frame = CsvReader(path, tab=False, sample_rows=5, part_bytes=100).parse_file(labels=[])
        assert frame["x"].to_list() == [common] * 30 + [code.strip('"')] + [common] * 30
        assert frame["y"].dtype.is_numeric() == (other != "05.01.2021")


def test_dropped_columns_are_not_parsed(tmp_path: Path) -> None:
    """A dropped column is not in the table; a column of labels is never dropped, and errors of lines remain."""
    path = tmp_path / "t.csv"
    path.write_text("a,b1,b2,label\n" + "1,x,2,u\n" * 3)
    for suffix in (".csv", ".jsonl", ".parquet"):
        other = path.with_suffix(suffix)
        if suffix != ".csv":
            getattr(pl.read_csv(path), "write_parquet" if suffix == ".parquet" else "write_ndjson")(other)
        table = read_table(other, labels=["label"], drop=["b*", "label"])
        assert (table.frame.columns, table.dropped) == (["a", "label"], ("b1", "b2"))
        columns, _ = choose_columns(table, exclude=["label"], overrides=Overrides(drop=("b*",), numbers=("a",)))
        assert [column.name for column in columns] == ["a"]
        with pytest.raises(DataError, match="no column matches 'c"):
            choose_columns(table, exclude=["label"], overrides=Overrides(drop=("c*",)))
    path.write_text("a,b1,b2,label\n1,x,2,u\n1,x\n")
    with pytest.raises(DataError, match="line 3: found 2 cells"):
        read_table(path, drop=["b2", "label"])


TITLES = {
    "1 line above": "# exported 2021-03-04\na,b\n1,2\n",
    "2 lines above": "Birds of Lyon\n\na,b\n1,2\n",
    "2 lines": "Birds\nof Lyon\na,b,c\n1,2,3\n",
    "1 line": "Birds;;\na;b;c\n1;2;3\n",
}


@pytest.mark.parametrize("name", TITLES)
def test_title_lines_above_the_header_are_ignored(tmp_path: Path, name: str) -> None:
    """A note names them; rows and lines in errors are those of the file."""
    path = tmp_path / "t.csv"
    content = TITLES[name]
    n_cells = content.split("\n")[-2].count(";" if ";" in content else ",") + 1
    path.write_text(content)
    table = read_table(path)
    assert table.frame.rows() == [(1, 2, 3)[:n_cells]]
    assert name.split(maxsplit=1)[0] in table.remarks[0]
    assert "above the header" in table.remarks[0]
    assert repr(content.split("\n")[0]) in table.remarks[0]
    assert [batch.rows() for batch in read_batches(path, n_rows=1)] == [table.frame.rows()]
    content += content.split("\n")[-2] + "\n"
    path.write_text(content + content[content.rindex("\n", 0, -1) + 1 :] * 8 + "1\n")
    with pytest.raises(DataError, match=rf"line {content.count(chr(10)) + 9}: found 1 cells"):
        read_table(path)


def test_lines_that_may_be_a_header_are_never_ignored(tmp_path: Path) -> None:
    """In case of doubt the first line is the header; the error names the cause."""
    path = tmp_path / "t.csv"
    for content in ("place\nParis, France\nRome, Italy\n", "x\n1,2\n"):
        path.write_text(content)
        with pytest.raises(DataError, match=r"line 2: found 2 cells, but the header has 1.*above it.*delete them"):
            read_table(path)
    path.write_text(",x\n0,1.5\n1,2.5\n")
    assert read_table(path).frame.columns == ["column 0", "x"]
    path.write_text("remark\nrain\nsnow\n")
    assert read_table(path).frame.columns == ["remark"]


def test_blank_lines_between_rows_are_ignored(tmp_path: Path) -> None:
    """A note counts them; in a table of one column they are missing values."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n\n3,4\n  \n\n5,6\n\n")
    table = read_table(path)
    assert table.frame["a"].to_list() == [1, 3, 5]
    note = "3 blank lines are ignored, the first one in line 3; rows are counted without blank lines."
    assert table.remarks == (note,)
    reader = CsvReader(path, tab=False, sample_rows=1)
    assert reader.parse_file(labels=[]).equals(table.frame)
    assert reader.remarks == [note]
    assert [batch["a"].to_list() for batch in read_batches(path, n_rows=2)] == [[1], [3], [5]]
    path.write_text("a\n1\n\n3\n")
    assert read_table(path).frame["a"].to_list() == [1, None, 3]


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
