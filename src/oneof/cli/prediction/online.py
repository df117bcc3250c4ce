"""Predictions by a model of `oneof fit --online`, in batches: memory does not grow with the number of rows."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from oneof.cli.output import terminal
from oneof.cli.prediction.predictions import (
    check_output,
    check_truth,
    label_columns,
    print_rates,
    print_unreadable,
    to_frame,
    training_file_notes,
    weight_arguments,
)
from oneof.errors import DataError, InputError, LabelError

if TYPE_CHECKING:
    import polars as pl

    from oneof.io import TableOptions
    from oneof.io.batches import Batch
    from oneof.persistence import SavedModel
    from oneof.stream import Source


def predict_stream(
    saved: "SavedModel",
    model: Path,
    table: Path,
    *,
    out: str | None,
    truth: str | None,
    json: bool,
    table_options: "TableOptions",
) -> None:
    """Predict in batches, with memory independent of the size of the table."""
    from oneof.io import stem_of
    from oneof.stream import open_source

    source = open_source(table, table_options.format)
    prediction = StreamPrediction(saved, source, truth=truth, table_options=table_options)
    rows: list[dict[str, Any]] = []
    path = Path(out or f"{stem_of(table)}-predictions.csv")
    if out != "-":
        write_stream(prediction, path, read=[*source.files, model])
    elif json:
        rows = [row for frame in prediction.frames() for row in frame.to_dicts()]
    else:
        write_frames(prediction, sys.stdout)
    known_rows = training_file_notes(saved, table)
    for sentence in (*known_rows, *prediction.notes, *prediction.unreadable.sentences()):
        terminal.print_note(sentence)
    if json:
        summary = {
            "table": source.name,
            "model": str(model),
            "method": saved.method,
            "rows": prediction.rows,
            "covering_rate": prediction.covering_rate,
            "accuracy": prediction.accuracy,
            "unreadable_cells": prediction.unreadable.to_dict(),
        }
        terminal.print_json(summary | ({"predictions": rows} if out == "-" else {"file": str(path)}))
    elif out != "-":
        terminal.print_line(f"{saved.method} predicted {prediction.rows} labels. File: {path}")
        print_unreadable(prediction.unreadable.to_dict())
        print_rates(prediction.covering_rate, prediction.accuracy)


class StreamPrediction:
    """Predictions of the batches of a stream, with covering rate and accuracy if there are labels.

    Parameters
    ----------
    model : SavedModel
        Model of `oneof fit --online`.
    source : Source
    truth : str, optional
        Column of true labels.
    table_options : TableOptions, optional
        The dialect, further tokens of missing values, and the refusal of unreadable cells.

    Attributes
    ----------
    rows : int
        Number of rows predicted so far.
    notes : list of str
        Warnings.
    unreadable : UnreadableCells
        Cells so far that are not of the kind of their column.
    """

    def __init__(
        self,
        model: "SavedModel",
        source: "Source",
        *,
        truth: str | None = None,
        table_options: "TableOptions | None" = None,
    ) -> None:
        from oneof.candidates.columns import LabelColumns, LabelFormat, LabelReader
        from oneof.io import UnreadableCells
        from oneof.persistence.tables import check_stemmer, join_options

        if (source.format == "svmlight") == bool(model.columns):
            expected = "a table with columns" if model.columns else "an svmlight file"
            raise InputError(
                f"the model needs {expected}, as in training; {source.display_name} has the format {source.format}."
            )
        if truth is not None and not model.columns:
            raise InputError("svmlight files have no column of true labels. Omit --truth.")
        check_truth(model, truth)
        self.rows = 0
        self.notes = check_stemmer(model)
        self._model = model
        self._source = source
        self._truth = truth
        self._columns, self._table_options = join_options(model, table_options)
        self.unreadable = UnreadableCells()
        self._absent: set[str] | None = None
        self._remarks: dict[Path, tuple[str, ...]] = {}
        cells, weights = self._table_options.cell_format, weight_arguments(model)
        form = LabelFormat(
            model.summary["separator"],
            [str(label) for label in model.classes],
            weights.pop("weighted", False),
            weights.pop("rest", False),
            cells.folds_labels,
            cells.missing,
        )
        self._reader: LabelReader | None = LabelReader(
            LabelColumns(model.label_columns, form, **weights),
            self._count_unreadable if cells.label_errors == "unlabeled" else None,
        )
        self._unreadable_labels = UnreadableCells()
        self._n_covered = 0.0
        self._n_labeled = self._n_correct = self._n_true = 0
        self._new_labels: Counter[str] = Counter()

    @property
    def covering_rate(self) -> float | None:
        """Covering rate over the labeled rows; None without labels, or if a label cannot be read."""
        return self._n_covered / self._n_labeled if self._reader is not None and self._n_labeled else None

    @property
    def accuracy(self) -> float | None:
        """Accuracy over the rows with a true label; None without any."""
        return self._n_correct / self._n_true if self._n_true else None

    def frames(self) -> Iterator["pl.DataFrame"]:
        """Yield the predictions of each batch: row, label, confidence, and a score for each class."""
        from oneof.io import align_columns, describe, new_label_note
        from oneof.io.batches import BATCH_ROWS, BatchSpec, iterate_batches
        from oneof.io.columns import absent_columns, describe_dates

        model, columns, options = self._model, self._columns, self._table_options
        labels = (*label_columns(model), *([self._truth] if self._truth else []))
        method = model.pipeline[-1]
        spec = BatchSpec(
            labels,
            tuple(columns) if columns else None,
            labels_required=False,
            separator=model.summary["separator"],
            n_columns=method.n_features_in_,
            dialect=options.dialect,
            cell_format=options.cell_format,
        )
        unreadable = None if options.strict else self.unreadable
        without_encoder = replace(model, pipeline=method)
        for batch in iterate_batches(self._source, BATCH_ROWS, spec):
            with batch.localized():
                if columns:
                    frame = align_columns(
                        batch.content,
                        columns,
                        batch.path,
                        cell_format=batch.cell_format,
                        unreadable=unreadable,
                        first_row=batch.first_row,
                    )
                    rows = model.pipeline[:-1].transform(frame)
                else:
                    rows = batch.content.rows
                labels = method.predict(rows)
                self._update_metrics(batch, labels)
                yield to_frame(without_encoder, rows, labels, first_row=self.rows)
            self.rows += len(batch)
            self._remarks[batch.path] = batch.remarks
            self._absent = set(batch.absent) & (set(batch.absent) if self._absent is None else self._absent)
        if self.rows == 0:
            raise InputError(f"{self._source.display_name} has no rows.")
        self.notes += describe(self._unreadable_labels.findings("unreadable labels"))
        self.notes += dict.fromkeys(remark for remarks in self._remarks.values() for remark in remarks)
        if self._new_labels:
            n_new = self._new_labels.total()
            if 2 * n_new > self._n_true and (n_new == self._n_true or len(self._new_labels) > len(self._model.classes)):
                raise DataError(
                    f"most labels of the truth column {self._truth!r} are not classes of the model, such as "
                    f"{next(iter(self._new_labels))!r}: name the column of true labels."
                )
            self.notes.append(new_label_note(self._new_labels, self._n_true))
        self.notes += describe_dates(columns, self.unreadable)
        if self._absent:
            absent = [column.name for column in columns if column.name in self._absent]
            self.notes.append(absent_columns(absent, self._source.display_name))

    def _count_unreadable(self, errors: dict[int, LabelError]) -> None:
        """Count rows of a batch whose labels cannot be read, and that are unlabeled as in training."""
        names = self._model.label_columns
        name = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        self._unreadable_labels.add_labels(name, errors, first_row=self.rows)

    def _update_metrics(self, batch: "Batch", labels: Any) -> None:
        import numpy as np

        from oneof.candidates.columns import match_true_labels
        from oneof.io import check_new_labels, find_column
        from oneof.likelihoods import constant_rows

        names = batch.content.columns if self._model.columns else ()
        if self._truth is not None:
            column = batch.content[find_column(self._truth, names, batch.path)]
            cell_format = self._table_options.cell_format
            classes = np.array(self._model.classes, dtype=object)  # text, as the labels of a stream
            true, unknown = match_true_labels(
                column.to_list(), classes, folds_case=cell_format.folds_labels, missing=cell_format.missing
            )
            try:
                check_new_labels(unknown, self._model.classes)
            except LabelError as error:
                raise DataError(
                    f"the truth column {self._truth!r} contains {error.label!r}, which is not a class of the model. "
                    f"{error.reason}",
                    row=error.row,
                ) from None
            self._new_labels.update(unknown.values())
            known = np.array([label is not None for label in true], dtype=bool)
            self._n_true += int(known.sum()) + len(unknown)
            self._n_correct += int((labels[known] == true[known]).sum())
        if self._reader is None or not set(label_columns(self._model)) <= set(names):
            return
        try:
            evidence = self._reader.evidence(batch.labels)
        except InputError as error:
            self.notes.append(f"no covering rate: {batch.localize(error)}")
            self._reader = None
            return
        labeled = ~constant_rows(evidence)
        code = {label: k for k, label in enumerate(self._model.classes)}
        covered = evidence[np.arange(len(labels)), [code[label] for label in labels.tolist()]]
        self._n_labeled += int(labeled.sum())
        self._n_covered += float(covered[labeled].sum())


def write_stream(prediction: StreamPrediction, path: Path, *, read: list[Path]) -> None:
    """Write all predictions as CSV; an older file is replaced atomically, unless it is one of the files read."""
    from oneof.files import atomic_write

    check_output(path, read=read)
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        write_frames(prediction, file)


def write_frames(prediction: StreamPrediction, file: TextIO) -> None:
    """Write all predictions to an open text file."""
    for number, frame in enumerate(prediction.frames()):
        file.write(frame.write_csv(include_header=number == 0))
