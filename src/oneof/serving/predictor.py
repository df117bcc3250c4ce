"""Predictions of a few rows that are given as mappings, without a table."""

import threading
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.labels import is_missing
from oneof.errors import DataError, InputError, InputTypeError
from oneof.io.columns import format_names, misspelled_column, suggest_columns
from oneof.io.features import read_columns, unreadable_cell
from oneof.io.findings import KINDS
from oneof.io.formats.json_lines import to_series
from oneof.io.vectors import match_vectors, member_names, saved_vectors
from oneof.likelihoods import softmax
from oneof.messages import shorten
from oneof.model_selection.scoring import get_scores
from oneof.persistence import saved_model
from oneof.persistence.prediction_sets import CoverageOptions, calibrate_rows, check_set_options, predict_mask

if TYPE_CHECKING:
    import polars as pl

_CELLS = (type(None), bool, int, float, str, np.generic, date, time, timedelta)
"""Types of the cells of a row."""


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
    members : dict of str to str
        The vector of each of these columns.
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
        model: saved_model.SavedModel,
        *,
        strict: bool = False,
        coverage: float | None = None,
        set_method: str = "lac",
        calibration: str = "conservative",
        class_conditional: bool = False,
    ) -> None:
        if not isinstance(model, saved_model.SavedModel):
            raise InputTypeError(
                f"`model` must be a oneof.persistence.SavedModel; got {type(model).__name__}. Use one of `oneof fit`."
            )
        if not model.columns:
            raise InputError("the model has no columns: it was fitted to a sparse matrix. Fit it to a table.")
        self.model, self.strict, self.classes = model, strict, list(model.classes)
        self._columns, options = saved_model.join_options(model, None)
        self._cell_format, self._lock = options.cell_format, threading.Lock()
        self.columns = [(column.name, column.kind) for column in self._columns]
        self.vectors = saved_vectors(model.summary)
        is_text = {name: kind in ("category", "text") for name, kind in self.columns}
        self._is_text: dict[str, bool | None] = {**dict.fromkeys(self.vectors), **is_text}
        self.members = {member: name for name, size in self.vectors.items() for member in member_names(name, size)}
        self._encoder, self._estimator = model.pipeline[0], model.pipeline[1:]
        self.value_name = "probabilities" if hasattr(self._estimator, "predict_proba") else "scores"
        self.set_options: CoverageOptions | None = None
        self.set_notes: list[str] = []
        self.set_guarantee: str | None = None
        if coverage is not None:
            self.set_options = CoverageOptions(coverage, set_method, calibration, class_conditional)
            check_set_options(self.set_options, "set_method")
            held_out = saved_model.check_calibrated(model)
            self._calibrated = calibrate_rows(held_out, self.set_options)
            self.set_notes = saved_model.predict_sets(model, held_out["proba"], self.set_options)[1]
            self.set_guarantee = saved_model.describe_calibration(model, self.set_options)["guarantee"]

    def predict(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Predict a label for each row.

        Parameters
        ----------
        rows : sequence of mappings
            Each has a cell for every column: a number, a boolean, a text, or None if it is missing. A vector is a list
            of numbers, or None, under its name, or in all rows numbers under the names of their columns. An absent
            column is a missing value, unless all columns are absent, or another key is its name with other case, spaces
            or punctuation. Other keys are ignored.

        Returns
        -------
        list of dict
            For each row `label`, `confidence`, and `probabilities` or `scores`, a dict from the classes as text to
            numbers. With `coverage`, each has `set`, the list of the classes of its prediction set. A row with cells
            that cannot be read has `unreadable`, a dict from their columns to their values as text. A row that lacks
            columns has `absent`, the list of their names. A row without any value has `empty`, which is True.

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
        absent = [self._check_row(row, number) for number, row in enumerate(rows)]
        frame = self._frame(rows)
        with self._lock:
            features, masks = read_columns(frame, self._columns, self._cell_format)
            unreadable: list[dict[str, str]] = [{} for _ in rows]
            for column in self._columns:
                for number in masks[column.name].arg_true().to_list() if column.name in masks else ():
                    if self.strict:
                        raise unreadable_cell(frame[column.name], column, number)
                    unreadable[number][column.name] = shorten(str(frame[column.name][number]))
            with saved_model.naming_cells(self.model, frame):
                labels, values, proba = self._predict(self._encoder.transform(features))
        names, predictions = [str(label) for label in self.classes], []
        sets = None if self.set_options is None else predict_mask(self._calibrated, proba, self.set_options)
        for i, label in enumerate(labels):
            prediction = {"label": label, "confidence": float(proba[i].max())}
            prediction[self.value_name] = dict(zip(names, values[i].tolist(), strict=True))
            if sets is not None:
                prediction["set"] = [self.classes[k] for k in np.flatnonzero(sets[i])]
            is_empty = all(cell == "" or is_missing(cell) for cell in features.row(i))
            remarks = {"unreadable": unreadable[i], "absent": absent[i], "empty": is_empty}
            predictions.append(prediction | {name: remark for name, remark in remarks.items() if remark})
        return predictions

    def _check_row(self, row: Mapping[str, Any], number: int) -> list[str]:
        """Return the absent columns of a row; raise if it is not a mapping of cells, or the columns are an error."""
        if not isinstance(row, Mapping):
            raise InputTypeError(f"row {number} must be an object of columns and cells; got {type(row).__name__}.")
        for name, kind in self.columns:
            if not isinstance(cell := row.get(name), _CELLS) and not is_missing(cell):
                raise DataError(f"column {name!r} must contain {KINDS[kind]}; got {type(cell).__name__}.", row=number)
        absent = [name for name, _ in self.columns if name not in row and self.members.get(name) not in row]
        others = [name for name in row if isinstance(name, str) and name.isprintable() and name not in self._is_text]
        if absent and (self.strict or len(absent) == len(self.columns) or misspelled_column(absent, others)):
            remedy = f"Use null for a missing value.{suggest_columns(absent, sorted(others))}"
            raise DataError(f"missing column{'s' * (len(absent) > 1)} {format_names(absent)}. {remedy}", row=number)
        return absent

    def _frame(self, rows: Sequence[Mapping[str, Any]]) -> "pl.DataFrame":
        """Return the cells of rows as a table with the columns of the model; absent cells are missing values."""
        import polars as pl

        present = [name for name in self._is_text if any(name in row for row in rows)]
        cells = [to_series(name, [row.get(name) for row in rows], is_text=self._is_text[name]) for name in present]
        frame = match_vectors(pl.DataFrame(cells), self.vectors, {})
        return frame.with_columns(pl.lit(None).alias(name) for name, _ in self.columns if name not in frame.columns)

    def _predict(self, X: Any) -> tuple[Any, Any, Any]:
        """Return the labels, the probabilities or scores, and the probabilities of encoded rows."""
        labels = self._estimator.predict(X).tolist()
        if self.value_name == "probabilities":
            proba = np.asarray(self._estimator.predict_proba(X), dtype=np.float64)
            return labels, proba, proba
        scores = get_scores(self._estimator, X)
        return labels, scores - scores[:, ::-1] if scores.shape[1] == 2 else scores, softmax(scores)
