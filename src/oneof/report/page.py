"""Rendering of a report as one HTML page with inline figures, and its atomic file write."""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof import plots
from oneof.audit import LabelIssues
from oneof.candidates.labels import is_missing
from oneof.files import atomic_write
from oneof.plots.figures import MAX_CLASSES, cooccurring_classes, heatmap_inches
from oneof.plots.style import shorten
from oneof.plots.svg import to_svg
from oneof.report import annotators, statistics, templating
from oneof.report.data import MIN_SHARED_ROWS, Preview, ReportData

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.axes import Axes

MAX_SUSPECTS = 100
"""Maximum number of rows in the table of the page of an audit."""
MAX_REPORT_SUSPECTS = 20
"""Maximum number of suspected rows in the report of a fit."""


def render_report(data: ReportData) -> str:
    """Return the report as one self-contained HTML page.

    The page contains its style sheet and figures, and its security policy forbids the browser to load or run anything.
    Equal data give equal text. Without matplotlib the page has the numbers but no figures.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str

    Raises
    ------
    LabelError
        If a disambiguated label is not a class.
    MissingExtraError
        If jinja2 is not installed.
    """
    template = _template("report.html")
    from markupsafe import Markup

    sets, comparison, curve, summary = data.candidates, data.comparison, data.learning_curve, data.annotators
    columns, uncertain = statistics.uncertain_rows(data)
    suspects = None if data.issues is None else _suspects(data.issues, data.preview, MAX_REPORT_SUSPECTS)
    spread = templating.describe_spread(comparison.n_folds)
    return template.render(
        vars(data),
        results=comparison.results,
        estimate=comparison.results[0],
        n_folds=comparison.n_folds,
        spread=spread,
        rows=statistics.label_summary(sets),
        baseline=statistics.baseline(sets),
        sizes=statistics.size_rows(sets),
        classes=statistics.class_rows(sets),
        n_cooccurring=len(cooccurring_classes(sets)),
        pairs=statistics.pair_outcomes(data),
        names=sets.classes.tolist(),
        curve_sentence=None if curve is None else templating.describe_learning_curve(curve, spread),
        truth_rates=None
        if data.truth is None
        else statistics.compare_with_truth(sets, data.decisions.labels, data.truth),
        tables={} if summary is None else annotators.describe_annotators(summary),
        worst_classes=statistics.worst_classes,
        has_narrow_bounds=statistics.has_narrow_bounds,
        has_noisy_sets=statistics.has_noisy_sets(data),
        suspects=suspects,
        columns=columns,
        uncertain=uncertain,
        max_uncertain=statistics.MAX_UNCERTAIN,
        min_shared_rows=MIN_SHARED_ROWS,
        figures={figure.name: Markup(figure.to_svg()) for figure in draw_figures(data)} if can_draw() else {},
        can_draw=can_draw(),
        max_classes=MAX_CLASSES,
    )


