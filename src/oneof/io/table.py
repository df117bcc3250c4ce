"""Tables: files that are read in one batch, and their columns of labels."""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.columns import DEFAULT_SEPARATOR, detect_separator, match_true_labels, read_label_columns
from oneof.candidates.labels import labels_with_weights
from oneof.errors import DataError, LabelError, MissingExtraError
from oneof.files import as_path
from oneof.io.batches import BatchSpec, check_options, iterate_batches
from oneof.io.columns import find_column
from oneof.io.formats.binary import read_sparse_npz
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS, CellFormat, missing_numbers
from oneof.io.formats.dialect import Dialect
from oneof.io.formats.plain_file import plain_file
from oneof.io.formats.source import (
    STANDARD_INPUT,
    TABLE_FORMATS,
    TEXT_FORMATS,
    Source,
    display_path,
    format_of,
    suffixes_of,
)
from oneof.typing import Labels
from oneof.wording import enumerate_items

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = tuple(suffix for known in TABLE_FORMATS for suffix in suffixes_of(known, TABLE_FORMATS))
"""Suffixes of the files that `read_table` reads."""

_TEXT_FORMATS = tuple(known for known in TABLE_FORMATS if known in TEXT_FORMATS)
_COPY = Dialect("utf-8", ",", ".", '"')
"""The dialect of the copy of a spreadsheet."""
_SEPARATORS = (";", ",", "/", "|", "+", "&")
_MAX_LISTED = 6
"""Maximum number of labels listed in a warning; the rest are counted."""


