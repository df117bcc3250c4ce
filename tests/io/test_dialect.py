"""Dialects: detection from the first bytes, properties set by a user, and damaged text."""

from pathlib import Path
from typing import Any

import pytest

from oneof.errors import DataError, InputError
from oneof.io import CellFormat, Column, Dialect, align_columns, choose_features, make_dialect, read_table
from oneof.io.formats.dialect import detect_dialect, detect_encoding


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


@pytest.mark.parametrize(
    ("header", "n_above"),
    [("n;x;y;c", 2), ("n;x;y;c;;", 2), ("n;;y;c", 0), ("n;x;x;c", 0)],
)
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
