"""What trials gave, and ways to look at it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np

from oneof.errors import InputError
from oneof.typing import Floats
from reproduction.trial import Setting, Trial

Result: TypeAlias = Mapping[str, Any]
"""What a trial measured, by name: numbers, text, lists of numbers."""


@dataclass(frozen=True)
class Record:
    """The outcome of one trial: a result, or the error that it ended with."""

    trial: Trial
    result: Result | None
    error: str | None = None
    seconds: float = 0.0
    version: str | None = None
    """Of the oneof that measured it, where that was written down."""


class Records(Sequence[Record]):
    """Records of one experiment, in the order of its plan.

    Examples
    --------
    >>> from reproduction import Record, Records, Trial
    >>> made = [Record(Trial.of("x", size=s, draw=d), {"error": 10.0 * s + d}) for d in (0, 1) for s in (2, 4)]
    >>> records = Records(made)
    >>> records.across("size")
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
        """How many records each version of oneof made; None where it was not written down."""
        return dict(Counter(record.version for record in self))

    def where(self, **settings: Setting) -> "Records":
        """Return the records whose trials have all of these settings."""
        return Records(r for r in self if all(r.trial[name] == value for name, value in settings.items()))

    def across(self, name: str) -> list[Any]:
        """Return the values that a setting takes, each once, smallest first."""
        return sorted({record.trial[name] for record in self}, key=lambda value: (str(type(value)), value))

    def values(self, measured: str | Callable[[Result], Any], **settings: Setting) -> Floats:
        """Return one measured number (or row of numbers) of each trial that succeeded, in the order of the plan.

        Parameters
        ----------
        measured : str or callable
            Its name in the results, or a function of a result.
        **settings
            Restrict the trials, as in `where`.

        Returns
        -------
        ndarray of shape (n_records,) or (n_records, n_numbers)
            Trials that differ in other settings only come in the same order, so that such arrays are paired as long as
            no trial failed; `in_common` leaves out what would break pairs.
        """
        taken = [record.result for record in self.where(**settings) if record.result is not None]
        try:
            found = [result[measured] if isinstance(measured, str) else measured(result) for result in taken]
        except KeyError as error:
            raise InputError(f"the records hold no {error}: they were made by another protocol; start anew.") from error
        return np.array(found, dtype=float)


def in_common(*parts: Records, by: str = "draw") -> list[Records]:
    """Return the records of the draws in which no part lacks its trial, so that values of the parts are paired.

    Examples
    --------
    >>> from reproduction import Record, Records, Trial
    >>> a = Records(Record(Trial.of("x", size=2, draw=d), {"error": float(d)}) for d in (0, 1, 2))
    >>> b = Records(Record(Trial.of("x", size=4, draw=d), {"error": 10.0 + d}) for d in (0, 2, 3))
    >>> [part.values("error").tolist() for part in in_common(a, b)]
    [[0.0, 2.0], [10.0, 12.0]]
    """
    kept = set.intersection(*({r.trial[by] for r in part if r.error is None} for part in parts))
    return [Records(r for r in part if r.error is None and r.trial[by] in kept) for part in parts]


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Return the mean of independent draws and its standard error; NaN where there are too few."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean()) if len(values) else float("nan")
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return mean, error
