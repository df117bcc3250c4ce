"""Putting the report together, and writing it so that no reader ever sees half of it."""

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from oneof.files import atomic_write
from oneof.pages import environment
from oneof.plots.heatmap import MAX_CLASSES
from oneof.plots.style import clean
from oneof.report import facts, pictures, words
from oneof.report.data import ReportData

if TYPE_CHECKING:
    from jinja2 import Template


def render_report(data: ReportData) -> str:
    """Return the report as one HTML page that needs nothing from elsewhere.

    The page holds its style sheet and its pictures, and a policy that forbids the browser to fetch or run anything.
    Equal data give equal text. Without matplotlib the numbers are there, and the pictures are not.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str

    Raises
    ------
    LabelError
        If a decided label is not one of the classes.
    MissingExtraError
        If jinja2 is not installed.
    """
    template = _template()
    from markupsafe import Markup

    known_counts = facts.supervision(data.candidates)
    columns, unsure = facts.unsure_rows(data)
    drawn = pictures.draw_all(data) if pictures.can_draw() else {}
    results = facts.method_rows(data)
    return template.render(
        title=clean(data.title),
        source=clean(data.source),
        method=clean(data.method),
        estimate=data.estimate,
        n_folds=None if data.comparison is None else data.comparison.n_folds,
        n_tried=len(results),
        compared=data.comparison is not None,
        named=data.named,
        winner=None if data.comparison is None else clean(data.comparison.best_method),
        results=results,
        accuracy_known=facts.accuracy_known(data),
        rows=known_counts,
        baseline=facts.baseline(data.candidates),
        sizes=facts.size_rows(data.candidates),
        classes=facts.class_rows(data.candidates),
        pairs=facts.pair_rows(data),
        curve=_curve(data),
        truth=_truth(data),
        columns=columns,
        unsure=unsure,
        pictures={name: Markup(svg) for name, svg in drawn.items()},
        can_draw=pictures.can_draw(),
        max_classes=MAX_CLASSES,
        command=None if data.command is None else clean(data.command),
        version=clean(data.version),
        date=clean(data.date),
    )


def write_report(path: str | os.PathLike[str], data: ReportData) -> None:
    """Write the report to a file, which is replaced at once or not at all.

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


def _curve(data: ReportData) -> dict[str, Any] | None:
    curve = data.learning_curve
    if curve is None:
        return None
    n = len(curve.train_sizes)
    absent = [None] * n
    columns = [curve.train_sizes, curve.covering_rate, curve.covering_rate_std, curve.accuracy, curve.accuracy_std]
    points = list(zip(*(absent if column is None else list(column) for column in columns), strict=True))
    return {"sentence": words.read_curve(curve), "points": points, "accuracy": curve.accuracy is not None}


def _truth(data: ReportData) -> facts.TruthFacts | None:
    if data.truth is None:
        return None
    return facts.compare_with_truth(data.candidates, data.decisions.labels.tolist(), data.truth.tolist())


@cache
def _template() -> "Template":
    templates = environment("oneof.report")
    templates.filters.update(percent=words.percent, spread=words.spread, seconds=words.seconds)
    templates.globals.update(count=words.count, is_known=words.is_known)
    return templates.get_template("report.html")
