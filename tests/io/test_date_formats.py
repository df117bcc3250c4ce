"""Detection of the formats of dates: only formats whose characters occur are tried."""

import itertools
import random
from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest

from oneof.io.formats import cells as dates
from oneof.io.formats.cells import CellFormat

KNOWN = [*map("".join, itertools.product(dates._DAYS, dates._TIMES)), *dates._MONTHS]


def write_dates(rng: random.Random, n: int = 30) -> list[str]:
    """Return dates in one to three known formats, some with missing separators, other spaces, or in lower case."""
    formats = rng.choices(KNOWN, k=rng.choice([1, 1, 2, 3]))
    cells = []
    for _ in range(n):
        zone = timezone(timedelta(hours=rng.choice([0, 1, -5])))
        moment = datetime(1950, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(50_000_000))
        cell = moment.astimezone(zone).strftime(rng.choice(formats).replace("%.f", ""))
        changes = [cell, cell, cell, cell.replace(" ", "  "), cell.replace("-", ""), cell.lower(), "unknown", "12:30"]
        cells.append(rng.choice(changes))
    return cells


@pytest.mark.parametrize("seed", range(12))
def test_formats_without_their_characters_read_no_cell(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The formats of a column are those that are detected if all known formats are tried."""
    rng = random.Random(seed)
    columns = [(pl.Series("day", write_dates(rng)), CellFormat(decimal)) for decimal in (".", ",")]
    detected = [dates.detect_date_formats(*column) for column in columns]
    assert any(detected)
    monkeypatch.setattr(dates, "_can_read", lambda *_: True)
    assert [dates.detect_date_formats(*column) for column in columns] == detected
