"""The picture of a learning curve."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from oneof.plots.given import check_curve
from oneof.plots.style import FONT_SIZE, PALETTE, dress, new_axes, write_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LearningCurveLike(Protocol):
    """What `plot_learning_curve` reads of a learning curve: equally long arrays, an entry a training size."""

    @property
    def n_rows(self) -> Any:
        """Number of labeled training rows."""

    @property
    def covering_rate(self) -> Any:
        """Mean covering rate of held-out rows, in [0, 1]."""

    @property
    def covering_rate_std(self) -> Any:
        """Its standard deviation over the folds."""

    @property
    def accuracy(self) -> Any:
        """Mean accuracy on held-out rows, or None where the true labels are not known."""

    @property
    def accuracy_std(self) -> Any:
        """Its standard deviation over the folds, or None."""


def plot_learning_curve(curve: LearningCurveLike, ax: "Axes | None" = None) -> "Axes":
    """Draw held-out covering rate (and accuracy where known) against the number of labeled training rows.

    The band is one standard deviation to each side.

    Parameters
    ----------
    curve : LearningCurve
        Arrays `n_rows`, `covering_rate`, `covering_rate_std`, and `accuracy`, `accuracy_std` or None.
    ax : matplotlib Axes, optional
        Where to draw; by default a new pyplot figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from oneof.comparison import LearningCurve
    >>> curve = LearningCurve((10, 100), (0.6, 0.8), (0.1, 0.05), None, None)
    >>> ax = plot_learning_curve(curve, ax=Figure().subplots())
    >>> ax.lines[0].get_ydata().tolist()
    [0.6, 0.8]
    """
    check_curve(curve)
    ax = new_axes() if ax is None else ax
    n_rows = np.asarray(curve.train_sizes, dtype=float)
    lines = [("covering rate", curve.covering_rate, curve.covering_rate_std, "accent", "o", "-")]
    if curve.accuracy is not None:
        lines.append(("accuracy", curve.accuracy, curve.accuracy_std, "second", "s", "--"))
    low, high = 1.0, 0.0
    for name, mean, std, color, marker, dash in lines:
        center = np.asarray(mean, dtype=float)
        spread = np.zeros_like(center) if std is None else np.nan_to_num(np.asarray(std, dtype=float))
        below, above = np.clip(center - spread, 0, 1), np.clip(center + spread, 0, 1)
        ax.fill_between(n_rows, below, above, color=PALETTE[color], alpha=0.16, linewidth=0)
        ax.plot(n_rows, center, dash, color=PALETTE[color], marker=marker, markersize=5, linewidth=1.8, label=name)
        low, high = min(low, np.nanmin(below, initial=1.0)), max(high, np.nanmax(above, initial=0.0))
    # At least 20 points of height, so that noise does not look like a trend.
    room = max(0.0, 0.2 - (high - low)) / 2 + 0.02
    top = min(1.0, high + room)
    ax.set_ylim(max(0.0, min(low - room, top - 0.2)), top + 0.005)
    if len(n_rows) and n_rows.min() > 0 and n_rows.max() >= 8 * n_rows.min():
        ax.set_xscale("log")
        ax.minorticks_off()
    if len(n_rows) <= 8:
        ax.set_xticks(n_rows, [f"{n:,.0f}" for n in n_rows])
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    ax.set_xlabel("labeled training rows" + (" (log scale)" if ax.get_xscale() == "log" else ""))
    dress(ax, grid="y")
    write_legend(ax, loc="lower right")
    ax.margins(x=0.04)
    ax.xaxis.label.set_fontsize(FONT_SIZE)
    return ax
