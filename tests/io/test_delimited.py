"""Delimited text: dialects, headers and lines above them, records, and the types of columns."""

import csv
import io
import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oneof.errors import DataError, InputError
from oneof.io import (
    CellFormat,
    Column,
    Dialect,
    Overrides,
    Table,
    align_columns,
    choose_columns,
    choose_features,
    make_dialect,
    read_table,
)
from oneof.io.batches import iterate_batches
from oneof.io.columns import find_column
from oneof.io.features import BatchSpec
from oneof.io.formats.delimited import DelimitedReader
from oneof.io.formats.dialect import detect_dialect, detect_encoding
from oneof.io.formats.records import RecordOffset
from oneof.stream import open_source, read_batches


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n", (",", ".")),
        ("a;b\n1,5;2,5\n3,25;1\n", (";", ",")),
        ("a;b\n1.5;2\n", (";", ".")),
        ("a;size, m;b\n1;2,5;3\n4;5,5;6\n", (";", ",")),
        ("a\tb\n1,5\tx\n", ("\t", ",")),
        ("a|b\n1|2\n", ("|", ".")),
        ("label,x\na|b,1\nb|c,2\n", (",", ".")),
        ("label;x\na,b;1\nb,c;2\n", (";", ".")),
        ('a;b\n"1;2";3\n', (";", ".")),
        ("a\n1\n", (",", ".")),
        ("a;b\n1.234,5;2\n2.000,5;1\n", (";", ",")),
    ],
)
def test_delimiters_and_decimals(text: str, expected: tuple[str, str]) -> None:
    """The delimiter splits the records into as many cells as the header; a comma within numbers is decimal."""
    dialect, n_above, _ = detect_dialect(text.encode(), Dialect())
    assert n_above == 0
    assert (dialect.delimiter, dialect.decimal) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(encoding: str) -> None:
    text = "name,s\u00eds\n" + "Z\u00fcrich,1\n" * 20
    assert text == text.encode(encoding).decode(detect_encoding(text.encode(encoding))).removeprefix("\ufeff")


def test_western_text_and_damaged_text(tmp_path: Path) -> None:
    """Text that was never UTF-8 is Windows-1252 or Latin-1; a bad byte after characters of UTF-8 is an error."""
    assert detect_encoding(b"a\n\x80\n") == "cp1252"
    assert detect_encoding(b"a\n\x81\n") == "latin-1"
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 40_000 + b"2,\xe9\n")  # beyond the first bytes
    table = read_table(path)
    assert table.frame["b"][-1] == "\u00e9"
    assert table.dialect is not None
    assert table.dialect.encoding == "cp1252"
    for begin in ("a,b\n1,\u00e9\n", "\ufeffa,b\n1,x\n"):
        path.write_bytes(begin.encode() + b"1,x\n" * 40_000 + b"2,\xe9\n")
        with pytest.raises(DataError, match=r"not text in UTF-8 \(line 40003\).*--encoding"):
            read_table(path)


