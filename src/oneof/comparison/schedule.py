"""Order of the folds of all methods, and the limits of their time."""

from collections.abc import Iterator, Sequence

from oneof.comparison import folds
from oneof.comparison.results import format_duration


class Schedule:
    """Folds of all methods, one method after the other, with a limit of time for all methods and for each.

    The limits are checked when a fit is requested. A method is stopped if its next fold, at the mean time of its
    finished folds, would exceed a limit. A running fit is not interrupted.

    Parameters
    ----------
    names : sequence of str
        The methods in the order of their fits.
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
        The methods that are stopped by the time limit, not by the budget.
    """

    def __init__(self, names: Sequence[str], n_folds: int, n_jobs: int, *, end: float, time_limit: float) -> None:
        self._names, self._n_folds, self._n_jobs = names, n_folds, n_jobs
        self._end, self._time_limit = end, time_limit
        self._started: list[str] = []
        self._seconds: list[tuple[str, float]] = []
        self.reasons: dict[str, str] = {}
        self.over_time_limit: set[str] = set()

    def jobs(self) -> Iterator[tuple[str, int]]:
        """Yield the method and the fold of each fit."""
        for name in self._names:
            for fold in range(self._n_folds):
                reason = self._reason_to_stop(name)
                if reason:
                    state = f"stopped after {fold} of {self._n_folds} folds" if fold else "left out"
                    self.reasons[name] = f"{state}: {reason}"
                    break
                self._started.append(name)
                yield name, fold

    def record(self, seconds: float) -> str:
        """Store the time of the next fit in the order of `jobs`, and return its method."""
        name = self._started[self.n_done]
        self._seconds.append((name, seconds))
        return name

    def is_over(self) -> bool:
        """Return whether the budget is used."""
        return folds.clock() >= self._end

    @property
    def n_done(self) -> int:
        """Number of finished folds."""
        return len(self._seconds)

    @property
    def n_total(self) -> int:
        """Number of folds without those left out so far."""
        n_stopped = sum(self._n_folds - self._started.count(name) for name in self.reasons)
        return self._n_folds * len(self._names) - n_stopped

    def seconds_left(self) -> float | None:
        """Return the time of the other folds, at the mean time of the finished ones, and at most until the end."""
        if not self.n_done:
            return None
        mean = sum(seconds for _, seconds in self._seconds) / self.n_done
        return max(min(mean * (self.n_total - self.n_done) / self._n_jobs, self._end - folds.clock()), 0.0)

    def _reason_to_stop(self, name: str) -> str:
        times = [seconds for other, seconds in self._seconds if other == name]
        following = sum(times) / len(times) if times else 0.0
        if sum(times) + following > self._time_limit:
            self.over_time_limit.add(name)
            return f"time limit {format_duration(self._time_limit)}"
        left = self._end - folds.clock()
        return "the budget is used" if left <= 0 or following > left else ""
