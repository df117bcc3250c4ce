"""`oneof predict`: predict a label for every row of a table; `predict_online` predicts in batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options, terminal
from oneof.cli.predict_online import predict_stream
from oneof.cli.predictions import (
    check_output,
    check_stemmer,
    label_columns,
    load_model,
    no_probabilities,
    print_rates,
    to_frame,
    weight_arguments,
)
from oneof.errors import InputError, OneofError

if TYPE_CHECKING:
    import polars as pl

    from oneof.io import Table
    from oneof.persistence import SavedModel

NAME = "predict"
EXAMPLES = """\b
Examples:
  oneof predict birds-oneof/model.skops new.csv
  oneof predict birds-oneof/model.skops new.csv --out - | head
  oneof predict birds-oneof/model.skops new.csv --as-labels
"""


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by oneof fit (model.skops).")],
    table: options.Stream,
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="CSV file to write, or - for standard output; by default TABLE-predictions.csv.",
        ),
    ] = None,
    truth: options.Truth = None,
    as_labels: Annotated[
        bool,
        typer.Option(
            "--as-labels",
            help="Add the column `labels` with the probabilities as text, such as 'finch:0.7|wren:0.3', which `fit "
            "--labels labels --weighted --kind posterior` reads.",
        ),
    ] = False,
    format: options.Format = None,  # noqa: A002 - the option's name
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict a label for every row of a table.

    The table must have the feature columns of the training table; other columns are ignored. If it also has the label
    columns, the covering rate is printed. An older file of predictions is replaced. A model of fit
    --online predicts in batches, so the table may be larger than memory.
    """
    with terminal.handle_errors(debug=debug):
        saved = load_model(model)
        if saved.summary.get("online") and table.suffix.lower() != ".npz":
            if as_labels:
                raise no_probabilities(saved)
            predict_stream(saved, model, table, out=out, truth=truth, format=format, json=json)
            return
        if format is not None:
            raise InputError("--format needs a model of `oneof fit --online`: remove the option.")
        result = predict(saved, table, truth=truth, as_labels=as_labels)
        for sentence in result.notes:
            terminal.print_note(sentence)
        summary = {
            "table": str(table),
            "model": str(model),
            "method": result.method,
            "rows": result.frame.height,
            "covering_rate": result.covering_rate,
            "accuracy": result.accuracy,
        }
        if out == "-":
            if json:
                terminal.print_json(summary | {"predictions": result.frame.to_dicts()})
            else:
                typer.echo(result.frame.write_csv(), nl=False)
            return
        path = Path(out or f"{table.stem}-predictions.csv")
        write_predictions(path, result, read=[table, model])
        if json:
            terminal.print_json(summary | {"file": str(path)})
            return
        terminal.print_line(f"{result.method} predicted {result.frame.height} labels. File: {path}")
        print_rates(result.covering_rate, result.accuracy)


@dataclass(frozen=True)
class PredictionResult:
    """Result of `predict`.

    Attributes
    ----------
    frame : polars.DataFrame
        Row (from 0), label, confidence, and a probability or score for each class; on request the column `labels`.
    method : str
    covering_rate : float or None
        None unless the table has the label columns of the training table.
    accuracy : float or None
        None unless a column of true labels was given.
    notes : list of str
    """

    frame: "pl.DataFrame"
    method: str
    covering_rate: float | None
    accuracy: float | None
    notes: list[str]


def predict(
    model: "SavedModel", table_file: Path, *, truth: str | None = None, as_labels: bool = False
) -> PredictionResult:
    """Predict a label for every row of a table; `as_labels` adds the probabilities as the text of weighted labels."""
    from oneof.io import Column, align_columns, read_table, read_truth

    columns = [Column(name, kind) for name, kind in model.columns]  # type: ignore[arg-type]  # see `load_model`
    verbatim = {*label_columns(model), *([truth] if truth else [])}
    as_text = {column.name for column in columns if column.kind in ("category", "text")}
    table = read_table(table_file, as_text=as_text - verbatim, verbatim=verbatim)
    true_labels = None if truth is None else read_truth(table, truth, model.pipeline.classes_)
    rows = align_columns(table.frame, columns, table_file)
    labels = model.pipeline.predict(rows)
    notes = check_stemmer(model)
    return PredictionResult(
        frame=to_frame(model, rows, labels, as_labels=as_labels),
        method=model.method,
        covering_rate=_covering_rate(model, table, labels, notes),
        accuracy=None if true_labels is None else _accuracy(true_labels, labels),
        notes=notes,
    )


def write_predictions(path: Path, result: PredictionResult, *, read: Sequence[Path]) -> None:
    """Write the predictions as CSV atomically; an older file is replaced unless it is an input file."""
    from oneof.files import atomic_write

    check_output(path, read=read)
    with atomic_write(path) as temporary:
        result.frame.write_csv(temporary)


def _accuracy(truth: Any, labels: Any) -> float:
    """Return the accuracy over the rows with a true label."""
    import numpy as np

    known = np.asarray([label is not None for label in truth.tolist()])
    return float(np.mean(np.asarray(labels)[known] == truth[known]))


def _covering_rate(model: "SavedModel", table: "Table", labels: Any, notes: list[str]) -> float | None:
    """Return the covering rate if the table has labels; labels that cannot be read only add a note."""
    from oneof.candidates import CandidateSets
    from oneof.io import read_labels
    from oneof.metrics import covering_rate

    if not model.label_columns or not set(label_columns(model)) <= set(table.frame.columns):
        return None
    several = len(model.label_columns) > 1
    try:
        sets = read_labels(
            table,
            model.label_columns,
            separator=model.summary.get("separator", "|"),
            classes=None if several else [str(label) for label in model.classes],
            **weight_arguments(model),
        )
    except OneofError as error:
        notes.append(f"no covering rate: {error}")
        return None
    # The sets were read over the classes as text; the classes of the model have their own type.
    return covering_rate(CandidateSets.from_weights(sets.weights, model.pipeline.classes_), labels)
