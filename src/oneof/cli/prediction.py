"""Predictions of a saved model: of a table, or of the batches of a stream, with their rates and notes."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from oneof import io
from oneof.candidates import CandidateSets
from oneof.candidates.cells import DEFAULT_SEPARATOR, separators_of, write_cells
from oneof.cli import terminal
from oneof.cli.options import PredictOptions
from oneof.cli.tables.inputs import insert_identifiers
from oneof.errors import DataError, InputError, ModelFileError, OneofError
from oneof.files import hash_file
from oneof.io.batches import BATCH_ROWS, iterate_batches
from oneof.io.columns import absent_columns, match_columns
from oneof.io.features import describe_dates
from oneof.io.findings import dialect_findings
from oneof.likelihoods import constant_rows
from oneof.messages import write_names
from oneof.model_selection import get_proba
from oneof.persistence import SavedModel, load, saved_model
from oneof.persistence.prediction_sets import CoverageOptions
from oneof.typing import Labels

if TYPE_CHECKING:
    from oneof.conformal import SetEvaluation

MIN_CHECKED_ROWS = 100
"""Number of held-out rows with a true label from which they calibrate alone."""


class Prediction:
    """Predictions of the rows of a table; the rates and the notes are those of the rows so far.

    Attributes
    ----------
    model : SavedModel
    name : str
        Name of the table.
    files : list of Path
        The files that are read.
    rows : int
    covering_rate, accuracy : float or None
        None unless the table has the label columns of the training table, or a column of true labels is given.
    n_true : int
        Number of rows with a true label.
    notes : list of str
    unreadable, new_categories : UnreadableCells
        The cells that are not of the kind of their column, or have a category that no row of training has.
    sets : dict or None
        Nominal coverage and mean size of the prediction sets, and their coverage if there are labels.
    """

    def __init__(self, model: SavedModel, table: Path, options: PredictOptions) -> None:
        self.name, self.files = str(table), [table]
        self.rows = self.n_true = 0
        self.notes: list[str] = []
        self.unreadable, self.new_categories = io.UnreadableCells(), io.UnreadableCells()
        self.sets: dict[str, Any] | None = None
        self.model, self._path, self._options = model, table, options
        self._n_covered, self._n_labeled, self._n_correct = 0.0, 0, 0
        self._new_labels: Counter[str] = Counter()
        self._separator = model.summary.get("separator", DEFAULT_SEPARATOR)
        weights, truth = weight_arguments(model).get("weights"), options.truth
        self._label_columns = (*model.label_columns, *([] if weights is None else [weights]))
        self._known_columns = (*self._label_columns, *([] if truth is None else [truth]))

    @property
    def covering_rate(self) -> float | None:
        """Covering rate over the labeled rows; None without labels, or if a label cannot be read."""
        return self._n_covered / self._n_labeled if self._n_labeled else None

    @property
    def accuracy(self) -> float | None:
        """Accuracy over the rows with a true label; None without any."""
        return self._n_correct / self.n_true if self.n_true else None

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the predictions: row, copied columns, label, confidence, and a probability or score for each class."""
        raise NotImplementedError

    def write(self, write: Callable[[str], Any]) -> None:
        """Write the predictions as one CSV text."""
        for number, frame in enumerate(self.frames()):
            write(frame.write_csv(include_header=number == 0))

    def to_dict(self) -> dict[str, Any]:
        """Return the rates in the types of JSON."""
        return {
            "method": self.model.method,
            "rows": self.rows,
            "covering_rate": self.covering_rate,
            "accuracy": self.accuracy,
            "n_true": self.n_true,
            "unreadable_cells": self.unreadable.to_dict(),
            "new_categories": self.new_categories.to_dict(),
        } | ({} if self.sets is None else {"prediction_sets": self.sets})

    def _check_truth(self) -> None:
        """Raise if the column of true labels is a feature of the model, which then predicts labels from themselves."""
        truth = self._options.truth
        if truth is not None and truth.strip() in {name.strip() for name, _ in self.model.columns}:
            raise InputError(
                f"column {truth!r} of --truth is a feature of the model, so the accuracy would be too high for rows "
                f"without true labels. Fit the model again with --truth {shlex.quote(truth)} (evaluation only) or "
                f"--drop {shlex.quote(write_names([truth]))}."
            )

    def _read_truth(self, table: io.Table, classes: Labels, *, is_batch: bool = False) -> Any:
        """Return the true labels of some rows, also those that are not classes; None without their column."""
        options: dict[str, Any] = {"separator": self._separator, "allows_new": True, "is_batch": is_batch}
        return None if self._options.truth is None else io.read_truth(table, self._options.truth, classes, **options)

    def _count(self, labels: Any, evidence: Any, true: Any) -> None:
        """Count the covered rows by the evidence of their labels over the classes, and the correct ones by true labels.

        Both are None if they are unknown; a missing true label is None.
        """
        if evidence is not None:
            is_labeled, code = ~constant_rows(evidence), {str(label): k for k, label in enumerate(self.model.classes)}
            covered = evidence[np.arange(len(labels)), [code[str(label)] for label in labels.tolist()]]
            self._n_labeled += int(is_labeled.sum())
            self._n_covered += float(covered[is_labeled].sum())
        if true is not None:
            known = np.array([label is not None for label in true.tolist()], dtype=bool)
            classes = set(self.model.pipeline[-1].classes_.tolist())
            self._new_labels.update(label for label in true[known].tolist() if label not in classes)
            self.n_true += int(known.sum())
            self._n_correct += int((labels[known] == true[known]).sum())

    def _new_label_notes(self) -> list[str]:
        return [io.new_label_note(self._new_labels, self.n_true)] if self._new_labels else []


