"""Columns of numbers whose values differ from those of training as in another unit, such as Hz instead of kHz.

The means and standard deviations of training are those of the fitted encoder (`encoder.make_encoder`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof.io.columns import Column
from oneof.messages import enumerate_items

if TYPE_CHECKING:
    import polars as pl

    from oneof.typing import Floats, Ints

MIN_CELLS = 10
"""Number of cells of a column that are compared with training, at least."""
MAX_DEVIATION = 8.0
"""Difference of the median from the mean of training, in standard deviations, from which the values have a note."""
MAX_SPREAD_RATIO, MIN_NARROW_DEVIATION = 50.0, 2.0
"""Ratio of the two standard deviations, and difference as above, from which a narrower range has a note."""
_MAX_LISTED = 3


class NewRange(NamedTuple):
    """A column with other values than in training, the median of its cells, and the mean of training."""

    column: str
    median: float
    training_mean: float


def find_new_ranges(frame: "pl.DataFrame", columns: Sequence[Column], transformer: Any) -> list[NewRange]:
    """Return the columns of numbers whose values are far from those of training.

    Parameters
    ----------
    frame : polars.DataFrame
        The features, as `align_columns` returns them.
    columns : sequence of Column
    transformer : transformer
        The fitted transformer of the table of training.
    """
    selected, mean, scale = _training_scale(transformer)
    ranges = []
    for index, center, deviation in zip(selected, mean, scale, strict=True):
        cells = frame[columns[index].name].drop_nulls().drop_nans().to_numpy()
        if len(cells) < MIN_CELLS or not deviation > 0:
            continue
        if np.isin(cells, (0, 1)).all():  # a rare mark is far from its mean by construction
            continue
        distance = abs(float(np.median(cells)) - center) / deviation
        with np.errstate(over="ignore"):  # a huge number makes it infinite, hence wide
            spread = float(np.std(cells)) / deviation
        is_narrower = 0 < spread < 1 / MAX_SPREAD_RATIO and distance > MIN_NARROW_DEVIATION
        if distance > MAX_DEVIATION or is_narrower:
            ranges.append(NewRange(columns[index].name, float(np.median(cells)), float(center)))
    return ranges


def _training_scale(transformer: Any) -> "tuple[Ints, Floats, Floats]":
    """Return the columns of numbers with their means and standard deviations in training; none without an encoder."""
    for name, fitted, selected in getattr(transformer, "transformers_", ()):
        if name == "numbers" and hasattr(fitted, "steps"):
            scaler, n = fitted.steps[-1][1], len(selected)
            return np.asarray(selected), scaler.mean_[:n], np.sqrt(scaler.var_[:n])
    return np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)


def to_dict(ranges: Sequence[NewRange]) -> dict[str, Any]:
    """Return the median and the mean of training by column, in the types of JSON."""
    return {new.column: {"median": new.median, "training_mean": new.training_mean} for new in ranges}


def sentences(ranges: Sequence[NewRange]) -> list[str]:
    """Return a note about all columns with other values, if there are any."""
    if not ranges:
        return []
    listed = [f"{new.column!r} (median {new.median:.4g}, mean of training {new.training_mean:.4g})" for new in ranges]
    names = enumerate_items(listed, _MAX_LISTED)
    plural = len(ranges) > 1
    return [
        f"the values of the column{'s' * plural} {names} are far from those of training. Check the unit{'s' * plural}."
    ]
