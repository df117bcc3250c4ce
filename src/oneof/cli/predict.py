"""`oneof predict`: a label for every row of another table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options
from oneof.cli.guard import guarded
from oneof.errors import InputError

if TYPE_CHECKING:
    from oneof.persistence import SavedModel

NAME = "predict"
EXAMPLES = """\b
Examples:
  oneof predict birds-oneof/model.skops new.csv
  oneof predict birds-oneof/model.skops new.csv --out - | head
"""


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="model.skops, as oneof fit writes it.")],
    table: options.Stream,
    *,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="CSV to write; by default TABLE-predictions.csv, - is the screen."),
    ] = None,
    truth: options.Truth = None,
    format: options.Format = None,  # noqa: A002 - the option's name
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict a label for every row of a table.

    It needs the columns that were features in training; others are ignored. Where it also has the columns of labels,
    the covering rate is told. An older file of predictions is replaced. A model learned online takes tables of any size.
    """
    with guarded(debug=debug):
        from oneof.cli import prediction, terminal

        saved = prediction.load_model(model)
        if saved.summary.get("online") and table.suffix.lower() != ".npz":
            _predict_stream(saved, model, table, out=out, truth=truth, format=format, json=json)
            return
        if format is not None:
            raise InputError("--format is for models of `oneof fit --online`: leave it out.")
        predicted = prediction.predict(saved, table, truth=truth)
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
        _say_rates(predicted.covering_rate, predicted.accuracy)


def _predict_stream(
    saved: "SavedModel",
    model: Path,
    table: Path,
    *,
    out: str | None,
    truth: str | None,
    format: str | None,  # noqa: A002 - the option's name
    json: bool,
) -> None:
    """Predict batch by batch, in memory that does not grow with the table."""
    import sys

    from oneof.cli import terminal
    from oneof.cli.stream_prediction import StreamPrediction, write_frames, write_stream
    from oneof.stream import open_source

    source = open_source(table, format)
    found = StreamPrediction(saved, source, truth=truth)
    rows: list[dict[str, Any]] = []
    stem = "stdin" if str(table) == "-" else Path(table.name.removesuffix(".gz")).stem
    path = Path(out or f"{stem}-predictions.csv")
    if out != "-":
        write_stream(found, path, read=[*source.files, model])
    elif json:
        rows = [row for frame in found.frames() for row in frame.to_dicts()]
    else:
        write_frames(found, sys.stdout)
    for sentence in found.notes:
        terminal.note(sentence)
    if json:
        facts = {
            "table": source.name,
            "model": str(model),
            "method": saved.method,
            "rows": found.rows,
            "covering_rate": found.covering_rate,
            "accuracy": found.accuracy,
        }
        terminal.show_json(facts | ({"predictions": rows} if out == "-" else {"file": str(path)}))
    elif out != "-":
        terminal.say(f"{saved.method} predicted {found.rows} labels. Written: {path}")
        _say_rates(found.covering_rate, found.accuracy)


def _say_rates(covering_rate: float | None, accuracy: float | None) -> None:
    from oneof.cli import terminal

    if covering_rate is not None:
        terminal.say(f"Covering rate: {terminal.percent(covering_rate)}")
    if accuracy is not None:
        terminal.say(f"Accuracy: {terminal.percent(accuracy)}")
