"""`oneof predict`: predict a label for every row of a table; `predict_online` predicts in batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options, terminal
from oneof.errors import DataError, InputError, ModelFileError, OneofError

if TYPE_CHECKING:
    import polars as pl

    from oneof.io import Dialect, Table
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
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    strict: options.Strict = False,
    format: options.Format = None,  # noqa: A002 - the option's name
    sheet: options.Sheet = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict a label for every row of a table.

    The table must have the feature columns of the training table; other columns are ignored. If it also has the label
    columns, the covering rate is printed. An older file of predictions is replaced. A model of fit
    --online predicts in batches, so the table may be larger than memory.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.io import is_whole_table, make_dialect, stem_of

        dialect = make_dialect(encoding, delimiter, decimal)
        saved = load_model(model)
        if saved.summary.get("online") and not is_whole_table(table):
            if sheet is not None:
                raise InputError("--sheet needs a spreadsheet: remove the option.")
            if as_labels:
                raise _no_probabilities(saved)
            from oneof.cli.predict_online import predict_stream

            predict_stream(
                saved, model, table, out=out, truth=truth, format=format, json=json, dialect=dialect, strict=strict
            )
            return
        result = predict(
            saved,
            table,
            truth=truth,
            as_labels=as_labels,
            dialect=dialect,
            strict=strict,
            format=format,
            sheet=sheet,
        )
        for sentence in result.notes:
            terminal.print_note(sentence)
        summary = {
            "table": str(table),
            "model": str(model),
            "method": result.method,
            "rows": result.frame.height,
            "covering_rate": result.covering_rate,
            "accuracy": result.accuracy,
            "unread_cells": result.unread,
        }
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
            return
        terminal.print_line(f"{result.method} predicted {result.frame.height} labels. File: {path}")
        print_rates(result.covering_rate, result.accuracy)


def print_rates(covering_rate: float | None, accuracy: float | None) -> None:
    """Print the covering rate and the accuracy, unless they are None."""
    if covering_rate is not None:
        terminal.print_line(f"Covering rate: {terminal.format_percent(covering_rate)}")
    if accuracy is not None:
        terminal.print_line(f"Accuracy: {terminal.format_percent(accuracy)}")


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
    unread : dict
        Number, rows and texts of the cells of each column that are not of its kind, in the types of JSON.
    """

    frame: "pl.DataFrame"
    method: str
    covering_rate: float | None
    accuracy: float | None
    notes: list[str]
    unread: dict[str, Any]


def predict(
    model: "SavedModel",
    table_file: Path,
    *,
    truth: str | None = None,
    as_labels: bool = False,
    dialect: "Dialect | None" = None,
    strict: bool = False,
    format: str | None = None,  # noqa: A002 - the option's name
    sheet: str | None = None,
) -> PredictionResult:
    """Predict a label for every row of a table.

    `as_labels` adds the probabilities as the text of weighted labels. Cells that are not of the kind of their column
    are missing values, with a note, unless `strict`.
    """
    from oneof.io import UnreadCells, align_columns, read_table, read_truth, saved_columns
    from oneof.io.findings import dialect_sentences

    columns, form = saved_columns(model.columns, model.summary)
    verbatim = {*label_columns(model), *([truth] if truth else [])}
    as_text = {column.name for column in columns if column.kind != "number"}
    table = read_table(
        table_file,
        as_text=as_text - verbatim,
        verbatim=verbatim,
        dialect=dialect,
        form=form,
        format=format,
        sheet=sheet,
    )
    true_labels = None if truth is None else read_truth(table, truth, model.pipeline.classes_)
    unread = UnreadCells()
    if columns:
        rows = align_columns(table.frame, columns, table_file, form=table.form, unread=None if strict else unread)
    else:
        rows = _sparse_rows(model, table)
    labels = model.pipeline.predict(rows)
    notes = [*dialect_sentences(table.dialect), *table.remarks, *unread.sentences(), *check_stemmer(model)]
    return PredictionResult(
        frame=to_frame(model, rows, labels, as_labels=as_labels),
        method=model.method,
        covering_rate=_covering_rate(model, table, labels, notes),
        accuracy=None if true_labels is None else _accuracy(true_labels, labels),
        notes=notes,
        unread=unread.to_dict(),
    )


def _sparse_rows(model: "SavedModel", table: "Table") -> Any:
    """Return the rows of a sparse matrix for a model without columns."""
    n_features = model.pipeline.n_features_in_
    if table.rows is None:
        raise DataError(f"the model was fitted to a sparse matrix without columns; {table.path} has none.")
    if table.rows.shape[1] != n_features:
        raise DataError(
            f"the model was fitted to {n_features:,} features; the matrix of {table.path} has {table.rows.shape[1]:,}."
        )
    return table.rows


