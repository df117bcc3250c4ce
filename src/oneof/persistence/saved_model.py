"""A fitted pipeline with the columns of its table, and its predictions for the rows of another table."""

import math
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from sklearn.utils.metaestimators import available_if

from oneof.candidates import CandidateSets
from oneof.errors import DataError, InputError
from oneof.files import as_path
from oneof.io import Column, Kind, Table, TableOptions, UnreadableCells, saved_columns, table_from_rows
from oneof.io.columns import absent_columns, misspelled_column
from oneof.io.encoder import find_new_categories
from oneof.io.features import describe_dates
from oneof.io.findings import describe
from oneof.io.formats.source import format_of
from oneof.io.vectors import match_vectors, saved_vectors
from oneof.messages import warn
from oneof.persistence import prediction_sets
from oneof.persistence.prediction_sets import CoverageOptions, n_partial
from oneof.solvers.conformal import MIN_GROUPS, describe_few_rows
from oneof.typing import Floats, Labels
from oneof.validation import MIN_HUGE

if TYPE_CHECKING:
    import polars as pl


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

    @available_if(lambda model: hasattr(model.pipeline, "predict_proba"))
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
    ) -> CandidateSets:
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

        options = CoverageOptions(coverage, method, calibration, class_conditional)
        prediction_sets.check_set_options(options)
        check_calibrated(self)
        with self._rows(table, strict) as rows:
            proba = get_proba(self.pipeline, rows).proba
        sets, notes = predict_sets(self, proba, options, sampled='calibration="sampled"')
        for note in notes:
            warn(note)
        return sets

    @contextmanager
    def _rows(self, table: Any, strict: bool) -> Iterator[Any]:
        """Yield the rows of a table as input of the pipeline, with warnings; errors name the cell."""
        options = TableOptions(strict=strict)
        opened = open_table(self, table, options)
        aligned = align_rows(self, opened, options)
        for note in aligned.notes:
            warn(note)
        with naming_cells(self, aligned.rows, opened.path):
            yield aligned.rows


def check_calibrated(model: SavedModel, subject: str = "prediction sets need") -> dict[str, Any]:
    """Return the calibration rows of a model; raise if it has none, with a sentence that begins with `subject`."""
    if model.calibration is not None:
        return model.calibration
    if not hasattr(model.pipeline, "predict_proba"):
        raise InputError(f"{subject} probabilities; {model.method} has scores only. Fit another method.")
    raise InputError(
        f"{subject} a model with calibration rows; models of an earlier version have none. Fit the model again."
    )


def predict_sets(
    model: SavedModel, proba: Floats, options: CoverageOptions, *, sampled: str = "--calibration sampled"
) -> tuple[CandidateSets, list[str]]:
    """Return the prediction sets of rows with these probabilities, and notes about sets that have all classes.

    `sampled` is the text in a note that selects the sampled calibration.
    """
    assert model.calibration is not None
    calibrated = prediction_sets.calibrate_rows(model.calibration, options)
    few = describe_few_rows([calibrated], len(model.classes), options.coverage, options.class_conditional)
    notes = [few] if few else []
    mask = prediction_sets.predict_mask(calibrated, proba, options)
    is_worst = options.calibration == "conservative" and n_partial(model.calibration) > 0
    if is_worst and not few and 2 * mask.all(axis=1).sum() > len(mask):
        notes.append(
            "most prediction sets have all classes, since the conservative calibration assumes the worst of the rows "
            f"with several candidates. Fit with more true labels, or use {sampled}, without a guarantee."
        )
    return CandidateSets(mask, model.pipeline.classes_), notes


def describe_calibration(model: SavedModel, options: CoverageOptions) -> dict[str, Any]:
    """Return the calibration, its guarantee, the numbers of its rows, and the column of groups, in the types of JSON.

    The calibration rows are those that `oneof fit` has held out. With groups, a row was predicted by a model without
    the rows of its group. Models of an earlier version have no such entry.
    """
    assert model.calibration is not None
    groups, n_groups = model.summary.get("groups"), model.summary.get("n_groups")
    n_groups = None if groups is None else n_groups if type(n_groups) is int else MIN_GROUPS
    facts: dict[str, Any] = {
        "rule": options.calibration,
        "guarantee": prediction_sets.guarantee(model.calibration, options, n_groups=n_groups),
        "rows": len(model.calibration["evidence"]),
        "several_candidates": n_partial(model.calibration),
    }
    return facts | ({"groups": groups} if "groups" in model.summary else {})


@dataclass(frozen=True)
class ModelRows:
    """Rows of a table as the input of a pipeline.

    Attributes
    ----------
    rows : polars.DataFrame or CSR matrix
    unreadable : UnreadableCells
        The cells that are not of the kind of their column, which are missing values.
    new_categories : UnreadableCells
        The cells with a category that no row of training has.
    notes : tuple of str
        Sentences about columns, unreadable cells, new categories and stems.
    """

    rows: Any
    unreadable: UnreadableCells
    new_categories: UnreadableCells
    notes: tuple[str, ...]


