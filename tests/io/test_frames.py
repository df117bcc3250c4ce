"""Rows that a program has in memory, as a table."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.errors import DataError
from oneof.io import read_table, table_from_rows

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
        assert [remark.split(" is read")[0] for remark in table.remarks] == [
            "column 'list' of vectors",
            "column 'array' of vectors",
        ]
    assert table_from_rows(frame.select("array").with_columns(pl.lit(1).alias("array[2]"))).frame.width == 2
    labels = pl.DataFrame({"y": [[0.0, 1.0], [1.0, 0.0]], "x": [1, 2]})
    labels.write_parquet(tmp_path / "labels.parquet")
    assert read_table(tmp_path / "labels.parquet", labels=["y"]).frame.columns == ["y", "x"]