def write_report(path: str | os.PathLike[str], data: ReportData) -> None:
    """Write the report to a file atomically.

    Parameters
    ----------
    path : path-like
    data : ReportData

    Raises
    ------
    WriteError
        If the file cannot be written.
    """
    page = render_report(data)
    with atomic_write(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def render_audit(
    issues: LabelIssues,
    preview: Preview,
    *,
    source: str,
    method: str,
    command: str,
    version: str,
    date: str,
    n_groups: int | None = None,
) -> str:
    """Return the page of an audit as one self-contained HTML page without figures.

    Parameters
    ----------
    issues : LabelIssues
    preview : sequence of mappings, or callable
        For row i (counted from 0) some table cells by column name.
    source : str
        File name of the table.
    method : str
        The method of the held-out predictions.
    command : str
        Command line that reproduces this page.
    version, date : str
        Version of oneof, and the date to print.
    n_groups : int, optional
        Number of groups of rows, if no row was predicted from others of its group.

    Returns
    -------
    str

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    return _template("audit.html").render(
        title=f"Wrong labels: {source}",
        source=source,
        method=method,
        issues=issues,
        suspects=_suspects(issues, preview, MAX_SUSPECTS),
        n_groups=n_groups,
        command=command,
        version=version,
        date=date,
    )


def _suspects(issues: LabelIssues, preview: Preview, max_rows: int) -> dict[str, Any]:
    """Return the table of suspected rows."""
    columns, rows = statistics.suspected_rows(issues, preview, max_rows)
    return {"columns": columns, "rows": rows, "n_issues": int(issues.is_issue.sum()), "n_labeled": len(issues.ranking)}


def _format_label(label: Any) -> str:
    """Format a label or a name of the table; a missing one is an empty string."""
    return "" if is_missing(label) else shorten(label, statistics.LABEL_WIDTH)


@cache
def _template(name: str) -> "Template":
    environment = templating.environment("oneof.report")
    environment.filters.update(
        percent=templating.format_percent,
        probability=templating.format_probability,
        std=templating.format_std,
        seconds=templating.format_seconds,
        label=_format_label,
    )
    environment.tests["known"] = templating.is_known
    environment.globals.update(
        pluralize=templating.pluralize, is_known=templating.is_known, count=templating.format_count
    )
    return environment.get_template(name)


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


class Figure(NamedTuple):
    """A figure of the report: its size, the function that draws it, and its texts for screen readers."""

    name: str
    inches: tuple[float, float]
    draw: "Callable[[Axes], Any]"
    title: str
    description: str

    def to_svg(self) -> str:
        """Draw the figure outside pyplot, so that the caller's session keeps no open figure, and return its SVG."""
        from matplotlib import figure

        drawn = figure.Figure(figsize=self.inches, layout="constrained")
        self.draw(drawn.subplots())
        return to_svg(drawn, prefix=self.name, title=self.title, description=self.description)


def draw_figures(data: ReportData) -> list[Figure]:
    """Return the figures of a report, without empty ones."""
    sets, curve, summary = data.candidates, data.learning_curve, data.annotators
    shown = cooccurring_classes(sets)
    n_bars, cells = min(sets.shape[1], MAX_CLASSES), heatmap_inches(sets.classes[shown].tolist())
    figures = [
        Figure(
            "sizes", (5.6, 3.6), lambda ax: plots.plot_set_sizes(sets, ax),
            "Sizes of the candidate sets", "A bar chart of the number of rows with one candidate, two, and so on.",
        ),
        Figure(
            "classes", (5.6, max(0.24 * n_bars + 1.0, 2.0)), lambda ax: plots.plot_class_frequencies(sets, ax),
            "Class frequencies", "A bar chart of the rows per class, split by exact and partial rows.",
        ),
        sets.is_weighted.any() and Figure(
            "weights", (5.6, 3.0), lambda ax: plots.plot_weights(sets, ax),
            "Weights of the candidates", "A histogram of the largest share of the weights of each row.",
        ),
        len(shown) > 0 and Figure(
            "cooccurrence", cells, lambda ax: plots.plot_cooccurrence(sets, ax),
            "Cooccurring labels", "A heat map of labels against labels: the number of rows with both candidates.",
        ),
        len(shown) > 0 and Figure(
            "decisions", cells, lambda ax: plots.plot_decisions(sets, data.decisions.labels, ax),
            "Candidates and disambiguated labels",
            "A heat map: the fraction of the sets with the label of the row that get the label of the column.",
        ),
        summary is not None and np.isfinite(summary.accuracy).any() and Figure(
            "annotators", (5.6, 0.26 * len(annotators.shown_annotators(summary)) + 1.0),
            lambda ax: annotators.plot_accuracies(summary, ax),
            "Accuracies of the annotators", "The accuracy of each annotator as a point, with its interval as a line.",
        ),
        curve is not None and np.isfinite(np.asarray(curve.covering_rate, dtype=float)).any() and Figure(
            "curve", (6.4, 4.0), lambda ax: plots.plot_learning_curve(curve, ax),
            "Learning curve", "A line chart of the held-out covering rate by the number of labeled training rows.",
        ),
    ]  # fmt: skip
    return [figure for figure in figures if isinstance(figure, Figure)]
