"""`oneof fit`: from a table to a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneof.cli import options
from oneof.cli.guard import guarded

if TYPE_CHECKING:
    from oneof.cli.online import OnlineOptions
    from oneof.cli.prepared import Reading

NAME = "fit"
EXAMPLES = """\b
Examples:
  oneof fit birds.csv --labels species
  oneof fit birds.csv --labels species --method best
  oneof fit birds.csv --labels species --separator ';' --drop id --truth checked
  oneof fit letters.csv --labels topic --text body --stop-words english --stem english
  oneof fit votes.parquet --labels cat,dog,horse --method CLPL --out model
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
            help="Name of a method; best, of all but slow ones as PLGP; or auto: LOORidge where sets are ambiguous, "
            "and at most 6,000 rows, but at least half of all, have a label; best elsewhere.",
        ),
    ] = "auto",
    truth: options.Truth = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to write to; by default TABLE-oneof.")
    ] = None,
    separator: options.Separator = "|",
    classes: options.Classes = None,
    drop: options.Drop = None,
    text: options.Text = None,
    stop_words: options.StopWords = "none",
    stem: options.Stem = "none",
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    online: Annotated[
        bool, typer.Option("--online", help="Learn batch by batch from data that may be larger than memory.")
    ] = False,
    format: options.Format = None,  # noqa: A002 - the option's name
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Online: passes over the data.")] = 1,
    batch_rows: Annotated[
        int, typer.Option("--batch-rows", min=1, help="Online: most rows that are in memory at once.")
    ] = 10_000,
    hash_bits: Annotated[
        int,
        typer.Option("--hash-bits", min=1, max=30, help="Online: words and categories share 2^BITS columns."),
    ] = 18,
    checkpoint_rows: Annotated[
        int | None,
        typer.Option("--checkpoint-rows", min=1, help="Online: keep how far it has come every so many rows."),
    ] = None,
    checkpoint_seconds: Annotated[
        float, typer.Option("--checkpoint-seconds", min=0, help="Online: the same in seconds; 0 for not at all.")
    ] = 60.0,
    resume: Annotated[
        bool | None,
        typer.Option("--resume/--restart", help="Online: go on from what a stopped run left, or throw that away."),
    ] = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Learn from a table whose labels may be ambiguous or missing.

    Writes model.skops, report.html, training_labels.csv (the label that each row most probably has) and summary.json;
    older files of these names are replaced. With --online it writes model.skops, summary.json and the running loss,
    curve.csv, and keeps checkpoint.npz while it runs.
    """
    with guarded(debug=debug):
        from oneof.cli import terminal
        from oneof.cli.online import OnlineOptions
        from oneof.cli.prepared import Reading
        from oneof.cli.training import command_line, train
        from oneof.io import Overrides

        overrides = Overrides(*map(options.split, (numeric, categorical, text, drop)))
        named = None if classes is None else options.split([classes])
        reading = Reading(options.split(labels), truth, separator, named, overrides, stop_words, stem)
        if online:
            _reject(context, ("folds", "seed"), "has no place beside --online, where rows are taken as they come")
            stream = OnlineOptions(
                format, epochs, batch_rows, hash_bits, checkpoint_rows, checkpoint_seconds or None, resume
            )
            _fit_online(table, reading, stream, method=method, out=out, json=json)
            return
        _reject(context, _ONLY_ONLINE, "is for streams: add --online")
        folder = out or Path(f"{table.stem}-oneof")
        again = command_line(table, reading, method=method, folder=folder, folds=folds, seed=seed)
        trained = train(
            table,
            reading,
            method=method,
            folder=folder,
            folds=folds,
            seed=seed,
            command=again,
            watch=terminal.progress,
        )
        for sentence in trained.notes:
            terminal.note(sentence)
        if json:
            terminal.show_json(trained.summary)
            return
        facts = trained.summary
        terminal.say(
            f"{table}: {facts['rows']} rows ({facts['exact']} exact, {facts['partial']} partial, "
            f"{facts['unlabeled']} unlabeled), {len(facts['classes'])} classes; "
            f"columns with features: {len(facts['features'])}."
        )
        terminal.show_comparison(f"On rows held out ({folds} folds)", trained.comparison)
        terminal.say(f"{facts['method']} was fitted on all rows. Written:")
        for file in facts["files"]:
            terminal.say(f"  {file}")


_ONLY_ONLINE = ("format", "epochs", "batch_rows", "hash_bits", "checkpoint_rows", "checkpoint_seconds", "resume")


def _reject(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Raise if an option was given that means nothing here."""
    from oneof.errors import InputError

    for name in names:
        if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE":
            raise InputError(f"--{name.replace('_', '-')} {why}.")


def _fit_online(
    table: Path, reading: "Reading", stream: "OnlineOptions", *, method: str, out: Path | None, json: bool
) -> None:
    import sys

    from oneof.cli import online, terminal

    folder = out or online.default_folder(table)
    try:
        learned = online.fit_online(table, reading, stream, method=method, folder=folder, progress=terminal.progress)
    except KeyboardInterrupt:
        sentence = online.resume_hint(folder, sys.argv[1:])
        if sentence is not None:
            terminal.note(sentence)
        raise
    for sentence in learned.fit.notes:
        terminal.note(sentence)
    if json:
        terminal.show_json(learned.summary | {"files": learned.files})
        return
    facts, counts = learned.summary, learned.fit.validation
    terminal.say(
        f"{facts['stream']}: {facts['rows']:,} rows ({facts['exact']:,} exact, {facts['partial']:,} partial, "
        f"{facts['unlabeled']:,} unlabeled), {len(facts['classes'])} classes"
        + (f"; resumed after {facts['resumed_at']:,} rows." if facts["resumed_at"] else ".")
    )
    terminal.show_windows("Predicted before learned from", counts)
    terminal.say(f"{facts['method']} was learned online. Written:")
    for file in learned.files:
        terminal.say(f"  {file}")
