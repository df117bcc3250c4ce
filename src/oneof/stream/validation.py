"""Progressive validation: how often the prediction made before a row was learnt from lay outside its set."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oneof.typing import Mask

MOST_WINDOWS = 100
"""Windows that are kept: where there are more, each two become one, and from then on windows are twice as long."""


@dataclass(frozen=True)
class Window:
    """Consecutive rows of the stream.

    Attributes
    ----------
    rows : int
    told : int
        Those whose set says something, that is, does not hold every class.
    mistakes : int
        Those whose prediction lay outside the set.
    seconds : float
    """

    rows: int = 0
    told: int = 0
    mistakes: int = 0
    seconds: float = 0.0

    @property
    def loss(self) -> float | None:
        """L_A over the rows that say something, which is 1 - covering rate; None where there is none."""
        return self.mistakes / self.told if self.told else None

    @property
    def rows_per_second(self) -> float | None:
        """Reading, encoding and learning together."""
        return self.rows / self.seconds if self.seconds else None

    def __add__(self, other: "Window") -> "Window":
        return Window(
            self.rows + other.rows,
            self.told + other.told,
            self.mistakes + other.mistakes,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True)
class Validation:
    """Counts over the first pass of a stream, in all and in windows.

    Attributes
    ----------
    exact, partial : int
        Rows with one candidate, and with several but not all.
    total : Window
    windows : tuple of Window
        At most `MOST_WINDOWS`, of equal length but for the last one and those that files cut short.
    batches_per_window : int
    batches_in_last : int
    """

    exact: int = 0
    partial: int = 0
    total: Window = Window()
    windows: tuple[Window, ...] = ()
    batches_per_window: int = 1
    batches_in_last: int = 0

    def after(self, mask: Mask, mistakes: int, seconds: float) -> "Validation":
        """Return the counts with a batch taken in."""
        sizes = np.count_nonzero(mask, axis=1)
        full = int((sizes == mask.shape[1]).sum())
        exact = int((sizes == 1).sum())
        batch = Window(len(mask), len(mask) - full, mistakes, seconds)
        windows, per_window, in_last = self.windows, self.batches_per_window, self.batches_in_last
        if windows and in_last < per_window:
            windows, in_last = (*windows[:-1], windows[-1] + batch), in_last + 1
        else:
            if len(windows) == MOST_WINDOWS:
                windows = tuple(a + b for a, b in zip(windows[::2], windows[1::2], strict=True))
                per_window *= 2
            windows, in_last = (*windows, batch), 1
        return replace(
            self,
            exact=self.exact + exact,
            partial=self.partial + len(mask) - full - exact,
            total=self.total + batch,
            windows=windows,
            batches_per_window=per_window,
            batches_in_last=in_last,
        )

    def facts(self) -> dict[str, Any]:
        """Return the report in the types of JSON."""
        return {
            "loss": self.total.loss,
            "rows_per_second": self.total.rows_per_second,
            "seconds": self.total.seconds,
            "windows": [
                {"rows": window.rows, "loss": window.loss, "rows_per_second": window.rows_per_second}
                for window in self.windows
            ],
        }
