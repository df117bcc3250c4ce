"""Columns of dates, months and durations: formats, whole numbers that are dates, and notes."""

import shlex
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.io import (
    CellFormat,
    Column,
    Overrides,
    Table,
    UnreadableCells,
    align_columns,
    choose_columns,
    choose_features,
)
from tests.io.conftest import PATH, choose, count, found


@pytest.mark.parametrize("separator", ["/", "-"])
@pytest.mark.parametrize("time", ["", " 10:30"])
def test_a_note_about_ambiguous_dates_has_the_other_format(separator: str, time: str) -> None:
    """If day and month can be exchanged, the note has the option that exchanges them, which ends the note."""
    cells = [f"{day:02d}{separator}{month:02d}{separator}2021{time}" for day, month in [(3, 4), (5, 6), (12, 1)]] * 10
    _, findings = choose(x=cells)
    (note,) = [note for note in findings.sentences() if "--date-format '" in note or "--date-format %" in note]
    exchanged = f"%d{separator}%m{separator}%Y" + " %H:%M" * bool(time)
    assert "no cell shows the order of day and month" in note
    assert note.endswith(f"--date-format {shlex.quote(exchanged)}.")
    columns, findings = choose(CellFormat(dates=(exchanged,)), x=cells)
    assert columns[0].formats == (exchanged,)
    assert not found(findings, "date order")


@pytest.mark.parametrize("n_days", [26, 400])
def test_formats_of_sorted_dates_are_those_of_all_cells(n_days: int) -> None:
    """In a sorted log the first cells do not show the order of day and month, nor a format that begins later."""
    moments = [datetime(2021, 2, 1) + timedelta(minutes=15 * i) for i in range(96 * n_days)]
    columns, findings = choose(x=[f"{moment:%d/%m/%Y %H:%M}" for moment in moments])
    assert columns == [Column("x", "date", ("%d/%m/%Y %H:%M",))]
    assert count(findings) == 0
    # One cell of 2,000 shows the order, and five have another format.
    cells = [f"{1 + i % 12:02d}/{1 + i // 12 % 12:02d}/{1900 + i // 144}" for i in range(2000)]
    cells[1500:1506] = ["13/02/2021", "2021-02-01", "2021-02-02", "2021-02-03", "2021-02-04", "2021-02-05"]
    columns, findings = choose(x=cells)
    assert columns == [Column("x", "date", ("%d/%m/%Y", "%Y-%m-%d"))]
    assert not found(findings, "unreadable") + found(findings, "date order")


def test_dates_that_are_tokens_are_missing() -> None:
    """A date is a token in the types of binary tables as well as in text."""
    text = ["2020-01-31", "9999-12-31", "2021-01-31"] * 10
    for cells in (text, [datetime.fromisoformat(cell) for cell in text]):
        columns, findings = choose(CellFormat(missing=("9999-12-31",)), x=cells)
        assert columns[0].kind == "date"
        assert count(findings, "missing") == 10


@pytest.mark.parametrize(
    ("cells", "formats"),
    [
        (["2021-03", "2021-04"], ("%Y-%m",)),
        (["3/2021", "12/2021"], ("%m/%Y",)),
        (["Mar 2021", "Dec 2021"], ("%b %Y",)),
        (["March 2021", "December 2021"], ("%B %Y",)),
        (["2021-03", "2021-03-15"], ("%Y-%m", "%Y-%m-%d")),
    ],
)
def test_months_are_dates(cells: list[str], formats: tuple[str, ...]) -> None:
    """A month is its first day."""
    columns, _ = choose(x=cells * 10)
    assert columns[0].kind == "date"
    assert sorted(columns[0].formats) == sorted(formats)
    days = align_columns(pl.DataFrame({"x": cells}), columns, PATH)["x"].to_list()
    assert days[0] == (datetime(2021, 3, 1) - datetime(1970, 1, 1)).days


@pytest.mark.parametrize("convert", [int, float, str])
def test_whole_numbers_that_are_dates(convert: Any) -> None:
    """Numbers such as 20210314 are dates if all are, apart from the tokens of the user."""
    numbers = [20210314, 20210315, 20191231, None, 99991231]
    cells = [None if number is None else convert(number) for number in numbers]
    columns, findings = choose(CellFormat(missing=("99991231",)), x=cells * 10)
    assert columns == [Column("x", "date", ("%Y%m%d",))]
    frame = pl.DataFrame({"x": cells})
    days = align_columns(frame, columns, PATH, unreadable=UnreadableCells())["x"].to_list()
    assert days[0] == (datetime(2021, 3, 14) - datetime(1970, 1, 1)).days
    assert np.isnan(days[3])
    assert count(findings) == 0
    assert any("'20210314' is 2021-03-14" in note and "--numeric x" in note for note in findings.sentences())
    named, _ = choose_columns(Table(frame, PATH), exclude=[], overrides=Overrides(numbers=("x",)))
    assert named == [Column("x", "number")]


@pytest.mark.parametrize(
    "numbers",
    [[20210314, 20210332], [20210314.0, 20210315.5], [20210314, 1], [20210314, 20210315, 0], [2021, 2020]],
)
def test_other_whole_numbers_are_numbers(numbers: list[float]) -> None:
    columns, _ = choose(x=numbers * 10)
    assert columns == [Column("x", "number")]


def test_durations_that_are_named_as_numbers_have_a_unit() -> None:
    """The option in the note reads '1.5m' as 1.5."""
    table = Table(pl.DataFrame({"x": ["1.5m", "2 m", "-"] * 10}), PATH)
    features = choose_features(table, exclude=[], overrides=Overrides(numbers=("x",)))
    assert features.columns == [Column("x", "number", (".", "m"))]
    assert features.frame["x"].to_list()[:2] == [1.5, 2.0]


def test_two_orders_that_a_user_names_are_both_read() -> None:
    """Each cell is read in the first of the named formats that reads it."""
    cells = ["02/15/2021", "15/02/2021", "03/04/2021"] * 8
    for formats, month in ((("%m/%d/%Y", "%d/%m/%Y"), 3), (("%d/%m/%Y", "%m/%d/%Y"), 4)):
        columns, findings = choose(CellFormat(dates=formats), x=cells)
        assert columns[0].formats == formats
        assert count(findings) == 0
        values = align_columns(pl.DataFrame({"x": cells}), columns, PATH)["x"].to_list()
        days = [(datetime(2021, m, d) - datetime(1970, 1, 1)).days for m, d in ((2, 15), (2, 15), (month, 7 - month))]
        assert values == days * 8
