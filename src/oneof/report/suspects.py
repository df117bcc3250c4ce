"""Suspected rows: a section of the report of a fit, and the page of `oneof audit`."""

from typing import Any, NamedTuple

from oneof.audit import LabelIssues
from oneof.plots.style import clean, shorten
from oneof.report.data import MAX_COLUMNS, Preview
from oneof.report.statistics import LABEL_WIDTH, name_candidates, truncate
from oneof.report.templating import format_percent

MAX_SUSPECTS = 100
"""Maximum number of rows in the table of the page of an audit."""
MAX_REPORT_SUSPECTS = 20
"""Maximum number of rows in the report of a fit."""
MAX_PRINTED = 0.995
"""Probabilities above this would be rounded to 100 %."""


class SuspectRow(NamedTuple):
    """A line of the table."""

    number: int
    candidates: str
    proposed: str
    runner_up: str
    probability: str
    cells: list[str]


def describe_suspects(issues: LabelIssues, preview: Preview, max_rows: int) -> dict[str, Any]:
    """Return the values of the table of suspected rows, and of the sentences around it."""
    listed = issues.top()[:max_rows]
    cells = [preview(issue.row) if callable(preview) else preview[issue.row] for issue in listed]
    columns = list(dict.fromkeys(name for row in cells for name in row))[:MAX_COLUMNS]
    low, high = issues.n_wrong_interval
    return {
        "rows": [
            SuspectRow(
                issue.row,
                name_candidates(issues.candidates, issue.row),
                shorten(issue.proposed, LABEL_WIDTH),
                shorten(issue.runner_up, LABEL_WIDTH),
                format_percent(issue.probability, 0)
                if issue.probability <= MAX_PRINTED
                else f">{format_percent(0.99, 0)}",
                [truncate(row.get(name, "")) for name in columns],
            )
            for issue, row in zip(listed, cells, strict=True)
        ],
        "columns": [shorten(name, LABEL_WIDTH) for name in columns],
        "n_issues": int(issues.is_issue.sum()),
        "n_labeled": len(issues.ranking),
        "n_wrong": issues.n_wrong,
        "low": low,
        "high": high,
        "is_given": issues.is_rate_given,
        "noise_rate": issues.noise_rate,
        "rate_low": issues.noise_rate_interval[0],
        "rate_high": issues.noise_rate_interval[1],
        "by_label": [(clean(name), rate) for name, rate in issues.noise_rate_by_label.items()],
        "by_size": list(issues.noise_rate_by_size.items()),
    }
