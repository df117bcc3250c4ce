"""`oneof audit`: find the rows of a table whose labels are probably wrong."""

import contextlib
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from oneof.cli import options
from oneof.cli.auditing.issues import (
    CHECKED_NOTE,
    describe_rate,
    describe_rest,
    describe_wrong_first_labels,
    find_issues,
    format_probability,
    issue_table,
    summarize,
    wrong_first_labels,
)
from oneof.cli.output import terminal
from oneof.cli.output.progress import progress
from oneof.cli.tables.read_options import ReadOptions

if TYPE_CHECKING:
    import polars as pl

    from oneof.audit import LabelIssues
    from oneof.cli.tables.inputs import PreparedTable

NAME = "audit"
MAX_CELL = 40
"""Number of characters of a text in the printed list."""
EXAMPLES = """\b
Examples:
  oneof audit birds.csv --labels species
  oneof audit birds.csv --labels species --out issues.csv --report issues.html
  oneof audit birds.csv --labels species --groups recorder
  oneof audit birds.csv --labels species --method LOORidge:distractors=cooccurring
  oneof audit birds.csv --labels species --gold checked
  oneof audit birds.csv --answers answers.csv --row id
  oneof audit birds.csv --labels species --weighted --kind posterior
"""


@dataclass(frozen=True)
class AuditOptions:
    """Options of `oneof audit`."""

    TITLE: ClassVar[str] = "Model"

    method: str = options.option(
        "NAME",
        "Name of the method that predicts the held-out rows, if necessary with parameters as in "
        "LOORidge:distractors=cooccurring, or auto: LOORidge.",
        "auto",
    )
    top: int = options.option("N", "Number of rows to print.", 20, min=0)
    out: Path | None = options.option(
        "FILE", "Write all labeled rows, the most probably wrong first (.csv), with their identifiers and texts."
    )
    report: Path | None = options.option("FILE", "Write a page with the suspected rows (.html).")
    folds: int | None = options.option(
        "N",
        "Number of folds of the held-out predictions, by default 5; with --groups, at most the number of groups. "
        "Without --groups, LOORidge requires no folds if all rows are exact.",
        min=2,
    )
    seed: int = options.option("N", "Random seed.", 0, min=0)


def run(
    context: typer.Context,
    table: options.TableFile,
    *,
    read_options: ReadOptions,
    audit_options: AuditOptions,
    json: options.Json = False,
) -> None:
    """Find the rows of a table whose labels probably exclude the true one.

    Each row is predicted without its own labels. The command prints the expected number of wrong rows, with an
    interval, and the most probably wrong rows with the label proposed instead. The table is not changed; fit with
    --noise-rate auto learns from it without relying on these rows, and label --audit opens them for labeling.
    """
    from oneof.cli.tables.gold import check_unchecked_rows
    from oneof.cli.tables.inputs import prepare
    from oneof.errors import InputError

    method, out, report = audit_options.method, audit_options.out, audit_options.report
    if method.lower() == "best":
        raise InputError("--method must name one method, or be auto; got best. `oneof compare` finds the best.")
    answers = read_options.checked(context).answers
    _check_outputs(out, report, [table] if answers is None else [table, answers.path])
    prepared = prepare(table, read_options)
    check_unchecked_rows(prepared.candidates, prepared.is_checked, "remove --gold to audit the labels themselves")
    terminal.print_notes((*prepared.notes, *_notes(prepared, read_options)))
    with progress("Predicting held-out rows", each_name=True) as bar:
        name, issues = find_issues(prepared, method, folds=audit_options.folds, seed=audit_options.seed, progress=bar)
    _write_files(out, report, issues, prepared, name, context.meta[options.TYPED])
    outputs = [str(path) for path in (out, report) if path is not None]
    if json:
        facts = {"method": name, "groups": read_options.groups, "n_groups": prepared.n_groups, "files": outputs}
        unreadable = {"unreadable_labels": prepared.unreadable_labels.to_dict()}
        terminal.print_json(summarize(issues, prepared) | facts | unreadable)
        return
    _print_issues(issues, table, prepared, top=audit_options.top)
    if prepared.n_groups is not None:
        terminal.print_line(f"Folds by groups: no row is predicted from its group ({prepared.n_groups:,} groups).")
    for path in outputs:
        terminal.print_line(f"File: {path}")


def _check_outputs(out: Path | None, report: Path | None, inputs: Sequence[Path]) -> None:
    """Raise unless the files can be written and are neither equal nor inputs."""
    from oneof.errors import InputError
    from oneof.files import check_not_input, check_writable

    if out is not None and report is not None and out.resolve() == report.resolve():
        raise InputError(f"--out and --report must be different files; got {out} for both.")
    for option, file in (("--out", out), ("--report", report)):
        if file is not None:
            check_writable(file.absolute().parent)
            check_not_input([file], inputs, option)


