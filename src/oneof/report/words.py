"""Numbers as words: percentages, times, and the sentences that read a result."""

import math
from typing import Any

import numpy as np

from oneof.plots import LearningCurveLike

NO_VALUE = "\N{EN DASH}"
_SPACE = "\N{NO-BREAK SPACE}"


def is_known(value: float | None) -> bool:
    """Tell whether a number was measured."""
    return value is not None and math.isfinite(value)


def percent(value: float | None, digits: int = 1) -> str:
    """Write a share as a percentage."""
    return f"{100 * value:.{digits}f}{_SPACE}%" if value is not None and math.isfinite(value) else NO_VALUE


def spread(value: float | None) -> str:
    """Write a standard deviation of shares as "± points", or nothing where there is none."""
    return f"±{_SPACE}{100 * value:.1f}" if value is not None and math.isfinite(value) else ""


def seconds(value: float | None) -> str:
    """Write a time with at least two significant digits."""
    if value is None or not math.isfinite(value):
        return NO_VALUE
    if value < 0.01:
        return f"<{_SPACE}0.01{_SPACE}s"
    if value < 9.95:
        return f"{value:.2g}{_SPACE}s"
    if value < 99.5:
        return f"{value:.0f}{_SPACE}s"
    return f"{value / 60:.1f}{_SPACE}min" if value < 597 else f"{value / 60:,.0f}{_SPACE}min"


def count(number: Any, noun: str, plural: str | None = None) -> str:
    """Write "1 row", "1,200 rows"."""
    return f"{number:,}{_SPACE}{noun if number == 1 else plural or noun + 's'}"


def read_curve(curve: LearningCurveLike) -> str:
    """Say whether more labeled rows still help, from the last doubling (or nearly) of the training rows.

    A change counts as clear if it exceeds the larger standard deviation of the two points.
    """
    n_rows = np.asarray(curve.train_sizes, dtype=float)
    rate = np.asarray(curve.covering_rate, dtype=float)
    std = np.nan_to_num(np.asarray(curve.covering_rate_std, dtype=float))
    measured = np.flatnonzero(np.isfinite(rate))
    if len(measured) < 2:
        return "With fewer than two sizes measured, the curve cannot say whether more labeled rows would help."
    order = measured[np.argsort(n_rows[measured], kind="stable")]
    last = order[-1]
    earlier = order[:-1]
    # The latest point with at most half the rows, or else the first one.
    half = earlier[n_rows[earlier] <= n_rows[last] / 2]
    start = half[-1] if len(half) else earlier[0]
    gain, noise = rate[last] - rate[start], max(std[last], std[start])
    between = f"Between {n_rows[start]:,.0f} and {n_rows[last]:,.0f} labeled rows the covering rate"
    points = f"{abs(100 * gain):.1f} points"
    if abs(gain) < 0.005:
        return f"{between} hardly changed ({100 * gain:+.1f} points): more rows of this kind would help little."
    if gain > noise:
        return f"{between} rose by {points}, more than its spread over the folds: more labeled rows should still help."
    if gain > 0:
        return (
            f"{between} rose by {points}, which is within its spread over the folds: "
            "more labeled rows may help a little."
        )
    if -gain > noise:
        return (
            f"{between} fell by {points}, more than its spread over the folds: "
            "look whether the later rows differ from the earlier ones."
        )
    return f"{between} fell by {points}, within its spread over the folds: more rows of this kind would help little."
