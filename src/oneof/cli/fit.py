"""`oneof fit`: from a table to a model."""

from pathlib import Path
from typing import Annotated

import typer

from oneof.cli import options
from oneof.cli.guard import guarded

NAME = "fit"
EXAMPLES = """\b
Examples:
  oneof fit birds.csv --labels species
  oneof fit birds.csv --labels species --method best
  oneof fit birds.csv --labels species --separator ';' --drop id --truth checked
  oneof fit letters.csv --labels topic --text body --stop-words english --stem english
  oneof fit votes.parquet --labels cat,dog,horse --method CLPL --out model
"""


def run(
    table: options.TableFile,
    *,
    labels: options.Labels,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="Name of a method; best, of all but slow ones as PLGP; or auto: LOORidge on ambiguous sets without "
            "text columns, if at most 6,000 rows, but at least half of all, have a label; best elsewhere.",
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
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Learn from a table whose labels may be ambiguous or missing.

    Writes model.skops, report.html, training_labels.csv (the label that each row most probably has) and summary.json;
    older files of these names are replaced.
    """
    with guarded(debug=debug):
        from oneof.cli import terminal
        from oneof.cli.prepared import Reading
        from oneof.cli.training import command_line, train
        from oneof.tables import Overrides

        overrides = Overrides(*map(options.split, (numeric, categorical, text, drop)))
        named = None if classes is None else options.split([classes])
        reading = Reading(options.split(labels), truth, separator, named, overrides, stop_words, stem)
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
            f"{facts['unlabelled']} unlabelled), {len(facts['classes'])} classes; "
            f"columns with features: {len(facts['features'])}."
        )
        terminal.show_comparison(f"On rows held out ({folds} folds)", trained.comparison)
        terminal.say(f"{facts['method']} was fitted on all rows. Written:")
        for file in facts["files"]:
            terminal.say(f"  {file}")
