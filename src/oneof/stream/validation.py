"""Progressive validation: how often the prediction made before a row was learned from lay outside its set."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from oneof.stream.runs import Runs
from oneof.typing import Ints, Mask

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
        Those of them whose prediction, made by the weights just before the row, lay outside the set.
    model_told, model_mistakes : int
        The same by the model as it would be saved, with averaged weights where these are asked for, just before the
        batch of the row. The first batch has no model before it.
    seconds : float
        Reading, encoding, predicting and learning.

    Examples
    --------
    >>> from oneof.stream import Window
    >>> Window(rows=1_000, told=800, mistakes=200, seconds=0.5).loss
    0.25
    """

    rows: int = 0
    told: int = 0
    mistakes: int = 0
    model_told: int = 0
    model_mistakes: int = 0
    seconds: float = 0.0

    @property
    def loss(self) -> float | None:
        """L_A, row by row, over the rows that say something; None where there is none."""
        return self.mistakes / self.told if self.told else None

    @property
    def model_loss(self) -> float | None:
        """L_A of the model, batch by batch, which is 1 - covering rate; None where there is none."""
        return self.model_mistakes / self.model_told if self.model_told else None

    @property
    def rows_per_second(self) -> float | None:
        """Rows by seconds."""
        return self.rows / self.seconds if self.seconds else None

    def __add__(self, other: "Window") -> "Window":
        return Window(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


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
    runs : Runs
        What tells whether labels come in runs, so that the losses look better than the model is.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.stream import Validation
    >>> mask = np.array([[True, False, False], [True, True, False], [True, True, True]])
    >>> seen = Validation().after(mask, mistakes=1, predicted=None, seconds=0.1)
    >>> seen.exact, seen.partial, seen.total.rows, seen.total.loss
    (1, 1, 3, 0.5)
    """

    exact: int = 0
    partial: int = 0
    total: Window = Window()
    windows: tuple[Window, ...] = ()
    batches_per_window: int = 1
    batches_in_last: int = 0
    runs: Runs = Runs()  # noqa: RUF009 - frozen

    def after(self, mask: Mask, mistakes: int, predicted: Ints | None, seconds: float) -> "Validation":
        """Return the counts with a batch taken in.

        Parameters
        ----------
        mask : ndarray of shape (n, n_classes), bool
        mistakes : int
            Row by row.
        predicted : ndarray of shape (n,), optional
            The codes that the model predicted; None where there was no model yet.
        seconds : float

        Returns
        -------
        Validation
        """
        sizes = np.count_nonzero(mask, axis=1)
        full = int((sizes == mask.shape[1]).sum())
        exact = int((sizes == 1).sum())
        told = len(mask) - full
        batch = Window(len(mask), told, mistakes, seconds=seconds)
        if predicted is not None:
            outside = int((~mask[np.arange(len(mask)), predicted]).sum())  # of a full row nothing is outside
            batch = replace(batch, model_told=told, model_mistakes=outside)
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
            partial=self.partial + told - exact,
            total=self.total + batch,
            windows=windows,
            batches_per_window=per_window,
            batches_in_last=in_last,
            runs=self.runs.after(mask),
        )

    def facts(self) -> dict[str, Any]:
        """Return the report in the types of JSON.

        Returns
        -------
        dict
        """
        return {
            "loss": self.total.loss,
            "model_loss": self.total.model_loss,
            "rows_per_second": self.total.rows_per_second,
            "seconds": self.total.seconds,
            "windows": [
                {name: getattr(window, name) for name in ("rows", "loss", "model_loss", "rows_per_second")}
                for window in self.windows
            ],
        }
