"""Progressive validation: the fraction of rows whose prediction, made before the row is learned, is not a candidate.

A row with weights counts by 1 less the weight of its prediction; the largest weight of a row is 1.

The loss is biased if consecutive rows have the same label, for example in a file that is sorted by class. A prediction
from the previous rows is then correct for any features. `LabelAutocorrelation` detects this.
"""

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from oneof.likelihoods import constant_rows
from oneof.typing import Evidence, Ints

_MIN_PERSISTENCE = 0.3
_MIN_DEVIATIONS = 5.0
_MAX_RATIO = 100
"""Ratio of the lengths of runs above which its value is not written: nearly sorted rows determine it only roughly."""
_MIN_MINORITY = 20.0
"""Minimum expected number of rows outside the most frequent class; with fewer, chance alone may produce a run."""

MAX_WINDOWS = 100
"""Maximum number of windows: beyond it, pairs of windows are merged and later windows are twice as long."""


@dataclass(frozen=True)
class LabelAutocorrelation:
    """Statistics of the order of the labels, in memory proportional to the number of classes.

    The agreement of two rows is the probability that labels drawn from their sets are equal: for exact labels, 1 if
    they are equal. From a row with weights, labels are drawn in proportion to them. Unlabeled rows are skipped.

    Attributes
    ----------
    n_labeled : int
        Number of labeled rows.
    agreement : float
        Sum of the agreements of each labeled row with the previous one.
    self_agreement : float
        Sum of the agreements of each labeled row with itself.
    class_counts : tuple of float
        For each class, the sum of the probabilities that it is drawn.
    last : tuple of float
        For each class, the probability that it is drawn from the last labeled row; empty before the first.
    """

    n_labeled: int = 0
    agreement: float = 0.0
    self_agreement: float = 0.0
    class_counts: tuple[float, ...] = ()
    last: tuple[float, ...] = ()

    def update(self, evidence: Evidence) -> "LabelAutocorrelation":
        """Return the statistics after a batch."""
        evidence = evidence[~constant_rows(evidence)]
        if not len(evidence):
            return self
        shares = evidence / evidence.sum(axis=1, keepdims=True)
        rows = np.vstack([self.last, shares]) if self.last else shares
        return LabelAutocorrelation(
            self.n_labeled + len(shares),
            self.agreement + float(np.vdot(rows[1:], rows[:-1])),
            self.self_agreement + float(np.vdot(shares, shares)),
            tuple((shares.sum(axis=0) + (self.class_counts or 0.0)).tolist()),
            tuple(shares[-1].tolist()),
        )

    def note(self) -> str | None:
        """Return a warning if labels occur in runs, else None.

        The agreement of consecutive rows is compared with its mean over all orders of the same rows, which follows from
        the sums. For exact labels, the excess divided by its maximum is the autocorrelation at lag 1. It is about 1 in
        sorted rows, and within a few times 1 / sqrt(rows) of 0 in random order. For sets it is smaller, because
        distractors differ between rows: by the factor `sorted_excess` if they are drawn at random. The warning requires
        runs at least 1 / (1 - 0.3) = 1.4 times as long as in random order. It also requires an excess of five times
        1 / sqrt(rows), which is practically impossible by chance.
        """
        n = self.n_labeled
        if n - max(self.class_counts, default=0.0) < _MIN_MINORITY:
            return None
        observed, maximum = self.agreement / (n - 1), self.self_agreement / n
        expected = (math.fsum(count**2 for count in self.class_counts) - self.self_agreement) / (n * (n - 1))
        if maximum <= expected:  # all sets are equal
            return None
        excess = (observed - expected) / (maximum - expected)
        n_classes = len(self.class_counts)
        sorted_excess = (maximum - 1 / n_classes) * n_classes / (n_classes - 1)
        if excess < max(_MIN_PERSISTENCE * sorted_excess, _MIN_DEVIATIONS / math.sqrt(n)):
            return None
        ratio = 1.0 / max(1.0 - excess / sorted_excess, 1.0 / _MAX_RATIO)
        times = f"{ratio:.1f}" if ratio < _MAX_RATIO else f"over {_MAX_RATIO}"
        return (
            f"labels come in runs, {times} times as long as in random order, so the running loss underestimates the "
            "loss of the model: shuffle the rows, or evaluate the model on other rows."
        )


