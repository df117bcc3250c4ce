"""`oneof fit`: fit a model on a table and write the model, a report and the disambiguated labels.

oneof fit birds.csv --labels species --truth checked
oneof fit birds.csv --labels species --weighted --kind posterior --method best
oneof fit birds.csv --answers answers.csv --row id --annotator worker --answer label
zcat clicks.csv.gz | oneof fit - --format csv --labels topic --classes news,sport --online
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from oneof.cli import options, terminal
from oneof.cli.options import FitOptions, OnlineFitOptions, ReadOptions


def run(
    context: typer.Context,
    table: options.Stream,
    *,
    read_options: ReadOptions,
    fit_options: FitOptions,
    online_options: OnlineFitOptions,
    json: options.Json = False,
) -> None:
    """Fit a model on a table with partial, weighted or missing labels.

    Writes model.skops, report.html, training_labels.csv (the most probable label of each row), summary.json and, with
    --answers, annotators.csv, in place of older ones. With --online, writes model.skops, summary.json and curve.csv
    (the running loss). Ctrl-C ends a comparison and fits the best method so far, or saves an online fit for --resume.
    """
    read_options = read_options.checked(context)
    online_options.check(context)
    if online_options.online:
        _fit_online(table, read_options, online_options, fit_options, json=json)
        return
    from oneof.cli.answers import print_annotators
    from oneof.cli.training import fit_table

    fitted, assessment, summary = fit_table(table, read_options, fit_options, context.meta[options.TYPED])
    if json:
        terminal.print_json(summary)
        return
    n_sparse, comparison = summary["sparse_features"], fitted.evaluation.comparison
    features = f"feature columns: {len(summary['features'])}" if n_sparse is None else f"sparse features: {n_sparse:,}"
    _print_rows(summary["table"], summary, f"; {features}.")
    terminal.print_line(terminal.format_headline(assessment.headline))
    terminal.print_comparison(f"Held-out estimate ({comparison.evaluation})", comparison)
    if fitted.annotators is not None:
        print_annotators(fitted.annotators)
    _print_files(f"{summary['method']} was fitted on all rows", summary["files"])


def _print_rows(table: str, summary: Mapping[str, Any], rest: str) -> None:
    """Print the numbers of exact, partial and unlabeled rows of a summary, and of partial rows with weights."""
    weighted = f" ({summary['weighted']:,} weighted)" if summary["weighted"] else ""
    terminal.print_line(
        f"{table}: {summary['rows']:,} rows ({summary['exact']:,} exact, {summary['partial']:,} partial{weighted}, "
        f"{summary['unlabeled']:,} unlabeled), {len(summary['classes'])} classes{rest}"
    )


def _print_files(sentence: str, files: list[str]) -> None:
    terminal.print_line(f"{sentence}. Files:", *(f"  {file}" for file in files))


def _fit_online(
    table: Path, read_options: ReadOptions, online_options: OnlineFitOptions, fit_options: FitOptions, *, json: bool
) -> None:
    """Fit an online method on a stream and print its progressive validation."""
    from oneof.cli import online

    try:
        summary, fit = online.fit_online(table, read_options, online_options, fit_options)
    except KeyboardInterrupt:
        terminal.print_note(*online.resume_notes(fit_options.folder(table), sys.argv[1:]))
        raise
    terminal.print_note(*fit.notes)
    if json:
        terminal.print_json(summary)
        return
    rest = f"; resumed after {summary['resumed_at']:,} rows." if summary["resumed_at"] else "."
    _print_rows(summary["stream"], summary, rest)
    terminal.print_windows("Progressive validation (ambiguous 0-1 loss)", fit.validation)
    _print_files(f"{summary['method']} was fitted online", summary["files"])
