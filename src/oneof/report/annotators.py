"""The annotators of a report: the rows of their table, and the figure of their accuracies."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof.plots.style import FONT_SIZE, PALETTE, clean, shorten, style_axes
from oneof.report.data import AnnotatorSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ANNOTATORS = 40
"""Maximum number of annotators in the tables and the figure: half of the lowest, half of the highest accuracy."""
MAX_CLASSES, MAX_PAIRS = 10, 20
"""Maximum numbers of classes in the table of accuracies by class, and of pairs in the table of agreement."""


class AnnotatorRow(NamedTuple):
    """A line of the table."""

    name: str
    n_answers: int
    accuracy: float
    low: float
    high: float
    remark: str


class ClassCell(NamedTuple):
    """The accuracy of an annotator in the rows of a class."""

    accuracy: float
    low: float
    high: float
    differs: bool


class PairRow(NamedTuple):
    """The agreement of two annotators."""

    first: str
    second: str
    n_shared: int
    agreement: float
    kappa: float


def shown_annotators(summary: AnnotatorSummary) -> list[int]:
    """Return the annotators of the table and the figure, by increasing accuracy, those of unknown accuracy last."""
    order: list[int] = np.argsort(summary.accuracy, kind="stable").tolist()
    if len(order) <= MAX_ANNOTATORS:
        return order
    known = [j for j in order if not np.isnan(summary.accuracy[j])]
    half = MAX_ANNOTATORS // 2
    return [*known[:half], *known[half:][-half:]]


def annotator_rows(summary: AnnotatorSummary) -> list[AnnotatorRow]:
    """Return the lines of the table."""
    names, n_answers = summary.names, summary.n_answers.tolist()
    numbers: Any = np.column_stack([summary.accuracy, summary.interval]).tolist()
    return [
        AnnotatorRow._make((clean(names[j]), n_answers[j], *numbers[j], clean(summary.remark(j))))
        for j in shown_annotators(summary)
    ]


def class_table(summary: AnnotatorSummary) -> dict[str, Any] | None:
    """Return the accuracies in the classes in which most annotators differ; None if none differs between classes."""
    by_class = summary.by_class
    if not by_class.differs.any():
        return None
    n_differ = np.count_nonzero(by_class.differs, axis=0)
    classes = sorted(np.argsort(-n_differ, kind="stable")[:MAX_CLASSES].tolist())
    numbers: Any = np.dstack([by_class.accuracy, by_class.interval]).tolist()
    rows = [
        (clean(summary.names[j]), [ClassCell._make((*numbers[j][k], bool(by_class.differs[j, k]))) for k in classes])
        for j in shown_annotators(summary)
    ]
    names = [clean(str(by_class.classes[k])) for k in classes]
    return {"classes": names, "n_classes": len(by_class.classes), "rows": rows}


def pair_rows(summary: AnnotatorSummary) -> list[PairRow]:
    """Return the pairs of annotators of the lowest kappa."""
    pairs = summary.pairs
    numbers = list(zip(pairs.n_shared.tolist(), pairs.agreement.tolist(), pairs.kappa.tolist(), strict=True))
    return [
        PairRow(clean(pairs.first[i]), clean(pairs.second[i]), *numbers[i])
        for i in summary.least_agreeing_pairs(MAX_PAIRS)
    ]


def describe_annotators(summary: AnnotatorSummary) -> dict[str, Any]:
    """Return the tables of the section of the page."""
    return {"rows": annotator_rows(summary), "by_class": class_table(summary), "pairs": pair_rows(summary)}


def plot_accuracies(summary: AnnotatorSummary, ax: "Axes") -> "Axes":
    """Draw the accuracy of each annotator with its interval; those no better than chance have another color."""
    shown = shown_annotators(summary)
    for position, j in enumerate(shown):
        is_chance = summary.names[j] in summary.no_better_than_chance
        color = PALETTE["second" if is_chance else "accent"]
        low, high = summary.interval[j]
        ax.plot([low, high], [position, position], color=color, linewidth=2, solid_capstyle="butt")
        ax.plot([summary.accuracy[j]], [position], "s" if is_chance else "o", color=color, markersize=6)
    ax.set_yticks(range(len(shown)), [shorten(summary.names[j]) for j in shown], parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(-0.02, 1.02)
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    ax.set_xlabel("accuracy of the answers", fontsize=FONT_SIZE)
    style_axes(ax, grid="x")
    return ax
