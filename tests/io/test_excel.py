"""Spreadsheets give the table of a CSV file with the same cells."""

import datetime
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from oneof.errors import DataError, MissingExtraError
from oneof.io import read_table
from tests.io.spreadsheets import WRITERS, write_ods, write_xlsx

Write = Callable[..., Path]

pytest.importorskip("fastexcel", reason="fastexcel is in the extra `excel`")

HEADER = ("span", "n", "label", "flag", "zip", "note")
ROWS = (
    (1.5, 3, "a|b", True, "007", 'say "hi", ok'),
    (None, -4, None, False, "01", "two\nlines"),
    (0.25, 5, "b", None, "02", None),
)
CONTENT = 'span,n,label,flag,zip,note\n1.5,3,a|b,true,007,"say ""hi"", ok"\n,-4,,false,01,"two\nlines"\n0.25,5,b,,02,\n'


@pytest.fixture(params=WRITERS)
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Write:
    """Return a function that writes sheets to a file of each format."""
    return lambda **sheets: WRITERS[request.param](tmp_path / f"t{request.param}", **sheets)


def test_a_sheet_is_the_table_of_a_csv_file(write: Write, tmp_path: Path) -> None:
    """Numbers, booleans, quoted text, texts that look like numbers, and empty cells are those of a CSV file."""
    (tmp_path / "t.csv").write_text(CONTENT)
    options = {"labels": ["label"], "as_text": ["zip"]}
    table = read_table(write(birds=[HEADER, *ROWS]), **options)
    assert table.frame.equals(read_table(tmp_path / "t.csv", **options).frame)
    assert table.remarks == ()


def test_numbers_keep_their_digits(write: Write) -> None:
    """Numbers are read to the last bit, also in a column with text."""
    rng = np.random.default_rng(0)
    known = [0.1 + 0.2, 1e-12, 1 / 3, -2.5e-9, 12345678.123456789]
    numbers = [*known, *rng.normal(size=20).tolist(), *(1e-9 * rng.normal(size=20)).tolist()]
    path = write(s=[("a", "b"), *((number, number) for number in numbers), (1, "-")])
    frame = read_table(path, as_text=["b"]).frame
    assert frame["a"].to_list() == [*numbers, 1.0]
    assert [float(text) for text in frame["b"][:-1]] == numbers
    assert frame["b"][-1] == "-"


def test_texts_and_dates_are_unchanged(write: Write) -> None:
    """Text that looks like a number keeps its digits, and a date is a date."""
    texts = ["007", "1.50", "1e3", "0.10000000000000000000001", "12345678901234567890123"]
    days = [datetime.date(2026, 1, 31) - datetime.timedelta(days=9999 * i) for i in range(5)]
    frame = read_table(write(s=[("a", "day"), *zip(texts, days, strict=True)]), labels=["a"]).frame
    assert frame["a"].to_list() == texts
    assert frame["day"].str.to_datetime().dt.date().to_list() == days


def test_sheets(write: Write) -> None:
    """The first sheet is read, with a note about the others; another is read by its name."""
    path = write(first=[("a", "b"), (1, 2)], second=[("a", "b"), (3, 4), (5, 6)], third=[])
    table = read_table(path)
    assert table.frame.rows() == [(1, 2)]
    assert table.remarks == ("the sheet 'first' is read; --sheet names another one: 'second', 'third'.",)
    table = read_table(path, sheet="second")
    assert (table.frame.rows(), table.remarks) == ([(3, 4), (5, 6)], ())
    for sheet, message in (("fourth", "has no sheet 'fourth'; its sheets are 'first', 'second', 'third'"),
                           ("third", "the sheet 'third' of .* is empty. Name another by --sheet")):  # fmt: skip
        with pytest.raises(DataError, match=message):
            read_table(path, sheet=sheet)


def test_empty_rows_and_columns(write: Write) -> None:
    """Empty columns are ignored, as are empty rows, with a note unless they are at the end."""
    rows = [(None, "a", None, "b"), (None, 1, None, 2), (None,) * 4, (None, 3, None, None), (None,) * 4]
    table = read_table(write(s=rows))
    assert table.frame.rows() == [(1, 2), (3, None)]
    assert table.remarks == ("1 empty row of the sheet is ignored; rows are counted without empty rows.",)


def test_names_of_columns(write: Write) -> None:
    """A column without a name, or a repeated name, is named as in a CSV file."""
    for header in (("a", None), ("a", "a")):
        table = read_table(write(s=[header, (1, 2)]))
        assert (len(set(table.frame.columns)), table.frame.rows()) == (2, [(1, 2)])
        assert len(table.remarks) == (header[1] is not None)
    with pytest.raises(DataError, match="has no rows"):
        read_table(write(s=[("a", "b")]))


def archive_with_a_bad_name() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("é", b"")
    return content.getvalue().replace("é".encode(), b"\xb3\xb3")


@pytest.mark.parametrize("name", ["t.xlsx", "t.ods", "t.xls", "t.xlsb"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 but not really",
        b"a,b\n1,2\n",
        b"\xd0\xcf\x11\xe0" + bytes(600),
        archive_with_a_bad_name(),
    ],
)
def test_damaged_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"{name} cannot be read as a spreadsheet") as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_tag_without_its_end(tmp_path: Path) -> None:
    """A sheet whose XML is damaged is an error at once."""
    path = write_ods(tmp_path / "t.ods", s=[HEADER])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text.replace(b"</table:table>", b"</table:vable>"))
    with pytest.raises(DataError, match=r"t\.ods is damaged: mismatched tag: .* of content\.xml"):
        read_table(path)


def test_files_that_expand_too_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of zeros is not expanded."""
    monkeypatch.setattr("oneof.archives.MAX_BYTES", 2**20)
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(2**24))
    with pytest.raises(DataError, match=r"t\.xlsx: its content would expand"):
        read_table(tmp_path / "t.xlsx")


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    path = write_xlsx(tmp_path / "t.xlsx", s=[HEADER])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(MissingExtraError, match="excel"):
        read_table(path)
