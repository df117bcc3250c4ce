"""Saved models and their predictions as tables, for predictions in memory and in batches."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.output import terminal
from oneof.errors import DataError, InputError, ModelFileError
from oneof.messages import write_names

if TYPE_CHECKING:
    import polars as pl

    from oneof.persistence import SavedModel

MAX_NAMED_COLUMNS = 8
"""Number of columns with unreadable cells that are printed; the summary has all."""


def load_model(path: Path) -> "SavedModel":
    """Load a model file of `oneof fit`."""
    from typing import get_args

    from oneof.io import Kind
    from oneof.persistence import SavedModel, load

    if path.is_dir():
        inside = path / "model.skops"
        remedy = f"did you mean {inside}?" if inside.is_file() else "Name a model file of `oneof fit` (model.skops)."
        raise ModelFileError(f"{path} is a folder{':' if inside.is_file() else '.'} {remedy}")
    model = load(path)
    if not isinstance(model, SavedModel):
        raise ModelFileError(
            f"{path} has an estimator without the columns of a table. Use a model file of `oneof fit`; for texts, "
            "`oneof fit TABLE --text COLUMN`."
        )
    unknown = [kind for _, kind in model.columns if kind not in get_args(Kind)]
    if unknown:
        raise ModelFileError(f"{path} has an unknown kind of column, {unknown[0]!r}. Update oneof.")
    return model


def check_truth(model: "SavedModel", truth: str | None) -> None:
    """Raise if a column of true labels is a feature of the model, which then predicts labels from themselves."""
    if truth is None or truth.strip() not in {name.strip() for name, _ in model.columns}:
        return
    evaluation, drop = shlex.quote(truth), shlex.quote(write_names([truth]))
    raise InputError(
        f"column {truth!r} of --truth is a feature of the model, so the accuracy would be too high for rows without "
        f"true labels. Fit the model again with --truth {evaluation} (evaluation only) or --drop {drop}."
    )


def label_columns(model: "SavedModel") -> tuple[str, ...]:
    """Return the columns of labels and weights."""
    weights = weight_arguments(model).get("weights")
    return (*model.label_columns, *([] if weights is None else [weights]))


def identifiers(model: "SavedModel") -> list[str]:
    """Return the columns that identified the rows in training; none for a model of an earlier version."""
    names = model.summary.get("identifiers")
    return [str(name) for name in names] if isinstance(names, list | tuple) else []


def training_file_notes(model: "SavedModel", path: Path, *, has_sets: bool = False) -> list[str]:
    """Return a note if a table is the file of the fit: the rates and confidences of its rows are too high."""
    from oneof.files import hash_file

    trained = model.summary.get("file_hash")
    if trained is None or trained != hash_file(path):
        return []
    coverage = " The coverage of their prediction sets is not that of new rows, and may be lower." * has_sets
    unbiased = "the running loss" if model.summary.get("online") else "the rates of held-out rows"
    return [
        f"the model was fitted to the labeled rows of {path}: their rates and confidences are too high for new rows."
        f"{coverage} The summary of `oneof fit` has {unbiased}."
    ]


def weight_arguments(model: "SavedModel") -> dict[str, Any]:
    """Return the options of weighted labels in training; none for a model of an earlier version."""
    return dict(model.summary.get("weights") or {})


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
            raise no_probabilities(model)
        columns["labels"] = _to_text(result.proba, model)
    return pl.DataFrame(columns)


def no_probabilities(model: "SavedModel") -> InputError:
    """Return the error for a model whose scores are not probabilities."""
    return InputError(f"--as-labels needs probabilities; {model.method} has scores only. Fit another method.")


def _to_text(proba: Any, model: "SavedModel") -> list[str]:
    """Return probabilities as text such as "finch:0.7|wren:0.3", with six digits."""
    import numpy as np

    from oneof.candidates.cells import write_cells
    from oneof.candidates.row_weights import RowWeights

    rounded = np.array([[float(f"{p:.6g}") for p in row] for row in proba.tolist()])
    weights = RowWeights(np.ones(len(rounded), dtype=bool), rounded)
    classes = np.asarray(model.classes, dtype=object)
    return write_cells(rounded > 0, classes, weights, written_separator(model))


def written_separator(model: "SavedModel") -> str:
    """Return the separator of the columns of labels, which `oneof fit` detects in them.

    A comma or " / " might be a part of a class, since no label need occur alone in these columns.
    """
    from oneof.candidates.cells import DEFAULT_SEPARATOR, separators_of

    separator = separators_of(model.summary.get("separator", DEFAULT_SEPARATOR))[0]
    return DEFAULT_SEPARATOR if separator in (",", " / ") else separator


def _scores(model: "SavedModel", rows: Any) -> Any:
    """Return a score for each class; for two classes, the score of the second class and its negative."""
    import numpy as np

    scores = np.asarray(model.pipeline.decision_function(rows), dtype=float)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


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


def print_unreadable(unreadable: Mapping[str, Any]) -> None:
    """Print the number of unreadable cells of each column; none is printed if there are none."""
    if not unreadable:
        return
    counts = {name: entry["count"] for name, entry in unreadable.items()}
    total = sum(counts.values())
    cells = "1 unreadable cell is a missing value" if total == 1 else f"{total:,} unreadable cells are missing values"
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    listed = [f"{name} ({n:,})" for name, n in ordered[:MAX_NAMED_COLUMNS]]
    more = f" and {len(counts) - len(listed):,} more columns" * (len(counts) > len(listed))
    terminal.print_line(f"{cells}: {', '.join(listed)}{more}.")


def print_rates(covering_rate: float | None, accuracy: float | None, n_true: int | None = None) -> None:
    """Print the covering rate and the accuracy, unless they are None, with the number of rows with a true label."""
    if covering_rate is not None:
        terminal.print_line(f"Covering rate: {terminal.format_percent(covering_rate)}")
    if accuracy is not None:
        rows = "" if n_true is None else f" of {n_true:,} row{'s' * (n_true != 1)} with a true label"
        terminal.print_line(f"Accuracy: {terminal.format_percent(accuracy)}{rows}")
