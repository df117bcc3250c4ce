"""From a model and another table to predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from oneof.candidates import CandidateSets
from oneof.cli.outputs import check_writable, reject_inputs
from oneof.errors import DataError, ModelFileError, OneofError
from oneof.files import atomic_write
from oneof.io import Column, Kind, Table, align_columns, read_labels, read_table, read_truth
from oneof.metrics import covering_rate
from oneof.persistence import SavedModel, load
from oneof.tables import Column, Kind, Table, conform, read_labels, read_table, read_truth
from oneof.text import stemmer_version

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Predicted:
    """What came out of `predict`.

    Attributes
    ----------
    frame : polars.DataFrame
        Row (from 0), label, confidence, and a probability or score for each class.
    method : str
    covering_rate : float or None
        Where the table has the columns of labels of the training.
    accuracy : float or None
        Where the column of true labels was named.
    notes : list of str
    """

    frame: "pl.DataFrame"
    method: str
    covering_rate: float | None
    accuracy: float | None
    notes: list[str]


def predict(model: SavedModel, table_file: Path, *, truth: str | None = None) -> Predicted:
    """Predict a label for every row of a table."""
    columns = [Column(name, cast(Kind, kind)) for name, kind in model.columns]
    verbatim = {*model.label_columns, *([truth] if truth else [])}
    as_text = {column.name for column in columns if column.kind in ("category", "text")}
    table = read_table(table_file, as_text=as_text - verbatim, verbatim=verbatim)
    known = None if truth is None else read_truth(table, truth, model.pipeline.classes_)
    rows = align_columns(table.frame, columns, table_file)
    labels = model.pipeline.predict(rows)
    notes = other_stems(model)
    covered = _covered(model, table, labels, notes)
    return Predicted(
        frame=as_frame(model, rows, labels),
        method=model.method,
        covering_rate=covered,
        accuracy=None if known is None else _accuracy(known, labels),
        notes=notes,
    )


def write_predictions(path: Path, predicted: Predicted, *, read: Sequence[Path]) -> None:
    """Write the predictions as CSV; an older file there is replaced as a whole, unless it was just read."""
    check_output(path, read=read)
    with atomic_write(path) as temporary:
        predicted.frame.write_csv(temporary)


def check_output(path: Path, *, read: Sequence[Path]) -> None:
    """Raise unless predictions can be written to a file, which must not be one of those that are read."""
    reject_inputs([path], read)
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a file for the predictions.")
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be written: there is no folder {path.parent}.")
    check_writable(path.parent)


def load_model(path: Path) -> SavedModel:
    """Read a model that knows the columns of its table."""
    model = load(path)
    if not isinstance(model, SavedModel):
        raise ModelFileError(
            f"{path} holds a bare estimator, which does not know the columns of a table: use a model of `oneof fit`."
        )
    unknown = [kind for _, kind in model.columns if kind not in get_args(Kind)]
    if unknown:
        raise ModelFileError(
            f"{path} names a kind of column, {unknown[0]!r}, that this version does not know: update oneof."
        )
    return model


def other_stems(model: SavedModel) -> list[str]:
    """Return a sentence if words are stemmed by another package than in training, which may cut them elsewhere."""
    words = model.summary.get("words")
    then = words.get("stemmer") if isinstance(words, dict) else None
    if then is None or then == (now := stemmer_version()):
        return []
    return [f"the model was fitted with stems of {then}, and {now} stems here: some may differ."]


def as_frame(model: SavedModel, rows: Any, labels: Any, *, first_row: int = 0) -> "pl.DataFrame":
    """Return row, label, confidence, and a probability or score for each class."""
    import polars as pl

    from oneof.model_selection import get_proba

    shares = get_proba(model.pipeline, rows)
    confidence = shares.proba[np.arange(len(labels)), np.argmax(shares.proba, axis=1)]
    columns: dict[str, Any] = {
        "row": range(first_row, first_row + len(labels)),
        "label": labels.tolist(),
        "confidence": confidence,
    }
    values, word = (shares.proba, "probability") if shares.calibrated else (_scores(model, rows), "score")
    columns.update({f"{word}:{label}": values[:, k] for k, label in enumerate(model.classes)})
    return pl.DataFrame(columns)


def _scores(model: SavedModel, rows: Any) -> Any:
    """Return a score for each class; for two classes, that of the second and its negative."""
    scores = np.asarray(model.pipeline.decision_function(rows), dtype=float)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _accuracy(truth: Any, labels: Any) -> float:
    known = np.asarray([label is not None for label in truth.tolist()])
    return float(np.mean(np.asarray(labels)[known] == truth[known]))


def _covered(model: SavedModel, table: Table, labels: Any, notes: list[str]) -> float | None:
    """Return the covering rate where the table has labels; labels that cannot be read only make a note."""
    if not set(model.label_columns) <= set(table.frame.columns):
        return None
    several = len(model.label_columns) > 1
    try:
        sets = read_labels(
            table,
            model.label_columns,
            separator=model.summary.get("separator", "|"),
            classes=None if several else [str(label) for label in model.classes],
        )
    except OneofError as error:
        notes.append(f"no covering rate: {error}")
        return None
    # The sets were read over the classes as text; the model knows the labels themselves.
    return covering_rate(CandidateSets(sets.mask, model.pipeline.classes_), labels)
