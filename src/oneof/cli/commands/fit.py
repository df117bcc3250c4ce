"""`oneof fit`: fit a model on a table and write the model, a report and the disambiguated labels."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options, terminal

if TYPE_CHECKING:
    from oneof.cli.inputs import ReadOptions
    from oneof.cli.online import OnlineOptions
    from oneof.cli.plan import Plan

NAME = "fit"
EXAMPLES = """\b
Examples:
  oneof fit birds.csv --labels species
  oneof fit birds.csv --labels species --method best
  oneof fit birds.xlsx --sheet 2026 --labels species
  zcat birds.csv.gz | oneof fit - --format csv --labels species
  oneof fit birds.csv --labels species --separator ';' --drop id --truth checked
  oneof fit letters.csv --labels topic --text body --stop-words english --stem english
  oneof fit votes.parquet --labels cat,dog,horse --method CLPL --out model
  oneof fit birds.csv --labels species --weighted --kind posterior
  oneof fit birds.csv --labels species --noise-rate auto
  oneof fit birds.csv --answers answers.csv --row id --annotator worker --answer label
  oneof fit birds.csv --answers label-studio.json --row name
  oneof fit clicks/ --labels topic --online --checkpoint-rows 1000000
  zcat clicks.csv.gz | oneof fit - --format csv --labels topic --classes news,sport,arts --online