@dataclass(frozen=True)
class Table:
    """Table read from a file.

    Attributes
    ----------
    frame : polars.DataFrame
        Rows are counted from 0, without the header.
    path : Path
    label_columns : tuple of str
        Columns that the file format marks as labels; they are never features.
    cell_format : CellFormat
        The form of the cells of text.
    dialect : Dialect or None
        None for formats that are not delimited text.
    remarks : tuple of str
        Sentences about names, cells and sheets that the reader changed or did not read.
    rows : CSR matrix of shape (n_rows, n_features), optional
        The features of a sparse matrix, which has no columns; `frame` then has the labels only.
    dropped : tuple of str
        Columns of the file that were not read.
    """

    frame: "pl.DataFrame"
    path: Path
    label_columns: tuple[str, ...] = ()
    cell_format: CellFormat = CellFormat()  # noqa: RUF009 - frozen
    dialect: Dialect | None = None
    remarks: tuple[str, ...] = ()
    rows: Any = None
    dropped: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The columns of the file: those of the frame, and those that were not read."""
        return [*self.frame.columns, *self.dropped]


def read_table(
    path: str | os.PathLike[str],
    *,
    as_text: Collection[str] = (),
    labels: Collection[str] = (),
    drop: Collection[str] = (),
    dialect: Dialect | None = None,
    cell_format: CellFormat | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    sheet: str | None = None,
) -> Table:
    """Read a table.

    Parameters
    ----------
    path : str or path-like
        A file that ends in .csv, .tsv (the delimiter and the encoding of both are detected), .jsonl or .ndjson (one
        object per line), each also with .gz after the suffix; .parquet; .xlsx, .xlsm, .xlsb, .xls or .ods; or .npz
        (``X``, with ``y`` and/or ``candidates``). "-" is standard input.
    as_text : collection of str
        Columns of a CSV or TSV file, or patterns of their names, that are text even if the cells look like numbers.
    labels : collection of str
        Columns of labels of a CSV or TSV file, which are text. Of the other columns, those in which each cell is a
        number or empty are numbers.
    drop : collection of str
        Columns, or patterns of their names, that are not read, unless they have labels.
    dialect : Dialect, optional
        The known properties of a CSV or TSV file; the others are detected. The decimal separator also applies to the
        cells of text of other formats.
    cell_format : CellFormat, optional
        The known tokens of missing values and formats of dates.
    format : {"csv", "tsv", "jsonl", "parquet", "npz", "excel"}, optional
        By default it is inferred from the suffix. It is required for standard input, which accepts the first three.
    sheet : str, optional
        The sheet of a spreadsheet; by default the first one.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file does not exist, is empty, damaged or of an unknown format, or `dialect` or `sheet` do not apply to
        the format; the error names the line if possible.
    InputTypeError
        If `path` is not a path.
    MissingExtraError
        If polars is not installed.
    """
    try:
        import polars  # noqa: F401
    except ImportError:
        raise MissingExtraError("polars", "cli") from None
    path = as_path(path)
    known = _check_format(path, format)
    name = display_path(path)
    dialect = dialect or Dialect()
    check_options(known, dialect, str(name))
    sparse = read_sparse_npz(path) if known == "npz" else None
    if sparse is not None and sparse.rows.shape[0]:
        return Table(sparse.labels, path, tuple(sparse.labels.columns), rows=sparse.rows)
    is_sheet = known == "excel"
    spec = BatchSpec(
        tuple(labels),
        as_text=as_text,
        drop=drop,
        labels_required=False,
        dialect=_COPY if is_sheet else dialect,
        cell_format=cell_format or CellFormat(),
    )
    with plain_file(path, known, sheet) as file:
        batches = list(iterate_batches(Source(str(path), (file.path,), file.format, name), None, spec))
    if not any(len(batch) for batch in batches):
        raise DataError(f"{name} has no rows. Add at least one.")
    [batch] = batches
    return Table(
        batch.content,
        name,
        batch.label_columns,
        replace(batch.cell_format, decimal=dialect.decimal or batch.cell_format.decimal),
        None if is_sheet else batch.dialect,
        (*file.notes, *batch.remarks),
        dropped=batch.dropped,
    )


def _check_format(path: Path, given: str | None) -> str:
    """Return the format of an existing file, or of standard input."""
    if given is not None and given not in TABLE_FORMATS:
        raise DataError(
            f"the format must be one of {', '.join(TABLE_FORMATS)}; got {given!r}. Other formats need --online."
        )
    if path == STANDARD_INPUT:
        if given not in _TEXT_FORMATS:
            raise DataError(f"standard input needs a text format. Add --format with {', '.join(_TEXT_FORMATS)}.")
        return str(given)
    known = given or format_of(path, TABLE_FORMATS)
    if known is None or (path.suffix.lower() == ".gz" and known not in _TEXT_FORMATS):
        raise DataError(f"{path} has an unknown format. Give a file that ends in {', '.join(SUFFIXES)}, or --format.")
    if not path.exists():
        raise DataError(f"the file {path} does not exist. Check its name and folder.")
    if not path.is_file():
        raise DataError(f"{path} is not a file. Name a file, or read a folder with --online.")
    return known


def is_whole_table(path: Path) -> bool:
    """Return whether a file has a format that is read at once, not as a stream."""
    return format_of(path, TABLE_FORMATS) in ("npz", "excel")


def find_separator(
    table: Table, columns: Sequence[str], *, classes: Sequence[str] | None = None, weighted: bool = False
) -> str:
    """Return the text between two labels of the cells of a column, "|" if no other occurs; see `detect_separator`.

    Raises
    ------
    LabelError
        If a cell may be a set of labels or one class.
    """
    import polars as pl

    if len(columns) != 1:
        return DEFAULT_SEPARATOR
    cells = _label_frame(table, columns)[find_column(columns[0], table.frame.columns, table.path)]
    if cells.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return DEFAULT_SEPARATOR
    try:
        return detect_separator(cells.cast(pl.String).to_list(), classes, weighted=weighted)
    except LabelError as error:
        raise error.at(f"labels {columns[0]!r} of {table.path}") from None


def _label_frame(table: Table, columns: Sequence[str]) -> "pl.DataFrame":
    """Return columns of labels in which the user's tokens of missing values are null."""
    import polars as pl
    import polars.selectors as cs

    names = [find_column(name, table.frame.columns, table.path) for name in columns]
    frame = table.frame.select(names)
    if not table.cell_format.missing:
        return frame
    tokens, numbers = [token.lower() for token in table.cell_format.missing], missing_numbers(table.cell_format)
    text, values = pl.col(pl.String), cs.numeric()
    return frame.with_columns(
        pl.when(~text.str.strip_chars().str.to_lowercase().is_in(tokens)).then(text),
        pl.when(~values.cast(pl.Float64).is_in(numbers)).then(values),
    )


def read_labels(
    table: Table,
    columns: Sequence[str],
    *,
    separator: str = "|",
    classes: Sequence[str] | None = None,
    weighted: bool = False,
    weights: str | None = None,
    kind: str = "likelihood",
    rest: bool | str = False,
) -> CandidateSets:
    """Return the candidate sets of a table.

    Parameters
    ----------
    table : Table
    columns : sequence of str
        One column, whose cells are text ("a|b"), lists, or whole numbers (-1 or empty: unlabeled); or several columns
        of 0 and 1, whose names are the classes.
    separator : str, default="|"
        The text between two labels.
    classes : sequence of str, optional
        The classes, as written in the table; by default those that occur.
    weighted : bool, default=False
        The labels have weights: one column of text ("finch:0.7|wren:0.3") or of mappings from labels to weights, or
        several columns of numbers, whose names are the classes. Cells without numbers are sets.
    weights : str, optional
        The column of the weights of one label column, in the order of its labels: text ("0.7|0.3"), lists or numbers.
    kind, rest
        See `CandidateSets.from_weights`.

    Returns
    -------
    CandidateSets
        Labels are numbers only if the text of every cell is a whole number.

    Raises
    ------
    DataError
        If a column does not exist or is named twice.
    LabelError
        If a cell cannot be read, a set is empty, all rows are unlabeled, or there is only one class.
    """
    names = [find_column(name, table.frame.columns, table.path) for name in columns]
    weights = None if weights is None else find_column(weights, table.frame.columns, table.path)
    if weights in names:
        raise DataError(f"the column of weights must not be a label column; got {weights!r}.")
    if len(set(names)) < len(names):
        raise DataError(
            f"the label columns must be named once; got {next(n for n in names if names.count(n) > 1)!r} twice."
        )
    try:
        return read_label_columns(
            _label_frame(table, [*names, *([] if weights is None else [weights])]),
            names,
            separator=separator,
            classes=classes,
            weighted=weighted,
            weights=weights,
            kind=kind,
            rest=rest,
        )
    except LabelError as error:
        quoted = repr(names[0]) if len(names) == 1 else f"{names[0]!r} to {names[-1]!r}"
        raise error.at(f"labels {quoted} of {table.path}") from None


