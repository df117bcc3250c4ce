"""Order of the folds of a comparison, and the methods left out by the budget or the time limit."""

import math
from collections.abc import Iterator, Mapping

from oneof.comparison import folds
from oneof.comparison.results import format_duration

_NOT_ESTIMATED = "left out: not estimated, since the samples took a quarter of the budget"


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
    """

    def __init__(self, costs: Mapping[str, float], n_folds: int, n_jobs: int, *, end: float, time_limit: float) -> None:
        self._costs = dict(costs)
        self._order = sorted(costs, key=lambda name: costs[name] if not math.isnan(costs[name]) else math.inf)
        self._n_folds, self._n_jobs = n_folds, n_jobs
        self._end, self._time_limit = end, time_limit
        self._started: list[tuple[str, int]] = []
        self._seconds: dict[str, list[float]] = {name: [] for name in costs}
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
                return f"{folds_done}: time limit {format_duration(self._time_limit)}"
            return f"{folds_done}: the budget is used" if cost > remaining or remaining <= 0 else None
        if cost * n_left > self._time_limit:
            limit = format_duration(self._time_limit)
            return f"left out: about {format_duration(cost * n_left)} estimated, time limit {limit}"
        seconds = cost * n_left / min(self._n_jobs, n_left)
        if seconds > remaining:
            left = format_duration(max(remaining, 0.0))
            return f"left out: about {format_duration(seconds)} estimated, {left} of the budget left"
        return "left out: the budget is used" if remaining <= 0 else None
