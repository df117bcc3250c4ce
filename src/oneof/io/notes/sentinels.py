"""Numbers such as -999 that probably stand for missing values, although no option names them as such.

A sentinel is a number of the usual form, is far outside the other numbers of its column, and recurs in the table. The
rules are strict: a note about an ordinary number would be noise. `oneof.io.CellFormat.missing` accepts any number.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_FORM = re.compile(r"-1|-9|-?([789])\1+(\.\1+)?|-?(32768|2147483648)|32767|2147483647")
"""Usual sentinels: -1, -9, repeated digits such as -99, 777 and -999.9, and limits of integers."""
_LARGEST = 10**10
_MIN_CELLS = 3
_MIN_SHARE = 0.005
"""Number of cells of the table that a sentinel must have, and their number relative to the rows."""
_POSITIVE_FACTOR = 2.0
"""Factor of the distance that a positive sentinel must have."""
_MIN_OTHERS = 10
"""Number of other cells that must be numbers."""
_MIN_DISTINCT = 3
_MIN_DISTINCT_FOR_MINUS_ONE = 5
"""Number of different other numbers, for sentinels other than -1 and for -1."""


def find_sentinels(values: "pl.Series") -> tuple[tuple[str, int], ...]:
    """Return the numbers of a column that may stand for missing values, with the numbers of their cells.

    The other numbers are those that do not have the form of a sentinel. A sentinel is

    * the only kind of negative number of the column; or
    * farther from the other numbers than these are from each other, or twice as far if it is positive: numbers may
      have an upper limit such as 999.

    The value -1 occurs in counts, differences and signs. It is a sentinel only if the other numbers are positive, or
    some of them are not whole numbers.

    Parameters
    ----------
    values : polars.Series of float64
        With null for missing values.
    """
    import polars as pl

    present = values.drop_nulls()
    if not len(present) or not any(map(_has_form, (present.min(), present.max()))):
        return ()
    counts = present.alias("value").value_counts(name="n")
    is_candidate = pl.Series(list(map(_has_form, counts["value"].to_list())), dtype=pl.Boolean)
    candidates, others = counts.filter(is_candidate).sort("value"), counts.filter(~is_candidate)["value"]
    n_others = len(present) - int(candidates["n"].sum())
    if n_others < _MIN_OTHERS:
        return ()
    low, high = float(others.min()), float(others.max())  # type: ignore[arg-type]  # a column of floats
    return tuple(
        (_to_text(value), count) for value, count in candidates.iter_rows() if _is_far(value, others, low, high)
    )


def recurring(sentinels: Sequence[tuple[tuple[str, int], ...]], n_rows: int) -> list[tuple[tuple[str, int], ...]]:
    """Return the sentinels of each column that recur in the table; those of one column may be few.

    Parameters
    ----------
    sentinels : sequence of tuple
        The numbers of each column with the numbers of their cells; see `find_sentinels`.
    n_rows : int
    """
    total: Counter[str] = Counter()
    for column in sentinels:
        total.update(dict(column))
    enough = max(_MIN_CELLS, _MIN_SHARE * n_rows)
    return [tuple((number, n) for number, n in column if total[number] >= enough) for column in sentinels]


def _is_far(value: float, others: "pl.Series", low: float, high: float) -> bool:
    """Return whether a number of the usual form is far outside the other numbers of its column."""
    if low <= value <= high:
        return False
    if value == -1:
        is_unlike = low > 0 or (low == 0 and bool((others % 1 != 0).any()))
        return is_unlike and len(others) >= _MIN_DISTINCT_FOR_MINUS_ONE
    if len(others) < _MIN_DISTINCT:
        return False
    if value < 0 <= low:
        return True
    return value != -9 and max(low - value, (value - high) / _POSITIVE_FACTOR) >= high - low


def _has_form(value: object) -> bool:
    is_number = isinstance(value, float) and abs(value) < _LARGEST
    return is_number and bool(_FORM.fullmatch(_to_text(float(value))))  # type: ignore[arg-type]  # a float


def _to_text(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