def test_given_properties_are_not_detected(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a;b\n1,5;\u0434\u0430\n2,5;\u043d\u0435\u0442\n".encode("cp1251"))
    table = read_table(path, dialect=make_dialect("cp1251", "semicolon", ","))
    assert table.frame.to_dict(as_series=False) == {"a": [1.5, 2.5], "b": ["\u0434\u0430", "\u043d\u0435\u0442"]}
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="is not text in utf-16"):
        read_table(path, dialect=make_dialect("utf-16"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("latin-99",), "`encoding` must be a known encoding such as latin-1; got 'latin-99'"),
        ((None, ";;"), "`delimiter` must be one character, comma, semicolon, tab or pipe; got ';;'"),
        ((None, '"'), "`delimiter` must be one character"),
        ((None, None, "'"), "`decimal` must be"),
    ],
)
def test_invalid_dialects_are_errors(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_dialect(*arguments)


@pytest.mark.parametrize(("header", "n_above"), [("n;x;y;c", 2), ("n;x;y;c;;", 2), ("n;;y;c", 0), ("n;x;x;c", 0)])
def test_a_row_with_decimal_commas_is_not_the_header(header: str, n_above: int) -> None:
    """Below a title, a row such as "s1;1,5;2,5;red" is not a header of commas, and its header is not a title."""
    end = ";" * (header.count(";") - 3)
    rows = "".join(f"s{i};{i},5;{i},25;red{end}\n" for i in range(9))
    assert detect_dialect(f"Title\n\n{header}\n{rows}".encode(), Dialect())[1] == n_above


def columns_of(text: str, path: Path, **dialect: str) -> list[list[Any]]:
    """Return the values of all columns but the last."""
    path.write_text(text)
    table = read_table(path, labels=["y"], dialect=Dialect(**dialect))
    features = choose_features(table, exclude=["y"]).frame
    return [cells.to_list() for cells in features.iter_columns()]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("1.100", "100,5"), (1100.0, 100.5)),
        (("1.100", "41,9 %"), (1100.0, 41.9)),
        (("1.234.567", "-0,626"), (1234567.0, -0.626)),
        (("6.004,95 \u20ac", "12.500"), (6004.95, 12500.0)),
        (("1.100", "100.5"), (1.1, 100.5)),
        (("1,234,567", "0.626"), (1234567.0, 0.626)),
    ],
)
def test_groups_of_three_digits_do_not_show_the_decimal_separator(
    tmp_path: Path, cells: tuple[str, str], expected: tuple[float, float]
) -> None:
    """Numbers with one group follow the separator of the other columns, also of those with a unit."""
    rows = "".join(f"{';'.join(cells if i else ('7', '3'))};{'ab'[i % 2]}\n" for i in range(30))
    columns = columns_of(f"n;m;y\n{rows}", tmp_path / "a.csv")
    assert [values[5] for values in columns] == pytest.approx(expected)


def test_cells_between_commas_have_decimal_points_in_new_tables_too() -> None:
    """A model of a table with decimal commas reads points, also thousandths; quoted commas remain decimal."""
    cases = [("a,b\n1168.302,-3.165\n", "."), ("a,b\n1,2\n", "."), ('a,b\n"1,5",2\n', ","), ('a,b\n"1,500",2\n', ",")]
    for text, decimal in cases:
        assert detect_dialect(text.encode(), Dialect(), default_decimal=",")[0].decimal == decimal
    assert detect_dialect(b"a;b\n1.100;2\n", Dialect(), default_decimal=",")[0].decimal == ","


@pytest.mark.parametrize("text", ["q;y\n1,5;a\n2,5;b\n", 'q,y\n"1,5",a\n"2,5",b\n', 'q,y\n"1,500",a\n"2,500",b\n'])
def test_a_given_decimal_comma_needs_no_delimiter(tmp_path: Path, text: str) -> None:
    """The option alone applies to semicolons and to quoted cells between commas."""
    assert columns_of(text, tmp_path / "a.csv", decimal=",") == [[1.5, 2.5]]


def test_the_separator_of_training_is_used_if_the_rows_show_none(tmp_path: Path) -> None:
    """New rows with groups of three digits alone are read as in training."""
    path = tmp_path / "new.csv"
    path.write_text("n;y\n1.100;a\n2.300;b\n")
    for decimal, expected in ((",", [1100.0, 2300.0]), (".", [1.1, 2.3])):
        table = read_table(path, labels=["y"], cell_format=CellFormat(decimal))
        columns = [Column("n", "number", (".,",) if decimal == "," else ())]
        assert align_columns(table.frame, columns, path, cell_format=table.cell_format)["n"].to_list() == expected


HEADER = ("span", "mass", "color", "species")
ROWS = [(f"{i}.5", f"{-i}", ["red", "gray"][i % 2], ["owl", "wren|owl"][i % 2]) for i in range(1, 41)]


def _read(path: Path, lines: list[str]) -> Table:
    path.write_text("\n".join(lines) + "\n")
    return read_table(path, labels=["species"])


def _lines(delimiter: str = ",") -> list[str]:
    return [delimiter.join(row) for row in (HEADER, *ROWS)]