"""


def run(
    context: typer.Context,
    table: options.Stream,
    *,
    labels: options.LabelsOrNone = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="Name of a method, best, or auto. auto is LOORidge, which ignores unlabeled rows. best compares all "
            "methods except slow ones such as PLGP, and fits the best one.",
        ),
    ] = "auto",
    truth: options.Truth = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Output folder; by default TABLE-oneof.")
    ] = None,
    separator: options.Separator = None,
    weighted: options.Weighted = False,
    weights: options.Weights = None,
    kind: options.WeightKind = None,
    rest: options.Rest = None,
    noise_rate: Annotated[
        str | None,
        typer.Option(
            "--noise-rate",
            metavar="RATE|auto",
            help="Fit labels that may exclude the true one: in this fraction of the rows, or auto to estimate it. Rows "
            "whose labels are probably wrong get weights for the labels proposed instead. If no labels are suspected, "
            "the fit is the same as without this option.",
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="Learn from the answers of annotators, and fit their accuracies: a table with a line for each, where "
            "'a|b' is a set; or an export of Label Studio (.json) or doccano (.zip).",
        ),
    ] = None,
    row: Annotated[
        str, typer.Option("--row", metavar="COLUMN", help="Answers: column of the names of the rows, in both tables.")
    ] = "row",
    annotator: Annotated[
        str | None,
        typer.Option("--annotator", metavar="COLUMN", help="Answers: column of the annotators; by default annotator."),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer",
            metavar="COLUMN",
            help="Answers: column of the labels, by default answer; or tag of Label Studio, by default the only one.",
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold",
            metavar="COLUMN",
            help="Answers: column of TABLE with known labels of some rows, which are used in training.",
        ),
    ] = None,
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
    online: Annotated[
        bool, typer.Option("--online", help="Learn in batches from data that may be larger than memory.")
    ] = False,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Online: number of passes over the data.")] = 1,
    batch_rows: Annotated[
        int, typer.Option("--batch-rows", min=1, help="Online: maximum number of rows in memory.")
    ] = 10_000,
    hash_bits: Annotated[
        int,
        typer.Option("--hash-bits", min=1, max=30, help="Online: hash words and categories to 2^BITS feature columns."),
    ] = 18,
    checkpoint_rows: Annotated[
        int | None,
        typer.Option("--checkpoint-rows", min=1, help="Online: save a checkpoint after this number of rows."),
    ] = None,
    checkpoint_seconds: Annotated[
        float,
        typer.Option(
            "--checkpoint-seconds", min=0, help="Online: save a checkpoint after this number of seconds; 0 for never."
        ),
    ] = 60.0,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--restart",
            help="Online: resume from the checkpoint of a stopped run, or delete it and start again.",
        ),
    ] = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fit a model on a table with partial, weighted or missing labels.

    With --method best, Ctrl-C ends the comparison and fits the best method so far; a second Ctrl-C ends the command.

    Writes model.skops, report.html, training_labels.csv (the most probable label of each row) and summary.json, and
    replaces older files of these names; with --answers also annotators.csv. With --online, writes model.skops,
    summary.json and curve.csv (the running loss), and saves checkpoint.npz while it runs.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.cli.answers import AnswerOptions, print_annotators
        from oneof.cli.inputs import ReadOptions
        from oneof.cli.online import OnlineOptions
        from oneof.cli.training import train
        from oneof.io import Overrides, stem_of

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
        given = None
        if answers is None:
            _check_unused(context, ("row", "annotator", "answer", "gold"), "needs --answers: add it")
        else:
            remedy = ": name known labels by --gold" if labels else ""
            _check_unused(
                context,
                ("labels", "weighted", "weights", "online", "noise_rate"),
                f"cannot be combined with --answers{remedy}",
            )
            given = AnswerOptions(answers, row, annotator, answer, gold)
        read_options = ReadOptions(
            options.split(labels),
            truth,
            separator,
            named,
            overrides,
            stop_words,
            stem,
            weighting,
            given,
            table=table_options,
            format=format,
            sheet=sheet,
        )
        rate = _read_noise_rate(noise_rate)
        if online:
            _check_unused(
                context, ("noise_rate",), "cannot be combined with --online, which has no held-out predictions"
            )
            _check_unused(
                context,
                ("folds", "budget", "seed", "sheet"),
                "cannot be combined with --online, which reads the rows in order",
            )
            online_options = OnlineOptions(
                format, epochs, batch_rows, hash_bits, checkpoint_rows, checkpoint_seconds or None, resume
            )
            _fit_online(table, read_options, online_options, method=method, out=out, json=json)
            return
        _check_unused(context, _ONLY_ONLINE, "needs --online: add it")
        if method.lower() != "best":
            _check_unused(context, ("budget",), "needs --method best: add it")
        folder = out or Path(f"{stem_of(table)}-oneof")
        training = train(
            table,
            read_options,
            method=method,
            folder=folder,
            folds=folds,
            budget=budget if method.lower() == "best" else None,
            seed=seed,
            noise_rate=rate,
            progress_factory=terminal.progress,
            note=terminal.print_note,
            show_plan=_print_plan,
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
        terminal.print_comparison(f"Held-out estimate ({training.comparison.evaluation})", training.comparison)
        if training.annotators is not None:
            print_annotators(training.annotators)
        terminal.print_line(f"{summary['method']} was fitted on all rows. Files:")
        for file in summary["files"]:
            terminal.print_line(f"  {file}")


def _read_noise_rate(text: str | None) -> float | str | None:
    """Return the number, "auto", or None."""
    from oneof.errors import InputError
    from oneof.solvers.noise import MAX_RATE

    if text is None or text.strip().lower() == "auto":
        return text and "auto"
    try:
        rate = float(text)
    except ValueError:
        rate = float("nan")
    if not 0 <= rate <= MAX_RATE:
        raise InputError(f"--noise-rate must be auto, or a number from 0 to {MAX_RATE}; got {text!r}.")
    return rate


def _print_plan(plan: "Plan") -> None:
    """Write the plan to standard error, so that standard output has the results only."""
    for line in plan.lines():
        terminal.print_progress(line)


_ONLY_ONLINE = ("epochs", "batch_rows", "hash_bits", "checkpoint_rows", "checkpoint_seconds", "resume")


def _count_rows(summary: Mapping[str, Any]) -> str:
    """Format the numbers of exact, partial and unlabeled rows of a summary, and of partial rows with weights."""
    weighted = f" ({summary['weighted']:,} weighted)" if summary["weighted"] else ""
    return f"{summary['exact']:,} exact, {summary['partial']:,} partial{weighted}, {summary['unlabeled']:,} unlabeled"


def _check_unused(context: typer.Context, names: tuple[str, ...], reason: str) -> None:
    """Raise if one of these options was given on the command line."""
    from oneof.errors import InputError

    for name in names:
        if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE":
            raise InputError(f"--{name.replace('_', '-')} {reason}.")


def _fit_online(
    table: Path,
    read_options: "ReadOptions",
    online_options: "OnlineOptions",
    *,
    method: str,
    out: Path | None,
    json: bool,
) -> None:
    """Fit an online method on a stream and print its progressive validation."""
    from oneof.cli import online

    folder = out or online.default_folder(table)
    try:
        result = online.fit_online(
            table, read_options, online_options, method=method, folder=folder, progress=terminal.progress
        )
    except KeyboardInterrupt:
        sentence = online.resume_hint(folder, sys.argv[1:])
        if sentence is not None:
            terminal.print_note(sentence)
        raise
    for sentence in result.fit.notes:
        terminal.print_note(sentence)
    summary = result.summary
    if json:
        terminal.print_json(summary | {"files": result.files})
        return
    terminal.print_line(
        f"{summary['stream']}: {summary['rows']:,} rows ({_count_rows(summary)}), {len(summary['classes'])} classes"
        + (f"; resumed after {summary['resumed_at']:,} rows." if summary["resumed_at"] else ".")
    )
    terminal.print_windows("Progressive validation (ambiguous 0-1 loss)", result.fit.validation)
    terminal.print_line(f"{summary['method']} was fitted online. Files:")
    for file in result.files:
        terminal.print_line(f"  {file}")