def _notes(prepared: "PreparedTable", read_options: ReadOptions) -> list[str]:
    """Return notes on labels that an audit treats in another way than a fit."""
    from oneof.cli.answers.annotators import WEIGHTS_NOTE
    from oneof.cli.tables.first_labels import describe_first_labels, measure_first_labels
    from oneof.cli.training.headline import LISTS_NOTE, share_lists

    notes = [*([] if prepared.answers is None else [WEIGHTS_NOTE]), *describe_rest(read_options, prepared)]
    if prepared.answers is None and share_lists(prepared):
        notes.append(LISTS_NOTE)
    if prepared.is_checked is not None:
        notes += [CHECKED_NOTE, *describe_first_labels(measure_first_labels(prepared))]
    return notes


def _shown_columns(prepared: "PreparedTable") -> list[str]:
    """Return the first column that identifies the rows and the first one of text, if the table has them."""
    names = [*prepared.identifiers[:1], *[column.name for column in prepared.columns if column.kind == "text"][:1]]
    frame = prepared.table.frame
    return [name for name in names if name in frame.columns and not frame[name].dtype.is_nested()]


def _first_words(cell: Any) -> str:
    """Return the first words of a cell in one line."""
    words = " ".join(str("" if cell is None else cell).split())
    return words if len(words) <= MAX_CELL else f"{words[: MAX_CELL - 3].rstrip()}..."


def _print_issues(issues: "LabelIssues", table: Path, prepared: "PreparedTable", *, top: int) -> None:
    """Print the noise rate, the most probably wrong rows, and those whose label of largest weight is."""
    terminal.print_line(f"{table}: {describe_rate(issues)}.")
    labels = "the labels that the row names" if prepared.has_rest else "the labels of the row"
    terminal.print_line(
        f"Wrong means that the true label is not among {labels}, whatever their weights. Errors that the features "
        "predict, such as those of one device, are not recognized."
    )
    rows = issue_table(issues, prepared)
    suspected, columns = rows.filter("suspected"), ("proposed", "runner_up", "probability")
    if suspected.is_empty():
        terminal.print_line("No row has labels that are more probably wrong than right.")
    _print_rows("Suspected rows", suspected, columns, top, prepared)
    if "first" in rows.columns:
        terminal.print_line(describe_wrong_first_labels(issues, prepared, rows))
        title, columns = "Rows whose first label is probably wrong", ("first", "most_probable", "first_wrong")
        _print_rows(title, wrong_first_labels(rows), columns, top, prepared)


def _print_rows(
    title: str, rows: "pl.DataFrame", columns: tuple[str, str, str], top: int, prepared: "PreparedTable"
) -> None:
    """Print the first rows with an identifier and a text, their labels or answers, two labels, and a probability."""
    from oneof.cli.answers.annotators import describe_answers

    names, answers = _shown_columns(prepared), prepared.answers
    cells: dict[str, Any] = {name: prepared.table.frame[name] for name in names}
    if answers is not None and answers.row_column:
        name = answers.row_column if answers.row_column != "row" else "name"
        cells[name] = answers.row_names
        names = list(dict.fromkeys([name, *names]))
    lines = []
    for row in rows.head(top).to_dicts():
        number, (one, other, probability) = row["row"], (row[name] for name in columns)
        labels = _first_words(row["labels"]) if answers is None else describe_answers(answers.answers, number)
        shown = [_first_words(cells[name][number]) for name in names]
        lines.append((str(number), *shown, labels, str(one), str(other), format_probability(probability)))
    if lines:
        headings = [{"runner_up": "runner-up", "first_wrong": "probability"}.get(name, name) for name in columns]
        headings = ["row", *names, "labels" if answers is None else "answers", *(h.replace("_", " ") for h in headings)]
        title = f"{title}, counted from 0 ({len(lines)} of {len(rows):,})"
        terminal.print_table(title, headings, lines, text_columns=len(headings) - 1)


def _write_files(
    out: Path | None, report: Path | None, issues: "LabelIssues", prepared: "PreparedTable", method: str, command: str
) -> None:
    """Write the table and the page of an audit; each replaces an older file when both are complete."""
    from oneof.files import atomic_write, create_directories

    with contextlib.ExitStack() as files:
        for path in filter(None, (out, report)):
            files.enter_context(create_directories(path.absolute().parent))
            temporary = files.enter_context(atomic_write(path))
            if path is out:
                _write_table(temporary, issues, prepared)
            else:
                _write_page(temporary, issues, prepared, method, command)


def _write_table(path: Path, issues: "LabelIssues", prepared: "PreparedTable") -> None:
    """Write all labeled rows as CSV, the most probably wrong first, with their identifiers and texts."""
    from oneof.cli.tables.inputs import insert_identifiers

    texts = [column.name for column in prepared.columns if column.kind == "text"]
    names = [*prepared.identifiers, *texts]
    insert_identifiers(issue_table(issues, prepared), prepared.table.frame, names).write_csv(path)


def _write_page(path: Path, issues: "LabelIssues", prepared: "PreparedTable", method: str, command: str) -> None:
    """Write the page with the suspected rows."""
    import oneof
    from oneof.cli.training.files import preview
    from oneof.report import render_audit

    page = render_audit(
        issues,
        preview(prepared),
        source=prepared.table.path.name,
        method=method,
        command=command,
        version=oneof.__version__,
        date=datetime.datetime.now().astimezone().date().isoformat(),
        n_groups=prepared.n_groups,
    )
    path.write_text(page, encoding="utf-8", newline="\n")