def write_predictions(path: Path, result: PredictionResult, *, read: Sequence[Path]) -> None:
    """Write the predictions as CSV atomically; an older file is replaced unless it is an input file."""
    from oneof.files import atomic_write

    check_output(path, read=read)
    with atomic_write(path) as temporary:
        result.frame.write_csv(temporary)


def check_output(path: Path, *, read: Sequence[Path]) -> None:
    """Raise unless predictions can be written to a file that is not an input file."""
    from oneof.files import check_not_input, check_writable

    check_not_input([path], read)
    if path.is_dir():
        raise DataError(f"cannot write the predictions to {path}: it is a folder. Name a file by --out.")
    if not path.parent.is_dir():
        raise DataError(
            f"cannot write {path}: the folder {path.parent} does not exist. Create it, or choose another --out."
        )
    check_writable(path.parent)


def load_model(path: Path) -> "SavedModel":
    """Load a model file of `oneof fit`."""
    from typing import get_args

    from oneof.io import Kind
    from oneof.persistence import SavedModel, load

    model = load(path)
    if not isinstance(model, SavedModel):
        raise ModelFileError(
            f"{path} has an estimator without the columns of a table. Use a model file of `oneof fit`."
        )
    unknown = [kind for _, kind in model.columns if kind not in get_args(Kind)]
    if unknown:
        raise ModelFileError(f"{path} has an unknown kind of column, {unknown[0]!r}. Update oneof.")
    return model


def check_stemmer(model: "SavedModel") -> list[str]:
    """Return a note if the installed stemmer differs from that of training, since some stems may differ."""
    from oneof.text import stemmer_version

    words = model.summary.get("words")
    trained = words.get("stemmer") if isinstance(words, dict) else None
    if trained is None or trained == (installed := stemmer_version()):
        return []
    return [f"the model was fitted with stems of {trained}; {installed} is installed here and some stems may differ."]


def to_frame(
    model: "SavedModel", rows: Any, labels: Any, *, first_row: int = 0, as_labels: bool = False
) -> "pl.DataFrame":
    """Return row, label, confidence, and a probability or score for each class."""
    import numpy as np
    import polars as pl

    from oneof.model_selection import get_proba

    result = get_proba(model.pipeline, rows)
    confidence = result.proba[np.arange(len(labels)), np.argmax(result.proba, axis=1)]
    columns: dict[str, Any] = {
        "row": range(first_row, first_row + len(labels)),
        "label": labels.tolist(),
        "confidence": confidence,
    }
    values, word = (result.proba, "probability") if result.calibrated else (_scores(model, rows), "score")
    columns.update({f"{word}:{label}": values[:, k] for k, label in enumerate(model.classes)})
    if as_labels:
        if not result.calibrated:
            raise _no_probabilities(model)
        columns["labels"] = _to_text(result.proba, model)
    return pl.DataFrame(columns)


def _no_probabilities(model: "SavedModel") -> InputError:
    return InputError(f"--as-labels needs probabilities; {model.method} has scores only. Fit another method.")


def _to_text(proba: Any, model: "SavedModel") -> list[str]:
    """Return probabilities as text such as "finch:0.7|wren:0.3", with six digits."""
    import numpy as np

    from oneof.candidates.readers.weights import write_weighted_strings
    from oneof.candidates.row_weights import RowWeights

    rounded = np.array([[float(f"{p:.6g}") for p in row] for row in proba.tolist()])
    weights = RowWeights(np.ones(len(rounded), dtype=bool), rounded)
    classes = np.asarray(model.classes, dtype=object)
    return write_weighted_strings(rounded > 0, classes, weights, model.summary.get("separator", "|"))


def label_columns(model: "SavedModel") -> tuple[str, ...]:
    """Return the columns of labels and weights."""
    weights = weight_arguments(model).get("weights")
    return (*model.label_columns, *([] if weights is None else [weights]))


def weight_arguments(model: "SavedModel") -> dict[str, Any]:
    """Return the options of weighted labels in training; none for a model of an earlier version."""
    return dict(model.summary.get("weights") or {})


def _scores(model: "SavedModel", rows: Any) -> Any:
    """Return a score for each class; for two classes, the score of the second class and its negative."""
    import numpy as np

    scores = np.asarray(model.pipeline.decision_function(rows), dtype=float)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


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
