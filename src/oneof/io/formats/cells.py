"""Cells of text as numbers, dates, durations and yes/no values; tokens of missing values.

Each function maps a column of text to numbers, in which null is a cell that cannot be read. A date is the number of
days since 1970-01-01, a duration or a time of day is a number of hours.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Literal

from oneof.errors import InputError, InputTypeError

if TYPE_CHECKING:
    import polars as pl

MISSING = ("na", "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "nan", "null", "#null!", "?", "\\n")
"""Tokens, in lower case, that are missing values in any column of features."""
MISSING_NUMBERS = (
    "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "*", "none", "nil", "missing", "unknown", "undefined",
    "not available", "not applicable", "k.a.", "k. a.", "#div/0!", "#value!", "#ref!", "#num!", "#name?",
)  # fmt: skip
"""Further tokens that are missing values among numbers, dates and durations, but may be categories."""

_PAIRS = (
    ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("ja", "nein"), ("oui", "non"), ("s\u00ed", "no"),
    ("si", "no"), ("wahr", "falsch"), ("vrai", "faux"), ("verdadero", "falso"),
)  # fmt: skip
_YES_NO = {word: value for pair in _PAIRS for word, value in zip(pair, (1.0, 0.0), strict=True)}

_MAX_SAMPLE = 1_000
"""Number of distinct cells from which formats of dates are detected."""
_MIN_YEAR = 1000
_MICROSECONDS_PER_DAY = 86_400_000_000

_DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y",
    "%d-%b-%Y", "%d-%b-%y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S%.f", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S%.f%z", " %H:%M%z")
UNAMBIGUOUS_DATES = tuple(
    known for known in (date + time for date in _DATES for time in _TIMES) if known.startswith("%Y-")
)
"""Formats that are read in any column of dates."""
_LIKE_DATE = r"^\d{1,4}[-/. ]+\w{1,9}[-/. ,]+\d{2,4}|^[A-Za-z]{3,9} \d{1,2},? \d{4}"
_CLOCK = r"^(-)?(?:(\d+) days?,? *)?(\d+):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*([aApP]\.?[mM]\.?)?$"
_UNITS = (
    r"^(?i:pt?)?\s*(?:(\d+(?:\.\d+)?)\s*(?i:d|days?))?\s*(?i:t)?\s*(?:(\d+(?:\.\d+)?)\s*(?i:h|hours?|hrs?))?"
    r"\s*(?:(\d+(?:\.\d+)?)\s*(?i:m|min|mins|minutes?))?\s*(?:(\d+(?:\.\d+)?)\s*(?i:s|secs?|seconds?))?$"
)
_HOURS = (24.0, 1.0, 1 / 60, 1 / 3600)

NumberFormat = Literal[".", ",", ",.", ".,"]
"""Decimal separator, after the separator of groups of three digits if there is one."""
NUMBER_FORMATS = (".", ",", ",.", ".,")
_GROUPED = {",.": r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$", ".,": r"^[+-]?\d{1,3}(\.\d{3})+(,\d+)?$"}


@dataclass(frozen=True)
class CellFormat:
    """Form of the cells of a table.

    Attributes
    ----------
    decimal : {".", ","}
        The decimal separator, if a column does not show it.
    missing : tuple of str
        Tokens that are missing values in all columns, in addition to the known ones.
    dates : tuple of str
        Formats of dates (`strptime`) that are tried before the known ones.
    """

    decimal: str = "."
    missing: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise InputError(f"`decimal` must be '.' or ','; got {self.decimal!r}.")
        for name in ("missing", "dates"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
                raise InputTypeError(f"`{name}` must be a tuple of text; got {value!r}.")


def strip_text(cells: "pl.Series", cell_format: CellFormat) -> "pl.Series":
    """Return text without surrounding spaces, in which empty cells and the tokens of any column are null."""
    import polars as pl

    text = cells.cast(pl.String).str.strip_chars()
    tokens = [*MISSING, *(token.lower() for token in cell_format.missing)]
    return text.set(_is_token(text, ["", *tokens]), None)


def strip_missing_numbers(text: "pl.Series") -> "pl.Series":
    """Return stripped text in which the tokens of missing numbers are null as well."""
    return text.set(_is_token(text, MISSING_NUMBERS), None)


def _is_token(text: "pl.Series", tokens: Sequence[str]) -> "pl.Series":
    """Return whether each cell is a token; only short cells are converted to lower case."""
    longest = max(map(len, tokens))
    is_short = text.str.len_chars() <= longest
    return text.set(~is_short.fill_null(value=False), None).str.to_lowercase().is_in(tokens).fill_null(value=False)


def count_tokens(cells: "pl.Series", is_missing: "pl.Series") -> tuple[tuple[str, int], ...]:
    """Return the distinct tokens of the missing cells that are not empty, the most frequent first, with counts."""
    import polars as pl

    tokens = cells.filter(is_missing & cells.is_not_null()).cast(pl.String).str.strip_chars()
    tokens = tokens.filter(tokens != "")
    counts = tokens.alias("token").value_counts(sort=True, name="n") if len(tokens) else None
    return () if counts is None else tuple((str(token), int(n)) for token, n in counts.iter_rows())


def read_numbers(text: "pl.Series", number_format: NumberFormat = ".") -> "pl.Series":
    """Return finite numbers, null for other cells.

    Parameters
    ----------
    text : polars.Series of text
        Without surrounding spaces.
    number_format : {".", ",", ",.", ".,"}
        "1234.5", "1234,5", "1,234.5" or "1.234,5"; a format with groups also reads numbers without groups.
    """
    import polars as pl

    text = text.str.replace("^\u2212", "-")
    if number_format in _GROUPED:
        grouped = text.str.contains(_GROUPED[number_format]).fill_null(value=False)
        without = text.str.replace_all(number_format[0], "", literal=True)
        text = without.set(~grouped & text.str.contains(number_format[0], literal=True).fill_null(value=False), None)
    if number_format[-1] == ",":
        text = text.set(text.str.contains(".", literal=True).fill_null(value=False), None)
        text = text.str.replace(",", ".", literal=True)
    numbers = text.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(value=True), None)


def detect_number_format(text: "pl.Series", decimal: str = ".") -> NumberFormat:
    """Return the format in which the most cells are numbers; `decimal` decides if there are several."""
    first: tuple[NumberFormat, ...] = (".", ",.", ",", ".,") if decimal == "." else (",", ".,", ".", ",.")
    sample = text.drop_nulls()
    best, best_count = first[0], -1
    for number_format in first:
        count = len(sample) - read_numbers(sample, number_format).null_count()
        if count > best_count:
            best, best_count = number_format, count
        if count == len(sample):
            break
    return best


def read_yes_no(text: "pl.Series") -> "pl.Series":
    """Return 1 for true, yes and their translations, 0 for their opposites, and null for other cells."""
    import polars as pl

    lower = text.str.to_lowercase()
    values = lower.replace_strict(_YES_NO, default=None, return_dtype=pl.Float64)
    numbers = text.cast(pl.Float64, strict=False)
    return values.zip_with(values.is_not_null(), numbers.set(~numbers.is_in([0.0, 1.0]).fill_null(value=True), None))


def is_yes_no(text: "pl.Series") -> bool:
    """Return whether all cells are words of one pair, such as yes and no."""
    words = set(text.drop_nulls().str.to_lowercase().unique().head(3).to_list())
    return bool(words) and any(words <= set(pair) for pair in _PAIRS)


def read_dates(text: "pl.Series", formats: Sequence[str]) -> "pl.Series":
    """Return days since 1970-01-01; the first format that reads a cell applies.

    Parameters
    ----------
    text : polars.Series of text
    formats : sequence of str
        Times with an offset from UTC are converted to UTC.
    """
    import polars as pl

    text = _normalize_times(text)
    columns = [_read_dates(text, date_format) for date_format in formats]
    empty = pl.Series(text.name, [None] * len(text), dtype=pl.Float64)
    return reduce(lambda first, second: first.zip_with(first.is_not_null(), second), columns, empty).alias(text.name)


def detect_date_formats(text: "pl.Series", cell_format: CellFormat) -> tuple[str, ...]:
    """Return the formats of a column of dates, the one that reads the most cells first; none for other columns.

    A column has the day before the month, or after it, in all of its formats with numbers and the same separator. If
    all days are at most 12, the day is first if the decimal separator is a comma, and the month otherwise.
    """
    remaining = text.drop_nulls().unique(maintain_order=True).head(_MAX_SAMPLE)
    n_sample = len(remaining)
    if not cell_format.dates and remaining.str.contains(_LIKE_DATE).sum() < 0.5 * n_sample:
        return ()
    remaining = _normalize_times(remaining)
    known = [date + time for date, time in itertools.product(_ordered_dates(cell_format), _TIMES)]
    formats: list[str] = []
    for group in (list(cell_format.dates), known):
        candidates = group
        while len(remaining) and candidates:
            read = [(_read_dates(remaining, candidate).is_not_null(), candidate) for candidate in candidates]
            counts = [int(is_read.sum()) for is_read, _ in read]
            best = max(range(len(counts)), key=counts.__getitem__)
            if not counts[best]:
                break
            formats.append(read[best][1])
            remaining = remaining.filter(~read[best][0])
            candidates = [
                other
                for (_, other), n in zip(read, counts, strict=True)
                if n and other != formats[-1] and not _conflicts(other, formats)
            ]
    return tuple(formats)


def _ordered_dates(cell_format: CellFormat) -> list[str]:
    """Return the formats of dates; of two that differ in the order of day and month, the expected one is first."""
    day_first = cell_format.decimal == ","
    return sorted(_DATES, key=lambda date: date.startswith("%m") == day_first if date[:2] in ("%d", "%m") else False)


def _month_and_day(date_format: str) -> str | None:
    """Return the order of day and month and their separator if both are numbers and the year is last."""
    return date_format[:5] if date_format[:2] in ("%d", "%m") and date_format[3:5] in ("%d", "%m") else None


def _conflicts(date_format: str, chosen: Sequence[str]) -> bool:
    """Return whether a format has the day and the month in another order than a chosen one."""
    order = _month_and_day(date_format)
    orders = {_month_and_day(other) for other in chosen} - {None}
    return order is not None and any(other is not None and other[2] == order[2] and other != order for other in orders)


def is_ambiguous_date(formats: Sequence[str], text: "pl.Series") -> bool:
    """Return whether a column of dates can also be read with day and month exchanged."""
    swapped = [_swap(date_format) for date_format in formats if _month_and_day(date_format) and date_format[2] == "/"]
    if not swapped:
        return False
    sample = text.drop_nulls().unique().head(_MAX_SAMPLE)
    return read_dates(sample, formats).is_not_null().sum() == read_dates(sample, swapped).is_not_null().sum() > 0


def _swap(date_format: str) -> str:
    return date_format[3:5] + date_format[2] + date_format[:2] + date_format[5:]


def _normalize_times(text: "pl.Series") -> "pl.Series":
    """Return dates with a space before the time, and with +00:00 for Z."""
    return text.str.replace(r"^(\d{4}-\d{1,2}-\d{1,2})T", "${1} ").str.replace(r"(:\d{2}(?:\.\d+)?) ?Z$", "${1}+00:00")


def _read_dates(text: "pl.Series", date_format: str) -> "pl.Series":
    import polars as pl

    try:
        dates = text.str.to_datetime(date_format, strict=False, exact=True, time_unit="us")
    except pl.exceptions.PolarsError:  # no cell has this format, or the format has no date
        return pl.Series(text.name, [None] * len(text), dtype=pl.Float64)
    dates = dates.set((dates.dt.year() < _MIN_YEAR).fill_null(value=False), None)
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
