"""Vectors of a table and of single rows as columns of numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError
from oneof.io import read_table, table_from_rows
from oneof.io.vectors import match_vectors, split_vectors, used_vectors

SIZES = {"q": 2}


def test_only_columns_that_are_split_are_vectors() -> None:
    """Columns named q[0], q[1] are ordinary columns; a vector without a number among the features is not used."""
    frame = pl.DataFrame({"q[0]": [0.5], "q[1]": [1.5], "a": [[0.5, 1.0, 2.0]], "b": [[0.5, 1.0]]})
    split, sizes = split_vectors(frame, ["b"])
    assert sizes == {"a": 3}
    assert split.columns == ["q[0]", "q[1]", "a[0]", "a[1]", "a[2]", "b"]
    assert table_from_rows(frame).vectors == {"a": 3, "b": 2}
    assert used_vectors(sizes, ["q[0]", "a[2]"]) == {"a": 3}
    assert used_vectors(sizes, ["q[0]"]) == {}


@pytest.mark.parametrize("width", [1, 3])
def test_columns_of_numbers_have_no_length(width: int) -> None:
    """The columns of a table with other members than those of training are unchanged if they are not a vector."""
    frame = pl.DataFrame({f"q[{j}]": [1.0] for j in range(width)})
    assert match_vectors(frame, SIZES, {}).equals(frame)
    message = rf"^row 0: column 'q' must have vectors of 2 numbers, as in training; got a vector of {width}\."
    with pytest.raises(DataError, match=message):
        match_vectors(frame, SIZES, {"q": width})


@pytest.mark.parametrize("cells", [[None, "[1,2]"], [None, {"x": 1}], [None, 3]])
def test_a_vector_of_a_table_must_be_a_list(cells: list[Any]) -> None:
    """The error names the first row that has such a cell."""
    with pytest.raises(
        DataError, match=r"^row 1: column 'q' must have vectors of 2 numbers, as in training; got a value of type"
    ):
        match_vectors(pl.DataFrame({"q": cells, "x": [1.0, 2.0]}), SIZES, {})


def test_a_vector_together_with_its_numbers_is_an_error() -> None:
    """Neither is ignored; a missing vector, or another value of this name, does not hide the numbers."""
    message = r"row 1: column 'q' has a vector, whose number 'q\[1\]' is also a column\. Remove one\.$"
    with pytest.raises(DataError, match=message):
        match_vectors(pl.DataFrame({"q": [None, [1, 2]], "q[1]": [3.0, 4.0]}), SIZES, {})
    for other in (None, "remark"):
        row = {"q": other, "q[0]": 1.0, "q[1]": 2.0}
        frame = pl.DataFrame([row])
        assert match_vectors(frame, SIZES, {}).equals(frame)


def test_a_missing_vector_has_missing_numbers() -> None:
    for frame in (pl.DataFrame({"q": [None]}), pl.DataFrame({"q": [None]}, schema={"q": pl.List(pl.Int64)})):
        assert match_vectors(frame, SIZES, {}).rows(named=True) == [{"q[0]": None, "q[1]": None}]


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
    assert any("column 'e' of vectors is read as 8 columns of numbers" in remark for remark in read.remarks)
    for as_text in (["e"], ["*"]):
        assert read_table(path, labels=["y"], as_text=as_text).frame["e"].to_list() == cells
