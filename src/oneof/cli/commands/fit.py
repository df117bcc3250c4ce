"""`oneof fit`: fit a model on a table and write the model, a report and the disambiguated labels."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from oneof.cli import options
from oneof.cli.option_groups import FitOptions, OnlineFitGroup, ReadGroup
from oneof.cli.output import terminal
from oneof.cli.output.progress import progress

if TYPE_CHECKING:
    from oneof.cli.tables.facts import TableFacts
    from oneof.cli.tables.read_options import ReadOptions

NAME = "fit"
EXAMPLES = """\b
Examples:
  oneof fit birds.csv --labels species --truth checked
  oneof fit birds.csv --labels species --weighted --kind posterior --method best
  oneof fit birds.csv --answers answers.csv --row id --annotator worker --answer label
  zcat clicks.csv.gz | oneof fit - --format csv --labels topic --classes news,sport --online
"""


def run(
    context: typer.Context,
    table: options.Stream,
    *,
    read_group: ReadGroup,
    fit_options: FitOptions,
    online_group: OnlineFitGroup,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fit a model on a table with partial, weighted or missing labels.

    Writes model.skops, report.html, training_labels.csv (the most probable label of each row), summary.json and, with
    --answers, annotators.csv, in place of older ones. With --online, writes model.skops, summary.json and curve.csv
    (the running loss). Ctrl-C ends a comparison and fits the best method so far, or saves an online fit for --resume.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.cli.answers.annotators import print_annotators
        from oneof.cli.training.train import train

        read_options = read_group.options(context)
        online_group.check(context)
        if online_group.online:
            _fit_online(table, read_options, online_group, fit_options, json=json)
            return
        training = train(
            table,
            read_options,
            fit_options,
            command=options.typed_command(context),
            progress_factory=progress,
            note=terminal.print_note,
            show_facts=_print_facts,
        )
        summary = training.summary
        if json:
            terminal.print_json(summary)
            return
        terminal.print_line(
            f"{table}: {summary['rows']} rows ({_count_rows(summary)}), {len(summary['classes'])} classes; "
            + (
                f"feature columns: {len(summary['features'])}."
                if summary["sparse_features"] is None
                else f"sparse features: {summary['sparse_features']:,}."
            )
        )
        terminal.print_line(terminal.format_headline(training.headline))
        terminal.print_comparison(f"Held-out estimate ({training.comparison.evaluation})", training.comparison)
        if training.is_headline_pooled:
            terminal.print_line("The first line counts all held-out rows together, so that it differs from the means.")
        if training.annotators is not None:
            print_annotators(training.annotators)
        terminal.print_line(f"{summary['method']} was fitted on all rows. Files:")
        for file in summary["files"]:
            terminal.print_line(f"  {file}")


def _print_facts(facts: "TableFacts") -> None:
    """Write the facts of the table to standard error, so that standard output has the results only."""
    for line in facts.lines():
        terminal.print_progress(line)


def _count_rows(summary: Mapping[str, Any]) -> str:
    """Format the numbers of exact, partial and unlabeled rows of a summary, and of partial rows with weights."""
    weighted = f" ({summary['weighted']:,} weighted)" if summary["weighted"] else ""
    return f"{summary['exact']:,} exact, {summary['partial']:,} partial{weighted}, {summary['unlabeled']:,} unlabeled"


def _fit_online(
    table: Path,
    read_options: "ReadOptions",
    online_options: OnlineFitGroup,
    fit_options: FitOptions,
    *,
    json: bool,
) -> None:
    """Fit an online method on a stream and print its progressive validation."""
    from oneof.cli.training import online

    folder = fit_options.folder(table)
    try:
        result = online.fit_online(
            table,
            read_options,
            online_options,
            method=fit_options.method,
            folder=folder,
            progress=progress,
            show_facts=_print_facts,
        )
    except KeyboardInterrupt:
        sentence = online.resume_hint(folder, sys.argv[1:])
        if sentence is not None:
            terminal.print_note(sentence)
        raise
    summary = result.summary
    if result.fit is None:
        terminal.print_note(
            f"the run in {folder} is finished: it learned {summary['rows']:,} rows of {summary['stream']}. Nothing "
            "remains to be resumed; --restart fits the stream again and replaces its files."
        )
    for sentence in () if result.fit is None else result.fit.notes:
        terminal.print_note(sentence)
    if json:
        terminal.print_json(summary | {"files": result.files})
    if json or result.fit is None:
        return
    terminal.print_line(
        f"{summary['stream']}: {summary['rows']:,} rows ({_count_rows(summary)}), {len(summary['classes'])} classes"
        + (f"; resumed after {summary['resumed_at']:,} rows." if summary["resumed_at"] else ".")
    )
    terminal.print_windows("Progressive validation (ambiguous 0-1 loss)", result.fit.validation)
    terminal.print_line(f"{summary['method']} was fitted online. Files:")
    for file in result.files:
        terminal.print_line(f"  {file}")