ABOVE = {
    "comments": (["# exported by\tX\t2026"], ["# exported by X, 2026"], ["#exported by\tX\t2026\tv1\tok\tyes"]),
    "comments with blank lines": (["# a; b, c", "", "# d\te"],),
    "titles": (["Birds of Lyon", ""], ["Birds", "of Lyon"]),
    "names of groups": (["Measures,,Traits,"], ["Measures,,,"]),
}


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("above", [lines for cases in ABOVE.values() for lines in cases])
def test_lines_above_the_header_are_ignored(tmp_path: Path, delimiter: str, above: list[str]) -> None:
    """The table and the stream are those without these lines; a note quotes the first one; errors count all lines."""
    if ",," in above[0]:
        above = [above[0].replace(",", delimiter)]
    path = tmp_path / "t.csv"
    table = _read(path, above + _lines(delimiter))
    assert table.frame.equals(_read(tmp_path / "plain.csv", _lines(delimiter)).frame)
    lines = f"{len(above)} lines above the header are" if len(above) > 1 else "1 line above the header is"
    assert table.remarks == (f"{lines} ignored: {above[0].strip()!r}.",)
    _read(path, above + _lines(delimiter))
    assert [batch.height for batch in read_batches(path, n_rows=30)] == [30, 10]
    with pytest.raises(DataError, match=rf"line {len(above) + 42}: found 1 cells"):
        _read(path, [*above, *_lines(delimiter), "1"])


@pytest.mark.parametrize("header", ["#span,mass,color,species", "# span,mass,color,species", "#,mass,color,species"])
def test_a_header_may_begin_with_the_sign_of_comments(tmp_path: Path, header: str) -> None:
    """A line with as many cells as the rows is the header, also below a comment."""
    rows = [",".join(row) for row in ROWS]
    for above in ([], ["# exported by X, 2026"]):
        table = _read(tmp_path / "t.csv", [*above, header, *rows])
        assert table.frame.columns == header.split(",")
        assert table.frame.height == len(ROWS)


@pytest.mark.parametrize(
    "line", ["# page 2", "# page 2, of 3", "#tag, with a comma, and another,1,red,owl", "- page 2"]
)
def test_lines_between_rows_with_other_cells_are_errors(tmp_path: Path, line: str) -> None:
    """The error names the line, also that of a comment, and the column."""
    lines = _lines()
    with pytest.raises(DataError, match=r"line 22: found . cells, but the header has 4: .* column '.*Correct the line"):
        _read(tmp_path / "t.csv", [*lines[:21], line, *lines[21:]])


@pytest.mark.parametrize("first", ["NA,NA,red,owl", "x1,x2,red,red", "x1,x2,red,", "1,2,red,owl"])
def test_a_row_is_not_the_header_below_merged_cells(tmp_path: Path, first: str) -> None:
    """Missing values, equal cells, an empty cell or numbers are not names: the first line stays the header."""
    lines = ["span,,,species", first, *_lines()[1:]]
    table = _read(tmp_path / "t.csv", lines)
    assert table.frame.columns == ["span", "column 1", "column 2", "species"]
    assert any("If their names are in the row below, as after merged cells" in remark for remark in table.remarks)
    table = _read(tmp_path / "t.csv", ["span,Others,,", *_lines()[1:]])
    (remark,) = table.remarks
    assert remark.startswith("columns without a name are named by their position, from 0: 'column 2', 'column 3'.")


def test_an_unknown_column_has_advice_about_the_header() -> None:
    """If the header has empty cells, the error says how to correct it."""
    with pytest.raises(DataError, match="if the names are in the row below, delete the rows above it"):
        find_column("species", ["Measures", "column 1", "Label"], Path("t.csv"))


@pytest.mark.parametrize("ending", ["", "one cell too many\n"])
def test_long_cells_are_read(tmp_path: Path, ending: str) -> None:
    """A cell or name longer than the limit of the csv module is read, and the limit of the process is unchanged."""
    before, long = csv.field_size_limit(), "long " * 40_000
    path = tmp_path / "t.csv"
    path.write_text(f'x,"{long}"\n1,"{long}"\n2,b\n' + ending.replace(" ", ","))
    assert len(long) > before
    batches = read_batches(path, n_rows=1)
    assert next(batches).columns == ["x", long.strip()]
    if ending:
        with pytest.raises(DataError, match="line 4: found 4 cells"):
            read_table(path)
        with pytest.raises(DataError, match="line 4: found 4 cells"):
            list(batches)
    else:
        assert read_table(path).frame[long.strip()].to_list() == [long, "b"]
        assert [batch["x"].to_list() for batch in batches] == [[2]]
    assert csv.field_size_limit() == before


