"""The pictures of candidate sets, and of what was decided for them; each returns the axes drawn on."""

from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.labels import encode_labels
from oneof.errors import LabelError
from oneof.plots import counts
from oneof.plots.given import check_sets
from oneof.plots.heatmap import MAX_CLASSES, draw_heatmap
from oneof.plots.style import PALETTE, dress, new_axes, say_empty, shorten, write_legend
from oneof.typing import Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_set_sizes(candidates: CandidateSets, ax: "Axes | None" = None) -> "Axes":
    """Draw how many rows have one candidate, two, three, ...; unlabeled rows stand apart.

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
    if sizes.n_unlabeled:
        where = last + 1.3 * max(1.0, last / 14)
        wide = 0.72 * max(1.0, last / 16)
        shown.append(ax.bar([where], [sizes.n_unlabeled], width=wide, color=PALETTE["muted"]))
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

    Unlabeled rows are left out.

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

    Unlabeled rows are left out, and so is the diagonal.

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
