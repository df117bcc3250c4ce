"""Square heat maps of labels against labels."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.plots.style import FONT_SIZE, HEAT_LEVELS, PALETTE, dress, shorten
from oneof.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CLASSES = 30
"""More labels than this cannot be read beside one another."""

_MAX_WRITTEN = 12


def draw_heatmap(
    ax: "Axes", values: Floats, names: Sequence[Any], *, top: float, write: Callable[[float], str], what: str
) -> None:
    """Draw a square matrix; 0 is blank, `top` is the full color, and NaN cells are crossed out in gray.

    Up to 12 classes the values are written into their cells by `write`; beyond, a color bar named `what` tells them.
    """
    from matplotlib.colors import ListedColormap, Normalize, to_rgba

    # Opacity instead of lightness: a blank cell is the page, light or dark.
    ramp = [to_rgba(PALETTE["heat"], level) for level in np.linspace(0.05, 1, HEAT_LEVELS)]
    colors = ListedColormap(ramp).with_extremes(bad=(0, 0, 0, 0))
    mesh = ax.pcolormesh(
        np.ma.masked_where(~(values > 0), values), cmap=colors, norm=Normalize(0, top),
        edgecolors=PALETTE["paper"], linewidth=1.0,
    )  # fmt: skip
    rows, columns = np.nonzero(np.isnan(values))
    ax.plot(columns + 0.5, rows + 0.5, linestyle="none", marker="x", markersize=4, color=PALETTE["rule"])
    n = len(values)
    ax.set_aspect("equal")
    ax.invert_yaxis()
    dress(ax)
    for spine in ax.spines.values():
        spine.set_visible(False)
    shown = [shorten(name) for name in names]
    upright = max(map(len, shown), default=0) <= (3 if n <= 20 else 2)
    turned: dict[str, Any] = {} if upright else {"rotation": 55, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(np.arange(n) + 0.5, shown, parse_math=False, **turned)
    ax.set_yticks(np.arange(n) + 0.5, shown, parse_math=False)
    if n <= _MAX_WRITTEN:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value) and value > 0:
                color = PALETTE["on-heat" if value > 0.62 * top else "ink"]
                ax.text(j + 0.5, i + 0.5, write(float(value)), ha="center", va="center", color=color, fontsize=9)
        return
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.6, aspect=24, pad=0.02, format=lambda value, _: write(value))
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=FONT_SIZE, labelcolor=PALETTE["ink"])
    bar.set_label(what, color=PALETTE["muted"], fontsize=FONT_SIZE)


def heatmap_inches(names: Sequence[Any]) -> tuple[float, float]:
    """Return width and height of a figure in which a heat map of these labels can be read."""
    n = len(names)
    cell = float(np.clip(5.4 / max(n, 1), 0.29, 0.62))
    longest = max((len(shorten(name)) for name in names), default=0)
    margin = 0.5 + 0.085 * longest
    bar = 0.75 if n > _MAX_WRITTEN else 0.1
    return max(n * cell + margin + bar, 3.4), max(n * cell + 0.5 + 0.075 * longest, 2.4)
