"""Cells of text as dates and durations, and the detection of the formats of dates.

Each function maps a column to numbers, in which null is a cell that cannot be read. A date is the number of days since
1970-01-01; a duration or a time of day is a number of hours.
"""

import re
from collections.abc import Collection, Sequence
from datetime import datetime, time, timedelta
from functools import reduce
from typing import TYPE_CHECKING

from oneof.io.formats.cells import CellFormat, sample_cells

if TYPE_CHECKING:
    import polars as pl

_MAX_SAMPLE = 1_000
"""Number of distinct cells from which formats of dates are detected at a time."""
_MIN_YEAR, _MAX_YEAR = 1000, 9999
_MICROSECONDS_PER_DAY = 86_400_000_000

_DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y",
    "%d-%b-%Y", "%d-%b-%y",
)  # fmt: skip
_DAY_FIRST = ("%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y")
_MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y")
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y", "%b-%Y", "%B-%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S%.f", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S%.f%z", " %H:%M%z")
UNAMBIGUOUS_DATES = (*(date + time for date in _DAYS for time in _TIMES if date.startswith("%Y-")), "%Y-%m")
"""Formats that are read in any column of dates."""
COMPACT_DATE = "%Y%m%d"
"""Format of dates that are whole numbers, such as 20210314."""
_MIN_COMPACT, _MAX_COMPACT = 1800_01_01, 2199_12_31
_LIKE_DATE = (
    r"^\d{1,4}[-/. ]+\w{1,9}[-/. ,]+\d{2,4}|^[A-Za-z]{3,9} \d{1,2},? \d{4}"
    r"|^(\d{4}[-/]\d\d?|(\d\d?/|[A-Za-z]{3,9}[ -])\d{4})$"
)
_CLOCK = r"^(-)?(?:(\d+) days?,? *)?(\d+):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*([aApP]\.?[mM]\.?)?$"
_UNITS = (
    r"^(?i:pt?)?\s*(?:(\d+(?:\.\d+)?)\s*(?i:d|days?))?\s*(?i:t)?\s*(?:(\d+(?:\.\d+)?)\s*(?i:h|hours?|hrs?))?"
    r"\s*(?:(\d+(?:\.\d+)?)\s*(?i:m|min|mins|minutes?))?\s*(?:(\d+(?:\.\d+)?)\s*(?i:s|secs?|seconds?))?$"
)
_HOURS = (24.0, 1.0, 1 / 60, 1 / 3600)


def read_dates(text: "pl.Series", formats: Sequence[str]) -> "pl.Series":
    """Return days since 1970-01-01; the first format that reads a cell applies.

    Parameters
    ----------
    text : polars.Series of text
    formats : sequence of str
        Times with an offset from UTC are converted to UTC. A month without a day is its first day.
    """
    import polars as pl

    text = _normalize_times(text)
    columns = [_read_dates(text, date_format) for date_format in formats]
    empty = pl.Series(text.name, [None] * len(text), dtype=pl.Float64)
    return reduce(lambda first, second: first.zip_with(first.is_not_null(), second), columns, empty).alias(text.name)


