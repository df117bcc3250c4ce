"""Predictions for tables of any size, by a model that was learned online."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import numpy as np

from oneof.cli.predict import check_output, check_stemmer, to_frame
from oneof.errors import DataError, InputError, OneofError
from oneof.files import atomic_write
from oneof.persistence import SavedModel
from oneof.stream import Source
from oneof.stream.batches import BATCH_ROWS, Batch, Wanted, iterate
from oneof.stream.labels import LabelReader, plain
from oneof.tables import Column, Kind, conform, find_column

if TYPE_CHECKING:
    import polars as pl


class StreamPrediction:
    """Predicts the batches of a stream, and counts what is right where that can be told.

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
        Predicted so far.
    notes : list of str
    """

    def __init__(self, model: SavedModel, source: Source, *, truth: str | None = None) -> None:
        if (source.format == "svmlight") == bool(model.columns):
            learned = "a table with columns" if model.columns else "svmlight files"
            raise InputError(
                f"the model was learned from {learned}, and {source.shown} is none: give another file or model."
            )
        if truth is not None and not model.columns:
            raise InputError("svmlight files have no column of true labels: leave out --truth.")
        self.rows = 0
        self.notes = check_stemmer(model)
        self._model = model
        self._source = source
        self._truth = truth
        self._reader: LabelReader | None = LabelReader(
            model.label_columns, model.summary["separator"], [str(label) for label in model.classes]
        )
        self._covered = self._told = self._right = self._known = 0

    @property
    def covering_rate(self) -> float | None:
        """Of the rows whose set says something; None where there are no labels, or some that cannot be read."""
        return self._covered / self._told if self._reader is not None and self._told else None

    @property
    def accuracy(self) -> float | None:
        """Of the rows whose true label is there."""
        return self._right / self._known if self._known else None

    def frames(self) -> Iterator["pl.DataFrame"]:
        """Yield the predictions of batch after batch: row, label, confidence, and a score for each class."""
        model = self._model
        columns = [Column(name, cast(Kind, kind)) for name, kind in model.columns]
        verbatim = (*model.label_columns, *([self._truth] if self._truth else []))
        method = model.pipeline[-1]
        wanted = Wanted(
            verbatim,
            tuple(columns) if columns else None,
            labels_needed=False,
            separator=model.summary["separator"],
            n_columns=method.n_features_in_,
        )
        bare = replace(model, pipeline=method)
        for batch in iterate(self._source, BATCH_ROWS, wanted):
            with batch.located():
                rows = model.pipeline[:-1].transform(conform(batch.content, columns, batch.path)) if columns else None
                rows = batch.content.rows if rows is None else rows
                labels = method.predict(rows)
                self._judge(batch, labels)
                yield to_frame(bare, rows, labels, first_row=self.rows)
            self.rows += len(batch)
        if self.rows == 0:
            raise InputError(f"{self._source.shown} has no rows: there is nothing to predict.")

    def _judge(self, batch: Batch, labels: Any) -> None:
        there = batch.content.columns if self._model.columns else ()
        if self._truth is not None:
            cells = batch.content[find_column(self._truth, there, batch.path)].to_list()
            true = np.array(["" if cell is None else plain(cell) for cell in cells], dtype=object)
            known = true != ""
            for row in np.flatnonzero(known & ~np.isin(true, self._model.classes)):
                raise DataError(
                    f"row {row}: the truth {self._truth!r} holds {true[row]!r}, which is no class of the model; leave "
                    "the cell empty if it is unknown."
                )
            self._known += int(known.sum())
            self._right += int((labels[known] == true[known]).sum())
        if self._reader is None or not set(self._model.label_columns) <= set(there):
            return
        try:
            mask = self._reader.mask(batch.content)
        except OneofError as error:
            self.notes.append(f"no covering rate: {batch.locate(str(error))}")
            self._reader = None
            return
        told = ~mask.all(axis=1)
        code = {label: k for k, label in enumerate(self._model.classes)}
        inside = mask[np.arange(len(labels)), [code[label] for label in labels.tolist()]]
        self._told += int(told.sum())
        self._covered += int((inside & told).sum())


def write_stream(found: StreamPrediction, path: Path, *, read: list[Path]) -> None:
    """Write all predictions as CSV; an older file there is replaced as a whole, unless it is just being read."""
    check_output(path, read=read)
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        write_frames(found, file)


def write_frames(found: StreamPrediction, file: TextIO) -> None:
    """Write all predictions to an open file of text."""
    for number, frame in enumerate(found.frames()):
        file.write(frame.write_csv(include_header=number == 0))
