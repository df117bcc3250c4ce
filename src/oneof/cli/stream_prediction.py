"""Predictions for tables of any size, by a model that was fitted online."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import numpy as np

from oneof.candidates.columns import LabelReader, label_to_text
from oneof.cli.predict import check_output, check_stemmer, to_frame
from oneof.errors import DataError, InputError
from oneof.files import atomic_write
from oneof.io import Column, Kind, align_columns, find_column
from oneof.io.batches import BATCH_ROWS, Batch, BatchSpec, iterate_batches
from oneof.persistence import SavedModel
from oneof.stream import Source

if TYPE_CHECKING:
    import polars as pl


class StreamPrediction:
    """Predictions of the batches of a stream, with covering rate and accuracy if there are labels.

    Parameters
    ----------
    model : SavedModel
        With ``summary["online"]``.
    source : Source
    truth : str, optional
        The column of true labels.

    Attributes
    ----------
    rows : int
        The number of rows predicted so far.
    notes : list of str
        Warnings.
    """

    def __init__(self, model: SavedModel, source: Source, *, truth: str | None = None) -> None:
        if (source.format == "svmlight") == bool(model.columns):
            expected = "a table with columns" if model.columns else "a svmlight file"
            raise InputError(f"the model needs {expected}, as in training; {source.display_name} has another format.")
        if truth is not None and not model.columns:
            raise InputError("svmlight files have no column of true labels. Omit --truth.")
        self.rows = 0
        self.notes = check_stemmer(model)
        self._model = model
        self._source = source
        self._truth = truth
        self._reader: LabelReader | None = LabelReader(
            model.label_columns, model.summary["separator"], [str(label) for label in model.classes]
        )
        self._n_covered = self._n_labeled = self._n_correct = self._n_true = 0

    @property
    def covering_rate(self) -> float | None:
        """The covering rate over the labeled rows; None if there are no labels, or a label cannot be read."""
        return self._n_covered / self._n_labeled if self._reader is not None and self._n_labeled else None

    @property
    def accuracy(self) -> float | None:
        """The accuracy over the rows with a true label; None if there are none."""
        return self._n_correct / self._n_true if self._n_true else None

    def frames(self) -> Iterator["pl.DataFrame"]:
        """Yield the predictions of each batch: row, label, confidence, and a score for each class."""
        model = self._model
        columns = [Column(name, cast(Kind, kind)) for name, kind in model.columns]
        verbatim = (*model.label_columns, *([self._truth] if self._truth else []))
        method = model.pipeline[-1]
        spec = BatchSpec(
            verbatim,
            tuple(columns) if columns else None,
            labels_required=False,
            separator=model.summary["separator"],
            n_columns=method.n_features_in_,
        )
        without_encoder = replace(model, pipeline=method)
        for batch in iterate_batches(self._source, BATCH_ROWS, spec):
            with batch.localized():
                if columns:
                    rows = model.pipeline[:-1].transform(align_columns(batch.content, columns, batch.path))
                else:
                    rows = batch.content.rows
                labels = method.predict(rows)
                self._update_metrics(batch, labels)
                yield to_frame(without_encoder, rows, labels, first_row=self.rows)
            self.rows += len(batch)
        if self.rows == 0:
            raise InputError(f"{self._source.display_name} has no rows.")

    def _update_metrics(self, batch: Batch, labels: Any) -> None:
        names = batch.content.columns if self._model.columns else ()
        if self._truth is not None:
            cells = batch.content[find_column(self._truth, names, batch.path)].to_list()
            true = np.array(["" if cell is None else label_to_text(cell) for cell in cells], dtype=object)
            known = true != ""
            for row in np.flatnonzero(known & ~np.isin(true, self._model.classes)):
                raise DataError(
                    f"the truth {self._truth!r} contains {true[row]!r}, which is not a class of the model. Leave the "
                    "cell "
                    "empty if the true label is unknown.",
                    row=int(row),
                )
            self._n_true += int(known.sum())
            self._n_correct += int((labels[known] == true[known]).sum())
        if self._reader is None or not set(self._model.label_columns) <= set(names):
            return
        try:
            mask = self._reader.mask(batch.labels)
        except InputError as error:
            self.notes.append(f"no covering rate: {batch.localize(error)}")
            self._reader = None
            return
        labeled = ~mask.all(axis=1)
        code = {label: k for k, label in enumerate(self._model.classes)}
        covered = mask[np.arange(len(labels)), [code[label] for label in labels.tolist()]]
        self._n_labeled += int(labeled.sum())
        self._n_covered += int((covered & labeled).sum())


def write_stream(prediction: StreamPrediction, path: Path, *, read: list[Path]) -> None:
    """Write all predictions as CSV; an older file is replaced atomically, unless it is one of the files read."""
    check_output(path, read=read)
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        write_frames(prediction, file)


def write_frames(prediction: StreamPrediction, file: TextIO) -> None:
    """Write all predictions to an open text file."""
    for number, frame in enumerate(prediction.frames()):
        file.write(frame.write_csv(include_header=number == 0))
