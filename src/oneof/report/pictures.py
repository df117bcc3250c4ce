"""The pictures of a report as SVG text that stands within the page."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.plots import (
    counts,
    plot_class_frequencies,
    plot_cooccurrence,
    plot_decisions,
    plot_learning_curve,
    plot_set_sizes,
)
from oneof.plots.figures import decision_classes
from oneof.plots.heatmap import MAX_CLASSES, heatmap_inches
from oneof.plots.svg import to_svg
from oneof.report.data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def can_draw() -> bool:
    """Tell whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_all(data: ReportData) -> dict[str, str]:
    """Return the pictures by name; one that would be empty is left out."""
    sets = data.candidates
    labels = data.candidates.classes
    n_bars = min(sets.shape[1], MAX_CLASSES)
    pictures = {
        "sizes": _svg(
            "sizes", (5.6, 3.6), lambda ax: plot_set_sizes(sets, ax),
            "Sizes of the candidate sets", "A bar chart of how many rows have one candidate, two, and so on.",
        ),
        "classes": _svg(
            "classes", (5.6, max(0.24 * n_bars + 1.0, 2.0)), lambda ax: plot_class_frequencies(sets, ax),
            "How often each class is named", "A bar chart of rows a class, split by whether it is the only candidate.",
        ),
    }  # fmt: skip
    if counts.partial_rows(sets.mask).any():
        together = counts.most_cooccurring(counts.cooccurrence(sets.mask), MAX_CLASSES)
        pictures["together"] = _svg(
            "together", heatmap_inches(labels[together].tolist()), lambda ax: plot_cooccurrence(sets, ax),
            "Labels that share a set", "A heat map of labels against labels: in how many rows both are candidates.",
        )  # fmt: skip
        pictures["decisions"] = _svg(
            "decisions", heatmap_inches(labels[decision_classes(sets)].tolist()),
            lambda ax: plot_decisions(sets, data.decisions.labels, ax),
            "Candidates against decisions",
            "A heat map: of the sets that hold the label of the row, the share decided as the label of the column.",
        )  # fmt: skip
    curve = data.learning_curve
    if curve is not None and np.isfinite(np.asarray(curve.covering_rate, dtype=float)).any():
        pictures["curve"] = _svg(
            "curve", (6.4, 4.0), lambda ax: plot_learning_curve(curve, ax),
            "Learning curve", "A line chart of the held-out covering rate against the number of labeled rows.",
        )  # fmt: skip
    return pictures


def _svg(name: str, inches: tuple[float, float], draw: "Callable[[Axes], Any]", title: str, description: str) -> str:
    from matplotlib.figure import Figure

    # A figure of its own rather than pyplot's: nothing of it is left behind in the caller's session.
    figure = Figure(figsize=inches, layout="constrained")
    draw(figure.subplots())
    return to_svg(figure, prefix=name, title=title, description=description)
