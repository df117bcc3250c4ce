"""Columns of weights in tables and batches: text, lists, structs, and one column of numbers for each class."""

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.columns.cells import (
    EMPTY_JSON,
    check_any_label,
    check_flat_lists,
    check_matrix,
    check_texts,
    contains_nested_lists,
    drop_empty_json,
    strict_numbers,
    typed_classes,
    whole_numbers,
)
from oneof.candidates.readers.collections import split_labels, split_text
from oneof.candidates.readers.literals import LISTS, parse_text, read_list
from oneof.candidates.readers.pairs import (
    PairRows,
    as_pairs,
    drop_missing_pairs,
    pair_lists,
    read_weight,
    split_weighted_strings,
)
from oneof.candidates.readers.weights import read_pairs, read_weights, unify_spellings
from oneof.candidates.row_weights import WeightOptions
from oneof.errors import LabelError
from oneof.typing import Floats, Labels, Mask

if TYPE_CHECKING:
    import polars as pl


def read_weighted_columns(
    frame: "pl.DataFrame",
    names: Sequence[str],
    weights: str | None,
    separator: str,
    classes: Sequence[str] | None,
    options: WeightOptions,
    *,
    folds_case: bool = False,
    missing: Sequence[str] = (),
) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of one column of labels, or of several columns of weights."""
    import polars as pl

    if len(names) > 1:
        check_matrix(classes, weights)
        return read_weight_matrix(frame, names, options)
    cells = drop_empty_json(frame[names[0]])
    check_any_label(cells)
    if cells.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        cells = cells.cast(pl.String)
    numeric = cells.dtype.is_numeric()
    if weights is None and contains_nested_lists(cells):
        numeric = False
    elif isinstance(cells.dtype, pl.List | pl.Array):
        check_flat_lists(cells)
        numeric = isinstance(cells.dtype.inner, pl.DataType) and cells.dtype.inner.is_numeric()
    elif cells.dtype == pl.String:
        check_texts(cells.to_list(), separator, weighted=weights is None)
        numbers = whole_numbers(cells, classes)
        cells, numeric = (cells, False) if numbers is None else (numbers, True)
    elif not numeric and (weights is not None or not isinstance(cells.dtype, pl.Struct)):
        raise LabelError(f"labels must be text, whole numbers or lists; got values of type {cells.dtype}.")
    rows, is_set = read_weight_cells(cells, None if weights is None else frame[weights], separator)
    if weights is None and contains_nested_lists(cells):
        numeric = not any(isinstance(label, str) for row in rows for label, _ in row or ())
    known = typed_classes(classes, numbers=numeric)
    if folds_case and not numeric:
        rows, known, options = unify_spellings(rows, known, options)
    if missing:
        rows, is_set = drop_missing_pairs(rows, is_set, missing)
    if numeric:
        rows, is_set = _drop_minus_one(rows, is_set, known)
    return read_pairs(rows, is_set, known, options)


def read_weight_matrix(frame: "pl.DataFrame", names: Sequence[str], options: WeightOptions) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of columns of weights, whose names are the classes.

    A row with empty cells only is unlabeled. Any other empty cell is an error.
    """
    import polars as pl

    columns = {}
    for name in names:
        numbers = strict_numbers(frame[name])
        if numbers is None:
            raise LabelError(f"column {name!r} must contain numbers, the weights of the class of this name.")
        columns[name] = numbers
    return read_weights(pl.DataFrame(columns), None, options)


