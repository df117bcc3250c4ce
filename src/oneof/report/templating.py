"""Jinja environment of the HTML pages, and the formatting of numbers and learning curves as text."""

import math
from typing import TYPE_CHECKING

import numpy as np

from oneof.errors import MissingExtraError
from oneof.plots import LearningCurveLike
from oneof.plots.style import replace_unprintable

if TYPE_CHECKING:
    from jinja2 import Environment

NO_VALUE = "\N{EN DASH}"
MAX_PRINTED = 0.995
"""Probabilities above this would be rounded to 100 %."""
_SPACE = "\N{NO-BREAK SPACE}"


def environment(package: str) -> "Environment":
    """Return the Jinja environment for the templates of a package, which may include ``page.css``.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError("jinja2", "cli") from error
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("oneof.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: replace_unprintable(value) if type(value) is str else value,  # not the Markup of figures
        trim_blocks=True,
        lstrip_blocks=True,
    )


def is_known(value: float | None) -> bool:
    """Return whether a number is neither None nor NaN or infinite."""
    return value is not None and math.isfinite(value)


def format_percent(value: float | None, digits: int = 1) -> str:
    """Format a fraction as a percentage."""
    return f"{100 * value:.{digits}f}{_SPACE}%" if value is not None and math.isfinite(value) else NO_VALUE


def format_probability(value: float) -> str:
    """Format a probability as a percentage; none is shown as certain."""
    return format_percent(value, 0) if value <= MAX_PRINTED else f">{format_percent(0.99, 0)}"


def format_std(value: float | None) -> str:
    """Format a standard deviation of fractions as "± points", or as an empty string if it is unknown."""
    return f"±{_SPACE}{100 * value:.1f}" if value is not None and math.isfinite(value) else ""


def format_seconds(value: float | None) -> str:
    """Format a time with two significant digits or more."""
    if value is None or not math.isfinite(value):
        return NO_VALUE
    if value < 0.01:
        return f"<{_SPACE}0.01{_SPACE}s"
    if value < 9.95:
        return f"{value:.2g}{_SPACE}s"
    if value < 99.5:
        return f"{value:.0f}{_SPACE}s"
    return f"{value / 60:.1f}{_SPACE}min" if value < 597 else f"{value / 60:,.0f}{_SPACE}min"


def format_count(number: float) -> str:
    """Format a number of rows, which has a decimal if it is a sum of weights."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.1f}"


def pluralize(number: float, noun: str, plural: str | None = None) -> str:
    """Format a number with its noun: "1 row", "1,200 rows"."""
    return f"{format_count(number)}{_SPACE}{noun if number == 1 else plural or noun + 's'}"


def describe_spread(n_folds: int) -> str:
    """Name the standard deviation of rates over this number of folds."""
    return "binomial standard error" if n_folds == 1 else "standard deviation over the folds"


def describe_learning_curve(curve: LearningCurveLike, spread: str = "standard deviation over the folds") -> str:
    """Describe whether more labeled rows help, from the last doubling (or nearly) of the training rows.

    If the rows grow by more than a factor of 4, the change is divided by the number of doublings. A change is
    significant if it exceeds the larger standard deviation of the two points.
    """
    sizes = np.asarray(curve.train_sizes, dtype=float)
    rate = np.asarray(curve.covering_rate, dtype=float)
    std = np.nan_to_num(np.asarray(curve.covering_rate_std, dtype=float))
    measured = np.flatnonzero(np.isfinite(rate))
    if len(measured) < 2:
        return "With fewer than two measured sizes, the effect of more labeled rows is unknown."
    order = measured[np.argsort(sizes[measured], kind="stable")]
    last = order[-1]
    earlier = order[:-1]
    # The last point with at most half the rows, or the first point.
    half = earlier[sizes[earlier] <= sizes[last] / 2]
    start = half[-1] if len(half) else earlier[0]
    gain, noise = rate[last] - rate[start], max(std[last], std[start])
    n_doublings = math.log2(sizes[last] / sizes[start]) if sizes[last] > 4 * sizes[start] else 1.0
    between = f"Between {sizes[start]:,.0f} and {sizes[last]:,.0f} labeled rows the covering rate"
    points = f"{abs(100 * gain):.1f} points"
    if n_doublings > 1:
        points += f" ({abs(100 * gain / n_doublings):.1f} for each doubling)"
    if abs(gain) < 0.005 * n_doublings:
        change = f"{100 * gain:+.1f} points" + f", {n_doublings:.1f} doublings" * (n_doublings > 1)
        return f"{between} hardly changed ({change}): more rows of this kind would help little."
    if gain > noise:
        return f"{between} rose by {points}, more than its {spread}: more labeled rows should still help."
    if gain > 0:
        return f"{between} rose by {points}, within its {spread}: more labeled rows may help a little."
    if -gain > noise:
        return (
            f"{between} fell by {points}, more than its {spread}: "
            "check whether the later rows differ from the earlier ones."
        )
    return f"{between} fell by {points}, within its {spread}: more rows of this kind would help little."
