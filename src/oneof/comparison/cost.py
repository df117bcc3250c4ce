"""Time of a comparison: estimates from fits on samples, and the order of the folds within a budget."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from oneof.comparison import folds
from oneof.comparison.folds import Progress, Task, try_fit_and_score
from oneof.comparison.methods import FAST_METHODS, SLOW_METHODS
from oneof.comparison.results import format_duration
from oneof.estimators.base import last_step
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
MAX_ESTIMATE_FRACTION = 0.25
"""Fraction of the budget after which no further sample is fitted."""
_NOT_ESTIMATED = "left out: not estimated, since the samples took a quarter of the budget"


def estimate_seconds(
    run: Callable[[int], float],
    n_rows: int,
    *,
    enough: float,
    patience: float,
    deadline: float = math.inf,
    limit: float = math.inf,
) -> float:
    """Estimate the time of a run on many rows from runs on samples of doubling size.

    The time is assumed to grow as a power of the number of rows; the exponent follows from the last two samples. The
    samples grow until the estimate is at most `enough`, or a sample takes more than `patience`, or half of the rows
    are used. The first run is not measured, since it may include compilation. If the next two take more than
    `patience`, and in linear growth more than `limit`, no larger sample is run. Nor is one after the `deadline`.

    Parameters
    ----------
    run : callable
        ``run(size)`` returns the seconds of a run on `size` rows, or NaN if it failed.
    n_rows : int
    enough, patience, limit : float
        Seconds.
    deadline : float
        Time of `folds.clock`.

    Returns
    -------
    float
        Seconds; NaN if there are fewer than 1,000 rows, which need no estimate, or if no two samples succeed; infinite
        if there was no time for two samples.
    """
    size, estimate = MIN_SAMPLE_ROWS, math.nan
    if n_rows < MIN_TIMED_ROWS:
        return estimate
    run(size)
    if folds.clock() >= deadline:
        return math.inf
    seconds = run(size)
    if seconds > patience and folds.clock() + seconds < deadline:
        seconds = min(seconds, run(size))  # a further run, since the first one may have another path of compilation
    if seconds > patience and seconds * n_rows / size > limit:
        return seconds * n_rows / size
    while 4 * size <= n_rows and folds.clock() + 2 * max(0.0, seconds) < deadline:
        larger, size = run(2 * size), 2 * size
        if larger > 0 and seconds > 0:
            exponent = float(np.clip(math.log2(larger / seconds), *GROWTH_RANGE))
            estimate = larger * (n_rows / size) ** exponent
        seconds = larger
        if seconds > patience or (estimate <= enough and size >= min(MAX_FIRST_ROWS, n_rows / 8)):
            break
    if math.isnan(estimate) and seconds > 0 and folds.clock() + 2 * seconds >= deadline:
        return math.inf
    return estimate


def estimate_fold_seconds(
    estimator: Any,
    task: Task,
    train: Ints,
    test: Ints,
    *,
    enough: float,
    patience: float,
    deadline: float = math.inf,
    limit: float = math.inf,
    random_state: Any = 0,
    is_busy: bool = False,
) -> float:
    """Estimate the time of `fit_and_score` on a fold; NaN if unknown. See `estimate_seconds`.

    With `is_busy` it is the processor time of this process if that is shorter, as on a machine with other processes.
    """
    rng = check_random_state(random_state)
    train, test = rng.permutation(train), rng.permutation(test)

    def run(size: int) -> float:
        n_test = max(1, round(len(test) * size / len(train)))
        start, processor_start = folds.clock(), time.process_time()
        result = try_fit_and_score(estimator, task, np.sort(train[:size]), np.sort(test[:n_test]))
        seconds, processor = folds.clock() - start, time.process_time() - processor_start
        return math.nan if result.error is not None else min(seconds, processor) if is_busy else seconds

    return estimate_seconds(run, len(train), enough=enough, patience=patience, deadline=deadline, limit=limit)


def estimate_costs(
    estimators: Mapping[str, Any],
    task: Task,
    splits: Any,
    seconds: float,
    time_limit: float,
    random_state: Any,
    progress: Progress | None,
) -> dict[str, float]:
    """Return the estimated seconds of one fold of each method, those of the fastest kinds first.

    NaN is unknown. After a quarter of the budget it is infinite for the methods without an estimate: a fit of unknown
    length, which cannot be interrupted, could exceed the budget by hours.
    """
    costs: dict[str, float] = dict.fromkeys(estimators, math.nan)
    deadline = folds.clock() + MAX_ESTIMATE_FRACTION * seconds
    is_estimated = min(len(train) for train, _ in splits) >= MIN_TIMED_ROWS
    for name in sorted(estimators, key=lambda name: _rank(name, estimators[name])):
        if folds.clock() > deadline:
            costs[name] = math.inf if is_estimated else math.nan
            continue
        if progress is not None:
            progress(0, len(estimators) * len(splits), f"time of {name}", None)
        try:
            costs[name] = estimate_fold_seconds(
                estimators[name],
                task,
                *splits[0],
                enough=min(time_limit, seconds / len(estimators)) / len(splits),
                patience=min(time_limit / 20, seconds / 100),
                deadline=deadline,
                limit=min(time_limit, seconds),
                random_state=random_state,
            )
        except KeyboardInterrupt as interrupt:
            if type(interrupt) is not KeyboardInterrupt:  # a request to end the process, such as SIGTERM
                raise
            raise KeyboardInterrupt(
                "interrupted while the times of the methods were estimated; no method was compared."
            ) from None
    return costs


def _rank(name: str, estimator: Any) -> int:
    """Return the place of a kind of method: the fast ones in order, then other ones, then the slow ones."""
    kind = type(last_step(estimator)).__name__
    if name in SLOW_METHODS or kind in SLOW_METHODS:
        return len(FAST_METHODS) + 1
    return FAST_METHODS.index(kind) if kind in FAST_METHODS else len(FAST_METHODS)


class Schedule:
    """Folds of all methods, cheapest method first, with a limit of time for all methods and for each.

    A method is left out if its estimated time exceeds the remaining budget or the time limit. It is stopped between two
    folds if the next one, at the mean time of its finished folds, would exceed a limit. A running fit is not
    interrupted.

    Parameters
    ----------
    costs : mapping of str to float
        Estimated seconds of one fold of each method; NaN if unknown. Methods of unknown cost come last. A method of
        infinite cost is left out.
    n_folds : int
    n_jobs : int
        Number of folds that run at the same time.
    end : float
        Time of `folds.clock` at which the budget ends; infinite without a budget.
    time_limit : float
        Seconds for the folds of one method; may be infinite.

    Attributes
    ----------
    reasons : dict of str to str
        The reason for each method with missing folds.
    over_time_limit : set of str
        The methods that are left out or stopped by the time limit, not by the budget.
    """

    def __init__(self, costs: Mapping[str, float], n_folds: int, n_jobs: int, *, end: float, time_limit: float) -> None:
        self._costs = dict(costs)
        self._order = sorted(costs, key=lambda name: costs[name] if not math.isnan(costs[name]) else math.inf)
        self._n_folds, self._n_jobs = n_folds, n_jobs
        self._end, self._time_limit = end, time_limit
        self._started: list[tuple[str, int]] = []
        self._seconds: dict[str, list[float]] = {name: [] for name in costs}
        self.over_time_limit: set[str] = set()
        self.reasons: dict[str, str] = {name: _NOT_ESTIMATED for name in costs if math.isinf(costs[name])}

    def jobs(self) -> Iterator[tuple[str, int]]:
        """Yield the method and the fold of each fit; limits are checked when a fit is requested."""
        for name in self._order:
            for fold in range(self._n_folds):
                reason = self._reason_to_stop(name, fold)
                if reason is not None:
                    self.reasons[name] = reason
                    break
                self._started.append((name, fold))
                yield name, fold

    def record(self, seconds: float) -> str:
        """Store the time of the next fit in the order of `jobs`, and return its method."""
        name, _ = self._started[self.n_done]
        self._seconds[name].append(seconds)
        return name

    @property
    def n_done(self) -> int:
        """Number of finished folds."""
        return sum(map(len, self._seconds.values()))

    @property
    def n_total(self) -> int:
        """Number of folds without those left out so far."""
        n_left_out = sum(self._n_folds - sum(name == other for other, _ in self._started) for name in self.reasons)
        return self._n_folds * len(self._order) - n_left_out

    def seconds_left(self) -> float | None:
        """Return the estimated time of the remaining folds, at most the rest of the budget; None if it is unknown.

        A fold of a method of unknown cost counts as the mean of all finished folds.
        """
        total = 0.0
        remaining = self._end - folds.clock()
        for name in self._order:
            n_left = self._n_folds - len(self._seconds[name])
            if n_left and name not in self.reasons:
                fold = self._mean_seconds(name)
                if math.isnan(fold):
                    if not self.n_done:
                        return None
                    fold = sum(map(sum, self._seconds.values())) / self.n_done
                cost = fold * n_left / min(self._n_jobs, n_left)
                is_stopped = self._seconds[name] or math.isnan(self._costs[name])  # between two folds, not before
                total += cost if total + cost <= remaining or is_stopped else 0.0  # otherwise it will be left out
        return max(min(total, remaining), 0.0)

    def _mean_seconds(self, name: str) -> float:
        seconds = self._seconds[name]
        return sum(seconds) / len(seconds) if seconds else self._costs[name]

    def _reason_to_stop(self, name: str, fold: int) -> str | None:
        """Return the reason not to fit a fold; comparisons with an unknown cost are false."""
        remaining = self._end - folds.clock()
        cost, n_left = self._mean_seconds(name), self._n_folds - fold
        if math.isinf(cost):
            return _NOT_ESTIMATED
        if fold:
            folds_done = f"stopped after {fold} of {self._n_folds} folds"
            if sum(self._seconds[name]) + cost > self._time_limit:
                self.over_time_limit.add(name)
                return f"{folds_done}: time limit {format_duration(self._time_limit)}"
            return f"{folds_done}: the budget is used" if cost > remaining or remaining <= 0 else None
        if cost * n_left > self._time_limit:
            self.over_time_limit.add(name)
            limit = format_duration(self._time_limit)
            return f"left out: about {format_duration(cost * n_left)} estimated, time limit {limit}"
        seconds = cost * n_left / min(self._n_jobs, n_left)
        if seconds > remaining:
            left = format_duration(max(remaining, 0.0))
            return f"left out: about {format_duration(seconds)} estimated, {left} of the budget left"
        return "left out: the budget is used" if remaining <= 0 else None
