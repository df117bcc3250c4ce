"""A fitted pipeline with the columns of its table, and its predictions for another table."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from oneof.messages import warn
from oneof.typing import Floats, Labels

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets


def _has_probabilities(model: Any) -> bool:
    """Return whether the pipeline predicts probabilities."""
    return hasattr(model.pipeline, "predict_proba")


@dataclass(frozen=True)
class SavedModel:
    """A fitted pipeline with the description of its table, for use with another table.

    Attributes
    ----------
    pipeline : estimator
        A fitted pipeline from the columns of a table to one of `classes`.
    classes : list
        The classes, in the order of the pipeline's probabilities or scores.
    classes_ : ndarray of shape (n_classes,)
        The classes of the pipeline, in the order of the columns of `predict_proba`.
    columns : list of (name, kind)
        The features: the columns of the table that the pipeline reads, and their kinds.
    label_columns : list of str
        The columns of the labels in training.
    method : str
        Name of the method.
    summary : dict
        Information about the training, in the types of JSON.
    calibration : dict of arrays or None
        Held-out rows that calibrate prediction sets: their numbers (``rows``), probabilities (``proba``) and candidates
        or weights (``evidence``); None without them.
    oneof_version, sklearn_version : str
        The versions used in training.

    Examples
    --------
    >>> import polars as pl
    >>> from sklearn.pipeline import make_pipeline
    >>> from oneof import PLEM
    >>> from oneof.io import Column, make_encoder
    >>> from oneof.persistence import SavedModel
    >>> pipeline = make_pipeline(make_encoder([Column("span", "number")]), PLEM())
    >>> fitted = pipeline.fit(pl.DataFrame({"span": [1.0, 2.0, 8.0, 9.0]}), ["wren", "wren", "owl", "owl"])
    >>> model = SavedModel(fitted, ["owl", "wren"], [("span", "number")], ["species"], "PLEM")
    >>> model.predict([{"span": 8.5}, {"span": "1.5"}]).tolist()
    ['owl', 'wren']
    """

    pipeline: Any
    classes: list[Any]
    columns: list[tuple[str, str]]
    label_columns: list[str]
    method: str
    summary: dict[str, Any] = field(default_factory=dict)
    oneof_version: str = field(default_factory=lambda: version("oneof"))
    sklearn_version: str = field(default_factory=lambda: version("scikit-learn"))
    calibration: dict[str, Any] | None = None

    @property
    def classes_(self) -> Labels:
        """The classes, in the order of the columns of `predict_proba`."""
        return np.asarray(self.pipeline.classes_)

    def predict(self, table: Any, *, strict: bool = False) -> Labels:
        """Predict a label for each row of a table, as `oneof predict` does.

        Parameters
        ----------
        table : path-like, DataFrame of pandas or polars, or list of dict
            It has the columns of the model, and possibly others, which are ignored. A path names a file in any format
            that `oneof predict` reads. A column that no dict or JSON line has is missing values.
        strict : bool, default=False
            Whether a cell that is not of the kind of its column, or an absent column, is an error. By default it is a
            missing value.

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        DataError
            If the table cannot be read, has no rows, or lacks a column.
        InputError
            If a number is too large for the model; the error names the row and the column.
        InputTypeError
            If `table` has another type.

        Warns
        -----
        UserWarning
            About cells that cannot be read, absent columns, and categories that training lacks.
        """
        with self._rows(table, strict) as rows:
            return np.asarray(self.pipeline.predict(rows))

    @available_if(_has_probabilities)
    def predict_proba(self, table: Any, *, strict: bool = False) -> Floats:
        """Return the probability of each class for each row of a table, if the method has probabilities.

        Parameters
        ----------
        table : path-like, DataFrame of pandas or polars, or list of dict
            See `predict`, also for the exceptions and warnings.
        strict : bool, default=False

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The columns are those of `classes_`.
        """
        with self._rows(table, strict) as rows:
            return np.asarray(self.pipeline.predict_proba(rows))

    def predict_set(
        self,
        table: Any,
        coverage: float = 0.9,
        *,
        method: str = "lac",
        calibration: str = "conservative",
        class_conditional: bool = False,
        strict: bool = False,
    ) -> "CandidateSets":
        """Return a set of classes for each row that contains the true one with a given probability.

        The sets are calibrated by rows that `oneof fit` has held out. The final model is fitted to all rows, so the
        coverage is about the nominal one, without the bound of `oneof.conformal.ConformalClassifier`. It is that of new
        rows like those of training, and with `fit --groups` that of rows of new groups, if the candidate sets of
        training contain the true labels.

        Parameters
        ----------
        table : path-like, DataFrame of pandas or polars, or list of dict
            See `predict`, also for other exceptions and warnings.
        coverage : float, default=0.9
        method : {"lac", "aps"}, default="lac"
            "lac" excludes improbable classes, "aps" adds the most probable classes up to a total.
        calibration : {"conservative", "sampled", "optimistic"}, default="conservative"
            Use of the calibration rows with several candidates: the worst of them, which keeps the guarantee, all of
            them by their probabilities, or the best.
        class_conditional : bool, default=False
            Whether each class is covered with the probability, and not only the classes on average.
        strict : bool, default=False

        Returns
        -------
        CandidateSets
            ``to_strings(write_full=True)`` is the text of `oneof predict --coverage`, with sets of all classes in full.

        Raises
        ------
        InputError
            If an option is invalid, or the model has no calibration rows.
        """
        from oneof.model_selection import get_proba
        from oneof.persistence.prediction_sets import CoverageOptions, check_calibrated, check_set_options, predict_sets

        options = CoverageOptions(coverage, method, calibration, class_conditional)
        check_set_options(options)
        check_calibrated(self)
        with self._rows(table, strict) as rows:
            proba = get_proba(self.pipeline, rows).proba
        sets, notes = predict_sets(self, proba, options)
        for note in notes:
            warn(note)
        return sets

    @contextmanager
    def _rows(self, table: Any, strict: bool) -> Iterator[Any]:
        """Yield the rows of a table as input of the pipeline, with warnings; errors name the cell."""
        from oneof.io import TableOptions
        from oneof.persistence.tables import align_rows, naming_cells, open_table

        options = TableOptions(strict=strict)
        opened = open_table(self, table, options)
        aligned = align_rows(self, opened, options)
        for note in aligned.notes:
            warn(note)
        with naming_cells(self, aligned.rows, opened.path):
            yield aligned.rows