class TablePrediction(Prediction):
    """Predictions of a table in memory."""

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the predictions of all rows, with the prediction sets."""
        model, options, set_options = self.model, self._options, self._options.set_options()
        identifiers = model.summary.get("identifiers", [])
        copied = [*identifiers, *options.keep]
        table = saved_model.open_table(model, self._path, options.table, as_text=copied, labels={*self._known_columns})
        kept = match_columns(options.keep, table.frame.columns, table.path)
        true = self._read_truth(table, model.pipeline.classes_)
        self._check_truth()
        aligned = saved_model.align_rows(model, table, options.table)
        with saved_model.naming_cells(model, aligned.rows, table.path):
            labels = model.pipeline.predict(aligned.rows)
        self.rows, self.unreadable, self.new_categories = len(labels), aligned.unreadable, aligned.new_categories
        self.notes += [*io.describe(dialect_findings(table.dialect)), *aligned.notes]
        self.notes += training_file_notes(model, self._path, has_sets=set_options is not None)
        frame = to_frame(model, aligned.rows, labels, as_labels=options.as_labels)
        known = self._read_labels(table)
        self._count(labels, None if known is None else known.evidence, true)
        if set_options is not None:
            frame = frame.hstack(self._predict_sets(aligned.rows, known if true is None else true, set_options))
        for name in kept:
            if name in frame.columns:
                raise InputError(
                    f"--keep {name}: the predictions have a column {name!r}. Rename the column of the table."
                )
            if table.frame[name].dtype.is_nested():
                raise InputError(f"--keep {name}: a column of lists cannot be written to CSV. Leave it out.")
        self.notes += self._new_label_notes()
        yield insert_identifiers(frame, table.frame, dict.fromkeys([*kept, *identifiers]))

    def _predict_sets(self, rows: Any, known: Any, options: CoverageOptions) -> list[pl.Series]:
        """Return the columns `set`, which `oneof fit` reads, and `set_size`; keep the summary and the notes."""
        model = self.model
        saved_model.check_calibrated(model, "--coverage needs")
        predicted, notes = saved_model.predict_sets(model, get_proba(model.pipeline, rows).proba, options)
        self.notes += notes
        self.sets = describe_sets(predicted, known, options) | {
            "calibration": saved_model.describe_calibration(model, options)
        }
        texts = predicted.to_strings(separator=written_separator(model), write_full=True)
        return [pl.Series("set", texts, dtype=pl.String), pl.Series("set_size", predicted.sizes)]

    def _read_labels(self, table: io.Table) -> CandidateSets | None:
        """Return the labels of the table if it has any; labels that cannot be read only add a note."""
        model, unreadable = self.model, io.UnreadableCells()
        if not model.label_columns or not set(self._label_columns) <= set(table.frame.columns):
            return None
        classes = None if len(model.label_columns) > 1 else [str(label) for label in model.classes]
        options = {"separator": self._separator, "classes": classes, "unreadable": unreadable}
        try:
            sets = io.read_labels(table, model.label_columns, **options, **weight_arguments(model))
        except OneofError as error:
            self.notes.append(f"no covering rate: {error}")
            return None
        self.notes += io.describe(unreadable.findings("unreadable labels"))
        # The sets were read over the classes as text; the classes of the model have their own type.
        return CandidateSets.from_weights(sets.weights, model.pipeline.classes_)


class StreamPrediction(Prediction):
    """Predictions of a stream by a model of `oneof fit --online`: memory does not grow with the number of rows."""

    def __init__(self, model: SavedModel, table: Path, options: PredictOptions) -> None:
        from oneof.stream import StreamOptions, open_source  # heavy for tables

        if options.table.sheet is not None:
            raise InputError("--sheet needs a spreadsheet: remove the option.")
        refused = {"--as-labels": options.as_labels, "--coverage": options.set_options(), "--keep": options.keep}
        for option, given in refused.items():
            if given:
                raise InputError(f"{option} needs a model of `oneof fit` without --online.")
        super().__init__(model, table, options)
        self._source = source = open_source(table, options.table.format)
        self.name, self.files = source.name, [*source.files]
        if (source.format == "svmlight") == bool(model.columns):
            expected = "a table with columns" if model.columns else "an svmlight file"
            raise InputError(
                f"the model needs {expected}, as in training; {source.display_name} has the format {source.format}."
            )
        if options.truth is not None and not model.columns:
            raise InputError("svmlight files have no column of true labels. Omit --truth.")
        self._check_truth()
        self._columns, table_options = saved_model.join_options(model, options.table)
        self._trained = StreamOptions(
            labels=tuple(model.label_columns),
            separator=self._separator,
            classes=tuple(map(str, model.classes)),
            table=table_options,
            **weight_arguments(model),
        )
        self._has_rate, self._unreadable_labels = True, io.UnreadableCells()

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the predictions of each batch."""
        from oneof.stream.options import batch_spec

        model, columns = self.model, self._columns
        method, classes = model.pipeline[-1], np.array(model.classes, dtype=object)  # text, as the labels of a stream
        spec = replace(
            batch_spec(self._trained, columns or None),
            labels=self._known_columns,
            labels_required=False,
            n_columns=method.n_features_in_,
        )
        without_encoder, absent = replace(model, pipeline=method), {column.name for column in columns}
        remarks: dict[Path, tuple[str, ...]] = {}
        for batch in iterate_batches(self._source, BATCH_ROWS, spec):
            with batch.localized():
                rows = batch.rows
                if columns:
                    frame = self._trained.table.align(batch, columns, self.unreadable)
                    rows = model.pipeline[:-1].transform(frame)
                labels = method.predict(rows)
                true = self._read_truth(batch, classes, is_batch=True)
                self._count(labels, self._read_labels(batch), true)
                yield to_frame(without_encoder, rows, labels, first_row=self.rows)
            self.rows += len(batch)
            remarks[batch.path] = batch.remarks
            absent &= set(batch.absent)
        if self.rows == 0:
            raise InputError(f"{self._source.display_name} has no rows.")
        n_new, n_kinds = self._new_labels.total(), len(self._new_labels)
        if 2 * n_new > self.n_true and (n_new == self.n_true or n_kinds > len(model.classes)):
            raise DataError(
                f"most labels of the truth column {self._options.truth!r} are not classes of the model, such as "
                f"{next(iter(self._new_labels))!r}: name the column of true labels."
            )
        names = [column.name for column in columns if column.name in absent]
        self.notes = [
            *training_file_notes(model, self._path),
            *saved_model.check_stemmer(model),
            *self.notes,
            *io.describe(self._unreadable_labels.findings("unreadable labels")),
            *dict.fromkeys(remark for of_file in remarks.values() for remark in of_file),
            *self._new_label_notes(),
            *describe_dates(columns, self.unreadable),
            *([absent_columns(names, self._source.display_name)] if names else []),
            *self.unreadable.sentences(),
        ]

    def _read_labels(self, batch: io.Table) -> Any:
        """Return the evidence of the labels of a batch; None without labels, or after one that cannot be read."""
        from oneof.stream.fit_stream import label_reader

        names, trained = batch.frame.columns if self.model.columns else (), self._trained
        if not self._has_rate or not set(self._label_columns) <= set(names):
            return None
        unreadable = self._unreadable_labels
        reader = label_reader(trained, trained.classes, trained.prior, unreadable=unreadable, first_row=self.rows)
        try:
            return reader.evidence(batch.labels)
        except InputError as error:
            self.notes.append(f"no covering rate: {batch.localize(error)}")
            self._has_rate, self._n_labeled = False, 0
            return None


