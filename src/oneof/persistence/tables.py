"""Rows of a table as the input of a saved model: its columns, in the types that the pipeline expects."""

import math
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from oneof.errors import DataError, InputError
from oneof.files import as_path
from oneof.io import (
    Column,
    Kind,
    Table,
    TableOptions,
    UnreadableCells,
    saved_columns,
    table_from_rows,
)
from oneof.io.columns import absent_columns, describe_dates, misspelled_column
from oneof.io.encoder import find_new_categories
from oneof.io.findings import describe
from oneof.io.formats.source import format_of
from oneof.io.vectors import match_vectors, saved_vectors
from oneof.validation import MIN_HUGE

if TYPE_CHECKING:
    import polars as pl

    from oneof.persistence.saved_model import SavedModel


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
    model: "SavedModel",
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


def align_rows(model: "SavedModel", table: Table, options: TableOptions | None = None) -> ModelRows:
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


def join_options(model: "SavedModel", table_options: TableOptions | None) -> tuple[list[Column], TableOptions]:
    """Return the features of a model, and the options of a table with the tokens of missing values of both."""
    unknown = [kind for _, kind in model.columns if kind not in get_args(Kind)]
    if unknown:
        raise InputError(f"the model has an unknown kind of column, {unknown[0]!r}. Update oneof.")
    columns, trained = saved_columns(model.columns, model.summary)
    given = table_options or TableOptions()
    tokens = dict.fromkeys((*trained.missing, *given.cell_format.missing))
    return columns, replace(given, cell_format=replace(trained, missing=tuple(tokens)))


@contextmanager
def naming_cells(model: "SavedModel", rows: Any, source: Path | None = None) -> Iterator[None]:
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


def check_stemmer(model: "SavedModel") -> list[str]:
    """Return a note if the installed stemmer differs from that of training, since some stems may differ."""
    from oneof.text import stemmer_version

    words = model.summary.get("words")
    trained = words.get("stemmer") if isinstance(words, dict) else None
    if trained is None or trained == (installed := stemmer_version()):
        return []
    return [f"the model was fitted with stems of {trained}; {installed} is installed here and some stems may differ."]
