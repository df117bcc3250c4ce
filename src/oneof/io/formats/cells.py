"""Cells of text as numbers, yes/no values, dates and durations; tokens of missing values.

Each function maps a column of text to numbers, in which null is a cell that cannot be read. A date is the number of
days since 1970-01-01; a duration or a time of day is a number of hours.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from oneof.errors import InputError, InputTypeError
from oneof.validation import check_bool, check_choice

if TYPE_CHECKING:
    import polars as pl

MISSING = ("na", "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "nan", "null", "#null!", "?", "\\n")
"""Tokens, in lower case, that are missing values in any column of features."""
MISSING_NUMBERS = (
    "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "*", "none", "nil", "missing", "unknown", "undefined",
    "not available", "not applicable", "k.a.", "k. a.", "#div/0!", "#value!", "#ref!", "#num!", "#name?",
)  # fmt: skip
"""Further tokens that are missing values among numbers, dates and durations, but may be categories."""

_YES_NO_WORDS = (
    (("true", "t"), ("false", "f")), (("yes", "y"), ("no", "n")), (("ja",), ("nein",)), (("oui",), ("non",)),
    (("s\u00ed", "s\u00ec", "si"), ("no",)), (("wahr",), ("falsch",)), (("vrai",), ("faux",)),
    (("verdadero",), ("falso",)), (("vero",), ("falso",)),
)  # fmt: skip
"""Words of yes and no in one language."""
_YES_NO = {word: value for pair in _YES_NO_WORDS for words, value in zip(pair, (1.0, 0.0)) for word in words}

NumberFormat = Literal[".", ",", ",.", ".,", " .", " ,", "'.", "',"]
"""Decimal separator, after the separator of groups of three digits if there is one."""
NUMBER_FORMATS: tuple[NumberFormat, ...] = get_args(NumberFormat)
GROUPS = {",": ",", ".": r"\.", " ": "[ \u00a0\u2007\u2009\u202f]", "'": "['\u2019\u02bc]"}
"""Separators of groups of digits, with a pattern of the characters that are read as each of them."""

CODE = r"^[+-]?0\d+$"
"""A code with leading zeros such as 007, which is not a number."""
_SIGN = "[-+\u2212]?"
_CURRENCY = r"\p{L}{0,3}\p{Sc}|EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|Rs\.?"
_WITH_UNIT = (
    rf"^{_SIGN}\s?(?:({_CURRENCY})\s?)?{_SIGN}(?:\d[\d.,'\u2019\s]*|\.\d+)(%|\u2030|{_CURRENCY}|[\u00b0\u00ba]?\p{{L}}"
    r"[\p{L}\u00b2\u00b3/.]{0,9})?$"
)
"""A number after a currency, or before a percent sign, a currency or another unit."""


@dataclass(frozen=True)
class CellFormat:
    """Properties of the cells of a table.

    Attributes
    ----------
    decimal : {".", ","}
        The decimal separator, if a column does not show it.
    missing : tuple of str
        Tokens that are missing values in all columns, in addition to the known ones. A token that is a number, such as
        "999", is also missing as 999.0.
    dates : tuple of str
        Formats of dates (`strptime`) that are tried before the known ones.
    folds_labels : bool
        Whether labels that differ only in case, spaces, underscores or hyphens are one class, named by its most
        frequent spelling.
    label_errors : {"raise", "unlabeled"}
        Treatment of rows whose labels cannot be read: an error, or unlabeled rows.
    trained_decimal : {"", ".", ","}
        The decimal separator of the table to which a model was fitted.
    """

    decimal: str = "."
    missing: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    folds_labels: bool = False
    label_errors: str = "raise"
    trained_decimal: str = ""

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise InputError(f"`decimal` must be '.' or ','; got {self.decimal!r}.")
        for name in ("missing", "dates"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
                raise InputTypeError(f"`{name}` must be a tuple of text; got {value!r}.")
        check_bool("folds_labels", self.folds_labels)
        check_choice("label_errors", self.label_errors, ("raise", "unlabeled"))


def sample_cells(cells: "pl.Series", size: int) -> "pl.Series":
    """Return at most `size` cells in their order, which are drawn from the whole column with a fixed seed.

    The first cells of a sorted column are not like the others.
    """
    if len(cells) <= size:
        return cells
    return cells.gather(np.sort(np.random.default_rng(0).choice(len(cells), size, replace=False)))


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
    counts = tokens.filter(tokens != "").alias("token").value_counts(sort=True, name="n")
    return tuple((str(token), int(n)) for token, n in counts.iter_rows())


def read_numbers(text: "pl.Series", number_format: NumberFormat = ".", unit: str = "") -> "pl.Series":
    """Return finite numbers, null for other cells.

    Parameters
    ----------
    text : polars.Series of text
        Without surrounding spaces.
    number_format : {".", ",", ",.", ".,", " .", " ,", "'.", "',"}
        "1234.5", "1234,5", "1,234.5", "1.234,5", "1 234.5" and so on; a format with groups also reads numbers without
        groups.
    unit : str
        Text that each cell must have before or after the number, such as "%" or "EUR".
    """
    import polars as pl

    text = (_without_unit(text, unit) if unit else text).str.replace("^\u2212", "-")
    if len(number_format) == 2:
        group, decimal = number_format[0], number_format[1]
        is_grouped = text.str.contains(rf"^[+-]?[1-9]\d{{0,2}}({GROUPS[group]}\d{{3}})+({re.escape(decimal)}\d+)?$")
        is_wrong = text.str.contains(GROUPS[group]) & ~is_grouped
        text = text.str.replace_all(GROUPS[group], "").set(is_wrong.fill_null(value=False), None)
    if number_format[-1] == ",":
        text = text.set(text.str.contains(".", literal=True).fill_null(value=False), None)
        text = text.str.replace(",", ".", literal=True)
    numbers = text.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(value=True), None)


def detect_number_format(text: "pl.Series", decimal: str = ".", unit: str = "") -> NumberFormat:
    """Return the format in which the most cells are numbers; `decimal` decides if there are several."""
    present = text.drop_nulls()
    best, best_count = NUMBER_FORMATS[0], -1
    for number_format in sorted(NUMBER_FORMATS, key=lambda known: known[-1] != decimal):
        if len(number_format) == 2 and not present.str.contains(GROUPS[number_format[0]]).any():
            continue  # the same as the format without groups
        count = len(present) - read_numbers(present, number_format, unit).null_count()
        if count > best_count:
            best, best_count = number_format, count
        if count == len(present):
            break
    return best


def detect_unit(text: "pl.Series") -> str:
    """Return the most frequent unit of cells such as "12.5%", "$3.00", "3 EUR" and "12 cm", and "" if few have one.

    A letter such as that of "1a" and "1b" is a unit only if nine of ten cells have it.
    """
    groups = text.drop_nulls().str.extract_groups(_WITH_UNIT).struct.unnest()
    before, after = groups.to_series(0), groups.to_series(1)
    units = before.fill_null("") + after.fill_null("")
    has_one = before.is_not_null() ^ after.is_not_null()
    counts = units.filter(has_one).alias("unit").value_counts(sort=True, name="n")
    if not len(counts):
        return ""
    unit, count = counts.row(0)
    return str(unit) if count >= (0.9 if unit.isalpha() and len(unit) == 1 else 0.5) * len(units) else ""


def _without_unit(text: "pl.Series", unit: str) -> "pl.Series":
    """Return the numbers of cells with a unit before or after the number, null for other cells."""
    escaped = re.escape(unit)
    pattern = rf"^({_SIGN})\s?(?:{escaped}\s?({_SIGN}[\d.,].*)|([\d.,].*?)\s?{escaped})$"
    groups = text.str.extract_groups(pattern).struct.unnest()
    sign, after, before = (groups.to_series(i) for i in range(3))
    return (sign + after.zip_with(after.is_not_null(), before)).alias(text.name)


def read_yes_no(text: "pl.Series") -> "pl.Series":
    """Return 1 for true, yes and their translations, 0 for their opposites, and null for other cells."""
    import polars as pl

    lower = text.str.to_lowercase()
    values = lower.replace_strict(_YES_NO, default=None, return_dtype=pl.Float64)
    numbers = text.cast(pl.Float64, strict=False)
    return values.zip_with(values.is_not_null(), numbers.set(~numbers.is_in([0.0, 1.0]).fill_null(value=True), None))


def detect_yes_no(text: "pl.Series") -> tuple[()] | None:
    """Return no format if all cells are words of yes and no of one language, such as yes and N, and otherwise None."""
    words = set(text.str.to_lowercase().unique().head(5).to_list())
    return () if any(words <= {*yes, *no} for yes, no in _YES_NO_WORDS) else None


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


def detect_date_formats(text: "pl.Series", cell_format: CellFormat) -> tuple[str, ...]:
    """Return the formats of a column of dates; none for other columns.

    The formats are those that the user names, in this order, then the known ones, the one that reads the most cells
    first. A column has the day before the month, or after it, in all formats: the order in which more of the cells are
    dates. If no cell decides, the day is first if the decimal separator is a comma, and the month otherwise.
    """
    cells = text.drop_nulls()
    sample = sample_cells(cells, _MAX_SAMPLE)
    if not cell_format.dates and sample.str.contains(_LIKE_DATE).sum() < 0.5 * len(sample):
        return ()
    cells = _normalize_times(cells.unique(maintain_order=True))
    named = [date_format for date_format in cell_format.dates if _read_dates(cells, date_format).is_not_null().any()]
    others = cells.filter(read_dates(cells, named).is_null())
    excluded = [_MONTH_FIRST, _DAY_FIRST] if cell_format.decimal == "," else [_DAY_FIRST, _MONTH_FIRST]
    chosen = [order for order in excluded if any(date_format.startswith(order) for date_format in named)]
    if len(chosen) == 1:  # the user decides
        excluded = [order for order in excluded if order not in chosen]
    found = [_detect_formats(others, order) for order in excluded]
    return (*named, *min(found, key=lambda formats: read_dates(others, formats).null_count()))


def swap_day_and_month(formats: Sequence[str]) -> tuple[str, ...]:
    """Return formats of dates with the other order of day and month, if they have one."""
    exchanged = dict(zip((*_DAY_FIRST, *_MONTH_FIRST), (*_MONTH_FIRST, *_DAY_FIRST), strict=True))
    return tuple(exchanged.get(known[:8], known[:8]) + known[8:] for known in formats)


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
