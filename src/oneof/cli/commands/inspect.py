"""`oneof inspect`: print a summary of a table, or a description of a model.

oneof inspect birds.csv
oneof inspect birds.csv --labels species
oneof inspect birds.csv --labels species --json
oneof inspect birds.csv --answers answers.csv --row id --annotator worker --answer label
oneof inspect clicks/ --labels topic --online
oneof inspect birds-oneof/model.skops
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from oneof.cli import options, terminal
from oneof.cli.options import ReadOptions


def run(
    context: typer.Context,
    table: Annotated[
        Path, typer.Argument(metavar="TABLE|MODEL", help="A table as for fit, or a model file (model.skops).")
    ],
    *,
    read_options: ReadOptions,
    online_options: options.OnlineOptions,
    json: options.Json = False,
) -> None:
    """Print a summary of a table: columns by kind, missing cells, rows by their labels, and classes.

    With --online, it is the summary of the first batch. No file is written. For a model file, print its method,
    columns, classes and estimated rates.
    """
    if table.suffix.lower() == ".skops":
        given = [name for name in context.params if name not in ("table", "json", "debug")]
        options.check_unused(context, given, "needs a table: remove it, or name a table instead of a model")
        _inspect_model(table, json=json)
        return
    # Labels that cannot be read are listed, unless they are refused by the option.
    read_options = replace(read_options.checked(context), lists_unreadable=read_options.unreadable_labels is None)
    online_options.check(context)
    if not read_options.labels and read_options.answers is None:
        names = [one.name for one in options.option_fields(options.LabelWeightGroup) if one.name != "labels"]
        options.check_unused(context, [*names, "gold"], "needs --labels: add it")
    from oneof.cli.tables.facts import inspect_rows, inspect_stream
    from oneof.cli.tables.inputs import read_rows

    if online_options.online:
        inspection = inspect_stream(table, read_options, online_options)
    else:
        inspection = inspect_rows(read_rows(table, read_options), read_options)
    facts, findings = inspection.facts, inspection.findings
    terminal.print_note(*findings.sentences())
    if json:
        content = {"findings": findings.to_dict(), "notes": findings.sentences(None)}
        terminal.print_json(facts.to_dict() | content | {"unreadable_labels": inspection.unreadable_labels.to_dict()})
        return
    terminal.print_line(*facts.lines())
    if not facts.labels and not facts.classes:
        terminal.print_line("Add --labels COLUMN for the classes.")


def _inspect_model(path: Path, *, json: bool) -> None:
    """Print the description of a model file."""
    from oneof.cli.prediction import load_model

    model = load_model(path)
    summary = model.summary
    facts: dict[str, Any] = {
        "model": str(path),
        "method": model.method,
        "labels": model.label_columns,
        "classes": model.classes,
        "columns": [{"name": name, "kind": kind} for name, kind in model.columns],
        "training": {
            name: summary.get(name) for name in ("rows", "exact", "partial", "unlabeled", "weighted", "estimate")
        },
        "oneof_version": model.oneof_version,
        "sklearn_version": model.sklearn_version,
    }
    if json:
        terminal.print_json(facts)
        return
    labels, classes = ", ".join(model.label_columns), ", ".join(map(str, model.classes))
    kinds: dict[str, list[str]] = {"labels": [f"{labels}: {classes}"]}
    for name, kind in model.columns:
        kinds.setdefault(kind, []).append(name)
    if not model.columns:
        kinds["features"] = [f"{model.pipeline.n_features_in_:,} of a sparse matrix"]
    terminal.print_line(f"{path}: {model.method}, fitted by oneof {model.oneof_version} to {summary['rows']:,} rows")
    terminal.print_line(*(f"  {kind:8}  {', '.join(names)}" for kind, names in kinds.items()))
    rate = (summary.get("estimate") or {}).get("covering_rate")
    if rate is not None:
        terminal.print_line(f"  covering rate on held-out rows: {terminal.format_percent(rate)}")
    confidences = summary.get("confidences") or {}
    if confidences.get("is_calibrated"):
        terminal.print_line(f"  probabilities are scaled by a temperature of {confidences['temperature']:.3g}")
