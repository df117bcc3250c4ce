"""Estimates of the time of a fit from fits on samples."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from oneof.comparison import folds
from oneof.comparison.folds import Task, try_fit_and_score
from oneof.typing import Ints
from oneof.validation import check_random_state

MIN_SAMPLE_ROWS = 250
"""Number of training rows of the first sample."""
MIN_TIMED_ROWS = 4 * MIN_SAMPLE_ROWS
"""Number of training rows from which the time is estimated."""
MAX_FIRST_ROWS = 2_000
"""Number of rows that a sample reaches before a low estimate is accepted, unless an eighth of all rows is fewer.

Fixed costs dominate on few rows. Methods with landmarks have another growth on fewer rows than landmarks (1,000 or
more).
"""
GROWTH_RANGE = (1.0, 3.0)
"""Exponents of the growth of the time with the number of rows: no method is faster than linear, none above cubic."""


def estimate_seconds(run: Callable[[int], float], n_rows: int, *, enough: float, patience: float) -> float:
    """Estimate the time of a run on many rows from runs on samples of doubling size.

    The time is assumed to grow as a power of the number of rows; the exponent follows from the last two samples. The
    samples grow until the estimate is at most `enough`, or a sample takes more than `patience`, or half of the rows
    are used. The first run is not measured, since it may include compilation.

    Parameters
    ----------
    run : callable
        ``run(size)`` returns the seconds of a run on `size` rows, or NaN if it failed.
    n_rows : int
    enough, patience : float
        Seconds.

    Returns
    -------
    float
        Seconds; NaN if there are fewer than 1,000 rows, which need no estimate, or if no two samples succeed.
    """
    size, estimate = MIN_SAMPLE_ROWS, math.nan
    if n_rows < MIN_TIMED_ROWS:
        return estimate
    run(size)
    seconds = run(size)
    while 4 * size <= n_rows:
        larger, size = run(2 * size), 2 * size
        if larger > 0 and seconds > 0:
            exponent = float(np.clip(math.log2(larger / seconds), *GROWTH_RANGE))
            estimate = larger * (n_rows / size) ** exponent
        seconds = larger
        if seconds > patience or (estimate <= enough and size >= min(MAX_FIRST_ROWS, n_rows / 8)):
            break
    return estimate


def estimate_fold_seconds(
    estimator: Any, task: Task, train: Ints, test: Ints, *, enough: float, patience: float, random_state: Any = 0
) -> float:
    """Estimate the time of `fit_and_score` on a fold; NaN if unknown. See `estimate_seconds`."""
    rng = check_random_state(random_state)
    train, test = rng.permutation(train), rng.permutation(test)

    def run(size: int) -> float:
        n_test = max(1, round(len(test) * size / len(train)))
        start = folds.clock()
        result = try_fit_and_score(estimator, task, np.sort(train[:size]), np.sort(test[:n_test]))
        return folds.clock() - start if result.error is None else math.nan

    return estimate_seconds(run, len(train), enough=enough, patience=patience)
