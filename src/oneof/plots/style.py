"""Style of the figures and pages: the palette, axes without frames, and cleaned labels."""

import re
from typing import TYPE_CHECKING, Any

from oneof.lazy import import_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue and orange are distinguishable under every common color blindness. Each value occurs once, so that svg.py can
# replace it by a CSS variable of the page, whose dark mode then applies to figures too.
PALETTE = {
    "ink": "#1b2733",
    "muted": "#5c6975",
    "rule": "#d3dae1",
    "accent": "#2166ac",
    "accent-soft": "#9cc3e3",
    "second": "#c8610a",
    "heat": "#08407f",
    "on-heat": "#fdfdfd",
    "paper": "#ffffff",
}
# Okabe & Ito's colors, which are distinct under every common color blindness and on light and dark pages: blue,
# vermilion, green, purple, orange, sky blue and gray.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f8790")
FONT_SIZE = 10.5
HEAT_LEVELS = (0.05, 0.13, 0.22, 0.3, 0.38, 0.47, 0.72, 0.81, 0.91, 1.0)
"""Opacities of a heat map. In between, neither color of its numbers has a contrast of 4.5 on light and dark pages."""
N_FAINT_LEVELS = 6
"""Number of the levels whose numbers are in the color of ink."""
NAME_WIDTH = 22

# Characters that are invalid in XML, and invisible control characters.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def replace_unprintable(text: str) -> str:
    """Return a text that is valid in every page."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def clean(value: Any) -> str:
    """Return a value as one line of text that is valid in every page and figure."""
    return replace_unprintable(" ".join(str(value).split()))


def shorten(value: Any, width: int = NAME_WIDTH) -> str:
    """Return clean text of at most `width` characters, cut in the middle, since long names often share a prefix."""
    text = clean(value)
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 5
    return text[: width - 1 - tail].rstrip() + "…" + text[len(text) - tail :].lstrip()


def new_axes() -> "Axes":
    """Return the axes of a new pyplot figure."""
    axes: Axes = import_extra("matplotlib.pyplot", "plots").subplots(layout="constrained")[1]
    return axes


def style_axes(ax: "Axes", *, grid: str | None = None) -> None:
    """Apply the style to axes; `grid` is the axis ("x" or "y") with grid lines."""
    ax.set_facecolor("none")
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALETTE["rule"])
    ax.tick_params(colors=PALETTE["muted"], labelcolor=PALETTE["ink"], labelsize=FONT_SIZE, length=0)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_color(PALETTE["muted"])
        label.set_fontsize(FONT_SIZE)
    if grid is not None:
        ax.grid(axis="x" if grid == "x" else "y", color=PALETTE["rule"], linewidth=0.8)
        ax.set_axisbelow(True)


def write_legend(ax: "Axes", **options: Any) -> None:
    """Add a legend without a frame, by default in one line above the axes."""
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2, "borderaxespad": 0.2, "borderpad": 0}
    ax.legend(frameon=False, fontsize=FONT_SIZE, labelcolor=PALETTE["ink"], handlelength=1.2, **(options or above))


def annotate_empty(ax: "Axes", sentence: str) -> None:
    """Write a sentence on axes without data."""
    ax.set_axis_off()
    options: Any = {"ha": "center", "va": "center", "color": PALETTE["muted"], "fontsize": FONT_SIZE}
    ax.text(0.5, 0.5, sentence, transform=ax.transAxes, wrap=True, **options)