ODD_CELLS = (
    "-07",
    "7", "7.5", " 5", "5 ", "+5", "inf", "-inf", "infinity", "1e5", "1.", "1.e3", ".5", "0x1F", "1_000", "NAN", "-nan",
    "true", "2020-01-01", "99999999999999999999", "1e400", "-", "0005", "", "NA", "word", '"5"', '" 5"', '""', '"1,5"',
)  # fmt: skip


@pytest.mark.parametrize("common", ["7", "7.5", "-1e3", "0.5", '"7"'])
@pytest.mark.parametrize("place", [3, 14, 21])
def test_types_inferred_from_the_first_rows_are_those_of_all_rows(tmp_path: Path, common: str, place: int) -> None:
    """An unusual cell in any part of the file gives the column that the inference from all cells gives.

    The columns of a file are inferred each by itself, so that each of them has an unusual cell of its own.
    """
    path = tmp_path / "table.csv"
    rows = [",".join([common] * len(ODD_CELLS) + ["1,a"])] * 24
    rows[place] = ",".join([*ODD_CELLS, "2,b"])
    names = [f"x{i}" for i in range(len(ODD_CELLS))]
    path.write_text("\n".join([",".join([*names, "n,label"]), *rows]) + "\n")
    expected = read_table(path, labels=["label"]).frame
    frame = DelimitedReader(path, BatchSpec(("label",)), part_bytes=10 * len(rows[0])).read_file()
    assert frame.equals(expected)
    assert dict(frame.schema) == dict(expected.schema)


def test_a_table_of_numbers_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, empty cells and quoted labels are parsed once after the first part, with the types of that part."""
    types = []
    read_csv = pl.read_csv

    def watch(*args: Any, **options: Any) -> pl.DataFrame:
        types.append(list(options["schema"].values()))
        return read_csv(*args, **options)

    monkeypatch.setattr(pl, "read_csv", watch)
    path = tmp_path / "table.csv"
    path.write_text("x,n,label\n" + '1.5,1,"a"\n,2,""\n' * 20)
    frame = DelimitedReader(path, BatchSpec(("label",)), part_bytes=100).read_file()
    assert frame.dtypes == [pl.Float64, pl.Int64, pl.String]
    assert frame["x"].null_count() == 20
    assert len(types) > 2
    assert types == [[pl.String] * 3, *[frame.dtypes] * (len(types) - 1)]


PARTS = (12, 20, 10_000)


def _texts(frame: pl.DataFrame) -> list[list[str]]:
    return [[cell or "" for cell in row] for row in frame.rows()]


@pytest.mark.parametrize(
    ("length", "part_bytes"),
    [
        (4, PARTS[0]),
        *(pytest.param(4, part, marks=pytest.mark.long) for part in PARTS[1:]),
        pytest.param(6, 12, marks=pytest.mark.slow),
    ],
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
        reader = DelimitedReader(path, BatchSpec(("x", "y")), part_bytes=part_bytes)
        if not is_table:
            with pytest.raises(DataError):
                reader.read_file()
            with pytest.raises(DataError):
                list(DelimitedReader(path, BatchSpec(("x",), ())).batches(2, RecordOffset()))
            continue
        assert _texts(reader.read_file()) == [row[:2] for row in expected], text
        if part_bytes == max(PARTS):
            rows_of_stream = [row for batch, _ in reader.batches(2, RecordOffset()) for row in _texts(batch)]
            assert rows_of_stream == _texts(reader.read_file())
            labels = DelimitedReader(path, BatchSpec(("x",), ())).batches(2, RecordOffset())
            assert [row for batch, _ in labels for row in _texts(batch)] == [row[:1] for row in expected]


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize(("row", "cells"), [("{0}1{0}", 1), ("{0}1{0},{0}2{0},{0}3{0},9", 4), ("{0}1{0},{0}2{0}", 2)])
def test_a_wrong_line_among_many_is_found(tmp_path: Path, quote: str, row: str, cells: int) -> None:
    """Its number is that of the file, also if the last column is not read, or is empty in other rows."""
    path = tmp_path / "t.csv"
    for last in ("{0}3{0}", ""):
        rows = [f"{{0}}1{{0}},{{0}}2{{0}},{last}".format(quote)] * 50_000
        rows[40_000] = row.format(quote)
        path.write_text("\n".join(["a,b,c", *rows]) + "\n")
        for drop in ([], ["c"]):
            with pytest.raises(DataError, match=f"line 40002: found {cells} cells"):
                read_table(path, drop=drop)
        for labels in (("a",), ("c",)):
            with pytest.raises(DataError, match=f"line 40002: found {cells} cells"):
                list(iterate_batches(open_source(path), 10_000, BatchSpec(labels, ())))


def test_dropped_columns_are_not_in_the_table(tmp_path: Path) -> None:
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
        with pytest.raises(DataError, match="column 'c"):
            choose_columns(table, exclude=["label"], overrides=Overrides(drop=("c*",)))
    path.write_text("a,b1,b2,label\n1,x,2,u\n1,x\n")
    with pytest.raises(DataError, match="line 3: found 2 cells"):
        read_table(path, drop=["b2", "label"])


FIELD = "id\tplace\tn\n1\told mill\t5\n2\t{}wood\t6\n3\tInn {}The Swan\t7\n4\t12{} pipe\t8\n"
"""Table without quotation marks around cells, with three marks."""


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_text_without_quoting_is_read_if_it_is_named(tmp_path: Path, suffix: str) -> None:
    """Marks are ordinary characters of cells, in tables and in streams."""
    path = tmp_path / f"t{suffix}"
    path.write_text(FIELD.format(*'"""'))
    expected = [(1, "old mill", 5), (2, '"wood', 6), (3, 'Inn "The Swan', 7), (4, '12" pipe', 8)]
    table = read_table(path, dialect=make_dialect(quote="none"))
    assert (table.frame.rows(), table.remarks) == (expected, ())
    batches = iterate_batches(open_source(path), 2, BatchSpec(dialect=make_dialect(quote="none")))
    assert [row for batch in batches for row in batch.frame.rows()] == expected