def predict(model: SavedModel, table: Path, options: PredictOptions) -> Prediction:
    """Return the predictions of a table, in batches if the model was fitted online."""
    is_stream = model.summary.get("online") and not io.is_whole_table(table)
    return (StreamPrediction if is_stream else TablePrediction)(model, table, options)


def load_model(path: Path) -> SavedModel:
    """Load a model file of `oneof fit`."""
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
    return model


def weight_arguments(model: SavedModel) -> dict[str, Any]:
    """Return the options of weighted labels in training."""
    return dict(model.summary.get("weights", {}))


def training_file_notes(model: SavedModel, path: Path, *, has_sets: bool = False) -> list[str]:
    """Return a note if a table is the file of the fit: the rates and confidences of its rows are too high."""
    trained = model.summary.get("file_hash")
    if trained is None or trained != hash_file(path):
        return []
    coverage = " The coverage of their prediction sets is not that of new rows, and may be lower." * has_sets
    unbiased = "the running loss" if model.summary.get("online") else "the rates of held-out rows"
    return [
        f"the model was fitted to the labeled rows of {path}: their rates and confidences are too high for new rows."
        f"{coverage} The summary of `oneof fit` has {unbiased}."
    ]


def to_frame(model: SavedModel, rows: Any, labels: Any, *, first_row: int = 0, as_labels: bool = False) -> pl.DataFrame:
    """Return row, label, confidence, and a probability or score for each class."""
    result = get_proba(model.pipeline, rows)
    columns: dict[str, Any] = {
        "row": range(first_row, first_row + len(labels)),
        "label": labels.tolist(),
        "confidence": result.proba.max(axis=1),
    }
    values, word = (result.proba, "probability") if result.calibrated else (_scores(model, rows), "score")
    columns.update({f"{word}:{label}": values[:, k] for k, label in enumerate(model.classes)})
    if as_labels:
        if not result.calibrated:
            raise InputError(f"--as-labels needs probabilities; {model.method} has scores only. Fit another method.")
        columns["labels"] = _to_text(result.proba, model)
    return pl.DataFrame(columns)


