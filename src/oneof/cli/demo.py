"""`oneof demo`: the whole way once, on data that come with scikit-learn."""

from pathlib import Path
from typing import Annotated

import typer

from oneof.cli import options
from oneof.cli.guard import guarded

NAME = "demo"
EXAMPLES = """\b
Examples:
  oneof demo
  oneof demo --out digits --json
"""


def run(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write to.")] = Path("oneof-demo"),
    seed: options.Seed = 0,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Learn digits from ambiguous labels, with no file needed.

    The table has rows with one label, rows with several and rows with none; the result is judged by the true labels.
    Fitting and predicting are those of the commands fit and predict.
    """
    with guarded(debug=debug):
        from oneof.cli import terminal
        from oneof.cli.showing import show_digits

        shown = show_digits(out, seed=seed, watch=terminal.progress)
        if json:
            terminal.show_json(shown.facts)
            return
        terminal.say(f"Handwritten digits with ambiguous labels: {shown.training_file}")
        terminal.show_comparison("On training rows held out (5 folds)", shown.trained.comparison)
        columns = ["", "covering rate", "accuracy"]
        rows = [[name, *map(terminal.percent, shares)] for name, shares in shown.results.items()]
        terminal.show_table(
            f"{shown.trained.comparison.best_method} on {shown.n_test} rows it has not seen", columns, rows
        )
        terminal.say("The same by hand:")
        for line in shown.commands:
            terminal.say(f"  {line}")
        terminal.say(f"Read {out / 'report.html'} next.")
