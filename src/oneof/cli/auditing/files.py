"""Files of an audit: the table of all labeled rows, and the page with the suspected ones."""

import contextlib
import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.auditing.issues import find_first_labels, written_labels

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.cli.tables.inputs import PreparedTable


def write_files(
    out: Path | None, report: Path | None, issues: "LabelIssues", prepared: "PreparedTable", method: str, command: str
) -> None:
    """Write the table and the page of an audit; each replaces an older file when both are complete."""
    from oneof.files import atomic_write, create_directories

    with contextlib.ExitStack() as files:
        for path in filter(None, (out, report)):
            files.enter_context(create_directories(path.absolute().parent))
            temporary = files.enter_context(atomic_write(path))
            if path is out:
                write_table(temporary, issues, prepared)
            else:
                write_page(temporary, issues, prepared, method, command)


def write_table(path: Path, issues: "LabelIssues", prepared: "PreparedTable") -> None:
    """Write all labeled rows as CSV, the most probably wrong first; of weighted labels also the first label.

    `first_wrong` is the probability that the label of largest weight is wrong.
    """
    import polars as pl

    from oneof.cli.tables.inputs import insert_identifiers

    texts = written_labels(issues, prepared)
    names = None if prepared.answers is None else prepared.answers.row_names
    listed = issues.top(len(issues.ranking))
    columns: dict[str, Any] = {
        "row": [issue.row for issue in listed],
        **({} if names is None else {"id": [names[issue.row] for issue in listed]}),
        "labels": [texts[issue.row] for issue in listed],
        "proposed": [issue.proposed for issue in listed],
        "probability": [issue.probability for issue in listed],
        "runner_up": [issue.runner_up for issue in listed],
        "suspected": issues.is_issue[issues.ranking].tolist(),
    }
    if issues.candidates.is_weighted.any():
        labels, classes = find_first_labels(issues, prepared), issues.candidates.classes.tolist()
        columns |= {
            "first": [None if k < 0 else classes[k] for k in labels.first.tolist()],
            "most_probable": [classes[k] for k in labels.probable.tolist()],
            "first_wrong": [None if k < 0 else p for k, p in zip(labels.first, labels.wrong.tolist(), strict=True)],
        }
    texts_of_rows = [column.name for column in prepared.columns if column.kind == "text"]
    names_of_rows = [*prepared.identifiers, *texts_of_rows]
    insert_identifiers(pl.DataFrame(columns), prepared.table.frame, names_of_rows).write_csv(path)


def write_page(path: Path, issues: "LabelIssues", prepared: "PreparedTable", method: str, command: str) -> None:
    """Write the page with the suspected rows."""
    import oneof
    from oneof.report import render_audit, table_preview

    columns = [*prepared.identifiers[:1], *(column.name for column in prepared.columns)]
    page = render_audit(
        issues,
        table_preview(prepared.table.frame, columns, prepared.table.rows),
        source=prepared.table.path.name,
        method=method,
        command=command,
        version=oneof.__version__,
        date=datetime.datetime.now().astimezone().date().isoformat(),
        n_groups=prepared.n_groups,
    )
    path.write_text(page, encoding="utf-8", newline="\n")
