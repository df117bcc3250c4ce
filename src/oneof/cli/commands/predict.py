"""`oneof predict`: predict a label for every row of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from oneof.cli import options
from oneof.cli.output import terminal
from oneof.cli.prediction.options import PredictOptions

if TYPE_CHECKING:
    from oneof.cli.prediction.predictions import Prediction

NAME = "predict"
MAX_NAMED_COLUMNS = 8
"""Number of columns with unreadable cells that are printed; the JSON has all."""
EXAMPLES = """\b
Examples:
  oneof predict birds-oneof/model.skops new.csv
  oneof predict birds-oneof/model.skops new.csv --out - | head
  oneof predict birds-oneof/model.skops new.csv --as-labels
  oneof predict birds-oneof/model.skops new.csv --coverage 0.9
"""


def run(
    model: options.ModelFile, table: options.Stream, *, predict_options: PredictOptions, json: options.Json = False
) -> None:
    """Predict a label for every row of a table.

    The table must have the feature columns of the training table; other columns are ignored. A column that is absent
    from JSON lines is missing values. If the table also has the label columns, the covering rate is printed. An older
    file of predictions is replaced. A model of fit --online predicts in batches, so the table may be larger than
    memory.
    """
    from oneof.cli.prediction.predictions import load_model, predict, write_predictions
    from oneof.errors import InputError
    from oneof.io import stem_of

    if table.suffix.lower() == ".skops" and model.suffix.lower() != ".skops":
        raise InputError(f"the model comes before the table: write `oneof predict {table} {model}`.")
    predict_options.set_options()  # an invalid coverage is an error before the files are read
    saved, out = load_model(model), predict_options.out
    prediction, path = predict(saved, table, predict_options), Path(out or f"{stem_of(table)}-predictions.csv")
    content: dict[str, Any] = {}
    if out != "-":
        write_predictions(path, prediction, model=model)
        content = {"file": str(path)}
    elif json:
        content = {"predictions": [row for frame in prediction.frames() for row in frame.to_dicts()]}
    else:
        for number, frame in enumerate(prediction.frames()):
            typer.echo(frame.write_csv(include_header=number == 0), nl=False)
    terminal.print_notes(prediction.notes)
    if json:
        terminal.print_json({"table": prediction.name, "model": str(model), **prediction.to_dict(), **content})
    elif out != "-":
        terminal.print_line(f"{saved.method} predicted {prediction.rows} labels. File: {path}")
        _print_rates(prediction)


def _print_rates(prediction: "Prediction") -> None:
    """Print the unreadable cells of each column, the rates if the table has labels, and the prediction sets."""
    counts = prediction.unreadable.counts
    if total := sum(counts.values()):
        cells = "unreadable cell is a missing value" if total == 1 else "unreadable cells are missing values"
        listed = [f"{name} ({n:,})" for name, n in sorted(counts.items(), key=lambda item: -item[1])]
        more = f" and {len(listed) - MAX_NAMED_COLUMNS:,} more columns" * (len(listed) > MAX_NAMED_COLUMNS)
        terminal.print_line(f"{total:,} {cells}: {', '.join(listed[:MAX_NAMED_COLUMNS])}{more}.")
    if prediction.covering_rate is not None:
        terminal.print_line(f"Covering rate: {terminal.format_percent(prediction.covering_rate)}")
    if prediction.accuracy is not None:
        rows = f"{prediction.n_true:,} row{'s' * (prediction.n_true != 1)} with a true label"
        terminal.print_line(f"Accuracy: {terminal.format_percent(prediction.accuracy)} of {rows}")
    if prediction.sets is not None:
        from oneof.cli.prediction.sets import print_sets

        print_sets(prediction.sets)
