"""Figures of candidate sets and of disambiguated labels; each function returns the axes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.encoding import encode_labels
from oneof.errors import LabelError
from oneof.plots import counts, style
from oneof.plots.style import PALETTE, shorten
from oneof.typing import Floats, Ints
from oneof.validation import check_instance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CLASSES = 30
"""Maximum number of classes in a figure."""
_MAX_ANNOTATED = 12
"""Maximum number of bars or classes with values at the bars or in the cells."""
_BAR_WIDTH = 0.72


def plot_set_sizes(candidates: CandidateSets, ax: "Axes | None" = None) -> "Axes":
    """Draw the number of rows by set size; unlabeled rows have a separate bar.

    A row with weights is counted at the effective number of its candidates, exp of the entropy of its weights, rounded.

    Parameters
    ----------
    candidates : CandidateSets
    ax : matplotlib Axes, optional
        Axes to draw on; by default a new pyplot figure.

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
    >>> from oneof.candidates import CandidateSets
    >>> y = CandidateSets.from_sets([["finch", "wren"], ["wren"], ["tit"], None])
    >>> ax = plot_set_sizes(y, ax=Figure().subplots())
    >>> [int(bar.get_height()) for bar in ax.patches]
    [2, 1, 1]
    """
    ax = _axes(candidates, ax)
    sets, weighted, n_unlabeled = counts.set_sizes(candidates.evidence, candidates.is_weighted)
    last = max(int(np.flatnonzero(sets + weighted).max(initial=1)), 1)
    series = [(sets[1 : last + 1], "accent", "sets")]
    if weighted.any():
        series.append((weighted[1 : last + 1], "second", "with weights"))
    is_annotated = last <= _MAX_ANNOTATED
    draw_bars(ax, np.arange(1, last + 1), series, is_annotated=is_annotated)
    ticks: list[float] = list(range(1, last + 1, 1 + (last - 1) // 12))
    names = [str(size) for size in ticks]
    if n_unlabeled:  # apart from the sizes, and wider among many bars
        ticks.append(last + 1.3 * max(1.0, last / 14))
        names.append("no\nlabel")
        unlabeled, width = [(np.array([n_unlabeled]), "muted", "")], _BAR_WIDTH * max(1.0, last / 16)
        draw_bars(ax, np.array(ticks[-1:]), unlabeled, width=width, is_annotated=is_annotated)
    ax.set_xticks(ticks, names)
    ax.set_xlabel("effective number of candidates, rounded" if weighted.any() else "candidates in the set")
    ax.margins(y=0.1)
    return ax


def plot_weights(candidates: CandidateSets, ax: "Axes | None" = None) -> "Axes":
    """Draw a histogram of the largest share of the rows with weights.

    The shares are the weights divided by their sum. A share close to 1 is nearly an exact label.

    Parameters
    ----------
    candidates : CandidateSets
    ax : matplotlib Axes, optional
        Axes to draw on; by default a new pyplot figure.

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
    >>> from oneof.candidates import CandidateSets
    >>> y = CandidateSets.from_weights([[0.9, 0.1], [0.7, 0.3], [0.75, 0.25]], classes=["finch", "wren"])
    >>> ax = plot_weights(y, ax=Figure().subplots())
    >>> [int(bar.get_height()) for bar in ax.patches]
    [0, 0, 0, 0, 0, 0, 0, 2, 0, 1]
    """
    ax = _axes(candidates, ax)
    rows = counts.largest_shares(candidates.weights[candidates.is_weighted])
    if not rows.any():
        style.annotate_empty(ax, "No row has weights.")
        return ax
    edges = np.linspace(0, 1, len(rows) + 1)
    draw_bars(ax, edges[:-1] + edges[1] / 2, [(rows, "second", "")], width=edges[1])
    ax.set_xlim(0, 1)
    ax.set_xticks(edges[::2], [f"{100 * edge:.0f}%" for edge in edges[::2]])
    ax.set_xlabel("largest share of the weights of a row")
    return ax


def plot_class_frequencies(candidates: CandidateSets, ax: "Axes | None" = None) -> "Axes":
    """Draw the number of rows by candidate, and by exact label; at most the 30 most frequent classes.

    Unlabeled rows are excluded. A row with weights counts for a class by its weight; the largest weight is 1.

    Parameters
    ----------
    candidates : CandidateSets
    ax : matplotlib Axes, optional
        Axes to draw on; by default a new pyplot figure.

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
    >>> from oneof.candidates import CandidateSets
    >>> y = CandidateSets.from_sets([["finch", "wren"], ["wren"], ["tit"], None])
    >>> ax = plot_class_frequencies(y, ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['finch', 'tit', 'wren']
    """
    ax = _axes(candidates, ax)
    candidate, exact = counts.class_frequencies(candidates.evidence)
    selected = counts.argsort_top(candidate, MAX_CLASSES)
    partial, exact = candidate[selected] - exact[selected], exact[selected]
    series: list[tuple[Any, str, str]] = [(exact, "accent", "the only candidate")]
    if partial.any():
        series.append((partial, "accent-soft", "one of several"))
    draw_bars(ax, np.arange(len(selected)), series, names=candidates.classes[selected].tolist())
    return ax


def plot_cooccurrence(candidates: CandidateSets, ax: "Axes | None" = None) -> "Axes":
    """Draw how often two labels cooccur in a candidate set, for the classes that cooccur most.

    They are at most 30, and as few as have 95 % of the cooccurrences. Unlabeled rows and the diagonal are excluded. A
    row with weights counts by the product of the two weights.

    Parameters
    ----------
    candidates : CandidateSets
    ax : matplotlib Axes, optional
        Axes to draw on; by default a new pyplot figure.

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
    >>> from oneof.candidates import CandidateSets
    >>> y = CandidateSets.from_sets([["finch", "wren"], ["wren", "tit"], ["tit"]])
    >>> ax = plot_cooccurrence(y, ax=Figure().subplots())
    >>> sorted(tick.get_text() for tick in ax.get_yticklabels())
    ['finch', 'tit', 'wren']
    """
    ax = _axes(candidates, ax)
    selected = cooccurring_classes(candidates)
    values = counts.cooccurrence(candidates.evidence)[np.ix_(selected, selected)].astype(float)
    np.fill_diagonal(values, np.nan)
    top = np.nanmax(values, initial=0.0)
    if not top > 0:
        style.annotate_empty(ax, "No two labels cooccur.")
        return ax
    write = f"{{:,.{1 if top < 10 and candidates.is_weighted.any() else 0}f}}".format
    names = candidates.classes[selected].tolist()
    draw_heatmap(ax, values, names, top=top, format_value=write, bar_label="rows with both")
    return ax


def plot_decisions(candidates: CandidateSets, labels: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the fraction of partial sets with candidate a (row) whose disambiguated label is b (column).

    A row with weights counts by the weight of candidate a. The classes are those of `plot_cooccurrence`.

    Parameters
    ----------
    candidates : CandidateSets
    labels : array-like of shape (n_samples,)
        The disambiguated label of each row, from `disambiguate`.
    ax : matplotlib Axes, optional
        Axes to draw on; by default a new pyplot figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    LabelError
        If the number of labels differs from the number of rows, or a label is missing or not a class.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from oneof.candidates import CandidateSets
    >>> y = CandidateSets.from_sets([["finch", "wren"], ["wren", "tit"], ["tit"]])
    >>> ax = plot_decisions(y, ["wren", "wren", "tit"], ax=Figure().subplots())
    >>> sorted(tick.get_text() for tick in ax.get_yticklabels())
    ['finch', 'tit', 'wren']
    """
    ax = _axes(candidates, ax)
    decided = encode_decisions(candidates, labels)
    selected = cooccurring_classes(candidates)
    values = counts.decision_confusion(candidates.evidence, decided)[np.ix_(selected, selected)]
    if not np.isfinite(values).any():
        style.annotate_empty(ax, "No row has several candidates.")
        return ax
    names = candidates.classes[selected].tolist()
    draw_heatmap(ax, values, names, top=1.0, format_value="{:.0%}".format, bar_label="fraction of the sets")
    ax.set_xlabel("disambiguated label")
    ax.set_ylabel("label in the candidate set")
    return ax


def encode_decisions(candidates: CandidateSets, labels: Any) -> Ints:
    """Return the code of the disambiguated label of each row."""
    decided, _ = encode_labels(labels, candidates.classes)
    if len(decided) != len(candidates):
        raise LabelError(f"`labels` must have one label per row ({len(candidates)}); got {len(decided)}.")
    if (decided < 0).any():
        raise LabelError(f"`labels` must not have missing values; got one in row {int((decided < 0).argmax())}.")
    return decided


def cooccurring_classes(candidates: CandidateSets) -> Ints:
    """Return the classes of the heat maps: at most 30, which cooccur most, and as few as have 95 % of cooccurrences."""
    return counts.most_cooccurring(counts.cooccurrence(candidates.evidence), MAX_CLASSES)


def draw_bars(
    ax: "Axes",
    at: Ints | Floats,
    series: Sequence[tuple[Any, str, str]],
    *,
    names: Sequence[Any] | None = None,
    width: float = _BAR_WIDTH,
    is_annotated: bool = False,
) -> None:
    """Draw numbers of rows as stacked bars; a series is its numbers, its color in the palette, and its name or "".

    With `names` the bars are horizontal, one a name from top to bottom. With `is_annotated` the totals are above them.
    """
    is_horizontal = names is not None
    draw: Any = ax.barh if is_horizontal else ax.bar
    start, extent = ("left", "height") if is_horizontal else ("bottom", "width")
    edge = PALETTE["paper"] if width < _BAR_WIDTH else None  # bars of a histogram touch each other
    totals = np.zeros(len(at), dtype=series[0][0].dtype)
    for numbers, color, name in series:
        options = {start: totals, extent: width, "color": PALETTE[color], "label": name or None}
        bars = draw(at, numbers, edgecolor=edge, **options)
        totals = totals + numbers
    if is_annotated:
        ax.bar_label(bars, [f"{total:,}" for total in totals], padding=2, fontsize=9, color=PALETTE["ink"])
    axis: Any = ax.xaxis if is_horizontal else ax.yaxis
    axis.set_major_formatter("{x:,.0f}")
    axis.set_label_text("rows")
    ax.locator_params(axis=axis.axis_name, integer=True, nbins=5 if is_horizontal else "auto")
    if names is not None:
        ax.set_yticks(at, [shorten(name) for name in names], parse_math=False)
        ax.set_ylim(len(at) - 0.5, -0.5)
    style.style_axes(ax, grid=axis.axis_name)
    if is_horizontal or len(series) > 1:
        style.write_legend(ax)


def draw_heatmap(
    ax: "Axes",
    values: Floats,
    names: Sequence[Any],
    *,
    top: float,
    format_value: Callable[[float], str],
    bar_label: str,
) -> None:
    """Draw a square matrix as a heat map; 0 is blank, `top` is the full color, and NaN cells have a gray cross.

    With at most 12 classes the cells have the values formatted by `format_value`; otherwise there is a color bar with
    the label `bar_label`.
    """
    from matplotlib.colors import ListedColormap, Normalize, to_rgba

    # Opacity instead of lightness: a blank cell has the background of the page, light or dark.
    ramp = [to_rgba(PALETTE["heat"], level) for level in style.HEAT_LEVELS]
    colors = ListedColormap(ramp).with_extremes(bad=(0, 0, 0, 0))
    cells = np.ma.masked_where(~(values > 0), values)
    mesh = ax.pcolormesh(cells, cmap=colors, norm=Normalize(0, top), edgecolors=PALETTE["paper"], linewidth=1.0)
    rows, columns = np.nonzero(np.isnan(values))
    ax.plot(columns + 0.5, rows + 0.5, linestyle="none", marker="x", markersize=4, color=PALETTE["rule"])
    n = len(values)
    ax.set_aspect("equal")
    ax.invert_yaxis()
    style.style_axes(ax)
    ax.spines[:].set_visible(False)
    tick_labels = [shorten(name) for name in names]
    fits = max(map(len, tick_labels), default=0) <= (3 if n <= 20 else 2)
    rotation: dict[str, Any] = {} if fits else {"rotation": 55, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(np.arange(n) + 0.5, tick_labels, parse_math=False, **rotation)
    ax.set_yticks(np.arange(n) + 0.5, tick_labels, parse_math=False)
    if n <= _MAX_ANNOTATED:
        for (i, j), value in np.ndenumerate(values):
            if value > 0:
                color = PALETTE["on-heat" if value / top * len(style.HEAT_LEVELS) >= style.N_FAINT_LEVELS else "ink"]
                ax.text(j + 0.5, i + 0.5, format_value(float(value)), ha="center", va="center", color=color, fontsize=9)
        return
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.6, aspect=24, pad=0.02, format=lambda value, _: format_value(value))
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=style.FONT_SIZE, labelcolor=PALETTE["ink"])
    bar.set_label(bar_label, color=PALETTE["muted"], fontsize=style.FONT_SIZE)


def heatmap_inches(names: Sequence[Any]) -> tuple[float, float]:
    """Return the width and height in inches of a readable heat map of these labels."""
    n = len(names)
    cell = float(np.clip(5.4 / max(n, 1), 0.29, 0.62))
    longest = max((len(shorten(name)) for name in names), default=0)
    width = n * cell + 0.5 + 0.085 * longest + (0.75 if n > _MAX_ANNOTATED else 0.1)
    return max(width, 3.4), max(n * cell + 0.5 + 0.075 * longest, 2.4)


def _axes(candidates: Any, ax: "Axes | None") -> "Axes":
    """Return the axes to draw on, after a check: other forms of labels would leave the classes ambiguous."""
    check_instance("candidates", candidates, CandidateSets)
    return style.new_axes() if ax is None else ax
