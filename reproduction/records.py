"""The results of trials: selection, unique settings, arrays of measured values, pairing."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np

from oneof.errors import InputError
from oneof.typing import Floats
from reproduction.trial import Setting, Trial

Result: TypeAlias = Mapping[str, Any]
"""The measured values of a trial by name: numbers, text, lists of numbers."""


@dataclass(frozen=True)
class Record:
    """The outcome of one trial: a result, or the error that ended it."""

    trial: Trial
    result: Result | None
    error: str | None = None
    seconds: float = 0.0
    version: str | None = None
    """Version of oneof that measured it; None if it was not recorded."""


class Records(Sequence[Record]):
    """Records of one experiment, in the order of its plan.

    Examples
    --------
    >>> from reproduction import Record, Records, Trial
    >>> trials = [Trial.from_settings("x", size=s, draw=d) for d in (0, 1) for s in (2, 4)]
    >>> records = Records(Record(trial, {"error": 10.0 * trial["size"] + trial["draw"]}) for trial in trials)
    >>> records.unique_values("size")
    [2, 4]
    >>> records.values("error", size=4).tolist()
    [40.0, 41.0]
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = tuple(records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> "Records": ...
    def __getitem__(self, index: int | slice) -> "Record | Records":
        return Records(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    @property
    def failed(self) -> "Records":
        """The records of trials that ended with an error."""
        return Records(record for record in self if record.error is not None)

    @property
    def versions(self) -> dict[str | None, int]:
        """Number of records of each version of oneof; None if the version was not recorded."""
        return dict(Counter(record.version for record in self))

    def where(self, **settings: Setting) -> "Records":
        """Return the records whose trials have all of these settings."""
        return Records(r for r in self if all(r.trial[name] == value for name, value in settings.items()))

    def unique_values(self, name: str) -> list[Any]:
        """Return the values of a setting, each once, smallest first."""
        return sorted({record.trial[name] for record in self}, key=lambda value: (str(type(value)), value))

    def values(self, measured: str | Callable[[Result], Any], **settings: Setting) -> Floats:
        """Return one measured number (or row of numbers) of each trial that succeeded, in the order of the plan.

        Parameters
        ----------
        measured : str or callable
            A name in the results, or a function of a result.
        **settings
            Restrict the trials, as in `where`.

        Returns
        -------
        ndarray of shape (n_records,) or (n_records, n_numbers)
            Trials that differ only in other settings have the same order, so that such arrays are paired if no trial
            failed; `pair_records` removes records without a partner.
        """
        results = [record.result for record in self.where(**settings) if record.result is not None]
        try:
            values = [result[measured] if isinstance(measured, str) else measured(result) for result in results]
        except KeyError as error:
            raise InputError(
                f"the records have no {error}: they were measured by another protocol. Use a new folder."
            ) from error
        return np.array(values, dtype=float)

    def curves(self, measured: str | Callable[[Result], Any], by: str, **settings: Setting) -> Floats:
        """Return measured numbers by draw and by the values of a setting, smallest first, (n_draws, n_values).

        If draws failed for some values, later draws of the other values are omitted.
        """
        columns = [self.values(measured, **settings, **{by: value}) for value in self.unique_values(by)]
        shortest = min(map(len, columns), default=0)
        return np.array([column[:shortest] for column in columns]).T


def pair_records(*groups: Records, by: str = "draw") -> list[Records]:
    """Return the successful records of the draws that all groups have, so that the values of the groups are paired.

    Examples
    --------
    >>> from reproduction import Record, Records, Trial
    >>> a = Records(Record(Trial.from_settings("x", size=2, draw=d), {"error": float(d)}) for d in (0, 1, 2))
    >>> b = Records(Record(Trial.from_settings("x", size=4, draw=d), {"error": 10.0 + d}) for d in (0, 2, 3))
    >>> [group.values("error").tolist() for group in pair_records(a, b)]
    [[0.0, 2.0], [10.0, 12.0]]
    """
    shared = set.intersection(*({r.trial[by] for r in group if r.error is None} for group in groups))
    return [Records(r for r in group if r.error is None and r.trial[by] in shared) for group in groups]


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Return the mean of independent draws and its standard error; NaN if there are too few."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean()) if len(values) else float("nan")
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return mean, error
