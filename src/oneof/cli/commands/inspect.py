"""`oneof inspect`: print a summary of a table and the time of a fit, or a description of a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options
from oneof.cli.option_groups import (
    AnswerGroup,
    FeatureGroup,
    FileGroup,
    LabelGroup,
    OnlineGroup,
    make_read_options,
)
from oneof.cli.output import terminal

if TYPE_CHECKING:
    from oneof.cli.tables.plan import Inspection
    from oneof.cli.tables.read_options import ReadOptions

NAME = "inspect"
EXAMPLES = """\b
Examples:
  oneof inspect birds.csv
  oneof inspect birds.csv --labels species
  oneof inspect birds.csv --labels species --method PLEM --json
  oneof inspect birds.csv --answers answers.csv --row id --annotator worker --answer label
  oneof inspect clicks/ --labels topic --online
  oneof inspect birds-oneof/model.skops
"""

_NEEDS_LABELS = (
    *(
        "separator",
        "classes",
        "fold_case",
        "unreadable_labels",
        "weighted",
        "weights",
        "kind",
        "rest",
        "truth",
        "gold",
        "groups",
    ),
    *("noise_rate", "class_weight", "folds", "budget", "seed"),
)


def run(
    context: typer.Context,
    table: Annotated[
        Path, typer.Argument(metavar="TABLE|MODEL", help="A table as for fit, or a model file (model.skops).")
    ],
    *,
    labels: options.LabelsOrNone = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="NAME", help="Name of the method whose time is estimated, best, or auto (LOORidge)."
        ),
    ] = "auto",
    truth: options.Truth = None,
    groups: options.Groups = None,
    label_group: LabelGroup,
    weights: options.Weights = None,
    noise_rate: options.NoiseRate = None,
    class_weight: options.ClassWeight = "none",
    answer_group: AnswerGroup,
    feature_group: FeatureGroup,
    file_group: FileGroup,
    folds: options.Folds = None,
    budget: options.Budget = options.DEFAULT_BUDGET,
    seed: options.Seed = 0,
    online_group: OnlineGroup,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Print a summary of a table: columns by kind, missing cells, rows by their labels, and classes.

    With --labels or --answers, the summary has the time of `oneof fit` with the same options, estimated from fits on
    samples of the rows. With --online, it is the summary of the first batch. No file is written. For a model file,
    print its method, columns, classes and estimated rates.
    """
    with terminal.handle_errors(debug=debug):
        if table.suffix.lower() == ".skops":
            given = [name for name in context.params if name not in ("table", "json", "debug")]
            options.check_unused(context, given, "needs a table: remove it, or name a table instead of a model")
            _inspect_model(table, json=json)
            return
        read_options = make_read_options(
            labels,
            label_group,
            feature_group,
            file_group,
            truth=truth,
            weights=weights,
            groups=groups,
            gold=answer_group.gold,
            answers=answer_group.answer_options(context),
            is_inspection=True,
        )
        rate = options.read_noise_rate(noise_rate)
        weights_of_classes = options.read_class_weight(class_weight)
        online_group.check(context)
        if not read_options.labels and read_options.answers is None:
            names = _NEEDS_LABELS if online_group.online else (*_NEEDS_LABELS, "method")
            options.check_unused(context, names, "needs --labels: add it")
        if online_group.online:
            from oneof.cli.training.online import OnlineOptions, inspect_stream

            online_options = OnlineOptions(online_group.epochs, online_group.batch_rows, online_group.hash_bits)
            inspection = inspect_stream(table, read_options, online_options, method=method)
        else:
            inspection = inspect_table(
                table,
                read_options,
                method=method,
                folds=folds,
                budget=budget,
                seed=seed,
                noise_rate=rate,
                class_weight=weights_of_classes,
            )
        plan = inspection.plan
        for sentence in inspection.notes:
            terminal.print_note(sentence)
        if json:
            content = {"findings": inspection.findings.to_dict(), "notes": list(inspection.notes)}
            content |= {"unreadable_labels": inspection.unreadable_labels.to_dict()}
            terminal.print_json(plan.to_dict() | content)
            return
        for line in plan.lines():
            terminal.print_line(line)
        if not plan.classes:
            terminal.print_line("Add --labels COLUMN for the classes and the time of a fit.")


def inspect_table(
    path: Path,
    read_options: "ReadOptions",
    *,
    method: str,
    folds: int | None,
    budget: float,
    seed: int,
    noise_rate: float | str | None = None,
    class_weight: str | None = None,
) -> "Inspection":
    """Return the plan of a fit, the findings and notes; without labels, the plan has the facts of the table only."""
    from oneof.cli.tables.inputs import prepare, prepare_features, read_rows
    from oneof.cli.tables.methods import resolve_methods
    from oneof.cli.tables.plan import Inspection, describe
    from oneof.cli.training.plan import make_plan
    from oneof.comparison.folds import check_task, make_folds
    from oneof.comparison.methods import DEFAULT_METHOD

    if read_options.labels or read_options.answers is not None:
        prepared = prepare(path, read_options)
        name = DEFAULT_METHOD if method.lower() == "auto" else method
        methods, notes = resolve_methods(prepared, name, seed, class_weight)
        task = check_task(prepared.frame, prepared.candidates, prepared.truth, class_weight)
        splits = make_folds(task, "auto" if folds is None else folds, seed, prepared.groups)
        plan = make_plan(prepared, read_options, methods, task, splits, budget, seed, noise_rate)
        return Inspection(plan, prepared.findings, (*prepared.notes, *notes), prepared.unreadable_labels)
    table = read_rows(path, read_options)
    features = prepare_features(table, read_options)
    plan = describe(table, features.columns, features.frame)
    return Inspection(plan, features.findings, tuple(features.findings.sentences()))


def _inspect_model(path: Path, *, json: bool) -> None:
    """Print the description of a model file."""
    from oneof.cli.prediction.predictions import load_model

    model = load_model(path)
    estimate = model.summary.get("estimate") or {}
    facts: dict[str, Any] = {
        "model": str(path),
        "method": model.method,
        "labels": model.label_columns,
        "classes": model.classes,
        "columns": [{"name": name, "kind": kind} for name, kind in model.columns],
        "training": {
            name: model.summary.get(name) for name in ("rows", "exact", "partial", "unlabeled", "weighted", "estimate")
        },
        "oneof_version": model.oneof_version,
        "sklearn_version": model.sklearn_version,
    }
    if json:
        terminal.print_json(facts)
        return
    kinds: dict[str, list[str]] = {}
    for name, kind in model.columns:
        kinds.setdefault(kind, []).append(name)
    terminal.print_line(
        f"{path}: {model.method}, fitted by oneof {model.oneof_version} to {model.summary['rows']:,} rows"
    )
    terminal.print_line(f"  labels    {', '.join(model.label_columns)}: {', '.join(map(str, model.classes))}")
    if not model.columns:
        terminal.print_line(f"  features  {model.pipeline.n_features_in_:,} of a sparse matrix")
    for kind, names in kinds.items():
        terminal.print_line(f"  {kind:8}  {', '.join(names)}")
    rate = estimate.get("covering_rate")
    if rate is not None:
        terminal.print_line(f"  covering rate on held-out rows: {terminal.format_percent(rate)}")
    confidences = model.summary.get("confidences") or {}
    if confidences.get("is_calibrated"):
        terminal.print_line(f"  probabilities are scaled by a temperature of {confidences['temperature']:.3g}")
