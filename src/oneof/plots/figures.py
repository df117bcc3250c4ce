"""The pictures of candidate sets, decisions and learning curves; each takes arrays and returns the axes drawn on."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.labels import encode_labels
from oneof.errors import LabelError
from oneof.plots import counts
from oneof.plots.given import check_curve, check_sets
from oneof.plots.heatmap import MAX_CLASSES, draw_heatmap
from oneof.plots.style import FONT_SIZE, PALETTE, dress, new_axes, say_empty, shorten, write_legend
from oneof.typing import Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LearningCurveLike(Protocol):
    """What `plot_learning_curve` reads of a learning curve: equally long arrays, an entry a training size."""

    @property
    def n_rows(self) -> Any:
        """Number of labelled training rows."""

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


def plot_set_sizes(candidates: CandidateSets, ax: "Axes | None" = None) -> "Axes":
    """Draw how many rows have one candidate, two, three, ...; unlabelled rows stand apart.

    Parameters
    ----------
    candidates : CandidateSets
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
    >>> from oneof.candidates import CandidateSets
    >>> y = CandidateSets.from_sets([["finch", "wren"], ["wren"], ["tit"], None])
    >>> ax = plot_set_sizes(y, ax=Figure().subplots())
    >>> [int(bar.get_height()) for bar in ax.patches]
    [2, 1, 1]
    """
    check_sets(candidates)
    ax = new_axes() if ax is None else ax
    sizes = counts.set_sizes(candidates.mask)
    last = max(int(np.flatnonzero(sizes.rows).max(initial=1)), 1)
    at = np.arange(1, last + 1)
    bars = ax.bar(at, sizes.rows[1 : last + 1], width=0.72, color=PALETTE["accent"])
    shown = [bars]
    step = 1 + (last - 1) // 12
    ticks, names = list(range(1, last + 1, step)), [str(size) for size in range(1, last + 1, step)]
    if sizes.n_unlabelled:
        where = last + 1.3 * max(1.0, last / 14)
        wide = 0.72 * max(1.0, last / 16)
        shown.append(ax.bar([where], [sizes.n_unlabelled], width=wide, color=PALETTE["muted"]))
        ticks, names = [*ticks, where], [*names, "no\nlabel"]  # type: ignore[list-item]  # places are numbers, names text
    if last <= 12:
        for container in shown:
            ax.bar_label(container, fmt="{:,.0f}", padding=2, fontsize=9, color=PALETTE["ink"])
    ax.set_xticks(ticks, names)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("candidates in the set")
    ax.set_ylabel("rows")
    ax.margins(y=0.1)
    ax.locator_params(axis="y", integer=True)
    dress(ax, grid="y")
    return ax


def plot_class_frequencies(candidates: CandidateSets, ax: "Axes | None" = None) -> "Axes":
    """Draw how often each class is a candidate, and how often the only one; beyond 30 classes the most frequent.

    Unlabelled rows are left out.

    Parameters
    ----------
    candidates : CandidateSets
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
    >>> from oneof.candidates import CandidateSets
    >>> y = CandidateSets.from_sets([["finch", "wren"], ["wren"], ["tit"], None])
    >>> ax = plot_class_frequencies(y, ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['finch', 'tit', 'wren']
    """
    check_sets(candidates)
    ax = new_axes() if ax is None else ax
    found = counts.class_frequencies(candidates.mask)
    kept = counts.largest(found.candidate, MAX_CLASSES)
    at = np.arange(len(kept))
    beside = found.candidate[kept] - found.sole[kept]
    ax.barh(at, found.sole[kept], height=0.72, color=PALETTE["accent"], label="the only candidate")
    if beside.any():
        ax.barh(at, beside, left=found.sole[kept], height=0.72, color=PALETTE["accent-soft"], label="one of several")
    ax.set_yticks(at, [shorten(name) for name in candidates.classes[kept].tolist()], parse_math=False)
    ax.set_ylim(len(kept) - 0.5, -0.5)
    ax.locator_params(axis="x", nbins=5, integer=True)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("rows")
    dress(ax, grid="x")
    write_legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2, borderpad=0)
    return ax


def plot_cooccurrence(candidates: CandidateSets, ax: "Axes | None" = None) -> "Axes":
    """Draw how often two labels stand in one set; beyond 30 classes those that share their sets most.

    Unlabelled rows are left out, and so is the diagonal.

    Parameters
    ----------
    candidates : CandidateSets
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
    >>> from oneof.candidates import CandidateSets
    >>> y = CandidateSets.from_sets([["finch", "wren"], ["wren", "tit"], ["tit"]])
    >>> ax = plot_cooccurrence(y, ax=Figure().subplots())
    >>> sorted(tick.get_text() for tick in ax.get_yticklabels())
    ['finch', 'tit', 'wren']
    """
    check_sets(candidates)
    ax = new_axes() if ax is None else ax
    together = counts.cooccurrence(candidates.mask)
    kept = counts.most_cooccurring(together, MAX_CLASSES)
    values = together[np.ix_(kept, kept)].astype(float)
    np.fill_diagonal(values, np.nan)
    top = np.nanmax(values, initial=0.0)
    if not top > 0:
        say_empty(ax, "No two labels share a set.")
        return ax
    names = candidates.classes[kept].tolist()
    draw_heatmap(ax, values, names, top=top, write=lambda value: f"{value:,.0f}", what="rows with both")
    return ax


def plot_decisions(candidates: CandidateSets, labels: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw what became of the candidates: the share of partial sets holding a (row) that were decided as b (column).

    Beyond 30 classes those that stand in the most partial sets are shown.

    Parameters
    ----------
    candidates : CandidateSets
    labels : array-like of shape (n_samples,)
        The class decided for each row, as `disambiguate` returns it.
    ax : matplotlib Axes, optional
        Where to draw; by default a new pyplot figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    LabelError
        If there is not one label for each row, or a label is missing or not among the classes.
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
    check_sets(candidates)
    ax = new_axes() if ax is None else ax
    decided = decided_columns(candidates, labels)
    shares = counts.decision_confusion(candidates.mask, decided)
    kept = decision_classes(candidates)
    values = shares[np.ix_(kept, kept)]
    if not np.isfinite(values).any():
        say_empty(ax, "No row has several candidates.")
        return ax
    names = candidates.classes[kept].tolist()
    draw_heatmap(ax, values, names, top=1.0, write=lambda value: f"{100 * value:.0f}%", what="share of the sets")
    ax.set_xlabel("decided label")
    ax.set_ylabel("label in the candidate set")
    return ax


def plot_learning_curve(curve: LearningCurveLike, ax: "Axes | None" = None) -> "Axes":
    """Draw held-out covering rate (and accuracy where known) against the number of labelled training rows.

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
    >>> from oneof.compare import LearningCurve
    >>> curve = LearningCurve((10, 100), (0.6, 0.8), (0.1, 0.05), None, None)
    >>> ax = plot_learning_curve(curve, ax=Figure().subplots())
    >>> ax.lines[0].get_ydata().tolist()
    [0.6, 0.8]
    """
    check_curve(curve)
    ax = new_axes() if ax is None else ax
    n_rows = np.asarray(curve.n_rows, dtype=float)
    lines = [("covering rate", curve.covering_rate, curve.covering_rate_std, "accent", "o", "-")]
    if curve.accuracy is not None:
        lines.append(("accuracy", curve.accuracy, curve.accuracy_std, "second", "s", "--"))
    low, high = 1.0, 0.0
    for name, mean, std, colour, marker, dash in lines:
        centre = np.asarray(mean, dtype=float)
        spread = np.zeros_like(centre) if std is None else np.nan_to_num(np.asarray(std, dtype=float))
        below, above = np.clip(centre - spread, 0, 1), np.clip(centre + spread, 0, 1)
        ax.fill_between(n_rows, below, above, color=PALETTE[colour], alpha=0.16, linewidth=0)
        ax.plot(n_rows, centre, dash, color=PALETTE[colour], marker=marker, markersize=5, linewidth=1.8, label=name)
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
    ax.set_xlabel("labelled training rows" + (" (log scale)" if ax.get_xscale() == "log" else ""))
    dress(ax, grid="y")
    write_legend(ax, loc="lower right")
    ax.margins(x=0.04)
    ax.xaxis.label.set_fontsize(FONT_SIZE)
    return ax


def decided_columns(candidates: CandidateSets, labels: Any) -> Ints:
    """Return the column of the class decided for each row."""
    decided, _ = encode_labels(labels, candidates.classes)
    if len(decided) != len(candidates):
        raise LabelError(f"{len(decided)} decided labels for {len(candidates)} rows: give one label for each row.")
    missing = np.flatnonzero(decided < 0)
    if len(missing):
        raise LabelError(f"row {missing[0]}: the decided label is missing; give one of the classes.")
    return decided


def decision_classes(candidates: CandidateSets) -> Ints:
    """Return the classes that `plot_decisions` shows: those in the most partial sets."""
    mask = candidates.mask
    return counts.largest(np.count_nonzero(mask[counts.partial_rows(mask)], axis=0), MAX_CLASSES)
