"""Predictions of a few rows that are given as mappings, without a table."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
from sklearn.pipeline import Pipeline

from oneof.errors import InputError, InputTypeError
from oneof.estimators.base import CandidateClassifier
from oneof.io.columns import saved_columns
from oneof.io.encoder_blocks import Cells
from oneof.io.notes import unusual_rows
from oneof.io.notes.findings import Kind
from oneof.io.row_encoder import RowEncoder, UnreadableCell
from oneof.io.vectors import saved_vectors, spread_vectors
from oneof.likelihoods import softmax
from oneof.persistence import SavedModel
from oneof.persistence.prediction_sets import (
    CoverageOptions,
    calibrate_rows,
    check_calibrated,
    check_set_options,
    describe_calibration,
    predict_mask,
    predict_sets,
)
from oneof.persistence.tables import naming_cells
from oneof.typing import FeatureMatrix, Floats, Labels

_TIE = 1e-9
"""If the two largest probabilities differ by less, `predict` decides, since it may order the scores differently."""


class RowPredictor:
    """Predictor of rows given as mappings from the names of columns to cells.

    The predictions are those of `oneof predict` for a table of the rows: a cell that cannot be read and a column that
    is absent are missing values, and are named in the prediction of the row. One row takes a few milliseconds. Several
    threads may call the predictor; one row or batch is predicted at a time.

    Parameters
    ----------
    model : SavedModel
        A model of `oneof fit`, as `oneof.persistence.load` returns it.
    strict : bool, default=False
        Whether a cell that cannot be read, or an absent column, is an error.
    coverage : float, optional
        Predict a set of classes for each row, too, which contains the true label with this probability, such as 0.9.
        The sets are those of `oneof predict --coverage` for a table of the rows.
    set_method : {"lac", "aps"}, default="lac"
    calibration : {"conservative", "sampled", "optimistic"}, default="conservative"
    class_conditional : bool, default=False
        See the options of `oneof predict`.

    Attributes
    ----------
    columns : list of (name, kind)
        The columns of a row.
    vectors : dict of str to int
        The length of each vector, such as an embedding, whose numbers are columns.
    classes : list
    strict : bool
    set_options : oneof.persistence.prediction_sets.CoverageOptions or None
        The options of the prediction sets; None without sets.
    set_notes : list of str
        Notes about prediction sets of all classes.
    set_guarantee : str or None
        One sentence on the coverage of the prediction sets, and its conditions; None without sets.
    value_name : {"probabilities", "scores"}
        Name of the values of the classes: scores if the method has no probabilities.

    Raises
    ------
    InputError
        If the model has no columns, or one of an unknown kind; if an option of the prediction sets is invalid, or the
        model has no calibration rows for them.
    InputTypeError
        If `model` is not a SavedModel.

    Examples
    --------
    >>> import polars as pl
    >>> from sklearn.pipeline import make_pipeline
    >>> from oneof import PLEM
    >>> from oneof.io import Column, make_encoder
    >>> from oneof.persistence import SavedModel
    >>> from oneof.serving import RowPredictor
    >>> columns = [Column("span", "number")]
    >>> pipeline = make_pipeline(make_encoder(columns), PLEM())
    >>> fitted = pipeline.fit(pl.DataFrame({"span": [1.0, 2.0, 8.0, 9.0]}), ["wren", "wren", "owl", "owl"])
    >>> predictor = RowPredictor(SavedModel(fitted, ["owl", "wren"], [("span", "number")], ["species"], "PLEM"))
    >>> [row["label"] for row in predictor.predict([{"span": 8.5}, {"span": 1.5}])]
    ['owl', 'wren']
    >>> [row] = predictor.predict([{"span": "wide"}])
    >>> row["unreadable"]
    {'span': 'wide'}
    """

    def __init__(
        self,
        model: SavedModel,
        *,
        strict: bool = False,
        coverage: float | None = None,
        set_method: str = "lac",
        calibration: str = "conservative",
        class_conditional: bool = False,
    ) -> None:
        if not isinstance(model, SavedModel):
            raise InputTypeError(
                f"`model` must be a oneof.persistence.SavedModel; got {type(model).__name__}. Use a model of `oneof "
                "fit`."
            )
        if not model.columns:
            raise InputError("the model has no columns: it was fitted to a sparse matrix. Fit it to a table.")
        unknown = [kind for _, kind in model.columns if kind not in get_args(Kind)]
        if unknown:
            raise InputError(f"the model has an unknown kind of column, {unknown[0]!r}. Update oneof.")
        self.model = model
        columns, cell_format = saved_columns(model.columns, model.summary)
        self.columns = [(column.name, column.kind) for column in columns]
        self.classes = list(model.classes)
        self._lock = threading.Lock()
        steps = model.pipeline.steps
        self.vectors = saved_vectors(model.summary)
        self._encoder = RowEncoder(columns, steps[0][1], cell_format)
        self._columns, self._transformer = columns, steps[0][1]
        self.strict = strict
        self._estimator = steps[1][1] if len(steps) == 2 else Pipeline(steps[1:])
        method = type(steps[-1][1])
        self._predicts_largest = issubclass(method, CandidateClassifier) and (
            method.predict is CandidateClassifier.predict
        )
        self.value_name = "probabilities" if hasattr(self._estimator, "predict_proba") else "scores"
        self.set_options: CoverageOptions | None = None
        self.set_notes: list[str] = []
        self.set_guarantee: str | None = None
        if coverage is not None:
            self._calibrate(CoverageOptions(coverage, set_method, calibration, class_conditional))

    def predict(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Predict a label for each row.

        Parameters
        ----------
        rows : sequence of mappings
            Each has a cell for every column: a number, a boolean, a text, or None if it is missing. A vector is a list
            of numbers, or None, under its name, or it is numbers under the names of their columns. An absent column is
            a missing value, unless all columns are absent, or another key is its name with other case, spaces or
            punctuation. Other keys are ignored.

        Returns
        -------
        list of dict
            For each row `label`, `confidence`, and `probabilities` or `scores`, a dict from the classes as text to
            numbers. With `coverage`, each has `set`, the list of the classes of its prediction set. A row with cells
            that cannot be read has `unreadable`, a dict from their columns to their values as text. A row that lacks
            columns has `absent`, the list of their names. A row whose text or vector differs from those of training has
            `unusual`, the list of their columns: the probabilities and the prediction set do not apply to it.

        Raises
        ------
        DataError
            If a row lacks all columns, or has one in another spelling; if a cell is a list or an object; if a
            vector is not a list, has another length than in training, or is given together with its numbers; or if the
            predictor is strict, and a column is absent or a cell cannot be read. The error names the row and the
            column.
        InputTypeError
            If a row is not a mapping.
        InputError
            If a number is too large for the model; the error names the row and the column.
        """
        if not len(rows):
            return []
        unreadable: list[UnreadableCell] = []
        absent: list[tuple[int, str]] = []
        if self.vectors:
            rows = [
                spread_vectors(row, self.vectors, number) if isinstance(row, Mapping) else row
                for number, row in enumerate(rows)
            ]
        with self._lock:
            cells = self._encoder.read(rows) if self.strict else self._encoder.read(rows, unreadable, absent)
            with naming_cells(self.model, rows):
                labels, proba, values = self._predict(self._encoder.encode(cells))
            unusual = self._find_unusual(cells)
        names = [str(label) for label in self.classes]
        predictions: list[dict[str, Any]] = [
            {"label": label, "confidence": max(row_proba), self.value_name: dict(zip(names, row_values, strict=True))}
            for label, row_proba, row_values in zip(labels.tolist(), proba.tolist(), values.tolist(), strict=True)
        ]
        if self.set_options is not None:
            for prediction, members in zip(predictions, predict_mask(self._calibrated, proba, self.set_options)):
                prediction["set"] = [self.classes[k] for k in np.flatnonzero(members)]
        for cell in unreadable:
            predictions[cell.row].setdefault("unreadable", {})[cell.column] = cell.text
        for row, column in absent:
            predictions[row].setdefault("absent", []).append(column)
        for found in unusual:
            for row in found.rows:
                columns = predictions[row].setdefault("unusual", [])
                columns += [found.column] * (found.column not in columns)
        return predictions

    def _find_unusual(self, cells: list[Cells]) -> list[unusual_rows.UnusualRows]:
        """Return the rows whose texts or vectors differ from those of training."""
        by_name = {column.name: column_cells for column, column_cells in zip(self._columns, cells, strict=True)}
        limits = self.model.summary.get("row_limits")
        return unusual_rows.find_unusual_rows(by_name, self._columns, self._transformer, limits)

    def _calibrate(self, options: CoverageOptions) -> None:
        """Calibrate the prediction sets by the rows in the model file."""
        check_set_options(options, "set_method")
        if self.model.summary.get("online"):
            raise InputError("prediction sets need a model of `oneof fit` without --online.")
        check_calibrated(self.model)
        assert self.model.calibration is not None
        self.set_options, self._calibrated = options, calibrate_rows(self.model.calibration, options)
        self.set_notes = predict_sets(self.model, self.model.calibration["proba"], options)[1]
        self.set_guarantee = describe_calibration(self.model, options)["guarantee"]

    def _predict(self, X: FeatureMatrix) -> tuple[Labels, Floats, Floats]:
        """Return the labels, the probabilities, and the probabilities or scores of rows."""
        values = np.asarray(getattr(self._estimator, _METHODS[self.value_name])(X), dtype=np.float64)
        if self.value_name == "probabilities":
            proba = values
        elif values.ndim == 1:  # two classes
            proba = softmax(np.column_stack([np.zeros(len(values)), values]))
            values = np.column_stack([-values, values])
        else:
            proba = softmax(values)
        # `predict` would compute the scores again.
        two_largest = np.partition(proba, -2, axis=1)[:, -2:]
        if self._predicts_largest and (two_largest[:, 1] - two_largest[:, 0] > _TIE).all():
            return self._estimator.classes_[np.argmax(proba, axis=1)], proba, values
        return np.asarray(self._estimator.predict(X)), proba, values


_METHODS = {"probabilities": "predict_proba", "scores": "decision_function"}
