"""Columns of numbers with a decimal point in some cells and a decimal comma in others.

A column is read in one format: that of the most cells. The cells with the other decimal separator are missing values,
and the note says so, since a point and a comma may also separate groups of digits.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oneof.io.formats.cells import NUMBER_FORMATS, read_numbers

if TYPE_CHECKING:
    import polars as pl

REMEDY = "write one decimal separator in all cells"


def count_other_decimal(unreadable: "pl.Series", formats: Sequence[str]) -> int:
    """Return how many unreadable cells of a column of numbers are numbers with the other decimal separator.

    `formats` are the format and the unit of the column, see `oneof.io.Column`. Numbers with groups of digits and
    without decimals, such as "1,204,500" and "1.204.500", are not counted.

    Examples
    --------
    >>> import polars as pl
    >>> count_other_decimal(pl.Series(["17.54", "1,204.5", "1,204,500", "about 3"]), (",",))
    2
    """
    import polars as pl

    if unreadable.dtype not in (pl.String, pl.Categorical, pl.Enum) or not len(unreadable):
        return 0
    number_format, unit = (*formats, "")[:2] if formats else (".", "")
    decimal = "." if number_format[-1] == "," else ","
    text = unreadable.cast(pl.String).str.strip_chars()
    text = text.filter(text.str.contains(decimal, literal=True))
    others = [other for other in NUMBER_FORMATS if other[-1] == decimal]
    return max(len(text) - read_numbers(text, other, unit).null_count() for other in others)


def describe_other_decimal(n_other: int, n_unreadable: int, formats: Sequence[str]) -> str:
    """Return a clause about the unreadable cells with the other decimal separator."""
    mark, other = ("comma", "point") if formats and formats[0][-1] == "," else ("point", "comma")
    which = f"{n_other:,} of these" if n_other < n_unreadable else "it" if n_other == 1 else "these"
    verb = "has" if n_other == 1 else "have"
    return f"{which} {verb} a decimal {other}, and other cells a decimal {mark}"
