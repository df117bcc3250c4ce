"""`oneof predict`: predict a label for every row of a table.

oneof predict birds-oneof/model.skops new.csv
oneof predict birds-oneof/model.skops new.csv --out - | head
oneof predict birds-oneof/model.skops new.csv --as-labels
oneof predict birds-oneof/model.skops new.csv --coverage 0.9
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli import options, terminal
from oneof.cli.options import PredictOptions

if TYPE_CHECKING:
    from oneof.cli.prediction import Prediction


def run(
    model: options.ModelFile, table: options.Stream, *, predict_options: PredictOptions, json: options.Json = False
) -> None:
    """Predict a label for every row of a table.

    The table must have the feature columns of the training table; other columns are ignored. A column that is absent
    from JSON lines is missing values. If the table also has the label columns, the covering rate is printed. An older
    file of predictions is replaced. A model of fit --online predicts in batches, so the table may be larger than
    memory.
    """
    from oneof.cli.prediction import load_model, predict
    from oneof.cli.terminal import check_outputs, new_file
    from oneof.errors import InputError
    from oneof.files import check_not_input
    from oneof.io import stem_of

    if table.suffix.lower() == ".skops" and model.suffix.lower() != ".skops":
        raise InputError(f"the model comes before the table: write `oneof predict {table} {model}`.")
    predict_options.set_options()  # an invalid coverage is an error before the files are read
    out, prints = Path(predict_options.out or f"{stem_of(table)}-predictions.csv"), predict_options.out == "-"
    if not prints:
        check_outputs({"--out": [out]}, [table, model])
    prediction = predict(load_model(model), table, predict_options)
    content: dict[str, Any] = {} if prints else {"file": str(out)}
    if prints and json:
        content = {"predictions": [row for frame in prediction.frames() for row in frame.to_dicts()]}
    elif prints:
        prediction.write(sys.stdout.write)
    else:
        check_not_input(out, prediction.files)
        with new_file(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            prediction.write(file.write)
    terminal.print_note(*prediction.notes)
    if json:
        terminal.print_json({"table": prediction.name, "model": str(model), **prediction.to_dict(), **content})
    elif not prints:
        terminal.print_line(f"{prediction.model.method} predicted {prediction.rows} labels. File: {out}")
        _print_rates(prediction)


def _print_rates(prediction: "Prediction") -> None:
    """Print the rates if the table has labels, and the prediction sets."""
    if prediction.covering_rate is not None:
        terminal.print_line(f"Covering rate: {terminal.format_percent(prediction.covering_rate)}")
    if prediction.accuracy is not None:
        rows = f"{prediction.n_true:,} row{'s' * (prediction.n_true != 1)} with a true label"
        terminal.print_line(f"Accuracy: {terminal.format_percent(prediction.accuracy)} of {rows}")
    if prediction.sets is not None:
        from oneof.cli.prediction import print_sets

        print_sets(prediction.sets)