def detect_date_formats(text: "pl.Series", cell_format: CellFormat) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the formats of a column of dates, and those of the other order of day and month if no cell decides.

    The formats are those that the user names, in this order, then the known ones, the one that reads the most cells
    first; there are none for other columns. A column has the day before the month, or after it, in all formats: the
    order in which more of the cells are dates. If no cell decides, the day is first if the decimal separator is a
    comma, and the month otherwise.

    Parameters
    ----------
    text : polars.Series of text
    cell_format : CellFormat

    Returns
    -------
    formats, alternative : tuple of str
    """
    cells = text.drop_nulls()
    sample = sample_cells(cells, _MAX_SAMPLE)
    if not cell_format.dates and sample.str.contains(_LIKE_DATE).sum() < 0.5 * len(sample):
        return (), ()
    cells = _normalize_times(cells.unique(maintain_order=True))
    named = [date_format for date_format in cell_format.dates if _read_dates(cells, date_format).is_not_null().any()]
    others = cells.filter(read_dates(cells, named).is_null())
    excluded = [_MONTH_FIRST, _DAY_FIRST] if cell_format.decimal == "," else [_DAY_FIRST, _MONTH_FIRST]
    for order, opposite in ((_MONTH_FIRST, _DAY_FIRST), (_DAY_FIRST, _MONTH_FIRST)):
        if any(date_format.startswith(opposite) for date_format in named):
            excluded = [order, order]  # the user decides
    expected, other = (_detect_formats(others, names) for names in excluded)
    n_expected, n_other = (read_dates(others, formats).null_count() for formats in (expected, other))
    if n_other < n_expected:
        return (*named, *other), ()
    exchanged = dict(zip((*_DAY_FIRST, *_MONTH_FIRST), (*_MONTH_FIRST, *_DAY_FIRST), strict=True))
    swapped = [exchanged.get(known[:8], known[:8]) + known[8:] for known in expected]
    return (*named, *expected), (*named, *swapped) if n_other == n_expected and swapped != expected else ()


def _detect_formats(cells: "pl.Series", excluded: Collection[str]) -> list[str]:
    """Return the known formats of distinct cells: the one that reads most of a sample, then those of the rest."""
    known = [date + time for date in _DAYS if date not in excluded for time in _TIMES] + [*_MONTHS]
    formats: list[str] = []
    while len(cells):
        sample = sample_cells(cells, _MAX_SAMPLE)
        characters = set("".join(sample.to_list()))
        candidates = [date_format for date_format in known if _can_read(date_format, characters)]
        n_unread = {date_format: _read_dates(sample, date_format).null_count() for date_format in candidates}
        best = min(candidates, key=n_unread.__getitem__, default="")
        if not best or n_unread[best] == len(sample):
            break
        formats.append(best)
        cells = cells.filter(_read_dates(cells, best).is_null())
    return formats


def _can_read(date_format: str, characters: set[str]) -> bool:
    """Return whether the cells have all literal characters of a format, and letters if it has words."""
    literals = set(re.sub(r"%\.?[A-Za-z]", "", date_format)) - {" "}
    has_words = re.search("%[bBp]", date_format) is None or any(map(str.isalpha, characters))
    return has_words and literals <= characters


def is_compact_range(numbers: "pl.Series") -> bool:
    """Return whether all numbers are between the dates such as 20210314 of the years 1800 and 2199."""
    return bool(numbers.is_between(_MIN_COMPACT, _MAX_COMPACT).all())


def days_to_text(days: float) -> str:
    """Return a date in ISO 8601, with its time unless that is midnight."""
    moment = datetime(1970, 1, 1) + timedelta(days=days)
    rounded = (moment + timedelta(microseconds=500)).replace(microsecond=0)
    return rounded.date().isoformat() if rounded.time() == time() else rounded.isoformat(" ")


def _normalize_times(text: "pl.Series") -> "pl.Series":
    """Return dates with a space before the time, and with +00:00 for Z."""
    if not any(text.str.contains(letter, literal=True).any() for letter in "TZ"):
        return text
    return text.str.replace(r"^(\d{4}-\d{1,2}-\d{1,2})T", "${1} ").str.replace(r"(:\d{2}(?:\.\d+)?) ?Z$", "${1}+00:00")


def _read_dates(text: "pl.Series", date_format: str) -> "pl.Series":
    import polars as pl

    if not re.search("%[-_0]?[dejDFvxcs]", date_format):  # a month
        text, date_format = text + " 1", f"{date_format} %d"
    try:
        dates = text.str.to_datetime(date_format, strict=False, exact=True, time_unit="us")
    except pl.exceptions.PolarsError:  # no cell has this format, or the format has no date
        return pl.Series(text.name, [None] * len(text), dtype=pl.Float64)
    years = (_MIN_COMPACT // 10_000, _MAX_COMPACT // 10_000) if date_format == COMPACT_DATE else (_MIN_YEAR, _MAX_YEAR)
    dates = dates.set(~dates.dt.year().is_between(*years).fill_null(value=True), None)
    return dates_to_days(dates)


def dates_to_days(dates: "pl.Series") -> "pl.Series":
    """Return dates, or dates with times, as days since 1970-01-01 in UTC."""
    import polars as pl

    if getattr(dates.dtype, "time_zone", None) is not None:
        dates = dates.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return dates.cast(pl.Datetime("us")).cast(pl.Int64).cast(pl.Float64) / _MICROSECONDS_PER_DAY


def read_durations(text: "pl.Series") -> "pl.Series":
    """Return hours of times such as "14:30", "2 days 03:04:05" and "2:30 pm", and of durations such as "1h 30min"."""
    import polars as pl

    clock = text.str.extract_groups(_CLOCK).struct.unnest()
    sign, days, hours, minutes, seconds, half = (clock.to_series(i) for i in range(6))

    def number(cells: "pl.Series") -> "pl.Series":
        return cells.cast(pl.Float64, strict=False).fill_null(0.0)

    is_pm = half.str.to_lowercase().str.starts_with("p")
    hour = number(hours)
    hour = hour.zip_with(half.is_null(), hour % 12 + 12 * is_pm.fill_null(value=False).cast(pl.Float64))
    total = 24 * number(days) + hour + number(minutes) / 60 + number(seconds) / 3600
    total = total.zip_with(sign.is_null(), -total)
    total = total.set(hours.is_null(), None)

    units = text.str.extract_groups(_UNITS).struct.unnest()
    parts = [units.to_series(i) for i in range(4)]
    any_part = reduce(lambda a, b: a | b, [part.is_not_null() for part in parts])
    in_units = reduce(lambda a, b: a + b, [number(part) * scale for part, scale in zip(parts, _HOURS, strict=True)])
    return total.zip_with(total.is_not_null(), in_units.set(~any_part, None)).alias(text.name)


def to_hours(cells: "pl.Series") -> "pl.Series":
    """Return times or durations of a binary file as hours."""
    import polars as pl

    unit = {"ms": 3.6e6, "us": 3.6e9, "ns": 3.6e12}[getattr(cells.dtype, "time_unit", "ns") or "ns"]
    return cells.cast(pl.Int64).cast(pl.Float64) / unit


def name_date_formats(formats: Sequence[str]) -> str:
    """Return the formats of a column of dates, and one that is read in any column."""
    names = [repr(known) for known in dict.fromkeys((*formats, UNAMBIGUOUS_DATES[0]))]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