def _to_text(proba: Any, model: SavedModel) -> list[str]:
    """Return probabilities as text such as "finch:0.7|wren:0.3", with six digits."""
    rounded = np.array([[float(f"{p:.6g}") for p in row] for row in proba.tolist()])
    classes = np.asarray(model.classes, dtype=object)
    return write_cells(rounded, classes, np.ones(len(rounded), dtype=bool), written_separator(model))


def written_separator(model: SavedModel) -> str:
    """Return the separator of the columns of labels, which `oneof fit` detects in them.

    A comma or " / " might be a part of a class, since no label need occur alone in these columns.
    """
    separator = separators_of(model.summary.get("separator", DEFAULT_SEPARATOR))[0]
    return DEFAULT_SEPARATOR if separator in (",", " / ") else separator


def _scores(model: SavedModel, rows: Any) -> Any:
    """Return a score for each class; for two classes, the score of the second class and its negative."""
    scores = np.asarray(model.pipeline.decision_function(rows), dtype=float)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def describe_sets(sets: CandidateSets, known: Any, options: CoverageOptions) -> dict[str, Any]:
    """Return the nominal coverage and the mean size for JSON, and the coverage if some labels are known."""
    from oneof.conformal import evaluate_sets  # heavy for predictions without sets

    mean_size = float(sets.sizes.mean()) if len(sets) else None
    summary: dict[str, Any] = {"nominal_coverage": options.coverage, "mean_size": mean_size}
    if known is None:
        return summary
    if not isinstance(known, CandidateSets) and sets.classes.dtype.kind in "iuf":
        labels = known.tolist()
        if any(isinstance(label, str) for label in labels):  # new labels that are not numbers
            known = np.array([label if label is None else str(label) for label in labels], dtype=object)
            sets = CandidateSets(sets.mask, [str(label) for label in sets.classes.tolist()])
    summary |= {"reference": "labels" if isinstance(known, CandidateSets) else "truth"}
    return summary | evaluation_to_dict(evaluate_sets(sets, known))


