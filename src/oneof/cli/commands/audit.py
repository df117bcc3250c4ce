"""`oneof audit`: find the rows of a table whose labels are probably wrong."""

import contextlib
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from oneof.cli import options
from oneof.cli.auditing.issues import (
    CHECKED_NOTE,
    describe_rate,
    describe_rest,
    describe_wrong_first_labels,
    find_first_labels,
    find_issues,
    format_probability,
    summarize,
    written_labels,
)
from oneof.cli.option_groups import ReadGroup
from oneof.cli.output import terminal
from oneof.cli.output.progress import progress

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.cli.tables.read_options import ReadOptions

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

    method: Annotated[
        str,
        options.value(
            "--method",
            "NAME",
            "Name of the method that predicts the held-out rows, if necessary with parameters as in "
            "LOORidge:distractors=cooccurring, or auto: LOORidge.",
        ),
    ] = "auto"
    top: Annotated[int, options.value("--top", "N", "Number of rows to print.", min=0)] = 20
    out: Annotated[
        Path | None,
        options.value(
            "--out",
            "FILE",
            "Write all labeled rows, the most probably wrong first (.csv), with their identifiers and texts.",
        ),
    ] = None
    report: Annotated[
        Path | None, options.value("--report", "FILE", "Write a page with the suspected rows (.html).")
    ] = None
    folds: Annotated[
        int | None,
        options.value(
            "--folds",
            "N",
            "Number of folds of the held-out predictions, by default 5; with --groups, at most the number of groups. "
            "Without --groups, LOORidge requires no folds if all rows are exact.",
            min=2,
            show_default=False,
        ),
    ] = None
    seed: options.Seed = 0


def run(
    context: typer.Context,
    table: options.TableFile,
    *,
    read_group: ReadGroup,
    audit_options: AuditOptions,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Find the rows of a table whose labels probably exclude the true one.

    Each row is predicted without its own labels. The command prints the expected number of wrong rows, with an
    interval, and the most probably wrong rows with the label proposed instead. The table is not changed; fit with
    --noise-rate auto learns from it without relying on these rows, and label --audit opens them for labeling.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.cli.tables.gold import check_unchecked_rows
        from oneof.cli.tables.inputs import prepare
        from oneof.errors import InputError

        if audit_options.method.lower() == "best":
            raise InputError("--method must name one method, or be auto; got best. `oneof compare` finds the best.")
        read_options = read_group.options(context)
        out, report = audit_options.out, audit_options.report
        _check_outputs(out, report, [table] if read_options.answers is None else [table, read_options.answers.path])
        prepared = prepare(table, read_options)
        check_unchecked_rows(prepared.candidates, prepared.is_checked, "remove --gold to audit the labels themselves")
        for sentence in (*prepared.notes, *_notes(prepared, read_options)):
            terminal.print_note(sentence)
        with progress("Predicting held-out rows", each_name=True) as bar:
            name, issues = find_issues(
                prepared, audit_options.method, folds=audit_options.folds, seed=audit_options.seed, progress=bar
            )
        write_files(out, report, issues, prepared, name, options.typed_command(context))
        outputs = [str(path) for path in (out, report) if path is not None]
        if json:
            facts = {"method": name, "groups": read_options.groups, "n_groups": prepared.n_groups, "files": outputs}
            unreadable = {"unreadable_labels": prepared.unreadable_labels.to_dict()}
            terminal.print_json(summarize(issues, prepared) | facts | unreadable)
            return
        print_issues(issues, table, prepared, top=audit_options.top)
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


def _notes(prepared: "PreparedTable", read_options: "ReadOptions") -> list[str]:
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


def print_issues(issues: "LabelIssues", table: Path, prepared: "PreparedTable", *, top: int) -> None:
    """Print the noise rate, the most probably wrong rows, and those whose label of largest weight is."""
    terminal.print_line(f"{table}: {describe_rate(issues)}.")
    labels = "the labels that the row names" if prepared.has_rest else "the labels of the row"
    terminal.print_line(
        f"Wrong means that the true label is not among {labels}, whatever their weights. Errors that the features "
        "predict, such as those of one device, are not recognized."
    )
    n_issues = int(issues.is_issue.sum())
    if not n_issues:
        terminal.print_line("No row has labels that are more probably wrong than right.")
    listed = issues.top(min(top, n_issues))
    if listed:
        rows = [(x.row, str(x.proposed), str(x.runner_up), format_probability(x.probability)) for x in listed]
        title = f"Suspected rows, counted from 0 ({len(listed)} of {n_issues:,})"
        _print_rows(title, rows, ("proposed", "runner-up", "probability"), issues, prepared)
    if issues.candidates.is_weighted.any():
        _print_first_labels(issues, prepared, top)


def _print_first_labels(issues: "LabelIssues", prepared: "PreparedTable", top: int) -> None:
    """Print the rows whose label of largest weight is probably wrong, with the most probable label."""
    labels, classes = find_first_labels(issues, prepared), issues.candidates.classes
    terminal.print_line(describe_wrong_first_labels(labels, prepared))
    rows = [
        (
            int(issues.ranking[i]),
            str(classes[labels.first[i]]),
            str(classes[labels.probable[i]]),
            format_probability(float(labels.wrong[i])),
        )
        for i in labels.order()[:top].tolist()
    ]
    if rows:
        title = f"Rows whose first label is probably wrong, counted from 0 ({len(rows)} of {labels.n_wrong:,})"
        _print_rows(title, rows, ("first", "most probable", "probability"), issues, prepared)


def _print_rows(
    title: str,
    rows: Sequence[tuple[int, str, str, str]],
    headings: tuple[str, ...],
    issues: "LabelIssues",
    prepared: "PreparedTable",
) -> None:
    """Print rows with their identifier and text, their labels or answers, and further cells."""
    from oneof.cli.answers.annotators import describe_answers

    if prepared.answers is None:
        texts = {row: _first_words(text) for row, text in enumerate(written_labels(issues, prepared))}
    else:
        texts = {row: describe_answers(prepared.answers.answers, row) for row, *_ in rows}
    names = _shown_columns(prepared)
    cells: dict[str, Any] = {name: prepared.table.frame[name] for name in names}
    if prepared.answers is not None and prepared.answers.row_column:
        name = prepared.answers.row_column if prepared.answers.row_column != "row" else "name"
        cells[name] = prepared.answers.row_names
        names = list(dict.fromkeys([name, *names]))
    lines = [(str(row), *(_first_words(cells[name][row]) for name in names), texts[row], *rest) for row, *rest in rows]
    columns = ("row", *names, "labels" if prepared.answers is None else "answers", *headings)
    terminal.print_table(title, columns, lines, text_columns=len(columns) - 1)


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
