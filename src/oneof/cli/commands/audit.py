"""`oneof audit`: find the rows of a table whose labels are probably wrong.

oneof audit birds.csv --labels species
oneof audit birds.csv --labels species --out issues.csv --report issues.html
oneof audit birds.csv --labels species --groups recorder
oneof audit birds.csv --labels species --method LOORidge:distractors=cooccurring
oneof audit birds.csv --labels species --gold checked
oneof audit birds.csv --answers answers.csv --row id
oneof audit birds.csv --labels species --weighted --kind posterior
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import typer

from oneof.cli import options, terminal
from oneof.cli.options import ReadOptions
from oneof.cli.terminal import step


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
        "FILE",
        "Write all labeled rows, the most probably wrong first (.csv), with identifiers, texts, and for weights the "
        "most probable class and the probability that the first label is wrong.",
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
    from oneof.cli import auditing
    from oneof.cli.tables.inputs import check_unchecked_rows, prepare
    from oneof.cli.terminal import check_outputs, new_file
    from oneof.errors import InputError

    method, out, report = audit_options.method, audit_options.out, audit_options.report
    if method.lower() == "best":
        raise InputError("--method must name one method, or be auto; got best. `oneof compare` finds the best.")
    check_outputs({"--out": [out], "--report": [report]}, read_options.checked(context).input_files(table))
    prepared = prepare(table, read_options)
    check_unchecked_rows(prepared, "remove --gold to audit the labels themselves")
    terminal.print_note(*prepared.notes, *auditing.audit_notes(prepared))
    with step("Predicting held-out rows", each_name=True) as bar:
        name, issues = auditing.find_issues(
            prepared, method, folds=audit_options.folds, seed=audit_options.seed, progress=bar
        )
    if out is not None:
        with new_file(out) as temporary:
            auditing.with_names(auditing.issue_table(issues, prepared), prepared).write_csv(temporary)
    if report is not None:
        auditing.write_page(report, issues, prepared, name, context.meta[options.TYPED])
    outputs = [str(path) for path in (out, report) if path is not None]
    if json:
        facts = {"method": name, "groups": read_options.groups, "n_groups": prepared.n_groups, "files": outputs}
        unreadable = {"unreadable_labels": prepared.unreadable_labels.to_dict()}
        terminal.print_json(auditing.summarize(issues, prepared) | facts | unreadable)
        return
    auditing.print_issues(issues, table, prepared, top=audit_options.top)
    if prepared.n_groups is not None:
        terminal.print_line(f"Folds by groups: no row is predicted from its group ({prepared.n_groups:,} groups).")
    terminal.print_line(*(f"File: {path}" for path in outputs))
