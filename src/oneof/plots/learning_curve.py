"""Figure of a learning curve."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from oneof.errors import InputError, InputTypeError
from oneof.plots.style import PALETTE, new_axes, style_axes, write_legend
from oneof.validation import as_float_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LearningCurveLike(Protocol):
    """Learning curve as read by `plot_learning_curve`: arrays with one entry per training size."""

    @property
    def train_sizes(self) -> Any:
        """Numbers of labeled training rows."""

    @property
    def covering_rate(self) -> Any:
        """Mean covering rate on held-out rows, in [0, 1]."""

    @property
    def covering_rate_std(self) -> Any:
        """Standard deviation of the covering rate over the folds."""

    @property
    def accuracy(self) -> Any:
        """Mean accuracy on held-out rows, or None without true labels."""

    @property
    def accuracy_std(self) -> Any:
        """Standard deviation of the accuracy over the folds, or None."""


def plot_learning_curve(curve: LearningCurveLike, ax: "Axes | None" = None, *, label: str = "") -> "Axes":
    """Draw the held-out covering rate, and the accuracy if known, by the number of labeled training rows.

    The band has a half-width of one standard deviation.

    Parameters
    ----------
    curve : LearningCurve
        Arrays `train_sizes`, `covering_rate`, `covering_rate_std`, and `accuracy`, `accuracy_std` or None.
    ax : matplotlib Axes, optional
        Axes to draw on; by default a new pyplot figure. A further curve, or one with a label, has one color of its own.
    label : str, default=""
        Name of the method in the legend, for several curves in one figure.

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
    sizes = np.asarray(curve.train_sizes, dtype=float)
    lines = [("covering rate", curve.covering_rate, curve.covering_rate_std, "accent", "o", "-")]
    if curve.accuracy is not None:
        lines.append(("accuracy", curve.accuracy, curve.accuracy_std, "second", "s", "--"))
    n_drawn = len(ax.lines)
    for name, mean, std, palette_name, marker, dash in lines:
        color = f"C{n_drawn // len(lines)}" if label or n_drawn else PALETTE[palette_name]
        center = np.asarray(mean, dtype=float)
        deviation = np.zeros_like(center) if std is None else np.nan_to_num(np.asarray(std, dtype=float))
        below, above = np.clip(center - deviation, 0, 1), np.clip(center + deviation, 0, 1)
        ax.fill_between(sizes, below, above, color=color, alpha=0.16, linewidth=0)
        style: Any = {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.8}
        ax.plot(sizes, center, dash, label=f"{label}, {name}" if label else name, **style)
    low, high = ax.dataLim.intervaly if np.isfinite(ax.dataLim.intervaly).all() else (0.0, 1.0)  # of all curves
    # A height of at least 20 percentage points, so that noise does not look like a trend.
    margin = max(0.0, 0.2 - (high - low)) / 2 + 0.02
    top = min(1.0, high + margin)
    ax.set_ylim(max(0.0, min(low - margin, top - 0.2)), top + 0.005)
    if len(sizes) and sizes.min() > 0 and sizes.max() >= 8 * sizes.min():
        ax.set_xscale("log")
        ax.minorticks_off()
    if len(sizes) <= 8:
        ax.set_xticks(sizes, [f"{n:,.0f}" for n in sizes])
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    ax.set_xlabel("labeled training rows" + (" (log scale)" if ax.get_xscale() == "log" else ""))
    style_axes(ax, grid="y")
    write_legend(ax, **{} if n_drawn else {"loc": "lower right"})  # above the axes if curves leave no free corner
    ax.margins(x=0.04)
    return ax


def check_curve(curve: Any) -> None:
    """Raise unless `curve` has arrays of one length."""
    names = ["train_sizes", "covering_rate", "covering_rate_std", "accuracy", "accuracy_std"]
    if missing := [name for name in names if not hasattr(curve, name)]:
        raise InputTypeError(
            f"`curve` must be a LearningCurve; it has no attribute `{missing[0]}`. Pass the result of `learning_curve`."
        )
    present = {name: getattr(curve, name) for name in names if getattr(curve, name) is not None}
    shapes = {name: as_float_array(value, name).shape for name, value in present.items()}
    if "covering_rate" not in shapes or len(set(shapes.values())) > 1 or len(shapes["train_sizes"]) != 1:
        raise InputError(f"`curve` must have vectors of one length; got arrays of shapes {shapes}.")
