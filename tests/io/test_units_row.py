"""A row of units below the header of a table."""

from pathlib import Path

import polars as pl
import pytest

from oneof.io import choose_columns, read_table

HEADER = "length,pitch,species\n"
DATA = "3.1,440,wren\n2.9,450,finch\n4.0,300,owl\n3.3,,wren\n2.5,460,finch\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "units",
    [
        "m,Hz,",
        "m,Hz,unit",
        "cm,s-1,-",
        "°C,%,",
        "[m/s],(kHz),name",
        "µg/l,kg m-2,class",
        "s,s,NA",
        "1/s,dB re 1 µPa,",
        "counts/min,W/m²,",
    ],
)
def test_a_row_of_units_is_left_out(tmp_path: Path, units: str) -> None:
    """The table, its kinds and its labels are those of the file without the row, and a remark names the units."""
    plain = read_table(write(tmp_path / "a.csv", HEADER + DATA), labels=["species"])
    for labels, as_text in ((["species"], []), ([], ["*"])):
        table = read_table(write(tmp_path / "b.csv", HEADER + units + "\n" + DATA), labels=labels, as_text=as_text)
        assert table.frame.height == plain.frame.height == 5
        assert table.frame["species"].to_list() == plain.frame["species"].to_list()
        [remark] = [text for text in table.remarks if "units" in text]
        assert repr(units.split(",", maxsplit=1)[0]) in remark
        assert "is left out; row 0 is the row after it." in remark
        columns, findings = choose_columns(table, exclude=["species"])
        assert [column.kind for column in columns] == ["number", "number"]
        assert [found.n_unreadable for found in findings.columns] == [0, 0]


@pytest.mark.parametrize(
    "row",
    [
        "m,440,",  # a number
        "m,,",  # one unit
        "m,Hz,wren",  # a class of other rows
        "refused today,not measured,",  # longer texts
        "n.d.,n.d.,",
        "<5,>6,",
        "err,err,",  # words
        "low,low,owls",
        "m,Hz,heron",  # another class
    ],
)
def test_a_row_of_data_is_kept(tmp_path: Path, row: str) -> None:
    """A row with a number, one unit, a known class or a text that is not a unit is a row of data."""
    table = read_table(write(tmp_path / "a.csv", HEADER + row + "\n" + DATA), labels=["species"])
    assert table.frame.height == 6
    assert not any("units" in text for text in table.remarks)


def test_units_in_text_columns_and_tables_of_text_are_kept(tmp_path: Path) -> None:
    """Short words above words are categories."""
    text = "size,color,species\nm,red,wren\nl,blue,owl\ns,gray,finch\nxl,pink,owl\n"
    assert read_table(write(tmp_path / "a.csv", text)).frame.height == 4


def test_typed_formats_have_the_same_rows(tmp_path: Path) -> None:
    """Columns of text in Parquet are read as those of CSV."""
    rows = [line.split(",") for line in ("m,Hz,\n" + DATA).splitlines()]
    frame = pl.DataFrame(rows, schema=["length", "pitch", "species"], orient="row")
    frame.write_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").frame["species"].to_list()[0] == "wren"


def test_a_row_with_an_identifier_is_a_row_of_data(tmp_path: Path) -> None:
    """Only placeholders stand beside units."""
    text = "id,length,pitch\nr0,m,s\nr1,3,4\nr2,5,6\nr3,7,8\n"
    assert read_table(write(tmp_path / "a.csv", text)).frame.height == 4


def test_a_table_of_answers_keeps_its_first_row(tmp_path: Path) -> None:
    """Answers may be short texts among numbers."""
    text = "row,ann,bob\n-,m,s\nr1,3,4\nr2,5,6\nr3,7,8\n"
    assert read_table(write(tmp_path / "a.csv", text), as_text=("*",), drop_units=False).frame.height == 4