def read_weight_cells(labels: "pl.Series", weights: "pl.Series | None", separator: str) -> tuple[PairRows, Mask]:
    """Return the (label, weight) pairs of each row, and a mask of the rows without weights.

    Parameters
    ----------
    labels : polars.Series
        Without `weights`: text such as "finch:0.7|wren:0.3" or JSON, structs whose fields are the labels, lists of
        (label, weight) pairs or of records, or lists of labels, which have no weights. With `weights`: lists, text such
        as "finch|wren", or single labels.
    weights : polars.Series, optional
        Lists, text such as "0.7|0.3" or "[0.7, 0.3]", or numbers; as many in each cell as there are labels. An empty
        cell is a set without weights.
    separator : str
        The text between two labels and between two weights.

    Raises
    ------
    LabelError
        If a cell cannot be read, or has another number of weights than of labels; the error names the row.
    """
    import polars as pl

    if weights is not None:
        return pair_lists(_label_lists(labels, separator), _weight_lists(weights, separator))
    if isinstance(labels.dtype, pl.Struct) or contains_nested_lists(labels):
        rows = [as_pairs(i, row) for i, row in enumerate(labels.to_list())]
        return [row and _whole(row) for row in rows], np.array([row is None for row in rows], dtype=bool)
    if labels.dtype == pl.String:
        return split_weighted_strings(labels, separator)
    return pair_lists(_label_lists(labels, separator), [None] * len(labels))


def _whole(pairs: list[tuple[Any, float]]) -> list[tuple[Any, float]]:
    """Return pairs in which labels that are whole numbers are integers; a list of numbers contains floats only."""
    return [(int(k) if isinstance(k, float) and k.is_integer() else k, weight) for k, weight in pairs]


def _label_lists(cells: "pl.Series", separator: str) -> list[list[Any] | None]:
    import polars as pl

    if cells.dtype.is_float():
        whole = cells.fill_nan(None)
        cells = whole.cast(pl.Int64) if not (whole.drop_nulls() % 1 != 0).any() else whole
    return [label_list(i, cell, separator) for i, cell in enumerate(cells.to_list())]


def label_list(row: int, cell: Any, separator: str) -> list[Any] | None:
    """Return the labels of a cell, whose weights are in another column; None if it has none.

    Separators at the ends of text are an error, since a weight without a label may be there in the other column.
    """
    if isinstance(cell, str):
        return read_list(row, cell) if separator == LISTS else split_text(row, cell, separator, trims=False)[0]
    return None if cell is None else list(cell) if isinstance(cell, Iterable) else [cell]


def _weight_lists(cells: "pl.Series", separator: str) -> list[list[Any] | None]:
    import polars as pl

    if not isinstance(cells.dtype, pl.List | pl.Array) and not (cells.dtype == pl.String or cells.dtype.is_numeric()):
        raise LabelError(f"weights must be numbers, text or lists; column {cells.name!r} has type {cells.dtype}.")
    return [weight_list(i, cell, separator) for i, cell in enumerate(cells.to_list())]


def weight_list(row: int, cell: Any, separator: str) -> list[Any] | None:
    """Return the weights of a cell, None if it has none."""
    if isinstance(cell, str):
        return _split_weights(row, cell, separator)
    if cell is None or not isinstance(cell, Iterable):
        return None if cell is None else [cell]
    members = list(cell)
    if len(members) == 1 and isinstance(members[0], str) and members[0].lstrip().startswith("["):
        return _split_weights(row, members[0], separator)  # text among lists
    return members


def _split_weights(row: int, text: str | None, separator: str) -> list[float] | None:
    if text is None or not text.strip():
        return None
    if text.strip() in EMPTY_JSON:
        return []
    pieces: list[Any] = split_labels(text, separator)
    if text.lstrip().startswith("["):
        with contextlib.suppress(ValueError):
            pieces = parse_text(text)
    weights = [read_weight(piece) for piece in pieces]
    if None in weights:
        raise LabelError(f"{text!r} must contain numbers separated by {separator!r}.", row=row, label=text)
    return [weight for weight in weights if weight is not None]


def _drop_minus_one(rows: PairRows, is_set: Mask, classes: Labels | None) -> tuple[PairRows, Mask]:
    """Return the rows in which the single label -1, which marks an unlabeled row unless it is a class, is dropped."""
    if classes is not None and -1 in classes.tolist():
        return rows, is_set
    dropped = np.array([row is not None and len(row) == 1 and row[0][0] == -1 for row in rows], dtype=bool)
    return [None if drop else row for row, drop in zip(rows, dropped.tolist(), strict=True)], is_set | dropped