def evaluation_to_dict(evaluation: "SetEvaluation") -> dict[str, Any]:
    """Return an evaluation in the types of JSON."""
    return asdict(evaluation) | {
        "coverage": evaluation.coverage if evaluation.n_exact else None,
        "coverage_bounds": list(evaluation.coverage_bounds),
    }


def _print_validity(calibration: dict[str, Any]) -> None:
    """Print the guarantee of sets, the rows to which it applies, and calibration rows with several candidates.

    Parameters
    ----------
    calibration : dict
        Result of `saved_model.describe_calibration`.
    """
    n_rows, n_several = calibration["rows"], calibration["several_candidates"]
    several = f", {n_several:,} of them with several candidates" * bool(n_several)
    rows = f"The sets are calibrated by {n_rows:,} held-out row{'s' * (n_rows != 1)}{several}."
    terminal.print_line(calibration["guarantee"], rows)
    if calibration.get("groups"):
        terminal.print_line(f"Each of them was predicted without its group ({calibration['groups']!r}).")
    elif "groups" in calibration:
        terminal.print_line(
            "The coverage may be lower for rows of new groups, such as other recordings or patients (fit --groups)."
        )
    if n_several:
        terminal.print_line(
            f"With fit --truth, {MIN_CHECKED_ROWS} held-out rows or more with a true label calibrate the sets instead."
        )


def print_sets(summary: dict[str, Any]) -> None:
    """Print the mean size of the sets, the coverage if there are labels, and the rows to which it applies."""
    from oneof.report.statistics import has_narrow_bounds  # heavy for predictions without sets

    nominal = terminal.format_percent(summary["nominal_coverage"])
    terminal.print_line(f"Prediction sets (nominal coverage {nominal}): {summary['mean_size']:.2f} classes on average")
    if summary.get("coverage") is not None:
        terminal.print_line(
            f"Coverage: {terminal.format_percent(summary['coverage'])} of the {summary['n_exact']:,} rows with a "
            f"single label{'; wrong labels lower it' * (summary['reference'] == 'labels')}"
        )
    elif "coverage_bounds" in summary and has_narrow_bounds(summary["coverage_bounds"]):
        low, high = map(terminal.format_percent, summary["coverage_bounds"])
        terminal.print_line(f"Coverage: between {low} and {high}, by rows with several candidates")
    elif "coverage_bounds" in summary:
        terminal.print_line(
            "Coverage: not measurable, since no row has a single label; --truth names a column of true labels"
        )
    if "calibration" in summary:
        _print_validity(summary["calibration"])
