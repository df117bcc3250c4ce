"""`oneof predict`: a label for every row of another table."""

from pathlib import Path
from typing import Annotated

import typer

from oneof.cli import options
from oneof.cli.guard import guarded

NAME = "predict"
EXAMPLES = """\b
Examples:
  oneof predict birds-oneof/model.skops new.csv
  oneof predict birds-oneof/model.skops new.csv --out - | head
"""


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="model.skops, as oneof fit writes it.")],
    table: options.TableFile,
    *,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="CSV to write; by default TABLE-predictions.csv, - is the screen."),
    ] = None,
    truth: options.Truth = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict a label for every row of a table.

    It needs the columns that were features in training; others are ignored. Where it also has the columns of labels,
    the covering rate is told. An older file of predictions is replaced.
    """
    with guarded(debug=debug):
        from oneof.cli import prediction, terminal

        predicted = prediction.predict(model, table, truth=truth)
        for sentence in predicted.notes:
            terminal.note(sentence)
        facts = {
            "table": str(table),
            "model": str(model),
            "method": predicted.method,
            "rows": predicted.frame.height,
            "covering_rate": predicted.covering_rate,
            "accuracy": predicted.accuracy,
        }
        if out == "-":
            if json:
                terminal.show_json(facts | {"predictions": predicted.frame.to_dicts()})
            else:
                typer.echo(predicted.frame.write_csv(), nl=False)
            return
        path = Path(out or f"{table.stem}-predictions.csv")
        prediction.write_predictions(path, predicted, read=[table, model])
        if json:
            terminal.show_json(facts | {"file": str(path)})
            return
        terminal.say(f"{predicted.method} predicted {predicted.frame.height} labels. Written: {path}")
        if predicted.covering_rate is not None:
            terminal.say(f"Covering rate: {terminal.percent(predicted.covering_rate)}")
        if predicted.accuracy is not None:
            terminal.say(f"Accuracy: {terminal.percent(predicted.accuracy)}")