def open_table(
    model: SavedModel,
    table: Any,
    options: TableOptions | None = None,
    *,
    as_text: Collection[str] = (),
    labels: Collection[str] = (),
) -> Table:
    """Return a table for a model, with the missing tokens of the model and of `options`, and its quotation mark.

    Parameters
    ----------
    model : SavedModel
    table : path-like, DataFrame of pandas or polars, or list of dict
    options : TableOptions, optional
    as_text : collection of str
        Further columns of a file that are read as text.
    labels : collection of str
        Columns of labels of a file.
    """
    columns, joined = join_options(model, options)
    if not isinstance(table, str | os.PathLike):
        read = replace(table_from_rows(table), cell_format=joined.cell_format)
    else:
        texts = {column.name for column in columns if column.kind != "number"}
        path, quote = as_path(table), model.summary.get("quote")
        if joined.dialect.quote is None and (joined.format or format_of(path)) in ("csv", "tsv"):
            joined = replace(joined, dialect=replace(joined.dialect, quote=quote))  # as in training
        read = joined.read(path, as_text={*texts, *as_text} - {*labels}, labels=labels)
    try:
        return replace(read, frame=match_vectors(read.frame, saved_vectors(model.summary), read.vectors))
    except DataError as error:
        raise error.at(read.path) from None


def align_rows(model: SavedModel, table: Table, options: TableOptions | None = None) -> ModelRows:
    """Return the rows of a table as the input of the pipeline of a model.

    Cells that are not of the kind of their column, and features that no object of JSON lines has, are missing values,
    with a note, unless `options.strict`.

    Parameters
    ----------
    model : SavedModel
    table : Table
        A result of `open_table`.
    options : TableOptions, optional
    """
    columns, joined = join_options(model, options)
    if not columns:
        n_features = model.pipeline.n_features_in_
        if table.rows is None:
            raise DataError(f"the model was fitted to a sparse matrix without columns; {table.path} has none.")
        if table.rows.shape[1] != n_features:
            raise DataError(
                f"the model was fitted to {n_features:,} features; the matrix of {table.path} has "
                f"{table.rows.shape[1]:,}."
            )
        return ModelRows(table.rows, UnreadableCells(), UnreadableCells(), ())
    unreadable, notes = UnreadableCells(), list(table.remarks)
    if table.is_objects or (joined.format or format_of(table.path)) == "jsonl":
        frame, absent = add_absent_columns(table.frame, columns, table.path, strict=joined.strict)
        table, notes = replace(table, frame=frame), [*notes, *absent]
    rows = joined.align(table, columns, unreadable)
    found = find_new_categories(rows, model.pipeline.steps[0][1])
    notes += [
        *unreadable.sentences(),
        *describe_dates(columns, unreadable),
        *describe(found.findings("new category")),
        *check_stemmer(model),
    ]
    return ModelRows(rows, unreadable, found, tuple(notes))


def join_options(model: SavedModel, table_options: TableOptions | None) -> tuple[list[Column], TableOptions]:
    """Return the features of a model, and the options of a table with the tokens of missing values of both."""
    unknown = [kind for _, kind in model.columns if kind not in get_args(Kind)]
    if unknown:
        raise InputError(f"the model has an unknown kind of column, {unknown[0]!r}. Update oneof.")
    columns, trained = saved_columns(model.columns, model.summary)
    given = table_options or TableOptions()
    tokens = dict.fromkeys((*trained.missing, *given.cell_format.missing))
    return columns, replace(given, cell_format=replace(trained, missing=tuple(tokens)))


@contextmanager
def naming_cells(model: SavedModel, rows: Any, source: Path | None = None) -> Iterator[None]:
    """Reraise an error of a value of the encoded rows with the column of the table and the cell.

    The encoder makes several features from a column, so that numbers of features have no meaning for a table.

    Parameters
    ----------
    model : SavedModel
    rows : polars.DataFrame or CSR matrix
        The rows of the table before they are encoded. The error of a matrix is unchanged.
    source : Path, optional
        The file of the table.
    """
    try:
        yield
    except InputError as error:
        if type(error) is not InputError or error.row is None or not model.columns:
            raise
        row = rows.row(error.row, named=True)
        numbers = {name: _as_number(row.get(name)) for name, kind in model.columns if kind == "number"}
        name = max(numbers, key=lambda name: abs(numbers[name]), default="")
        reason = error.reason
        if name and abs(numbers[name]) >= MIN_HUGE:
            reason = (
                f"column {name!r} contains {numbers[name]:g}, which is too large for the model. Correct the number, or "
                "leave the cell empty."
            )
        raise InputError(reason, source=None if source is None else str(source), row=error.row) from error


def _as_number(cell: Any) -> float:
    """Return a cell as a number; 0 if it is missing, or text that is not a number of Python."""
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if math.isfinite(number) else 0.0


def add_absent_columns(
    frame: "pl.DataFrame", columns: Sequence[Column], path: Path, *, strict: bool
) -> tuple["pl.DataFrame", list[str]]:
    """Return objects of JSON with the features that no object has, as missing values, and a note that names them.

    If all features are absent, or one has another spelling, or `strict`, the frame is unchanged, and the absent
    features are an error of `align_columns`.
    """
    import polars as pl

    names = [column.name for column in columns]
    absent = [name for name in names if name not in frame.columns]
    others = set(frame.columns) - set(names)
    if strict or not absent or len(absent) == len(names) or misspelled_column(absent, others):
        return frame, []
    empty = [pl.Series(name, [None] * len(frame), dtype=pl.String) for name in absent]
    return frame.with_columns(empty), [absent_columns(absent, str(path))]


def check_stemmer(model: SavedModel) -> list[str]:
    """Return a note if the installed stemmer differs from that of training, since some stems may differ."""
    from oneof.text import stemmer_version

    words = model.summary.get("words")
    trained = words.get("stemmer") if isinstance(words, dict) else None
    if trained is None or trained == (installed := stemmer_version()):
        return []
    return [f"the model was fitted with stems of {trained}; {installed} is installed here and some stems may differ."]
