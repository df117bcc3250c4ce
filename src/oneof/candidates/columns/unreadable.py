"""Rows of label columns that cannot be read: one column of text, lists or objects, or several columns of numbers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from oneof.candidates.columns.cells import (
    booleans_to_digits,
    contains_nested_lists,
    drop_empty_json,
    drop_missing_labels,
    whole_numbers,
)
from oneof.candidates.columns.weights import label_list, weight_list
from oneof.candidates.columns.wrapped import unwrap_cells
from oneof.candidates.readers.literals import LISTS
from oneof.candidates.readers.pairs import as_pairs, pair_lists
from oneof.candidates.readers.unreadable import CellChecker
from oneof.candidates.row_weights import zero_weights
from oneof.errors import LabelError
from oneof.typing import Mask

if TYPE_CHECKING:
    import polars as pl

OnUnreadable: TypeAlias = Callable[[dict[int, LabelError]], None]
"""Function that is called with the errors of the rows that cannot be read, by row."""


def find_unreadable(
    frame: "pl.DataFrame", names: Sequence[str], checker: CellChecker, weights: str | None = None
) -> dict[int, LabelError]:
    """Return the errors of the rows whose labels cannot be read, in the order of the rows.

    Parameters
    ----------
    frame : polars.DataFrame
    names : sequence of str
        One column of labels, or several of 0 and 1 or, if the checker is weighted, of weights.
    checker : CellChecker
        A new one, with the options of the reader.
    weights : str, optional
        The column of the weights of one label column.
    """
    import polars as pl

    if len(names) > 1:
        return _find_in_numbers(frame.select(names), checker)
    cells = unwrap_cells(frame[names[0]], checker.separator, weighted=checker.weighted and weights is None)
    if checker.exact is None:
        checker = replace(checker, exact=not _has_numbers(cells, checker, has_weights=weights is not None))
    if cells.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        cells = cells.cast(pl.String)
    if weights is not None:
        return _find_in_pairs(cells, frame[weights], checker)
    if cells.dtype == pl.String:
        texts = cells.to_list()
        errors = checker.find(texts, checker.check_text)
    elif isinstance(cells.dtype, pl.Struct) or contains_nested_lists(cells):
        if not checker.weighted:
            return {}
        texts = cells.to_list()
        errors = checker.find(texts, lambda row, cell: checker.check_pairs(row, as_pairs(row, cell), cell is None))
    elif isinstance(cells.dtype, pl.List | pl.Array):
        texts = [None if cell is None else list(cell) for cell in cells.to_list()]
        errors = checker.find(texts, checker.check_set)
    else:
        return {}
    return dict(sorted((errors | checker.rows_without_weight(texts)).items()))


def blank_rows(frame: "pl.DataFrame", names: Sequence[str], rows: Sequence[int]) -> "pl.DataFrame":
    """Return a table in which these columns are null in some rows, so that the rows are unlabeled."""
    import polars as pl

    is_blank = np.zeros(frame.height, dtype=bool)
    is_blank[list(rows)] = True
    blank = pl.Series(is_blank)
    return frame.with_columns(pl.when(~blank).then(pl.col(name)).alias(name) for name in names)


def _has_numbers(cells: "pl.Series", checker: CellChecker, *, has_weights: bool) -> bool:
    """Return whether a table reads the labels of a column as whole numbers rather than as text."""
    import polars as pl

    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    is_nested = contains_nested_lists(cells)
    if is_nested and checker.weighted and not has_weights:
        labels = [label for row, cell in enumerate(cells.to_list()) for label in _labels_of_pairs(row, cell)]
        return not any(isinstance(label, str) for label in labels)
    if isinstance(cells.dtype, pl.List | pl.Array):
        return bool(cells.dtype.inner.is_numeric())
    if cells.dtype != pl.String:
        return cells.dtype.is_numeric()
    if checker.separator == LISTS and (has_weights or not checker.weighted):
        return False
    if checker.weighted and not has_weights:
        cells = drop_empty_json(cells)
    elif checker.missing:
        cells = drop_missing_labels(cells, checker.separator, sorted(checker.missing))
    try:
        return whole_numbers(cells, checker.classes) is not None
    except LabelError:
        return False


def _labels_of_pairs(row: int, cell: Any) -> list[Any]:
    try:
        return [label for label, _ in as_pairs(row, cell) or ()]
    except LabelError:
        return []


def _find_in_pairs(labels: "pl.Series", weights: "pl.Series", checker: CellChecker) -> dict[int, LabelError]:
    """Return the errors of rows of a column of labels and of the column of their weights."""

    def check(row: int, cells: tuple[Any, Any]) -> None:
        names, numbers = label_list(row, cells[0], checker.separator), weight_list(row, cells[1], checker.separator)
        try:
            [pairs], [is_set] = pair_lists([names], [numbers])
        except LabelError as error:
            raise error.at(first_row=row) from None
        pair_checker.check_pairs(row, pairs, bool(is_set))

    pair_checker = replace(checker, weighted=True)
    rows = list(zip(labels.to_list(), weights.to_list(), strict=True))
    errors = checker.find(rows, check)
    return dict(sorted((errors | pair_checker.rows_without_weight(rows)).items()))


def _find_in_numbers(frame: "pl.DataFrame", checker: CellChecker) -> dict[int, LabelError]:
    """Return the errors of rows of columns of weights, or of 0 and 1."""
    import polars as pl

    columns = [booleans_to_digits(cells) if not checker.weighted else cells for cells in frame]
    numbers = [cells.cast(pl.Float64, strict=False).fill_nan(None) for cells in columns]
    is_missing = np.column_stack([cells.is_null().to_numpy() for cells in columns])
    for k, cells in enumerate(columns):
        if cells.dtype.is_float():
            is_missing[:, k] |= cells.is_nan().fill_null(value=False).to_numpy()
    values = np.column_stack([cells.to_numpy() for cells in numbers]).astype(np.float64)
    is_number = np.isfinite(values) & (values >= 0 if checker.weighted else np.isin(values, (0, 1)))
    unlabeled: Mask = np.asarray(is_missing.all(axis=1))
    wrong = ~(is_number | unlabeled[:, None])
    errors: dict[int, LabelError] = {}
    requirement = "a number of at least 0, the weight of its class" if checker.weighted else "0 or 1"
    for row in np.flatnonzero(wrong.any(axis=1)).tolist():
        column = int(np.argmax(wrong[row]))
        cell = frame[row, column]
        shown = "an empty cell" if cell is None else repr(cell)
        errors[row] = LabelError(
            f"column {frame.columns[column]!r} must contain {requirement}; got {shown}. Leave all label columns of the "
            "row empty if it is unlabeled.",
            row=row,
            label=cell,
        )
    is_class = np.array([name != checker.rest for name in frame.columns])
    has_rest = (values[:, ~is_class] > 0).any(axis=1) | (checker.rest is True)
    empty = ~wrong.any(axis=1) & ~unlabeled & ~(values[:, is_class] > 0).any(axis=1)
    for row in np.flatnonzero(empty & ~has_rest).tolist():
        errors[row] = zero_weights(row)
    return dict(sorted(errors.items()))
