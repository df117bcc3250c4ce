"""`oneof predict`: predict a label for every row of a table; `predict_online` predicts in batches."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options
from oneof.cli.option_groups import CoverageGroup, FileGroup
from oneof.cli.output import terminal
from oneof.cli.prediction.online import predict_stream
from oneof.cli.prediction.predictions import (
    check_output,
    check_truth,
    identifiers,
    label_columns,
    load_model,
    no_probabilities,
    print_rates,
    print_unreadable,
    to_frame,
    training_file_notes,
    weight_arguments,
    written_separator,
)
from oneof.errors import InputError, OneofError

if TYPE_CHECKING:
    import polars as pl

    from oneof.candidates import CandidateSets
    from oneof.cli.prediction.sets import SetOptions
    from oneof.io import Table, TableOptions
    from oneof.persistence import SavedModel

NAME = "predict"
EXAMPLES = """\b
Examples:
  oneof predict birds-oneof/model.skops new.csv
  oneof predict birds-oneof/model.skops new.csv --out - | head
  oneof predict birds-oneof/model.skops new.csv --as-labels
  oneof predict birds-oneof/model.skops new.csv --coverage 0.9
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
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMN",
            help="Copy a column of the table to the predictions, such as the name of a file. Repeat the option, or "
            "separate names by commas. Columns that identify the rows are copied without the option, unless they were "
            "dropped by `fit`.",
        ),
    ] = None,
    as_labels: Annotated[
        bool,
        typer.Option(
            "--as-labels",
            help="Add the column `labels` with the probabilities as text, such as 'finch:0.7|wren:0.3', which `fit "
            "--labels labels --weighted --kind posterior` reads.",
        ),
    ] = False,
    coverage_group: CoverageGroup,
    file_group: FileGroup,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict a label for every row of a table.

    The table must have the feature columns of the training table; other columns are ignored. A column that is absent
    from JSON lines is missing values. If the table also has the label columns, the covering rate is printed. An older
    file of predictions is replaced. A model of fit --online predicts in batches, so the table may be larger than
    memory.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.io import is_whole_table, stem_of

        if table.suffix.lower() == ".skops" and model.suffix.lower() != ".skops":
            raise InputError(f"the model comes before the table: write `oneof predict {table} {model}`.")
        set_options, table_options, saved = coverage_group.set_options(), file_group.table_options(), load_model(model)
        if saved.summary.get("online") and not is_whole_table(table):
            if table_options.sheet is not None:
                raise InputError("--sheet needs a spreadsheet: remove the option.")
            if as_labels:
                raise no_probabilities(saved)
            for option, given in (("--coverage", set_options), ("--keep", keep)):
                if given:
                    raise InputError(f"{option} needs a model of `oneof fit` without --online.")
            predict_stream(saved, model, table, out=out, truth=truth, json=json, table_options=table_options)
            return
        result = predict(
            saved,
            table,
            truth=truth,
            keep=options.read_names("--keep", keep),
            as_labels=as_labels,
            sets=set_options,
            table_options=table_options,
        )
        for sentence in result.notes:
            terminal.print_note(sentence)
        summary = {"table": str(table), "model": str(model), **result.to_dict()}
        if out == "-":
            if json:
                terminal.print_json(summary | {"predictions": result.frame.to_dicts()})
            else:
                typer.echo(result.frame.write_csv(), nl=False)
            return
        path = Path(out or f"{stem_of(table)}-predictions.csv")
        write_predictions(path, result, read=[table, model])
        if json:
            terminal.print_json(summary | {"file": str(path)})
        else:
            _print(result, path)


def _print(result: "PredictionResult", path: Path) -> None:
    """Print the number of predictions, and the rates if the table has labels."""
    from oneof.cli.prediction.sets import print_sets

    terminal.print_line(f"{result.method} predicted {result.frame.height} labels. File: {path}")
    print_unreadable(result.unreadable)
    print_rates(result.covering_rate, result.accuracy, result.n_true)
    if result.sets is not None:
        print_sets(result.sets)