def read_truth(table: Table, column: str, classes: Labels) -> Labels:
    """Return a column of true labels, which are used for evaluation only.

    Parameters
    ----------
    table : Table
    column : str
    classes : ndarray of shape (n_classes,)
        The classes of the candidate sets.

    Returns
    -------
    ndarray of shape (n_rows,)
        Members of `classes`; None if the true label is missing.

    Raises
    ------
    DataError
        If the column does not exist, has no label, or has a label that is not a class; the error names the row.
    """
    import polars as pl

    cells = _label_frame(table, [column]).to_series()
    source = str(table.path)
    if cells.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Boolean) and not cells.dtype.is_numeric():
        raise DataError(
            f"the truth column {column!r} must have one label per row; got values of type {cells.dtype}.", source=source
        )
    truth, error = match_true_labels(cells.to_list(), classes)
    if error is not None:
        raise DataError(
            f"the truth column {column!r} contains {error.label!r}, which is not a class of the candidate sets. If it "
            "is a class, name all classes in fit (--classes). If the true label is unknown, leave the cell empty."
            + error.reason,
            source=source,
            row=error.row,
        )
    missing = np.asarray([label is None for label in truth])
    if missing.all():
        raise DataError(f"the truth column {column!r} has no labels.", source=source)
    return truth if missing.any() else np.asarray(truth.tolist(), dtype=classes.dtype)


def check_no_weights(classes: Iterable[Any], source: Any) -> None:
    """Raise if most classes are labels with a weight, such as "finch:0.7", although weights are not requested."""
    pairs = labels_with_weights(classes)
    if pairs:
        raise LabelError(
            f"the labels of {source} have weights, such as {min(pairs)!r}. Add --weighted; or name the classes "
            "(--classes) if the numbers belong to their names.",
            label=pairs[0],
        )


def suspicious_labels(classes: Iterable[Any], separator: str) -> list[str]:
    """Return a warning for each group of classes that may be a set, a missing label, or another class misspelled."""
    labels = [label for label in classes if isinstance(label, str)]
    notes = [_read_as_class(["-1"])] if "-1" in labels else []
    if missing := [label for label in labels if label.strip().lower() in (*MISSING, *MISSING_NUMBERS)]:
        notes.append(_read_as_class(missing))
    if lists := [label for label in labels if label[:1] in tuple("[({") and label[-1:] in tuple("])}")]:
        notes.append(
            _read_as_one_class(lists, "write sets of labels as 'a|b', or use a list column (Parquet, JSON lines)")
        )
    for other in _SEPARATORS if not lists else ():
        single = {label for label in labels if other not in label}
        joined = [label for label in labels if other in label and all(m.strip() in single for m in label.split(other))]
        if joined and other != separator:
            condition = "if they are sets" if len(joined) > 1 else "if it is a set"
            notes.append(_read_as_one_class(joined, f"{condition} of labels, add --separator '{other}'"))
    return notes + _misspelled(labels)


def _quote(labels: Iterable[str]) -> str:
    return enumerate_items([*map(repr, labels)], _MAX_LISTED)


def _read_as_class(labels: Sequence[str]) -> str:
    verb = "are read as classes" if len(labels) > 1 else "is read as a class"
    return f"{_quote(labels)} {verb}: leave the cells of unlabeled rows empty, or add --missing with their text."


def _read_as_one_class(labels: Sequence[str], advice: str) -> str:
    verb = "are each read as one class" if len(labels) > 1 else "is read as one class"
    return f"{_quote(labels)} {verb}: {advice}."


def _misspelled(labels: Sequence[str]) -> list[str]:
    spellings: dict[str, list[str]] = {}
    for label in labels:
        spellings.setdefault(label.strip().casefold(), []).append(label)
    groups = [_quote(group) for group in spellings.values() if len(group) > 1]
    if not groups:
        return []
    listed = groups if len(groups) <= _MAX_LISTED else [*groups[:_MAX_LISTED], f"and {len(groups) - _MAX_LISTED} more"]
    return [
        f"{'; '.join(listed)} differ only in case or in surrounding spaces, and are read as different classes: use one "
        "spelling if they are the same class."
    ]
