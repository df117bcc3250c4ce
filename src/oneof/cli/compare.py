"""`oneof compare`: the methods beside each other."""

from typing import Annotated

import typer

from oneof.cli import options
from oneof.cli.guard import guarded

NAME = "compare"
EXAMPLES = """\b
Examples:
  oneof compare birds.csv --labels species
  oneof compare birds.csv --labels species --truth checked --json
"""


def run(
    table: options.TableFile,
    *,
    labels: options.Labels,
    truth: options.Truth = None,
    method: Annotated[
        str, typer.Option("--method", help="Name of one method, or auto: all but slow ones, as PLGP.")
    ] = "auto",
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
    """Cross-validate the methods on a table; nothing is written.

    The covering rate is how often a prediction for a held-out row lies in the row's set of labels.
    """
    with guarded(debug=debug):
        from oneof.cli import terminal
        from oneof.cli.prepared import Reading, find_methods, prepare
        from oneof.comparison import compare
        from oneof.io import Overrides

        overrides = Overrides(*map(options.split, (numeric, categorical, text, drop)))
        named = None if classes is None else options.split([classes])
        reading = Reading(options.split(labels), truth, separator, named, overrides, stop_words, stem)
        prepared = prepare(table, reading)
        methods, notes = find_methods(prepared, method, seed)
        with terminal.progress("Comparing methods") as progress:
            comparison = compare(
                prepared.frame,
                prepared.candidates,
                methods,
                cv=folds,
                truth=prepared.truth,
                random_state=seed,
                progress=progress,
            )
        for sentence in (*prepared.notes, *notes):
            terminal.note(sentence)
        if json:
            terminal.show_json(comparison.to_dict())
        else:
            terminal.show_comparison(f"{table}, on rows held out ({folds} folds)", comparison)
