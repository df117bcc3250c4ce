"""The look of the figures: few colors that everyone can tell apart, a dash and a marker each, and bands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof.errors import MissingExtraError
from oneof.plots.style import FONT_SIZE, PALETTE, style_axes
from oneof.typing import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Look(NamedTuple):
    """How a curve is drawn."""

    color: str
    dash: Any = "-"
    marker: str = ""


# Okabe & Ito's colors, which stay apart under every common color blindness and on light and dark pages alike.
BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, GREY = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f8790",
)  # fmt: skip
LOOKS = (
    Look(BLUE, "-", "o"),
    Look(VERMILLION, "--", "s"),
    Look(GREEN, "-.", "^"),
    Look(PURPLE, (0, (1, 1)), "D"),
    Look(ORANGE, (0, (5, 1, 1, 1, 1, 1)), "v"),
    Look(SKY, (0, (3, 2)), "P"),
    Look(GREY, ":", "X"),
)


def new_figure(rows: int, columns: int, *, width: float = 3.7, height: float = 3.2) -> "tuple[Figure, list[Axes]]":
    """Return a figure of panels that share the look, and its axes row by row; room for a legend is left below."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots") from error
    figure = Figure(figsize=(max(width * columns, 5.2), height * rows + 0.7), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def curve(
    ax: "Axes", x: Sequence[float] | Floats | Ints, values: Floats, look: Look, label: str, *, band: str = "error"
) -> None:
    """Draw the mean of draws over x, with a band around it.

    Parameters
    ----------
    ax : matplotlib Axes
    x : sequence of n_points numbers
    values : ndarray of shape (n_mc_samples, n_points)
    look : Look
    label : str
    band : {"error", "deviation", "none"}
        Two standard errors of the mean to each side, or one standard deviation of the draws; none where bands of many
        curves would hide each other.

    Without any draw, as where all trials failed, nothing is drawn.
    """
    if not values.size:
        return
    mean = values.mean(axis=0)
    if len(values) > 1 and band != "none":
        spread = values.std(axis=0, ddof=1)
        half = spread if band == "deviation" else 2.0 * spread / np.sqrt(len(values))
        ax.fill_between(x, mean - half, mean + half, color=look.color, alpha=0.18, linewidth=0)
    few = len(x) <= 12
    ax.plot(
        x, mean, color=look.color, linestyle=look.dash, linewidth=1.7, label=label,
        marker=look.marker if few else "", markersize=4.5,
    )  # fmt: skip


def finish(ax: "Axes", title: str, x: str, y: str) -> None:
    """Give a panel its words and the house style."""
    style_axes(ax, grid="y")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title, loc="left", color=PALETTE["ink"], fontsize=FONT_SIZE + 0.5)


def at_counts(ax: "Axes", counts: Sequence[int]) -> None:
    """Let the x axis be logarithmic, with the counts themselves as its marks."""
    ax.set_xscale("log")
    ax.set_xticks(list(counts), [f"{count:,}" for count in counts])
    ax.minorticks_off()


def shared_legend(figure: "Figure", axes: "Sequence[Axes]", *, columns: int = 4) -> None:
    """Put one legend for all panels below them."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False,
        fontsize=FONT_SIZE, labelcolor=PALETTE["ink"], handlelength=2.6,
    )  # fmt: skip


def hide_unused(axes: "Sequence[Axes]", used: int) -> None:
    """Take away panels for which there was nothing to draw."""
    for ax in axes[used:]:
        ax.set_visible(False)
