"""The style of the gallery's figures, so that an example is plain matplotlib, and the order of the examples."""

from typing import Any

from oneof.plots.style import PALETTE, SERIES

READING_ORDER = (
    "first_steps",
    "crowds",
    "crowd_texts",
    "language_model",
    "weights",
    "audit",
    "disambiguation",
    "compare",
    "groups",
    "few_labels",
    "two_moons",
    "active",
    "prediction_sets",
    "stream",
    "gaussian_process",
    "views",
)


class ReadingOrder:
    """Sort key of the examples: the listed ones in order, then the other ones by name."""

    def __init__(self, src_dir: str) -> None:
        del src_dir  # an argument of sphinx-gallery's keys

    def __call__(self, file: str) -> tuple[int, str]:
        """Return the position and the name of an example."""
        name = file.removeprefix("plot_").removesuffix(".py")
        return (READING_ORDER.index(name) if name in READING_ORDER else len(READING_ORDER), name)


def apply(gallery_conf: dict[str, Any], fname: str) -> None:  # noqa: ARG001 - sphinx-gallery's signature
    """Set the style before and after each example."""
    import matplotlib as mpl
    from cycler import cycler

    mpl.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=SERIES),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": PALETTE["rule"],
            "axes.labelcolor": PALETTE["muted"],
            "axes.titlecolor": PALETTE["ink"],
            "axes.titlelocation": "left",
            "axes.titlesize": 10.5,
            "axes.labelsize": 10,
            "axes.axisbelow": True,
            "grid.color": PALETTE["rule"],
            "grid.linewidth": 0.8,
            "xtick.color": PALETTE["rule"],
            "ytick.color": PALETTE["rule"],
            "xtick.labelcolor": PALETTE["ink"],
            "ytick.labelcolor": PALETTE["ink"],
            "legend.frameon": False,
            "legend.fontsize": 9.5,
            "lines.linewidth": 1.8,
            "figure.constrained_layout.use": True,
            "figure.figsize": (7.2, 3.6),
            "savefig.dpi": 144,
        }
    )
