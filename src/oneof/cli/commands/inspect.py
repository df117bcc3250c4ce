"""`oneof inspect`: print what was read from a table, and how long a fit takes; or describe a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options, terminal

if TYPE_CHECKING:
    from oneof.cli.inputs import ReadOptions
    from oneof.cli.plan import Plan

NAME = "inspect"
EXAMPLES = """\b
Examples:
  oneof inspect birds.csv
  oneof inspect birds.csv --labels species
  oneof inspect birds.csv --labels species --method PLEM --json
  oneof inspect birds-oneof/model.skops
"""


def run(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE|MODEL", help="A table as for fit, or a model file (model.skops).")
    ],
    *,
    labels: options.LabelsOrNone = None,
    method: Annotated[
        str, typer.Option("--method", help="Name of the method whose time is estimated, best, or auto (LOORidge).")
    ] = "auto",
    truth: options.Truth = None,
    separator: options.Separator = None,
    weighted: options.Weighted = False,
    weights: options.Weights = None,
    kind: options.WeightKind = None,
    rest: options.Rest = None,
    classes: options.Classes = None,
    drop: options.Drop = None,
    text: options.Text = None,
    stop_words: options.StopWords = "none",
    stem: options.Stem = "none",
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    date_format: options.DateFormat = None,
    strict: options.Strict = False,
    format: options.Format = None,  # noqa: A002 - the option's name
    sheet: options.Sheet = None,
    folds: options.Folds = None,
    budget: options.Budget = options.DEFAULT_BUDGET,
    seed: options.Seed = 0,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Print a summary of a table: columns by kind, missing cells, rows by their labels, and classes.

    With --labels also how long the fit takes, estimated from fits on samples of the rows; no file is written. For a
    model file, print its method, columns, classes and estimated rates.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.cli.inputs import ReadOptions
        from oneof.io import Overrides

        if table.suffix.lower() == ".skops":
            _inspect_model(table, json=json)
            return
        table_options = options.read_table_options(
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            missing=missing,
            date_format=date_format,
            strict=strict,
        )
        overrides = Overrides(*map(options.split, (numeric, categorical, text, drop)))
        named = None if classes is None else options.split([classes])
        weighting = options.read_weight_options(weighted=weighted, weights=weights, kind=kind, rest=rest)
        read_options = ReadOptions(
            options.split(labels),
            truth,
            separator,
            named,
            overrides,
            stop_words,
            stem,
            weighting,
            table=table_options,
            format=format,
            sheet=sheet,
        )
        plan, notes = inspect_table(table, read_options, method=method, folds=folds, budget=budget, seed=seed)
        for sentence in notes:
            terminal.print_note(sentence)
        if json:
            terminal.print_json(plan.to_dict() | {"notes": list(notes)})
            return
        for line in plan.lines():
            terminal.print_line(line)
        if not plan.labels:
            terminal.print_line("Add --labels COLUMN for the classes and the time of a fit.")


def inspect_table(
    path: Path, read_options: "ReadOptions", *, method: str, folds: int | None, budget: float, seed: int
) -> "tuple[Plan, tuple[str, ...]]":
    """Return the plan of a fit, and notes about the table; without labels, the plan has the facts of the table only."""
    from oneof.cli.inputs import prepare, resolve_methods
    from oneof.cli.plan import describe
    from oneof.cli.training import make_plan
    from oneof.comparison.folds import check_task, make_folds
    from oneof.comparison.methods import DEFAULT_METHOD
    from oneof.io import UnreadableCells, align_columns, choose_columns, read_table

    if read_options.labels:
        prepared = prepare(path, read_options)
        methods, notes = resolve_methods(prepared, DEFAULT_METHOD if method.lower() == "auto" else method, seed)
        task = check_task(prepared.frame, prepared.candidates, prepared.truth)
        splits = make_folds(task, "auto" if folds is None else folds, seed)
        return make_plan(prepared, read_options, methods, task, splits, budget, seed), (*prepared.notes, *notes)
    overrides = read_options.overrides
    as_text = {*overrides.texts, *overrides.categories}
    table_options = read_options.table
    table = read_table(
        path,
        as_text=as_text,
        labels=read_options.text_columns,
        drop=overrides.drop,
        dialect=table_options.dialect,
        cell_format=table_options.cell_format,
        format=read_options.format,
        sheet=read_options.sheet,
    )
    if table.rows is not None:
        return describe(table, [], table.rows), table.remarks
    columns, findings = choose_columns(table, exclude=read_options.text_columns, overrides=overrides)
    unreadable = None if table_options.strict else UnreadableCells()
    frame = align_columns(table.frame, columns, table.path, cell_format=table.cell_format, unreadable=unreadable)
    plan = describe(table, columns, frame, exclude=sorted(read_options.text_columns))
    return plan, tuple(findings.sentences())


def _inspect_model(path: Path, *, json: bool) -> None:
    """Print the description of a model file."""
    from oneof.cli.predictions import load_model

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