@pytest.mark.parametrize(
    ("marks", "found"),
    [
        ('"""', '\'"wood\\t6\\n3\\tInn "The Swan'),
        (('"', "", ""), "'\"wood\\t6\\n3"),
        (('""\r', "", ""), '\'""\\rwood\\t6\\n3'),
    ],
)
def test_a_wrong_quotation_mark_is_an_error_with_its_place(tmp_path: Path, marks: Any, found: str) -> None:
    """The error has line and column, shows the text, and names the option; a stream has the same error."""
    path = tmp_path / "t.tsv"
    path.write_text(FIELD.format(*marks))
    for read in (read_table, lambda path: list(read_batches(path, n_rows=1))):
        with pytest.raises(DataError) as caught:
            read(path)
        assert f"line 3, column 'place': a quotation mark is not closed, or is followed by text: {found}" in str(
            caught.value
        )
        assert "--quote none" in str(caught.value)


def test_quoted_cells_that_may_join_rows_have_a_note(tmp_path: Path) -> None:
    """The note names the first cell whose lines all have the cells of a row; other lines in cells have none."""
    path = tmp_path / "t.tsv"
    path.write_text('id\tplace\tn\n1\told mill\t5\n2\t"upper\t6\n3\tinn\t7\n4\tlower"\t8\n')
    table = read_table(path)
    assert table.frame.height == 2
    assert "joins 3 lines from line 3 on ('2\\t\"upper\\t6')" in table.remarks[0]
    assert "--quote none" in table.remarks[0]
    path.write_text('id\tplace\tn\n1\t"old\nmill"\t5\n2\t"a\t\tb\nc"\t5\n')
    assert read_table(path).remarks == ()


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
    note = "blank lines are ignored, the first one in line 3; rows are counted without them."
    assert table.remarks == (note,)
    reader = DelimitedReader(path, BatchSpec(), part_bytes=8)
    assert reader.read_file().equals(table.frame)
    assert reader.remarks == [note]
    assert [batch["a"].to_list() for batch in read_batches(path, n_rows=2)] == [[1], [3], [5]]
    path.write_text("a\n1\n\n3\n")
    assert read_table(path).frame["a"].to_list() == [1, None, 3]
