"""Sentinels: numbers that may stand for missing values have a note with their option; ordinary numbers have none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.io import CellFormat, Table, choose_columns
from oneof.io.notes.sentinels import find_sentinels, recurring

N = 300

ORDINARY: dict[str, Callable[[np.random.Generator], Any]] = {
    "normal": lambda rng: rng.normal(0, 10, N),
    "rounded normal": lambda rng: np.round(rng.normal(0, 3, N)),
    "lognormal": lambda rng: rng.lognormal(0, 2, N),
    "rounded lognormal": lambda rng: np.round(100 * rng.lognormal(0, 2, N)),
    "counts": lambda rng: rng.poisson(50, N),
    "differences of counts": lambda rng: rng.poisson(2, N) - rng.poisson(2, N),
    "counts minus one": lambda rng: rng.poisson(2, N) - 1,
    "frequencies": lambda rng: rng.zipf(1.8, N),
    "signs": lambda rng: rng.choice([-1, 0, 1], N),
    "scale": lambda rng: rng.choice([-2, -1, 0, 1, 2], N),
    "whole numbers": lambda rng: rng.integers(0, 100, N),
    "years": lambda rng: rng.integers(1900, 2026, N),
    "ages": lambda rng: np.minimum(rng.integers(18, 120, N), 99),
    "two values": lambda rng: rng.choice([0, 99], N),
    "clipped": lambda rng: np.clip(rng.normal(0, 1, N), -1, 1),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_numbers_are_no_sentinels(name: str) -> None:
    """No number of a usual distribution is a sentinel, also if it has the form of one."""
    for seed in range(30):
        values = pl.Series("x", np.asarray(ORDINARY[name](np.random.default_rng(seed)), dtype=np.float64))
        assert recurring([find_sentinels(values)], N) == [()]


@pytest.mark.parametrize(
    ("name", "sentinels"),
    [
        ("normal", (-999.0,)),
        ("normal", (999.9,)),
        ("rounded normal", (-99.0, 999.0)),
        ("lognormal", (-1.0,)),
        ("lognormal", (-9.0,)),
        ("counts", (-9.0,)),
        ("counts", (-1.0,)),
        ("counts", (-88.0, 999.0)),
        ("years", (9999.0,)),
        ("years", (-32768.0,)),
    ],
)
def test_sentinels_are_counted(name: str, sentinels: tuple[float, ...]) -> None:
    """A number of the usual form that recurs far outside the others is found, with the number of its cells."""
    values = np.asarray(ORDINARY[name](np.random.default_rng(0)), dtype=np.float64)
    for place, sentinel in enumerate(sentinels):
        values[place::60] = sentinel
    found = tuple((f"{sentinel:g}", 5) for sentinel in sentinels)
    assert find_sentinels(pl.Series("x", values)) == found
    assert recurring([found], N) == [found]


def test_sentinels_are_counted_in_the_table() -> None:
    """A number that is far outside each of several columns is found although no column has enough of its cells."""
    columns = [(("-999", 1),), (("-999", 1), ("9999", 2)), (), (("-999", 1),)]
    assert recurring(columns, 100) == [(("-999", 1),), (("-999", 1),), (), (("-999", 1),)]
    assert recurring(columns, 1_000) == [()] * 4


def test_a_note_has_the_option_that_removes_it() -> None:
    """The note counts the cells and names the columns; with its option they are missing, and there is no such note."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), "c": rng.normal(size=N)})
    frame = frame.with_columns(
        pl.when(pl.arange(0, N) % 30 == 0).then(pl.lit(number)).otherwise(pl.col(name)).alias(name)
        for name, number in (("a", -999.0), ("c", 99.0))
    )
    _, findings = choose_columns(Table(frame, Path("t.csv")), exclude=[])
    assert findings.sentences() == [
        "-999 (10) and 99 (10) are far outside the other numbers of columns 'a', 'c'. If they stand for missing "
        "values, add --missing=-999,99."
    ]
    table = Table(frame, Path("t.csv"), cell_format=CellFormat(missing=("-999", "99")))
    _, findings = choose_columns(table, exclude=[])
    assert [column.missing for column in findings.columns] == [(("-999.0", 10),), (), (("99.0", 10),)]
    assert not any("far outside" in sentence for sentence in findings.sentences())