@dataclass(frozen=True)
class Window:
    """Consecutive rows of the stream.

    Attributes
    ----------
    rows : int
        Number of rows.
    labeled : int
        Number of labeled rows, whose classes are not all equally possible.
    mistakes : int or float
        Number of labeled rows whose prediction, by the model's weights just before the row, is not a candidate. A row
        with weights adds 1 less the weight of its prediction.
    model_labeled, model_mistakes : int or float
        The same for the model as it would be saved, with averaged weights if requested, just before the batch of the
        row. There is no model before the first batch.
    seconds : float
        Time for reading, encoding, predicting and learning.
    loss, model_loss : float or None
        The ambiguous 0-1 loss over the labeled rows, row by row and of the model; None without labeled rows.
    rows_per_second : float or None
        None if no time has passed.

    Examples
    --------
    >>> from oneof.stream import Window
    >>> Window(rows=1_000, labeled=800, mistakes=200, seconds=0.5).loss
    0.25
    """

    rows: int = 0
    labeled: int = 0
    mistakes: float = 0
    model_labeled: int = 0
    model_mistakes: float = 0
    seconds: float = 0.0

    @property
    def loss(self) -> float | None:
        """The ambiguous 0-1 loss L_A, row by row, over the labeled rows; None if there are none."""
        return self.mistakes / self.labeled if self.labeled else None

    @property
    def model_loss(self) -> float | None:
        """L_A of the model, batch by batch, equal to 1 - covering rate; None if there are no labeled rows."""
        return self.model_mistakes / self.model_labeled if self.model_labeled else None

    @property
    def rows_per_second(self) -> float | None:
        """Number of rows per second."""
        return self.rows / self.seconds if self.seconds else None

    def __add__(self, other: "Window") -> "Window":
        return Window(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class ProgressiveValidation:
    """Counts over the first pass of a stream, in total and in windows.

    Attributes
    ----------
    exact, partial : int
        Number of rows with one candidate, and with several that are not all classes with equal weights.
    weighted : int
        Number of partial rows with weights.
    total : Window
    windows : tuple of Window
        At most `MAX_WINDOWS`, of equal length except for the last one and those shortened by the end of a file.
    batches_per_window : int
    batches_in_last : int
    autocorrelation : LabelAutocorrelation
        Detects runs of equal labels, which bias the losses downwards.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.stream import ProgressiveValidation
    >>> mask = np.array([[True, False, False], [True, True, False], [True, True, True]])
    >>> validation = ProgressiveValidation().update(mask, mistakes=1, predicted=None, seconds=0.1)
    >>> validation.exact, validation.partial, validation.total.rows, validation.total.loss
    (1, 1, 3, 0.5)
    """

    exact: int = 0
    partial: int = 0
    total: Window = Window()
    windows: tuple[Window, ...] = ()
    batches_per_window: int = 1
    batches_in_last: int = 0
    autocorrelation: LabelAutocorrelation = LabelAutocorrelation()
    weighted: int = 0

    def update(
        self, evidence: Evidence, mistakes: float, predicted: Ints | None, seconds: float
    ) -> "ProgressiveValidation":
        """Return the counts after a batch.

        Parameters
        ----------
        evidence : ndarray of shape (n, n_classes)
            A mask of the candidates, or weights of which the largest of each row is 1.
        mistakes : int or float
            Number of mistakes, row by row.
        predicted : ndarray of shape (n,), optional
            The codes that the model predicted; None if there is no model yet.
        seconds : float

        Returns
        -------
        ProgressiveValidation
        """
        n = len(evidence)
        labeled = n - int(constant_rows(evidence).sum())
        exact = int((np.count_nonzero(evidence, axis=1) == 1).sum())
        weighted = int(((evidence > 0) & (evidence < 1)).any(axis=1).sum())
        batch = Window(n, labeled, mistakes, seconds=seconds)
        if predicted is not None:
            outside = n - evidence[np.arange(n), predicted].sum().item()  # in an unlabeled row every weight is 1
            batch = replace(batch, model_labeled=labeled, model_mistakes=outside)
        windows, per_window, in_last = self.windows, self.batches_per_window, self.batches_in_last
        if windows and in_last < per_window:
            windows, in_last = (*windows[:-1], windows[-1] + batch), in_last + 1
        else:
            if len(windows) == MAX_WINDOWS:
                windows = tuple(a + b for a, b in zip(windows[::2], windows[1::2], strict=True))
                per_window *= 2
            windows, in_last = (*windows, batch), 1
        return replace(
            self,
            exact=self.exact + exact,
            partial=self.partial + labeled - exact,
            weighted=self.weighted + weighted,
            total=self.total + batch,
            windows=windows,
            batches_per_window=per_window,
            batches_in_last=in_last,
            autocorrelation=self.autocorrelation.update(evidence),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the losses and the speed in the types of JSON.

        Returns
        -------
        dict
        """
        rates = ("loss", "model_loss", "rows_per_second")
        total = {name: getattr(self.total, name) for name in (*rates, "seconds")}
        return total | {
            "windows": [{name: getattr(window, name) for name in ("rows", *rates)} for window in self.windows]
        }
