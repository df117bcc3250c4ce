"""Cells of text as numbers and yes/no values; tokens of missing values.

Each function maps a column of text to numbers, in which null is a cell that cannot be read. `dates` reads dates and
durations.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
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
    tokens = tokens.filter(tokens != "")
    counts = tokens.alias("token").value_counts(sort=True, name="n") if len(tokens) else None
    return () if counts is None else tuple((str(token), int(n)) for token, n in counts.iter_rows())


def missing_numbers(cell_format: CellFormat) -> list[float]:
    """Return the user's tokens of missing values that are numbers, such as 999."""
    import polars as pl

    return read_numbers(pl.Series(cell_format.missing, dtype=pl.String).str.strip_chars()).drop_nulls().to_list()


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


def count_other_decimals(text: "pl.Series", formats: Sequence[str]) -> int:
    """Return how many cells that a column of numbers cannot read are numbers with the other decimal separator.

    Numbers with groups of digits and without decimals, such as "1,204,500" and "1.204.500", are not counted.

    Examples
    --------
    >>> import polars as pl
    >>> count_other_decimals(pl.Series(["17.54", "1,204.5", "1,204,500", "about 3"]), (",",))
    2
    """
    number_format, unit = (*formats, "")[:2] if formats else (".", "")
    decimal = "." if number_format[-1] == "," else ","
    text = text.filter(text.str.contains(decimal, literal=True)).str.strip_chars()
    others = [other for other in NUMBER_FORMATS if other[-1] == decimal]
    return max(len(text) - read_numbers(text, other, unit).null_count() for other in others) if len(text) else 0


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


def detect_yes_no(text: "pl.Series") -> bool:
    """Return whether all cells are words of yes and no of one language, such as yes and N."""
    words = set(text.str.to_lowercase().unique().head(5).to_list())
    return any(words <= {*yes, *no} for yes, no in _YES_NO_WORDS)