@dataclass(frozen=True)
class PredictionResult:
    """Result of `predict`.

    Attributes
    ----------
    frame : polars.DataFrame
        Row (from 0), the columns that are kept or identify the rows, label, confidence, and a probability or score for
        each class; on request the columns `labels`, `set` and `set_size`.
    method : str
    covering_rate : float or None
        None unless the table has the label columns of the training table.
    accuracy : float or None
        None unless a column of true labels was given.
    notes : list of str
    unreadable : dict
        Number, rows and texts of the cells of each column that are not of its kind, in the types of JSON.
    new_categories : dict
        The same for the cells with a category that no row of training has.
    sets : dict or None
        Nominal coverage and mean size of the prediction sets, and their coverage if there are labels.
    n_true : int
        Number of rows with a true label.
    """

    frame: "pl.DataFrame"
    method: str
    covering_rate: float | None
    accuracy: float | None
    notes: list[str]
    unreadable: dict[str, Any]
    new_categories: dict[str, Any]
    sets: dict[str, Any] | None = None
    n_true: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result without the predictions in the types of JSON."""
        return {
            "method": self.method,
            "rows": self.frame.height,
            "covering_rate": self.covering_rate,
            "accuracy": self.accuracy,
            "n_true": self.n_true,
            "unreadable_cells": self.unreadable,
            "new_categories": self.new_categories,
        } | ({} if self.sets is None else {"prediction_sets": self.sets})


def predict(
    model: "SavedModel",
    table_file: Path,
    *,
    truth: str | None = None,
    keep: Sequence[str] = (),
    as_labels: bool = False,
    sets: "SetOptions | None" = None,
    table_options: "TableOptions | None" = None,
) -> PredictionResult:
    """Predict a label for every row of a table.

    `keep` are columns of the table to copy, `as_labels` adds the probabilities as the text of weighted labels, `sets`
    the prediction sets. The tokens of missing values of `table_options` are joined to those of the model. Cells that
    are not of the kind of their column, and features that no object of JSON lines has, are missing values, with a note,
    unless `table_options.strict`.
    """
    from oneof.cli.tables.inputs import insert_identifiers
    from oneof.io import new_label_note, read_truth
    from oneof.io.columns import match_columns
    from oneof.io.findings import describe, dialect_findings
    from oneof.metrics import covering_rate
    from oneof.persistence.tables import align_rows, naming_cells, open_table

    named = {*label_columns(model), *([truth] if truth else [])}
    table = open_table(model, table_file, table_options, as_text=[*identifiers(model), *keep], labels=named)
    copied = match_columns(keep, table.frame.columns, table.path)
    true_labels = None if truth is None else read_truth(table, truth, model.pipeline.classes_, allows_new=True)
    check_truth(model, truth)
    aligned = align_rows(model, table, table_options)
    with naming_cells(model, aligned.rows, table.path):
        labels = model.pipeline.predict(aligned.rows)
    notes = [*describe(dialect_findings(table.dialect)), *aligned.notes]
    notes += training_file_notes(model, table_file, has_sets=sets is not None)
    frame = to_frame(model, aligned.rows, labels, as_labels=as_labels)
    known, summary = _read_known_labels(model, table, notes), None
    if sets is not None:
        from oneof.cli.prediction.sets import describe_sets, to_columns
        from oneof.model_selection import get_proba
        from oneof.persistence.prediction_sets import check_calibrated, describe_calibration, predict_sets

        check_calibrated(model, "--coverage needs")
        predicted, set_notes = predict_sets(model, get_proba(model.pipeline, aligned.rows).proba, sets)
        notes += set_notes
        frame = frame.hstack(to_columns(predicted, written_separator(model)))
        summary = describe_sets(predicted, known if true_labels is None else true_labels, sets)
        summary |= {"calibration": describe_calibration(model, sets)}
    for name in copied:
        if name in frame.columns:
            raise InputError(f"--keep {name}: the predictions have a column {name!r}. Rename the column of the table.")
        if table.frame[name].dtype.is_nested():
            raise InputError(f"--keep {name}: a column of lists cannot be written to CSV. Leave it out.")
    frame = insert_identifiers(frame, table.frame, dict.fromkeys([*copied, *identifiers(model)]))
    given = [] if true_labels is None else [label for label in true_labels.tolist() if label is not None]
    classes = set(model.pipeline.classes_.tolist())
    if new_labels := Counter(label for label in given if label not in classes):
        notes.append(new_label_note(new_labels, len(given)))
    return PredictionResult(
        frame=frame,
        method=model.method,
        covering_rate=None if known is None else covering_rate(known, labels),
        accuracy=None if true_labels is None else _accuracy(true_labels, labels),
        notes=notes,
        unreadable=aligned.unreadable.to_dict(),
        new_categories=aligned.new_categories.to_dict(),
        sets=summary,
        n_true=len(given),
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


def _read_known_labels(model: "SavedModel", table: "Table", notes: list[str]) -> "CandidateSets | None":
    """Return the labels of the table if it has any; labels that cannot be read only add a note."""
    from oneof.candidates import CandidateSets
    from oneof.io import UnreadableCells, describe, read_labels

    if not model.label_columns or not set(label_columns(model)) <= set(table.frame.columns):
        return None
    several, unreadable = len(model.label_columns) > 1, UnreadableCells()
    try:
        sets = read_labels(
            table,
            model.label_columns,
            separator=model.summary.get("separator", "|"),
            classes=None if several else [str(label) for label in model.classes],
            **weight_arguments(model),
            unreadable=unreadable,
        )
    except OneofError as error:
        notes.append(f"no covering rate: {error}")
        return None
    notes += describe(unreadable.findings("unreadable labels"))
    # The sets were read over the classes as text; the classes of the model have their own type.
    return CandidateSets.from_weights(sets.weights, model.pipeline.classes_)
