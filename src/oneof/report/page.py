"""Rendering of a report as one HTML page with inline figures, and its atomic file write."""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.audit import LabelIssues
from oneof.files import atomic_write
from oneof.plots import (
    counts,
    plot_class_frequencies,
    plot_cooccurrence,
    plot_decisions,
    plot_learning_curve,
    plot_set_sizes,
    plot_weights,
)
from oneof.plots.figures import MAX_CLASSES, decision_classes, heatmap_inches
from oneof.plots.style import clean
from oneof.plots.svg import to_svg
from oneof.report import annotators, statistics, templating
from oneof.report.data import Preview, ReportData
from oneof.report.headline import Headline, choose_headline
from oneof.report.suspects import MAX_REPORT_SUSPECTS, MAX_SUSPECTS, describe_suspects

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.axes import Axes


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

    columns, uncertain = statistics.uncertain_rows(data)
    figures = draw_figures(data) if can_draw() else {}
    results = statistics.method_rows(data)
    return template.render(
        title=clean(data.title),
        source=clean(data.source),
        method=clean(data.method),
        estimate=data.estimate,
        headline=_headline(data),
        baseline_warning=data.baseline_warning,
        n_folds=data.n_folds,
        n_train=data.n_train,
        n_held_out=data.n_held_out,
        n_groups=data.n_groups,
        spread=templating.describe_spread(data.n_folds),
        n_methods=len(results),
        compared=data.comparison is not None,
        named=data.named,
        best_method=None if data.comparison is None else clean(data.comparison.best_method),
        results=results,
        accuracy_known=statistics.accuracy_known(data),
        rows=statistics.label_summary(data.candidates),
        baseline=statistics.baseline(data.candidates),
        sizes=statistics.size_rows(data.candidates),
        classes=statistics.class_rows(data.candidates),
        pairs=statistics.pair_rows(data),
        curve=_curve(data),
        truth=_truth(data),
        first_labels=data.first_labels,
        annotators=None if data.annotators is None else annotators.describe_annotators(data.annotators),
        sets=statistics.describe_sets(data),
        suspects=None if data.issues is None else describe_suspects(data.issues, data.preview, MAX_REPORT_SUSPECTS),
        n_corrected=data.n_corrected,
        columns=columns,
        uncertain=uncertain,
        max_uncertain=statistics.MAX_UNCERTAIN,
        figures={name: Markup(svg) for name, svg in figures.items()},
        can_draw=can_draw(),
        max_classes=MAX_CLASSES,
        command=None if data.command is None else clean(data.command),
        version=clean(data.version),
        date=clean(data.date),
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
        title=clean(f"Wrong labels: {source}"),
        source=clean(source),
        method=clean(method),
        suspects=describe_suspects(issues, preview, MAX_SUSPECTS),
        n_groups=n_groups,
        command=clean(command),
        version=clean(version),
        date=clean(date),
    )


def _headline(data: ReportData) -> Headline:
    """Return the headline that is given, or that of the rates."""
    return data.headline or choose_headline(data.estimate, None, data.candidates)


def _curve(data: ReportData) -> dict[str, Any] | None:
    """Return the points of the learning curve and their description."""
    curve = data.learning_curve
    if curve is None:
        return None
    n = len(curve.train_sizes)
    absent = [None] * n
    columns = [curve.train_sizes, curve.covering_rate, curve.covering_rate_std, curve.accuracy, curve.accuracy_std]
    points = list(zip(*(absent if column is None else list(column) for column in columns), strict=True))
    sentence = templating.describe_learning_curve(curve, templating.describe_spread(data.n_folds))
    return {"sentence": sentence, "points": points, "accuracy": curve.accuracy is not None}


def _truth(data: ReportData) -> statistics.TruthComparison | None:
    if data.truth is None:
        return None
    return statistics.compare_with_truth(data.candidates, data.decisions.labels.tolist(), data.truth.tolist())


@cache
def _template(name: str) -> "Template":
    environment = templating.environment("oneof.report")
    environment.filters.update(
        percent=templating.format_percent, std=templating.format_std, seconds=templating.format_seconds
    )
    environment.globals.update(
        pluralize=templating.pluralize, is_known=templating.is_known, count=templating.format_count
    )
    return environment.get_template(name)


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_figures(data: ReportData) -> dict[str, str]:
    """Return the figures as SVG by name; empty figures are omitted."""
    sets = data.candidates
    labels = data.candidates.classes
    n_bars = min(sets.shape[1], MAX_CLASSES)
    figures = {
        "sizes": _svg(
            "sizes", (5.6, 3.6), lambda ax: plot_set_sizes(sets, ax),
            "Sizes of the candidate sets", "A bar chart of the number of rows with one candidate, two, and so on.",
        ),
        "classes": _svg(
            "classes", (5.6, max(0.24 * n_bars + 1.0, 2.0)), lambda ax: plot_class_frequencies(sets, ax),
            "Class frequencies", "A bar chart of the rows per class, split by exact and partial rows.",
        ),
    }  # fmt: skip
    if sets.is_weighted.any():
        figures["weights"] = _svg(
            "weights", (5.6, 3.0), lambda ax: plot_weights(sets, ax),
            "Weights of the candidates", "A histogram of the largest share of the weights of each row.",
        )  # fmt: skip
    if counts.partial_rows(sets.evidence).any():
        selected = counts.most_cooccurring(counts.cooccurrence(sets.evidence), MAX_CLASSES)
        figures["cooccurrence"] = _svg(
            "cooccurrence", heatmap_inches(labels[selected].tolist()), lambda ax: plot_cooccurrence(sets, ax),
            "Cooccurring labels", "A heat map of labels against labels: the number of rows with both candidates.",
        )  # fmt: skip
        figures["decisions"] = _svg(
            "decisions", heatmap_inches(labels[decision_classes(sets)].tolist()),
            lambda ax: plot_decisions(sets, data.decisions.labels, ax),
            "Candidates and disambiguated labels",
            "A heat map: the fraction of the sets with the label of the row that get the label of the column.",
        )  # fmt: skip
    summary = data.annotators
    if summary is not None:
        figures["annotators"] = _svg(
            "annotators", annotators.accuracy_inches(summary), lambda ax: annotators.plot_accuracies(summary, ax),
            "Accuracies of the annotators", "The accuracy of each annotator as a point, with its interval as a line.",
        )  # fmt: skip
    curve = data.learning_curve
    if curve is not None and np.isfinite(np.asarray(curve.covering_rate, dtype=float)).any():
        figures["curve"] = _svg(
            "curve", (6.4, 4.0), lambda ax: plot_learning_curve(curve, ax),
            "Learning curve", "A line chart of the held-out covering rate by the number of labeled rows.",
        )  # fmt: skip
    return figures


def _svg(name: str, inches: tuple[float, float], draw: "Callable[[Axes], Any]", title: str, description: str) -> str:
    """Draw a figure outside pyplot, so that the caller's session keeps no open figure, and return its SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, layout="constrained")
    draw(figure.subplots())
    return to_svg(figure, prefix=name, title=title, description=description)
