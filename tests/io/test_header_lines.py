"""Comments and names of groups of columns above the header: skipped with a note if they are plainly not rows."""

from pathlib import Path

import pytest

from oneof.errors import DataError
from oneof.io import Table, read_table
from oneof.io.columns import find_column

HEADER = ("span", "mass", "color", "species")
ROWS = [(f"{i}.5", f"{-i}", ["red", "gray"][i % 2], ["owl", "wren|owl"][i % 2]) for i in range(1, 41)]


def _read(path: Path, lines: list[str]) -> Table:
    path.write_text("\n".join(lines) + "\n")
    return read_table(path, labels=["species"])


def _lines(delimiter: str = ",") -> list[str]:
    return [delimiter.join(row) for row in (HEADER, *ROWS)]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize(
    "comments",
    [
        ["# exported by\tX\t2026"],
        ["# exported by X, 2026"],
        ["#exported by\tX\t2026\tv1\tok\tyes"],
        ["# a; b, c", "", "# d\te"],
    ],
)
def test_comments_above_the_header_may_have_delimiters(tmp_path: Path, delimiter: str, comments: list[str]) -> None:
    """The table is that without the comments, and a note quotes the first one."""
    table = _read(tmp_path / "t.csv", comments + _lines(delimiter))
    assert table.frame.equals(_read(tmp_path / "plain.csv", _lines(delimiter)).frame)
    assert [repr(comments[0]) in remark for remark in table.remarks] == [True]


@pytest.mark.parametrize("header", ["#span,mass,color,species", "# span,mass,color,species", "#,mass,color,species"])
def test_a_header_may_begin_with_the_sign_of_comments(tmp_path: Path, header: str) -> None:
    """A line with as many cells as the rows is the header, also below a comment."""
    rows = [",".join(row) for row in ROWS]
    for above in ([], ["# exported by X, 2026"]):
        table = _read(tmp_path / "t.csv", [*above, header, *rows])
        assert table.frame.columns == header.split(",")
        assert table.frame.height == len(ROWS)


@pytest.mark.parametrize("n_rows", [40, 12_000])
@pytest.mark.parametrize(
    "line", ["# page 2", "# page 2, of 3", "#tag, with a comma, and another,1,red,owl", "- page 2"]
)
def test_lines_between_rows_with_other_cells_are_errors(tmp_path: Path, n_rows: int, line: str) -> None:
    """The error names the line, also that of a comment, and the column."""
    lines = _lines()[:1] + _lines()[1:] * (n_rows // len(ROWS))
    with pytest.raises(DataError, match=r"line 22: found . cells, but the header has 4: .* column '.*Correct the line"):
        _read(tmp_path / "t.csv", [*lines[:21], line, *lines[21:]])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_names_of_groups_above_the_header_are_ignored(tmp_path: Path, delimiter: str) -> None:
    """A first line of merged cells is above the header if the second one has the names of all columns."""
    groups = delimiter.join(["Measures", "", "Traits", ""])
    table = _read(tmp_path / "t.csv", [groups, *_lines(delimiter)])
    assert table.frame.equals(_read(tmp_path / "plain.csv", _lines(delimiter)).frame)
    assert "1 line above the header is ignored: 'Measures" in table.remarks[0]


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
