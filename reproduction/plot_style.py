"""The style of the figures: colors that remain distinct under color blindness, with a dash and a marker each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof.errors import MissingExtraError
from oneof.plots.style import FONT_SIZE, PALETTE, SERIES, style_axes
from oneof.typing import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class LineStyle(NamedTuple):
    """The color, dash and marker of a curve."""

    color: str
    dash: Any = "-"
    marker: str = ""


BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GRAY = SERIES
LINE_STYLES = (
    LineStyle(BLUE, "-", "o"),
    LineStyle(VERMILLION, "--", "s"),
    LineStyle(GREEN, "-.", "^"),
    LineStyle(PURPLE, (0, (1, 1)), "D"),
    LineStyle(ORANGE, (0, (5, 1, 1, 1, 1, 1)), "v"),
    LineStyle(SKY, (0, (3, 2)), "P"),
    LineStyle(GRAY, ":", "X"),
)


def new_figure(number: int, columns: int, *, width: float = 3.7, height: float = 3.2) -> "tuple[Figure, list[Axes]]":
    """Return a figure and the axes of its panels row by row; there is room for a legend below."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots") from error
    rows = -(-number // columns)
    figure = Figure(figsize=(max(width * columns, 5.2), height * rows + 0.7), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for ax in axes[number:]:
        ax.set_visible(False)
    return figure, axes[:number]


def curve(
    ax: "Axes", x: Sequence[float] | Floats | Ints, values: Floats, style: LineStyle, label: str, *, band: str = "error"
) -> None:
    """Plot the mean over the draws against x, with a band around it.

    Parameters
    ----------
    ax : matplotlib Axes
    x : sequence of n_points numbers
    values : ndarray of shape (n_draws, n_points)
    style : LineStyle
    label : str
    band : {"error", "deviation", "none"}
        Two standard errors of the mean to each side, or one standard deviation of the draws; "none" if the bands of
        many curves would hide each other.

    Nothing is plotted without draws, for example if all trials failed.
    """
    if not values.size:
        return
    mean = values.mean(axis=0)
    if len(values) > 1 and band != "none":
        spread = values.std(axis=0, ddof=1)
        half = spread if band == "deviation" else 2.0 * spread / np.sqrt(len(values))
        ax.fill_between(x, mean - half, mean + half, color=style.color, alpha=0.18, linewidth=0)
    few = len(x) <= 12
    ax.plot(
        x, mean, color=style.color, linestyle=style.dash, linewidth=1.7, label=label,
        marker=style.marker if few else "", markersize=4.5,
    )  # fmt: skip


def dots(
    ax: "Axes", at: Floats, results: Sequence[tuple[float, float]] | Floats, style: LineStyle, label: str, *,
    horizontal: bool = False, size: float = 4.5, width: float = 1.2,
) -> None:  # fmt: skip
    """Plot means with bars; a bar that was not measured has no length."""
    means, bars = np.array(results).reshape(-1, 2).T
    x, y, bar = (means, at, "xerr") if horizontal else (at, means, "yerr")
    ax.errorbar(
        x, y, **{bar: np.nan_to_num(bars)}, fmt=style.marker, color=style.color, markersize=size, elinewidth=width,
        label=label,
    )  # fmt: skip


def published_dots(
    ax: "Axes", x: Sequence[float], y: Sequence[float], style: LineStyle, label: str, *, size: float = 10
) -> None:
    """Plot published numbers as hollow markers."""
    ax.plot(
        x, y, style.marker, color=style.color, markerfacecolor="none", markersize=size, linestyle="none", label=label
    )


def list_names(ax: "Axes", names: Sequence[str]) -> None:
    """Make the y axis a list of names, the first one on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.grid(axis="x", alpha=0.5)


def label_axes(ax: "Axes", title: str, x: str, y: str, *, counts: Sequence[int] = ()) -> None:
    """Set the title and the axis labels of a panel, and apply the style of the package.

    With counts the x axis is logarithmic, and they are its ticks.
    """
    style_axes(ax, grid="y")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title, loc="left", color=PALETTE["ink"], fontsize=FONT_SIZE + 0.5)
    if counts:
        ax.set_xscale("log")
        ax.set_xticks(list(counts), [f"{count:,}" for count in counts])
        ax.minorticks_off()


def shared_legend(figure: "Figure", axes: "Sequence[Axes]", *, columns: int = 4) -> None:
    """Add one legend for all panels below them."""
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False,
        fontsize=FONT_SIZE, labelcolor=PALETTE["ink"], handlelength=2.6,
    )  # fmt: skip
